//! Runs a problem and its allocation side by side along random paths and compares what every use reads.
//!
//! A value is a token: each def makes a new one each time it runs. The problem is run with tokens in values; the
//! allocation with tokens in registers and slots, like a machine. Operands in places that their constraints do not
//! allow cannot be encoded, and edits have their stated effect. The machine is as hostile as the contract allows:
//! early defs are written before early uses are read, late uses are read after all results are written, scratch
//! registers and emergency slots are lost at every instruction, the collector moves every object at every
//! safepoint.
//!
//! It shares no code with the checker. It finds only faults on the paths that it takes.

mod edits;

use crate::rng::Rng;
use cranelift_entity::{EntityRef, SecondaryMap};
use kingpost_regalloc::{
    Allocation, Block, Constraint, Edge, Edit, Inst, InstFlags, Kind, LabelRange, Loc, MachineEnv, Operand, PReg,
    PRegSet, Pos, Problem, RegClass, Slot, VReg,
};
use std::collections::{HashMap, HashSet};

/// Extent of a simulation.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Number of paths.
    pub paths: usize,
    /// Largest number of instructions per path.
    pub steps: usize,
}

/// Fault of a run, with its point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wrong {
    /// The instruction at or before which the fault occurs.
    pub inst: Inst,
    /// The fault.
    pub what: Fault,
}

/// Fault that a simulated machine finds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// The operand reads another value.
    WrongValue(Loc),
    /// No encoding takes the operands in these locations.
    NotEncodable,
    /// The machine has no such edit.
    NoSuchEdit,
    /// Memory outside of a slot is touched, or the slot is not aligned.
    OutOfSlot,
    /// Two results, or a result and a value that is still needed, are in one location.
    ResultLost(Loc),
    /// An instruction with an effect was left out or run twice.
    EffectChanged,
    /// The collector found no object of the program in a mapped slot.
    NoReference(Slot),
    /// The caller's value in a callee-saved register is lost.
    CalleeSaved(PReg),
    /// The debugger shows a wrong value.
    Label(Loc),
}

type Token = u64;

#[derive(Clone, Copy, PartialEq, Eq)]
struct Content {
    token: Token,
    bytes: u8,
}

/// Content of locations that were never written.
const GARBAGE: Content = Content { token: 0, bytes: 0 };
const ALL_BYTES: u8 = 64;

/// Runs `effort.paths` random paths.
///
/// # Errors
/// The first fault.
pub fn simulate(
    problem: &Problem,
    env: &MachineEnv,
    answer: &Allocation,
    rng: &mut Rng,
    effort: Effort,
) -> Result<(), Wrong> {
    let mut edits: HashMap<Inst, Vec<Edit>> = HashMap::new();
    for &edit in &answer.edits {
        edits.entry(edit.at).or_default().push(edit);
    }
    if let Some(two) = answer.labels.windows(2).find(|two| (two[0].label, two[0].from) > (two[1].label, two[1].from)) {
        return Err(Wrong { inst: two[1].from, what: Fault::Label(two[1].loc) });
    }
    let allowed = env.allocatable();
    let mut taken = vec![0; problem.num_edges()];
    for _ in 0..effort.paths {
        let mut machine = Machine {
            problem,
            env,
            answer,
            edits: &edits,
            allowed,
            values: SecondaryMap::new(),
            regs: [GARBAGE; PReg::COUNT],
            slots: vec![GARBAGE; answer.slots.len()],
            objects: HashSet::new(),
            temporaries: Vec::new(),
            next: 1,
        };
        machine.run(rng, &mut taken, effort.steps)?;
    }
    Ok(())
}

struct Machine<'a> {
    problem: &'a Problem,
    env: &'a MachineEnv,
    answer: &'a Allocation,
    edits: &'a HashMap<Inst, Vec<Edit>>,
    allowed: PRegSet,
    /// State of the problem.
    values: SecondaryMap<VReg, Token>,
    /// State of the machine.
    regs: [Content; PReg::COUNT],
    slots: Vec<Content>,
    /// Objects at their current addresses.
    objects: HashSet<Token>,
    /// Locations that a terminator wrote and no edge lists: they hold their contents on every edge.
    temporaries: Vec<(Loc, Content)>,
    next: Token,
}

/// Returns the token of a constant, which is fixed and far above all other tokens.
fn constant_token(inst: Inst) -> Token {
    u64::MAX - inst.index() as u64
}

impl Machine<'_> {
    fn run(&mut self, rng: &mut Rng, taken: &mut [u32], steps: usize) -> Result<(), Wrong> {
        let callers: Vec<(PReg, Content)> = self.env.callee_saved().iter().map(|reg| (reg, self.caller())).collect();
        callers.iter().for_each(|&(reg, content)| self.regs[reg.index()] = content);
        let mut block = self.problem.entry();
        let mut left = steps;
        while left > 0 {
            for inst in self.problem.insts(block) {
                left = left.saturating_sub(1);
                self.edits_before(inst)?;
                self.debugger(inst)?;
                self.inst(inst, inst == self.problem.terminator(block)).map_err(|what| Wrong { inst, what })?;
                self.lose_scratch();
            }
            let Some(edge) = choose(self.problem.succs(block), rng, taken) else {
                let inst = self.problem.terminator(block);
                self.epilogue(inst).map_err(|what| Wrong { inst, what })?;
                // Callers expect only the bytes that partial clobbers keep.
                let is_lost = |reg: PReg, content: Content| self.regs[reg.index()].token != content.token;
                let lost = callers.iter().find(|&&(reg, c)| !self.answer.saved.contains(reg) && is_lost(reg, c));
                return lost.map_or(Ok(()), |&(reg, _)| Err(Wrong { inst, what: Fault::CalleeSaved(reg) }));
            };
            taken[edge.index()] += 1;
            let inst = self.problem.terminator(block);
            block = self.edge(block, edge).map_err(|what| Wrong { inst, what })?;
        }
        Ok(())
    }

    /// Restores the saved registers of the caller before the exit reads the registers that it names.
    fn epilogue(&self, exit: Inst) -> Result<(), Fault> {
        let operands = self.problem.operands(exit).iter().zip(self.answer.operand_locs(self.problem, exit));
        for (operand, &loc) in operands {
            let is_named = matches!(operand.constraint(), Constraint::Fixed(_) | Constraint::Within(_));
            if is_named && loc.as_reg().is_some_and(|reg| self.answer.saved.contains(reg)) {
                return Err(Fault::WrongValue(loc));
            }
        }
        Ok(())
    }

    fn caller(&mut self) -> Content {
        Content { token: self.token(), bytes: ALL_BYTES }
    }

    fn token(&mut self) -> Token {
        self.next += 1;
        self.next
    }

    fn inst(&mut self, inst: Inst, is_terminator: bool) -> Result<(), Fault> {
        let operands = self.problem.operands(inst);
        let flags = self.problem.flags(inst);
        if self.answer.is_dropped(inst) {
            return self.dropped(inst);
        }
        let locs = self.places(inst)?;
        let in_memory = |k: &usize| operands[*k].constraint() == Constraint::MemOk && locs[*k].as_slot().is_some();
        if (0..operands.len()).filter(in_memory).count() > 1 {
            return Err(Fault::NotEncodable);
        }
        // A terminator's results come into existence on its edges, but their locations may be written on all of
        // them.
        let results = self.results(inst, is_terminator);
        self.write(&results, Pos::Early);
        self.read(operands, &locs, Pos::Early, &results)?;
        if flags.has(InstFlags::SAFEPOINT) {
            self.collector_looks(inst)?;
        }
        self.clobber(inst);
        if flags.has(InstFlags::SAFEPOINT) {
            self.collect(inst);
            self.late_references_are_new(&results);
        }
        self.write(&results, Pos::Late);
        self.clobber_results(inst, &results)?;
        self.read(operands, &locs, Pos::Late, &results)?;
        self.results_are_there(&results)?;
        self.temporaries.clear();
        self.temporaries.extend(results.iter().filter(|r| !r.on_edge).map(|r| (r.loc, r.content)));
        for result in &results {
            if !is_terminator {
                self.values[result.vreg] = result.content.token;
            }
        }
        Ok(())
    }

    fn dropped(&mut self, inst: Inst) -> Result<(), Fault> {
        let operands = self.problem.operands(inst);
        let flags = self.problem.flags(inst);
        if flags.has(InstFlags::REMAT) {
            self.values[operands[0].vreg()] = constant_token(inst);
        } else if flags.has(InstFlags::MOVE) {
            let (from, to) = copy_operands(operands);
            self.values[to] = self.values[from];
            // Omitting a copy is correct only if its source already has the location of its result.
            let locs = self.answer.operand_locs(self.problem, inst);
            if locs[0] != locs[1] {
                return Err(Fault::EffectChanged);
            }
            self.read(operands, locs, Pos::Early, &[])?;
        } else {
            return Err(Fault::EffectChanged);
        }
        Ok(())
    }

    /// Returns the locations in which the machine reads and writes each operand, if it has an encoding for these.
    fn places(&self, inst: Inst) -> Result<Vec<Loc>, Fault> {
        let operands = self.problem.operands(inst);
        let locs = self.answer.operand_locs(self.problem, inst);
        for (operand, &loc) in operands.iter().zip(locs) {
            let data = self.problem.vregs[operand.vreg()];
            let possible = match (loc.as_reg(), loc.as_slot()) {
                (Some(reg), _) => reg.class() == data.class && self.allowed.contains(reg),
                (_, Some(slot)) => {
                    let emergency = self.answer.emergency.contains(&Some(slot));
                    let fits = |s: &kingpost_regalloc::SlotData| {
                        s.size >= u32::from(data.width) && s.align >= u32::from(data.width)
                    };
                    if !self.answer.slots.get(slot).is_some_and(fits) {
                        return Err(Fault::OutOfSlot);
                    }
                    !emergency
                }
                _ => false,
            };
            let encodable = match operand.constraint() {
                Constraint::Reg => loc.as_reg().is_some(),
                Constraint::Fixed(reg) => loc == Loc::reg(reg),
                Constraint::Reuse(k) => {
                    locs.get(usize::from(k)) == Some(&loc) && (loc.as_reg().is_some() || operand.is_rmw())
                }
                Constraint::Stack => loc.as_slot().is_some(),
                Constraint::MemOk | Constraint::Any => true,
                Constraint::Within(set) => loc.as_reg().is_some_and(|r| self.problem.reg_set(set).contains(r)),
            };
            if !possible || !encodable {
                return Err(Fault::NotEncodable);
            }
        }
        Ok(locs.to_vec())
    }

    fn results(&mut self, inst: Inst, is_terminator: bool) -> Vec<Produced> {
        let problem = self.problem;
        let operands = problem.operands(inst);
        let locs = self.answer.operand_locs(problem, inst);
        let edges = if is_terminator { problem.succs(problem.block_of(inst)) } else { &[] };
        let mut produced = Vec::new();
        for (operand, &loc) in operands.iter().zip(locs).filter(|(operand, _)| operand.is_def()) {
            let vreg = operand.vreg();
            let on_edge = edges.iter().any(|&edge| problem.edge_defs(edge).contains(&vreg));
            let token = match () {
                () if on_edge => 0,
                () if problem.flags(inst).has(InstFlags::REMAT) => constant_token(inst),
                () if problem.flags(inst).has(InstFlags::MOVE) && operands.len() == 2 => {
                    self.values[copy_operands(operands).0]
                }
                () => self.new_value(vreg),
            };
            let content = Content { token, bytes: problem.width(vreg) };
            let (pos, constraint) = (operand.pos(), operand.constraint());
            produced.push(Produced { vreg, pos, constraint, loc, content, on_edge });
        }
        produced
    }

    fn new_value(&mut self, vreg: VReg) -> Token {
        let token = self.token();
        if self.problem.vregs[vreg].is_ref {
            self.objects.insert(token);
        }
        token
    }

    fn write(&mut self, results: &[Produced], pos: Pos) {
        for result in results.iter().filter(|result| result.pos == pos) {
            *self.at(result.loc) = result.content;
        }
    }

    fn at(&mut self, loc: Loc) -> &mut Content {
        match (loc.as_reg(), loc.as_slot()) {
            (Some(reg), _) => &mut self.regs[reg.index()],
            (_, Some(slot)) => &mut self.slots[slot.index()],
            _ => unreachable!("an operand without place is not encodable"),
        }
    }

    /// Checks that each use of one point finds its value. A use whose location a result has taken over does not,
    /// unless the result reuses exactly this use's location.
    fn read(&mut self, operands: &[Operand], locs: &[Loc], pos: Pos, results: &[Produced]) -> Result<(), Fault> {
        for (k, (operand, &loc)) in operands.iter().zip(locs).enumerate() {
            if operand.kind() != Kind::Use || operand.pos() != pos {
                continue;
            }
            let reuser =
                results.iter().any(|r| r.pos == pos && r.loc == loc && r.constraint == Constraint::Reuse(k as u8));
            let found = *self.at(loc);
            let expected = self.values[operand.vreg()];
            let right = found.token == expected && found.bytes >= self.problem.width(operand.vreg());
            if !right && !reuser {
                return Err(Fault::WrongValue(loc));
            }
        }
        Ok(())
    }

    fn clobber(&mut self, inst: Inst) {
        let clobbers = self.problem.clobbers(inst);
        for reg in clobbers.lost.iter() {
            self.regs[reg.index()] = GARBAGE;
        }
        for reg in clobbers.partial.iter() {
            let content = self.regs[reg.index()];
            self.regs[reg.index()] = truncated(content, clobbers.kept_bytes);
        }
    }

    /// Checks that no result is in a clobbered register, which may be destroyed after the results were written.
    fn clobber_results(&self, inst: Inst, results: &[Produced]) -> Result<(), Fault> {
        let clobbers = self.problem.clobbers(inst);
        for result in results {
            if result.loc.as_reg().is_some_and(|reg| clobbers.kills(reg, result.content.bytes)) {
                return Err(Fault::ResultLost(result.loc));
            }
        }
        Ok(())
    }

    /// Checks that no result has overwritten another one. Results on edges are checked on the edge.
    fn results_are_there(&mut self, results: &[Produced]) -> Result<(), Fault> {
        for result in results {
            if !result.on_edge && *self.at(result.loc) != result.content {
                return Err(Fault::ResultLost(result.loc));
            }
        }
        Ok(())
    }

    fn collector_looks(&self, inst: Inst) -> Result<(), Fault> {
        for entry in self.answer.stack_maps.iter().filter(|entry| entry.inst == inst) {
            let content = self.slots.get(entry.slot.index()).copied().unwrap_or(GARBAGE);
            let whole = |v| self.is_ref(v) && content.bytes >= self.problem.width(v);
            let named = self.values.iter().any(|(v, &token)| token == content.token && whole(v));
            if !self.objects.contains(&content.token) || !named {
                return Err(Fault::NoReference(entry.slot));
            }
        }
        Ok(())
    }

    fn is_ref(&self, vreg: VReg) -> bool {
        self.problem.vregs.get(vreg).is_some_and(|data| data.is_ref)
    }

    /// Moves all objects. Only mapped slots are updated.
    fn collect(&mut self, inst: Inst) {
        let references = self.problem.vregs.keys().filter(|&v| self.is_ref(v));
        let mut old: Vec<Token> = references.map(|v| self.values[v]).filter(|&token| token != 0).collect();
        old.sort_unstable();
        old.dedup();
        let moved: HashMap<Token, Token> = old.into_iter().map(|token| (token, self.token())).collect();
        for (vreg, data) in self.problem.vregs.iter() {
            match moved.get(&self.values[vreg]) {
                Some(&new) if data.is_ref => self.values[vreg] = new,
                _ => {}
            }
        }
        self.objects.clear();
        for entry in self.answer.stack_maps.iter().filter(|entry| entry.inst == inst) {
            let content = &mut self.slots[entry.slot.index()];
            content.token = moved.get(&content.token).copied().unwrap_or(0);
            self.objects.insert(content.token);
        }
    }

    fn late_references_are_new(&mut self, results: &[Produced]) {
        let problem = self.problem;
        let new = results.iter().filter(|result| result.pos == Pos::Late && problem.vregs[result.vreg].is_ref);
        self.objects.extend(new.map(|result| result.content.token));
    }

    fn lose_scratch(&mut self) {
        for class in RegClass::ALL {
            if let Some(reg) = self.env.class(class).scratch {
                self.regs[reg.index()] = GARBAGE;
            }
            if let Some(slot) = self.answer.emergency[class.index()]
                && let Some(content) = self.slots.get_mut(slot.index())
            {
                *content = GARBAGE;
            }
        }
    }

    /// Checks the label ranges at an instruction.
    fn debugger(&mut self, inst: Inst) -> Result<(), Wrong> {
        for claim in self.answer.labels.iter().filter(|claim| (claim.from..claim.to).contains(&inst)) {
            let requested = |request: &&kingpost_regalloc::LabelUse| {
                request.label == claim.label && (request.from..request.to).contains(&inst)
            };
            // A location list has one location for each request.
            let at_once = |other: &&LabelRange| other.label == claim.label && (other.from..other.to).contains(&inst);
            if self.answer.labels.iter().filter(at_once).count() > self.problem.labels.iter().filter(requested).count()
            {
                return Err(Wrong { inst, what: Fault::Label(claim.loc) });
            }
            let right = self.problem.labels.iter().filter(requested).any(|request| {
                let content = match (claim.loc.as_reg(), claim.loc.as_slot()) {
                    (Some(reg), _) => self.regs[reg.index()],
                    (_, Some(slot)) => self.slots.get(slot.index()).copied().unwrap_or(GARBAGE),
                    _ => GARBAGE,
                };
                content.token == self.values[request.vreg] && content.bytes >= self.problem.width(request.vreg)
            });
            if !right {
                return Err(Wrong { inst, what: Fault::Label(claim.loc) });
            }
        }
        Ok(())
    }

    /// Takes an edge: results that exist on it, then arguments, all at once.
    fn edge(&mut self, from: Block, edge: Edge) -> Result<Block, Fault> {
        let problem = self.problem;
        let inst = problem.terminator(from);
        let locs = self.answer.operand_locs(problem, inst);
        let mut results = std::mem::take(&mut self.temporaries);
        for &vreg in problem.edge_defs(edge) {
            let token = self.new_value(vreg);
            self.values[vreg] = token;
            let def = problem.operands(inst).iter().zip(locs).find(|(o, _)| o.is_def() && o.vreg() == vreg);
            if let Some((_, &loc)) = def {
                let content = Content { token, bytes: problem.width(vreg) };
                *self.at(loc) = content;
                results.push((loc, content));
            }
        }
        if let Some(&(loc, _)) = results.iter().find(|&&(loc, content)| *self.at(loc) != content) {
            return Err(Fault::ResultLost(loc));
        }
        let to = problem.edge(edge).to;
        let tokens: Vec<Token> = problem.edge_args(edge).iter().map(|&arg| self.values[arg]).collect();
        for (&param, token) in problem.params(to).iter().zip(tokens) {
            self.values[param] = token;
        }
        Ok(to)
    }
}

/// Returns one of the outgoing edges of a block, often the least taken one.
fn choose(ways: &[Edge], rng: &mut Rng, taken: &[u32]) -> Option<Edge> {
    match rng.chance(50) {
        true => ways.iter().copied().min_by_key(|&edge| taken[edge.index()]),
        false => rng.pick(ways),
    }
}

/// A result of one run of one instruction.
struct Produced {
    vreg: VReg,
    pos: Pos,
    constraint: Constraint,
    loc: Loc,
    content: Content,
    /// Whether it exists on one edge only.
    on_edge: bool,
}

/// Returns the source and destination of a copy.
fn copy_operands(operands: &[Operand]) -> (VReg, VReg) {
    let of = |kind| operands.iter().find(|o| o.kind() == kind).map_or(VReg::new(0), |o| o.vreg());
    (of(Kind::Use), of(Kind::Def))
}

fn truncated(content: Content, width: u8) -> Content {
    if width == 0 { GARBAGE } else { Content { bytes: content.bytes.min(width), ..content } }
}
