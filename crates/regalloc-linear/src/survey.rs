//! One pass backward over the code, for all that is to be known before the walk: definitions and uses of values
//! (`liveness.rs`), registers they wish for, and instructions that take registers from them (`hints.rs`).

use crate::hints::Hints;
use crate::liveness::Liveness;
use crate::values::Values;
use kingpost_regalloc::{ClobberId, Constraint, Inst, InstFlags, Operand, Pos, Problem};
use kingpost_regalloc_common::order::{LinearOrder, OrderedBlock};
use kingpost_regalloc_common::point::{Position, ProgPoint};
use kingpost_regalloc_common::preference::Registers;

pub(crate) fn run(
    problem: &Problem,
    order: &LinearOrder,
    registers: &Registers,
    values: &mut Values,
    live: &mut Liveness,
    hints: &mut Hints,
) {
    values.begin(problem);
    live.begin();
    hints.begin();
    let mut survey = Survey { problem, order, registers, values, live, hints };
    for place in order.blocks().values().rev() {
        survey.block(place);
    }
    hints.finish(order, values);
}

struct Survey<'a> {
    problem: &'a Problem,
    order: &'a LinearOrder,
    registers: &'a Registers,
    values: &'a mut Values,
    live: &'a mut Liveness,
    hints: &'a mut Hints,
}

impl Survey<'_> {
    fn block(&mut self, place: &OrderedBlock) {
        let (start, stop) = (place.start(), place.stop());
        self.edges(place);
        for (slot, inst) in place.positions().zip(self.problem.insts(place.block)).rev() {
            self.instruction(inst, slot, stop);
        }
        for &param in self.problem.params(place.block) {
            self.live.note_param(self.values, param, start, stop);
        }
    }

    /// Edges out of a block: their arguments are used, and their results begin where they lead to.
    #[inline(never)]
    fn edges(&mut self, place: &OrderedBlock) {
        let (problem, stop) = (self.problem, place.stop());
        for &edge in problem.succs(place.block) {
            let args = problem.edge_args(edge);
            if !args.is_empty() {
                for (&arg, &param) in args.iter().zip(problem.params(problem.edge(edge).to)) {
                    self.live.note_use(self.values, arg, stop.prev());
                    self.hints.passes(self.values, arg, param);
                }
            }
            for &def in problem.edge_defs(edge) {
                let target = self.order.block(self.order.index(problem.edge(edge).to));
                self.live.note_edge_def(self.values, def, stop, target.start(), target.stop());
            }
        }
    }

    fn instruction(&mut self, inst: Inst, slot: Position, stop: ProgPoint) {
        let problem = self.problem;
        let operands = problem.operands(inst);
        let (flags, clobbers) = (problem.flags(inst), problem.clobber_id(inst));
        let safepoint = flags.has(InstFlags::SAFEPOINT);
        if safepoint || clobbers != ClobberId::NONE {
            self.hints.obstacle(slot, clobbers, safepoint);
        }
        for &operand in operands {
            let vreg = operand.vreg();
            let point = if operand.pos() == Pos::Late { ProgPoint::late(slot) } else { ProgPoint::early(slot) };
            if operand.is_def() {
                self.live.note_def(self.values, vreg, point, stop);
            } else if operand.pos() == Pos::Early {
                self.live.note_use(self.values, vreg, point);
            } else {
                self.live.note_late_use(self.values, vreg, point);
            }
            if !matches!(operand.constraint(), Constraint::Reg | Constraint::MemOk | Constraint::Within(_)) {
                self.constraint(inst, slot, operands, operand);
            }
        }
        if flags != InstFlags::NONE {
            self.flagged(inst, flags, operands);
        }
    }

    fn constraint(&mut self, inst: Inst, slot: Position, operands: &[Operand], operand: Operand) {
        match operand.constraint() {
            Constraint::Reg | Constraint::MemOk | Constraint::Within(_) => {}
            Constraint::Fixed(preg) => {
                let safepoint = self.problem.flags(inst).has(InstFlags::SAFEPOINT);
                let at = (slot, self.problem.clobber_id(inst), safepoint);
                self.hints.fixed(self.values, operand, self.registers.reg(preg), at);
            }
            Constraint::Reuse(k) => {
                if let Some(source) = operands.get(usize::from(k)) {
                    self.hints.flows(self.values, source.vreg(), operand.vreg());
                }
            }
            Constraint::Stack | Constraint::Any => self.hints.needs_slots.push(operand.vreg()),
        }
    }

    /// Copies, and what can be computed again.
    #[inline(never)]
    fn flagged(&mut self, inst: Inst, flags: InstFlags, operands: &[Operand]) {
        match operands {
            [a, b] if flags.has(InstFlags::MOVE) => {
                self.hints.moves.push(inst);
                let (def, source) = if a.is_def() { (a, b) } else { (b, a) };
                if source.fixed_reg().is_none() {
                    self.hints.flows(self.values, source.vreg(), def.vreg());
                }
            }
            [def] if flags.has(InstFlags::REMAT) && def.constraint() == Constraint::Reg => {
                self.hints.remats.push(def.vreg());
                self.values[def.vreg()].remat = inst.as_u32();
            }
            _ => {}
        }
    }
}
