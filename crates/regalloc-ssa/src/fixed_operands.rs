//! Operands bound to registers, and clobbers, where nothing else is demanded: calls, returns, a function's parameters.
//!
//! What is read goes where it is bound to, values that live on leave the registers that are taken from them for others,
//! or for memory if all values in those are used sooner; all that is one parallel move before the instruction.

use crate::coloring::{Coloring, Input, Output, Step};
use cranelift_entity::EntityRef;
use kingpost_regalloc::{
    AllocError, Clobbers, Constraint, Edit, Inst, InstFlags, Loc, NoRegister, Operand, PReg, PRegSet, Pos, VReg,
};

/// Memory for one instruction after another.
#[derive(Default)]
pub(crate) struct Scratch {
    /// Values that must leave their registers, with the distances of their next uses.
    displaced: Vec<(u32, VReg, PReg)>,
    /// Where those and others go.
    moved: Vec<(VReg, PReg, PReg)>,
}

/// The instruction at hand, and the registers it takes.
#[derive(Clone, Copy)]
struct At<'a> {
    input: &'a Input<'a>,
    inst: Inst,
    operands: &'a [Operand],
    clobbers: &'a Clobbers,
    /// Bound inputs are in these.
    early: PRegSet,
    /// Results are in these.
    late: PRegSet,
    /// Inputs that may be anywhere are in these.
    claims: PRegSet,
    /// Inputs that end here are in these before they move.
    dying: PRegSet,
}

impl At<'_> {
    #[inline]
    fn killed(&self, vreg: VReg) -> PRegSet {
        self.clobbers.killed(self.input.problem.width(vreg))
    }
}

impl Coloring {
    /// Serves such an instruction. False, and nothing done, if the general way must be taken.
    #[inline(never)]
    pub(crate) fn bound(
        &mut self,
        input: &Input,
        &(inst, flags, ref range): &Step,
        output: &mut Output,
    ) -> Result<bool, AllocError> {
        let operands = &input.problem.all_operands()[range.clone()];
        let clobbers = input.problem.clobbers(inst);
        let none = PRegSet::EMPTY;
        let mut at = At { input, inst, operands, clobbers, early: none, late: none, claims: none, dying: none };
        if flags.has(InstFlags::SAFEPOINT) && self.has_refs || flags.has(InstFlags::MOVE) {
            return Ok(false);
        }
        if !self.survey(&mut at, flags.has(InstFlags::BRANCH)) {
            return Ok(false);
        }
        self.read_inputs(&at, range.start, output);
        self.displace(&at, output);
        for &(vreg, from, to) in &self.bound.moved {
            self.moves.add(Loc::reg(from), Loc::reg(to), input.problem.class(vreg), input.problem.width(vreg));
        }
        let kept = self.occupied.difference(at.dying);
        let taken = self.bound.moved.iter().fold(kept, |taken, moved| taken.with(moved.2));
        let taken = taken.union(at.early).union(at.claims);
        let free = input.facts.allocatable.difference(taken);
        let done = self.moves.resolve(free, (input.problem, input.env), output.out, &mut self.sequence);
        self.edits.extend(self.sequence.drain(..).map(|kind| Edit { at: inst, kind }));
        done.map_err(|NoRegister(class)| AllocError::TooFewRegisters { inst, class })?;
        self.settle(&at, range.start, output);
        Ok(true)
    }

    /// What the instruction takes. False if it is not of this kind.
    fn survey(&self, at: &mut At, is_branch: bool) -> bool {
        let At { input, inst, operands, .. } = *at;
        for &operand in operands {
            let vreg = operand.vreg();
            let value = &self.values[vreg.index()];
            let lives_on = !value.next.is_dead() && value.leaves != inst.as_u32() + 1;
            match (operand.is_def(), operand.pos(), operand.constraint()) {
                (false, Pos::Early, Constraint::Fixed(reg)) => {
                    if at.early.contains(reg) || lives_on && !at.killed(vreg).contains(reg) {
                        return false;
                    }
                    at.early.insert(reg);
                }
                (false, Pos::Early, Constraint::Reg) => match value.at {
                    Some(reg) => at.claims.insert(reg),
                    None => return false,
                },
                (true, Pos::Late, Constraint::Fixed(reg)) => {
                    if at.late.contains(reg) || at.killed(vreg).contains(reg) || is_branch {
                        return false;
                    }
                    at.late.insert(reg);
                }
                _ => return false,
            }
            if let Some(reg) = value.at.filter(|_| operand.is_use() && !lives_on) {
                at.dying.insert(reg);
            }
        }
        let bound = at.early.union(at.late);
        at.early.intersection(at.claims).is_empty() && bound.difference(input.facts.allocatable).is_empty()
    }

    /// Inputs are where they are bound to, or where they are.
    fn read_inputs(&mut self, at: &At, base: usize, output: &mut Output) {
        let problem = at.input.problem;
        for (i, operand) in at.operands.iter().enumerate().filter(|(_, operand)| operand.is_use()) {
            let vreg = operand.vreg();
            let value = self.values[vreg.index()];
            let to = operand.fixed_reg().or(value.at).map_or(Loc::NONE, Loc::reg);
            output.out.locs[base + i] = to;
            let (class, width) = (problem.class(vreg), problem.width(vreg));
            match (value.at, at.input.facts.remat(vreg)) {
                (Some(from), _) => {
                    self.read_def(vreg);
                    self.moves.add(Loc::reg(from), to, class, width);
                }
                (None, Some(inst)) => self.moves.add_remat(inst, to, class, width),
                (None, None) => {
                    let slot = output.reloads.place(problem, at.input.classes, vreg, output.out);
                    self.moves.add(slot, to, class, width);
                }
            }
        }
    }

    /// Finds other places for values that live on and are in the way. Who stays is left in the map.
    fn displace(&mut self, at: &At, output: &mut Output) {
        let problem = at.input.problem;
        let Scratch { mut displaced, mut moved } = std::mem::take(&mut self.bound);
        displaced.clear();
        moved.clear();
        let taken = at.early.union(at.late).union(at.clobbers.lost).union(at.clobbers.partial);
        let in_way = self.occupied.intersection(taken).difference(at.dying);
        for reg in in_way.iter() {
            let Some(vreg) = self.resident(reg) else { continue };
            if at.early.union(at.late).union(at.killed(vreg)).contains(reg) {
                displaced.push((self.values[vreg.index()].next.distance, vreg, reg));
            }
        }
        let leaving: PRegSet = displaced.iter().map(|&(.., reg)| reg).collect();
        let mut occupied = self.occupied.difference(at.dying).difference(leaving);
        displaced.sort_unstable();
        for &(next, vreg, from) in &displaced {
            let class = problem.class(vreg);
            let possible = at.input.facts.allocatable.of_class(class).difference(at.killed(vreg));
            let possible = possible.difference(at.early).difference(at.late).difference(at.claims);
            let free = possible.difference(occupied).intersection(at.input.plan.open);
            if let Some(to) = self.pick(at.input, vreg, at.inst, self.known_end(vreg), free) {
                occupied.insert(to);
                moved.push((vreg, from, to));
            } else if let Some(to) = self.push_out(at, possible, leaving, next, &mut moved, output) {
                moved.push((vreg, from, to));
            } else {
                self.send_to_memory(at.input, vreg, from, output);
            }
        }
        self.take_out_all(leaving);
        for &(vreg, ..) in &moved {
            self.read_def(vreg);
        }
        self.bound = Scratch { displaced, moved };
    }

    /// Sends the value that is used last of those in some registers to memory, if that is after `next`.
    fn push_out(
        &mut self,
        at: &At,
        regs: PRegSet,
        leaving: PRegSet,
        next: u32,
        moved: &mut Vec<(VReg, PReg, PReg)>,
        output: &mut Output,
    ) -> Option<PReg> {
        let distance = |vreg: VReg| (self.values[vreg.index()].next.distance, vreg);
        let movers = moved.iter().enumerate().map(|(i, &(vreg, from, to))| (distance(vreg), Some(i), from, to));
        let stay = self.occupied.difference(at.dying).difference(leaving).iter();
        let stay = stay.filter_map(|reg| self.resident(reg).map(|vreg| (distance(vreg), None, reg, reg)));
        let rivals = movers.chain(stay).filter(|rival| regs.contains(rival.3));
        let ((rival_next, rival), i, from, reg) = rivals.max_by_key(|rival| rival.0)?;
        if rival_next <= next {
            return None;
        }
        match i {
            Some(i) => _ = moved.swap_remove(i),
            None => self.take_out(reg),
        }
        self.send_to_memory(at.input, rival, from, output);
        Some(reg)
    }

    /// A value that lives on has no register from here on.
    fn send_to_memory(&mut self, input: &Input, vreg: VReg, from: PReg, output: &mut Output) {
        if let Some(to) = self.slot_to_write(input, vreg, output) {
            self.read_def(vreg);
            let problem = input.problem;
            self.moves.add(Loc::reg(from), Loc::slot(to), problem.class(vreg), problem.width(vreg));
        }
    }

    /// The map after the instruction.
    fn settle(&mut self, at: &At, base: usize, output: &mut Output) {
        self.take_out_all(at.dying);
        for i in 0..self.bound.moved.len() {
            let (vreg, _, to) = self.bound.moved[i];
            self.put(vreg, to);
        }
        self.used = self.used.union(at.early).union(at.clobbers.lost);
        self.update_labels(at.inst);
        for (i, operand) in at.operands.iter().enumerate() {
            if let (true, Some(reg)) = (operand.is_def(), operand.fixed_reg()) {
                output.out.locs[base + i] = Loc::reg(reg);
                self.finish_def(at.input, at.inst, operand.vreg(), Loc::reg(reg), output);
            }
        }
    }
}
