//! What a bundle wants: registers it may have and would like, what memory would cost it, and its weight.
//!
//! A bundle that lives across walls, where all registers but the callee-saved ones are lost, could instead be stored once
//! and loaded again after each wall: that, not the price of memory everywhere, is what a callee-saved register is worth.

use crate::live::{Need, Segment, Use};
use crate::order::NONE;
use crate::search::Search;
use kingpost_regalloc::{PReg, RegClass, VReg};

/// Weight of a bundle that must have a register and cannot be cut.
pub(crate) const MINIMAL: u64 = u64::MAX;

/// Weight of a bundle that nobody has asked for yet.
pub(crate) const UNKNOWN: u64 = MINIMAL - 1;

/// Points added to each length: what memory would cost decides, and length only between long bundles. Weights by length
/// alone evict what many uses need for the sake of what is short.
const LENGTH_BIAS: u64 = 1 << 14;

/// Walls looked at between two uses.
const MAX_WALLS: usize = 4;

/// What a bundle wants of registers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wants {
    pub(crate) class: RegClass,
    /// By register number.
    pub(crate) allowed: u64,
    pub(crate) hints: Hints,
    /// Does some use have to be in a register?
    pub(crate) must: bool,
    /// Does it lie within one instruction?
    pub(crate) is_minimal: bool,
    /// Does nothing use it that would cost anything in memory?
    is_idle: bool,
    /// Does it live over a wall?
    pub(crate) crosses: bool,
}

/// What a register is worth to a bundle.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Worth {
    /// Price of having it in memory, in halves of a load by frequency.
    pub(crate) price: u64,
    /// Price of having it in memory only over walls.
    pub(crate) refill: u64,
    /// By point of its life.
    pub(crate) weight: u64,
    /// What it took to find out.
    pub(crate) steps: u64,
}

/// The price of having the values of a bundle in memory over walls only, as its uses are looked at in turn.
#[derive(Clone, Copy, Debug)]
struct Crossing {
    /// Loads after walls and what is finished.
    refill: u64,
    vreg: u32,
    /// The use before: how many walls come before it, its point and frequency.
    id: u32,
    point: u32,
    freq: u64,
    /// Stores before walls.
    stores: u64,
    /// Price of the first use, and twice the frequency of blocks that the value leaves after a wall.
    first: u64,
    loops: u64,
}

impl Default for Crossing {
    fn default() -> Crossing {
        Crossing { refill: 0, vreg: NONE, id: 0, point: 0, freq: 0, stores: 0, first: 0, loops: 0 }
    }
}

impl Crossing {
    /// The value lives on behind a wall after its last use in a block: round a loop, or further on.
    fn tail(&mut self, id: u32, freq: u64) {
        if id != self.id {
            self.loops = self.loops.saturating_add(2 * freq);
        }
    }
}

/// Registers that would save moves, and how much.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Hints {
    list: [(u8, u64); 4],
    len: usize,
}

impl Hints {
    pub(crate) fn add(&mut self, register: usize, worth: u64) {
        let register = register as u8;
        if let Some(hint) = self.list[..self.len].iter_mut().find(|hint| hint.0 == register) {
            hint.1 = hint.1.saturating_add(worth);
        } else if self.len < self.list.len() {
            self.list[self.len] = (register, worth);
            self.len += 1;
        }
    }

    /// What a register saves.
    pub(crate) fn worth(&self, register: usize) -> u64 {
        let hint = self.list[..self.len].iter().find(|hint| usize::from(hint.0) == register);
        hint.map_or(0, |hint| hint.1)
    }

    /// The hinted registers as a mask.
    pub(crate) fn mask(&self) -> u64 {
        self.list[..self.len].iter().fold(0, |mask, hint| mask | 1 << hint.0)
    }

    /// The member of a set that saves most, the first one if none does.
    pub(crate) fn best(&self, set: u64) -> Option<usize> {
        let hinted = self.list[..self.len].iter().filter(|hint| set >> hint.0 & 1 != 0);
        let best = hinted.fold(None, |best: Option<(u8, u64)>, &hint| match best {
            Some(old) if old.1 >= hint.1 => best,
            _ => Some(hint),
        });
        match best {
            Some((register, _)) => Some(usize::from(register)),
            None => (set != 0).then(|| set.trailing_zeros() as usize),
        }
    }
}

impl Search<'_, '_> {
    /// Is it an argument or a parameter whose other side shares the slot, so that nothing need be done in memory?
    pub(crate) fn is_internal(&self, u: &Use) -> bool {
        u.operand == NONE
            && u.partner != NONE
            && self.bundles.family_of[u.partner as usize] == self.bundles.family_of[u.vreg.as_u32() as usize]
    }

    /// What a use needs by now.
    pub(crate) fn need(&self, u: &Use) -> Need {
        if u.operand != NONE && self.machine.fixed(u.operand as usize).is_some() {
            return Need::Copy;
        }
        self.unfixed_need(u, self.live.remat(u.vreg).is_some())
    }

    fn unfixed_need(&self, u: &Use, is_remat: bool) -> Need {
        match u.need {
            Need::Soft if is_remat && !u.is_def => {
                match self.machine.is_forced(self.order.inst(self.problem, u.point)) {
                    true => Need::Soft,
                    false => Need::Reg,
                }
            }
            need => need,
        }
    }

    /// What the bundle wants, which lives over a wall or not.
    pub(crate) fn wants(&mut self, bundle: u32, crosses: bool) -> Wants {
        let segments = self.bundles.segments(bundle);
        let class = self.problem.class(segments[0].vreg);
        let is_minimal = segments[0].from / 4 == (segments[segments.len() - 1].to - 1) / 4;
        let (allowed, hints) = (self.machine.registers.all[class.index()], Hints::default());
        let mut w = Wants { class, allowed, hints, must: false, is_minimal, is_idle: true, crosses };
        let mut steps = 0;
        for segment in segments {
            steps += 1;
            if !self.live.is_special(segment.vreg) && !self.machine.has_forced {
                w.must |= !segment.uses().is_empty();
            } else {
                steps += self.add_uses(segment, &mut w);
            }
            if !self.machine.is_plain() {
                let lost = self.machine.lost(self.problem, *segment);
                w.crosses |= lost != 0;
                w.allowed &= !lost;
            }
        }
        self.stats.steps += steps;
        w
    }

    /// Adds what the uses of a segment want.
    fn add_uses(&self, segment: &Segment, w: &mut Wants) -> u64 {
        let remat = self.live.remat(segment.vreg).is_some();
        for u in self.live.uses_at(segment.uses()) {
            let fixed = self.fixed_at(u);
            let need = if fixed.is_some() { Need::Copy } else { self.unfixed_need(u, remat) };
            match need {
                Need::Reg => w.must = true,
                Need::Within => {
                    w.must = true;
                    w.allowed &= self.machine.registers.mask(w.class, self.problem.reg_set(u.set()));
                }
                _ => w.is_idle &= self.units(u, need, remat) == 0,
            }
            self.add_hints(u, fixed, &mut w.hints);
        }
        segment.uses().len() as u64
    }

    /// Would it cost nothing to have the bundle in memory?
    pub(crate) fn is_worthless(&self, bundle: u32, w: &Wants) -> bool {
        !w.must
            && (w.is_minimal || w.is_idle || self.entry_price(bundle) > 0 && self.worth(bundle, w.crosses).price == 0)
    }

    fn fixed_at(&self, u: &Use) -> Option<PReg> {
        if u.operand == NONE { None } else { self.machine.fixed(u.operand as usize) }
    }

    /// What one run of a use costs if the value is in memory.
    fn units(&self, u: &Use, need: Need, remat: bool) -> u64 {
        match need {
            Need::Slot => 0,
            _ if remat && u.is_def || self.is_internal(u) => 0,
            Need::Soft => 1,
            _ if remat => 1,
            _ => 2,
        }
    }

    /// What a register is worth to the bundle, which lives over a wall or not.
    pub(crate) fn worth(&self, bundle: u32, crosses: bool) -> Worth {
        let segments = self.bundles.segments(bundle);
        let (mut price, mut length, mut steps) = (0u64, 0, 0);
        let mut must = false;
        let mut place = &self.order.places[0];
        let mut over = Crossing::default();
        for segment in segments {
            length += u64::from(segment.to - segment.from);
            steps += 1 + segment.uses().len() as u64;
            let remat = self.live.remat(segment.vreg).is_some();
            for u in self.live.uses_at(segment.uses()) {
                if u.point >= place.stop() || u.point < place.start() {
                    place = self.order.place_at(u.point);
                }
                let need = if self.fixed_at(u).is_some() { Need::Copy } else { self.unfixed_need(u, remat) };
                must |= matches!(need, Need::Reg | Need::Within);
                let units = self.units(u, need, remat);
                price = price.saturating_add(units * place.freq);
                if units > 0 && crosses {
                    let point = if u.is_def { u.to() - 1 } else { u.from() };
                    let id = self.machine.walls_before(point);
                    self.note_crossing(&mut over, u, id, units, place.freq);
                }
            }
            let walls = |point| self.machine.walls_before(point);
            if crosses && walls(segment.from) != walls(segment.to - 1) && self.is_live_past(segment.to) {
                over.tail(walls(segment.to - 1), self.order.freq_at(segment.to - 1));
            }
        }
        let is_minimal = segments[0].from / 4 == (segments[segments.len() - 1].to - 1) / 4;
        let refill = self.finish_crossing(&over);
        let price = price.saturating_sub(self.entry_price(bundle));
        let worth = if crosses { refill.min(price) } else { price };
        let weight = match must && is_minimal {
            true => MINIMAL,
            false => ((u128::from(worth) << 12) / u128::from(length + LENGTH_BIAS)).min(u128::from(UNKNOWN - 1)) as u64,
        };
        Worth { price, refill, weight, steps }
    }

    /// Adds a use to the price of having a value in memory over walls only.
    fn note_crossing(&self, over: &mut Crossing, u: &Use, id: u32, units: u64, freq: u64) {
        if over.vreg != u.vreg.as_u32() {
            over.refill = self.finish_crossing(over);
            *over = Crossing { refill: over.refill, vreg: u.vreg.as_u32(), ..Crossing::default() };
        } else if id != over.id && !u.is_def {
            let wall = self.hottest_wall(over.point, u.from());
            over.refill = over.refill.saturating_add(units * freq.min(wall));
            over.stores = over.stores.saturating_add(2 * over.freq.min(wall));
        }
        if over.first == 0 {
            over.first = units * freq;
        }
        (over.id, over.point, over.freq) = (id, u.point, freq);
    }

    /// The refill price with what belongs to the last value.
    fn finish_crossing(&self, over: &Crossing) -> u64 {
        if over.vreg == NONE {
            return 0;
        }
        let vreg = VReg::from_u32(over.vreg);
        let loops = over.first.min(over.loops);
        let stores = over.stores.saturating_add(over.freq.min(over.loops));
        let at_def = if self.live.remat(vreg).is_some() { 0 } else { 2 * self.order.freq_at(self.live.def(vreg)) };
        over.refill.saturating_add(loops).saturating_add(stores.min(at_def))
    }

    /// The highest frequency of the walls between two points, of which a few are looked at.
    fn hottest_wall(&self, from: u32, to: u32) -> u64 {
        let walls = self.machine.walls_before(from)..self.machine.walls_before(to);
        let freqs = walls.take(MAX_WALLS).map(|wall| self.order.freq_at(self.machine.wall(wall)));
        freqs.max().unwrap_or(0)
    }

    /// What it costs to bring a part that begins in memory into its register.
    fn entry_price(&self, bundle: u32) -> u64 {
        let first = self.bundles.segments(bundle)[0];
        match self.live.def(first.vreg) == first.from {
            true => 0,
            false => (if self.live.remat(first.vreg).is_some() { 1 } else { 2 }) * self.order.freq_at(first.from),
        }
    }

    /// Is the point where a segment ends the end of a block, where the value may live on?
    fn is_live_past(&self, end: u32) -> bool {
        end.is_multiple_of(4) && (end as usize / 4 >= self.order.num_slots() || self.order.place_at(end).start() == end)
    }

    /// Adds the registers that a use would like, which may be in a fixed one.
    fn add_hints(&self, u: &Use, fixed: Option<PReg>, hints: &mut Hints) {
        let registers = &self.machine.registers;
        if let Some(reg) = fixed {
            hints.add(registers.number(reg), self.order.freq_at(u.point));
        }
        if u.partner != NONE {
            let family = self.bundles.family_of[u.partner as usize];
            if family == NONE || family == self.bundles.family_of[u.vreg.as_u32() as usize] {
                return;
            }
            let class = self.problem.class(u.vreg);
            if let Some(reg) = self.bundles.families[family as usize].hint.filter(|reg| reg.class() == class) {
                hints.add(registers.number(reg), self.order.freq_at(u.point));
            }
        }
    }
}
