//! Puts the moves of an edge back of a loop before the branch to it.
//!
//! ```text
//! b3: ..; use v3; branch -> b4, b5          b3: ..; move r3 <- r0; use v3; branch -> b4, b5
//! b4: move r3 <- r0; branch -> b3           b4: branch -> b3
//! ```
//!
//! A block of moves on an edge back costs a jump: around the block where the loop is entered, or from the block to the
//! header. Before the branch the moves need no jump, but they also run where the loop is left. They are put there if no
//! other successor reads the registers that they write, and the price is lower. They are put before a last instruction
//! without results, because a machine fuses a comparison with the branch after it. Moves of other edges stay: equal blocks
//! of such edges become one block in emission.
//!
//! Needs the order of blocks, locations, dropped instructions and edits. Labels are placed afterwards. Only the next `MAX_SCANNED`
//! instructions are searched for a read of a register.
//!
//! Cost: blocks times the logarithm of edits.

use crate::order::LinearOrder;
use cranelift_entity::EntityRef;
use kingpost_regalloc::{
    Allocation, Block, ClobberId, Costs, Edge, EditKind, Inst, InstFlags, Loc, MachineEnv, PRegSet, Problem,
};
use std::ops::Range;

/// Number of instructions that are searched for a read of a register.
const MAX_SCANNED: usize = 64;

/// Puts moves of edges back before the branches to them. Returns `true` if there are any such moves.
pub fn hoist_edge_moves(problem: &Problem, env: &MachineEnv, order: &LinearOrder, out: &mut Allocation) -> bool {
    let mut hoisted = false;
    for (index, ordered) in order.blocks() {
        let block = ordered.block;
        let jump = problem.terminator(block);
        let is_back = |&edge: &Edge| order.index(problem.edge(edge).to) < index;
        if problem.first_inst(block) == jump && matches!(problem.succs(block), [edge] if is_back(edge)) {
            let first = out.edits.partition_point(|edit| edit.at < jump);
            let count = out.edits[first..].iter().take_while(|edit| edit.at == jump).count();
            if count > 0 {
                hoisted |= Hoist { problem, costs: &env.costs, out }.block(block, first..first + count);
            }
        }
    }
    hoisted
}

/// The problem and its allocation, whose edits are moved.
struct Hoist<'a> {
    problem: &'a Problem,
    costs: &'a Costs,
    out: &'a mut Allocation,
}

impl Hoist<'_> {
    /// Puts the moves of a block on an edge back, which holds nothing else, before the branch to it, if the price is lower and
    /// no other successor reads what they write. Returns `true` if it does.
    fn block(&mut self, block: Block, moves: Range<usize>) -> bool {
        let problem = self.problem;
        let &[before] = problem.preds(block) else { return false };
        let from = problem.edge(before).from;
        let branch = problem.terminator(from);
        let Some((written, price)) = self.written(moves.clone()) else { return false };
        if !self.pays(from, block, price) || !self.only_reads_others(branch, written) {
            return false;
        }
        let mut others = problem.succs(from).iter().map(|&edge| problem.edge(edge).to).filter(|&to| to != block);
        if !others.all(|to| self.is_unread(to, written)) {
            return false;
        }
        self.move_to(self.site(from, branch, written), moves);
        true
    }

    /// Returns the registers that edits write, and the price of all edits, if they are moves and rematerializations.
    fn written(&self, moves: Range<usize>) -> Option<(PRegSet, u64)> {
        let (mut written, mut price) = (PRegSet::EMPTY, 0);
        for edit in &self.out.edits[moves] {
            let (to, each) = match edit.kind {
                EditKind::Move { to, .. } => (to, self.costs.mov),
                EditKind::Remat { inst, to } if self.problem.clobber_id(inst) == ClobberId::NONE => {
                    (to, self.costs.remat)
                }
                _ => return None,
            };
            written.insert(to);
            price += u64::from(each);
        }
        Some((written, price))
    }

    /// Returns `true` if edits of a price cost less at the end of `from` than in `block`, an edge back, with the jump around
    /// them. The jump runs as often as the loop is left.
    fn pays(&self, from: Block, block: Block, price: u64) -> bool {
        let (all, edge) = (self.problem.freq(from).0, self.problem.freq(block).0);
        let elsewhere = all.saturating_sub(edge);
        elsewhere.saturating_mul(price) < edge.min(elsewhere).saturating_mul(u64::from(self.costs.edge_block))
    }

    /// Returns `true` if an instruction only has uses, none of them in these registers.
    fn only_reads_others(&self, inst: Inst, written: PRegSet) -> bool {
        let operands = self.problem.operands(inst);
        let flags = self.problem.flags(inst);
        operands.iter().all(|operand| operand.is_use())
            && self.problem.clobber_id(inst) == ClobberId::NONE
            && (flags == InstFlags::NONE || flags == InstFlags::BRANCH)
            && !self.reads(inst, written)
    }

    /// Returns `true` if an instruction reads one of the registers.
    fn reads(&self, inst: Inst, regs: PRegSet) -> bool {
        let pairs = self.problem.operands(inst).iter().zip(self.out.operand_locs(self.problem, inst));
        pairs.filter(|(operand, _)| operand.is_use()).any(|(_, loc)| is_in(*loc, regs))
    }

    /// Returns the instruction before which moves that write these registers go: the branch, or the one before it.
    fn site(&self, from: Block, branch: Inst, written: PRegSet) -> Inst {
        if branch == self.problem.first_inst(from) {
            return branch;
        }
        let last = Inst::new(branch.index() - 1);
        let edits = &self.out.edits;
        let after = edits.partition_point(|edit| edit.at < branch);
        let is_free = edits.get(after).is_none_or(|edit| edit.at != branch);
        if is_free && self.only_reads_others(last, written) { last } else { branch }
    }

    /// Puts edits before the instruction `at`, after the edits that are there.
    fn move_to(&mut self, at: Inst, moves: Range<usize>) {
        let edits = &mut self.out.edits[..];
        let start = edits[..moves.start].partition_point(|edit| edit.at <= at);
        let end = moves.end + edits[moves.end..].partition_point(|edit| edit.at <= at);
        edits[moves.clone()].iter_mut().for_each(|edit| edit.at = at);
        // Blocks have numbers in any order, so that the branch may have a higher number than the edge's jump.
        if start < moves.start {
            edits[start..moves.end].rotate_right(moves.len());
        } else {
            edits[moves.start..end].rotate_left(moves.len());
        }
    }

    /// Returns `true` if each of the registers is written before it is read on all paths from the start of a block, and
    /// `false` if that is not known after [`MAX_SCANNED`] instructions or at a branch.
    fn is_unread(&self, block: Block, regs: PRegSet) -> bool {
        let (problem, mut block, mut regs, mut scanned) = (self.problem, block, regs, 0);
        loop {
            let first = problem.first_inst(block);
            let mut edit = self.out.edits.partition_point(|edit| edit.at < first);
            for inst in problem.insts(block) {
                while let Some(found) = self.out.edits.get(edit).filter(|edit| edit.at == inst) {
                    if self.edit_reads(found.kind, &mut regs) {
                        return false;
                    }
                    edit += 1;
                }
                scanned += 1;
                if scanned > MAX_SCANNED || self.inst_reads(inst, &mut regs) {
                    return false;
                }
            }
            match *problem.succs(block) {
                _ if regs.is_empty() => return true,
                [] => return true,
                [edge] => block = problem.edge(edge).to,
                _ => return false,
            }
        }
    }

    /// Returns `true` if an edit reads one of the registers; takes away those that it writes.
    fn edit_reads(&self, kind: EditKind, regs: &mut PRegSet) -> bool {
        let (read, written) = match kind {
            EditKind::Move { from, to, .. } => (Some(from), Some(to)),
            EditKind::Spill { from, .. } => (Some(from), None),
            EditKind::Fill { to, .. } | EditKind::Remat { to, .. } => (None, Some(to)),
            EditKind::Exchange { a, b, .. } => return regs.contains(a) || regs.contains(b),
            EditKind::SlotMove { .. } => (None, None),
        };
        if read.is_some_and(|reg| regs.contains(reg)) {
            return true;
        }
        written.into_iter().for_each(|reg| regs.remove(reg));
        false
    }

    /// Returns `true` if an instruction reads one of the registers; takes away those that it writes. A dropped move writes
    /// nothing, but its register holds the value there, also if nothing reads the copy.
    fn inst_reads(&self, inst: Inst, regs: &mut PRegSet) -> bool {
        if regs.is_empty() {
            return false;
        }
        if self.reads(inst, *regs) {
            return true;
        }
        if self.out.is_dropped(inst) {
            return false;
        }
        *regs = regs.difference(self.problem.clobbers(inst).lost);
        // A branch may define a value on one way out alone.
        if !self.problem.flags(inst).has(InstFlags::BRANCH) {
            let pairs = self.problem.operands(inst).iter().zip(self.out.operand_locs(self.problem, inst));
            let defs = pairs.filter(|(operand, _)| operand.is_def());
            defs.filter_map(|(_, loc)| loc.as_reg()).for_each(|reg| regs.remove(reg));
        }
        false
    }
}

/// Returns `true` if a location is one of the registers.
fn is_in(loc: Loc, regs: PRegSet) -> bool {
    loc.as_reg().is_some_and(|reg| regs.contains(reg))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kingpost_regalloc::text::parse;

    /// Returns all edits as text after hoisting, of a loop whose edge back has the edits `on_edge`. `after` is the rest of the
    /// allocation, from the block after the loop on.
    fn hoisted(on_edge: &str, after: &str) -> Vec<String> {
        let text = format!(
            "env {{
            int r0-r3 saved {{r3}}
            }}
            problem %f {{
            v0, v1, v2: int 8
            b0 freq 1:
            i0: def v0
            i1: branch -> b1(v0)
            b1(v1) freq 8:
            i2: def v2, use v1
            i3: use v2
            i4: branch -> b2 freq 7, b3 freq 1
            b2 freq 7:
            i5: branch -> b1(v2)
            b3 freq 1:
            i6: use v2
            i7: branch
            }}
            allocation {{
            slots s0: 8
            i0: r1
            i2: r0, r1
            i3: r0
            before i5: {on_edge}
            {after}
            }}"
        );
        let mut file = parse(&text).unwrap_or_else(|error| panic!("{error}"));
        let case = file.cases.remove(0);
        let mut answer = case.allocation.expect("an allocation");
        let mut order = LinearOrder::default();
        order.build(&case.problem).unwrap_or_else(|error| panic!("{error}"));
        let moved = hoist_edge_moves(&case.problem, &file.env.expect("a machine"), &order, &mut answer);
        let edits: Vec<_> = answer.edits.iter().map(|edit| format!("{} {:?}", edit.at, edit.kind)).collect();
        assert_eq!(moved, edits.iter().all(|edit| !edit.starts_with("i5")));
        edits
    }

    #[test]
    fn moves_go_before_the_comparison_of_the_branch() {
        let edits = hoisted("move r0 -> r1 8", "i6: r0");
        assert_eq!(edits, ["i3 Move { from: r0, to: r1, width: 8 }"]);
    }

    #[test]
    fn moves_stay_if_another_way_out_reads_what_they_write() {
        assert!(hoisted("move r0 -> r1 8", "i6: r1")[0].starts_with("i5"));
        assert!(hoisted("move r0 -> r1 8", "before i6: move r1 -> r0 8\ni6: r0")[0].starts_with("i5"));
        let written_before = hoisted("move r0 -> r1 8", "before i6: move r0 -> r1 8\ni6: r1");
        assert_eq!(written_before.iter().map(|edit| &edit[..2]).collect::<Vec<_>>(), ["i3", "i6"]);
    }

    /// Drops a move to the same register, whose copy nothing reads.
    #[test]
    fn moves_stay_if_a_dropped_instruction_reads_what_they_write() {
        assert!(hoisted("move r0 -> r1 8", "i6 dropped: r1")[0].starts_with("i5"));
    }

    #[test]
    fn moves_stay_if_they_overwrite_what_the_comparison_reads_or_use_memory() {
        // Before the branch they may go, behind the comparison.
        assert!(hoisted("move r1 -> r0 8", "i6: r2")[0].starts_with("i4"));
        assert!(hoisted("spill r0 -> s0 8", "i6: r0")[0].starts_with("i5"));
    }

    #[test]
    fn moves_that_cost_as_much_as_the_jump_stay() {
        assert!(hoisted("move r0 -> r1 8\nbefore i5: move r0 -> r2 8", "i6: r0")[0].starts_with("i5"));
    }
}
