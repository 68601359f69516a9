//! The stages in order, and the memory they use again.

use crate::bundles::Bundles;
use crate::emit::{Emit, Output};
use crate::live::Liveness;
use crate::machine::Machine;
use crate::occupancy::Occupancy;
use crate::order::Order;
use crate::places::Places;
use crate::scan::Scan;
use crate::search::{Scratch, Search};
use crate::second_chance::SecondChance;
use kingpost_regalloc::{AllocError, Allocation, Allocator, Event, MachineEnv, Observer, Problem, RegClass, Stats};

/// More than these many instructions and blocks together have no points.
const MAX_SLOTS: u64 = 1 << 29;

/// The allocator by backtracking. See the [crate documentation](crate).
#[derive(Default)]
pub struct Backtracking {
    order: Order,
    live: Liveness,
    machine: Machine,
    bundles: Bundles,
    occupancy: [Occupancy; 2],
    scratch: Scratch,
    places: Places,
    output: Output,
}

impl Allocator for Backtracking {
    fn name(&self) -> &'static str {
        "backtracking"
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

impl Backtracking {
    fn run(
        &mut self,
        problem: &Problem,
        env: &MachineEnv,
        out: &mut Allocation,
        mut observer: Option<&mut dyn Observer>,
    ) -> Result<(), AllocError> {
        out.reset(problem);
        if (problem.num_insts() + problem.num_blocks()) as u64 > MAX_SLOTS {
            return Err(AllocError::TooLarge { what: "instructions and blocks", limit: MAX_SLOTS });
        }
        let mut stage = |name| {
            if let Some(observer) = observer.as_deref_mut() {
                observer.event(Event::Stage(name));
            }
        };
        let Backtracking { order, live, machine, bundles, occupancy, scratch, places, output } = self;
        stage("live ranges");
        order.build(problem);
        for class in RegClass::ALL {
            let is_used = problem.vregs.values().any(|data| data.class == class);
            let points = if is_used { order.num_slots() * 4 } else { 0 };
            occupancy[class.index()].reset(points, env.class(class).order.len());
        }
        Scan { problem, env, order, live, machine, bundles, occupancy }.run()?;
        live.find_ranges(problem, order)?;
        stage("bundles");
        bundles.build(problem, live);
        stage("search");
        let mut stats = Stats::default();
        let unused = machine.registers.callee_saved;
        let s = &mut *scratch;
        let (is_settled, limit) = (false, 0);
        let mut search = Search {
            problem,
            env,
            order,
            live,
            machine,
            bundles,
            occupancy,
            s,
            stats: &mut stats,
            observer,
            unused,
            is_settled,
            limit,
        };
        search.run()?;
        let unused = search.unused;
        places.build(problem, bundles);
        SecondChance { problem, order, live, machine, occupancy, unused }.run(places);
        Emit { problem, env, order, live, machine, bundles, occupancy, places, s: output, out }.run()?;
        out.stats = stats;
        Ok(())
    }
}
