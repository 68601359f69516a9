//! The facts of each value, in one cache line: every stage fills in its part and reads the parts of other stages,
//! and code that reads one field of a value mostly reads more.

use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntityRef, entity_impl};
use kingpost_regalloc::meter::heap_bytes;
use kingpost_regalloc::{Inst, Problem, RegClass, Slot, VReg};
use kingpost_regalloc_common::live_blocks::{DefsAndUses, LiveUse};
use kingpost_regalloc_common::point::{PointRange, Position, ProgPoint};
use kingpost_regalloc_common::preference::Reg;
use std::ops::{Index, IndexMut, Range};

/// The end of a list.
pub(crate) const NONE: u32 = u32::MAX;

/// A split interval.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct IntervalId(u32);
entity_impl!(IntervalId, "interval ");

/// A use, and the index of its value's next use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Use {
    pub(crate) point: ProgPoint,
    /// Index of the next use, or [`NONE`].
    pub(crate) next: u32,
}

/// Facts about a value: the bits of [`Value::facts`].
pub(crate) mod flag {
    /// The value is defined on an edge, as a result of a terminator.
    pub(crate) const EDGE_DEF: u32 = 1;
    /// The value is defined at the head of its block: a block parameter, or a result of a terminator.
    pub(crate) const AT_HEAD: u32 = 1 << 1;
    /// The live range is a superset of the exact one.
    pub(crate) const HULL: u32 = 1 << 2;
    /// The value is used outside the run of blocks that defines it.
    pub(crate) const GLOBAL: u32 = 1 << 3;
    /// The value is a reference.
    pub(crate) const REF: u32 = 1 << 4;
    /// The value has a slot.
    pub(crate) const IN_SLOT: u32 = 1 << 15;
    /// The value is of the float class.
    pub(crate) const FLOAT: u32 = 1 << 14;
    /// The value is rematerializable and has been in registers since its definition; valid while it is in one.
    pub(crate) const REG_SINCE_DEF: u32 = 1 << 5;
    /// An instruction or edge reads the value from memory.
    pub(crate) const MEM_READ: u32 = 1 << 6;
    /// An instruction operand reads the value from memory.
    pub(crate) const IN_OPERAND: u32 = 1 << 7;
    /// The value is defined in memory, by an instruction that modifies its slot in place: the slot holds the tied
    /// source before.
    pub(crate) const PAIR_IN_MEM: u32 = 1 << 8;
    /// The definition of the value, or the edges that pass it, write its slot.
    pub(crate) const DEF_IN_MEM: u32 = 1 << 9;
    /// The slot must also be valid while the value is in a register.
    pub(crate) const FORCE_STORE: u32 = 1 << 10;
    /// The value is rematerializable, but its definition is kept because its register is read.
    pub(crate) const NEEDS_DEF_REG: u32 = 1 << 11;
    /// An edit stores the value after its definition.
    pub(crate) const STORED_AT_DEF: u32 = 1 << 12;
    /// Edits store the value at each spill point.
    pub(crate) const STORED_LATE: u32 = 1 << 13;
}

/// One value.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Value {
    /// Its definition.
    pub(crate) def: ProgPoint,
    /// The last use, or [`ProgPoint::FIRST`].
    pub(crate) last: ProgPoint,
    /// Index of the next use, or [`NONE`]. It is the first use until the scan reaches it.
    pub(crate) next: u32,
    /// The use before that, or [`ProgPoint::FIRST`].
    pub(crate) before: ProgPoint,
    /// Its part of [`Values::ranges`], half-open.
    pub(crate) ranges: [u32; 2],
    /// Index of the current or next live range of the scan. After the scan, index of the slot in [`Values::slots`]
    /// if the value is [`flag::IN_SLOT`].
    pub(crate) cursor: u32,
    /// The first point of that range.
    pub(crate) from: ProgPoint,
    /// The point after that range.
    pub(crate) until: ProgPoint,
    /// The position of the fixed operand that `hint` comes from.
    pub(crate) hint_at: Position,
    /// The copy-related value: the block parameter, tied result or copy whose source it is.
    pub(crate) flows_into: PackedOption<VReg>,
    /// The instruction that rematerializes it.
    pub(crate) remat: PackedOption<Inst>,
    /// For a block parameter, its first use other than by edges that pass it on.
    pub(crate) first_use: ProgPoint,
    /// Its last split interval.
    pub(crate) interval: PackedOption<IntervalId>,
    /// Bits of [`fact`], and the logarithm of the width in bytes above them.
    pub(crate) facts: u32,
    /// Its current register. During resolution, if the target of the current edge defines it, its register there.
    pub(crate) current_reg: Reg,
    /// Register hint: the register of the fixed operand that it flows into.
    pub(crate) hint: Reg,
    /// Its register at the end of the predecessor, while a block's entry or an edge is processed.
    pub(crate) edge_reg: Reg,
    /// Its last register; before its definition, the register of the first value that flows into it.
    pub(crate) last_reg: Reg,
}

/// Returns a value without any facts.
fn unknown() -> Value {
    Value {
        def: ProgPoint::OPEN,
        last: ProgPoint::FIRST,
        next: NONE,
        before: ProgPoint::FIRST,
        ranges: [0; 2],
        cursor: 0,
        from: ProgPoint::FIRST,
        until: ProgPoint::FIRST,
        hint_at: Position::new(0),
        flows_into: None.into(),
        remat: None.into(),
        first_use: ProgPoint::FIRST,
        interval: None.into(),
        facts: 0,
        current_reg: Reg::NONE,
        hint: Reg::NONE,
        edge_reg: Reg::NONE,
        last_reg: Reg::NONE,
    }
}

/// Position of the width's logarithm in [`Value::facts`].
const WIDTH_SHIFT: u32 = 16;

impl Value {
    /// Returns the width in bytes.
    pub(crate) fn width(&self) -> u8 {
        1 << (self.facts >> WIDTH_SHIFT & 7)
    }

    pub(crate) fn class(&self) -> usize {
        usize::from(self.has(flag::FLOAT))
    }

    /// Returns `true` if any of these facts holds.
    pub(crate) fn has(&self, facts: u32) -> bool {
        self.facts & facts != 0
    }

    pub(crate) fn is_ref(&self) -> bool {
        self.has(flag::REF)
    }

    pub(crate) fn is_remat(&self) -> bool {
        self.remat.is_some()
    }

    pub(crate) fn is_used(&self) -> bool {
        self.last != ProgPoint::FIRST
    }

    /// Adds the only live range.
    pub(crate) fn add_range(&mut self, range: PointRange, ranges: &mut Vec<PointRange>) {
        let at = ranges.len() as u32;
        ranges.push(range);
        self.ranges = [at, at + 1];
        self.cursor = at;
        (self.from, self.until) = (range.from, range.to);
    }

    /// Moves the cursor to the first live range.
    pub(crate) fn begin_ranges(&mut self, ranges: &[PointRange]) {
        let [start, end] = self.ranges;
        self.cursor = start;
        if let Some(first) = ranges[..end as usize].get(start as usize) {
            (self.from, self.until) = (first.from, first.to);
        }
    }

    /// Advances the cursor to the live range that ends after `point`, or to the last one.
    fn next_range(&mut self, ranges: &[PointRange], point: ProgPoint) {
        while self.until <= point && self.cursor + 1 < self.ranges[1] {
            self.cursor += 1;
            let range = ranges[self.cursor as usize];
            (self.from, self.until) = (range.from, range.to);
        }
    }

    pub(crate) fn flows_into(&self) -> Option<VReg> {
        self.flows_into.expand()
    }
}

/// The values of one problem, with their uses and ranges.
#[derive(Default)]
pub(crate) struct Values {
    pub(crate) list: Vec<Value>,
    pub(crate) uses: Vec<Use>,
    pub(crate) ranges: Vec<PointRange>,
    /// Slots of values in memory, by [`Value::cursor`].
    pub(crate) slots: Vec<Slot>,
    /// Whether any value is a reference.
    pub(crate) has_refs: bool,
}

heap_bytes!(Values { list, uses, ranges, slots } without { has_refs });

impl Index<VReg> for Values {
    type Output = Value;

    fn index(&self, vreg: VReg) -> &Value {
        &self.list[vreg.index()]
    }
}

impl IndexMut<VReg> for Values {
    fn index_mut(&mut self, vreg: VReg) -> &mut Value {
        &mut self.list[vreg.index()]
    }
}

impl Values {
    /// Prepares for a problem.
    pub(crate) fn begin(&mut self, problem: &Problem) {
        self.uses.clear();
        self.ranges.clear();
        self.has_refs = false;
        self.list.clear();
        self.list.extend(problem.vregs.values().map(|data| {
            let float = if data.class == RegClass::Float { flag::FLOAT } else { 0 };
            let is_ref = if data.is_ref { flag::REF } else { 0 };
            self.has_refs |= data.is_ref;
            Value { facts: float | is_ref | data.width.trailing_zeros() << WIDTH_SHIFT, ..unknown() }
        }));
    }

    /// Adds facts.
    pub(crate) fn set(&mut self, vreg: VReg, facts: u32) {
        self[vreg].facts |= facts;
    }

    /// Records that an instruction or edge reads the value from memory, unless it is rematerialized instead.
    pub(crate) fn note_read(&mut self, vreg: VReg) {
        let value = &mut self[vreg];
        value.facts |= if value.is_remat() { 0 } else { flag::MEM_READ };
    }

    pub(crate) fn has(&self, vreg: VReg, facts: u32) -> bool {
        self[vreg].has(facts)
    }

    pub(crate) fn def(&self, vreg: VReg) -> ProgPoint {
        self[vreg].def
    }

    /// Returns `true` if the value is defined on an edge, as a result of a terminator.
    pub(crate) fn is_edge_def(&self, vreg: VReg) -> bool {
        self.has(vreg, flag::EDGE_DEF)
    }

    /// Returns `true` if the value is defined at the head of its block.
    pub(crate) fn is_at_head(&self, vreg: VReg) -> bool {
        self.has(vreg, flag::AT_HEAD)
    }

    /// Returns `true` if the live ranges are exact.
    pub(crate) fn is_exact(&self, vreg: VReg) -> bool {
        !self.has(vreg, flag::HULL)
    }

    pub(crate) fn is_used(&self, vreg: VReg) -> bool {
        self[vreg].is_used()
    }

    /// Returns the register hint, and the position of the fixed operand that it comes from.
    pub(crate) fn hint(&self, vreg: VReg) -> (Reg, Position) {
        let value = &self[vreg];
        (value.hint, value.hint_at)
    }

    /// Returns the copy-related value that this one flows into.
    pub(crate) fn flows_into(&self, vreg: VReg) -> Option<VReg> {
        self[vreg].flows_into()
    }

    /// Returns the instruction that rematerializes the value.
    pub(crate) fn remat(&self, vreg: VReg) -> Option<Inst> {
        self[vreg].remat.expand()
    }

    pub(crate) fn is_remat(&self, vreg: VReg) -> bool {
        self[vreg].is_remat()
    }

    /// Returns the current register of the value.
    pub(crate) fn current_reg(&self, vreg: VReg) -> Reg {
        self[vreg].current_reg
    }

    /// Returns the open split interval, if the value is in a register.
    pub(crate) fn current_interval(&self, vreg: VReg) -> PackedOption<IntervalId> {
        let value = &self[vreg];
        if value.current_reg.is_none() { None.into() } else { value.interval }
    }

    /// Returns the value's slot, if it is ever in memory.
    pub(crate) fn slot(&self, vreg: VReg) -> Option<Slot> {
        let value = &self[vreg];
        value.has(flag::IN_SLOT).then(|| self.slots[value.cursor as usize])
    }

    /// Returns the uses from index `index` on, which may be [`NONE`].
    pub(crate) fn uses_from(&self, mut index: u32) -> impl Iterator<Item = ProgPoint> {
        std::iter::from_fn(move || {
            let at = self.uses.get(index as usize)?;
            index = at.next;
            Some(at.point)
        })
    }

    /// Returns the use with an index, or `None` for [`NONE`].
    pub(crate) fn use_at(&self, index: u32) -> Option<Use> {
        self.uses.get(index as usize).copied()
    }

    /// Returns the live ranges in ascending order, no two of them adjacent.
    pub(crate) fn ranges(&self, vreg: VReg) -> &[PointRange] {
        let [start, end] = self[vreg].ranges;
        &self.ranges[Range { start: start as usize, end: end as usize }]
    }

    /// Returns `true` if the value is live at `point`. Points may come in any order.
    pub(crate) fn is_live_at(&self, vreg: VReg, point: ProgPoint) -> bool {
        match self.ranges(vreg) {
            [only] => only.from <= point && point < only.to,
            ranges => {
                let next = ranges.partition_point(|range| range.to <= point);
                ranges.get(next).is_some_and(|range| range.from <= point)
            }
        }
    }

    /// Returns the end of the last live range.
    pub(crate) fn end(&self, vreg: VReg) -> ProgPoint {
        self.ranges(vreg).last().map_or(self.def(vreg), |range| range.to)
    }
}

impl DefsAndUses for Values {
    fn def(&self, vreg: VReg) -> ProgPoint {
        self[vreg].def
    }

    fn last_use(&self, vreg: VReg) -> Option<ProgPoint> {
        let value = &self[vreg];
        value.is_used().then_some(value.last)
    }

    fn first_use(&self, vreg: VReg) -> u32 {
        self[vreg].next
    }

    fn use_at(&self, cursor: u32) -> Option<LiveUse> {
        let Use { point, next } = *self.uses.get(cursor as usize)?;
        Some(LiveUse { point, end: point.end_of_use(), next })
    }
}

/// Queries of the scan, whose points must not decrease.
impl Values {
    /// Returns the end of the range in which the value is live at `point`, or `point` if it is not.
    pub(crate) fn live_until(&mut self, vreg: VReg, point: ProgPoint) -> ProgPoint {
        self.live_until_mut(vreg, point).0
    }

    /// Returns the point of [`Values::live_until`], and the value.
    pub(crate) fn live_until_mut(&mut self, vreg: VReg, point: ProgPoint) -> (ProgPoint, &mut Value) {
        let value = &mut self.list[vreg.index()];
        if value.until <= point {
            value.next_range(&self.ranges, point);
        }
        let until = if value.from <= point && point < value.until { value.until } else { point };
        (until, value)
    }

    pub(crate) fn is_live(&mut self, vreg: VReg, point: ProgPoint) -> bool {
        self.live_until(vreg, point) > point
    }

    /// Advances the value to the first use at or after `point` and returns its index, or [`NONE`]. Takes at most
    /// one step for each use of the value in the whole scan, because it never moves back.
    pub(crate) fn find_use(&mut self, vreg: VReg, point: ProgPoint) -> u32 {
        let Values { list, uses, .. } = self;
        let value = &mut list[vreg.index()];
        while let Some(next) = uses.get(value.next as usize).filter(|next| next.point < point) {
            value.before = next.point;
            value.next = next.next;
        }
        value.next
    }

    /// Returns the first use at or after `point`, or the end of the last live range if there is none.
    pub(crate) fn next_use(&mut self, vreg: VReg, point: ProgPoint) -> ProgPoint {
        let next = self.find_use(vreg, point);
        self.use_at(next).map_or_else(|| self.end(vreg), |next| next.point)
    }
}
