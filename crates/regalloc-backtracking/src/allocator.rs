//! The stages in order, and the memory they use again.

use crate::bundles::Bundles;
use crate::emit::{Emit, Output};
use crate::live::Liveness;
use crate::machine::Machine;
use crate::order::Order;
use crate::places::Places;
use crate::search::{Scratch, Search};
use kingpost_regalloc::{AllocError, Allocation, Allocator, MachineEnv, Problem, Stats};

/// More than these many instructions and blocks together have no points.
const MAX_SLOTS: u64 = 1 << 29;

/// The allocator by backtracking. See the [crate documentation](crate).
#[derive(Default)]
pub struct Backtracking {
    order: Order,
    live: Liveness,
    machine: Machine,
    bundles: Bundles,
    scratch: Scratch,
    places: Places,
    output: Output,
}

impl Allocator for Backtracking {
    fn name(&self) -> &'static str {
        "backtracking"
    }

    fn allocate(&mut self, problem: &Problem, env: &MachineEnv, out: &mut Allocation) -> Result<(), AllocError> {
        out.reset(problem);
        if (problem.num_insts() + problem.num_blocks()) as u64 > MAX_SLOTS {
            return Err(AllocError::TooLarge { what: "instructions and blocks", limit: MAX_SLOTS });
        }
        let Backtracking { order, live, machine, bundles, scratch, places, output } = self;
        order.build(problem);
        live.build(problem, order)?;
        machine.build(problem, env, order, |vreg| live.edge_of(vreg))?;
        bundles.build(problem, order, live);
        let mut stats = Stats::default();
        let unused = env.callee_saved();
        let s = &mut *scratch;
        Search { problem, env, order, live, machine, bundles, s, stats: &mut stats, unused, limit: 0 }.run()?;
        places.build(problem, bundles);
        Emit { problem, env, order, live, machine, bundles, scratch, places, s: output, out }.run()?;
        out.stats = stats;
        Ok(())
    }
}
