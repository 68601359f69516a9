//! The search: each bundle of the queue is assigned a free register or the register of lighter bundles, or it is
//! split.
//!
//! ```text
//! bundle0 w=9 -> r1 free                       assigned
//! bundle1 w=4 -> r1 has bundle0                split: bundle2, bundle3 join the queue
//! bundle2 w=20 (minimal) -> r1 has bundle0     bundle0 is evicted and joins the queue
//! ```
//!
//! An unused callee-saved register is opened for a bundle whose benefit exceeds a save and a restore. The other
//! bundles wait until the end: then they share such a register if their total benefit exceeds the cost.
//!
//! Cost: a step per segment, use and interfering bundle examined; a budget of steps bounds evictions and splits.

use crate::block_graph::BlockGraph;
use crate::bundles::{Bundle, BundleData, Bundles, Weight};
use crate::interference::{Assigned, Interference, Taken};
use crate::liveness::{Liveness, Segment};
use crate::queue::{Priority, Queue};
use crate::region_split::RegionSplit;
use crate::reservations::{Reservations, each_point, reserved_points};
use crate::spill_weights::{Requirements, SpillCost};
use crate::split::Window;
use kingpost_regalloc::meter::{HeapBytes, heap_bytes};
use kingpost_regalloc::sort::sort_by_key;
use kingpost_regalloc::{AllocError, Diagnostics, Freq, MachineEnv, PReg, Problem, RegClass, Stats};
use kingpost_regalloc_common::order::LinearOrder;
use kingpost_regalloc_common::point::PointRange;
use kingpost_regalloc_common::preference::{Reg, regs};
use std::num::NonZeroU32;

/// Largest number of interfering bundles that are evicted.
const MAX_EVICTED: usize = 16;

/// Number of bundles that may be tried in another register.
const MAX_RELOCATIONS: u32 = 4;

/// Number of segments and uses beyond which a bundle is not tried in another register, and its requirements are
/// kept: a bundle that crosses many short ones would be examined for each of them.
const MANY: usize = 64;

/// Steps before bundles are no longer evicted: for any problem, and for each of its operands and instructions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Budget {
    pub(crate) any: u64,
    pub(crate) each: u64,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { any: 4096, each: 256 }
    }
}

/// Largest number of bundles that may wait for a shared callee-saved register.
const MAX_WAITING: usize = 4096;

/// Scratch memory of the search.
#[derive(Default)]
pub(crate) struct Scratch {
    queue: Queue,
    pub(crate) interfering: Vec<Bundle>,
    /// By register: the segment that was in the way of a bundle last.
    blockers: Vec<Option<Assigned>>,
    pub(crate) best: Vec<Bundle>,
    /// Segments of the next part of a bundle.
    pub(crate) part: Vec<Segment>,
    pub(crate) cuts: Vec<PointRange>,
    evicted: Vec<Bundle>,
    pub(crate) windows: Vec<Window>,
    pub(crate) region_split: RegionSplit,
    /// Bundles for which only a callee-saved register is free, with its benefit.
    waiting: Vec<(u64, Bundle)>,
    /// Requirements of bundles with many segments or uses, by [`BundleData::kept`].
    kept: Vec<Requirements>,
}

heap_bytes!(Scratch { queue, interfering, blockers, best, part, cuts, evicted, windows, region_split, waiting, kept });

/// The state of the search.
pub(crate) struct Search<'a, 'o> {
    pub(crate) problem: &'a Problem,
    pub(crate) env: &'a MachineEnv,
    pub(crate) order: &'a LinearOrder,
    pub(crate) graph: &'a BlockGraph,
    pub(crate) live: &'a Liveness,
    pub(crate) reservations: &'a mut Reservations,
    pub(crate) bundles: &'a mut Bundles,
    pub(crate) interference: &'a mut [Interference; 2],
    pub(crate) s: &'a mut Scratch,
    pub(crate) stats: &'a mut Stats,
    pub(crate) diagnostics: &'a mut Diagnostics<'o>,
    /// By class, the callee-saved registers not used so far.
    pub(crate) unused: [u64; 2],
    /// Whether all callee-saved registers whose benefit exceeds their cost are open.
    pub(crate) deferred_done: bool,
    pub(crate) budget: Budget,
    /// Steps that the meter has counted.
    pub(crate) paid: u64,
    /// Whether the search has ended, and the queue is in the order of costs.
    pub(crate) is_by_cost: bool,
    /// Steps before bundles are no longer evicted.
    pub(crate) limit: u64,
}

impl Search<'_, '_> {
    /// Assigns registers to bundles until the queue is empty.
    ///
    /// # Errors
    /// If there are no registers for the operands of an instruction.
    pub(crate) fn run(&mut self) -> Result<(), AllocError> {
        let size = self.problem.num_operands() + self.problem.num_insts() + self.bundles.segments.len();
        self.limit = self.budget.any + self.budget.each * size as u64;
        self.s.kept.clear();
        self.s.queue.clear();
        self.s.waiting.clear();
        self.s.blockers.clear();
        self.s.blockers.resize(PReg::COUNT, None);
        let meter = self.diagnostics.meter;
        meter.reserve((self.bundles.bundles.len() + self.bundles.segments.len()) as u64)?;
        let first = (0..self.bundles.bundles.len() as u32).map(Bundle::from_u32);
        for bundle in first.clone() {
            if !self.is_memory_only(bundle) {
                let priority = self.priority(bundle);
                self.s.queue.add(priority, bundle);
            }
        }
        self.s.queue.sort();
        for bundle in first {
            if self.is_memory_only(bundle) {
                meter.spend_batch(self.stats.steps, &mut self.paid)?;
                self.split_to_minimal(bundle);
                self.bundles.retire(bundle);
            }
        }
        loop {
            if !self.deferred_done && self.s.queue.next_priority().is_none_or(|priority| !priority.crosses_calls()) {
                self.assign_deferred()?;
            }
            let Some((priority, bundle)) = self.s.queue.pop() else { break };
            if self.is_exhausted() && !self.is_by_cost {
                self.order_by_cost(bundle);
            } else {
                self.process(bundle, priority.crosses_calls())?;
            }
        }
        self.s.queue.release();
        Ok(meter.spend_rest(self.stats.steps, &mut self.paid)?)
    }

    /// Puts a bundle back, and orders the queue by memory cost per point. No bundle is evicted from then on.
    fn order_by_cost(&mut self, bundle: Bundle) {
        self.is_by_cost = true;
        let mut rest = std::mem::take(&mut self.s.evicted);
        rest.push(bundle);
        while let Some((_, bundle)) = self.s.queue.pop() {
            rest.push(bundle);
        }
        rest.drain(..).for_each(|bundle| self.enqueue(bundle));
        self.s.evicted = rest;
    }

    fn is_memory_only(&self, bundle: Bundle) -> bool {
        self.live.is_memory_only(self.bundles.segments(bundle)[0].vreg)
    }

    /// Opens callee-saved registers after all bundles that are live across calls have been tried.
    fn assign_deferred(&mut self) -> Result<(), AllocError> {
        for class in RegClass::ALL {
            self.open_shared(class.index());
        }
        self.deferred_done = true;
        while let Some((_, bundle)) = self.s.waiting.pop() {
            self.process(bundle, true)?;
        }
        Ok(())
    }

    fn enqueue(&mut self, bundle: Bundle) {
        let priority = self.priority(bundle);
        self.s.queue.push(priority, bundle);
    }

    pub(crate) fn priority(&self, bundle: Bundle) -> Priority {
        let segments = self.bundles.segments(bundle);
        let crosses_calls = segments.iter().any(|s| self.reservations.crosses_call(s.range()));
        if self.is_by_cost {
            return Priority::by_cost(self.spill_cost(bundle, crosses_calls).density, crosses_calls);
        }
        let points = segments.iter().fold(0u32, |sum, s| sum.saturating_add(s.to.since(s.from)));
        Priority::new(points, crosses_calls)
    }

    /// Adds a part of `parent` with the segments in [`Scratch::part`] to the queue.
    pub(crate) fn add_part(&mut self, parent: Bundle) {
        let part = self.bundles.add_part(parent, &self.s.part);
        self.stats.splits += 1;
        self.enqueue(part);
    }

    /// Adds a part of `parent` with the segments in [`Scratch::part`] that is in a register.
    pub(crate) fn assign_part(&mut self, parent: Bundle, reg: Reg) {
        self.stats.steps += 1 + self.s.part.len() as u64;
        let part = self.bundles.add_part(parent, &self.s.part);
        self.stats.splits += 1;
        let crosses_calls = self.priority(part).crosses_calls();
        self.bundles.bundles[part].set_crosses_calls(crosses_calls);
        self.assign(part, reg);
    }

    /// Returns `true` if the step budget is exhausted.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.stats.steps > self.limit
    }

    /// Counts the steps so far on the meter, if they are many.
    #[inline]
    fn pay(&mut self) -> Result<(), AllocError> {
        let bytes = || self.bundles.heap_bytes() + self.interference.heap_bytes() + self.live.heap_bytes();
        Ok(self.diagnostics.meter.spend_growing(self.stats.steps, &mut self.paid, bytes)?)
    }

    fn process(&mut self, bundle: Bundle, crosses_calls: bool) -> Result<(), AllocError> {
        self.pay()?;
        self.stats.steps += 1;
        let r = self.kept_requirements(bundle, crosses_calls);
        if self.is_free_in_memory(bundle, &r) {
            self.trace_spill(bundle);
            return Ok(());
        }
        let data = &mut self.bundles.bundles[bundle];
        data.set_crosses_calls(r.crosses_calls);
        if self.reservations.has_matched && data.kept.is_none() {
            data.weight = Weight::UNKNOWN;
        }
        let mut hints = r.hints;
        if let Some(reg) = self.bundles.hints[data.spill_set] {
            hints.add(self.reservations.registers.reg(reg), 1);
        }
        let class = r.class.index();
        let taken = self.taken(bundle, class, r.allowed);
        let mut free = r.allowed & !taken.any;
        // A bundle's own operands do not exclude it from a register.
        let blocked = r.allowed & taken.reserved & r.hints.mask();
        if blocked != 0 {
            let vacant = self.vacant(bundle, class, blocked);
            free |= self.own(bundle, class, vacant);
        }
        if let Some(reg) = hints.best(free & !self.unused[class]) {
            self.assign(bundle, reg);
            return Ok(());
        }
        if let Some(reg) = hints.best(free & self.unused[class])
            && self.open_or_wait(bundle, reg, r.crosses_calls)
        {
            return Ok(());
        }
        let reg = self.take_from_others(bundle, &r, r.allowed & taken.reserved);
        let reg = reg.or_else(|| self.spill_regions(bundle, &r, taken.reserved));
        match reg.or_else(|| if r.is_minimal { hints.best(free) } else { None }) {
            Some(reg) => self.assign(bundle, reg),
            None if r.is_minimal => return self.match_instruction(bundle),
            None => {
                self.pay()?;
                self.split(bundle, &r);
                self.bundles.retire(bundle);
            }
        }
        Ok(())
    }

    /// Returns the requirements of a bundle. For a bundle with many segments or uses they are computed once,
    /// because a matching only relaxes them.
    fn kept_requirements(&mut self, bundle: Bundle, crosses_calls: bool) -> Requirements {
        if let Some(kept) = self.bundles.bundles[bundle].kept {
            return self.s.kept[kept.get() as usize - 1];
        }
        let r = self.requirements(bundle, crosses_calls);
        if !self.is_short(bundle) {
            self.s.kept.push(r);
            self.bundles.bundles[bundle].kept = NonZeroU32::new(self.s.kept.len() as u32);
        }
        r
    }

    /// Assigns an unused callee-saved register if the benefit exceeds its cost, or lets the bundle wait for other
    /// bundles to share it. Returns `false` if neither applies.
    fn open_or_wait(&mut self, bundle: Bundle, reg: Reg, crosses_calls: bool) -> bool {
        let cost = self.cost(bundle);
        let benefit = if crosses_calls { cost.across_calls } else { cost.everywhere / 2 };
        if benefit > self.save_cost() {
            self.assign(bundle, reg);
            return true;
        }
        let waits = !self.deferred_done && crosses_calls && benefit > 0 && self.s.waiting.len() < MAX_WAITING;
        if waits {
            self.s.waiting.push((benefit, bundle));
        }
        waits
    }

    /// Frees a register by moving or evicting other bundles. `reserved` are the registers that instructions
    /// reserve, perhaps for the bundle's own operands.
    fn take_from_others(&mut self, bundle: Bundle, r: &Requirements, reserved: u64) -> Option<Reg> {
        let class = r.class.index();
        let own = self.own(bundle, class, reserved & r.hints.mask());
        let candidates = r.allowed & (!reserved | own) & !self.unused[class];
        // If any register is allowed, the search below also finds a lighter bundle.
        let is_restricted = r.allowed != self.reservations.registers.allocatable[class];
        let reg = if is_restricted { self.relocate(bundle, class, candidates) } else { None };
        reg.or_else(|| self.evict_lighter(bundle, class, candidates))
    }

    /// Returns the memory cost of a bundle, and records its weight.
    pub(crate) fn cost(&mut self, bundle: Bundle) -> SpillCost {
        let cost = self.spill_cost(bundle, self.bundles.bundles[bundle].crosses_calls());
        self.stats.steps += cost.steps;
        self.bundles.bundles[bundle].weight = cost.weight;
        cost
    }

    /// Returns the weight of a bundle that was processed before.
    fn weight(&mut self, bundle: Bundle) -> Weight {
        match self.bundles.bundles[bundle].weight {
            Weight::UNKNOWN => self.cost(bundle).weight,
            weight => weight,
        }
    }

    /// Returns the cost of one callee-saved register.
    fn save_cost(&self) -> u64 {
        u64::from(self.env.costs.callee_saved) * Freq::ENTRY.0
    }
}

/// Interference of one bundle.
impl Search<'_, '_> {
    /// Returns the registers of a set that are free at all points of the bundle.
    fn free(&mut self, bundle: Bundle, class: usize, set: u64) -> u64 {
        let interference = &self.interference[class];
        let mut free = set;
        for segment in self.bundles.segments(bundle) {
            self.stats.steps += 1;
            free &= !interference.taken(segment.range());
            if free == 0 {
                break;
            }
        }
        free
    }

    /// Returns the registers taken at the bundle's points. Stops early if all registers of the set are reserved.
    fn taken(&mut self, bundle: Bundle, class: usize, set: u64) -> Taken {
        let interference = &self.interference[class];
        let mut taken = Taken::default();
        for segment in self.bundles.segments(bundle) {
            self.stats.steps += 1;
            taken = taken.union(interference.taken_and_reserved(segment.range()));
            if set & !taken.reserved == 0 {
                break;
            }
        }
        taken
    }

    /// Returns the registers of a set that no other bundle has at the bundle's points.
    fn vacant(&mut self, bundle: Bundle, class: usize, set: u64) -> u64 {
        let vacant = regs(class, set).filter(|&reg| self.interfering(bundle, reg, Weight::MINIMAL, 0).is_some());
        vacant.fold(0, |vacant, reg| vacant | reg.bit())
    }

    /// Returns the registers of a set that are reserved for the bundle's own operands only.
    fn own(&mut self, bundle: Bundle, class: usize, set: u64) -> u64 {
        let own = regs(class, set).filter(|&reg| self.is_own(bundle, reg));
        own.fold(0, |own, reg| own | reg.bit())
    }

    fn is_own(&mut self, bundle: Bundle, reg: Reg) -> bool {
        for segment in self.bundles.segments(bundle) {
            let fixed_here = Some(self.reservations.registers.preg(reg));
            let interference = &self.interference[reg.class()];
            let is_reserved = |from, to| {
                let points = PointRange::new(from, to);
                !points.is_empty() && interference.reserved(points) & reg.bit() != 0
            };
            let mut from = segment.from;
            for u in self.live.uses_at(segment.uses()) {
                self.stats.steps += 1;
                let Some(k) = u.operand().filter(|&k| self.reservations.fixed(k) == fixed_here) else { continue };
                let points = reserved_points(self.problem.all_operands()[k], u.point.position());
                if is_reserved(from, points.from.min(segment.to)) {
                    return false;
                }
                from = from.max(points.to);
            }
            if is_reserved(from, segment.to) {
                return false;
            }
        }
        true
    }

    /// Returns `true` if the bundle that was in the way in `reg` last is in the way again.
    fn is_blocked(&self, bundle: Bundle, reg: Reg, limit: Weight) -> bool {
        let Some(Assigned { points, bundle: other }) = self.s.blockers[reg.index()] else { return false };
        let BundleData { weight, reg: assigned, .. } = self.bundles.bundles[other];
        let segments = self.bundles.segments(bundle);
        let next = if segments.len() == 1 { 0 } else { segments.partition_point(|segment| segment.to <= points.from) };
        weight >= limit
            && weight != Weight::UNKNOWN
            && assigned == Some(self.reservations.registers.preg(reg))
            && segments.get(next).is_some_and(|segment| segment.range().overlaps(points))
    }

    /// Lists the interfering bundles in `reg`. Returns the weight of the heaviest one if it is below `limit` and
    /// there are at most `most` bundles.
    pub(crate) fn interfering(&mut self, bundle: Bundle, reg: Reg, limit: Weight, most: usize) -> Option<Weight> {
        if self.is_blocked(bundle, reg, limit) {
            return None;
        }
        self.s.interfering.clear();
        let mut heaviest = Weight::ZERO;
        self.interference[reg.class()].sort(reg);
        let interference = &self.interference[reg.class()];
        for i in self.bundles.bundles[bundle].range() {
            let points = self.bundles.segments[i].range();
            self.stats.steps += 1;
            for &assigned in interference.assigned_in(reg, points) {
                let other = assigned.bundle;
                self.stats.steps += 1;
                let data = self.bundles.bundles[other];
                let mut weight = data.weight;
                if weight == Weight::UNKNOWN {
                    let cost = self.spill_cost(other, data.crosses_calls());
                    weight = cost.weight;
                    self.stats.steps += cost.steps;
                    self.bundles.bundles[other].weight = weight;
                }
                heaviest = weight.max(heaviest);
                if !self.s.interfering.contains(&other) {
                    self.s.interfering.push(other);
                }
                if heaviest >= limit {
                    self.s.blockers[reg.index()] = Some(assigned);
                }
                if heaviest >= limit || self.s.interfering.len() > most {
                    return None;
                }
            }
        }
        Some(heaviest)
    }
}

/// Assignment and eviction.
impl Search<'_, '_> {
    /// Moves the only interfering bundle of some register to another free one, if that costs it no more than the
    /// memory cost of the bundle. Returns the register.
    fn relocate(&mut self, bundle: Bundle, class: usize, set: u64) -> Option<Reg> {
        let mut tries = if self.is_exhausted() { 0 } else { MAX_RELOCATIONS };
        let cost = self.cost(bundle).everywhere;
        for reg in regs(class, set) {
            if tries == 0 {
                break;
            }
            if self.interfering(bundle, reg, Weight::MINIMAL, 1).is_none() {
                continue;
            }
            let &[other] = self.s.interfering.as_slice() else { continue };
            if !self.is_short(other) {
                continue;
            }
            tries -= 1;
            let crosses_calls = self.priority(other).crosses_calls();
            let r = self.requirements(other, crosses_calls);
            let free = self.free(other, class, r.allowed & !self.unused[class]);
            if let Some(target) = r.hints.best(free).filter(|_| r.hints.benefit(reg) <= cost) {
                self.unassign(other);
                self.assign(other, target);
                return Some(reg);
            }
        }
        None
    }

    /// Returns `true` if a bundle has few segments and uses.
    fn is_short(&self, bundle: Bundle) -> bool {
        let segments = self.bundles.segments(bundle);
        let uses = || segments.iter().map(|segment| segment.uses().len()).sum::<usize>();
        segments.len() <= MANY && uses() <= MANY
    }

    /// Evicts the interfering bundles from the register of a set whose heaviest bundle is the lightest, if that is
    /// lighter than the bundle. Returns the register.
    fn evict_lighter(&mut self, bundle: Bundle, class: usize, set: u64) -> Option<Reg> {
        let weight = self.weight(bundle);
        if weight == Weight::ZERO || self.is_exhausted() && weight != Weight::MINIMAL {
            return None;
        }
        let (mut lightest, mut best) = (weight, None);
        for reg in regs(class, set) {
            if let Some(heaviest) = self.interfering(bundle, reg, lightest, MAX_EVICTED) {
                (lightest, best) = (heaviest, Some(reg));
                std::mem::swap(&mut self.s.interfering, &mut self.s.best);
            }
        }
        if best.is_some() {
            let mut evicted = std::mem::take(&mut self.s.best);
            evicted.drain(..).for_each(|other| self.evict(other, bundle));
            self.s.best = evicted;
        }
        best
    }

    pub(crate) fn assign(&mut self, bundle: Bundle, reg: Reg) {
        let preg = self.reservations.registers.preg(reg);
        for segment in self.bundles.segments(bundle) {
            self.interference[reg.class()].insert(reg, segment.range(), bundle);
        }
        let data = &mut self.bundles.bundles[bundle];
        data.reg = Some(preg);
        self.bundles.hints[data.spill_set] = Some(preg);
        self.unused[reg.class()] &= !reg.bit();
        self.trace_assign(bundle, preg);
    }

    fn evict(&mut self, bundle: Bundle, winner: Bundle) {
        if self.unassign(bundle) {
            self.stats.evictions += 1;
            self.trace_evict(bundle, winner);
            self.enqueue(bundle);
        }
    }

    /// Removes the register of a bundle. Returns `false` if it has none.
    pub(crate) fn unassign(&mut self, bundle: Bundle) -> bool {
        let Some(preg) = self.bundles.bundles[bundle].reg.take() else { return false };
        let reg = self.reservations.registers.reg(preg);
        for segment in self.bundles.segments(bundle) {
            self.interference[reg.class()].remove(reg, segment.range());
        }
        true
    }

    /// Assigns the instruction of a minimal bundle by a matching, and evicts the bundles in its way.
    fn match_instruction(&mut self, bundle: Bundle) -> Result<(), AllocError> {
        let at = self.bundles.segments(bundle)[0].from.position();
        let inst = self.order.inst_at(at);
        debug_assert!(!self.reservations.is_matched(inst), "the operands of {inst} are fixed");
        let mut evicted = std::mem::take(&mut self.s.evicted);
        let interference = &mut *self.interference;
        let reserve = |reg: Reg, points| {
            let interference = &mut interference[reg.class()];
            each_point(points, |point| interference.reserve(point, reg.bit()));
            interference.sort(reg);
            evicted.extend(interference.assigned_in(reg, points).map(|assigned| assigned.bundle));
        };
        let result = self.reservations.match_operands(self.problem, self.env, inst, at, self.live, reserve);
        self.stats.steps += self.problem.operands(inst).len() as u64;
        evicted.drain(..).for_each(|other| self.evict(other, bundle));
        self.s.evicted = evicted;
        self.enqueue(bundle);
        result
    }

    /// Opens callee-saved registers whose cost is below the total benefit of several waiting bundles.
    fn open_shared(&mut self, class: usize) {
        let mut waiting = std::mem::take(&mut self.s.waiting);
        sort_by_key(&mut waiting, |&(benefit, bundle)| (std::cmp::Reverse(benefit), bundle));
        while self.unused[class] != 0 {
            let left = waiting.iter().filter(|&&(_, bundle)| self.bundles.bundles[bundle].reg.is_none());
            if left.fold(0u64, |sum, &(benefit, _)| sum.saturating_add(benefit)) <= self.save_cost()
                || !self.open_register(class, &waiting)
            {
                break;
            }
        }
        waiting.retain(|&(_, bundle)| self.bundles.bundles[bundle].reg.is_none());
        self.s.waiting = waiting;
    }

    /// Assigns the next callee-saved register to the waiting bundles that fit, if that pays. Returns `true` if it
    /// does.
    fn open_register(&mut self, class: usize, waiting: &[(u64, Bundle)]) -> bool {
        let before = self.unused[class];
        let Some(reg) = regs(class, before).next() else { return false };
        let mut total = 0u64;
        let mut fitting = std::mem::take(&mut self.s.evicted);
        for &(benefit, bundle) in waiting {
            if self.bundles.bundles[bundle].reg.is_some() {
                continue;
            }
            let r = self.requirements(bundle, true);
            if r.class.index() == class && self.free(bundle, class, r.allowed & reg.bit()) != 0 {
                self.assign(bundle, reg);
                total = total.saturating_add(benefit);
                fitting.push(bundle);
            }
        }
        let pays = total > self.save_cost();
        if !pays {
            fitting.iter().for_each(|&bundle| _ = self.unassign(bundle));
            self.unused[class] = before;
        }
        fitting.clear();
        self.s.evicted = fitting;
        pays
    }
}
