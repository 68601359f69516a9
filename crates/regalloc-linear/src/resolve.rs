//! What the edges must move (`edges.rs`), what is read from memory, and where each spilled value is stored.
//!
//! ```text
//! b1: .. v0 in r1 ..; jump b3 ─┐
//! b2: .. v0 in memory; jump b3 ┴▶ b3: v0 in r2       b1 gets  move r2 <- r1,  b2 gets  fill r2 <- slot of v0
//! ```
//!
//! A spilled value is stored once, right after its definition, so that all later splits into memory are free; or, if that
//! is cheaper by the blocks' frequencies, wherever it leaves a register for memory (a value from a hot block that is
//! spilled on a cold path only). Values that can be computed again are never stored.
//!
//! Cost: linear in stays, gap moves, and edges times registers.

use crate::edges::EdgeMoves;
use crate::hints::Hints;
use crate::residence::Stay;
use crate::values::NONE;
use crate::values::{Values, fact};
use crate::walk::{Found, GapMove};
use cranelift_entity::EntityRef;
use kingpost_regalloc::{Allocation, Inst, Problem, VReg};
use kingpost_regalloc_common::order::LinearOrder;
use kingpost_regalloc_common::point::{Position, ProgPoint};
use kingpost_regalloc_common::preference::Registers;

/// A place inside a block where a value leaves its register for memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Leaving {
    pub(crate) inst: Inst,
    pub(crate) vreg: VReg,
    pub(crate) stay: u32,
}

/// A value to be stored after the instruction that defines it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Stored {
    /// The instruction after that.
    pub(crate) before: Inst,
    pub(crate) vreg: VReg,
}

#[derive(Default)]
pub(crate) struct Resolved {
    pub(crate) edges: EdgeMoves,
    pub(crate) leaving: Vec<Leaving>,
    /// In the order of instructions; values that begin with their blocks are not among them.
    pub(crate) stored: Vec<Stored>,
    /// Values with slots, in order.
    pub(crate) in_slots: Vec<VReg>,
    /// By value: price of storing it wherever it leaves a register.
    leaving_freq: Vec<u64>,
    /// Safepoints, by slot.
    safepoints: Vec<Position>,
    /// References in memory at safepoints.
    pub(crate) references: Vec<(Inst, VReg)>,
}

pub(crate) struct Input<'a> {
    pub(crate) problem: &'a Problem,
    pub(crate) registers: &'a Registers,
    pub(crate) order: &'a LinearOrder,
    pub(crate) hints: &'a Hints,
}

impl Resolved {
    pub(crate) fn build(&mut self, input: &Input<'_>, values: &mut Values, found: &Found, out: &Allocation) {
        self.begin(input.problem);
        self.read_gaps(values, found);
        self.edges.build(input, values, found, out, &mut self.leaving_freq);
        self.find_leaving(input, values, found);
        self.find_references(input, values);
        self.choose_stores(input, values);
    }

    fn begin(&mut self, problem: &Problem) {
        let values = problem.vregs.len();
        self.leaving.clear();
        self.stored.clear();
        self.in_slots.clear();
        self.leaving_freq.clear();
        self.leaving_freq.resize(values, 0);
        self.references.clear();
    }

    fn read_gaps(&self, values: &mut Values, found: &Found) {
        for gap in &found.gaps {
            for m in &found.gap_moves[gap.moves.start as usize..gap.moves.end as usize] {
                if is_needed(&found.residence.stays, m) && !is_from_reg(&found.residence.stays, m, gap.point) {
                    values.note_read(m.vreg);
                }
            }
        }
    }

    fn find_leaving(&mut self, input: &Input<'_>, values: &mut Values, found: &Found) {
        let stays = &found.residence.stays;
        for &id in &found.residence.evicted {
            let stay = &stays[id as usize];
            if stay.is_void() || stay.continued || values.is_remat(stay.vreg) {
                continue;
            }
            let slot = stay.to.position();
            let place = input.order.block_at(slot);
            // At a block's head the edges see to it.
            if place.head == slot {
                continue;
            }
            let mut source = id;
            if stay.from == ProgPoint::before(slot) {
                // The stay is as short as one instruction: what counts is where the value was before.
                match stays.get(stay.prev as usize) {
                    Some(prev) if prev.to == stay.from && !prev.is_void() => source = stay.prev,
                    _ => continue,
                }
            }
            self.leaving.push(Leaving { inst: place.inst(slot), vreg: stay.vreg, stay: source });
            let freq = &mut self.leaving_freq[stay.vreg.index()];
            *freq = freq.saturating_add(place.freq.0);
        }
        self.leaving.sort_unstable();
    }

    /// References that live across a safepoint are in memory there.
    fn find_references(&mut self, input: &Input<'_>, values: &mut Values) {
        self.safepoints.clear();
        let safepoints = input.hints.obstacles.iter().filter(|o| o.safepoint);
        self.safepoints.extend(safepoints.map(|o| o.slot));
        if self.safepoints.is_empty() {
            return;
        }
        for (vreg, data) in input.problem.vregs.iter() {
            if !data.is_ref || values.is_remat(vreg) {
                continue;
            }
            let Values { list, ranges, .. } = &mut *values;
            let value = &mut list[vreg.index()];
            for range in &ranges[value.ranges[0] as usize..value.ranges[1] as usize] {
                let first = self.safepoints.partition_point(|&slot| ProgPoint::early(slot) < range.from);
                for &slot in self.safepoints[first..].iter().take_while(|&&slot| ProgPoint::late(slot) < range.to) {
                    self.references.push((input.order.block_at(slot).inst(slot), vreg));
                    value.facts |= fact::MEM_READ;
                }
            }
        }
    }

    /// Where values are stored, and which ones need slots.
    fn choose_stores(&mut self, input: &Input<'_>, values: &mut Values) {
        for (index, value) in values.list.iter_mut().enumerate() {
            if !value.has(fact::MEM_READ) {
                continue;
            }
            let vreg = VReg::new(index);
            let is_remat = value.is_remat();
            if !is_remat || value.has(fact::IN_OPERAND) {
                value.facts |= fact::IN_SLOT;
                self.in_slots.push(vreg);
            }
            if is_remat || value.has(fact::DEF_IN_MEM) {
                continue;
            }
            let slot = value.def.position();
            let place = input.order.block_at(slot);
            if !value.has(fact::FORCE_STORE) && self.leaving_freq[index] < place.freq.0 {
                value.facts |= fact::STORED_LATE;
                continue;
            }
            value.facts |= fact::STORED_AT_DEF;
            if !value.has(fact::AT_HEAD) {
                self.stored.push(Stored { before: place.inst(slot.next()), vreg });
            }
        }
        self.stored.sort_unstable();
    }
}

/// Does the move still have a purpose?
pub(crate) fn is_needed(stays: &[Stay], m: &GapMove) -> bool {
    m.stay == NONE || !stays[m.stay as usize].is_void()
}

/// Is the value still in the register that the move was to read?
pub(crate) fn is_from_reg(stays: &[Stay], m: &GapMove, point: ProgPoint) -> bool {
    stays.get(m.from as usize).is_some_and(|stay| !stay.is_void() && stay.to >= point)
}
