//! Checks where the allocation says that labelled values are.

use crate::error::{CheckError, Place, Rule};
use crate::report::Report;
use crate::shape::Input;
use crate::state::State;
use crate::walk::with_content;
use cranelift_entity::EntityRef;
use kingpost_regalloc::{Allocation, Block, Inst, LabelUse, Problem};

#[derive(Default)]
pub(crate) struct Labels {
    /// Sorted by label.
    wishes: Vec<LabelUse>,
    /// Indices of the ranges that touch each block, block by block, and where each block's share ends.
    ranges: Vec<u32>,
    ends: Vec<u32>,
    current: std::ops::Range<usize>,
}

impl Labels {
    pub(crate) fn prepare(&mut self, problem: &Problem, answer: &Allocation) {
        self.wishes.clear();
        self.ranges.clear();
        self.ends.clear();
        self.current = 0..0;
        if answer.labels.is_empty() {
            return;
        }
        self.wishes.extend_from_slice(&problem.labels);
        self.wishes.sort_by_key(|wish| wish.label);
        let mut touching: Vec<(u32, u32)> = Vec::new();
        for (n, range) in answer.labels.iter().enumerate() {
            let (first, last) = (problem.block_of(range.from), problem.block_of(Inst::new(range.to.index() - 1)));
            touching.extend((first.as_u32()..=last.as_u32()).map(|block| (block, n as u32)));
        }
        touching.sort_unstable();
        self.ranges.extend(touching.iter().map(|&(_, n)| n));
        let ends = problem.blocks().map(|block| touching.partition_point(|&(b, _)| b <= block.as_u32()) as u32);
        self.ends.extend(ends);
    }

    /// Walking of `block` begins.
    pub(crate) fn enter(&mut self, block: Block) {
        let end = |b: usize| self.ends.get(b).map_or(0, |&end| end as usize);
        self.current = block.index().checked_sub(1).map_or(0, end)..end(block.index());
    }

    /// Rules 23 and 24 before `inst`, whose edits have run.
    pub(crate) fn before(&self, input: Input, inst: Inst, state: &State, report: &mut Report) {
        for &n in &self.ranges[self.current.clone()] {
            let range = input.answer.labels[n as usize];
            if !(range.from..range.to).contains(&inst) {
                continue;
            }
            let place = Place::Label(inst, n as usize);
            let first = self.wishes.partition_point(|wish| wish.label < range.label);
            let wishes = self.wishes[first..].iter().take_while(|wish| wish.label == range.label);
            let mut wished =
                wishes.filter(|wish| (wish.from..wish.to).contains(&inst)).map(|wish| wish.vreg).peekable();
            let Some(&vreg) = wished.peek() else {
                report.add(CheckError::new(Rule::LabelWished, place).at(range.loc));
                continue;
            };
            if !wished.any(|vreg| state.holds(&input.problem.vregs, vreg, range.loc)) {
                let error = CheckError::new(Rule::LabelHoldsValue, place).wants(vreg);
                report.add(with_content(error, &input.problem.vregs, state, range.loc));
            }
        }
    }
}
