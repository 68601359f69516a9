//! Shrinks a problem together with an answer to it, for answers that a checker rejects.
//!
//! Edits, entries of stack maps, instructions without used results and uses are removed one by one, as long as the
//! failure remains. The locations of the remaining operands stay unchanged.

use crate::draft::Draft;
use cranelift_entity::EntityRef;
use kingpost_regalloc::{Allocation, Constraint, Inst, InstFlags, MachineEnv, Operand, Problem, VReg};

/// Largest number of calls of the predicate.
const TRIES: usize = 4000;

/// Returns the smallest problem and answer found for which `fails` still returns `true`, as it must for the given
/// ones. `fails` is only called with problems that are valid on `env`.
pub fn shrink(
    problem: &Problem,
    answer: &Allocation,
    env: &MachineEnv,
    mut fails: impl FnMut(&Problem, &Allocation) -> bool,
) -> (Problem, Allocation) {
    let mut left = TRIES;
    let mut fails = |problem: &Problem, answer: &Allocation| {
        let may_try = left > 0 && problem.verify_with(env).is_ok();
        left -= usize::from(may_try);
        may_try && fails(problem, answer)
    };
    let name = &problem.name;
    let mut best = (Draft::of(problem), answer.clone());
    // A draft has no labels across blocks, and its own frequencies; if they matter, only the answer is shrunk.
    let is_kept = fails(&best.0.build(name), answer);
    let mut kept = if is_kept { best.0.build(name) } else { problem.clone() };
    loop {
        let size = (kept.num_operands(), kept.num_insts(), best.1.edits.len(), best.1.stack_maps.len());
        for index in (0..best.1.edits.len()).rev() {
            let mut answer = best.1.clone();
            answer.edits.remove(index);
            if fails(&kept, &answer) {
                best.1 = answer;
            }
        }
        for index in (0..best.1.stack_maps.len()).rev() {
            let mut answer = best.1.clone();
            answer.stack_maps.remove(index);
            if fails(&kept, &answer) {
                best.1 = answer;
            }
        }
        for cut in if is_kept { cuts(&best.0) } else { Vec::new() } {
            let Some((draft, answer)) = cut.of(&best.0, &best.1, name) else { continue };
            let problem = draft.build(name);
            if fails(&problem, &answer) {
                (best, kept) = ((draft, answer), problem);
            }
        }
        if size == (kept.num_operands(), kept.num_insts(), best.1.edits.len(), best.1.stack_maps.len()) {
            return (kept, best.1);
        }
    }
}

/// A removal of an instruction, or of one of its operands.
struct Cut {
    block: usize,
    /// Index of the instruction in the block.
    index: usize,
    operand: Option<usize>,
}

/// Returns all cuts, the last ones of the problem first, so that each cut leaves the places of the later ones valid.
fn cuts(draft: &Draft) -> Vec<Cut> {
    let mut cuts = Vec::new();
    for (block, data) in draft.blocks.iter().enumerate().rev() {
        for (index, inst) in data.insts.iter().enumerate().rev() {
            cuts.extend((0..inst.operands.len()).rev().map(|operand| Cut { block, index, operand: Some(operand) }));
            cuts.push(Cut { block, index, operand: None });
        }
    }
    cuts
}

impl Cut {
    /// Returns the problem and the answer after the cut, or `None` if the cut is not possible.
    fn of(&self, draft: &Draft, answer: &Allocation, name: &str) -> Option<(Draft, Allocation)> {
        let before = draft.blocks[..self.block].iter().map(|block| block.insts.len()).sum::<usize>() + self.index;
        let problem = draft.build(name);
        let locs = problem.operand_range(Inst::new(before));
        let mut draft = draft.clone();
        draft.labels.clear();
        let insts = &mut draft.blocks[self.block].insts;
        let mut new = answer.clone();
        new.labels.clear();
        match self.operand {
            Some(operand) => {
                let inst = insts.get_mut(self.index)?;
                // Reused operands are numbered, and a copy has all of its operands.
                let is_reuse = |operand: &Operand| matches!(operand.constraint(), Constraint::Reuse(_));
                let is_whole = inst.operands.iter().any(is_reuse) || inst.flags.has(InstFlags::MOVE);
                if is_whole || !inst.operands.get(operand)?.is_use() {
                    return None;
                }
                inst.operands.remove(operand);
                new.locs.remove(locs.start + operand);
            }
            None => {
                if self.index + 1 >= insts.len() {
                    return None;
                }
                let inst = insts.remove(self.index);
                let mut results = inst.operands.iter().filter(|operand| operand.is_def());
                if results.any(|operand| is_used(&draft, operand.vreg())) {
                    return None;
                }
                new.locs.drain(locs);
                remove_inst(&mut new, answer, &draft.build(name), before);
            }
        }
        Some((draft, new))
    }
}

fn is_used(draft: &Draft, vreg: VReg) -> bool {
    let is_use = |operand: &Operand| operand.is_use() && operand.vreg() == vreg;
    draft.blocks.iter().any(|block| {
        block.insts.iter().any(|inst| inst.operands.iter().any(is_use))
            || block.edges.iter().any(|edge| edge.args.contains(&vreg))
    })
}

/// Changes the numbers of instructions of an answer after one was removed from the problem.
fn remove_inst(new: &mut Allocation, old: &Allocation, problem: &Problem, removed: usize) {
    let locs = std::mem::take(&mut new.locs);
    let (edits, stack_maps) = (std::mem::take(&mut new.edits), std::mem::take(&mut new.stack_maps));
    let (slots, emergency, saved) = (new.slots.clone(), new.emergency, new.saved);
    let renumbered = |inst: Inst| Inst::new(inst.index() - usize::from(inst.index() > removed));
    new.reset(problem);
    (new.locs, new.slots, new.emergency, new.saved) = (locs, slots, emergency, saved);
    new.edits = edits;
    new.edits.iter_mut().for_each(|edit| edit.at = renumbered(edit.at));
    new.stack_maps = stack_maps.into_iter().filter(|entry| entry.inst.index() != removed).collect();
    new.stack_maps.iter_mut().for_each(|entry| entry.inst = renumbered(entry.inst));
    for inst in (0..=problem.num_insts()).map(Inst::new) {
        if inst.index() != removed && old.is_dropped(inst) {
            new.drop_inst(renumbered(inst));
        }
    }
}
