//! The choice of a free register for a value.

use crate::color_input::ColorInput;
use crate::coloring::Coloring;
use crate::demands::Hints;
use crate::picker::Picker;
use crate::uses::LIVE_OUT;
use cranelift_entity::EntityRef;
use kingpost_regalloc::{PReg, PRegSet, RegClass, VReg};
use kingpost_regalloc_common::point::{PointRange, Position, ProgPoint};

/// Number of clobber points ahead that are examined.
const LOOKAHEAD: usize = 8;
/// Number of steps along the values that a value flows into.
const FLOW_STEPS: usize = 10;

// Penalties and bonuses of a register for a value: the lowest sum is best.
const TAKEN_LATER: i32 = 8;
const RESERVED: i32 = 3;
const FRESH_SAVED: i32 = 5;
const CLOSED: i32 = 40;
const CLASS_HINT: i32 = -12;
const FLOW_HINT: i32 = -8;
const FIXED_HINT: i32 = -10;

impl Coloring {
    /// Returns the best register in `free` for a value that is live up to `end` in this block, from the current
    /// instruction on.
    #[inline(always)]
    pub(crate) fn pick(&self, input: &ColorInput, vreg: VReg, end: ProgPoint, free: PRegSet) -> Option<PReg> {
        let hints = self.hints(input, vreg, end);
        self.choose_open(input, input.problem.class(vreg), &hints, free)
    }

    /// Returns the best open register of a class among the registers in `free`, or the best closed one if none is
    /// open.
    #[inline(always)]
    pub(crate) fn choose_open(
        &self,
        input: &ColorInput,
        class: RegClass,
        hints: &Hints,
        free: PRegSet,
    ) -> Option<PReg> {
        let free = free.mask(class);
        let open = free & input.spills.open.mask(class);
        self.choose(input, class, hints, if open != 0 { open } else { free })
    }

    /// Returns the hints of a value that is live up to `end` in this block, from the current instruction on.
    #[inline(always)]
    pub(crate) fn hints(&self, input: &ColorInput, vreg: VReg, end: ProgPoint) -> Hints {
        let class = input.hints.get(vreg);
        let flow = if class.is_some() { None } else { flow_hint(input, vreg) };
        let mut hints = Hints { class, flow, fixed: None, bad: PRegSet::EMPTY };
        if self.picker.point_at < self.picker.end {
            self.look_ahead(input, vreg, end, &mut hints);
        }
        hints
    }

    /// Adds the effects of clobber points in the remaining block on the value.
    #[inline(never)]
    fn look_ahead(&self, input: &ColorInput, vreg: VReg, end: ProgPoint, hints: &mut Hints) {
        let Picker { at, end: block_end, point, .. } = self.picker;
        let live = PointRange::new(ProgPoint::after(at), end);
        let (mut bad, mut taken, mut fixed) = (PRegSet::EMPTY, PRegSet::EMPTY, None);
        // The fixed register may belong to the copy that this value flows into, after its own live range.
        let next = input.constraints.fixed_hint(vreg).filter(|&(_, to)| to > at && to < block_end);
        let until = next.map_or(end, |(_, to)| end.max(ProgPoint::late(to))).min(ProgPoint::before(block_end));
        let points = input.constraints.clobber_points.get(point..).unwrap_or_default().iter();
        let ahead = points.take(LOOKAHEAD).take_while(|point| ProgPoint::early(point.position) < until);
        for point in ahead.filter(|point| point.position > at) {
            if let Some((reg, _)) = next.filter(|&(_, to)| to == point.position) {
                fixed = Some(reg).filter(|&reg| !taken.contains(reg));
            }
            taken = taken.union(input.constraints.taken(point).all());
            bad = bad.union(input.constraints.taken_from(point, live));
        }
        if let Some(reg) = fixed {
            bad.remove(reg);
        }
        (hints.fixed, hints.bad) = (fixed, bad);
    }

    /// Returns the best register of a class among the registers in `free`.
    #[inline(always)]
    fn choose(&self, input: &ColorInput, class: RegClass, hints: &Hints, free: u64) -> Option<PReg> {
        let good = free & !hints.bad.mask(class);
        let is_good = |reg: &PReg| reg.class() == class && good >> reg.enc() & 1 != 0;
        let Hints { class: of_class, fixed, flow, .. } = *hints;
        // A value that flows into another one should be in its register, except if it lives on elsewhere.
        let hinted = of_class.filter(is_good).or_else(|| fixed.filter(is_good)).or_else(|| flow.filter(is_good));
        if hinted.is_some() {
            return hinted;
        }
        let fresh = input.constraints.callee_saved.mask(class) & !self.assignment.used.mask(class);
        let worn = input.spills.open.mask(class) & !fresh;
        let narrow = |set: u64, by: u64| if set & by != 0 { set & by } else { set };
        let set = match good & worn {
            0 if good == 0 => narrow(free, worn),
            0 => good,
            good => narrow(good, !self.picker.reserved.mask(class)),
        };
        input.hints.preferences[class.index()].best(class, set)
    }

    /// Returns the penalty of a register for a value.
    pub(crate) fn penalty(&self, input: &ColorInput, hints: &Hints, reg: PReg) -> i32 {
        let mut penalty = 0;
        penalty += if hints.bad.contains(reg) { TAKEN_LATER } else { 0 };
        penalty += if hints.class == Some(reg) { CLASS_HINT } else { 0 };
        penalty += if hints.fixed == Some(reg) { FIXED_HINT } else { 0 };
        penalty += if hints.flow == Some(reg) { FLOW_HINT } else { 0 };
        penalty += if self.picker.reserved.contains(reg) { RESERVED } else { 0 };
        let fresh = input.constraints.callee_saved.contains(reg) && !self.assignment.used.contains(reg);
        penalty += if fresh { FRESH_SAVED } else { 0 };
        penalty + if input.spills.open.contains(reg) { 0 } else { CLOSED }
    }

    /// Returns an estimate of the end of the live range in this block: the next use of a value that is live here.
    pub(crate) fn known_end(&self, vreg: VReg) -> ProgPoint {
        let first = self.picker.head.as_u32() + 1;
        let use_at = first.saturating_add(self.map.values[vreg.index()].distance);
        if use_at >= self.picker.end.as_u32() { LIVE_OUT } else { ProgPoint::late(Position::new(use_at)) }
    }
}

/// Returns the hint of the nearest class with a hint that the value flows into.
#[inline]
fn flow_hint(input: &ColorInput, vreg: VReg) -> Option<PReg> {
    let mut vreg = vreg;
    for _ in 0..FLOW_STEPS {
        vreg = input.constraints.flows_into(vreg)?;
        if let Some(hint) = input.hints.get(vreg) {
            return Some(hint);
        }
    }
    None
}
