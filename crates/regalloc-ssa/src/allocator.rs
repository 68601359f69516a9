//! The pipeline.

use crate::coalescing::Coalescing;
use crate::color_input::ColorInput;
use crate::coloring::Coloring;
use crate::constraints::Constraints;
use crate::events;
use crate::liveness::Liveness;
use crate::register_hints::RegisterHints;
use crate::reload::ReloadPlan;
use crate::slots::Slots;
use crate::spill_input::SpillInput;
use crate::spilling::Spilling;
use kingpost_regalloc::meter::{HeapBytes, heap_bytes};
use kingpost_regalloc::{AllocError, Allocation, Allocator, Diagnostics, MachineEnv, Problem};
use kingpost_regalloc_common::MAX_KEPT;
use kingpost_regalloc_common::order::LinearOrder;

/// Bound on values and operands: more values have no slot numbers, and more operands no indices.
const MAX_VALUES: u64 = (1 << 31) - 4;

/// The decoupled allocator on SSA form. See the [crate documentation](crate).
#[derive(Default)]
pub struct SsaAllocator {
    pub(crate) order: LinearOrder,
    pub(crate) live: Liveness,
    pub(crate) constraints: Constraints,
    pub(crate) classes: Coalescing,
    pub(crate) spilling: Spilling,
    pub(crate) plan: ReloadPlan,
    hints: RegisterHints,
    pub(crate) coloring: Coloring,
    slots: Slots,
}

heap_bytes!(SsaAllocator { order, live, constraints, classes, spilling, plan, hints, coloring, slots });

impl Allocator for SsaAllocator {
    fn name(&self) -> &'static str {
        "ssa"
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
        for (count, what) in [(problem.vregs.len(), "values"), (problem.num_operands(), "operands")] {
            if count as u64 > MAX_VALUES {
                return Err(AllocError::TooLarge { what, limit: MAX_VALUES });
            }
        }
        let SsaAllocator { order, live, constraints, classes, spilling, plan, hints, coloring, slots } = self;
        let (meter, size) = (d.meter, problem.size());
        d.begin("liveness");
        meter.reserve(2 * size)?;
        order.build_forward(problem)?;
        constraints.begin(problem, env, order);
        live.compute(problem, order, constraints, meter)?;
        d.end("liveness", || live.verify(problem, order), |text| live.dump(problem, order, text))?;

        meter.grow(|| order.heap_bytes() + constraints.heap_bytes() + live.heap_bytes())?;
        live.release();
        d.begin("coalescing");
        classes.compute(problem, order, constraints, live, meter)?;
        d.end("coalescing", || classes.verify(problem, order, live), |text| classes.dump(problem, text))?;
        events::coalesced(problem, classes, d);
        classes.release();

        d.begin("spilling");
        let analyses = &SpillInput { problem, env, order, constraints, live, classes, meter };
        plan.exchange(&mut spilling.plan);
        spilling.run(analyses)?;
        spilling.release();
        let spills = &spilling.plan;
        d.end("spilling", || spills.verify(analyses), |text| spills.dump(analyses, text))?;

        d.begin("reload");
        plan.run(analyses, &mut spilling.plan)?;
        d.end("reload", || plan.verify(analyses), |text| plan.dump(analyses, text))?;
        events::transferred(plan, d);
        plan.release();

        d.begin("register_hints");
        let spills = &spilling.plan;
        hints.run(analyses, spills)?;
        d.end("register_hints", || Ok(()), |text| hints.dump(text))?;
        hints.release();

        // Memory written from here on was not in use before.
        out.reset(problem);
        d.begin("coloring");
        let input = &ColorInput { problem, env, order, constraints, live, classes, spills, plan, hints, meter };
        coloring.run(input, out)?;
        let assignment = &coloring.assignment;
        d.end("coloring", || assignment.verify(analyses, spills, out), |text| assignment.dump(analyses, text))?;
        events::assigned(input, assignment, out, d);

        d.begin("resolve");
        plan.close();
        hints.close();
        constraints.close();
        if !constraints.has_refs {
            // From here on only stack maps read liveness.
            live.close();
        }
        let spills = &spilling.plan;
        let input = &ColorInput { problem, env, order, constraints, live, classes, spills, plan, hints, meter };
        coloring.resolve(input, slots, out)?;
        let phases = [live.steps, classes.steps, spilling.steps, hints.steps, coloring.steps];
        out.stats.steps = phases.into_iter().sum::<u64>() + problem.num_operands() as u64;
        meter.grow(|| self.heap_bytes() + out.heap_bytes())?;
        if problem.num_insts() > MAX_KEPT {
            *self = SsaAllocator::default();
        }
        Ok(())
    }
}
