//! A step of a path: the accesses of one instruction to memory, and what they must be.

use crate::attempt::Attempt;
use crate::clif::{Effect, Load};
use crate::conditions::Conditions;
use crate::equal::Judge;
use crate::error::Fault;
use crate::frame::Frame;
use crate::path::{Failure, Progress, Surroundings, distance, is_repeated, pass_over, require_equal};
use kingpost_ir::TrapCode;
use kingpost_machine_semantics::{Access, Order, World};
use kingpost_smt::{Bits, Sort, Term, Terms};

/// Maximum number of stores that another one may precede: two, of the halves of 16 bytes.
const MAX_STORES_BEFORE: usize = 2;

/// The surroundings of an instruction of a path.
pub(crate) struct Step<'s, 'j> {
    pub(crate) terms: &'s mut Terms,
    pub(crate) judge: &'s mut Judge<'j>,
    pub(crate) around: &'s Surroundings<'s>,
    pub(crate) effects: &'s [Effect],
    /// Offset of the instruction in the code.
    pub(crate) offset: u32,
    /// The stack pointer before the instruction.
    pub(crate) stack_pointer: Term,
    pub(crate) frame: &'s mut Frame,
    pub(crate) area: &'s mut Frame,
    pub(crate) conditions: &'s mut Conditions,
    pub(crate) progress: &'s mut Progress,
    pub(crate) tables: &'s mut Vec<(Term, Term)>,
    /// Whether the path begins at the entry of the function.
    pub(crate) is_prologue: bool,
    /// Number of unspecified values so far.
    pub(crate) unspecified: &'s mut u32,
    pub(crate) attempt: &'s mut Attempt,
    /// Whether the instruction begins an attempt that fails.
    pub(crate) fails: bool,
    /// Whether another path begins here, on which the attempt has the other outcome.
    pub(crate) forks: bool,
    /// The effect that an instruction performs between its load and its store, and the bits that it loaded.
    pub(crate) locked: Option<(usize, Term)>,
    /// Condition of the instruction's own comparison, and the term that it stores if the condition holds.
    pub(crate) choice: Option<(Term, Term)>,
    /// Whether nothing executes the path.
    pub(crate) is_vacuous: bool,
    /// Status of an exclusive store, until it is read: whether it failed.
    pub(crate) status: Option<bool>,
    /// Terms in registers with the terms that replace them, after an attempt of one instruction.
    pub(crate) learned: Option<Vec<(Term, Term)>>,
    /// Conditions under which the instruction faults.
    pub(crate) faults: Vec<Term>,
    pub(crate) failure: Option<Failure>,
}

impl Step<'_, '_> {
    pub(crate) fn fail(&mut self, failure: impl Into<Failure>) {
        self.failure.get_or_insert(failure.into());
    }

    /// Requires two terms to be equal.
    pub(crate) fn require(&mut self, a: Term, b: Term, fault: Fault) {
        if let Err(failure) = require_equal(self.terms, self.judge, self.conditions, (a, b), fault) {
            self.fail(failure);
        }
    }

    /// Requires the table of traps to list an access that may trap.
    pub(crate) fn require_listed(&mut self, trap: Option<TrapCode>) {
        if let Some(code) = trap
            && !self.around.traps(self.offset).any(|listed| listed == code)
        {
            self.fail(Fault::AccessTrap(code));
        }
    }

    /// Performs an effect that is a load.
    fn perform_load(&mut self, index: usize, load: Load, needs_alignment: bool) -> Term {
        self.progress.perform(index);
        if needs_alignment && !load.aligned {
            self.fail(Fault::Alignment);
        }
        self.require_listed(load.trap);
        load.bits
    }

    /// Finds the load of the function that an access performs. Loads change places with loads, unless they may trap with
    /// different codes. Loads of memory that does not change and that cannot trap change places with all effects.
    fn find_load(&mut self, address: Term, width: u32) -> Option<(usize, Load)> {
        let fits = |terms: &Terms, load: &Load| terms.width(load.bits) == width;
        // Of equal loads, code may perform the one whose trap it lists, and omit another that cannot trap.
        let listed = self.around.traps(self.offset).next();
        let (mut candidates, mut same) = (Vec::new(), None);
        let mut passes = true;
        // Loads that have not been performed, with their trap codes.
        let mut passed: Vec<(usize, TrapCode)> = Vec::new();
        for (index, effect) in self.effects.iter().enumerate() {
            if self.progress.is_done(index) {
                continue;
            }
            match effect {
                Effect::Load(load) => {
                    let may_move = match load.trap {
                        None => passes || load.readonly,
                        Some(code) => {
                            let is_free = |&(number, other): &(usize, TrapCode)| {
                                other == code || is_repeated(self.effects, self.progress, number)
                            };
                            passes && passed.iter().all(is_free)
                        }
                    };
                    if may_move && fits(self.terms, load) {
                        if load.address == address && load.trap == listed {
                            return Some((index, load.clone()));
                        }
                        if load.address == address {
                            same.get_or_insert((index, load.clone()));
                        } else {
                            candidates.push((index, load.clone()));
                        }
                    }
                    passed.extend(load.trap.map(|code| (index, code)));
                }
                Effect::TrapIf { condition, .. } => {
                    let never = self.terms.not(*condition);
                    passes =
                        passes && self.judge.holds(self.terms, self.conditions, never) == crate::equal::Decision::Holds;
                }
                Effect::Store { .. } | Effect::Call(_) | Effect::Atomic(_) | Effect::Fence => passes = false,
            }
        }
        if same.is_some() {
            return same;
        }
        candidates.into_iter().find(|(_, load)| {
            let decision = self.judge.equal(self.terms, self.conditions, load.address, address);
            decision == crate::equal::Decision::Holds
        })
    }

    /// Returns `true` if an access faults unless its address is a multiple of 16, and the address is not known to be one.
    /// The stack pointer is aligned at calls, and literals of 16 bytes are aligned.
    fn needs_alignment(&mut self, access: Access) -> bool {
        if !access.aligned || access.bytes != 16 {
            return false;
        }
        let caller = self.around.caller;
        if let Some(start) = self.around.frame_offset(self.terms, access.address) {
            return (start - caller) % 16 != 0;
        }
        let around = self.around;
        let is_literal =
            |terms: &mut Terms, start| distance(terms, access.address, start).is_some_and(|offset| offset % 16 == 0);
        !around.literals.iter().any(|&(start, _)| is_literal(self.terms, start))
    }

    /// Requires memory without a known content to be memory of the frame. Above the arguments is memory of callers, and below
    /// the stack pointer there may be none.
    fn check_unknown(&mut self, start: i64, end: i64) {
        let pointer = self.around.frame_offset(self.terms, self.stack_pointer);
        let lowest = pointer.map(|pointer| pointer - self.around.code.machine.red_zone());
        let is_below = !self.is_prologue && lowest.is_none_or(|lowest| start < lowest);
        if is_below || end > self.around.arguments_end {
            self.fail(Fault::FrameLoad);
        }
    }

    /// Loads 16 bytes, which the function loads in halves.
    fn load_halves(&mut self, access: Access) -> Term {
        let eight = self.terms.number(64, 8);
        let above = self.terms.add(access.address, eight);
        let aligned = self.needs_alignment(access);
        let low = self.load(Access { bytes: 8, aligned, ..access });
        let high = self.load(Access { bytes: 8, address: above, aligned: false, ..access });
        self.terms.concat(high, low)
    }

    /// Stores 16 bytes, which the function stores in halves.
    fn store_halves(&mut self, access: Access, value: Term) {
        let eight = self.terms.number(64, 8);
        let above = self.terms.add(access.address, eight);
        let [low, high] = [0, 64].map(|low| self.terms.extract(value, low, 64));
        let aligned = self.needs_alignment(access);
        self.store(Access { bytes: 8, aligned, ..access }, low);
        self.store(Access { bytes: 8, address: above, aligned: false, ..access }, high);
    }

    /// Returns the next effect that is neither a load nor a trap that cannot occur, and passes over those before it.
    pub(crate) fn next_effect(
        &mut self,
        is_wanted: impl Fn(&Effect) -> bool,
        otherwise: Fault,
    ) -> Result<usize, Failure> {
        pass_over(self.terms, self.judge, self.effects, self.conditions, self.progress, is_wanted)?
            .ok_or_else(|| otherwise.into())
    }

    /// Returns the next store to an address, if only stores to other bytes are before it, and none of them can trap: an
    /// instruction that stores a pair of registers stores to the lower address first.
    fn store_before_others(&mut self, address: Term, bytes: u8) -> Option<usize> {
        let is_passed = |effect: &Effect| matches!(effect, Effect::Load(load) if load.trap.is_none() && load.readonly);
        let open = self.progress.open().filter(|&index| !is_passed(&self.effects[index]));
        let next: Vec<usize> = open.take(MAX_STORES_BEFORE + 1).collect();
        for index in next {
            let Effect::Store { address: other, value, trap: None, .. } = self.effects[index] else { return None };
            let distance = distance(self.terms, address, other)?;
            if distance == 0 {
                return Some(index);
            }
            if distance < i64::from(self.terms.width(value) / 8) && distance > -i64::from(bytes) {
                return None;
            }
        }
        None
    }

    pub(crate) fn unknown(&mut self, width: u32) -> Term {
        *self.unspecified += 1;
        let name = format!("?{}:{width}", self.unspecified);
        self.terms.var(&name, Sort::Bits(width))
    }

    /// Loads from memory that no store changes: words with addresses of symbols, literals, and jump tables.
    fn load_constant(&mut self, address: Term, bytes: u8) -> Option<Term> {
        if bytes == 8
            && let Some(&(_, symbol)) = self.around.pointers.iter().find(|&&(word, _)| word == address)
        {
            return Some(symbol);
        }
        let around = self.around;
        let number = |terms: &mut Terms, contents: &[u8]| {
            let value = contents.iter().rev().fold(0, |value: u128, &byte| value << 8 | u128::from(byte));
            terms.constant(Bits::new(8 * contents.len() as u32, value))
        };
        for (start, contents) in &around.literals {
            let offset = distance(self.terms, address, *start).and_then(|offset| usize::try_from(offset).ok());
            if let Some(contents) = offset.and_then(|offset| contents.get(offset..offset + usize::from(bytes))) {
                return Some(number(self.terms, contents));
            }
        }
        if around.code.end as usize == around.code.bytes.len() {
            return None;
        }
        let offset = self.terms.sub(address, around.base);
        if let Some(offset) = self.terms.bits(offset) {
            let offset =
                usize::try_from(offset.unsigned()).ok().filter(|&offset| offset >= around.code.end as usize)?;
            let contents = around.code.bytes.get(offset..offset.checked_add(bytes.into())?)?;
            return Some(number(self.terms, contents));
        }
        // An offset that does not contain the address of the code is the offset of an entry of a table.
        let is_relative = !self.terms.depends_on(offset, around.base);
        if is_relative && bytes == 4 && self.terms.depends_on(address, around.base) {
            let entry = self.unknown(32);
            self.tables.push((entry, offset));
            return Some(entry);
        }
        None
    }
}

impl World for Step<'_, '_> {
    fn terms(&mut self) -> &mut Terms {
        self.terms
    }

    fn load(&mut self, access: Access) -> Term {
        let Access { address, bytes, order, .. } = access;
        let width = 8 * u32::from(bytes);
        if let Some(start) = self.around.frame_offset(self.terms, address) {
            let end = start + i64::from(bytes);
            if !self.around.overlaps_slot(start, end) {
                if self.needs_alignment(access) {
                    self.fail(Fault::Alignment);
                }
                return match self.frame.load(self.terms, start, bytes.into()) {
                    Some(content) => content,
                    None => {
                        self.check_unknown(start, end);
                        self.unknown(width)
                    }
                };
            }
        }
        if order == Order::Plain
            && let Some(content) = self.load_constant(address, bytes)
        {
            return content;
        }
        if self.settle() {
            return self.unknown(width);
        }
        if order != Order::Plain {
            return self.load_atomic(access);
        }
        if bytes == 16 {
            return self.load_halves(access);
        }
        match self.find_load(address, width) {
            Some((index, load)) => self.perform_load(index, load, access.aligned && bytes == 8),
            None => self.load_beside_atomic(access),
        }
    }

    fn store(&mut self, access: Access, value: Term) {
        let Access { address, bytes, order, .. } = access;
        if let Some((area, size)) = self.around.area
            && order == Order::Plain
            && let Some(start) = distance(self.terms, address, area)
            && start >= 0
            && start + i64::from(bytes) <= size
        {
            return self.area.store(self.terms, start, value);
        }
        if let Some(start) = self.around.frame_offset(self.terms, address) {
            let end = start + i64::from(bytes);
            if !self.around.overlaps_slot(start, end) {
                if self.needs_alignment(access) {
                    return self.fail(Fault::Alignment);
                }
                // An exclusive store may not store.
                if matches!(order, Order::Exclusive | Order::ExclusiveRelaxed) {
                    return self.fail(Fault::Atomic);
                }
                let (caller, arguments_end) = (self.around.caller, self.around.arguments_end);
                if end > caller && (start < caller || end > arguments_end) {
                    self.fail(Fault::CallerMemory);
                }
                self.frame.store(self.terms, start, value);
                return;
            }
            // Before the first effect, a slot has no specified contents: a probe writes to it, and a push.
            if self.is_prologue && end <= 0 {
                self.frame.forget(self.terms, start, end);
                return;
            }
            if !self.around.is_in_slot(start, end) {
                return self.fail(Fault::Store);
            }
        }
        if order != Order::Plain {
            return self.store_atomic(access, value);
        }
        if self.settle() {
            return;
        }
        if bytes == 16 {
            return self.store_halves(access, value);
        }
        let first = match self.next_effect(|effect| matches!(effect, Effect::Store { .. }), Fault::Store) {
            Ok(index) => index,
            Err(failure) => return self.fail(failure),
        };
        let is_first = matches!(self.effects[first], Effect::Store { address: next, .. } if next == address);
        let index = if is_first { first } else { self.store_before_others(address, bytes).unwrap_or(first) };
        let Effect::Store { address: expected, value: bits, trap, aligned } = self.effects[index] else { return };
        if access.aligned && bytes == 8 && !aligned {
            self.fail(Fault::Alignment);
        }
        self.progress.perform(index);
        self.require(address, expected, Fault::StoreAddress);
        if self.terms.width(bits) != self.terms.width(value) {
            return self.fail(Fault::StoreWidth);
        }
        self.require(value, bits, Fault::StoredValue);
        self.require_listed(trap);
    }

    fn store_choice(&mut self, access: Access, condition: Term, [then, otherwise]: [Term; 2]) {
        self.choice = Some((condition, then));
        let value = self.terms.ite(condition, then, otherwise);
        self.store(access, value);
    }

    fn fault(&mut self, condition: Term) {
        self.faults.push(condition);
    }

    fn fence(&mut self) {
        if self.settle() {
            return;
        }
        match self.next_effect(|effect| matches!(effect, Effect::Fence), Fault::Fence) {
            Ok(index) => self.progress.perform(index),
            Err(failure) => self.fail(failure),
        }
    }

    fn unspecified(&mut self, sort: Sort) -> Term {
        if sort == Sort::Bool
            && let Some(failed) = self.status.take()
        {
            return self.terms.bool(failed);
        }
        *self.unspecified += 1;
        let name = format!("?{}:{sort:?}", self.unspecified);
        self.terms.var(&name, sort)
    }
}
