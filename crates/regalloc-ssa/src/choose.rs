//! Which free register a value takes.

use crate::coloring::{Coloring, Input};
use crate::liveness::LIVE_OUT;
use cranelift_entity::EntityRef;
use kingpost_regalloc::{PReg, PRegSet, VReg};

/// Obstacles ahead that are looked at.
const LOOKAHEAD: usize = 8;
/// Steps from a value to what it flows into.
const FLOW_STEPS: usize = 10;

// How little a register suits a value: the higher, the less.
const TAKEN_LATER: i32 = 8;
const RESERVED: i32 = 3;
const FRESH_SAVED: i32 = 5;
const CLOSED: i32 = 40;
const HOME: i32 = -12;
const FLOWS: i32 = -8;
const WISH: i32 = -10;

/// What a value would like, found out once for all registers.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Likes {
    home: Option<PReg>,
    flows: Option<PReg>,
    wish: Option<PReg>,
    /// Registers that are taken from the value while it is in this block.
    bad: PRegSet,
}

impl Likes {
    /// What flows somewhere should be there, but for values that live on elsewhere.
    fn favourites(self) -> [Option<PReg>; 3] {
        [self.home, self.wish, self.flows]
    }
}

impl Coloring {
    /// What a value would like that is live up to the point `end` of this block, from the instruction at hand on.
    pub(crate) fn likes(&self, input: Input, vreg: VReg, pos: u32, end: u32) -> Likes {
        let last = if end == LIVE_OUT { u32::MAX } else { end.saturating_sub(1) / 2 };
        let mut bad = PRegSet::EMPTY;
        let obstacles = input.facts.obstacles.get(self.obstacle..).unwrap_or_default().iter();
        let home = input.homes.home(input.classes.class(vreg));
        let flows = if home.is_some() { None } else { self.flows(input, vreg) };
        let mut wish = None;
        if obstacles.clone().next().is_none_or(|obstacle| obstacle.place != self.place) {
            return Likes { home, flows, wish, bad };
        }
        let bound = input.facts.wish(vreg).filter(|&(_, at)| at > self.bounds.0 + pos && at <= self.bounds.1);
        for obstacle in obstacles.take(LOOKAHEAD).take_while(|o| o.place == self.place && o.pos <= last) {
            if obstacle.pos <= pos {
                continue;
            }
            if let Some((reg, _)) = bound.filter(|&(_, at)| at == self.bounds.0 + obstacle.pos) {
                wish = Some(reg).filter(|&reg| !bad.contains(reg));
            }
            bad = bad.union(obstacle.early);
            bad = if obstacle.pos < last { bad.union(obstacle.late) } else { bad };
        }
        if let Some(reg) = wish {
            bad.remove(reg);
        }
        Likes { home, flows, wish, bad }
    }

    /// The home of what the value flows into.
    fn flows(&self, input: Input, vreg: VReg) -> Option<PReg> {
        let mut vreg = vreg;
        for _ in 0..FLOW_STEPS {
            vreg = input.facts.flows_into(vreg)?;
            if let Some(home) = input.homes.home(input.classes.class(vreg)) {
                return Some(home);
            }
        }
        None
    }

    /// The best register among those in `free`.
    pub(crate) fn choose(&self, input: Input, vreg: VReg, likes: Likes, free: PRegSet) -> Option<PReg> {
        let class = input.problem.class(vreg);
        let free = free.of_class(class);
        let good = free.difference(likes.bad);
        for reg in likes.favourites().into_iter().flatten() {
            if good.contains(reg) {
                return Some(reg);
            }
        }
        let fresh = input.facts.callee_saved.difference(self.used);
        let open = input.plan.open;
        let best = good.intersection(open).difference(fresh);
        let tries = [best.difference(self.reserved), best, good.intersection(open)];
        let set = tries.into_iter().find(|set| !set.is_empty()).or_else(|| {
            let tries = [free.intersection(open).difference(fresh), free.intersection(open), free];
            tries.into_iter().find(|set| !set.is_empty())
        })?;
        input.env.class(class).order.iter().copied().find(|&reg| set.contains(reg))
    }

    /// How little a register suits a value.
    pub(crate) fn suits(&self, input: Input, likes: Likes, reg: PReg) -> i32 {
        let mut score = 0;
        score += if likes.bad.contains(reg) { TAKEN_LATER } else { 0 };
        score += if likes.home == Some(reg) { HOME } else { 0 };
        score += if likes.wish == Some(reg) { WISH } else { 0 };
        score += if likes.flows == Some(reg) { FLOWS } else { 0 };
        score += if self.reserved.contains(reg) { RESERVED } else { 0 };
        let fresh = input.facts.callee_saved.contains(reg) && !self.used.contains(reg);
        score += if fresh { FRESH_SAVED } else { 0 };
        score + if input.plan.open.contains(reg) { 0 } else { CLOSED }
    }

    /// The point in this block up to which a value is live that is in it already.
    pub(crate) fn known_end(&self, vreg: VReg) -> u32 {
        let next = self.values[vreg.index()].next;
        let len = self.bounds.1 - self.bounds.0 + 1;
        if next.distance >= len { LIVE_OUT } else { 1 + 2 * next.distance }
    }
}
