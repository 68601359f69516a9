//! One pass backward over the code, for all that is to be known before the walk: definitions and uses of values
//! (`liveness.rs`), registers they wish for, and instructions that take registers from them (`hints.rs`).

use crate::hints::Hints;
use crate::liveness::Liveness;
use crate::machine::Machine;
use crate::order::{Order, Place};
use crate::point::Point;
use kingpost_regalloc::{Operand, Pos, Problem};

pub(crate) fn run(problem: &Problem, order: &Order, machine: &Machine, live: &mut Liveness, hints: &mut Hints) {
    live.begin(problem);
    hints.begin(problem);
    for place in order.places.iter().rev() {
        let (start, stop) = (place.start(), place.stop());
        edges(problem, order, place, live, hints);
        for (slot, inst) in (place.head + 1..place.end).zip(problem.insts(place.block)).rev() {
            let operands = problem.operands(inst);
            note_operands(live, operands, slot, stop);
            hints.instruction(problem, machine, inst, slot, operands);
        }
        for &param in problem.params(place.block) {
            live.note_param(param, start, stop);
        }
    }
    hints.finish(order);
}

/// Edges out of a block: their arguments are used, and their results begin where they lead to.
fn edges(problem: &Problem, order: &Order, place: &Place, live: &mut Liveness, hints: &mut Hints) {
    let stop = place.stop();
    for &edge in problem.succs(place.block) {
        let to = problem.edge(edge).to;
        let args = problem.edge_args(edge);
        if !args.is_empty() {
            for (&arg, &param) in args.iter().zip(problem.params(to)) {
                live.note_use(arg, stop.prev());
                hints.passes(live, arg, param);
            }
        }
        for &def in problem.edge_defs(edge) {
            let target = order.place(to);
            live.note_edge_def(def, stop, target.start(), target.stop());
        }
    }
}

/// Definitions and uses of one instruction, late uses first as they come after the early ones.
fn note_operands(live: &mut Liveness, operands: &[Operand], slot: u32, stop: Point) {
    for pos in [Pos::Late, Pos::Early] {
        let point = if pos == Pos::Late { Point::late(slot) } else { Point::early(slot) };
        for operand in operands.iter().filter(|operand| operand.pos() == pos) {
            match operand.is_def() {
                true => live.note_def(operand.vreg(), point, stop),
                false => live.note_use(operand.vreg(), point),
            }
        }
    }
}
