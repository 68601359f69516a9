//! Checks the locations that the allocation records for labeled values.
//!
//! A range is checked where it begins, at each block's head, and after each change of its location, so that long
//! ranges cost no more than short ones.

use crate::error::{CheckError, Entity, Rule};
use crate::report::Report;
use crate::state::{Change, State, loc_index, with_content};
use crate::structural_rules::CheckInput;
use crate::value_numbering::ValueNumbering;

use cranelift_entity::EntityRef;
use kingpost_meter::heap_bytes;
use kingpost_regalloc::sort::{sort, sort_by_key};
use kingpost_regalloc::{Allocation, Block, Inst, LabelUse, Problem, VReg};

#[derive(Default)]
pub(crate) struct Labels {
    /// Sorted by label, then by position.
    requests: Vec<LabelUse>,
    /// Per request of a label, the greatest end among it and the requests before it.
    reach: Vec<Inst>,
    /// Indices of the ranges in each block, block by block, and the end of each block's part.
    ranges: Vec<u32>,
    ends: Vec<u32>,
    /// Events of the current block, each with the number of requests that have ended: ranges begin, requests begin
    /// or end.
    events: Vec<(Inst, u32)>,
    past: usize,
    /// The current block's ranges by location.
    by_loc: Vec<(usize, u32)>,
    /// Ranges to be checked before the next instruction.
    due: Vec<u32>,
}

heap_bytes!(Labels { requests, reach, ranges, ends, events, by_loc, due } without { past });

impl Labels {
    /// Prepares for an answer. Returns `false` if it has no ranges.
    pub(crate) fn prepare(&mut self, problem: &Problem, answer: &Allocation) -> bool {
        self.requests.clear();
        self.ranges.clear();
        self.ends.clear();
        if answer.labels.is_empty() {
            return false;
        }
        self.requests.extend_from_slice(&problem.labels);
        sort_by_key(&mut self.requests, |request| (request.label, request.from, request.to, request.vreg));
        self.reach.clear();
        for (i, request) in self.requests.iter().enumerate() {
            let before = i.checked_sub(1).filter(|&j| self.requests[j].label == request.label).map(|j| self.reach[j]);
            self.reach.push(before.map_or(request.to, |to| to.max(request.to)));
        }
        let mut touching: Vec<(Block, u32)> = Vec::new();
        for (n, range) in answer.labels.iter().enumerate() {
            let (first, last) = (problem.block_of(range.from), problem.block_of(Inst::new(range.to.index() - 1)));
            let blocks = (first.index()..=last.index()).map(Block::new);
            touching.extend(blocks.map(|block| (block, n as u32)));
        }
        sort(&mut touching);
        self.ranges.extend(touching.iter().map(|&(_, n)| n));
        let ends = problem.blocks().map(|block| touching.partition_point(|&(b, _)| b <= block) as u32);
        self.ends.extend(ends);
        true
    }

    /// Begins the walk over `block`.
    pub(crate) fn enter(&mut self, input: CheckInput, block: Block, state: &mut State) {
        let end = |b: usize| self.ends.get(b).map_or(0, |&end| end as usize);
        let share = block.index().checked_sub(1).map_or(0, end)..end(block.index());
        self.by_loc.clear();
        self.events.clear();
        self.past = 0;
        state.changes.clear();
        let first = input.problem.first_inst(block);
        for i in share {
            let n = self.ranges[i];
            let range = input.answer.labels[n as usize];
            let from = range.from.max(first);
            self.by_loc.push((loc_index(range.loc), n));
            self.events.push((from, n));
            let end = self.requests.partition_point(|w| (w.label, w.from) < (range.label, range.to));
            for i in (0..end).rev().take_while(|&i| self.requests[i].label == range.label && self.reach[i] > from) {
                let request = self.requests[i];
                self.events.extend([(request.from, n), (request.to, n)]);
            }
        }
        sort(&mut self.events);
        sort(&mut self.by_loc);
    }

    /// Checks rules 23 and 24 before `inst`, whose edits have run.
    pub(crate) fn before(
        &mut self,
        input: CheckInput,
        names: &ValueNumbering,
        inst: Inst,
        state: &mut State,
        report: &mut Report,
    ) {
        self.due.clear();
        for change in state.changes.drain(..) {
            match change {
                Change::Loc(index) => {
                    let first = self.by_loc.partition_point(|&(loc, _)| loc < index);
                    self.due.extend(self.by_loc[first..].iter().take_while(|of| of.0 == index).map(|of| of.1));
                }
                Change::Epoch => self.due.extend(self.by_loc.iter().map(|of| of.1)),
            }
        }
        while let Some(&(_, n)) = self.events.get(self.past).filter(|event| event.0 <= inst) {
            self.due.push(n);
            self.past += 1;
        }
        sort(&mut self.due);
        self.due.dedup();
        for &n in &self.due {
            self.claim(input, names, inst, n, state, report);
        }
    }

    fn claim(&self, input: CheckInput, names: &ValueNumbering, inst: Inst, n: u32, state: &State, report: &mut Report) {
        let range = input.answer.labels[n as usize];
        if !(range.from..range.to).contains(&inst) {
            return;
        }
        let entity = Entity::Label(inst, n as usize);
        let mut vregs = self.requested(range.label, inst).peekable();
        let Some(&vreg) = vregs.peek() else {
            report.add(CheckError::new(Rule::LabelRequested, entity).at(range.loc));
            return;
        };
        if !vregs.any(|vreg| state.holds(names, input.problem, vreg, range.loc)) {
            let error = CheckError::new(Rule::LabelHoldsValue, entity).expects(vreg);
            report.add(with_content(error, input.problem, names, state, range.loc));
        }
    }

    /// Returns the values that `label` names before `inst`.
    fn requested(&self, label: u32, inst: Inst) -> impl Iterator<Item = VReg> {
        let end = self.requests.partition_point(|request| (request.label, request.from) <= (label, inst));
        let here = (0..end).rev().take_while(move |&i| self.requests[i].label == label && self.reach[i] > inst);
        here.map(|i| self.requests[i]).filter(move |request| inst < request.to).map(|request| request.vreg)
    }
}
