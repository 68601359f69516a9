//! The stages in order, and the memory they share.

use crate::collect;
use crate::collect::Constraints;
use crate::collect::Liveness;
use crate::emit::{self, Emit};
use crate::linear_scan::{self, Scan, ScanResult};
use crate::resolve::{Input, Resolved};
use crate::slot_coalescing::SlotCoalescing;
use crate::trace::Trace;
use crate::values::Values;
use kingpost_regalloc::{AllocError, Allocation, Allocator, Event, MachineEnv, Observer, Problem};
use kingpost_regalloc_common::order::LinearOrder;
use kingpost_regalloc_common::preference::Registers;

/// Linear scan register allocation. Memory is kept from one problem to the next.
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

impl LinearScan {
    /// An allocator that holds no memory yet.
    pub fn new() -> LinearScan {
        LinearScan::default()
    }

    fn run(
        &mut self,
        problem: &Problem,
        env: &MachineEnv,
        out: &mut Allocation,
        observer: Option<&mut dyn Observer>,
    ) -> Result<(), AllocError> {
        let trace = &mut Trace::new(observer);
        out.reset(problem);

        trace.event(Event::Stage("collect"));
        let LinearScan { registers, order, values, live, constraints, scan, scratch: s, .. } = self;
        registers.build(problem, env);
        order.build(problem)?;
        collect::run(problem, order, registers, values, live, constraints);
        live.find_ranges(problem, order, values)?;

        trace.event(Event::Stage("scan"));
        Scan { problem, env, registers, order, values, constraints, scan, s, out, trace }.run()?;

        trace.event(Event::Stage("resolve"));
        let LinearScan { registers, order, values, constraints, scan, resolved, slots, emit, .. } = self;
        let input = &Input { problem, registers, order, constraints };
        resolved.build(input, values, scan, out);

        trace.event(Event::Stage("slots"));
        slots.run(input, values, &resolved.in_slots, out)?;

        trace.event(Event::Stage("emit"));
        Emit { input, env, values, scan, resolved, s: emit, out }.run()
    }
}

impl Allocator for LinearScan {
    fn name(&self) -> &'static str {
        "linear"
    }

    fn allocate(&mut self, problem: &Problem, env: &MachineEnv, out: &mut Allocation) -> Result<(), AllocError> {
        self.run(problem, env, out, None)
    }

    fn allocate_observed(
        &mut self,
        problem: &Problem,
        env: &MachineEnv,
        out: &mut Allocation,
        observer: &mut dyn Observer,
    ) -> Result<(), AllocError> {
        self.run(problem, env, out, Some(observer))
    }
}
