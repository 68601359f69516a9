//! Which register: try a free one first, else find out who can best do without.

use crate::hints::Obstacle;
use crate::values::Value;
use crate::walk::Scan;
use kingpost_regalloc::{ClobberId, VReg};
use kingpost_regalloc_common::point::{Phase, Position, ProgPoint};
use kingpost_regalloc_common::preference::{Reg, regs};

/// How many obstacles ahead are looked at when a register is chosen.
const HORIZON: usize = 8;
/// How many uses of a value are looked at when its spill is priced.
const PRICED_USES: usize = 8;

/// One in so many calls is expected to find some value in a register saved for another.
const LATER_CALLS: u64 = 4;
/// The same if the value had another register first.
const MUCH_LATER_CALLS: u64 = 16;

impl Scan<'_, '_> {
    /// The best register for a value that begins at `point`, out of `free`, which must not be empty: one it wishes for,
    /// one that no obstacle takes before the value's range ends, or the one taken last.
    pub(crate) fn choose(&mut self, vreg: VReg, free: u64, point: ProgPoint, prefer: Reg) -> Reg {
        let until = self.values.live_until(vreg, point);
        let blocked = self.blocked(vreg, until);
        let value = &self.values[vreg];
        let class = value.class();
        let is_free = |reg: Reg| !reg.is_none() && reg.class() == class && free & reg.bit() != 0;
        let (wish, wish_slot) = (value.wish, value.wish_slot);
        if is_free(wish) && (blocked & wish.bit() == 0 || self.first_taken(vreg, wish) >= wish_slot) {
            return wish;
        }
        let good = free & !blocked;
        if is_free(prefer) && (good == 0 || good & prefer.bit() != 0) {
            return prefer;
        }
        let partners = self.partners_register(vreg);
        if is_free(partners) && good & partners.bit() != 0 {
            return partners;
        }
        let fresh = self.registers.callee_saved[class] & !self.found.residence.used[class];
        if good & !fresh != 0 {
            return Reg::new(class, (good & !fresh).trailing_zeros());
        }
        if good != 0 && (free & !fresh == 0 || self.saving_pays(vreg, point)) {
            return Reg::new(class, good.trailing_zeros());
        }
        let rest = if free & !fresh != 0 { free & !fresh } else { free };
        self.blocked_last(vreg, rest, until)
    }

    /// The register of the loop parameter that a result is passed to, if the parameter had better leave it for another
    /// one here: where the edge back has a block of its own, a move there would cost that block's jump as well.
    pub(crate) fn parameters_register(&mut self, vreg: VReg, slot: Position) -> Option<Reg> {
        let param = self.values.partner(vreg)?;
        if !self.values.is_at_head(param) || self.values.def(param) >= ProgPoint::before(slot) {
            return None;
        }
        let reg = self.values.home(param);
        let edge = self.order.block_at(self.values[vreg].last.position());
        let costs = self.env.costs;
        let on_edge = u64::from(costs.mov + costs.edge_block).saturating_mul(edge.freq.0);
        let here = u64::from(costs.mov).saturating_mul(self.order.freq_at(slot).0);
        if reg.is_none()
            || edge.num_insts() != 1
            || here >= on_edge
            || !self.values.is_live(param, ProgPoint::late(slot))
        {
            return None;
        }
        let class = reg.class();
        let residence = &self.found.residence;
        let fresh = self.registers.callee_saved[class] & !residence.used[class];
        let free = self.registers.allocatable[class] & !residence.held[class] & !fresh;
        let until = self.values.live_until(param, ProgPoint::late(slot));
        (free & !self.blocked(param, until) != 0 && self.blocked(vreg, self.values.end(vreg)) & reg.bit() == 0)
            .then_some(reg)
    }

    /// Registers of the value's class that some obstacle near ahead takes before `until`.
    #[inline]
    pub(crate) fn blocked(&self, vreg: VReg, until: ProgPoint) -> u64 {
        if ProgPoint::early(self.s.obstacle_slot) >= until { 0 } else { self.blocked_ahead(vreg, until) }
    }

    fn blocked_ahead(&self, vreg: VReg, until: ProgPoint) -> u64 {
        let value = &self.values[vreg];
        self.ahead(until).fold(0, |mask, obstacle| mask | self.taken(obstacle, value, until))
    }

    fn ahead(&self, until: ProgPoint) -> impl Iterator<Item = &Obstacle> {
        let obstacles = &self.hints.obstacles[self.s.obstacle.min(self.hints.obstacles.len())..];
        obstacles.iter().take(HORIZON).take_while(move |o| ProgPoint::early(o.slot) < until)
    }

    /// Registers of the value's class that an obstacle takes from it, if it lives until `until`.
    fn taken(&self, obstacle: &Obstacle, value: &Value, until: ProgPoint) -> u64 {
        let class = value.class();
        if ProgPoint::late(obstacle.slot) >= until {
            return obstacle.early[class];
        }
        if obstacle.safepoint && value.is_ref() {
            return u64::MAX;
        }
        let kills = self.registers.clobbered(obstacle.clobbers).of(class, value.width());
        obstacle.early[class] | obstacle.late[class] | kills
    }

    /// Does no obstacle near ahead take the register from the value before `slot`?
    pub(crate) fn is_kept_until(&self, vreg: VReg, reg: Reg, slot: Position) -> bool {
        self.first_taken(vreg, reg) >= slot
    }

    /// The slot of the first obstacle near ahead that takes the register from the value.
    fn first_taken(&self, vreg: VReg, reg: Reg) -> Position {
        let taken = |o: &&Obstacle| self.taken(o, &self.values[vreg], ProgPoint::OPEN) & reg.bit() != 0;
        self.ahead(ProgPoint::OPEN).find(taken).map_or(Position::END, |o| o.slot)
    }

    /// The slot of the first call near ahead in which the value is lost, if it is in `reg` and lives until `until`.
    pub(crate) fn first_lost(&self, vreg: VReg, reg: Reg, until: ProgPoint) -> Option<Position> {
        let value = &self.values[vreg];
        let is_lost = |o: &&Obstacle| {
            let is_call = o.clobbers != ClobberId::NONE && ProgPoint::late(o.slot) < until;
            is_call && self.taken(o, value, until) & reg.bit() != 0
        };
        self.ahead(until).find(is_lost).map(|o| o.slot)
    }

    /// The member of `free` that obstacles leave alone for longest.
    fn blocked_last(&self, vreg: VReg, free: u64, until: ProgPoint) -> Reg {
        let mut left = free;
        for obstacle in self.ahead(until) {
            let next = left & !self.taken(obstacle, &self.values[vreg], until);
            if next == 0 {
                break;
            }
            left = next;
        }
        Reg::new(self.values[vreg].class(), left.trailing_zeros())
    }

    /// Is saving one more callee-saved register cheaper than to spill the value at the first obstacle?
    fn saving_pays(&mut self, vreg: VReg, point: ProgPoint) -> bool {
        match self.hints.obstacles.get(self.s.obstacle) {
            Some(obstacle) => {
                let later = self.hints.calls_from(self.s.obstacle + 1) / LATER_CALLS;
                self.spilling_costs(vreg, point, obstacle.slot, later) > self.price_of_saving()
            }
            None => false,
        }
    }

    /// Is it cheaper to move the value to one more callee-saved register here, where it must leave its own, than to spill
    /// it?
    pub(crate) fn saving_pays_here(&mut self, vreg: VReg, slot: Position) -> bool {
        let later = self.hints.calls_from(self.s.obstacle) / MUCH_LATER_CALLS;
        let copy = u64::from(self.env.costs.mov).saturating_mul(self.order.freq_at(slot).0);
        self.spilling_costs(vreg, ProgPoint::before(slot), slot, later) > self.price_of_saving().saturating_add(copy)
    }

    fn price_of_saving(&self) -> u64 {
        u64::from(self.env.costs.callee_saved) * self.problem.freq(self.problem.entry()).0
    }

    /// What it costs to spill the value in `slot`, and others, who would use the register it might have, `later` times.
    fn spilling_costs(&mut self, vreg: VReg, point: ProgPoint, slot: Position, later: u64) -> u64 {
        let costs = self.env.costs;
        let remat = self.values.is_remat(vreg);
        let (store, load) = if remat { (0, costs.remat) } else { (costs.spill, costs.fill) };
        let first = self.values.find_use(vreg, point);
        let stored = self.order.freq_at(self.values.def(vreg).position()).min(self.order.freq_at(slot)).0;
        let mut cost = u64::from(store) * stored;
        let mut last_block = None;
        for slot in self.values.uses_from(first).map(|u| u.position()).filter(|&used| used >= slot).take(PRICED_USES) {
            let block = self.order.index_at(slot);
            if last_block.replace(block) != Some(block) {
                cost += u64::from(load) * self.order.freq_at(slot).0;
            }
        }
        let later = later.saturating_mul(u64::from(costs.spill + costs.fill));
        cost.saturating_add(later)
    }

    /// As [`Scan::next_use`], but what a forward edge passes on counts as used where the parameter is, and a parameter
    /// that an edge passes to itself as not used there.
    pub(crate) fn next_use_through(&mut self, vreg: VReg, point: ProgPoint) -> ProgPoint {
        let index = self.values.find_use(vreg, point);
        let Some(next) = self.values.use_at(index) else { return self.values.end(vreg) };
        if next.point.phase() != Phase::After {
            return next.point;
        }
        match self.values.partner(vreg) {
            Some(param) if param == vreg => {
                self.values.use_at(next.next).map_or_else(|| self.values.end(vreg), |next| next.point)
            }
            Some(param) if self.values.def(param) > next.point => self.values[param].first_use.max(next.point),
            _ => next.point,
        }
    }

    /// Of the registers in `candidates`, the one whose value is used again last. Computing a value again is cheap, so
    /// that its next use counts as twice as far.
    pub(crate) fn farthest(&mut self, class: usize, candidates: u64, point: ProgPoint) -> Option<(Reg, ProgPoint)> {
        let mut best: Option<(u64, Reg, ProgPoint)> = None;
        for reg in regs(class, candidates) {
            let vreg = self.found.residence.holder_vreg(reg);
            let next = self.next_use_through(vreg, point);
            let distance = u64::from(next.since(point) / 2) << u32::from(self.values.is_remat(vreg));
            if best.is_none_or(|(most, ..)| distance > most) {
                best = Some((distance, reg, next));
            }
        }
        best.map(|(_, reg, next)| (reg, next))
    }
}
