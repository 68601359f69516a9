//! What the search tells its observer.

use crate::live::Segment;
use crate::search::Search;
use kingpost_regalloc::{Event, Inst, Loc, PReg};

impl Search<'_, '_> {
    /// Tells the observer, if there is one, about each segment of a bundle.
    fn tell<'e>(&mut self, bundle: u32, event: impl Fn(&Segment, Inst, Inst) -> Event<'e>) {
        let Some(observer) = self.observer.as_deref_mut() else { return };
        for segment in self.bundles.segments(bundle) {
            let first = self.order.inst(self.problem, segment.from);
            let last = self.order.inst(self.problem, segment.to - 1);
            observer.event(event(segment, first, Inst::from_u32(last.as_u32() + 1)));
        }
    }

    pub(crate) fn tell_assigned(&mut self, bundle: u32, reg: PReg) {
        self.tell(bundle, |segment, from, to| Event::Assign { vreg: segment.vreg, loc: Loc::reg(reg), from, to });
    }

    pub(crate) fn tell_spilled(&mut self, bundle: u32) {
        self.tell(bundle, |segment, at, _| Event::Spill { vreg: segment.vreg, at });
    }

    pub(crate) fn tell_evicted(&mut self, bundle: u32, winner: u32) {
        if self.observer.is_some() {
            let winner = self.bundles.segments(winner)[0].vreg;
            self.tell(bundle, |segment, at, _| Event::Evict { vreg: segment.vreg, winner, at });
        }
    }

    pub(crate) fn tell_split(&mut self, bundle: u32, at: u32) {
        if self.observer.is_some() {
            let at = self.order.inst(self.problem, at);
            self.tell(bundle, |segment, _, _| Event::Split { vreg: segment.vreg, at });
        }
    }
}
