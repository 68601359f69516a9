//! Events of the search for its observer.

use crate::bundles::Bundle;
use crate::liveness::Segment;
use crate::search::Search;
use kingpost_regalloc::{Event, Inst, Loc, PReg};
use kingpost_regalloc_common::point::ProgPoint;

impl Search<'_, '_> {
    /// Reports an event for each segment of a bundle, if there is an observer.
    fn trace<'e>(&mut self, bundle: Bundle, event: impl Fn(&Segment, Inst, Inst) -> Event<'e>) {
        let Some(observer) = &mut self.diagnostics.observer else { return };
        for segment in self.bundles.segments(bundle) {
            let first = self.order.inst_at(segment.from.position());
            let last = self.order.inst_at(segment.to.prev().position());
            observer.event(event(segment, first, Inst::from_u32(last.as_u32() + 1)));
        }
    }

    pub(crate) fn trace_assign(&mut self, bundle: Bundle, reg: PReg) {
        self.trace(bundle, |segment, from, to| Event::Assign { vreg: segment.vreg, loc: Loc::reg(reg), from, to });
    }

    pub(crate) fn trace_spill(&mut self, bundle: Bundle) {
        self.trace(bundle, |segment, at, _| Event::Spill { vreg: segment.vreg, at });
    }

    pub(crate) fn trace_evict(&mut self, bundle: Bundle, winner: Bundle) {
        if self.diagnostics.observer.is_some() {
            let winner = self.bundles.segments(winner)[0].vreg;
            self.trace(bundle, |segment, at, _| Event::Evict { vreg: segment.vreg, winner, at });
        }
    }

    pub(crate) fn trace_split(&mut self, bundle: Bundle, at: ProgPoint) {
        if self.diagnostics.observer.is_some() {
            let at = self.order.inst_at(at.position());
            self.trace(bundle, |segment, _, _| Event::Split { vreg: segment.vreg, at });
        }
    }
}
