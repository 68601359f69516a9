//! The requirements of a bundle on registers, its memory cost, and its weight.
//!
//! ```text
//! v0: def at freq 1, two uses at freq 10     in memory: 2·1 + 2·10 + 2·10 = 42 halves of a load
//! ```
//!
//! The weight is the cost divided by the length of the bundle (Chaitin 1982: cost over degree; here over time, as
//! in LLVM's greedy allocator). A bundle that is live across calls could instead be stored once and loaded after
//! each call. The benefit of a callee-saved register is this cost, not the cost of memory everywhere.
//!
//! Cost: linear in the bundle's segments and uses.

use crate::bundles::{Bundle, Weight};
use crate::liveness::{Need, Segment, Use};
use crate::search::Search;
use kingpost_regalloc::{Freq, PReg, RegClass, VReg};
use kingpost_regalloc_common::point::ProgPoint;
use kingpost_regalloc_common::preference::{Reg, regs};

/// Points added to each length, so that memory cost decides and length matters only between long bundles. With the
/// pure length, short bundles would evict bundles with many uses.
const LENGTH_BIAS: u64 = 1 << 14;

/// Points added to the length of a bundle without uses in loops. All its uses are cheap, so that a long bundle
/// would otherwise keep its register from many short ones.
const STRAIGHT_BIAS: u64 = 1 << 9;

/// Points added to the length of a bundle that lies in one block of a loop. A value that a long block computes early and uses late
/// would otherwise keep its register from short ones, as in the rounds of a cryptographic hash.
const LOCAL_BIAS: u64 = 1 << 7;

/// Points added to each length after the search has ended.
const DENSITY_BIAS: u64 = 1 << 6;

/// Number of call points examined between two uses.
const MAX_CALLS: usize = 4;

/// Requirements of a bundle on registers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Requirements {
    pub(crate) class: RegClass,
    /// Allowed registers by number.
    pub(crate) allowed: u64,
    pub(crate) hints: Hints,
    /// Whether some use requires a register.
    pub(crate) must: bool,
    /// Whether it lies within one instruction.
    pub(crate) is_minimal: bool,
    /// Whether all its uses are free in memory.
    is_idle: bool,
    /// Whether it is live across a call.
    pub(crate) crosses_calls: bool,
    /// Whether an instruction excludes it from registers that are not reserved there.
    pub(crate) loses_registers: bool,
}

/// Cost of memory to a bundle, in halves of a load, weighted by frequency.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SpillCost {
    /// Cost of memory everywhere.
    pub(crate) everywhere: u64,
    /// Cost of memory across calls only.
    pub(crate) across_calls: u64,
    /// The lesser cost per point, with bias.
    pub(crate) weight: Weight,
    /// The lesser cost per point, with a small bias: the priority after the search has ended.
    pub(crate) density: u64,
    /// Steps taken.
    pub(crate) steps: u64,
}

/// Cost of memory across calls only, accumulated over the uses of a bundle.
#[derive(Clone, Copy, Debug)]
struct CallCrossing {
    /// Loads after calls, and the total cost of earlier values.
    across_calls: u64,
    /// The current value, and its last use: the calls before it, its point and frequency.
    vreg: Option<VReg>,
    calls: u32,
    point: ProgPoint,
    freq: Freq,
    /// Stores before calls.
    stores: u64,
    /// Cost of the first use, and twice the frequency of the blocks that the value leaves live after a call.
    first: u64,
    loops: u64,
}

impl CallCrossing {
    /// Returns the state before the first use of a value, with the cost of earlier values.
    fn new(across_calls: u64, vreg: Option<VReg>) -> CallCrossing {
        let (point, freq) = (ProgPoint::FIRST, Freq(0));
        CallCrossing { across_calls, vreg, calls: 0, point, freq, stores: 0, first: 0, loops: 0 }
    }

    /// Records that the value is live out of a block after a call that follows its last use there.
    fn live_out(&mut self, calls: u32, freq: Freq) {
        if calls != self.calls {
            self.loops = self.loops.saturating_add(2 * freq.0);
        }
    }
}

/// Registers of one class that would save moves, each with the benefit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hints {
    class: usize,
    list: [(Reg, u64); 4],
    len: usize,
}

impl Hints {
    fn new(class: usize) -> Hints {
        Hints { class, list: [(Reg::NONE, 0); 4], len: 0 }
    }

    /// Adds a benefit to a register.
    pub(crate) fn add(&mut self, reg: Reg, benefit: u64) {
        if let Some(hint) = self.list[..self.len].iter_mut().find(|hint| hint.0 == reg) {
            hint.1 = hint.1.saturating_add(benefit);
        } else if self.len < self.list.len() {
            self.list[self.len] = (reg, benefit);
            self.len += 1;
        }
    }

    /// Returns the benefit of a register.
    pub(crate) fn benefit(&self, reg: Reg) -> u64 {
        let hint = self.list[..self.len].iter().find(|hint| hint.0 == reg);
        hint.map_or(0, |hint| hint.1)
    }

    /// Returns the hinted registers as a mask.
    pub(crate) fn mask(&self) -> u64 {
        self.list[..self.len].iter().fold(0, |mask, hint| mask | hint.0.bit())
    }

    /// Returns the member of a set with the greatest benefit, or the first member if none has any.
    pub(crate) fn best(&self, set: u64) -> Option<Reg> {
        let hinted = self.list[..self.len].iter().filter(|hint| set & hint.0.bit() != 0);
        let best = hinted.fold(None, |best: Option<(Reg, u64)>, &hint| match best {
            Some(old) if old.1 >= hint.1 => best,
            _ => Some(hint),
        });
        match best {
            Some((reg, _)) => Some(reg),
            None => regs(self.class, set).next(),
        }
    }
}

/// Requirements.
impl Search<'_, '_> {
    /// Returns the requirements of the bundle. `crosses_calls` is whether it is live across a call.
    pub(crate) fn requirements(&mut self, bundle: Bundle, crosses_calls: bool) -> Requirements {
        let segments = self.bundles.segments(bundle);
        let class = self.problem.class(segments[0].vreg);
        let is_minimal = self.is_minimal(bundle);
        let (allowed, hints) = (self.reservations.registers.allocatable[class.index()], Hints::new(class.index()));
        let (must, is_idle, loses_registers) = (false, true, false);
        let mut r = Requirements { class, allowed, hints, must, is_minimal, is_idle, crosses_calls, loses_registers };
        let mut steps = 0;
        for segment in segments {
            steps += 1;
            if !self.live.is_special(segment.vreg) && !self.reservations.has_matched {
                r.must |= !segment.uses().is_empty();
            } else {
                steps += self.add_uses(segment, &mut r);
            }
            if !self.reservations.is_plain() {
                let lost = self.reservations.lost(self.problem, segment);
                r.loses_registers |= lost != 0;
                r.allowed &= !lost;
            }
        }
        self.stats.steps += steps;
        r
    }

    /// Adds the requirements of a segment's uses. Returns the number of uses.
    fn add_uses(&self, segment: &Segment, r: &mut Requirements) -> u64 {
        let remat = self.live.remat(segment.vreg).is_some();
        for u in self.live.uses_at(segment.uses()) {
            let fixed = self.fixed_at(u);
            let need = if fixed.is_some() { Need::Copy } else { self.unfixed_need(u, remat) };
            match need {
                Need::Reg => r.must = true,
                Need::Within => {
                    r.must = true;
                    r.allowed &= self.reservations.registers.set(u.set())[r.class.index()];
                }
                _ => r.is_idle &= self.memory_cost(u, need, remat) == 0,
            }
            self.add_hints(u, fixed, &mut r.hints);
        }
        segment.uses().len() as u64
    }

    /// Adds the registers that save a move at a use, which may be in a fixed register.
    fn add_hints(&self, u: &Use, fixed: Option<PReg>, hints: &mut Hints) {
        let registers = &self.reservations.registers;
        if let Some(reg) = fixed {
            hints.add(registers.reg(reg), self.order.freq_at(u.point.position()).0);
        }
        if let Some(partner) = u.partner.expand()
            && let Some(spill_set) = self.bundles.spill_set(partner)
            && Some(spill_set) != self.bundles.spill_set(u.vreg)
        {
            let class = self.problem.class(u.vreg);
            if let Some(reg) = self.bundles.hints[spill_set].filter(|reg| reg.class() == class) {
                hints.add(registers.reg(reg), self.order.freq_at(u.point.position()).0);
            }
        }
    }

    /// Returns `true` if the bundle lies within one instruction.
    fn is_minimal(&self, bundle: Bundle) -> bool {
        let (from, to) = self.bundles.hull(bundle);
        from.position() == to.prev().position()
    }

    /// Returns `true` if the bundle is free in memory.
    pub(crate) fn is_free_in_memory(&self, bundle: Bundle, r: &Requirements) -> bool {
        !r.must
            && (r.is_minimal
                || r.is_idle
                || self.entry_cost(bundle) > 0 && self.spill_cost(bundle, r.crosses_calls).everywhere == 0)
    }
}

/// Needs and costs of one use.
impl Search<'_, '_> {
    /// Returns `true` for an argument or parameter whose counterpart shares the slot, so that memory needs no move.
    pub(crate) fn is_internal(&self, u: &Use) -> bool {
        u.operand().is_none()
            && u.partner
                .expand()
                .is_some_and(|partner| self.bundles.spill_set(partner) == self.bundles.spill_set(u.vreg))
    }

    /// Returns the current need of a use.
    pub(crate) fn need(&self, u: &Use) -> Need {
        match self.fixed_at(u) {
            Some(_) => Need::Copy,
            None => self.unfixed_need(u, self.live.remat(u.vreg).is_some()),
        }
    }

    /// Returns the need of a use that is not fixed. A rematerialized value is cheaper in a register than in a slot,
    /// unless the instruction has no register to spare.
    fn unfixed_need(&self, u: &Use, is_remat: bool) -> Need {
        match u.need {
            Need::Soft if is_remat && !u.is_def => {
                match self.reservations.is_matched(self.order.inst_at(u.point.position())) {
                    true => Need::Soft,
                    false => Need::Reg,
                }
            }
            need => need,
        }
    }

    fn fixed_at(&self, u: &Use) -> Option<PReg> {
        self.reservations.fixed(u.operand()?)
    }

    /// Returns the cost of one run of a use if the value is in memory, in halves of a load.
    pub(crate) fn use_cost(&self, u: &Use) -> u64 {
        self.memory_cost(u, self.need(u), self.live.remat(u.vreg).is_some())
    }

    /// Returns the cost of one run of a use in memory, given the use's need.
    fn memory_cost(&self, u: &Use, need: Need, remat: bool) -> u64 {
        match need {
            Need::Slot => 0,
            _ if remat && u.is_def || self.is_internal(u) => 0,
            Need::Soft => 1,
            _ if remat => 1,
            _ => 2,
        }
    }
}

/// Costs of a bundle.
impl Search<'_, '_> {
    /// Returns the memory cost of the bundle. `crosses_calls` is whether it is live across a call.
    pub(crate) fn spill_cost(&self, bundle: Bundle, crosses_calls: bool) -> SpillCost {
        let segments = self.bundles.segments(bundle);
        let (mut cost, mut length, mut steps) = (0u64, 0, 0);
        let (mut must, mut hottest) = (false, Freq(0));
        let mut block = &self.order.blocks()[self.order.index_at(segments[0].from.position())];
        let is_local = block.points().contains(segments[segments.len() - 1].to.prev());
        let mut crossing = CallCrossing::new(0, None);
        for segment in segments {
            length += u64::from(segment.to.since(segment.from));
            steps += 1 + segment.uses().len() as u64;
            let remat = self.live.remat(segment.vreg).is_some();
            for u in self.live.uses_at(segment.uses()) {
                if !block.points().contains(u.point) {
                    block = self.order.block_at(u.point.position());
                }
                let need = if self.fixed_at(u).is_some() { Need::Copy } else { self.unfixed_need(u, remat) };
                must |= matches!(need, Need::Reg | Need::Within);
                let units = self.memory_cost(u, need, remat);
                hottest = hottest.max(block.freq);
                cost = cost.saturating_add(units * block.freq.0);
                // An edge within the bundle costs nothing, but begins or ends a path across a call.
                if crosses_calls && (units > 0 || self.is_internal(u)) {
                    let point = if u.is_def { u.end().prev() } else { u.start() };
                    let calls = self.reservations.calls_before(point);
                    self.note_crossing(&mut crossing, u, calls, units, block.freq);
                }
            }
            let last = segment.to.prev();
            if crosses_calls && self.reservations.crosses_call(segment.range()) && self.may_be_live_at(segment.to) {
                crossing.live_out(self.reservations.calls_before(last), self.order.freq_at(last.position()));
            }
        }
        let across_calls = self.finish_crossing(&crossing);
        let everywhere = cost.saturating_sub(self.entry_cost(bundle));
        let least = if crosses_calls { across_calls.min(everywhere) } else { everywhere };
        let bias = match hottest <= Freq::ENTRY {
            true => STRAIGHT_BIAS,
            false if is_local => LOCAL_BIAS,
            false => LENGTH_BIAS,
        };
        let by_point = (u128::from(least) << 12) * u128::from(bias) / u128::from((length + bias) * LENGTH_BIAS);
        let density = (u128::from(least) << 12) / u128::from(length + DENSITY_BIAS);
        let weight = match must && self.is_minimal(bundle) {
            true => Weight::MINIMAL,
            false => Weight(by_point.min(u128::from(Weight::MAX.0)) as u64),
        };
        SpillCost { everywhere, across_calls, weight, density: density.min(u128::from(u64::MAX)) as u64, steps }
    }

    /// Adds a use to the cost of memory across calls only.
    fn note_crossing(&self, crossing: &mut CallCrossing, u: &Use, calls: u32, units: u64, freq: Freq) {
        if crossing.vreg != Some(u.vreg) {
            let across_calls = self.finish_crossing(crossing);
            *crossing = CallCrossing::new(across_calls, Some(u.vreg));
        } else if calls != crossing.calls && !u.is_def {
            let call = self.hottest_call(crossing.point, u.start());
            crossing.across_calls = crossing.across_calls.saturating_add(units * freq.min(call).0);
            crossing.stores = crossing.stores.saturating_add(2 * crossing.freq.min(call).0);
        }
        if crossing.first == 0 {
            crossing.first = units * freq.0;
        }
        (crossing.calls, crossing.point, crossing.freq) = (calls, u.point, freq);
    }

    /// Returns the accumulated cost including the last value.
    fn finish_crossing(&self, crossing: &CallCrossing) -> u64 {
        let Some(vreg) = crossing.vreg else { return 0 };
        let loops = crossing.first.min(crossing.loops);
        let stores = crossing.stores.saturating_add(crossing.freq.0.min(crossing.loops));
        let at_def = match self.live.remat(vreg) {
            Some(_) => 0,
            None => 2 * self.order.freq_at(self.live.def(vreg).position()).0,
        };
        crossing.across_calls.saturating_add(loops).saturating_add(stores.min(at_def))
    }

    /// Returns the highest frequency of the first few calls between two points.
    fn hottest_call(&self, from: ProgPoint, to: ProgPoint) -> Freq {
        let calls = self.reservations.calls_before(from)..self.reservations.calls_before(to);
        let points = calls.take(MAX_CALLS).map(|call| self.reservations.call_point(call));
        points.map(|point| self.order.freq_at(point.position())).max().unwrap_or(Freq(0))
    }

    /// Returns the cost of loading a part that begins in memory.
    fn entry_cost(&self, bundle: Bundle) -> u64 {
        let first = self.bundles.segments(bundle)[0];
        if self.live.def(first.vreg) == first.from {
            return 0;
        }
        self.load_cost(first.vreg) * self.order.freq_at(first.from.position()).0
    }

    /// Returns the cost of bringing a value into a register, in halves of a load.
    pub(crate) fn load_cost(&self, vreg: VReg) -> u64 {
        if self.live.remat(vreg).is_some() { 1 } else { 2 }
    }

    /// Returns `true` if the end of a segment is the end of a block, so that the value may be live out.
    fn may_be_live_at(&self, end: ProgPoint) -> bool {
        let position = end.position();
        end.is_before()
            && (position.index() >= self.order.num_positions() || self.order.block_at(position).head == position)
    }
}
