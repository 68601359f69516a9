//! Shrinks a failing problem, so that a person can read it.
//!
//! Cuts that keep a valid problem valid are tried in turn, large ones first, as long as the failure remains: edges
//! with all code that only they lead to, instructions, values with all their uses, operands, flags and constraints.

use crate::draft::{Draft, with_constraint};
use cranelift_entity::EntityRef;
use kingpost_regalloc::{Clobbers, Constraint, InstFlags, Operand, Problem, VReg};

/// Largest number of calls of the predicate.
const TRIES: usize = 4000;

/// Returns the smallest problem found for which `fails` still returns `true`, as it must for `problem`. `fails` is
/// only called with problems that are valid if `problem` is.
pub fn shrink(problem: &Problem, mut fails: impl FnMut(&Problem) -> bool) -> Problem {
    let mut shrinker =
        Shrinker { name: problem.name.clone(), best: Draft::of(problem), fails: &mut fails, left: TRIES };
    // Labels across blocks are not part of a draft; if they matter, no cut is possible.
    if !shrinker.still_fails(&shrinker.best.clone()) {
        return problem.clone();
    }
    while shrinker.round() {}
    shrinker.best.build(&shrinker.name)
}

struct Shrinker<'a> {
    name: String,
    best: Draft,
    fails: &'a mut dyn FnMut(&Problem) -> bool,
    left: usize,
}

impl Shrinker<'_> {
    fn still_fails(&mut self, draft: &Draft) -> bool {
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        (self.fails)(&draft.build(&self.name))
    }

    /// Takes the cut draft if it still fails. Returns `true` if it is taken.
    fn attempt(&mut self, cut: impl FnOnce(&mut Draft)) -> bool {
        let mut draft = self.best.clone();
        cut(&mut draft);
        let better = self.still_fails(&draft);
        if better {
            self.best = draft;
        }
        better
    }

    /// Tries every cut once. Returns `true` if one succeeded.
    fn round(&mut self) -> bool {
        let mut helped = !self.best.labels.is_empty() && self.attempt(|draft| draft.labels.clear());
        let orderly = self.best.order.is_sorted();
        helped |= !orderly && self.attempt(|draft| draft.order.clear());
        helped |= self.edges();
        helped |= self.jumps();
        helped |= self.insts();
        helped |= self.values();
        helped |= self.operands();
        helped && self.left > 0
    }

    fn edges(&mut self) -> bool {
        let mut helped = false;
        let mut block = 0;
        while block < self.best.blocks.len() {
            let mut way = self.best.blocks[block].edges.len();
            while way > 0 {
                way -= 1;
                let applies = self.best.blocks.get(block).is_some_and(|b| way < b.edges.len());
                helped |= applies && self.attempt(|draft| remove_edge(draft, block, way));
            }
            block += 1;
        }
        helped
    }

    fn jumps(&mut self) -> bool {
        let mut helped = false;
        let mut block = self.best.blocks.len();
        while block > 0 {
            block -= 1;
            let joins = self.best.blocks.get(block).is_some_and(|b| b.edges.len() == 1);
            helped |= joins && self.attempt(|draft| merge_with_successor(draft, block));
        }
        helped
    }

    fn insts(&mut self) -> bool {
        let mut helped = false;
        for block in 0..self.best.blocks.len() {
            let mut index = self.best.blocks[block].insts.len();
            while index > 0 {
                index -= 1;
                let is_terminator = index + 1 == self.best.blocks[block].insts.len();
                helped |= !is_terminator && self.attempt(|draft| remove_inst(draft, block, index));
                if index < self.best.blocks[block].insts.len() {
                    helped |= self.simplify_inst(block, index);
                }
            }
        }
        helped
    }

    fn simplify_inst(&mut self, block: usize, index: usize) -> bool {
        let inst = &self.best.blocks[block].insts[index];
        let branch = if inst.flags.has(InstFlags::BRANCH) { InstFlags::BRANCH } else { InstFlags::NONE };
        let (flagged, clobbers) = (inst.flags != branch, inst.clobbers != Clobbers::default());
        let mut helped = flagged && self.attempt(|draft| draft.blocks[block].insts[index].flags = branch);
        helped |= clobbers && self.attempt(|draft| draft.blocks[block].insts[index].clobbers = Clobbers::default());
        helped
    }

    fn values(&mut self) -> bool {
        let mut helped = false;
        let mut number = self.best.vregs.len();
        while number > 0 {
            number -= 1;
            let vreg = VReg::new(number);
            helped |= is_defined(&self.best, vreg) && self.attempt(|draft| remove_value(draft, vreg));
        }
        helped
    }

    fn operands(&mut self) -> bool {
        let mut helped = false;
        for block in 0..self.best.blocks.len() {
            for index in 0..self.best.blocks[block].insts.len() {
                let mut k = self.best.blocks[block].insts[index].operands.len();
                while k > 0 {
                    k -= 1;
                    let operand = self.best.blocks[block].insts[index].operands[k];
                    if operand.is_use() && self.attempt(|draft| remove_operand(draft, block, index, k)) {
                        helped = true;
                    } else if !matches!(operand.constraint(), Constraint::Reg | Constraint::Reuse(_)) {
                        let plain = with_constraint(operand, operand.vreg(), Constraint::Reg);
                        helped |= self.attempt(|draft| draft.blocks[block].insts[index].operands[k] = plain);
                    }
                }
            }
        }
        helped
    }
}

fn is_defined(draft: &Draft, vreg: VReg) -> bool {
    draft.blocks.iter().any(|block| {
        let operands = block.insts.iter().flat_map(|inst| &inst.operands);
        block.params.contains(&vreg) || operands.filter(|o| o.is_def()).any(|o| o.vreg() == vreg)
    })
}

/// Removes an edge, the values it defines and the blocks to which no other edge leads.
fn remove_edge(draft: &mut Draft, block: usize, way: usize) {
    let edge = draft.blocks[block].edges.remove(way);
    edge.defs.iter().for_each(|&vreg| remove_value(draft, vreg));
    if draft.blocks[block].edges.is_empty() {
        name_no_registers(draft, block);
    }
    remove_unreachable(draft);
}

/// Removes the register constraints of an exit, which may not name callee-saved registers. A draft does not know
/// these.
fn name_no_registers(draft: &mut Draft, block: usize) {
    let exit = draft.blocks[block].insts.last_mut();
    for operand in exit.into_iter().flat_map(|exit| &mut exit.operands) {
        if matches!(operand.constraint(), Constraint::Fixed(_) | Constraint::Within(_)) {
            *operand = with_constraint(*operand, operand.vreg(), Constraint::Any);
        }
    }
}

fn remove_unreachable(draft: &mut Draft) {
    let mut number = vec![None; draft.blocks.len()];
    let mut stack = vec![0];
    while let Some(block) = stack.pop() {
        if number[block].replace(0).is_none() {
            stack.extend(draft.blocks[block].edges.iter().map(|edge| edge.to));
        }
    }
    number.iter_mut().flatten().enumerate().for_each(|(new, number)| *number = new);
    let mut block = 0;
    draft.blocks.retain(|_| {
        block += 1;
        number[block - 1].is_some()
    });
    for edge in draft.blocks.iter_mut().flat_map(|block| &mut block.edges) {
        edge.to = number[edge.to].unwrap_or(0);
    }
    draft.order = draft.order.iter().filter_map(|&block| number[block]).collect();
    draft.labels.retain_mut(|label| match number[label.block] {
        Some(new) => {
            label.block = new;
            true
        }
        None => false,
    });
}

/// Merges a jump's block with its target, if the jump is the only edge to it. The arguments replace the parameters.
fn merge_with_successor(draft: &mut Draft, block: usize) {
    let edge = draft.blocks[block].edges[0].clone();
    let ways_in = draft.blocks.iter().flat_map(|b| &b.edges).filter(|e| e.to == edge.to).count();
    let has_operands = draft.blocks[block].insts.last().is_none_or(|inst| !inst.operands.is_empty());
    if ways_in != 1 || edge.to == block || edge.to == 0 || has_operands {
        return;
    }
    let target = std::mem::take(&mut draft.blocks[edge.to]);
    draft.blocks[block].insts.pop();
    draft.blocks[block].insts.extend(target.insts);
    draft.blocks[block].edges = target.edges;
    draft.labels.retain(|label| label.block != edge.to && label.block != block);
    for (&param, &arg) in target.params.iter().zip(&edge.args) {
        substitute(draft, param, arg);
    }
    remove_unreachable(draft);
}

fn substitute(draft: &mut Draft, old: VReg, new: VReg) {
    for block in &mut draft.blocks {
        for operand in block.insts.iter_mut().flat_map(|inst| &mut inst.operands) {
            if operand.vreg() == old {
                *operand = with_constraint(*operand, new, operand.constraint());
            }
        }
        for arg in block.edges.iter_mut().flat_map(|edge| &mut edge.args) {
            if *arg == old {
                *arg = new;
            }
        }
    }
    draft.labels.retain(|label| label.vreg != old);
}

fn remove_inst(draft: &mut Draft, block: usize, index: usize) {
    let inst = draft.blocks[block].insts.remove(index);
    draft.labels.retain(|label| label.block != block);
    inst.operands.iter().filter(|o| o.is_def()).for_each(|o| remove_value(draft, o.vreg()));
}

/// Removes a value with its definition and all uses. If it was an argument, the parameter is removed too.
fn remove_value(draft: &mut Draft, vreg: VReg) {
    let mut gone = vec![vreg];
    while let Some(vreg) = gone.pop() {
        draft.labels.retain(|label| label.vreg != vreg);
        for block in 0..draft.blocks.len() {
            for index in 0..draft.blocks[block].insts.len() {
                let of_vreg = |o: &Operand| o.vreg() == vreg;
                while let Some(k) = draft.blocks[block].insts[index].operands.iter().position(of_vreg) {
                    remove_operand(draft, block, index, k);
                }
            }
            if let Some(place) = draft.blocks[block].params.iter().position(|&param| param == vreg) {
                remove_param(draft, block, place);
            }
            for way in 0..draft.blocks[block].edges.len() {
                draft.blocks[block].edges[way].defs.retain(|&def| def != vreg);
                while let Some(place) = draft.blocks[block].edges[way].args.iter().position(|&arg| arg == vreg) {
                    let to = draft.blocks[block].edges[way].to;
                    gone.push(remove_param(draft, to, place));
                }
            }
        }
    }
}

fn remove_param(draft: &mut Draft, block: usize, place: usize) -> VReg {
    let into = draft.blocks.iter_mut().flat_map(|b| &mut b.edges).filter(|edge| edge.to == block);
    for edge in into {
        edge.args.remove(place);
    }
    draft.blocks[block].params.remove(place)
}

/// Removes an operand. A def that reused it may then be in any register, and the others keep what they reuse.
fn remove_operand(draft: &mut Draft, block: usize, index: usize, k: usize) {
    let inst = &mut draft.blocks[block].insts[index];
    inst.operands.remove(k);
    for operand in &mut inst.operands {
        let constraint = match operand.constraint() {
            Constraint::Reuse(of) if usize::from(of) == k => Constraint::Reg,
            Constraint::Reuse(of) if usize::from(of) > k => Constraint::Reuse(of - 1),
            _ => continue,
        };
        *operand = with_constraint(*operand, operand.vreg(), constraint);
    }
    let branch = if inst.flags.has(InstFlags::BRANCH) { InstFlags::BRANCH } else { InstFlags::NONE };
    let safepoint = if inst.flags.has(InstFlags::SAFEPOINT) { InstFlags::SAFEPOINT } else { InstFlags::NONE };
    // A copy or a constant without one of its operands is neither.
    inst.flags = branch.and(safepoint);
}
