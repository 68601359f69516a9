//! The phases in order, and their reusable memory.

use crate::block_graph::BlockGraph;
use crate::bundles::Bundles;
use crate::collect::Collect;
use crate::emit::{Emit, Output};
use crate::fill_gaps::FillGaps;
use crate::interference::Interference;
use crate::liveness::Liveness;
use crate::reservations::Reservations;
use crate::search::{Budget, Scratch, Search};
use crate::value_locations::ValueLocations;
use crate::verify;
use kingpost_regalloc::meter::{HeapBytes, heap_bytes};
use kingpost_regalloc::{AllocError, Allocation, Allocator, Diagnostics, MachineEnv, Problem, RegClass};
use kingpost_regalloc_common::MAX_KEPT;
use kingpost_regalloc_common::order::LinearOrder;

/// The backtracking allocator. See the [crate documentation](crate).
#[derive(Default)]
pub struct Backtracking {
    order: LinearOrder,
    graph: BlockGraph,
    live: Liveness,
    reservations: Reservations,
    bundles: Bundles,
    interference: [Interference; 2],
    scratch: Scratch,
    locations: ValueLocations,
    output: Output,
    budget: Budget,
}

heap_bytes!(Backtracking { order, graph, live, reservations, bundles, interference, scratch, locations, output } without { budget });

impl Backtracking {
    /// Returns an allocator that searches for `steps` steps per operand and instruction, 256 by default. After
    /// that, bundles are split where no register is free, and evict no other bundles.
    pub fn with_budget(steps: u64) -> Backtracking {
        Backtracking { budget: Budget { any: 0, each: steps }, ..Backtracking::default() }
    }
}

impl Allocator for Backtracking {
    fn name(&self) -> &'static str {
        "backtracking"
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
        let Backtracking {
            order,
            graph,
            live,
            reservations,
            bundles,
            interference,
            scratch,
            locations,
            output,
            budget,
        } = self;

        let (meter, size) = (d.meter, problem.size());
        d.begin("liveness");
        meter.reserve(3 * size)?;
        order.build(problem)?;
        graph.build(problem, order);
        for class in RegClass::ALL {
            let is_used = problem.vregs.values().any(|data| data.class == class);
            let points = if is_used { order.stop().index() } else { 0 };
            interference[class.index()].reset(points, env.class(class).order.len());
        }
        Collect { problem, env, order, live, reservations, bundles, interference }.run()?;
        live.find_ranges(problem, order, meter)?;
        d.end("liveness", || verify::liveness(problem, live), |text| live.dump(problem, text))?;

        meter
            .grow(|| order.heap_bytes() + live.heap_bytes() + reservations.heap_bytes() + interference.heap_bytes())?;
        d.begin("bundles");
        let others = || order.heap_bytes() + live.heap_bytes() + reservations.heap_bytes() + interference.heap_bytes();
        bundles.build(problem, live, others, d)?;
        d.end("bundles", || verify::bundles(problem, live, bundles), |text| bundles.dump(text))?;

        d.begin("search");
        let paid = out.stats.steps;
        let mut search = Search {
            problem,
            env,
            order,
            graph,
            live,
            unused: reservations.registers.callee_saved,
            reservations,
            bundles,
            interference,
            s: scratch,
            stats: &mut out.stats,
            diagnostics: d,
            deferred_done: false,
            budget: *budget,
            is_by_cost: false,
            limit: 0,
            paid,
        };
        search.run()?;
        let unused = search.unused;
        d.end("search", || verify::search(problem, bundles), |text| bundles.dump(text))?;

        d.begin("locations");
        meter.reserve(2 * (bundles.segments.len() + problem.vregs.len()) as u64)?;
        interference.iter_mut().for_each(Interference::release);
        locations.build(problem, bundles);
        bundles.release();
        FillGaps { problem, order, live, reservations, interference, unused }.run(locations, d);
        d.end("locations", || verify::locations(problem, locations), |text| locations.dump(problem, text))?;

        d.begin("emit");
        meter.reserve(2 * size + 4 * locations.all_fragments().len() as u64)?;
        Emit { problem, env, order, live, reservations, bundles, interference, locations, s: output, out, meter }
            .run()?;
        d.end("emit", || Ok(()), |text| locations.dump_slots(problem, text))?;
        meter.grow(|| self.heap_bytes() + out.heap_bytes())?;
        if problem.num_insts() > MAX_KEPT {
            *self = Backtracking { budget: self.budget, ..Backtracking::default() };
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value_locations::Fragment;
    use kingpost_regalloc::{PReg, VReg, text};

    /// A value in two ranges, a value that overlaps it, and a value that is in memory across a call.
    const TEXT: &str = "env {
        int r0-r2
        }
        problem %f {
        v0, v1, v2: int 8
        b0:
        def v0
        def v1, use v0
        branch use v1 -> b1, b2
        b1:
        def v2
        clobbers {r0, r1, r2}
        use v2
        branch
        b2:
        branch use v0
        }";

    fn solved() -> (Problem, Backtracking) {
        let mut file = text::parse(TEXT).unwrap_or_else(|error| panic!("{error}"));
        let (problem, env) = (file.cases.remove(0).problem, file.env.expect("a machine"));
        let mut allocator = Backtracking::default();
        let mut diagnostics = Diagnostics::verified();
        let solved = allocator.allocate_with(&problem, &env, &mut Allocation::default(), &mut diagnostics);
        solved.expect("each phase is valid");
        (problem, allocator)
    }

    #[test]
    fn segments_out_of_order_are_a_fault() {
        let (problem, mut allocator) = solved();
        let set = allocator.bundles.spill_set(VReg::from_u32(0));
        let bundle = allocator.bundles.bundles.values().find(|data| Some(data.spill_set) == set).expect("it is live");
        assert_eq!(bundle.range().len(), 2);
        let first = bundle.range().start;
        allocator.bundles.segments.swap(first, first + 1);
        verify::bundles(&problem, &allocator.live, &allocator.bundles).expect_err("a fault");
    }

    #[test]
    fn two_bundles_in_one_register_are_a_fault() {
        let (problem, mut allocator) = solved();
        for data in allocator.bundles.bundles.values_mut() {
            data.reg = Some(PReg::int(0));
        }
        verify::search(&problem, &allocator.bundles).expect_err("a fault");
        for data in allocator.bundles.bundles.values_mut() {
            data.reg = Some(PReg::float(0));
        }
        verify::search(&problem, &allocator.bundles).expect_err("a fault");
    }

    #[test]
    fn fragments_that_overlap_are_a_fault() {
        let (problem, mut allocator) = solved();
        let first = allocator.locations.all_fragments()[0];
        allocator.locations.add(Fragment { reg: PReg::int(2), ..first });
        allocator.locations.sort();
        verify::locations(&problem, &allocator.locations).expect_err("a fault");
    }
}
