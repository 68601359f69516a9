//! Which free register a value takes.

use crate::coloring::{Coloring, Input};
use crate::liveness::LIVE_OUT;
use cranelift_entity::EntityRef;
use kingpost_regalloc::{Inst, PReg, PRegSet, RegClass, VReg};

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
    fn favourites(&self) -> [Option<PReg>; 3] {
        [self.home, self.wish, self.flows]
    }
}

/// The registers of a class, best first: runs of ascending numbers, so that the best of some is their least in a run.
#[derive(Default)]
pub(crate) struct Preference {
    runs: Vec<u64>,
}

impl Preference {
    pub(crate) fn set(&mut self, order: &[PReg]) {
        self.runs.clear();
        let mut last = None;
        for reg in order {
            match self.runs.last_mut() {
                Some(run) if last < Some(reg) => *run |= 1 << reg.enc(),
                _ => self.runs.push(1 << reg.enc()),
            }
            last = Some(reg);
        }
    }

    /// The best register of those in `mask`.
    #[inline]
    fn best(&self, class: RegClass, mask: u64) -> Option<PReg> {
        let members = self.runs.iter().map(|run| run & mask).find(|&members| members != 0)?;
        Some(PReg::new(class, members.trailing_zeros() as u8))
    }
}

impl Coloring {
    /// The best register in `free` for a value that is live up to the point `end` of this block, from `inst` on.
    pub(crate) fn pick(&self, input: &Input, vreg: VReg, inst: Inst, end: u32, free: PRegSet) -> Option<PReg> {
        let likes = self.likes(input, vreg, inst, end);
        self.choose(input, input.problem.class(vreg), &likes, free)
    }

    /// What a value would like that is live up to the point `end` of this block, from the instruction at hand on.
    #[inline(always)]
    pub(crate) fn likes(&self, input: &Input, vreg: VReg, inst: Inst, end: u32) -> Likes {
        let home = input.homes.home(vreg);
        let flows = if home.is_some() { None } else { self.flows(input, vreg) };
        let mut likes = Likes { home, flows, wish: None, bad: PRegSet::EMPTY };
        if self.obstacle_at <= self.bounds.1 {
            self.look_ahead(input, vreg, inst, end, &mut likes);
        }
        likes
    }

    /// Obstacles in the rest of the block.
    #[inline(never)]
    fn look_ahead(&self, input: &Input, vreg: VReg, inst: Inst, end: u32, likes: &mut Likes) {
        let last = if end == LIVE_OUT { u32::MAX } else { end.saturating_sub(1) / 2 };
        let pos = inst.as_u32() - self.bounds.0;
        let (mut bad, mut taken, mut wish) = (PRegSet::EMPTY, PRegSet::EMPTY, None);
        // Who is bound may be what the value flows into, behind its end.
        let bound = input.facts.wish(vreg).filter(|&(_, at)| at > inst.as_u32() && at <= self.bounds.1);
        let most = bound.map_or(last, |(_, at)| last.max(at - self.bounds.0));
        let obstacles = input.facts.obstacles.get(self.obstacle..).unwrap_or_default().iter();
        for obstacle in obstacles.take(LOOKAHEAD).take_while(|o| o.place == self.place && o.pos <= most) {
            if obstacle.pos <= pos {
                continue;
            }
            if let Some((reg, _)) = bound.filter(|&(_, at)| at == self.bounds.0 + obstacle.pos) {
                wish = Some(reg).filter(|&reg| !taken.contains(reg));
            }
            taken = taken.union(obstacle.early).union(obstacle.late);
            bad = if obstacle.pos <= last { bad.union(obstacle.early) } else { bad };
            bad = if obstacle.pos < last { bad.union(obstacle.late) } else { bad };
        }
        if let Some(reg) = wish {
            bad.remove(reg);
        }
        (likes.wish, likes.bad) = (wish, bad);
    }

    /// The home of what the value flows into.
    #[inline]
    fn flows(&self, input: &Input, vreg: VReg) -> Option<PReg> {
        let mut vreg = vreg;
        for _ in 0..FLOW_STEPS {
            vreg = input.facts.flows_into(vreg)?;
            if let Some(home) = input.homes.home(vreg) {
                return Some(home);
            }
        }
        None
    }

    /// The best register of a class among those in `free`.
    #[inline(always)]
    pub(crate) fn choose(&self, input: &Input, class: RegClass, likes: &Likes, free: PRegSet) -> Option<PReg> {
        let good = free.of_class(class).difference(likes.bad);
        for reg in likes.favourites().into_iter().flatten() {
            if good.contains(reg) {
                return Some(reg);
            }
        }
        let free = free.mask(class);
        let good = good.mask(class);
        let open = input.plan.open.mask(class);
        let worn = open & !(input.facts.callee_saved.mask(class) & !self.used.mask(class));
        let tries =
            [good & worn & !self.reserved.mask(class), good & worn, good & open, free & worn, free & open, free];
        let set = tries.into_iter().find(|&set| set != 0)?;
        self.preferences[class.index()].best(class, set)
    }

    /// How little a register suits a value.
    pub(crate) fn suits(&self, input: &Input, likes: &Likes, reg: PReg) -> i32 {
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
