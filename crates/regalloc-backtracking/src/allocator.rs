//! The phases in order, and the memory they use again.

use crate::block_graph::BlockGraph;
use crate::bundles::Bundles;
use crate::collect::Collect;
use crate::emit::{Emit, Output};
use crate::fill_gaps::FillGaps;
use crate::interference::Interference;
use crate::liveness::Liveness;
use crate::reservations::Reservations;
use crate::search::{Scratch, Search};
use crate::value_locations::ValueLocations;
use crate::verify;
use kingpost_regalloc::{AllocError, Allocation, Allocator, Event, MachineEnv, Observer, Problem, RegClass};
use kingpost_regalloc_common::order::LinearOrder;

/// The allocator by backtracking. See the [crate documentation](crate).
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
}

impl Allocator for Backtracking {
    fn name(&self) -> &'static str {
        "backtracking"
    }

    fn allocate(&mut self, problem: &Problem, env: &MachineEnv, out: &mut Allocation) -> Result<(), AllocError> {
        self.run(problem, env, out, None, Verify::Nothing)
    }

    fn allocate_observed(
        &mut self,
        problem: &Problem,
        env: &MachineEnv,
        out: &mut Allocation,
        observer: &mut dyn Observer,
    ) -> Result<(), AllocError> {
        self.run(problem, env, out, Some(observer), Verify::Nothing)
    }

    fn allocate_verified(
        &mut self,
        problem: &Problem,
        env: &MachineEnv,
        out: &mut Allocation,
    ) -> Result<(), AllocError> {
        self.run(problem, env, out, None, Verify::EachPhase)
    }
}

/// What of its own work the allocator verifies.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verify {
    Nothing,
    EachPhase,
}

impl Backtracking {
    fn run(
        &mut self,
        problem: &Problem,
        env: &MachineEnv,
        out: &mut Allocation,
        mut observer: Option<&mut dyn Observer>,
        verify: Verify,
    ) -> Result<(), AllocError> {
        let verifies = verify == Verify::EachPhase;
        out.reset(problem);
        stage(&mut observer, "liveness");
        self.find_ranges(problem, env)?;
        let Backtracking { order, graph, live, reservations, bundles, interference, scratch, locations, output } = self;
        if verifies {
            verify::liveness(problem, live)?;
        }
        stage(&mut observer, "bundles");
        bundles.build(problem, live, observer.as_deref_mut());
        if verifies {
            verify::bundles(problem, live, bundles)?;
        }
        stage(&mut observer, "search");
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
            observer: observer.as_deref_mut(),
            is_settled: false,
            limit: 0,
        };
        search.run()?;
        let unused = search.unused;
        if verifies {
            verify::search(problem, bundles)?;
        }
        stage(&mut observer, "locations");
        locations.build(problem, bundles);
        FillGaps { problem, order, live, reservations, interference, unused }.run(locations, observer.as_deref_mut());
        if verifies {
            verify::locations(problem, locations)?;
        }
        stage(&mut observer, "emit");
        Emit { problem, env, order, live, reservations, bundles, interference, locations, s: output, out }.run()
    }

    fn find_ranges(&mut self, problem: &Problem, env: &MachineEnv) -> Result<(), AllocError> {
        let Backtracking { order, graph, live, reservations, bundles, interference, .. } = self;
        order.build(problem)?;
        graph.build(problem, order);
        for class in RegClass::ALL {
            let is_used = problem.vregs.values().any(|data| data.class == class);
            let points = if is_used { order.stop().index() } else { 0 };
            interference[class.index()].reset(points, env.class(class).order.len());
        }
        Collect { problem, env, order, live, reservations, bundles, interference }.run()?;
        live.find_ranges(problem, order, graph)
    }

    /// Returns what each phase made of the problem solved last, as text: the name of the phase, and lines.
    pub fn dump(&self, problem: &Problem) -> Vec<(&'static str, String)> {
        let text = |write: &dyn Fn(&mut String) -> std::fmt::Result| {
            let mut text = String::new();
            // Writing to a string cannot fail.
            let _ = write(&mut text);
            text
        };
        vec![
            ("liveness", text(&|out| self.live.dump(problem, out))),
            ("search", text(&|out| self.bundles.dump(out))),
            ("locations", text(&|out| self.locations.dump(problem, out))),
        ]
    }
}

fn stage(observer: &mut Option<&mut dyn Observer>, name: &str) {
    if let Some(observer) = observer.as_deref_mut() {
        observer.event(Event::Stage(name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value_locations::Fragment;
    use kingpost_regalloc::{PReg, VReg, text};

    /// A value in two ranges, one that overlaps it, and one that is in memory across a call.
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
        allocator.allocate_verified(&problem, &env, &mut Allocation::default()).expect("each phase is valid");
        (problem, allocator)
    }

    fn phase(result: Result<(), AllocError>) -> &'static str {
        match result {
            Err(AllocError::Phase { phase, .. }) => phase,
            other => panic!("{other:?} is no fault of a phase"),
        }
    }

    #[test]
    fn segments_out_of_order_are_a_fault() {
        let (problem, mut allocator) = solved();
        let set = allocator.bundles.spill_set(VReg::from_u32(0));
        let bundle = allocator.bundles.bundles.values().find(|data| Some(data.spill_set) == set).expect("it is live");
        assert_eq!(bundle.range().len(), 2);
        let first = bundle.range().start;
        allocator.bundles.segments.swap(first, first + 1);
        assert_eq!(phase(verify::bundles(&problem, &allocator.live, &allocator.bundles)), "bundles");
    }

    #[test]
    fn two_bundles_in_one_register_are_a_fault() {
        let (problem, mut allocator) = solved();
        for data in allocator.bundles.bundles.values_mut() {
            data.reg = Some(PReg::int(0));
        }
        assert_eq!(phase(verify::search(&problem, &allocator.bundles)), "search");
        for data in allocator.bundles.bundles.values_mut() {
            data.reg = Some(PReg::float(0));
        }
        assert_eq!(phase(verify::search(&problem, &allocator.bundles)), "search");
    }

    #[test]
    fn fragments_that_overlap_are_a_fault() {
        let (problem, mut allocator) = solved();
        let first = allocator.locations.all_fragments()[0];
        allocator.locations.add(Fragment { reg: PReg::int(2), ..first });
        allocator.locations.sort();
        assert_eq!(phase(verify::locations(&problem, &allocator.locations)), "locations");
    }
}
