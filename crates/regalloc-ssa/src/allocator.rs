//! The pipeline.

use crate::coalescing::Coalescing;
use crate::coloring::{Coloring, Input};
use crate::liveness::Liveness;
use crate::reload::Reloads;
use crate::spilling::Spilling;
use kingpost_regalloc::{AllocError, Allocation, Allocator, Event, MachineEnv, Observer, Problem};

/// More values than this have no slot numbers.
const MAX_VALUES: u64 = (1 << 31) - 4;

/// The decoupled allocator on SSA form. See the [crate documentation](crate).
#[derive(Default)]
pub struct SsaAllocator {
    live: Liveness,
    classes: Coalescing,
    spilling: Spilling,
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
        observer.event(Event::Stage("liveness"));
        self.live.compute(problem)?;
        observer.event(Event::Stage("coalescing"));
        self.classes.compute(problem);
        observer.event(Event::Stage("spilling"));
        self.spilling.compute(problem, env, &self.live);
        self.reloads.clear();
        let input = Input { problem, env, live: &self.live, plan: &self.spilling, allocatable: env.allocatable() };
        observer.event(Event::Stage("coloring"));
        self.coloring.run(input, &mut self.classes, &mut self.reloads, out)?;
        observer.event(Event::Stage("edges"));
        self.coloring.emit(input, &mut self.reloads, out)
    }
}

impl SsaAllocator {
    /// What each phase found out about the problem solved last, as text.
    pub fn dump(&mut self, problem: &Problem) -> String {
        let mut text = String::from("liveness\n");
        // Writing to a string cannot fail.
        let _ = self.live.dump(&mut text);
        text.push_str("coalescing\n");
        let _ = self.classes.dump(problem, &mut text);
        text.push_str("spilling\n");
        let _ = self.spilling.dump(&self.live, &mut text);
        text.push_str("reload\n");
        let _ = self.reloads.dump(problem, &self.live, &mut text);
        text.push_str("coloring\n");
        let _ = self.coloring.dump(&self.live, &mut text);
        text
    }
}
