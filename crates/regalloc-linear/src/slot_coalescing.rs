//! Slots of spilled values. Values share a slot if one flows into the other: block parameters with their arguments,
//! results that are modified in memory with their sources. Then slots with disjoint lifetimes are shared.
//!
//! ```text
//! b1(v1): ..; jump b2(v1)         v1, v2 and v3 are in memory all the time: in one slot,
//! b2(v2): ..; brif b2(v2), b3         so that no edge moves anything
//! b3: v3 = v2 + 1 in memory; jump b1(v3)
//! ```
//!
//! Congruence classes are merged greedily along the most frequent edges (Chaitin's aggressive coalescing, on
//! slots). Cost: n log n in spilled values and pairs of them; merges share a budget of [`STEPS_PER_RANGE`] per live
//! range.

use crate::resolve::ResolveInput;
use crate::values::{Values, flag};
use kingpost_regalloc::meter::MeterRef;
use kingpost_regalloc::meter::heap_bytes;
use kingpost_regalloc::{AllocError, Allocation, Constraint, Problem, Slot, VReg};
use kingpost_regalloc_common::affinity::Affinities;
use kingpost_regalloc_common::congruence::Congruence;
use kingpost_regalloc_common::point::{PointRange, ProgPoint};
use kingpost_regalloc_common::slot_packing::SlotPacking;

/// Budget of merges, in steps per live range of a spilled value.
const STEPS_PER_RANGE: usize = 64;

/// The assignment of slots, and its memory.
#[derive(Default)]
pub(crate) struct SlotCoalescing {
    /// Classes of the values that need slots, each identified by its index among them.
    classes: Congruence<PointRange>,
    /// By representative: whether the slot is written before the first live range begins, where other values may
    /// still be read.
    is_written_early: Vec<bool>,
    /// Pairs of values that should share a slot.
    pairs: Affinities,
    packing: SlotPacking<ProgPoint>,
}

heap_bytes!(SlotCoalescing { classes, is_written_early, pairs, packing });

impl SlotCoalescing {
    /// Assigns a slot to each of the values.
    ///
    /// # Errors
    /// If there are more slots than can be numbered.
    pub(crate) fn run(
        &mut self,
        input: &ResolveInput<'_>,
        values: &mut Values,
        in_slots: &[VReg],
        out: &mut Allocation,
        meter: MeterRef<'_>,
    ) -> Result<(), AllocError> {
        values.slots.clear();
        if in_slots.is_empty() {
            return Ok(());
        }
        self.begin(values, in_slots);
        meter.reserve(self.classes.pool.len() as u64 + 4 * in_slots.len() as u64)?;
        if in_slots.len() >= 2 {
            meter.reserve(input.problem.size())?;
            self.find_tied(input.problem, values, in_slots);
            self.merge_pairs(values, meter)?;
            self.find_passed(input, values);
            self.merge_pairs(values, meter)?;
        }
        for (class, &vreg) in (0..).zip(in_slots) {
            let intervals = self.classes.intervals(class);
            if let (true, Some(first), Some(last)) =
                (self.classes.is_representative(class), intervals.first(), intervals.last())
            {
                let from = if self.is_written_early[class as usize] { first.from.prev() } else { first.from };
                self.packing.add(class, from..last.to, values[vreg].width());
            }
        }
        let slots = &mut values.slots;
        slots.resize(in_slots.len(), Slot::from_u32(0));
        self.packing.pack(out, |class, slot| slots[class as usize] = slot)?;
        for class in 0..in_slots.len() as u32 {
            slots[class as usize] = slots[self.classes.find(class) as usize];
        }
        Ok(())
    }

    fn begin(&mut self, values: &mut Values, in_slots: &[VReg]) {
        self.classes.begin(in_slots.len());
        self.is_written_early.clear();
        for (class, &vreg) in (0..).zip(in_slots) {
            values[vreg].cursor = class;
            let (value, ranges) = (&values[vreg], values.ranges(vreg));
            // In an unusual order uses may come before the definition, which then has a range of its own.
            let first = ranges.first().map(|first| PointRange::new(first.from.min(value.def), first.to));
            self.classes.set(class, first.into_iter().chain(ranges.iter().skip(1).copied()));
            let begins = first.is_some_and(|first| first.from == value.def);
            self.is_written_early.push(begins && value.has(flag::PAIR_IN_MEM | flag::AT_HEAD));
        }
        self.classes.budget = STEPS_PER_RANGE * self.classes.pool.len();
    }

    /// Adds pairs for results in memory that are modified in place. They are copied there from their source, which
    /// should share the slot.
    fn find_tied(&mut self, problem: &Problem, values: &Values, in_slots: &[VReg]) {
        if !in_slots.iter().any(|&vreg| values.has(vreg, flag::PAIR_IN_MEM)) {
            return;
        }
        for block in problem.blocks() {
            for inst in problem.insts(block) {
                let operands = problem.operands(inst);
                for operand in operands.iter().filter(|operand| values.has(operand.vreg(), flag::PAIR_IN_MEM)) {
                    if let (true, Constraint::Reuse(k)) = (operand.is_def(), operand.constraint()) {
                        let from = operands[usize::from(k)].vreg();
                        self.pairs.add(problem.freq(block).0, from, operand.vreg());
                    }
                }
            }
        }
    }

    fn find_passed(&mut self, input: &ResolveInput<'_>, values: &Values) {
        let problem = input.problem;
        for edge in problem.edges() {
            let args = problem.edge_args(edge);
            if args.is_empty() {
                continue;
            }
            let data = problem.edge(edge);
            for (&from, &to) in args.iter().zip(problem.params(data.to)) {
                if values.has(from, flag::IN_SLOT) && values.has(to, flag::IN_SLOT) {
                    self.pairs.add(data.freq.0, from, to);
                }
            }
        }
    }

    fn merge_pairs(&mut self, values: &Values, meter: MeterRef<'_>) -> Result<(), AllocError> {
        self.pairs.sort();
        let mut pairs = std::mem::take(&mut self.pairs);
        let (budget, mut paid) = (self.classes.budget, 0);
        for ((from, to), tried) in pairs.iter().zip(0..) {
            meter.spend_batch(tried + (budget - self.classes.budget) as u64, &mut paid)?;
            let (from, to) = (&values[from], &values[to]);
            if from.has(flag::IN_SLOT) && to.has(flag::IN_SLOT) && from.width() == to.width() {
                let (a, b) = (self.classes.find(from.cursor), self.classes.find(to.cursor));
                self.merge(a, b);
            }
        }
        self.classes.merge_gathered();
        meter.spend_rest((pairs.len() + budget - self.classes.budget) as u64, &mut paid)?;
        pairs.clear();
        self.pairs = pairs;
        Ok(())
    }

    fn merge(&mut self, a: u32, b: u32) {
        let start = |class| self.classes.first(class).map(|first| first.from);
        let first = if start(a) <= start(b) { a } else { b };
        let is_written_early = self.is_written_early[first as usize];
        if self.classes.merge(a, b) {
            let class = self.classes.find(a);
            self.is_written_early[class as usize] = is_written_early;
        }
    }
}
