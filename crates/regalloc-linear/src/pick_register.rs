//! The choice of a register: a hinted one, one that is free until the end of the live range, or the one that is
//! taken last. If none is free, it is the register whose value has the farthest next use.
//!
//! A callee-saved register is opened if it saves more in spills than its save and restore cost. Cost: nearby
//! clobber points, at most [`HORIZON`], and registers.

use crate::collect::ClobberPoint;
use crate::linear_scan::Scan;
use crate::values::Value;
use kingpost_regalloc::{ClobberId, VReg};
use kingpost_regalloc_common::point::{Phase, Position, ProgPoint};
use kingpost_regalloc_common::preference::{Reg, regs};

/// Largest number of clobber points ahead that are considered.
const HORIZON: usize = 8;
/// Largest number of uses that count for the spill cost of a value.
const PRICED_USES: usize = 8;

/// Divisor of the frequency of later calls: one call in four is expected to save a spill of another value in the
/// callee-saved register opened for this one.
const LATER_CALLS: u64 = 4;
/// Divisor of the frequency of later calls for a value that is evicted from another register.
const MUCH_LATER_CALLS: u64 = 16;

impl Scan<'_, '_> {
    /// Returns the best register for a value from `point` on. `free` must not be empty. The result is a hinted
    /// register, a register that no clobber point takes before the value's live range ends, or the register taken
    /// last.
    #[inline]
    pub(crate) fn pick_register(&mut self, vreg: VReg, free: u64, point: ProgPoint, prefer: Reg) -> Reg {
        let (until, value) = self.values.live_until_mut(vreg, point);
        if ProgPoint::early(self.s.clobber_at) < until {
            return self.pick_before_clobbers(vreg, free, point, prefer);
        }
        let (class, hint) = (value.class(), value.hint);
        for reg in [hint, prefer, self.related_register(vreg)] {
            if reg.is_one_of(class, free) {
                return reg;
            }
        }
        match free & !self.fresh(class) {
            0 => self.pick_before_clobbers(vreg, free, point, prefer),
            open => Reg::new(class, open.trailing_zeros()),
        }
    }

    /// Returns the callee-saved registers of a class that have not been used yet.
    pub(crate) fn fresh(&self, class: usize) -> u64 {
        self.registers.unsaved(class, &self.scan.occupancy.used)
    }

    /// Returns a register as [`Scan::pick_register`] does, if there may be clobber points before the value's live
    /// range ends.
    #[inline(never)]
    fn pick_before_clobbers(&mut self, vreg: VReg, free: u64, point: ProgPoint, prefer: Reg) -> Reg {
        let until = self.values.live_until(vreg, point);
        let blocked = self.blocked(vreg, until);
        let value = &self.values[vreg];
        let class = value.class();
        let (hint, hint_at) = (value.hint, value.hint_at);
        if hint.is_one_of(class, free) && (!hint.is_one_of(class, blocked) || self.first_taken(vreg, hint) >= hint_at) {
            return hint;
        }
        let good = free & !blocked;
        if prefer.is_one_of(class, if good == 0 { free } else { good }) {
            return prefer;
        }
        let related_reg = self.related_register(vreg);
        if related_reg.is_one_of(class, good) {
            return related_reg;
        }
        let fresh = self.fresh(class);
        if good & !fresh != 0 {
            return Reg::new(class, (good & !fresh).trailing_zeros());
        }
        if good != 0 && (free & !fresh == 0 || self.saving_pays(vreg, point)) {
            return Reg::new(class, good.trailing_zeros());
        }
        let rest = if free & !fresh != 0 { free & !fresh } else { free };
        self.blocked_last(vreg, rest, until)
    }

    /// Returns the register of the loop parameter that a result is passed to, if splitting the parameter here pays.
    /// If the back edge has a block of its own, a move there would also cost that block's jump.
    pub(crate) fn parameter_register(&mut self, vreg: VReg, position: Position) -> Option<Reg> {
        let param = self.values.flows_into(vreg)?;
        if !self.values.is_at_head(param) || self.values.def(param) >= ProgPoint::before(position) {
            return None;
        }
        let reg = self.values.current_reg(param);
        let edge = self.order.block_at(self.values[vreg].last.position());
        let costs = self.env.costs;
        let on_edge = u64::from(costs.mov + costs.edge_block).saturating_mul(edge.freq.0);
        let here = u64::from(costs.mov).saturating_mul(self.order.freq_at(position).0);
        if reg.is_none()
            || edge.num_insts() != 1
            || here >= on_edge
            || !self.values.is_live(param, ProgPoint::late(position))
        {
            return None;
        }
        let class = reg.class();
        let occupancy = &self.scan.occupancy;
        let fresh = self.registers.callee_saved[class] & !occupancy.used[class];
        let free = self.registers.allocatable[class] & !occupancy.held[class] & !fresh;
        let until = self.values.live_until(param, ProgPoint::late(position));
        (free & !self.blocked(param, until) != 0 && self.blocked(vreg, self.values.end(vreg)) & reg.bit() == 0)
            .then_some(reg)
    }

    /// Returns the registers of the value's class that a nearby clobber point takes before `until`.
    #[inline]
    pub(crate) fn blocked(&self, vreg: VReg, until: ProgPoint) -> u64 {
        if ProgPoint::early(self.s.clobber_at) >= until { 0 } else { self.blocked_ahead(vreg, until) }
    }

    fn blocked_ahead(&self, vreg: VReg, until: ProgPoint) -> u64 {
        let value = &self.values[vreg];
        self.ahead(until).fold(0, |mask, clobber_point| mask | self.taken(clobber_point, value, until))
    }

    fn ahead(&self, until: ProgPoint) -> impl Iterator<Item = &ClobberPoint> {
        let clobber_points =
            &self.constraints.clobber_points[self.s.clobber_point.min(self.constraints.clobber_points.len())..];
        clobber_points.iter().take(HORIZON).take_while(move |o| ProgPoint::early(o.position) < until)
    }

    /// Returns the registers of the value's class that a clobber point takes from it, if it is live until `until`.
    fn taken(&self, clobber_point: &ClobberPoint, value: &Value, until: ProgPoint) -> u64 {
        let class = value.class();
        if ProgPoint::late(clobber_point.position) >= until {
            return clobber_point.early[class];
        }
        if clobber_point.safepoint && value.is_ref() {
            return u64::MAX;
        }
        let kills = self.registers.clobbered(clobber_point.clobbers).of(class, value.width());
        clobber_point.early[class] | clobber_point.late[class] | kills
    }

    /// Returns `true` if no nearby clobber point takes the register from the value before `position`.
    pub(crate) fn is_kept_until(&self, vreg: VReg, reg: Reg, position: Position) -> bool {
        self.first_taken(vreg, reg) >= position
    }

    /// Returns the position of the first nearby clobber point that takes the register from the value.
    fn first_taken(&self, vreg: VReg, reg: Reg) -> Position {
        let taken = |o: &&ClobberPoint| self.taken(o, &self.values[vreg], ProgPoint::OPEN) & reg.bit() != 0;
        self.ahead(ProgPoint::OPEN).find(taken).map_or(Position::END, |o| o.position)
    }

    /// Returns the position of the first nearby call that clobbers `reg` for the value, live until `until`.
    pub(crate) fn first_lost(&self, vreg: VReg, reg: Reg, until: ProgPoint) -> Option<Position> {
        let value = &self.values[vreg];
        let is_lost = |o: &&ClobberPoint| {
            let is_call = o.clobbers != ClobberId::NONE && ProgPoint::late(o.position) < until;
            is_call && self.taken(o, value, until) & reg.bit() != 0
        };
        self.ahead(until).find(is_lost).map(|o| o.position)
    }

    /// Returns the member of `free` that clobber points take last.
    fn blocked_last(&self, vreg: VReg, free: u64, until: ProgPoint) -> Reg {
        let mut left = free;
        for clobber_point in self.ahead(until) {
            let next = left & !self.taken(clobber_point, &self.values[vreg], until);
            if next == 0 {
                break;
            }
            left = next;
        }
        Reg::new(self.values[vreg].class(), left.trailing_zeros())
    }

    /// Returns `true` if saving one more callee-saved register costs less than spilling the value at the first
    /// clobber point.
    fn saving_pays(&mut self, vreg: VReg, point: ProgPoint) -> bool {
        match self.constraints.clobber_points.get(self.s.clobber_point) {
            Some(clobber_point) => {
                let later = self.constraints.calls_from(self.s.clobber_point + 1) / LATER_CALLS;
                self.spill_cost(vreg, point, clobber_point.position, later) > self.cost_of_saving()
            }
            None => false,
        }
    }

    /// Returns `true` if moving the value, which is evicted here, to one more callee-saved register costs less than
    /// spilling it.
    pub(crate) fn saving_pays_here(&mut self, vreg: VReg, position: Position) -> bool {
        let later = self.constraints.calls_from(self.s.clobber_point) / MUCH_LATER_CALLS;
        let copy = u64::from(self.env.costs.mov).saturating_mul(self.order.freq_at(position).0);
        self.spill_cost(vreg, ProgPoint::before(position), position, later) > self.cost_of_saving().saturating_add(copy)
    }

    fn cost_of_saving(&self) -> u64 {
        u64::from(self.env.costs.callee_saved) * self.problem.freq(self.problem.entry()).0
    }

    /// Returns the cost of spilling `vreg` at `position`, plus the cost of `later` spills of other values that
    /// would use the register.
    fn spill_cost(&mut self, vreg: VReg, point: ProgPoint, position: Position, later: u64) -> u64 {
        let costs = self.env.costs;
        let remat = self.values.is_remat(vreg);
        let (store, load) = if remat { (0, costs.remat) } else { (costs.spill, costs.fill) };
        let first = self.values.find_use(vreg, point);
        let def_stores = self.order.freq_at(self.values.def(vreg).position()).min(self.order.freq_at(position)).0;
        let mut cost = u64::from(store) * def_stores;
        let mut last_block = None;
        for position in
            self.values.uses_from(first).map(|u| u.position()).filter(|&used| used >= position).take(PRICED_USES)
        {
            let block = self.order.index_at(position);
            if last_block.replace(block) != Some(block) {
                cost += u64::from(load) * self.order.freq_at(position).0;
            }
        }
        let later = later.saturating_mul(u64::from(costs.spill + costs.fill));
        cost.saturating_add(later)
    }

    /// Returns the next use as [`Values::next_use`] does, with two differences. An argument of a forward edge
    /// counts as used where the parameter is, and a parameter that an edge passes to itself is not used there.
    pub(crate) fn next_use_through(&mut self, vreg: VReg, point: ProgPoint) -> ProgPoint {
        let index = self.values.find_use(vreg, point);
        let Some(next) = self.values.use_at(index) else { return self.values.end(vreg) };
        if next.point.phase() != Phase::After {
            return next.point;
        }
        match self.values.flows_into(vreg) {
            Some(param) if param == vreg => {
                self.values.use_at(next.next).map_or_else(|| self.values.end(vreg), |next| next.point)
            }
            Some(param) if self.values.def(param) > next.point => self.values[param].first_use.max(next.point),
            _ => next.point,
        }
    }

    /// Returns the register in `candidates` whose value has the farthest next use, and that use. Rematerializing a
    /// value is cheap, so that its next use counts as twice as far.
    pub(crate) fn farthest_next_use(
        &mut self,
        class: usize,
        candidates: u64,
        point: ProgPoint,
    ) -> Option<(Reg, ProgPoint)> {
        let mut best: Option<(u64, Reg, ProgPoint)> = None;
        for reg in regs(class, candidates) {
            let vreg = self.scan.occupancy.vreg_in(reg);
            let next = self.next_use_through(vreg, point);
            let distance = u64::from(next.since(point) / 2) << u32::from(self.values.is_remat(vreg));
            if best.is_none_or(|(most, ..)| distance > most) {
                best = Some((distance, reg, next));
            }
        }
        best.map(|(_, reg, next)| (reg, next))
    }
}
