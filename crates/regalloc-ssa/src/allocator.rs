//! The pipeline.

use crate::coalescing::Coalescing;
use crate::coloring::{self, Coloring, Output};
use crate::constraints::Facts;
use crate::liveness::Liveness;
use crate::order::Order;
use crate::register_hints::Homes;
use crate::reload::Reloads;
use crate::spilling::{self, Spilling};
use kingpost_regalloc::{AllocError, Allocation, Allocator, Event, MachineEnv, Observer, Problem};

/// More values than this have no slot numbers; more operands no indices.
const MAX_VALUES: u64 = (1 << 31) - 4;

/// The decoupled allocator on SSA form. See the [crate documentation](crate).
#[derive(Default)]
pub struct SsaAllocator {
    order: Order,
    live: Liveness,
    facts: Facts,
    classes: Coalescing,
    plan: Spilling,
    homes: Homes,
    reloads: Reloads,
    coloring: Coloring,
}

struct Deaf;

impl Observer for Deaf {
    fn event(&mut self, _: Event<'_>) {}
}

impl Allocator for SsaAllocator {
    fn name(&self) -> &'static str {
        "ssa"
    }

    fn allocate(&mut self, problem: &Problem, env: &MachineEnv, out: &mut Allocation) -> Result<(), AllocError> {
        self.allocate_observed(problem, env, out, &mut Deaf)
    }

    fn allocate_observed(
        &mut self,
        problem: &Problem,
        env: &MachineEnv,
        out: &mut Allocation,
        observer: &mut dyn Observer,
    ) -> Result<(), AllocError> {
        out.reset(problem);
        if problem.vregs.len() as u64 > MAX_VALUES {
            return Err(AllocError::TooLarge { what: "values", limit: MAX_VALUES });
        }
        if problem.num_operands() as u64 > MAX_VALUES {
            return Err(AllocError::TooLarge { what: "operands", limit: MAX_VALUES });
        }
        observer.event(Event::Stage("liveness"));
        self.order.compute(problem);
        self.facts.begin(problem, env, &self.order);
        self.live.compute(problem, &self.order, &mut self.facts)?;
        observer.event(Event::Stage("coalescing"));
        self.classes.compute(problem, &self.order, &self.facts, &self.live);
        observer.event(Event::Stage("spilling"));
        let (order, facts, live, classes) = (&self.order, &self.facts, &self.live, &self.classes);
        let input = spilling::Input { problem, env, order, facts, live, classes };
        self.plan.compute(input);
        observer.event(Event::Stage("reload"));
        self.reloads.compute(input, &self.plan);
        observer.event(Event::Stage("homes"));
        self.homes.compute(input, &self.plan);
        let (plan, homes) = (&self.plan, &self.homes);
        let input = coloring::Input { problem, env, order, facts, live, classes, plan, homes };
        observer.event(Event::Stage("coloring"));
        let mut output = Output { reloads: &mut self.reloads, out };
        self.coloring.run(input, &mut output)?;
        observer.event(Event::Stage("edges"));
        self.coloring.emit(input, &mut output)?;
        let phases = [self.live.steps, self.classes.steps, self.plan.steps, self.homes.steps, self.coloring.steps()];
        out.stats.steps = phases.into_iter().sum::<u64>() + problem.num_operands() as u64;
        Ok(())
    }
}

impl SsaAllocator {
    /// What each phase found out about the problem solved last, as text: the phase's name, and lines.
    pub fn dump(&self, problem: &Problem, env: &MachineEnv) -> Vec<(&'static str, String)> {
        let (order, facts, live, classes) = (&self.order, &self.facts, &self.live, &self.classes);
        let input = spilling::Input { problem, env, order, facts, live, classes };
        let text = |write: &dyn Fn(&mut String) -> std::fmt::Result| {
            let mut text = String::new();
            // Writing to a string cannot fail.
            let _ = write(&mut text);
            text
        };
        vec![
            ("liveness", text(&|out| live.dump(order, out))),
            ("coalescing", text(&|out| classes.dump(problem, out))),
            ("spilling", text(&|out| self.plan.dump(input, out))),
            ("reload", text(&|out| self.reloads.dump(input, &self.plan, out))),
            ("coloring", text(&|out| self.homes.dump(out).and_then(|()| self.coloring.dump(order, out)))),
        ]
    }
}
