//! The proof: each path from the head of a block to the next head, until the relations settle.
//!
//! Heads at which paths begin and end are called cut points. Blocks that only jump are no cut points, because code
//! jumps through them and shares them. A wrong table of heads makes a proof fail: each path must arrive at the head of
//! the block in which the function continues.

use crate::abi::{Convention, Place as Passing};
use crate::attempt::Attempt;
use crate::checked::Checked;
use crate::clif::{self, Edge, Effect, Exit, Meaning};
use crate::conditions::Conditions;
use crate::equal::{Decisions, Judge};
use crate::error::{Fault, Feature, Finding, Verdict};
use crate::frame::Frame;
use crate::input::Code;
use crate::machine::Decoded;
use crate::path::{Failure, Path, Progress, Surroundings};
use crate::relation::{Head, Relation};
use cranelift_entity::SecondaryMap;
use kingpost_ir::signature::ArgumentExtension;
use kingpost_ir::{Block, Function, Value};
use kingpost_machine_semantics::State;
use kingpost_smt::{Evaluator, Model, Solver, Substitution, Term, Terms};
use std::collections::BTreeSet;
use std::time::Duration;

/// Maximum number of paths from one head.
const MAX_PATHS: usize = 1 << 12;
/// Maximum number of times that a block is examined.
const MAX_VISITS: u32 = 64;

/// Report on a function.
#[derive(Clone, Debug)]
pub struct Report {
    /// The verdict.
    pub verdict: Verdict,
    /// Number of equalities and implications, by the way in which they were decided.
    pub decisions: Decisions,
    /// Number of machine instructions on all paths.
    pub instructions: u64,
}

/// Proves that `code` means what `func` means. With a solver, it decides the obligations that terms do not, each within
/// a limit of processor time.
pub fn prove(func: &Function, code: &Code<'_>, solver: Option<(&mut Solver, Duration)>) -> Report {
    prove_and_see(func, code, solver, |_| {})
}

/// Proves code like [`prove`]. Also returns the places of values at the heads of blocks, as far as the proof came.
pub fn prove_with_heads(
    func: &Function,
    code: &Code<'_>,
    solver: Option<(&mut Solver, Duration)>,
) -> (Report, Vec<Head>) {
    let mut heads = Vec::new();
    let report = prove_and_see(func, code, solver, |proof| heads = proof.heads());
    (report, heads)
}

/// Proves code like [`prove`] without a solver. Also returns all terms, with the results of operations that normal forms
/// made.
pub fn prove_with_terms(func: &Function, code: &Code<'_>) -> (Report, Terms) {
    let mut terms = Terms::for_code();
    let report = prove_in(&mut terms, func, code, None, |_| {});
    (report, terms)
}

/// Proves code like [`prove`], and calls `see` at the end of the proof, if it began.
fn prove_and_see(
    func: &Function,
    code: &Code<'_>,
    solver: Option<(&mut Solver, Duration)>,
    see: impl FnMut(&mut Proof<'_, '_>),
) -> Report {
    prove_in(&mut Terms::for_code(), func, code, solver, see)
}

fn prove_in(
    terms: &mut Terms,
    func: &Function,
    code: &Code<'_>,
    solver: Option<(&mut Solver, Duration)>,
    mut see: impl FnMut(&mut Proof<'_, '_>),
) -> Report {
    let mut judge = Judge::new(solver);
    let (verdict, instructions) = match Proof::new(func, code, terms, &mut judge) {
        Ok(mut proof) => {
            let verdict = proof.attempts();
            see(&mut proof);
            (verdict, proof.instructions)
        }
        Err(feature) => (Verdict::OutOfScope(feature), 0),
    };
    Report { verdict, decisions: judge.decisions, instructions }
}

/// Values at heads of blocks that an attempt at a proof looks for in other forms.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Effort {
    /// None.
    Forms,
    /// Values that the code uses and that are in no place by their normal form.
    Missing,
    /// All that the code uses, and others that are in no place.
    All,
}

/// Origin of a path: the entry of the function, or the head of a block.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Origin {
    Entry,
    /// The index of a block in reverse post-order.
    Head(usize),
}

/// Place of a failure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Site {
    pub(crate) block: Option<Block>,
    pub(crate) offset: u32,
}

pub(crate) enum Stopped {
    Failure(Site, Failure),
    Feature(Feature),
}

/// Event at the end of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    /// Arrival at an offset that is the head of a cut point.
    Head(u32),
    /// A return to an address.
    Return(Term),
    /// A jump to another function at an address.
    TailCall(Term),
}

pub(crate) struct Proof<'a, 'j> {
    pub(crate) func: &'a Function,
    pub(crate) terms: &'a mut Terms,
    pub(crate) judge: &'a mut Judge<'j>,
    pub(crate) around: Surroundings<'a>,
    pub(crate) meaning: Meaning,
    pub(crate) needed: SecondaryMap<Block, Vec<Term>>,
    /// Offset of the head of each block that is a cut point.
    pub(crate) heads: SecondaryMap<Block, Option<u32>>,
    /// Whether a cut point is at an offset.
    pub(crate) is_head: Vec<bool>,
    /// Index of each block in reverse post-order.
    pub(crate) numbers: SecondaryMap<Block, usize>,
    pub(crate) relations: SecondaryMap<Block, Option<Relation>>,
    /// The instruction at each offset, once it was decoded, and its length.
    pub(crate) decoded: Vec<Option<(Decoded, u8)>>,
    /// Registers at the entry.
    pub(crate) entry: State,
    /// Registers without a known content.
    pub(crate) unknown: State,
    /// Registers after a call, by the index of the effect of its block.
    pub(crate) after_calls: Vec<Option<State>>,
    pub(crate) convention: Convention,
    /// Memory that the caller passes, with the return address where a call stores it.
    pub(crate) entry_frame: Frame,
    pub(crate) return_address: Term,
    pub(crate) instructions: u64,
    pub(crate) effort: Effort,
    /// Values that code after the head of each block uses, once a thorough attempt needs them.
    pub(crate) used: Option<SecondaryMap<Block, Vec<Value>>>,
    /// Checks of the stack limit.
    pub(crate) checked: Checked,
}

impl Proof<'_, '_> {
    /// Makes attempts at a proof, each with more effort, until one succeeds. Returns the last verdict.
    fn attempts(&mut self) -> Verdict {
        let mut verdict = self.attempt(Effort::Forms);
        for effort in [Effort::Missing, Effort::All] {
            if matches!(verdict, Verdict::NotProved(_)) {
                verdict = self.attempt(effort);
            }
        }
        verdict
    }

    fn attempt(&mut self, effort: Effort) -> Verdict {
        self.effort = effort;
        self.relations.clear();
        self.checked = Checked::default();
        match self.run() {
            Ok(()) => Verdict::Proved,
            Err(Stopped::Feature(feature)) => Verdict::OutOfScope(feature),
            Err(Stopped::Failure(place, failure)) => self.verdict(place, failure),
        }
    }

    fn run(&mut self) -> Result<(), Stopped> {
        self.check_slots()?;
        let mut work = BTreeSet::from([Origin::Entry]);
        let mut failures: Vec<(Origin, Stopped)> = Vec::new();
        let mut visits = vec![0_u32; self.meaning.order.len() + 1];
        while let Some(origin) = work.pop_first() {
            let visit = match origin {
                Origin::Entry => &mut visits[0],
                Origin::Head(number) => &mut visits[number + 1],
            };
            *visit += 1;
            if *visit > MAX_VISITS {
                let site = Site { block: self.block_of(origin), offset: 0 };
                return Err(Stopped::Failure(site, Fault::Unsettled.into()));
            }
            failures.retain(|(other, _)| *other != origin);
            if let Err(stopped) = self.examine(origin, &mut work) {
                failures.push((origin, stopped));
            }
        }
        failures.sort_by_key(|&(origin, _)| origin);
        match failures.into_iter().next() {
            Some((_, stopped)) => Err(stopped),
            None => {
                let site = Site { block: None, offset: 0 };
                self.check_depth_of_traps().map_err(|failure| Stopped::Failure(site, failure))
            }
        }
    }

    fn block_of(&self, origin: Origin) -> Option<Block> {
        match origin {
            Origin::Entry => None,
            Origin::Head(number) => Some(self.meaning.order[number]),
        }
    }

    /// Follows all paths from an origin.
    fn examine(&mut self, origin: Origin, work: &mut BTreeSet<Origin>) -> Result<(), Stopped> {
        let block = self.block_of(origin);
        let (path, effects, exit, replaced) = match block {
            None => self.start(),
            Some(block) => self.resume(block),
        };
        let mut paths = vec![path];
        let mut count = 0;
        while let Some(path) = paths.pop() {
            count += 1;
            if count > MAX_PATHS {
                return Err(Stopped::Failure(Site { block, offset: path.offset }, Fault::Unbounded.into()));
            }
            self.follow(block, path, &effects, &exit, &replaced, &mut paths, work)?;
        }
        Ok(())
    }

    /// Returns the path from the entry of the function. Its exit is the edge into the entry block.
    fn start(&mut self) -> (Path, Vec<Effect>, Exit, Vec<(Term, Term)>) {
        let entry = self.meaning.order[0];
        let passed = self.convention.arguments.clone();
        let edge = Edge { block: entry, arguments: Vec::new() };
        let mut state = self.entry.clone();
        // An extension by the caller is part of the register's content.
        for passed in &passed {
            let Passing::General(number) = passed.place else { continue };
            if passed.width >= 32 || passed.extension == ArgumentExtension::None {
                continue;
            }
            let whole = state.general[number];
            let (low, above) = (self.terms.extract(whole, 0, passed.width), self.terms.extract(whole, 32, 32));
            let word = match passed.extension {
                ArgumentExtension::Sext => self.terms.sign_extend(low, 32),
                _ => self.terms.zero_extend(low, 32),
            };
            state.general[number] = self.terms.concat(above, word);
        }
        let path = Path {
            offset: 0,
            state,
            frame: self.entry_frame.clone(),
            area: Frame::default(),
            conditions: Conditions::default(),
            progress: Progress::new(self.meaning.limit.as_ref().map_or(0, |limit| limit.effects.len())),
            tables: Vec::new(),
            steps: 0,
            unspecified: 0,
            probed: None,
            attempt: Attempt::None,
            fails: false,
            caught: None,
            marks: Vec::new(),
            is_prologue: true,
        };
        let effects = self.meaning.limit.as_ref().map_or_else(Vec::new, |limit| limit.effects.clone());
        (path, effects, Exit::Jump(edge), Vec::new())
    }

    /// Returns a path from the head of a block, in a state in which its relation holds.
    fn resume(&mut self, block: Block) -> (Path, Vec<Effect>, Exit, Vec<(Term, Term)>) {
        let relation = self.relations[block].take().unwrap_or_default();
        let assumed = relation.assume(self.terms, &self.unknown);
        self.relations[block] = Some(relation);
        let meaning = self.meaning.blocks[block].clone().expect("reachable blocks have a meaning");
        let replaced = assumed.replaced;
        let effects = match replaced.is_empty() {
            true => meaning.effects,
            false => {
                let mut substitution = Substitution::new(replaced.iter().copied());
                meaning.effects.into_iter().map(|effect| replace(self.terms, &mut substitution, effect)).collect()
            }
        };
        let mut conditions = Conditions::default();
        for equality in assumed.equalities {
            conditions.add(self.terms, equality);
        }
        let path = Path {
            offset: self.heads[block].expect("paths begin at cut points"),
            state: assumed.state,
            frame: assumed.frame,
            area: Frame::default(),
            conditions,
            progress: Progress::new(effects.len()),
            tables: Vec::new(),
            steps: 0,
            unspecified: 0,
            probed: None,
            attempt: Attempt::None,
            fails: false,
            caught: None,
            marks: Vec::new(),
            is_prologue: false,
        };
        (path, effects, meaning.exit, replaced)
    }

    /// Returns `true` if nothing executes a path under these conditions.
    pub(crate) fn is_infeasible(&mut self, conditions: &Conditions) -> bool {
        self.judge.is_contradiction(self.terms, conditions)
    }

    /// Returns the verdict for a failure. The code is refuted by a model of the state at the entry, from which the failing
    /// path begins. In other blocks, the proof may lack a fact about the state.
    fn verdict(&mut self, site: Site, failure: Failure) -> Verdict {
        let variables = self.terms.variables_of(&failure.about);
        let is_known = |term: &Term| self.terms.name(*term).is_some_and(|name| !name.starts_with('?'));
        let Site { block, offset } = site;
        let fault = failure.fault;
        let Some(model) = failure.model else {
            // The address of a load that the function lacks is not compared with one address.
            let is_undecided = !failure.about.is_empty() && fault != Fault::Load;
            return Verdict::NotProved(Finding { block, offset, fault, is_undecided, state: Vec::new() });
        };
        let state = variables.iter().filter_map(|&term| self.shown(term, &model)).collect();
        let finding = Finding { block, offset, fault, is_undecided: false, state };
        let is_exact = site.block.is_none_or(|block| block == self.meaning.order[0]);
        if is_exact && variables.iter().all(is_known) { Verdict::Refuted(finding) } else { Verdict::NotProved(finding) }
    }

    /// Returns the name and the value of a variable under a model.
    fn shown(&self, variable: Term, model: &Model) -> Option<(String, kingpost_smt::Value)> {
        let name = self.terms.name(variable)?;
        let value = Evaluator::new(self.terms, &[variable], model).value(variable);
        Some((name.to_string(), value))
    }
}

/// Reason for which a path was left.
pub(crate) enum Stop {
    Failure(Failure),
    Feature(Feature),
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Stop {
        Stop::Failure(failure)
    }
}

impl Stop {
    pub(crate) fn at(self, site: Site) -> Stopped {
        match self {
            Stop::Failure(failure) => Stopped::Failure(site, failure),
            Stop::Feature(feature) => Stopped::Feature(feature),
        }
    }
}

/// Returns an effect with terms replaced.
fn replace(terms: &mut Terms, with: &mut Substitution, effect: Effect) -> Effect {
    let mut new = |term: Term| with.apply(terms, term);
    match effect {
        Effect::Load(load) => Effect::Load(clif::Load { address: new(load.address), bits: new(load.bits), ..load }),
        Effect::Store { address, value, trap, aligned } => {
            Effect::Store { address: new(address), value: new(value), trap, aligned }
        }
        Effect::TrapIf { condition, code } => Effect::TrapIf { condition: new(condition), code },
        Effect::Call(call) => Effect::Call(clif::Call {
            callee: new(call.callee),
            arguments: call.arguments.into_iter().map(new).collect(),
            ..call
        }),
        Effect::Atomic(atomic) => {
            let (address, bits) = (new(atomic.address), new(atomic.new));
            Effect::Atomic(clif::Atomic { address, new: bits, ..atomic })
        }
        Effect::Fence => Effect::Fence,
    }
}
