//! One instruction with demands: registers for its operands, moving only what is in the way.
//!
//! Operands that need registers are matched with registers first (`matching.rs`). Values that live on stay where they are
//! if they can; those in the way go to a free register, or to memory if all values in registers are used sooner
//! (`live_through.rs`). All moves together are one parallel move before the instruction.

use crate::coloring::{Coloring, Input, Output};
use crate::fast_path::drop_void_move;
use crate::liveness::reset;
use crate::matching::{Matcher, Need};
use crate::pick_register::Likes;
use cranelift_entity::EntityRef;
use kingpost_regalloc::{
    AllocError, Constraint, Edge, Edit, Inst, InstFlags, Loc, NoRegister, Operand, PReg, PRegSet, Pos, StackMapEntry,
    VReg,
};

/// What an operand was given, or how it will be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Choice {
    Open,
    Need(u32),
    At(Loc),
    SameAs(u8),
}

/// Memory for one instruction after another.
#[derive(Default)]
pub(crate) struct Scratch {
    pub(crate) choices: Vec<Choice>,
    reused_by: Vec<Option<u8>>,
    /// Values that must leave their registers, with the distances of their next uses.
    pub(crate) displaced: Vec<(u32, VReg)>,
    /// Who will be where after the moves, of those that live on.
    pub(crate) survivors: Vec<(VReg, PReg)>,
    pub(crate) surviving: PRegSet,
    /// Registers read at the early point only.
    pub(crate) claims: PRegSet,
    /// Per result of the branch at hand, the edge it belongs to.
    edges: Vec<Option<Edge>>,
}

impl Scratch {
    pub(crate) fn keep(&mut self, vreg: VReg, reg: PReg) {
        self.survivors.push((vreg, reg));
        self.surviving.insert(reg);
    }
}

/// The instruction at hand.
#[derive(Clone, Copy)]
pub(crate) struct At<'a> {
    pub(crate) input: &'a Input<'a>,
    pub(crate) inst: Inst,
    pub(crate) operands: &'a [Operand],
    is_safepoint: bool,
}

impl At<'_> {
    pub(crate) fn killed(&self, vreg: VReg) -> PRegSet {
        self.input.problem.clobbers(self.inst).killed(self.input.problem.width(vreg))
    }

    pub(crate) fn allocatable(&self, vreg: VReg) -> PRegSet {
        self.input.facts.allocatable.of_class(self.input.problem.class(vreg))
    }

    /// Does the collector take the value out of registers?
    pub(crate) fn collects(&self, vreg: VReg) -> bool {
        self.is_safepoint && self.input.problem.vregs[vreg].is_ref
    }
}

impl Coloring {
    /// Serves an instruction.
    #[cold]
    pub(crate) fn constrained(&mut self, input: &Input, inst: Inst, output: &mut Output) -> Result<(), AllocError> {
        let problem = input.problem;
        let is_safepoint = problem.flags(inst).has(InstFlags::SAFEPOINT);
        let at = At { input, inst, operands: problem.operands(inst), is_safepoint };
        let is_terminator = inst.as_u32() == self.bounds.1;
        self.used = self.used.union(problem.clobbers(inst).lost);
        if is_terminator {
            self.find_edges(at);
        }
        self.make_needs(at, is_terminator)?;
        self.place_needs(at, output)?;
        self.choose_survivors(at, output);
        self.settle_open(at, output);
        self.move_values(at, output)?;
        self.answer(at, is_terminator, output);
        Ok(())
    }

    /// Which edge each result of a branch belongs to.
    fn find_edges(&mut self, at: At) {
        let input = at.input;
        if at.operands.iter().any(|operand| operand.is_def()) && self.scratch.edges.len() < self.values.len() {
            self.scratch.edges.resize(self.values.len(), None);
            self.branch_defs.resize(self.values.len(), Loc::NONE);
        }
        for operand in at.operands.iter().filter(|operand| operand.is_def()) {
            self.scratch.edges[operand.vreg().index()] = None;
        }
        for &edge in input.problem.succs(input.order.blocks[self.place as usize]) {
            let to = input.order.place(input.problem.edge(edge).to);
            for &vreg in input.problem.edge_defs(edge) {
                self.scratch.edges[vreg.index()] = Some(edge);
                if let Some(entry) = input.live.entry(to, vreg) {
                    self.values[vreg.index()].next = entry.next;
                }
            }
        }
    }

    fn make_needs(&mut self, at: At, is_terminator: bool) -> Result<(), AllocError> {
        self.matcher.clear();
        let scratch = &mut self.scratch;
        reset(&mut scratch.choices, at.operands.len(), Choice::Open);
        reset(&mut scratch.reused_by, at.operands.len(), None);
        for (i, operand) in at.operands.iter().enumerate() {
            if let Constraint::Reuse(k) = operand.constraint() {
                scratch.reused_by[usize::from(k)] = Some(i as u8);
                scratch.choices[i] = Choice::SameAs(k);
            }
        }
        for (i, &operand) in at.operands.iter().enumerate() {
            let reuser = self.scratch.reused_by[i].map(|def| at.operands[usize::from(def)]);
            let flexible = matches!(operand.constraint(), Constraint::MemOk | Constraint::Any | Constraint::Stack);
            let optional = flexible && reuser.is_none_or(|def| def.is_rmw());
            if self.scratch.choices[i] != Choice::Open || optional {
                continue;
            }
            let need = self.need(at, operand, reuser, is_terminator);
            if need.allowed.is_empty() {
                return Err(match operand.fixed_reg() {
                    Some(reg) => AllocError::FixedConflict { inst: at.inst, reg },
                    None => AllocError::TooFewRegisters { inst: at.inst, class: need.class },
                });
            }
            self.scratch.choices[i] = Choice::Need(self.matcher.add(need));
        }
        Ok(())
    }

    fn need(&self, at: At, operand: Operand, reuser: Option<Operand>, is_terminator: bool) -> Need {
        let input = at.input;
        let problem = input.problem;
        let vreg = operand.vreg();
        let allowed = match operand.constraint() {
            Constraint::Fixed(reg) => PRegSet::EMPTY.with(reg),
            Constraint::Within(set) => problem.reg_set(set),
            _ => at.allocatable(vreg),
        };
        let late = operand.is_def() || operand.pos() == Pos::Late || reuser.is_some();
        let killed = if late { at.killed(vreg) } else { PRegSet::EMPTY };
        let killed = reuser.map_or(killed, |def| killed.union(at.killed(def.vreg())));
        let end = if operand.is_def() { input.live.def_end[vreg.index()] } else { self.known_end(vreg) };
        let is_fixed = operand.fixed_reg().is_some();
        Need {
            vreg,
            class: problem.class(vreg),
            allowed: allowed.intersection(at.allocatable(vreg)).difference(killed),
            early: operand.is_use() || operand.pos() == Pos::Early,
            late,
            is_use: operand.is_use(),
            written: operand.is_def() || reuser.is_some(),
            edge: if is_terminator && operand.is_def() { self.scratch.edges[vreg.index()] } else { None },
            likes: if is_fixed { Likes::default() } else { self.likes(input, vreg, at.inst, end) },
            reg: None,
        }
    }

    /// How little a register suits a need.
    fn score(&self, at: At, need: &Need, reg: PReg) -> i32 {
        let mut score = 0;
        let vreg = need.vreg;
        if need.is_use && self.values[vreg.index()].at == Some(reg) {
            // A copy is overwritten rather than the value itself, which may well be where others look for it.
            score += if need.written && self.lives_on(vreg, at.inst) { 5 } else { -20 };
        }
        match self.resident(reg) {
            Some(other) if other != vreg => {
                score += match (self.lives_on(other, at.inst), need.early) {
                    (false, true) => 6,
                    (false, false) => -2,
                    (true, _) => 12,
                };
            }
            _ => {}
        }
        score + self.suits(at.input, &need.likes, reg)
    }

    fn place_needs(&mut self, at: At, output: &mut Output) -> Result<(), AllocError> {
        let mut matcher = std::mem::take(&mut self.matcher);
        let mut result = Ok(());
        if !matcher.needs.is_empty() {
            let score = |need: &Need, reg: PReg| self.score(at, need, reg);
            result = matcher.place_all(at.input.env, at.inst, &score);
        }
        if result.is_ok() {
            for i in 0..at.operands.len() {
                if self.scratch.choices[i] == Choice::Open {
                    self.scratch.choices[i] = self.place_optional(at, i, &mut matcher, output);
                }
            }
        }
        self.matcher = matcher;
        result
    }

    /// An operand that may be in memory. Uses that are in registers now are left open.
    fn place_optional(&mut self, at: At, i: usize, matcher: &mut Matcher, output: &mut Output) -> Choice {
        let operand = at.operands[i];
        let vreg = operand.vreg();
        let (problem, classes) = (at.input.problem, at.input.classes);
        let reuser = self.scratch.reused_by[i].map(|def| at.operands[usize::from(def)]);
        if operand.constraint() == Constraint::Stack {
            return Choice::At(output.reloads.place(problem, classes, vreg, output.out));
        }
        let is_branch_def = operand.is_def() && problem.flags(at.inst).has(InstFlags::BRANCH);
        let is_there =
            self.values[vreg.index()].at.is_none() && at.input.facts.remat(vreg).is_none() && reuser.is_none();
        let wanted = match operand.is_use() {
            true if reuser.is_none() && self.values[vreg.index()].at.is_some() => return Choice::Open,
            true => !is_there,
            false => !is_branch_def,
        };
        let need = self.need(at, operand, reuser, is_branch_def);
        if wanted && !need.allowed.is_empty() {
            matcher.needs.push(need);
            let score = |need: &Need, reg: PReg| self.score(at, need, reg);
            if matcher.place_last(at.input.env, &score) {
                return Choice::Need(matcher.needs.len() as u32 - 1);
            }
        }
        // The memory twin modifies the slot of the result.
        let vreg = reuser.map_or(vreg, |def| def.vreg());
        Choice::At(output.reloads.place(problem, classes, vreg, output.out))
    }

    /// Open operands whose register was taken.
    fn settle_open(&mut self, at: At, output: &mut Output) {
        for (i, operand) in at.operands.iter().enumerate() {
            if self.scratch.choices[i] != Choice::Open {
                continue;
            }
            let vreg = operand.vreg();
            let survivor = self.scratch.survivors.iter().find(|s| s.0 == vreg);
            let loc = match survivor {
                Some(&(_, reg)) => Loc::reg(reg),
                None => output.reloads.place(at.input.problem, at.input.classes, vreg, output.out),
            };
            self.scratch.choices[i] = Choice::At(loc);
        }
    }

    /// The one parallel move before the instruction.
    fn move_values(&mut self, at: At, output: &mut Output) -> Result<(), AllocError> {
        let mut taken = self.scratch.surviving.union(self.scratch.claims);
        for i in 0..self.matcher.needs.len() {
            let Need { vreg, early: true, is_use, reg: Some(reg), .. } = self.matcher.needs[i] else { continue };
            taken.insert(reg);
            if is_use {
                if self.values[vreg.index()].at.is_some() {
                    self.read_def(vreg);
                }
                self.bring_to_reg(at.input, vreg, reg, output);
            }
        }
        for i in 0..self.scratch.survivors.len() {
            let (vreg, reg) = self.scratch.survivors[i];
            if self.values[vreg.index()].at.is_some_and(|from| from != reg) {
                self.read_def(vreg);
            }
            self.bring_to_reg(at.input, vreg, reg, output);
        }
        for (i, operand) in at.operands.iter().enumerate().filter(|(_, o)| o.is_use()) {
            let Choice::At(loc) = self.scratch.choices[i] else { continue };
            self.read_def(operand.vreg());
            if loc.as_slot().is_some() {
                self.bring_to_slot(at.input, operand.vreg(), loc, output);
            }
        }
        let free = at.input.facts.allocatable.difference(taken);
        let done = self.moves.resolve(free, (at.input.problem, at.input.env), output.out, &mut self.sequence);
        self.edits.extend(self.sequence.drain(..).map(|kind| Edit { at: at.inst, kind }));
        done.map_err(|NoRegister(class)| AllocError::TooFewRegisters { inst: at.inst, class })
    }

    /// Adds the move of a value to a register.
    fn bring_to_reg(&mut self, input: &Input, vreg: VReg, to: PReg, output: &mut Output) {
        let problem = input.problem;
        let (class, width) = (problem.class(vreg), problem.width(vreg));
        if let Some(from) = self.values[vreg.index()].at {
            if from != to {
                self.moves.add(Loc::reg(from), Loc::reg(to), class, width);
            }
            return;
        }
        self.values[vreg.index()].original = false;
        self.values[vreg.index()].clean = true;
        match input.facts.remat(vreg) {
            Some(inst) => self.moves.add_remat(inst, Loc::reg(to), class, width),
            None => {
                let slot = output.reloads.place(problem, input.classes, vreg, output.out);
                self.moves.add(slot, Loc::reg(to), class, width);
            }
        }
    }

    /// Adds what makes sure that a slot, its own or another, holds the value after the moves.
    fn bring_to_slot(&mut self, input: &Input, vreg: VReg, to: Loc, output: &mut Output) {
        let problem = input.problem;
        let (class, width) = (problem.class(vreg), problem.width(vreg));
        let own = output.reloads.slot(input.classes, vreg).map(Loc::slot) == Some(to);
        match (self.values[vreg.index()].at, input.facts.remat(vreg)) {
            (Some(from), remat) => {
                let is_there = own && self.values[vreg.index()].clean && remat.is_none();
                self.values[vreg.index()].clean |= own;
                if !is_there {
                    self.moves.add(Loc::reg(from), to, class, width);
                }
            }
            (None, Some(inst)) => self.moves.add_remat(inst, to, class, width),
            (None, None) if own => {}
            (None, None) => {
                let slot = output.reloads.place(problem, input.classes, vreg, output.out);
                self.moves.add(slot, to, class, width);
            }
        }
    }

    /// Writes the locations and makes the map what it is after the instruction.
    fn answer(&mut self, at: At, is_terminator: bool, output: &mut Output) {
        let problem = at.input.problem;
        let base = problem.operand_range(at.inst).start;
        for i in 0..at.operands.len() {
            let loc = self.loc_of(i);
            output.out.locs[base + i] = loc;
            if loc.as_slot().is_some() {
                self.in_slots.push((base + i) as u32);
            }
        }
        drop_void_move(problem, at.inst, output);
        self.empty();
        for i in 0..self.scratch.survivors.len() {
            let (vreg, reg) = self.scratch.survivors[i];
            self.put(vreg, reg);
        }
        self.update_labels(at.inst);
        if at.is_safepoint {
            self.map_references(at, output);
        }
        for (i, operand) in at.operands.iter().enumerate().filter(|(_, o)| o.is_def()) {
            let (vreg, loc) = (operand.vreg(), output.out.locs[base + i]);
            self.used = loc.as_reg().map_or(self.used, |reg| self.used.with(reg));
            if is_terminator {
                self.branch_defs[vreg.index()] = loc;
            } else {
                self.finish_def(at.input, at.inst, vreg, loc, output);
            }
        }
    }

    fn loc_of(&self, i: usize) -> Loc {
        let mut choice = self.scratch.choices[i];
        if let Choice::SameAs(k) = choice {
            choice = self.scratch.choices[usize::from(k)];
        }
        match choice {
            Choice::Need(n) => self.matcher.needs[n as usize].reg.map_or(Loc::NONE, Loc::reg),
            Choice::At(loc) => loc,
            Choice::Open | Choice::SameAs(_) => Loc::NONE,
        }
    }

    /// References that live on over a safepoint are in the slots that the map names.
    fn map_references(&mut self, at: At, output: &mut Output) {
        let values = &self.values;
        self.live_refs.retain(|vreg| !values[vreg.index()].next.is_dead());
        for &vreg in &self.live_refs {
            if at.input.facts.remat(vreg).is_some() {
                continue;
            }
            let slot = output.reloads.place(at.input.problem, at.input.classes, vreg, output.out);
            output.out.stack_maps.extend(slot.as_slot().map(|slot| StackMapEntry { inst: at.inst, slot }));
        }
    }
}
