//! Which spilled values share one slot because one is passed to the other: block parameters with their arguments, results
//! that are modified in place with their sources.
//!
//! ```text
//! b1(v1): ..; jump b2(v1)         v1, v2 and v3 are in memory all the time: in one slot,
//! b2(v2): ..; brif b2(v2), b3         so that no edge moves anything
//! b3: v3 = v2 + 1 in memory; jump b1(v3)
//! ```
//!
//! Classes of values none of which is live while another one is, merged greedily along the edges that run most often
//! (Chaitin's aggressive coalescing, on slots). Each class has the union of its members' live ranges; classes of many
//! ranges are not merged further, so that one merge takes bounded time. Cost: n log n in pairs of spilled values.

use crate::resolve::Input;
use crate::values::{Value, Values, fact};
use kingpost_regalloc::{Constraint, Problem, VReg};
use kingpost_regalloc_common::point::PointRange;
use std::cmp::Reverse;

/// Classes of more ranges are left as they are.
const MOST_RANGES: usize = 64;

/// Values that share a slot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Class {
    /// The class this one was merged into, or itself.
    parent: u32,
    /// The part of `ranges` that is its own.
    first: u32,
    end: u32,
    pub(crate) width: u8,
    /// Is the slot written before the first range begins, while others may still be read?
    pub(crate) is_written_early: bool,
}

/// A wish that two values share.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Pair {
    freq: Reverse<u64>,
    from: VReg,
    to: VReg,
}

#[derive(Default)]
pub(crate) struct SlotClasses {
    pub(crate) classes: Vec<Class>,
    ranges: Vec<PointRange>,
    pairs: Vec<Pair>,
    merged: Vec<PointRange>,
}

impl SlotClasses {
    /// Forms classes of the values that need a slot, and tells each value its class.
    pub(crate) fn build(&mut self, input: &Input<'_>, values: &mut Values, in_slots: &[VReg]) {
        self.classes.clear();
        self.ranges.clear();
        for &vreg in in_slots {
            values[vreg].place = self.classes.len() as u32;
            self.add_class(values.ranges(vreg), &values[vreg]);
        }
        if self.classes.len() >= 2 {
            self.find_tied(input.problem, values, in_slots);
            self.merge_pairs(values);
            self.find_passed(input, values);
            self.merge_pairs(values);
        }
        for &vreg in in_slots {
            let value = &mut values[vreg];
            value.place = self.root(value.place);
        }
    }

    /// Is this a class that was not merged into another one?
    pub(crate) fn is_root(&self, class: u32) -> bool {
        self.classes[class as usize].parent == class
    }

    /// The first point at which a member is live, and the point after the last one.
    pub(crate) fn life(&self, class: u32) -> PointRange {
        let ranges = self.ranges_of(class);
        let (first, last) = (ranges[0], ranges[ranges.len() - 1]);
        PointRange::new(first.from, last.to)
    }

    fn ranges_of(&self, class: u32) -> &[PointRange] {
        let class = &self.classes[class as usize];
        &self.ranges[class.first as usize..class.end as usize]
    }

    fn root(&self, mut class: u32) -> u32 {
        while self.classes[class as usize].parent != class {
            class = self.classes[class as usize].parent;
        }
        class
    }

    /// As [`SlotClasses::root`], halving the way for the next time.
    fn find(&mut self, mut class: u32) -> u32 {
        loop {
            let parent = self.classes[class as usize].parent;
            if parent == class {
                return class;
            }
            let next = self.classes[parent as usize].parent;
            self.classes[class as usize].parent = next;
            class = next;
        }
    }

    fn add_class(&mut self, ranges: &[PointRange], value: &Value) {
        let (first, def) = (self.ranges.len(), value.def);
        self.ranges.extend_from_slice(ranges);
        // In an unusual order uses may come before the definition, which then has a range of its own.
        if let Some(range) = self.ranges.get_mut(first).filter(|range| range.from > def) {
            range.from = def;
        }
        let starts = self.ranges[first].from == def;
        let is_written_early = starts && value.has(fact::PAIR_IN_MEM | fact::AT_HEAD);
        let parent = self.classes.len() as u32;
        self.classes.push(Class {
            parent,
            first: first as u32,
            end: self.ranges.len() as u32,
            width: value.width(),
            is_written_early,
        });
    }

    /// A result in memory that is modified in place is copied there from its source, which may as well be there before.
    fn find_tied(&mut self, problem: &Problem, values: &Values, in_slots: &[VReg]) {
        if !in_slots.iter().any(|&vreg| values.has(vreg, fact::PAIR_IN_MEM)) {
            return;
        }
        for block in problem.blocks() {
            for inst in problem.insts(block) {
                let operands = problem.operands(inst);
                for operand in operands.iter().filter(|operand| values.has(operand.vreg(), fact::PAIR_IN_MEM)) {
                    if let (true, Constraint::Reuse(k)) = (operand.is_def(), operand.constraint()) {
                        let from = operands[usize::from(k)].vreg();
                        self.pairs.push(Pair { freq: Reverse(problem.freq(block).0), from, to: operand.vreg() });
                    }
                }
            }
        }
    }

    fn find_passed(&mut self, input: &Input<'_>, values: &Values) {
        let problem = input.problem;
        for edge in problem.edges() {
            let data = problem.edge(edge);
            for (&from, &to) in problem.edge_args(edge).iter().zip(problem.params(data.to)) {
                if values.has(from, fact::IN_SLOT) && values.has(to, fact::IN_SLOT) {
                    self.pairs.push(Pair { freq: Reverse(data.freq.0), from, to });
                }
            }
        }
    }

    fn merge_pairs(&mut self, values: &Values) {
        self.pairs.sort_unstable();
        for i in 0..self.pairs.len() {
            let Pair { from, to, .. } = self.pairs[i];
            if values.has(from, fact::IN_SLOT) && values.has(to, fact::IN_SLOT) {
                let (from, to) = (self.find(values[from].place), self.find(values[to].place));
                self.merge(from, to);
            }
        }
        self.pairs.clear();
    }

    /// Makes one class of two if no member of one is live while a member of the other is.
    fn merge(&mut self, a: u32, b: u32) {
        let (left, right) = (self.classes[a as usize], self.classes[b as usize]);
        if a == b || left.width != right.width {
            return;
        }
        let ranges = self.ranges_of(a).len() + self.ranges_of(b).len();
        if ranges > MOST_RANGES || !self.union(a, b) {
            return;
        }
        let first = if self.life(a).from <= self.life(b).from { left } else { right };
        // The union is never longer than both together; where it fits it takes the place of one of them.
        let room = [left, right].into_iter().find(|class| (class.end - class.first) as usize >= self.merged.len());
        let start = match room {
            Some(class) => class.first as usize,
            None => self.ranges.len(),
        };
        let end = start + self.merged.len();
        if end > self.ranges.len() {
            self.ranges.resize(end, PointRange::EMPTY);
        }
        self.ranges[start..end].copy_from_slice(&self.merged);
        let is_written_early = first.is_written_early;
        self.classes[b as usize].parent = a;
        self.classes[a as usize] =
            Class { parent: a, first: start as u32, end: end as u32, width: left.width, is_written_early };
    }

    /// Leaves the ranges of both classes in `merged`, unless some overlap.
    fn union(&mut self, a: u32, b: u32) -> bool {
        let mut merged = std::mem::take(&mut self.merged);
        merged.clear();
        let (mut left, mut right) = (self.ranges_of(a), self.ranges_of(b));
        let mut are_disjoint = true;
        while let Some(&next) = left.first().or(right.first()) {
            let mut next = next;
            match right.first() {
                Some(&other) if left.is_empty() || other.from < next.from => {
                    next = other;
                    right = &right[1..];
                }
                _ => left = &left[1..],
            }
            match merged.last_mut() {
                Some(PointRange { to, .. }) if *to > next.from => {
                    are_disjoint = false;
                    break;
                }
                Some(PointRange { to, .. }) if *to == next.from => *to = next.to,
                _ => merged.push(next),
            }
        }
        self.merged = merged;
        are_disjoint
    }
}
