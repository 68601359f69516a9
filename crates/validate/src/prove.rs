//! The proof: each path from the head of a block to the next head, until the relations settle.
//!
//! Heads at which paths begin and end are called cut points. Blocks that only jump are no cut points, because code
//! jumps through them and shares them. A wrong table of heads makes a proof fail: each path must arrive at the head of
//! the block in which the function continues.

use crate::abi::{Convention, Place as Passing};
use crate::attempt::Attempt;
use crate::clif::{self, Edge, Effect, Exit, Meaning};
use crate::equal::{Conditions, Decisions, Judge};
use crate::error::{Fault, Feature, Finding, Verdict};
use crate::frame::Frame;
use crate::input::{Code, RelocationKind};
use crate::machine::Decoded;
use crate::path::{Failure, Path, Progress, Step, Surroundings};
use crate::relation::Relation;
use crate::symbols::{address_of, pointer_to};
use cranelift_entity::SecondaryMap;
use kingpost_ir::signature::ArgumentExtension;
use kingpost_ir::{Block, Function};
use kingpost_machine_semantics::{At, Flow, State};
use kingpost_smt::{Evaluator, Model, Solver, Substitution, Term, Terms, Value};
use std::collections::BTreeSet;
use std::time::Duration;

/// Maximum number of instructions on a path between two heads.
const MAX_STEPS: u32 = 1 << 16;
/// Number of bytes of stack slots that each probe loop touches within [`MAX_STEPS`], with the smallest guard of 16 bytes.
const MAX_PROBED: i64 = 1 << 16;
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
    let mut judge = Judge { solver, decisions: Decisions::default() };
    let mut terms = Terms::for_code();
    let mut instructions = 0;
    let verdict = match Proof::new(func, code, &mut terms, &mut judge) {
        Ok(mut proof) => {
            let result = proof.run();
            instructions = proof.instructions;
            match result {
                Ok(()) => Verdict::Proved,
                Err(Stopped::Feature(feature)) => Verdict::OutOfScope(feature),
                Err(Stopped::Failure(place, failure)) => proof.verdict(place, failure),
            }
        }
        Err(feature) => Verdict::OutOfScope(feature),
    };
    Report { verdict, decisions: judge.decisions, instructions }
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
}

impl Proof<'_, '_> {
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
            None => Ok(()),
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
            progress: Progress::new(0),
            tables: Vec::new(),
            steps: 0,
            unspecified: 0,
            probed: None,
            attempt: Attempt::None,
            fails: false,
            marks: Vec::new(),
        };
        (path, Vec::new(), Exit::Jump(edge), Vec::new())
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
            marks: Vec::new(),
        };
        (path, effects, meaning.exit, replaced)
    }

    /// Follows a path to its end. Adds the paths that branch off.
    #[allow(clippy::too_many_arguments, reason = "the parts of the examined block")]
    fn follow(
        &mut self,
        block: Option<Block>,
        mut path: Path,
        effects: &[Effect],
        exit: &Exit,
        replaced: &[(Term, Term)],
        paths: &mut Vec<Path>,
        work: &mut BTreeSet<Origin>,
    ) -> Result<(), Stopped> {
        let stack_pointer = self.around.code.machine.stack_pointer();
        let has_atomic = effects.iter().any(|effect| matches!(effect, Effect::Atomic(_)));
        loop {
            let offset = path.offset;
            if path.attempt == Attempt::Failed && self.try_again(&path, paths) {
                return Ok(());
            }
            let site = Site { block, offset };
            let failed = |failure: Failure| Stopped::Failure(site, failure);
            if (path.steps > 0 || block.is_none()) && self.is_head[offset as usize] {
                let end = End::Head(offset);
                return self.finish(&path, effects, exit, replaced, end, work).map_err(|stop| stop.at(site));
            }
            path.steps += 1;
            self.instructions += 1;
            if path.steps > MAX_STEPS {
                let slots = self.around.slots.iter().map(|&(start, end)| end - start);
                if block.is_none() && slots.sum::<i64>() > MAX_PROBED {
                    return Err(Stopped::Feature(Feature::Preamble("a frame that is probed in very many steps")));
                }
                return Err(failed(Fault::Unbounded.into()));
            }
            let (decoded, len) = self.decode(offset).map_err(|fault| failed(fault.into()))?;
            let symbol = self.relocated(offset, len).map_err(Stopped::Feature)?;
            let before_attempt = (has_atomic && !path.fails).then(|| path.mark());
            let performed = path.progress.count();
            let at = At { base: self.around.base, offset: offset.into(), symbol };
            let mut step = Step {
                terms: self.terms,
                judge: self.judge,
                around: &self.around,
                effects,
                offset,
                frame: &mut path.frame,
                area: &mut path.area,
                conditions: &mut path.conditions,
                progress: &mut path.progress,
                tables: &mut path.tables,
                is_prologue: block.is_none(),
                unspecified: &mut path.unspecified,
                attempt: &mut path.attempt,
                fails: std::mem::take(&mut path.fails),
                forks: false,
                locked: None,
                is_vacuous: false,
                status: None,
                learned: None,
                faults: Vec::new(),
                failure: None,
            };
            let before = (path.state.general[stack_pointer], step.frame.lowest());
            let flow = decoded.step(&mut step, len as usize, at, &mut path.state);
            let (faults, failure, learned, forks) = (step.faults, step.failure, step.learned, step.forks);
            if step.is_vacuous {
                return Ok(());
            }
            if forks {
                let marks = path.marks.clone();
                // The path does not begin after its first instruction: it may be the head.
                paths.extend(before_attempt.map(|at| Path { fails: true, marks, steps: at.steps - 1, ..at }));
            }
            if path.progress.count() != performed {
                path.marks.clear();
            }
            if let Some(learned) = learned {
                path.learn(self.terms, learned);
            }
            if let Some(failure) = failure {
                return if self.is_infeasible(&path.conditions) { Ok(()) } else { Err(failed(failure)) };
            }
            for condition in faults {
                self.fault(&path, effects, offset, condition).map_err(failed)?;
                let not = self.terms.not(condition);
                path.conditions.add(self.terms, not);
            }
            // Most instructions change neither the stack pointer nor the lowest known byte.
            if path.steps == 1 || before != (path.state.general[stack_pointer], path.frame.lowest()) {
                self.forget_below(&mut path);
            }
            let next = offset + len;
            let target = |target: i64| {
                let inside = u32::try_from(target).ok().filter(|&target| target < self.around.code.end);
                inside.ok_or_else(|| failed(Fault::OutsideCode.into()))
            };
            match flow {
                Flow::Next => path.offset = next,
                Flow::Jump(to) => path.offset = target(to)?,
                Flow::Branch { condition, target: to } => {
                    let to = target(to)?;
                    match path.conditions.decide(self.terms, condition) {
                        Some(true) => path.offset = to,
                        Some(false) => path.offset = next,
                        None => {
                            let mut taken = path.clone();
                            taken.offset = to;
                            taken.conditions.add(self.terms, condition);
                            paths.push(taken);
                            let not = self.terms.not(condition);
                            path.conditions.add(self.terms, not);
                            path.offset = next;
                        }
                    }
                }
                Flow::Indirect(address) if matches!(exit, Exit::TailCall(_)) => {
                    let end = End::TailCall(address);
                    return self.finish(&path, effects, exit, replaced, end, work).map_err(|stop| stop.at(site));
                }
                Flow::Indirect(address) => {
                    return self.jump(path, address, exit, replaced, paths).map_err(failed);
                }
                // The exclusive store that fails on this path does not come.
                Flow::Call(_) if path.attempt == Attempt::Failing => return Ok(()),
                Flow::Call(callee) => {
                    let called = match block {
                        None => self.call_probe(&mut path, callee).map_err(Stop::from),
                        Some(_) => self.call(&mut path, effects, callee),
                    };
                    match called {
                        Ok(()) => {}
                        Err(_) if self.is_infeasible(&path.conditions) => return Ok(()),
                        Err(stop) => return Err(stop.at(site)),
                    }
                    path.offset = next;
                }
                Flow::Return(address) => {
                    let end = End::Return(address);
                    return self.finish(&path, effects, exit, replaced, end, work).map_err(|stop| stop.at(site));
                }
                Flow::Trap => {
                    return match self.trap(&path, effects, offset) {
                        Err(_) if self.is_infeasible(&path.conditions) => Ok(()),
                        other => other.map_err(failed),
                    };
                }
            }
        }
    }

    fn decode(&mut self, offset: u32) -> Result<(Decoded, u32), Fault> {
        let code = self.around.code;
        if let Some(Some((decoded, len))) = self.decoded.get(offset as usize) {
            return Ok((*decoded, (*len).into()));
        }
        let bytes = code.bytes.get(offset as usize..code.end as usize).ok_or(Fault::OutsideCode)?;
        let (decoded, len) = code.machine.decode(bytes).map_err(|_| Fault::Instruction)?;
        if let Some(feature) = decoded.missing(&code.features) {
            return Err(Fault::Processor(feature));
        }
        self.decoded[offset as usize] = Some((decoded, len as u8));
        Ok((decoded, len as u32))
    }

    /// Returns the address in the relocated field of an instruction, if there is one.
    fn relocated(&mut self, offset: u32, len: u32) -> Result<Option<Term>, Feature> {
        let relocations = &self.around.code.relocations;
        let first = relocations.partition_point(|relocation| relocation.offset < offset);
        let Some(relocation) = relocations.get(first).filter(|relocation| relocation.offset < offset + len) else {
            return Ok(None);
        };
        let (symbol, addend) = match relocation.kind {
            RelocationKind::Address => (address_of(self.terms, &relocation.symbol), relocation.addend),
            // The processor adds the address of the next instruction.
            RelocationKind::Distance => {
                let rest = i64::from(offset + len - relocation.offset);
                (address_of(self.terms, &relocation.symbol), relocation.addend + rest)
            }
            RelocationKind::Pointer => (pointer_to(self.terms, &relocation.symbol), relocation.addend),
            RelocationKind::PointerDistance => {
                let rest = i64::from(offset + len - relocation.offset);
                (pointer_to(self.terms, &relocation.symbol), relocation.addend + rest)
            }
            RelocationKind::Other(name) => return Err(Feature::Relocation(name)),
        };
        let addend = self.terms.number(64, addend as u64 as u128);
        Ok(Some(self.terms.add(symbol, addend)))
    }

    /// Removes the memory below the stack pointer, which signal handlers overwrite.
    fn forget_below(&mut self, path: &mut Path) {
        let Some(first) = path.frame.lowest() else { return };
        let machine = self.around.code.machine;
        let stack = path.state.general[machine.stack_pointer()];
        match self.around.frame_offset(self.terms, stack) {
            Some(stack) if first < stack - machine.red_zone() => {
                path.frame.forget(self.terms, i64::MIN, stack - machine.red_zone());
            }
            Some(_) => {}
            None => path.frame = Frame::default(),
        }
    }

    pub(crate) fn is_infeasible(&mut self, conditions: &Conditions) -> bool {
        self.judge.is_contradiction(self.terms, conditions)
    }

    /// Returns the verdict for a failure. The code is refuted by a model of the state at the entry, from which the failing
    /// path begins. In other blocks, the proof may lack a fact about the state.
    fn verdict(&mut self, site: Site, failure: Failure) -> Verdict {
        let variables = self.terms.variables_of(&failure.about);
        let is_known = |term: &Term| self.terms.name(*term).is_some_and(|name| !name.starts_with('?'));
        let Some(model) = failure.model else {
            let finding = Finding { block: site.block, offset: site.offset, fault: failure.fault, state: Vec::new() };
            return Verdict::NotProved(finding);
        };
        let state = variables.iter().filter_map(|&term| self.shown(term, &model)).collect();
        let finding = Finding { block: site.block, offset: site.offset, fault: failure.fault, state };
        let is_exact = site.block.is_none_or(|block| block == self.meaning.order[0]);
        if is_exact && variables.iter().all(is_known) { Verdict::Refuted(finding) } else { Verdict::NotProved(finding) }
    }

    /// Returns the name and the value of a variable under a model.
    fn shown(&self, variable: Term, model: &Model) -> Option<(String, Value)> {
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
    fn at(self, site: Site) -> Stopped {
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
        Effect::Load(load) => Effect::Load(clif::Load { address: new(load.address), bits: load.bits, ..load }),
        Effect::Store { address, value, trap } => Effect::Store { address: new(address), value: new(value), trap },
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
