//! The proof: each path from the head of a block to the next head, until the relations settle.
//!
//! Heads at which paths begin and end are called cut points. Blocks that only jump are no cut points, because code
//! jumps through them and shares them. A wrong table of heads makes a proof fail: each path must arrive at the head of
//! the block in which the function continues.

use crate::abi::{self, Convention, Place as Passing};
use crate::clif::{self, BlockMeaning, Edge, Effect, Exit, Meaning};
use crate::equal::{Conditions, Decision, Decisions, Judge, simplified};
use crate::error::{Fault, Feature, Finding, Verdict};
use crate::frame::Frame;
use crate::input::{Code, RelocationKind};
use crate::live;
use crate::machine::Decoded;
use crate::path::{Failure, Path, Progress, Step, Surroundings, distance, pass_over};
use crate::relation::{Needed, Relation};
use crate::symbols::{address_of, pointer_to, symbols};
use cranelift_entity::SecondaryMap;
use kingpost_ir::signature::ArgumentExtension;
use kingpost_ir::{Block, Function, TrapCode};
use kingpost_machine_semantics::{At, Flow, State};
use kingpost_smt::{Evaluator, Model, Solver, Sort, Substitution, Term, Terms, Value};
use std::collections::BTreeSet;
use std::time::Duration;

/// Maximum number of instructions on a path between two heads.
const MAX_STEPS: u32 = 1 << 16;
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
enum Origin {
    Entry,
    /// The index of a block in reverse post-order.
    Head(usize),
}

/// Place of a failure.
#[derive(Clone, Copy, Debug)]
struct Site {
    block: Option<Block>,
    offset: u32,
}

enum Stopped {
    Failure(Site, Failure),
    Feature(Feature),
}

/// Event at the end of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    /// Arrival at an offset that is the head of a cut point.
    Head(u32),
    /// A return to an address.
    Return(Term),
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
    pub(crate) convention: Convention,
    /// Memory that the caller passes, with the return address where a call stores it.
    pub(crate) entry_frame: Frame,
    pub(crate) return_address: Term,
    pub(crate) instructions: u64,
}

/// Returns `true` if an edge leads to the entry block.
fn has_edge_to_entry(meaning: &Meaning) -> bool {
    let entry = meaning.order.first();
    let mut exits = meaning.order.iter().filter_map(|&block| meaning.blocks[block].as_ref().map(|block| &block.exit));
    exits.any(|exit| match exit {
        Exit::Jump(edge) => Some(&edge.block) == entry,
        Exit::Branch { then, otherwise, .. } => [then, otherwise].iter().any(|edge| Some(&edge.block) == entry),
        Exit::Table { entries, default, .. } => entries.iter().chain([default]).any(|edge| Some(&edge.block) == entry),
        Exit::Return(_) | Exit::Never => false,
    })
}

/// Returns `true` if a block does nothing but jump.
fn only_jumps(block: &BlockMeaning) -> bool {
    block.effects.is_empty() && matches!(block.exit, Exit::Jump(_))
}

impl<'a, 'j> Proof<'a, 'j> {
    fn new(
        func: &'a Function,
        code: &'a Code<'a>,
        terms: &'a mut Terms,
        judge: &'a mut Judge<'j>,
    ) -> Result<Self, Feature> {
        if func.stack_limit.is_some() {
            return Err(Feature::Preamble("a stack limit"));
        }
        if !func.dynamic_stack_slots.is_empty() {
            return Err(Feature::Preamble("a dynamic stack slot"));
        }
        // Both standards align the stack to 16 bytes.
        if func.stack_slots.values().any(|data| data.align_shift > 4) {
            return Err(Feature::Preamble("a stack slot aligned beyond the stack"));
        }
        if code.heads.is_empty() {
            return Err(Feature::Tables);
        }
        let machine = code.machine;
        let convention = abi::convention(machine, &func.signature)?;
        let (base, entry) = (terms.var("code", Sort::Bits(64)), State::variables(terms, "in."));
        let unknown = State::variables(terms, "?");
        let stack = entry.general[machine.stack_pointer()];
        let caller = machine.pushed_by_call();
        let mut addresses = Vec::new();
        let mut slots = Vec::new();
        for (data, &offset) in func.stack_slots.values().zip(&code.slots) {
            let start = offset + caller;
            slots.push((start, start.saturating_add(data.size.into())));
            let offset = terms.number(64, start as u64 as u128);
            addresses.push(terms.add(stack, offset));
        }
        if addresses.len() != func.stack_slots.len() {
            return Err(Feature::Tables);
        }
        let (pointers, literals) = symbols(terms, code);
        let mut entry_frame = Frame::default();
        let return_address = match machine {
            crate::Machine::Aarch64 => entry.general[30],
            crate::Machine::X64 => {
                let address = terms.var("in.return", Sort::Bits(64));
                entry_frame.store(terms, 0, address);
                address
            }
        };
        for passed in &convention.arguments {
            if let Passing::Stack(offset) = passed.place {
                let content = terms.var(&format!("in.stack{offset}"), Sort::Bits(64));
                entry_frame.store(terms, caller + offset, content);
            }
        }
        let arguments: Vec<Term> = convention
            .arguments
            .iter()
            .map(|passed| {
                let whole = match passed.place {
                    Passing::General(number) => entry.general[number],
                    Passing::Vector(number) => entry.vector[number][0],
                    Passing::Stack(offset) => {
                        let content = entry_frame.load(terms, caller + offset, 8);
                        content.expect("stack arguments are stored at the entry")
                    }
                };
                terms.extract(whole, 0, passed.width)
            })
            .collect();
        let meaning = clif::meaning(terms, func, &arguments, &addresses)?;
        if has_edge_to_entry(&meaning) {
            return Err(Feature::Preamble("an edge to the entry block"));
        }
        let mut needed: SecondaryMap<Block, Vec<Term>> = SecondaryMap::new();
        let values = live::needed(func, &meaning.order)?;
        for &block in &meaning.order {
            let mut names: Vec<Term> = values[block].iter().filter_map(|&value| meaning.values[value]).collect();
            names.sort_unstable();
            names.dedup();
            needed[block] = names;
        }
        let mut numbers = SecondaryMap::new();
        meaning.order.iter().enumerate().for_each(|(number, &block)| numbers[block] = number);
        let around = Surroundings {
            code,
            stack,
            base,
            slots,
            caller,
            arguments_end: caller + convention.stack_bytes,
            pointers,
            literals,
        };
        let mut proof = Proof {
            func,
            terms,
            judge,
            around,
            meaning,
            needed,
            heads: SecondaryMap::new(),
            is_head: vec![false; code.bytes.len() + 1],
            numbers,
            relations: SecondaryMap::new(),
            decoded: vec![None; code.bytes.len() + 1],
            entry,
            unknown,
            convention,
            entry_frame,
            return_address,
            instructions: 0,
        };
        proof.find_heads();
        Ok(proof)
    }

    /// Chooses the cut points: emitted blocks that do more than jump, or that jump in a circle. If several are at one
    /// offset, the last one is, because the others have no instructions.
    fn find_heads(&mut self) {
        let mut last: Option<(Block, u32)> = None;
        for &(block, offset) in &self.around.code.heads {
            let Some(meaning) = self.meaning.blocks[block].as_ref() else { continue };
            if (only_jumps(meaning) && !self.is_in_circle(block)) || offset as usize >= self.is_head.len() {
                continue;
            }
            if let Some((other, at)) = last
                && at == offset
            {
                self.heads[other] = None;
            }
            self.heads[block] = Some(offset);
            self.is_head[offset as usize] = true;
            last = Some((block, offset));
        }
    }

    /// Returns `true` if jumps lead from a block to itself, through blocks that only jump.
    fn is_in_circle(&self, block: Block) -> bool {
        let mut at = block;
        for _ in 0..=self.meaning.order.len() {
            match self.meaning.blocks[at].as_ref().map(|meaning| (only_jumps(meaning), &meaning.exit)) {
                Some((true, Exit::Jump(edge))) => at = edge.block,
                _ => return false,
            }
            if at == block {
                return true;
            }
        }
        false
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
            None => Ok(()),
        }
    }

    fn block_of(&self, origin: Origin) -> Option<Block> {
        match origin {
            Origin::Entry => None,
            Origin::Head(number) => Some(self.meaning.order[number]),
        }
    }

    /// Checks that stack slots are memory of the frame, and do not overlap.
    fn check_slots(&self) -> Result<(), Stopped> {
        let mut slots = self.around.slots.clone();
        slots.sort_unstable();
        let is_outside = slots.iter().any(|&(_, end)| end > 0);
        let overlap = slots.windows(2).any(|pair| pair[0].1 > pair[1].0);
        if is_outside || overlap {
            return Err(Stopped::Failure(Site { block: None, offset: 0 }, Fault::SlotPlace.into()));
        }
        Ok(())
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
            conditions: Conditions::default(),
            progress: Progress::new(0),
            tables: Vec::new(),
            steps: 0,
            unspecified: 0,
        };
        (path, Vec::new(), Exit::Jump(edge), Vec::new())
    }

    /// Returns a path from the head of a block, in a state in which its relation holds.
    fn resume(&mut self, block: Block) -> (Path, Vec<Effect>, Exit, Vec<(Term, Term)>) {
        let relation = self.relations[block].clone().unwrap_or_default();
        let assumed = relation.assume(self.terms, &self.unknown);
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
            conditions,
            progress: Progress::new(effects.len()),
            tables: Vec::new(),
            steps: 0,
            unspecified: 0,
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
        loop {
            let offset = path.offset;
            let site = Site { block, offset };
            let failed = |failure: Failure| Stopped::Failure(site, failure);
            if (path.steps > 0 || block.is_none()) && self.is_head[offset as usize] {
                let end = End::Head(offset);
                return self.finish(&path, effects, exit, replaced, end, work).map_err(|stop| stop.at(site));
            }
            path.steps += 1;
            self.instructions += 1;
            if path.steps > MAX_STEPS {
                return Err(failed(Fault::Unbounded.into()));
            }
            let (decoded, len) = self.decode(offset).map_err(|fault| failed(fault.into()))?;
            let symbol = self.relocated(offset, len).map_err(Stopped::Feature)?;
            let at = At { base: self.around.base, offset: offset.into(), symbol };
            let mut step = Step {
                terms: self.terms,
                judge: self.judge,
                around: &self.around,
                effects,
                offset,
                frame: &mut path.frame,
                conditions: &mut path.conditions,
                progress: &mut path.progress,
                tables: &mut path.tables,
                unspecified: &mut path.unspecified,
                faults: Vec::new(),
                failure: None,
            };
            let flow = decoded.step(&mut step, len as usize, at, &mut path.state);
            let (faults, failure) = (step.faults, step.failure);
            if let Some(failure) = failure {
                return if self.is_infeasible(&path.conditions) { Ok(()) } else { Err(failed(failure)) };
            }
            for condition in faults {
                self.fault(&path, effects, offset, condition).map_err(failed)?;
                let not = self.terms.not(condition);
                path.conditions.add(self.terms, not);
            }
            self.forget_below(&mut path);
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
                Flow::Indirect(address) => {
                    return self.jump(path, address, exit, replaced, paths).map_err(failed);
                }
                Flow::Call(callee) => {
                    match self.call(&mut path, effects, callee) {
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
        let Some(first) = path.frame.pieces().first().map(|piece| piece.offset) else { return };
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

    fn is_infeasible(&mut self, conditions: &Conditions) -> bool {
        self.judge.is_contradiction(self.terms, conditions)
    }

    /// Requires the function to trap under a condition as an instruction that faults does.
    fn fault(&mut self, path: &Path, effects: &[Effect], offset: u32, condition: Term) -> Result<(), Failure> {
        if path.conditions.decide(self.terms, condition) == Some(false) {
            return Ok(());
        }
        let mut path = path.clone();
        path.conditions.add(self.terms, condition);
        match self.trap(&path, effects, offset) {
            Err(_) if self.is_infeasible(&path.conditions) => Ok(()),
            other => other,
        }
    }

    /// Requires the function to trap where a path traps, with the listed code.
    fn trap(&mut self, path: &Path, effects: &[Effect], offset: u32) -> Result<(), Failure> {
        let listed: Vec<TrapCode> = self.around.traps(offset).collect();
        if listed.is_empty() {
            return Err(Fault::UnlistedTrap.into());
        }
        for index in path.progress.open() {
            match &effects[index] {
                Effect::Load(load) if load.trap.is_none() => {}
                Effect::TrapIf { condition, code } => {
                    let never = self.terms.not(*condition);
                    if path.conditions.decide(self.terms, *condition) == Some(false) {
                        continue;
                    }
                    let is_listed = listed.contains(code);
                    let decision = match is_listed {
                        true => self.judge.holds(self.terms, &path.conditions, *condition),
                        false => Decision::Unknown,
                    };
                    match decision {
                        Decision::Holds => return Ok(()),
                        _ if self.judge.holds(self.terms, &path.conditions, never) == Decision::Holds => {}
                        Decision::Fails(model) => {
                            return Err(Failure { fault: Fault::Trap, model: Some(model), about: vec![*condition] });
                        }
                        Decision::Unknown => {
                            return Err(Failure { fault: Fault::Trap, model: None, about: vec![*condition] });
                        }
                    }
                }
                _ => return Err(Fault::Trap.into()),
            }
        }
        Err(Fault::Trap.into())
    }

    /// Continues at an address: within the code, or at each entry of a jump table.
    fn jump(
        &mut self,
        path: Path,
        address: Term,
        exit: &Exit,
        replaced: &[(Term, Term)],
        paths: &mut Vec<Path>,
    ) -> Result<(), Failure> {
        let inside = |offset: i64, end: u32| u32::try_from(offset).ok().filter(|&offset| offset < end);
        let end = self.around.code.end;
        if let Some(offset) = distance(self.terms, address, self.around.base) {
            let offset = inside(offset, end).ok_or(Fault::OutsideCode)?;
            paths.push(Path { offset, ..path });
            return Ok(());
        }
        let Exit::Table { index, entries, .. } = exit else { return Err(Fault::IndirectJump.into()) };
        let index = Substitution::new(replaced.iter().copied()).apply(self.terms, *index);
        let width = self.terms.width(index);
        let count = self.terms.number(width, entries.len() as u128);
        let mut cases = vec![(self.terms.ule(count, index), None)];
        for number in 0..entries.len() {
            let number = self.terms.number(width, number as u128);
            cases.push((self.terms.eq(index, number), Some(number)));
        }
        for (is_this, number) in cases {
            if path.conditions.decide(self.terms, is_this) == Some(false) {
                continue;
            }
            let mut this = path.clone();
            this.conditions.add(self.terms, is_this);
            let mut pairs: Vec<(Term, Term)> = number.map(|number| (index, number)).into_iter().collect();
            let mut substitution = Substitution::new(pairs.iter().copied());
            for &(entry, offset) in &path.tables {
                let offset = substitution.apply(self.terms, offset);
                let offset = simplified(self.terms, &this.conditions, offset);
                let contents = self.terms.bits(offset).and_then(|offset| self.table_entry(offset.unsigned()));
                let contents = contents.ok_or(Fault::IndirectJump)?;
                pairs.push((entry, self.terms.number(32, contents.into())));
            }
            let target = Substitution::new(pairs).apply(self.terms, address);
            let target = distance(self.terms, target, self.around.base).and_then(|offset| inside(offset, end));
            this.offset = target.ok_or(Fault::IndirectJump)?;
            paths.push(this);
        }
        Ok(())
    }

    /// Returns four bytes of the tables after the instructions.
    fn table_entry(&self, offset: u128) -> Option<u32> {
        let code = self.around.code;
        let offset = usize::try_from(offset).ok().filter(|&offset| offset >= code.end as usize)?;
        let bytes = code.bytes.get(offset..offset.checked_add(4)?)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?))
    }

    /// Requires the function to continue as the path ends.
    fn finish(
        &mut self,
        path: &Path,
        effects: &[Effect],
        exit: &Exit,
        replaced: &[(Term, Term)],
        end: End,
        work: &mut BTreeSet<Origin>,
    ) -> Result<(), Stop> {
        let result = self.end(path, effects, exit, replaced, end, work);
        match result {
            Err(_) if self.is_infeasible(&path.conditions) => Ok(()),
            other => other,
        }
    }

    fn end(
        &mut self,
        path: &Path,
        effects: &[Effect],
        exit: &Exit,
        replaced: &[(Term, Term)],
        end: End,
        work: &mut BTreeSet<Origin>,
    ) -> Result<(), Stop> {
        let mut path = path.clone();
        pass_over(self.terms, self.judge, effects, &path.conditions, &mut path.progress, |_| false)?;
        let exit = exit.clone();
        self.leave(&path, &exit, replaced.to_vec(), end, work, 0)
    }

    /// Follows an exit of the function to a cut point or a return. `replaced` are the variables with their terms on the
    /// path.
    fn leave(
        &mut self,
        path: &Path,
        exit: &Exit,
        replaced: Vec<(Term, Term)>,
        end: End,
        work: &mut BTreeSet<Origin>,
        depth: usize,
    ) -> Result<(), Stop> {
        let mut substitution = Substitution::new(replaced.iter().copied());
        match exit {
            Exit::Never => Err(Failure::from(Fault::Omitted("a trap")).into()),
            Exit::Return(results) => {
                let End::Return(address) = end else { return Err(Failure::from(Fault::Successor).into()) };
                let results: Vec<Term> = results.iter().map(|&term| substitution.apply(self.terms, term)).collect();
                Ok(self.check_return(path, address, &results)?)
            }
            Exit::Jump(edge) => self.enter(path, edge, replaced, end, work, depth),
            Exit::Branch { condition, then, otherwise } => {
                let condition = substitution.apply(self.terms, *condition);
                for (condition, edge) in [(condition, then), (self.terms.not(condition), otherwise)] {
                    self.enter_if(path, condition, edge, &replaced, end, work, depth)?;
                }
                Ok(())
            }
            Exit::Table { index, entries, default } => {
                let index = substitution.apply(self.terms, *index);
                let width = self.terms.width(index);
                for (number, edge) in entries.iter().enumerate() {
                    let number = self.terms.number(width, number as u128);
                    let condition = self.terms.eq(index, number);
                    self.enter_if(path, condition, edge, &replaced, end, work, depth)?;
                }
                let count = self.terms.number(width, entries.len() as u128);
                let condition = self.terms.ule(count, index);
                self.enter_if(path, condition, default, &replaced, end, work, depth)
            }
        }
    }

    /// Enters a block if the condition can hold on the path.
    #[allow(clippy::too_many_arguments, reason = "the parts of the path's end")]
    fn enter_if(
        &mut self,
        path: &Path,
        condition: Term,
        edge: &Edge,
        replaced: &[(Term, Term)],
        end: End,
        work: &mut BTreeSet<Origin>,
        depth: usize,
    ) -> Result<(), Stop> {
        match path.conditions.decide(self.terms, condition) {
            Some(false) => return Ok(()),
            Some(true) => return self.enter(path, edge, replaced.to_vec(), end, work, depth),
            None => {}
        }
        let mut taken = path.clone();
        taken.conditions.add(self.terms, condition);
        // An edge that is not taken must not drop facts.
        if self.is_infeasible(&taken.conditions) {
            return Ok(());
        }
        self.enter(&taken, edge, replaced.to_vec(), end, work, depth)
    }

    /// Passes the arguments of an edge to its block.
    fn enter(
        &mut self,
        path: &Path,
        edge: &Edge,
        mut replaced: Vec<(Term, Term)>,
        end: End,
        work: &mut BTreeSet<Origin>,
        depth: usize,
    ) -> Result<(), Stop> {
        let mut substitution = Substitution::new(replaced.iter().copied());
        let parameters: Vec<Term> =
            self.func.dfg.block_params(edge.block).iter().filter_map(|&value| self.meaning.values[value]).collect();
        let passed: Vec<Term> = edge.arguments.iter().map(|&term| substitution.apply(self.terms, term)).collect();
        replaced.retain(|(variable, _)| !parameters.contains(variable));
        replaced.extend(parameters.into_iter().zip(passed));
        match self.heads[edge.block] {
            Some(offset) if end == End::Head(offset) => self.arrive(path, edge.block, &replaced, work),
            Some(_) => Err(Failure::from(Fault::Successor).into()),
            None => {
                if depth > self.meaning.order.len() {
                    return Err(Failure::from(Fault::Successor).into());
                }
                let meaning = self.meaning.blocks[edge.block].clone().ok_or(Failure::from(Fault::Successor))?;
                if !meaning.effects.is_empty() {
                    return Err(Failure::from(Fault::Successor).into());
                }
                self.leave(path, &meaning.exit, replaced, end, work, depth + 1)
            }
        }
    }

    /// Updates the relation of a block with a path that arrives at its head.
    fn arrive(
        &mut self,
        path: &Path,
        block: Block,
        replaced: &[(Term, Term)],
        work: &mut BTreeSet<Origin>,
    ) -> Result<(), Stop> {
        let mut substitution = Substitution::new(replaced.iter().copied());
        let changed = match self.relations[block].take() {
            None => {
                let names = self.needed[block].clone();
                let needed: Vec<Needed> = names
                    .into_iter()
                    .map(|name| Needed { name, value: substitution.apply(self.terms, name) })
                    .collect();
                let machine = self.around.code.machine;
                let registers = (machine.generals(), machine.vectors());
                let relation = Relation::propose(self.terms, registers, &path.state, &path.frame, &needed);
                self.relations[block] = Some(relation);
                true
            }
            Some(mut relation) => {
                let (judge, conditions) = (&mut *self.judge, &path.conditions);
                let changed = relation.restrict(
                    self.terms,
                    &path.state,
                    &path.frame,
                    |terms, term| substitution.apply(terms, term),
                    |terms, a, b| judge.is_same_under(terms, conditions, a, b),
                );
                self.relations[block] = Some(relation);
                changed
            }
        };
        if changed {
            work.insert(Origin::Head(self.numbers[block]));
        }
        Ok(())
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
        Effect::Fence => Effect::Fence,
    }
}
