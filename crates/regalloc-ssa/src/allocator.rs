//! The pipeline.

use crate::coalescing::Coalescing;
use crate::coloring::{self, Coloring};
use crate::constraints::Constraints;
use crate::events;
use crate::liveness::Liveness;
use crate::register_hints::RegisterHints;
use crate::reload::ReloadPlan;
use crate::slots::Slots;
use crate::spilling::{self, Spilling};
use kingpost_regalloc::{AllocError, Allocation, Allocator, Event, MachineEnv, Observer, Problem};
use kingpost_regalloc_common::order::LinearOrder;

/// More values than this have no slot numbers; more operands no indices.
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

impl Allocator for SsaAllocator {
    fn name(&self) -> &'static str {
        "ssa"
    }

    fn allocate(&mut self, problem: &Problem, env: &MachineEnv, out: &mut Allocation) -> Result<(), AllocError> {
        self.run(problem, env, out, None, false)
    }

    fn allocate_observed(
        &mut self,
        problem: &Problem,
        env: &MachineEnv,
        out: &mut Allocation,
        observer: &mut dyn Observer,
    ) -> Result<(), AllocError> {
        self.run(problem, env, out, Some(observer), false)
    }

    fn allocate_verified(
        &mut self,
        problem: &Problem,
        env: &MachineEnv,
        out: &mut Allocation,
    ) -> Result<(), AllocError> {
        self.run(problem, env, out, None, true)
    }
}

impl SsaAllocator {
    fn run(
        &mut self,
        problem: &Problem,
        env: &MachineEnv,
        out: &mut Allocation,
        mut observer: Option<&mut dyn Observer>,
        verifies: bool,
    ) -> Result<(), AllocError> {
        out.reset(problem);
        if problem.vregs.len() as u64 > MAX_VALUES {
            return Err(AllocError::TooLarge { what: "values", limit: MAX_VALUES });
        }
        if problem.num_operands() as u64 > MAX_VALUES {
            return Err(AllocError::TooLarge { what: "operands", limit: MAX_VALUES });
        }
        announce(&mut observer, "liveness");
        self.order.build_forward(problem)?;
        self.constraints.begin(problem, env, &self.order);
        self.live.compute(problem, &self.order, &mut self.constraints)?;
        if verifies {
            check_phase("liveness", self.live.verify(problem, &self.order))?;
        }
        announce(&mut observer, "coalescing");
        self.classes.compute(problem, &self.order, &self.constraints, &self.live);
        let (order, constraints, live, classes) = (&self.order, &self.constraints, &self.live, &self.classes);
        if verifies {
            check_phase("coalescing", classes.verify(problem, order, live))?;
        }
        if let Some(observer) = &mut observer {
            events::coalesced(problem, classes, *observer);
        }
        let analyses = spilling::Input { problem, env, order, constraints, live, classes };
        announce(&mut observer, "spilling");
        self.spilling.run(analyses)?;
        let spills = &self.spilling.plan;
        if verifies {
            check_phase("spilling", spills.verify(analyses))?;
        }
        announce(&mut observer, "reload");
        self.plan.run(analyses, spills);
        if verifies {
            check_phase("reload", self.plan.verify(analyses))?;
        }
        if let Some(observer) = &mut observer {
            events::transferred(&self.plan, *observer);
        }
        announce(&mut observer, "register_hints");
        self.hints.run(analyses, spills);
        let (plan, hints) = (&self.plan, &self.hints);
        let input = coloring::Input { problem, env, order, constraints, live, classes, spills, plan, hints };
        announce(&mut observer, "coloring");
        self.coloring.run(input, out)?;
        if verifies {
            check_phase("coloring", self.coloring.assignment.verify(analyses, spills, out))?;
        }
        if let Some(observer) = &mut observer {
            events::assigned(input, &self.coloring.assignment, out, *observer);
        }
        announce(&mut observer, "resolve");
        self.coloring.resolve(input, &mut self.slots, out)?;
        let phases = [self.live.steps, self.classes.steps, self.spilling.steps, self.hints.steps, self.coloring.steps];
        out.stats.steps = phases.into_iter().sum::<u64>() + problem.num_operands() as u64;
        Ok(())
    }

    /// What each phase found out about the problem solved last, as text: the phase's name, and lines.
    pub fn dump(&self, problem: &Problem, env: &MachineEnv) -> Vec<(&'static str, String)> {
        let (order, constraints, live, classes) = (&self.order, &self.constraints, &self.live, &self.classes);
        let input = spilling::Input { problem, env, order, constraints, live, classes };
        let text = |write: &dyn Fn(&mut String) -> std::fmt::Result| {
            let mut text = String::new();
            // Writing to a string cannot fail.
            let _ = write(&mut text);
            text
        };
        vec![
            ("liveness", text(&|out| live.dump(order, out))),
            ("coalescing", text(&|out| classes.dump(problem, out))),
            ("spilling", text(&|out| self.spilling.plan.dump(input, out))),
            ("reload", text(&|out| self.plan.dump(input, out))),
            ("register_hints", text(&|out| self.hints.dump(out))),
            ("coloring", text(&|out| self.coloring.assignment.dump(order, out))),
        ]
    }
}

fn announce(observer: &mut Option<&mut dyn Observer>, phase: &str) {
    if let Some(observer) = observer {
        observer.event(Event::Stage(phase));
    }
}

fn check_phase(phase: &'static str, result: Result<(), String>) -> Result<(), AllocError> {
    result.map_err(|what| AllocError::Phase { phase, what })
}
