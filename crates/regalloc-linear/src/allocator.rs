//! The stages in order, and the memory they share.

use crate::collect;
use crate::collect::Hints;
use crate::collect::Liveness;
use crate::emit::{self, Emit};
use crate::linear_scan::{self, Scan, ScanResult};
use crate::resolve::{Input, Resolved};
use crate::slot_coalescing::SlotCoalescing;
use crate::values::Values;
use kingpost_regalloc::{AllocError, Allocation, Allocator, Event, MachineEnv, Observer, Problem};
use kingpost_regalloc_common::order::LinearOrder;
use kingpost_regalloc_common::preference::Registers;

/// Linear scan register allocation. Memory is kept from one problem to the next.
#[derive(Default)]
pub struct LinearScan {
    registers: Registers,
    order: LinearOrder,
    values: Values,
    live: Liveness,
    hints: Hints,
    scan: ScanResult,
    scratch: linear_scan::Scratch,
    resolved: Resolved,
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
        mut observer: Option<&mut dyn Observer>,
    ) -> Result<(), AllocError> {
        out.reset(problem);
        let mut stage = |name| {
            log::trace!("{name} of {}", problem.name);
            if let Some(observer) = &mut observer {
                observer.event(Event::Stage(name));
            }
        };
        stage("liveness");
        self.registers.build(problem, env);
        self.order.build(problem)?;
        collect::run(problem, &self.order, &self.registers, &mut self.values, &mut self.live, &mut self.hints);
        self.live.find_ranges(problem, &self.order, &mut self.values)?;

        stage("walk");
        let LinearScan { registers, order, values, hints, scan, scratch: s, .. } = self;
        let is_traced = observer.is_some() || log::log_enabled!(log::Level::Trace);
        Scan { problem, env, registers, order, values, hints, scan, s, out, observer, is_traced }.run()?;

        log::trace!("resolution of {}", problem.name);
        let LinearScan { registers, order, values, hints, scan, resolved, slots, emit, .. } = self;
        let input = &Input { problem, registers, order, hints };
        resolved.build(input, values, scan, out);
        slots.run(input, values, &resolved.in_slots, out)?;
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
