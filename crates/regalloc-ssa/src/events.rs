//! The decisions of an allocation as events, derived from the results of its phases.

use crate::assignment::Assignment;
use crate::coalescing::Coalescing;
use crate::color_input::ColorInput;
use crate::reload::ReloadPlan;
use crate::spill_plan::{Transfer, is_joined};
use cranelift_entity::EntityRef;
use kingpost_regalloc::{Allocation, Block, Diagnostics, EditKind, Event, Inst, Loc, Observer, PReg, Problem, VReg};
use kingpost_regalloc_common::order::BlockIndex;
use std::collections::BTreeMap;

/// Reports the values that share a class.
pub(crate) fn coalesced(problem: &Problem, classes: &Coalescing, d: &mut Diagnostics<'_>) {
    let Some(observer) = &mut d.observer else { return };
    for b in problem.vregs.keys().filter(|&vreg| classes.class(vreg) != vreg) {
        observer.event(Event::Coalesce { a: classes.class(b), b });
    }
}

/// Reports the transfers inside blocks.
pub(crate) fn transferred(plan: &ReloadPlan, d: &mut Diagnostics<'_>) {
    let Some(observer) = &mut d.observer else { return };
    for &(at, vreg, transfer) in &plan.transfers {
        match transfer {
            Transfer::Evict | Transfer::EvictAfter | Transfer::Begin => observer.event(Event::Spill { vreg, at }),
            Transfer::Reload => observer.event(Event::Reload { vreg, at }),
            Transfer::Store | Transfer::Compute | Transfer::ReadInMemory => {}
        }
    }
}

/// Reports the locations of each value, block by block.
pub(crate) fn assigned(input: &ColorInput, assignment: &Assignment, out: &Allocation, d: &mut Diagnostics<'_>) {
    let Some(observer) = &mut d.observer else { return };
    for (index, block) in input.order.blocks() {
        let block = block.block;
        let mut map = RegisterTrace { observer: &mut **observer, intervals: BTreeMap::new() };
        let first = input.problem.first_inst(block);
        for &(vreg, reg) in values_at_head(input, assignment, index, block) {
            let is_live = input.live.is_live_at(input.problem, input.order, index, vreg);
            map.open(reg, Some(vreg).filter(|_| is_live), first);
        }
        let edits = &assignment.edits[assignment.edit_spans[index.index()].range()];
        for inst in input.problem.insts(block) {
            for edit in edits.iter().filter(|edit| edit.at == inst) {
                map.edit(edit.kind, inst);
            }
            map.operands(input, inst, out);
        }
        let end = Inst::from_u32(input.problem.terminator(block).as_u32() + 1);
        map.intervals.keys().copied().collect::<Vec<_>>().into_iter().for_each(|reg| map.open(reg, None, end));
    }
}

fn values_at_head<'a>(
    input: &ColorInput,
    assignment: &'a Assignment,
    index: BlockIndex,
    block: Block,
) -> &'a [(VReg, PReg)] {
    match input.problem.preds(block) {
        &[edge] if !is_joined(input.problem, block) => {
            assignment.exit(input.order.index(input.problem.edge(edge).from))
        }
        _ => assignment.entry(index),
    }
}

/// The value in each register, and the instruction from which it is there.
struct RegisterTrace<'a> {
    observer: &'a mut dyn Observer,
    intervals: BTreeMap<PReg, (VReg, Inst)>,
}

impl RegisterTrace<'_> {
    /// Ends the current value's stay in the register; from `at` on it holds another value, or none.
    fn open(&mut self, reg: PReg, vreg: Option<VReg>, at: Inst) {
        let before = match vreg {
            Some(vreg) if self.intervals.get(&reg).is_some_and(|interval| interval.0 == vreg) => return,
            Some(vreg) => self.intervals.insert(reg, (vreg, at)),
            None => self.intervals.remove(&reg),
        };
        if let Some((vreg, from)) = before.filter(|before| before.1 < at) {
            self.observer.event(Event::Assign { vreg, loc: Loc::reg(reg), from, to: at });
        }
    }

    fn edit(&mut self, kind: EditKind, at: Inst) {
        let value = |reg: PReg| self.intervals.get(&reg).map(|interval| interval.0);
        match kind {
            EditKind::Move { from, to, .. } => {
                let vreg = value(from);
                self.open(to, vreg, at);
                self.open(from, None, at);
            }
            EditKind::Exchange { a, b, .. } => {
                let (in_a, in_b) = (value(a), value(b));
                self.open(a, in_b, at);
                self.open(b, in_a, at);
            }
            // The value is known at its first read.
            EditKind::Fill { to, .. } | EditKind::Remat { to, .. } => self.open(to, None, at),
            EditKind::Spill { .. } | EditKind::SlotMove { .. } => {}
        }
    }

    fn operands(&mut self, input: &ColorInput, inst: Inst, out: &Allocation) {
        let next = Inst::from_u32(inst.as_u32() + 1);
        let range = input.problem.operand_range(inst);
        let operands = input.problem.operands(inst).iter().zip(&input.live.after[range.clone()]).zip(&out.locs[range]);
        for ((operand, _), loc) in operands.clone().filter(|((operand, _), _)| operand.is_use()) {
            if let Some(reg) = loc.as_reg() {
                self.open(reg, Some(operand.vreg()), inst);
            }
        }
        for ((operand, after), loc) in operands {
            if let Some(reg) = loc.as_reg() {
                if operand.is_def() {
                    self.open(reg, Some(operand.vreg()), next);
                } else if after.is_dead() {
                    self.open(reg, None, next);
                }
            }
        }
    }
}
