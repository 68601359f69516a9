//! Atomic accesses: one instruction, or a loop of attempts.
//!
//! ```text
//! 1:  ldaxr   w8, [x0]            the old value on the path on which the store does not fail, else any value
//!     add     w9, w8, w1
//!     stlxr   w17, w9, [x0]       the effect, or nothing
//!     cbnz    w17, 1b             the loop: the failed path arrives with the state that the first one had
//! ```
//!
//! On x86-64, `lock cmpxchg` is an attempt with the accumulator as the expected value, unless the function compares with
//! it. It fails where memory holds another value. The load before the loop only guesses.

use crate::attempt::{Attempt, Mark};
use crate::clif::{Atomic, AtomicKind, Effect};
use crate::conditions::{simplified, simplifier};
use crate::equal::{Decision, Judge};
use crate::error::Fault;
use crate::frame::Frame;
use crate::input::Machine;
use crate::path::{Failure, Path, Progress, distance, require_equal};
use crate::prove::Proof;
use crate::step::Step;
use kingpost_machine_semantics::{Access, Order, State};
use kingpost_smt::{Node, Op, Substitution, Term, Terms};

/// Number of bytes that one access to memory reads or writes in one step.
const SINGLE: u8 = 8;
/// Number of instructions before a failed attempt at which it may begin again.
const MAX_MARKS: usize = 32;

impl Step<'_, '_> {
    /// Returns the next effect if it is an atomic access to these bytes.
    fn next_atomic(&mut self, access: Access) -> Option<(usize, Atomic)> {
        let found = self.next_effect(|effect| matches!(effect, Effect::Atomic(_)), Fault::Atomic);
        let index = found.map_err(|failure| self.fail(failure)).ok()?;
        let Effect::Atomic(atomic) = self.effects[index] else { return None };
        if self.terms.width(atomic.old) != 8 * u32::from(access.bytes) {
            self.fail(Fault::Atomic);
            return None;
        }
        self.require(access.address, atomic.address, Fault::Atomic);
        self.require_listed(atomic.trap);
        Some((index, atomic))
    }

    fn perform_atomic(&mut self, index: usize) {
        self.progress.perform(index);
        *self.attempt = Attempt::None;
    }

    /// Performs the atomic access that an exclusive load began and no store completes. Returns `true` if nothing executes
    /// the path, because an exclusive store fails on it before this point.
    pub(crate) fn settle(&mut self) -> bool {
        let (terms, effects, conditions) = (&mut *self.terms, self.effects, &*self.conditions);
        match settle(terms, self.judge, effects, conditions, self.progress, self.attempt) {
            Ok(is_vacuous) => self.is_vacuous |= is_vacuous,
            Err(failure) => self.fail(failure),
        }
        self.is_vacuous
    }

    /// Loads as a part of an atomic access.
    pub(crate) fn load_atomic(&mut self, access: Access) -> Term {
        let width = 8 * u32::from(access.bytes);
        let unknown = |step: &mut Self| step.unknown(width);
        if access.order == Order::ExclusiveRelaxed {
            self.fail(Fault::Atomic);
            return unknown(self);
        }
        let Some((index, atomic)) = self.next_atomic(access) else { return unknown(self) };
        match access.order {
            Order::Synchronizing if atomic.kind == AtomicKind::Load => {
                self.perform_atomic(index);
                atomic.old
            }
            Order::Exclusive if self.fails => {
                *self.attempt = Attempt::Failing;
                unknown(self)
            }
            Order::Exclusive => {
                *self.attempt = Attempt::Open { index, bytes: access.bytes };
                self.forks = true;
                atomic.old
            }
            Order::Atomic => {
                let loaded = if self.fails { unknown(self) } else { atomic.old };
                self.locked = Some((index, loaded));
                loaded
            }
            _ => {
                self.fail(Fault::Atomic);
                unknown(self)
            }
        }
    }

    /// Returns `true` if an address is the one of an atomic access.
    fn is_at(&mut self, address: Term, atomic: &Atomic) -> bool {
        self.judge.equal(self.terms, self.conditions, address, atomic.address) == Decision::Holds
    }

    /// Loads by an instruction that orders no accesses, where the function has no such load: an atomic load of x86-64, or
    /// the guess of an attempt.
    pub(crate) fn load_beside_atomic(&mut self, access: Access) -> Term {
        let Access { address, bytes, .. } = access;
        let mut progress = self.progress.clone();
        std::mem::swap(self.progress, &mut progress);
        let next = self.next_effect(|effect| matches!(effect, Effect::Atomic(_)), Fault::Load);
        std::mem::swap(self.progress, &mut progress);
        let atomic = next.ok().and_then(|index| match self.effects[index] {
            Effect::Atomic(atomic) => Some(atomic),
            _ => None,
        });
        let within = atomic.and_then(|atomic| {
            let all = i64::from(self.terms.width(atomic.old) / 8);
            let start =
                distance(self.terms, address, atomic.address).or_else(|| self.is_at(address, &atomic).then_some(0))?;
            (start >= 0 && start + i64::from(bytes) <= all).then_some((atomic, i64::from(bytes) == all))
        });
        match within {
            Some((atomic, true))
                if atomic.kind == AtomicKind::Load && self.around.code.machine == Machine::X64 && bytes <= SINGLE =>
            {
                let Some((index, atomic)) = self.next_atomic(access) else { return atomic.old };
                self.perform_atomic(index);
                atomic.old
            }
            Some((atomic, _)) => {
                self.require_listed(atomic.trap);
                self.unknown(8 * u32::from(bytes))
            }
            None => {
                self.fail(Failure { fault: Fault::Load, model: None, about: vec![address] });
                self.unknown(8 * u32::from(bytes))
            }
        }
    }

    /// Stores as a part of an atomic access.
    pub(crate) fn store_atomic(&mut self, access: Access, value: Term) {
        match access.order {
            Order::Synchronizing => {
                if self.settle() {
                    return;
                }
                let Some((index, atomic)) = self.next_atomic(access) else { return };
                if atomic.kind != AtomicKind::Store {
                    return self.fail(Fault::Atomic);
                }
                self.perform_atomic(index);
                self.require(value, atomic.new, Fault::StoredValue);
            }
            Order::Exclusive => match *self.attempt {
                Attempt::Open { index, bytes } if bytes == access.bytes => {
                    let Some((_, atomic)) = self.next_atomic(access) else { return };
                    self.perform_atomic(index);
                    self.require(value, atomic.new, Fault::StoredValue);
                    self.status = Some(false);
                }
                Attempt::Failing => {
                    *self.attempt = Attempt::Failed;
                    self.status = Some(true);
                }
                _ => self.fail(Fault::Atomic),
            },
            Order::Atomic => match self.locked.take() {
                Some((index, loaded)) => self.store_locked(index, loaded, value),
                None => self.fail(Fault::Atomic),
            },
            Order::Plain | Order::ExclusiveRelaxed => self.fail(Fault::Atomic),
        }
    }

    /// Stores after an instruction has loaded. If it stores under a condition what the function does, and else what it
    /// loaded, it is an attempt. So is a comparison where the function has none: the code depends on its outcome, also
    /// if memory stays as it is in both cases.
    fn store_locked(&mut self, index: usize, loaded: Term, value: Term) {
        let Effect::Atomic(atomic) = self.effects[index] else { return };
        let choice = self.choice.take().filter(|_| atomic.kind == AtomicKind::Update);
        if choice.is_none()
            && !self.fails
            && self.judge.equal(self.terms, self.conditions, value, atomic.new) == Decision::Holds
        {
            return self.perform_atomic(index);
        }
        let attempt = match self.terms.node(value) {
            Node::Ternary(Op::Ite, condition, then, same) if same == loaded => Some((condition, then)),
            Node::Ternary(Op::Ite, condition, same, otherwise) if same == loaded => {
                Some((self.terms.not(condition), otherwise))
            }
            _ => None,
        };
        let Some((condition, stored)) = choice.or(attempt) else {
            return self.require(value, atomic.new, Fault::StoredValue);
        };
        if self.fails {
            let failed = self.terms.not(condition);
            self.conditions.add(self.terms, failed);
            *self.attempt = Attempt::Failed;
            self.learned = Some(Vec::new());
            return;
        }
        self.forks = true;
        self.conditions.add(self.terms, condition);
        let mut learned = Vec::new();
        let mut work = vec![condition];
        while let Some(term) = work.pop() {
            match self.terms.node(term) {
                Node::Binary(Op::And, a, b) => work.extend([a, b]),
                Node::Binary(Op::Eq, a, b) => {
                    self.conditions.add_equality(a, b);
                    let before = learned.len();
                    determine(self.terms, a, b, &mut learned);
                    if learned.len() == before {
                        determine(self.terms, b, a, &mut learned);
                    }
                }
                _ => {}
            }
        }
        self.require(stored, atomic.new, Fault::StoredValue);
        self.perform_atomic(index);
        self.learned = Some(learned);
    }
}

/// Adds the unspecified variables of a term that is equal to another, with the terms that they are equal to.
fn determine(terms: &mut Terms, term: Term, to: Term, learned: &mut Vec<(Term, Term)>) {
    let is_open = |terms: &Terms, term| terms.name(term).is_some_and(|name| name.starts_with('?'));
    match terms.node(term) {
        Node::Var(_) if is_open(terms, term) => learned.push((term, to)),
        Node::Unary(Op::Extract { low: 0, .. }, whole) if is_open(terms, whole) => {
            let (width, all) = (terms.width(term), terms.width(whole));
            let above = terms.extract(whole, width, all - width);
            let content = terms.concat(above, to);
            learned.push((whole, content));
        }
        Node::Binary(Op::Concat, high, low) => {
            let width = terms.width(low);
            let part = terms.extract(to, 0, width);
            determine(terms, low, part, learned);
            let part = terms.extract(to, width, terms.width(high));
            determine(terms, high, part, learned);
        }
        _ => {}
    }
}

/// Performs the atomic access that an exclusive load began and no store completes: it must leave memory as it is.
/// Returns `true` if nothing executes the path, because an exclusive store fails on it before this point.
///
/// # Errors
/// If the access changes memory.
pub(crate) fn settle(
    terms: &mut Terms,
    judge: &mut Judge<'_>,
    effects: &[Effect],
    conditions: &crate::conditions::Conditions,
    progress: &mut Progress,
    attempt: &mut Attempt,
) -> Result<bool, Failure> {
    match std::mem::replace(attempt, Attempt::None) {
        Attempt::Failing => return Ok(true),
        Attempt::Open { index, bytes } => {
            let Effect::Atomic(atomic) = effects[index] else { return Err(Fault::Atomic.into()) };
            // A pair of registers is loaded in one step only if a store follows.
            if bytes > SINGLE {
                return Err(Fault::Atomic.into());
            }
            progress.perform(index);
            require_equal(terms, judge, conditions, (atomic.new, atomic.old), Fault::Omitted("an atomic access"))?;
        }
        before => *attempt = before,
    }
    Ok(false)
}

/// Returns all registers of a state: the general ones, then both halves of each vector register.
fn registers(state: &State) -> Vec<Term> {
    state.general.iter().copied().chain(state.vector.iter().flatten().copied()).collect()
}

fn registers_mut(state: &mut State) -> impl Iterator<Item = &mut Term> {
    state.general.iter_mut().chain(state.vector.iter_mut().flatten())
}

impl Path {
    /// Replaces what an attempt showed in the registers.
    pub(crate) fn learn(&mut self, terms: &mut Terms, learned: Vec<(Term, Term)>) {
        let mut substitution = Substitution::new(learned);
        for register in registers_mut(&mut self.state) {
            let content = simplified(terms, &self.conditions, *register);
            *register = substitution.apply(terms, content);
        }
    }

    /// Keeps the state before the next instruction, unless it is known. Returns a copy of the path without marks.
    pub(crate) fn mark(&mut self) -> Path {
        // The marks are not copied for each instruction.
        let marks = std::mem::take(&mut self.marks);
        let path = self.clone();
        self.marks = marks;
        if self.marks.iter().all(|mark| mark.offset != self.offset) {
            if self.marks.len() == MAX_MARKS {
                self.marks.remove(0);
            }
            self.marks.push(Mark {
                offset: self.offset,
                state: self.state.clone(),
                frame: self.frame.clone(),
                conditions: self.conditions.clone(),
                open: None,
            });
        }
        path
    }
}

impl Proof<'_, '_> {
    /// Returns `true` if the path was at its instruction before the attempt that failed. Unless it was in this state, adds
    /// a path from the instruction on which the registers that changed have any content.
    pub(crate) fn try_again(&mut self, path: &Path, paths: &mut Vec<Path>) -> bool {
        let Some(mark) = path.marks.iter().find(|mark| mark.offset == path.offset) else { return false };
        let machine = self.around.code.machine;
        let (before, now) = (registers(&mark.state), registers(&path.state));
        let is_open = |number: usize| mark.open.as_ref().is_some_and(|open| open[number]);
        // What an attempt showed is in the registers, also in those that it did not change.
        let mut under = simplifier(self.terms, &path.conditions);
        let mut differ = |a, b| a != b && under.apply(self.terms, a) != under.apply(self.terms, b);
        let changed: Vec<bool> =
            before.iter().zip(&now).enumerate().map(|(number, (&a, &b))| is_open(number) || differ(a, b)).collect();
        let mut frame = Frame::default();
        let mut is_same = mark.open.as_ref() == Some(&changed);
        for piece in mark.frame.pieces() {
            let bytes = i64::from(self.terms.width(piece.bytes) / 8);
            if path.frame.load(self.terms, piece.offset, bytes) == Some(piece.bytes) {
                frame.store(self.terms, piece.offset, piece.bytes);
            } else {
                is_same = false;
            }
        }
        if is_same {
            return true;
        }
        let any = registers(&machine.variables(self.terms, &format!("?again{}.", path.offset)));
        let mut state = mark.state.clone();
        state.forget_flags();
        for (number, register) in registers_mut(&mut state).enumerate() {
            if changed[number] {
                *register = any[number];
            }
        }
        let conditions = mark.conditions.clone();
        let mark = Mark {
            offset: path.offset,
            state: state.clone(),
            frame: frame.clone(),
            conditions: conditions.clone(),
            open: Some(changed),
        };
        let (attempt, marks) = (Attempt::None, vec![mark]);
        paths.push(Path { state, frame, conditions, attempt, marks, steps: 0, ..path.clone() });
        true
    }
}
