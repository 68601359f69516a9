//! Instructions without demands: operands in any register, or in memory if their value is there.
//!
//! Values that are missing are loaded into free registers, inputs that live on and are overwritten are copied, and
//! results take free registers or those of inputs that die. No value is in the way. If there are too few registers the
//! general way (`instruction.rs`) is taken from where this one stands: it has done nothing yet but load values.

use crate::coloring::{Coloring, Input, Output};
use cranelift_entity::EntityRef;
use kingpost_regalloc::{
    Constraint, Edit, EditKind, Inst, InstFlags, Loc, Operand, PReg, PRegSet, Problem, RegClass, VReg,
};

/// The instruction at hand.
#[derive(Clone, Copy)]
struct At<'a> {
    input: Input<'a>,
    inst: Inst,
    /// Position in the block.
    pos: u32,
    operands: &'a [Operand],
    /// Index of the first operand.
    base: usize,
}

impl Coloring {
    /// Serves such an instruction. False if the general way must be taken.
    pub(crate) fn simple(&mut self, input: Input, inst: Inst, output: &mut Output) -> bool {
        let problem = input.problem;
        let base = problem.operand_range(inst).start;
        let at = At { input, inst, pos: inst.as_u32() - self.bounds.0, operands: problem.operands(inst), base };
        if !self.load_uses(at, output) || !self.is_enough(at) {
            return false;
        }
        self.read_uses(at, output);
        let tied = self.tie_results(at, output);
        for operand in at.operands.iter().filter(|operand| operand.is_use()) {
            if let Some(reg) = self.values[operand.vreg().index()].at.filter(|_| !self.lives_on(operand.vreg(), inst)) {
                self.take_out(reg);
            }
        }
        self.update_labels(inst);
        self.place_defs(at, tied, output);
        drop_void_move(problem, inst, output);
        true
    }

    /// Labelled values that moved before the instruction, or end with it.
    pub(crate) fn update_labels(&mut self, inst: Inst) {
        if !self.labels.is_empty() {
            let values = &self.values;
            let at =
                |vreg: VReg| Some(values[vreg.index()]).filter(|value| !value.next.is_dead()).map(|value| value.at);
            self.labels.update(inst, at);
        }
    }

    /// Brings values that must be in registers into free ones.
    fn load_uses(&mut self, at: At, output: &mut Output) -> bool {
        let At { input, inst, .. } = at;
        for (i, operand) in at.operands.iter().enumerate() {
            let vreg = operand.vreg();
            if operand.is_def() || self.values[vreg.index()].at.is_some() {
                continue;
            }
            let is_tied = |def: &Operand| def.constraint() == Constraint::Reuse(i as u8);
            let remat = input.facts.remat(vreg);
            if operand.constraint() != Constraint::Reg && remat.is_none() && !at.operands.iter().any(is_tied) {
                continue;
            }
            let likes = self.likes(input, vreg, at.pos, self.known_end(vreg));
            let free = input.plan.open.difference(self.occupied);
            let Some(to) = self.choose(input, vreg, likes, free) else { return false };
            let kind = match remat {
                Some(inst) => EditKind::Remat { inst, to },
                None => {
                    let slot = output.reloads.place(input.problem, input.classes, vreg, output.out);
                    let Some(from) = slot.as_slot() else { return false };
                    EditKind::Fill { from, to, width: input.problem.width(vreg) }
                }
            };
            self.edits.push(Edit { at: inst, kind });
            self.values[vreg.index()].original = false;
            self.values[vreg.index()].clean = true;
            self.put(vreg, to);
        }
        true
    }

    /// Are there registers for all copies and results?
    fn is_enough(&self, at: At) -> bool {
        let free = at.input.plan.open.difference(self.occupied);
        if RegClass::ALL.into_iter().all(|class| free.of_class(class).len() >= at.operands.len()) {
            return true;
        }
        let mut copies = [0usize; 2];
        let mut defs = [0usize; 2];
        let mut dying = PRegSet::EMPTY;
        for vreg in at.operands.iter().filter(|operand| operand.is_use()).map(|operand| operand.vreg()) {
            if let Some(reg) = self.values[vreg.index()].at.filter(|_| !self.lives_on(vreg, at.inst)) {
                dying.insert(reg);
            }
        }
        for operand in at.operands.iter().filter(|operand| operand.is_def()) {
            let class = at.input.problem.class(operand.vreg()).index();
            let Constraint::Reuse(k) = operand.constraint() else {
                defs[class] += 1;
                continue;
            };
            match self.values[at.operands[usize::from(k)].vreg().index()].at.filter(|&reg| dying.contains(reg)) {
                Some(reg) => dying.remove(reg),
                None => copies[class] += 1,
            }
        }
        RegClass::ALL.into_iter().all(|class| {
            let free = free.of_class(class).len();
            let (copies, defs) = (copies[class.index()], defs[class.index()]);
            free >= copies && free - copies + dying.intersection(at.input.plan.open).of_class(class).len() >= defs
        })
    }

    fn read_uses(&mut self, at: At, output: &mut Output) {
        for (i, operand) in at.operands.iter().enumerate().filter(|(_, operand)| operand.is_use()) {
            let vreg = operand.vreg();
            output.out.locs[at.base + i] = match self.values[vreg.index()].at {
                Some(reg) => {
                    self.read_def(vreg);
                    Loc::reg(reg)
                }
                None => {
                    self.in_slots.push((at.base + i) as u32);
                    output.reloads.place(at.input.problem, at.input.classes, vreg, output.out)
                }
            };
        }
    }

    /// Gives results that overwrite an input its register, or that of a copy.
    fn tie_results(&mut self, at: At, output: &mut Output) -> PRegSet {
        let mut tied = PRegSet::EMPTY;
        for (i, operand) in at.operands.iter().enumerate() {
            if let Constraint::Reuse(k) = operand.constraint() {
                let reg = self.tie(at, usize::from(k), operand.vreg());
                tied.insert(reg);
                output.out.locs[at.base + usize::from(k)] = Loc::reg(reg);
                output.out.locs[at.base + i] = Loc::reg(reg);
            }
        }
        tied
    }

    fn tie(&mut self, at: At, k: usize, def: VReg) -> PReg {
        let input = at.input;
        let vreg = at.operands[k].vreg();
        let from = self.values[vreg.index()].at.expect("a tied use is in a register");
        if !self.lives_on(vreg, at.inst) {
            self.take_out(from);
            return from;
        }
        let free = input.plan.open.difference(self.occupied);
        let width = input.problem.width(vreg);
        let likes = self.likes(input, def, at.pos, input.live.def_end[def.index()]);
        self.read_def(vreg);
        let own = self.likes(input, vreg, at.pos, self.known_end(vreg));
        // Whoever is at home stays.
        let moves = self.suits(input, likes, from) < 0 && self.suits(input, own, from) >= 0;
        let to = self.choose(input, if moves { vreg } else { def }, if moves { own } else { likes }, free);
        let to = to.expect("registers were counted");
        self.edits.push(Edit { at: at.inst, kind: EditKind::Move { from, to, width } });
        if !moves {
            return to;
        }
        self.take_out(from);
        self.put(vreg, to);
        self.values[vreg.index()].original = false;
        from
    }

    fn place_defs(&mut self, at: At, tied: PRegSet, output: &mut Output) {
        let mut given = tied;
        for (i, operand) in at.operands.iter().enumerate().filter(|(_, operand)| operand.is_def()) {
            let vreg = operand.vreg();
            let index = at.base + i;
            if operand.constraint() == Constraint::Reg {
                let likes = self.likes(at.input, vreg, at.pos, at.input.live.def_end[vreg.index()]);
                let free = at.input.plan.open.difference(self.occupied).difference(given);
                let reg = self.choose(at.input, vreg, likes, free).expect("registers were counted");
                given.insert(reg);
                output.out.locs[index] = Loc::reg(reg);
            }
            self.finish_def(at.input, at.inst, vreg, output.out.locs[index], output);
        }
    }
}

/// A copy from a register to itself goes.
pub(crate) fn drop_void_move(problem: &Problem, inst: Inst, output: &mut Output) {
    if problem.flags(inst).has(InstFlags::MOVE)
        && let &[a, b] = output.out.operand_locs(problem, inst)
        && a == b
    {
        output.out.drop_inst(inst);
    }
}
