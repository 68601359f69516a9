//! The stages in order, and the memory they share.

use crate::collect;
use crate::collect::Constraints;
use crate::collect::Liveness;
use crate::emit::{self, Emit};
use crate::linear_scan::{self, Scan, ScanResult};
use crate::resolve::{ResolveInput, Resolved};
use crate::slot_coalescing::SlotCoalescing;
use crate::values::Values;
use crate::{dump, verify};
use kingpost_regalloc::meter::{HeapBytes, heap_bytes};
use kingpost_regalloc::{AllocError, Allocation, Allocator, Diagnostics, MachineEnv, Problem};
use kingpost_regalloc_common::MAX_KEPT;
use kingpost_regalloc_common::order::LinearOrder;
use kingpost_regalloc_common::preference::Registers;

/// Linear scan register allocation. Memory is kept for the next problem, except after a large one.
#[derive(Default)]
pub struct LinearScan {
    pub(crate) registers: Registers,
    order: LinearOrder,
    pub(crate) values: Values,
    live: Liveness,
    pub(crate) constraints: Constraints,
    pub(crate) scan: ScanResult,
    scratch: linear_scan::Scratch,
    pub(crate) resolved: Resolved,
    slots: SlotCoalescing,
    emit: emit::Scratch,
}

heap_bytes!(LinearScan { registers, order, values, live, constraints, scan, scratch, resolved, slots, emit });

impl LinearScan {
    /// Returns an allocator that holds no memory yet.
    pub fn new() -> LinearScan {
        LinearScan::default()
    }
}

impl Allocator for LinearScan {
    fn name(&self) -> &'static str {
        "linear"
    }

    fn memory_bytes(&self) -> u64 {
        self.heap_bytes()
    }

    fn allocate(&mut self, problem: &Problem, env: &MachineEnv, out: &mut Allocation) -> Result<(), AllocError> {
        self.allocate_with(problem, env, out, &mut Diagnostics::default())
    }

    fn allocate_with(
        &mut self,
        problem: &Problem,
        env: &MachineEnv,
        out: &mut Allocation,
        d: &mut Diagnostics<'_>,
    ) -> Result<(), AllocError> {
        out.reset(problem);
        let LinearScan { registers, order, values, live, constraints, scan, scratch: s, resolved, slots, emit } = self;

        let (meter, size) = (d.meter, problem.size());
        d.begin("liveness");
        meter.reserve(2 * size)?;
        registers.build(problem, env);
        order.build(problem)?;
        collect::run(problem, order, registers, values, live, constraints);
        live.find_ranges(problem, order, values, meter)?;
        let input = &ResolveInput { problem, registers, order, constraints };
        d.end("liveness", || verify::liveness(input, values), |text| dump::liveness(input, values, text))?;

        meter.grow(|| order.heap_bytes() + values.heap_bytes() + live.heap_bytes() + constraints.heap_bytes())?;
        d.begin("scan");
        Scan { problem, env, registers, order, values, constraints, scan, s, out, diagnostics: d }.run()?;
        d.end("scan", || verify::scan(input, values, scan), |text| dump::scan(input, values, scan, text))?;

        d.begin("resolve");
        let intervals = scan.occupancy.intervals.len() + scan.gap_moves.len() + scan.maps.len();
        meter.reserve((problem.num_edges() + intervals) as u64)?;
        resolved.build(input, values, scan, meter)?;
        let verify_moves = || verify::resolve(input, values, scan, resolved);
        d.end("resolve", verify_moves, |text| dump::resolve(input, values, resolved, text))?;

        d.begin("slots");
        slots.run(input, values, &resolved.in_slots, out, meter)?;
        d.end("slots", || verify::slots(values, resolved), |text| dump::slots(input, values, out, text))?;

        d.begin("emit");
        let edits = scan.gap_moves.len() + resolved.num_steps();
        meter.reserve(2 * (problem.num_blocks() + edits) as u64)?;
        Emit { input, env, values, scan, resolved, s: emit, out, meter }.run()?;
        meter.grow(|| self.heap_bytes() + out.heap_bytes())?;
        if problem.num_insts() > MAX_KEPT {
            *self = LinearScan::default();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::IntervalId;
    use crate::values::Values;
    use kingpost_regalloc::{VReg, text};
    use kingpost_regalloc_common::point::ProgPoint;

    /// A loop that passes its values around, with two further values.
    const TEXT: &str = "env {
        int r0, r1
        }
        problem %f {
        v0, v1, v2, v3, v4, v5: int 8
        b0:
        def v0, def v1
        branch -> b1(v0, v1)
        b1(v2, v3) freq 8:
        use v2
        branch use v3 -> b2 freq 7, b3 freq 1
        b2 freq 7:
        def v4, def v5
        use v4, use v5
        branch -> b1(v3, v2) freq 7
        b3 freq 1:
        branch use v2
        }";

    struct Solved {
        problem: Problem,
        allocator: LinearScan,
    }

    impl Solved {
        fn new() -> Solved {
            let mut file = text::parse(TEXT).unwrap_or_else(|error| panic!("{error}"));
            let (problem, env) = (file.cases.remove(0).problem, file.env.expect("a machine"));
            let mut allocator = LinearScan::default();
            let mut diagnostics = Diagnostics::verified();
            let solved = allocator.allocate_with(&problem, &env, &mut Allocation::default(), &mut diagnostics);
            solved.expect("each phase is valid");
            Solved { problem, allocator }
        }

        /// Plants a fault, and asserts that the verifier finds it.
        #[track_caller]
        fn expect(
            mut self,
            rule: &str,
            plant: impl FnOnce(&mut LinearScan),
            verify: impl FnOnce(&ResolveInput<'_>, &mut Values, &ScanResult, &Resolved) -> Result<(), String>,
        ) {
            plant(&mut self.allocator);
            let LinearScan { registers, order, values, constraints, scan, resolved, .. } = &mut self.allocator;
            let input = ResolveInput { problem: &self.problem, registers, order, constraints };
            let what = verify(&input, values, scan, resolved).expect_err("the fault is not noticed");
            assert!(what.starts_with(rule), "{what}");
        }
    }

    #[test]
    fn ranges_out_of_order_are_a_fault() {
        let plant = |linear: &mut LinearScan| {
            let [start, _] = linear.values[VReg::from_u32(0)].ranges;
            linear.values.ranges[start as usize].to = ProgPoint::FIRST;
        };
        Solved::new().expect("rule 1", plant, |input, values, _, _| verify::liveness(input, values));
    }

    #[test]
    fn a_use_outside_of_the_live_ranges_is_a_fault() {
        let plant = |linear: &mut LinearScan| {
            let [_, end] = linear.values[VReg::from_u32(1)].ranges;
            let last = &mut linear.values.ranges[end as usize - 1];
            last.to = last.from.next();
        };
        Solved::new().expect("rule 2", plant, |input, values, _, _| verify::liveness(input, values));
    }

    #[test]
    fn a_register_of_two_values_is_a_fault() {
        let plant = |linear: &mut LinearScan| {
            let intervals = &mut linear.scan.occupancy.intervals;
            intervals[IntervalId::from_u32(1)].reg = intervals[IntervalId::from_u32(0)].reg;
        };
        Solved::new().expect("rule 3", plant, |input, values, scan, _| verify::scan(input, values, scan));
    }

    #[test]
    fn an_edge_without_its_moves_is_a_fault() {
        let plant = |linear: &mut LinearScan| linear.resolved.edges.forget();
        Solved::new()
            .expect("rule 5", plant, |input, values, scan, resolved| verify::resolve(input, values, scan, resolved));
    }

    #[test]
    fn a_slot_of_two_live_values_is_a_fault() {
        let plant = |linear: &mut LinearScan| {
            for vreg in [0, 1].map(VReg::from_u32) {
                linear.values[vreg].cursor = 0;
                linear.values.set(vreg, crate::values::flag::IN_SLOT);
            }
            linear.resolved.in_slots = [0, 1].map(VReg::from_u32).to_vec();
        };
        Solved::new().expect("rule 6", plant, |_, values, _, resolved| verify::slots(values, resolved));
    }
}
