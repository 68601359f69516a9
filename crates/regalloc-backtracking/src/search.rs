//! The queue of bundles: each gets a free register, or that of lighter bundles, or is split.
//!
//! A callee-saved register that nothing uses yet is opened for a bundle that is worth a save and a restore by itself. The
//! others wait until the end: then they share one if together they are worth it.

use crate::bundles::{Bundle, Bundles};
use crate::live::{Liveness, Segment};
use crate::machine::{Machine, reserved};
use crate::occupancy::Occupancy;
use crate::order::Order;
use crate::queue::Queue;
use crate::regions::Regions;
use crate::split::Window;
use crate::wants::{MINIMAL, UNKNOWN, Worth};
use kingpost_regalloc::{AllocError, Freq, MachineEnv, Observer, Problem, RegClass, Stats};

/// More bundles in the way than this are not evicted.
const MAX_EVICTED: usize = 16;

/// Bundles that may be asked whether they can move to another register.
const MAX_RELOCATIONS: u32 = 4;

/// Steps before bundles are no longer evicted: for any problem, and for each of its operands and instructions.
const STEPS: (u64, u64) = (4096, 256);

/// Set in the lengths of bundles that live over walls.
const CROSSING: u32 = 1 << 31;

/// How many bundles may wait for a callee-saved register that they can share.
const MAX_WAITING: usize = 4096;

/// Scratch memory of the search.
#[derive(Default)]
pub(crate) struct Scratch {
    queue: Queue,
    rivals: Vec<u32>,
    best: Vec<u32>,
    pub(crate) pieces: Vec<Segment>,
    pub(crate) cuts: Vec<(u32, u32)>,
    evicted: Vec<u32>,
    pub(crate) windows: Vec<Window>,
    pub(crate) regions: Regions,
    /// Bundles that no register is free for but a callee-saved one, and what that would be worth.
    waiting: Vec<(u64, u32)>,
}

pub(crate) struct Search<'a, 'o> {
    pub(crate) problem: &'a Problem,
    pub(crate) env: &'a MachineEnv,
    pub(crate) order: &'a Order,
    pub(crate) live: &'a Liveness,
    pub(crate) machine: &'a mut Machine,
    pub(crate) bundles: &'a mut Bundles,
    pub(crate) occupancy: &'a mut [Occupancy; 2],
    pub(crate) s: &'a mut Scratch,
    pub(crate) stats: &'a mut Stats,
    pub(crate) observer: Option<&'a mut (dyn Observer + 'o)>,
    /// By class, the callee-saved registers not used so far.
    pub(crate) unused: [u64; 2],
    /// Are all callee-saved registers open that are worth it?
    pub(crate) is_settled: bool,
    pub(crate) limit: u64,
}

impl Search<'_, '_> {
    pub(crate) fn run(&mut self) -> Result<(), AllocError> {
        let size = self.problem.num_operands() + self.problem.num_insts() + self.bundles.segments.len();
        self.limit = STEPS.0 + STEPS.1 * size as u64;
        self.s.queue.clear();
        self.s.waiting.clear();
        let first = self.bundles.bundles.len() as u32;
        for bundle in 0..first {
            if !self.live.is_in_memory(self.bundles.segments(bundle)[0].vreg) {
                let length = self.length(bundle);
                self.s.queue.add(length, bundle);
            }
        }
        self.s.queue.sort();
        for bundle in 0..first {
            if self.live.is_in_memory(self.bundles.segments(bundle)[0].vreg) {
                self.shatter(bundle);
            }
        }
        loop {
            if !self.is_settled && self.s.queue.longest().is_none_or(|length| length < CROSSING) {
                self.settle()?;
            }
            let Some((length, bundle)) = self.s.queue.pop() else { break };
            self.process(bundle, length >= CROSSING)?;
        }
        Ok(())
    }

    /// Opens callee-saved registers once all bundles that live over walls had their turn.
    fn settle(&mut self) -> Result<(), AllocError> {
        for class in RegClass::ALL {
            self.open_shared(class.index());
        }
        self.is_settled = true;
        while let Some((_, bundle)) = self.s.waiting.pop() {
            self.process(bundle, true)?;
        }
        Ok(())
    }

    fn enqueue(&mut self, bundle: u32) {
        let length = self.length(bundle);
        self.s.queue.push(length, bundle);
    }

    /// The length of a bundle, with a mark on those that live over walls: they come first.
    fn length(&self, bundle: u32) -> u32 {
        let segments = self.bundles.segments(bundle);
        let length = segments.iter().fold(0u32, |sum, s| sum.saturating_add(s.to - s.from)).min(CROSSING - 1);
        let crosses = segments.iter().any(|s| self.machine.has_wall(s.from, s.to));
        length | if crosses { CROSSING } else { 0 }
    }

    /// Adds a part of `parent` with the segments in [`Scratch::pieces`].
    pub(crate) fn add_part(&mut self, parent: u32) {
        let Bundle { family, cuts, .. } = self.bundles.bundles[parent as usize];
        let start = self.bundles.segments.len() as u32;
        self.bundles.segments.extend_from_slice(&self.s.pieces);
        let end = self.bundles.segments.len() as u32;
        let part = Bundle { start, end, family, cuts: cuts + 1, weight: 0, crosses: false, reg: None };
        self.bundles.bundles.push(part);
        self.stats.splits += 1;
        self.enqueue(self.bundles.bundles.len() as u32 - 1);
    }

    pub(crate) fn is_exhausted(&self) -> bool {
        self.stats.steps > self.limit
    }

    fn process(&mut self, bundle: u32, crosses: bool) -> Result<(), AllocError> {
        self.stats.steps += 1;
        let w = self.wants(bundle, crosses);
        if self.is_worthless(bundle, &w) {
            self.tell_spilled(bundle);
            return Ok(());
        }
        let data = &mut self.bundles.bundles[bundle as usize];
        (data.weight, data.crosses) = (UNKNOWN, w.crosses);
        let class = w.class.index();
        let unused = self.unused[class];
        let mut free = self.free(bundle, class, w.allowed);
        let mut hints = w.hints;
        let family = self.bundles.bundles[bundle as usize].family as usize;
        if let Some(reg) = self.bundles.families[family].hint {
            hints.add(self.machine.registers.number(reg), 1);
        }
        // Its own operands do not keep a bundle from a register.
        let blocked = w.allowed & !free & w.hints.mask();
        if blocked != 0 {
            let vacant = self.vacant(bundle, class, blocked);
            free |= self.own(bundle, vacant);
        }
        if let Some(register) = hints.best(free & !unused) {
            self.assign(bundle, w.class, register);
            return Ok(());
        }
        let Worth { price, refill, weight, steps } = self.worth(bundle, w.crosses);
        self.stats.steps += steps;
        self.bundles.bundles[bundle as usize].weight = weight;
        if let Some(register) = hints.best(free & unused) {
            let worth = if w.crosses { refill } else { price / 2 };
            if worth > self.save_price() {
                self.assign(bundle, w.class, register);
                return Ok(());
            }
            if !self.is_settled && w.crosses && worth > 0 && self.s.waiting.len() < MAX_WAITING {
                self.s.waiting.push((worth, bundle));
                return Ok(());
            }
        }
        let fixed = self.fixed(bundle, class, w.allowed);
        let candidates = w.allowed & (!fixed | self.own(bundle, fixed & blocked)) & !unused;
        let is_choosy = w.allowed != self.machine.registers.all[class];
        if let Some(register) = self.make_room(bundle, class, if is_choosy { candidates } else { 0 }, price) {
            self.assign(bundle, w.class, register);
            return Ok(());
        }
        if let Some(register) = self.lighter(bundle, class, candidates, weight) {
            self.evict_best(bundle);
            self.assign(bundle, w.class, register);
            return Ok(());
        }
        if w.is_minimal {
            let Some(register) = hints.best(free) else { return self.force(bundle) };
            self.assign(bundle, w.class, register);
            return Ok(());
        }
        self.split(bundle, &w);
        Ok(())
    }

    fn save_price(&self) -> u64 {
        u64::from(self.env.costs.callee_saved) * Freq::ENTRY.0
    }

    /// The registers of a set in which nothing is where the bundle lives.
    fn free(&mut self, bundle: u32, class: usize, set: u64) -> u64 {
        let occupancy = &self.occupancy[class];
        let mut free = set;
        for segment in self.bundles.segments(bundle) {
            self.stats.steps += 1;
            free &= !occupancy.taken(segment.from, segment.to);
            if free == 0 {
                break;
            }
        }
        free
    }

    /// The registers of a set that instructions take for themselves where the bundle lives.
    fn fixed(&mut self, bundle: u32, class: usize, set: u64) -> u64 {
        let occupancy = &self.occupancy[class];
        let mut fixed = 0;
        for segment in self.bundles.segments(bundle) {
            self.stats.steps += 1;
            fixed |= occupancy.fixed(segment.from, segment.to);
            if set & !fixed == 0 {
                break;
            }
        }
        set & fixed
    }

    /// The registers of a set without tenants where the bundle lives.
    fn vacant(&mut self, bundle: u32, class: usize, set: u64) -> u64 {
        let mut rest = set;
        let mut vacant = set;
        while rest != 0 {
            let register = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            if self.rivals(bundle, class, register, MINIMAL, 0).is_none() {
                vacant &= !(1 << register);
            }
        }
        vacant
    }

    /// The registers of a set that only the bundle's own operands take.
    fn own(&mut self, bundle: u32, set: u64) -> u64 {
        let mut own = set;
        let mut rest = set;
        while rest != 0 {
            let register = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            if !self.is_own(bundle, register) {
                own &= !(1 << register);
            }
        }
        own
    }

    fn is_own(&mut self, bundle: u32, register: usize) -> bool {
        for &segment in self.bundles.segments(bundle) {
            let class = self.problem.class(segment.vreg);
            let reg = Some(self.machine.registers.reg(class, register));
            let is_fixed =
                |from: u32, to: u32| from < to && self.occupancy[class.index()].fixed(from, to) >> register & 1 != 0;
            let mut from = segment.from;
            for u in self.live.uses_at(segment.uses()) {
                self.stats.steps += 1;
                if u.operand == crate::order::NONE || self.machine.fixed(u.operand as usize) != reg {
                    continue;
                }
                let points = reserved(self.problem.all_operands()[u.operand as usize], u.point / 4 * 4);
                if is_fixed(from, points.start.min(segment.to)) {
                    return false;
                }
                from = from.max(points.end);
            }
            if is_fixed(from, segment.to) {
                return false;
            }
        }
        true
    }

    /// Moves the only bundle in the way in some register to another one that is free.
    fn make_room(&mut self, bundle: u32, class: usize, mut set: u64, price: u64) -> Option<usize> {
        let mut tries = if self.is_exhausted() { 0 } else { MAX_RELOCATIONS };
        while set != 0 && tries > 0 {
            let register = set.trailing_zeros() as usize;
            set &= set - 1;
            if self.rivals(bundle, class, register, MINIMAL, 1).is_none() {
                continue;
            }
            let &[rival] = self.s.rivals.as_slice() else { continue };
            tries -= 1;
            let crosses = self.length(rival) >= CROSSING;
            let w = self.wants(rival, crosses);
            let free = self.free(rival, class, w.allowed & !self.unused[class]);
            if let Some(other) = w.hints.best(free).filter(|_| w.hints.worth(register) <= price) {
                self.take_back(rival);
                self.assign(rival, w.class, other);
                return Some(register);
            }
        }
        None
    }

    /// The register of a set that holds the lightest bundles in the way, if all are lighter than `weight`; those are
    /// then in [`Scratch::best`].
    fn lighter(&mut self, bundle: u32, class: usize, mut set: u64, weight: u64) -> Option<usize> {
        if weight == 0 || self.is_exhausted() && weight != MINIMAL {
            return None;
        }
        let (mut lightest, mut best) = (weight, None);
        while set != 0 {
            let register = set.trailing_zeros() as usize;
            set &= set - 1;
            if let Some(heaviest) = self.rivals(bundle, class, register, lightest, MAX_EVICTED) {
                (lightest, best) = (heaviest, Some(register));
                std::mem::swap(&mut self.s.rivals, &mut self.s.best);
            }
        }
        best
    }

    /// Lists who is in the way in `register`, and gives the weight of the heaviest, if that is below `limit` and they are
    /// not more than `most`.
    fn rivals(&mut self, bundle: u32, class: usize, register: usize, limit: u64, most: usize) -> Option<u64> {
        self.s.rivals.clear();
        let mut heaviest = 0;
        self.occupancy[class].settle(register);
        let Bundle { start, end, .. } = self.bundles.bundles[bundle as usize];
        for i in start..end {
            let segment = self.bundles.segments[i as usize];
            self.stats.steps += 1;
            for tenant in self.occupancy[class].tenants(register, segment.from, segment.to) {
                self.stats.steps += 1;
                let Bundle { mut weight, crosses, .. } = self.bundles.bundles[tenant.bundle as usize];
                if weight == UNKNOWN {
                    let worth = self.worth(tenant.bundle, crosses);
                    weight = worth.weight;
                    self.stats.steps += worth.steps;
                    self.bundles.bundles[tenant.bundle as usize].weight = weight;
                }
                heaviest = weight.max(heaviest);
                if !self.s.rivals.contains(&tenant.bundle) {
                    self.s.rivals.push(tenant.bundle);
                }
                if heaviest >= limit || self.s.rivals.len() > most {
                    return None;
                }
            }
        }
        Some(heaviest)
    }

    fn evict_best(&mut self, winner: u32) {
        let mut evicted = std::mem::take(&mut self.s.best);
        evicted.drain(..).for_each(|rival| self.evict(rival, winner));
        self.s.best = evicted;
    }

    fn assign(&mut self, bundle: u32, class: RegClass, register: usize) {
        let Bundle { family, start, end, .. } = self.bundles.bundles[bundle as usize];
        let reg = self.machine.registers.reg(class, register);
        for segment in &self.bundles.segments[start as usize..end as usize] {
            self.occupancy[class.index()].insert(register, segment, bundle);
        }
        self.bundles.bundles[bundle as usize].reg = Some(reg);
        self.bundles.families[family as usize].hint = Some(reg);
        self.unused[class.index()] &= !(1 << register);
        self.tell_assigned(bundle, reg);
    }

    fn evict(&mut self, bundle: u32, winner: u32) {
        if self.take_back(bundle) {
            self.stats.evictions += 1;
            self.tell_evicted(bundle, winner);
            self.enqueue(bundle);
        }
    }

    /// Takes the register of a bundle away; false if it has none.
    fn take_back(&mut self, bundle: u32) -> bool {
        let Bundle { start, end, reg, .. } = self.bundles.bundles[bundle as usize];
        let Some(reg) = reg else { return false };
        let register = self.machine.registers.number(reg);
        for segment in &self.bundles.segments[start as usize..end as usize] {
            self.occupancy[reg.class().index()].remove(register, segment);
        }
        self.bundles.bundles[bundle as usize].reg = None;
        true
    }

    /// Solves the instruction of a minimal bundle by itself.
    fn force(&mut self, bundle: u32) -> Result<(), AllocError> {
        let point = self.bundles.segments(bundle)[0].from;
        let inst = self.order.inst(self.problem, point);
        debug_assert!(!self.machine.is_forced(inst), "the operands of {inst} are fixed");
        let mut evicted = std::mem::take(&mut self.s.evicted);
        let occupancy = &mut *self.occupancy;
        let live = self.live;
        let result = self.machine.force(
            self.problem,
            self.env,
            inst,
            point / 4 * 4,
            |vreg| live.edge_of(vreg),
            |class, register, points| {
                occupancy[class].fix_later(points.start, points.end, register);
                occupancy[class].settle(register);
                evicted.extend(occupancy[class].tenants(register, points.start, points.end).map(|t| t.bundle));
            },
        );
        self.stats.steps += self.problem.operands(inst).len() as u64;
        evicted.drain(..).for_each(|rival| self.evict(rival, bundle));
        self.s.evicted = evicted;
        self.enqueue(bundle);
        result
    }

    /// Opens callee-saved registers that several waiting bundles together are worth.
    fn open_shared(&mut self, class: usize) {
        let mut waiting = std::mem::take(&mut self.s.waiting);
        waiting.sort_unstable_by_key(|&(worth, bundle)| (std::cmp::Reverse(worth), bundle));
        while self.unused[class] != 0 {
            let left = waiting.iter().filter(|&&(_, bundle)| self.bundles.bundles[bundle as usize].reg.is_none());
            if left.fold(0u64, |sum, &(worth, _)| sum.saturating_add(worth)) <= self.save_price() {
                break;
            }
            let register = self.unused[class].trailing_zeros() as usize;
            let before = self.unused[class];
            let mut total = 0u64;
            for &(worth, bundle) in &waiting {
                if self.bundles.bundles[bundle as usize].reg.is_some() {
                    continue;
                }
                let w = self.wants(bundle, true);
                if w.class.index() == class && self.free(bundle, class, w.allowed & 1 << register) != 0 {
                    self.assign(bundle, w.class, register);
                    total = total.saturating_add(worth);
                    self.s.evicted.push(bundle);
                }
            }
            let mut fitting = std::mem::take(&mut self.s.evicted);
            let is_worth_it = total > self.save_price();
            if !is_worth_it {
                fitting.iter().for_each(|&bundle| _ = self.take_back(bundle));
                self.unused[class] = before;
            }
            fitting.clear();
            self.s.evicted = fitting;
            if !is_worth_it {
                break;
            }
        }
        waiting.retain(|&(_, bundle)| self.bundles.bundles[bundle as usize].reg.is_none());
        self.s.waiting = waiting;
    }
}
