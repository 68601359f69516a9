//! The answer of an allocator: a location for every operand, and all code that must be added.
//!
//! An allocation is complete. The emitted code consists of the original instructions without the dropped ones, with
//! their operands in [`Allocation::locs`], and of the edits. Prologue and epilogue save [`Allocation::saved`].

use crate::entities::{ClobberId, Inst, Slot};
use crate::problem::Problem;
use crate::reg::{PReg, PRegSet};
use cranelift_entity::{EntityRef, PrimaryMap};
use kingpost_meter::heap_bytes;
use std::fmt;

/// A register, a slot, or no location.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Loc(u32);

const SLOT: u32 = 1 << 31;

impl Loc {
    /// No location: the def of a dropped rematerializable instruction.
    pub const NONE: Loc = Loc(u32::MAX);

    /// Returns a register.
    pub const fn reg(reg: PReg) -> Loc {
        Loc(reg.index() as u32)
    }

    /// Returns a spill slot.
    ///
    /// # Panics
    /// If the slot's number is 2^31 - 1 or more.
    #[inline]
    pub fn slot(slot: Slot) -> Loc {
        assert!(slot.as_u32() < SLOT - 1, "slot number out of range");
        Loc(slot.as_u32() | SLOT)
    }

    /// Returns the register, or `None` for a slot or no location.
    #[inline]
    pub fn as_reg(self) -> Option<PReg> {
        (self.0 & SLOT == 0).then(|| PReg::from_index(self.0 as usize))
    }

    /// Returns the [`PReg::index`] of the location, which must be a register.
    pub fn reg_index(self) -> u8 {
        debug_assert!(self.as_reg().is_some(), "{self} is no register");
        self.0 as u8
    }

    /// Returns the slot, or `None` for a register or no location.
    pub fn as_slot(self) -> Option<Slot> {
        (self.0 & SLOT != 0 && self != Loc::NONE).then(|| Slot::from_u32(self.0 & !SLOT))
    }

    /// Returns `true` if this is [`Loc::NONE`].
    pub fn is_none(self) -> bool {
        self == Loc::NONE
    }
}

impl fmt::Display for Loc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.as_reg(), self.as_slot()) {
            (Some(reg), _) => write!(f, "{reg}"),
            (_, Some(slot)) => write!(f, "{slot}"),
            _ => f.write_str("none"),
        }
    }
}

impl fmt::Debug for Loc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Operation of one edit. Widths are bytes, such that [`RegClass::has_width`](crate::RegClass::has_width) holds; an
/// edit moves at least the width of the value it carries.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum EditKind {
    /// Register to register of one class.
    Move {
        /// Register that is read.
        from: PReg,
        /// Register that is written.
        to: PReg,
        /// Bytes moved.
        width: u8,
    },
    /// Exchange of the contents of two registers of one class.
    Exchange {
        /// First register.
        a: PReg,
        /// Second register.
        b: PReg,
        /// Bytes exchanged.
        width: u8,
    },
    /// Register to slot.
    Spill {
        /// Register that is read.
        from: PReg,
        /// Slot that is written.
        to: Slot,
        /// Bytes stored.
        width: u8,
    },
    /// Slot to register.
    Fill {
        /// Slot that is read.
        from: Slot,
        /// Register that is written.
        to: PReg,
        /// Bytes loaded.
        width: u8,
    },
    /// Slot to slot, only where [`ClassEnv::slot_move`](crate::ClassEnv) says the machine has it.
    SlotMove {
        /// Slot that is read.
        from: Slot,
        /// Slot that is written.
        to: Slot,
        /// Bytes moved.
        width: u8,
    },
    /// Repeats the rematerializable instruction `inst` with its def in `to`.
    Remat {
        /// An instruction of the problem with [`InstFlags::REMAT`](crate::InstFlags).
        inst: Inst,
        /// Register that is written.
        to: PReg,
    },
}

/// An edit and its place: it runs before instruction `at`, after the edits before `at` that precede it in the list.
///
/// Edits of an edge are placed before the predecessor's terminator if the edge is its only one, otherwise before
/// the first instruction of the successor; or earlier in the predecessor, if no other edge needs what they overwrite.
/// An edit after an instruction is placed before the next one. No edit
/// follows a terminator.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Edit {
    /// The instruction before which the edit runs.
    pub at: Inst,
    /// Operation.
    pub kind: EditKind,
}

/// Size and alignment of a spill slot.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SlotData {
    /// Size in bytes.
    pub size: u32,
    /// Alignment in bytes, a power of two.
    pub align: u32,
}

/// A live reference in `slot` at the safepoint `inst`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct StackMapEntry {
    /// The safepoint.
    pub inst: Inst,
    /// The slot with the reference.
    pub slot: Slot,
}

/// The answer to a [`LabelUse`](crate::LabelUse): the labeled value is in `loc` before each instruction in `from..to`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LabelRange {
    /// The label of the request.
    pub label: u32,
    /// Location of its value.
    pub loc: Loc,
    /// First instruction before which the claim holds.
    pub from: Inst,
    /// First instruction before which it no longer does.
    pub to: Inst,
}

/// Deterministic counters of one allocation.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Stats {
    /// Elementary steps that the allocator counted against its budget.
    pub steps: u64,
    /// Live ranges cut.
    pub splits: u32,
    /// Assignments that were revoked for another value.
    pub evictions: u32,
}

/// The answer to a [`Problem`].
#[derive(Clone, Debug, Default)]
pub struct Allocation {
    /// One location per operand of the problem, indexed by [`Problem::operand_range`].
    pub locs: Vec<Loc>,
    /// Edits, sorted by [`Edit::at`]; edits before one instruction run in this order.
    pub edits: Vec<Edit>,
    /// Spill slots. No two overlap.
    pub slots: PrimaryMap<Slot, SlotData>,
    /// Per class, the slot that parallel moves may use between two instructions. It never carries a value across an
    /// instruction.
    pub emergency: [Option<Slot>; 2],
    /// Callee-saved registers that operands or edits write, and no other registers. The prologue saves them. The
    /// epilogue restores them before a branch without successors runs, but after it has read registers that the
    /// problem does not name.
    pub saved: PRegSet,
    /// Slots that hold live references, per safepoint, sorted.
    pub stack_maps: Vec<StackMapEntry>,
    /// Locations of labeled values, sorted by label, then `from`. At each point at most one range answers a
    /// [`LabelUse`](crate::LabelUse).
    pub labels: Vec<LabelRange>,
    /// Counters.
    pub stats: Stats,
    /// One bit per instruction.
    dropped: Vec<u64>,
}

heap_bytes!(Allocation { locs, edits, slots, stack_maps, labels, dropped } without { emergency, saved, stats });

impl Allocation {
    /// Resets `self` to an empty answer to `problem`: no operand has a location.
    pub fn reset(&mut self, problem: &Problem) {
        self.locs.clear();
        self.locs.resize(problem.num_operands(), Loc::NONE);
        self.edits.clear();
        self.slots.clear();
        self.emergency = [None; 2];
        self.saved = PRegSet::EMPTY;
        self.stack_maps.clear();
        self.labels.clear();
        self.stats = Stats::default();
        self.dropped.clear();
        self.dropped.resize(problem.num_insts().div_ceil(64), 0);
    }

    /// Adds a slot of `width` bytes, aligned to its size.
    #[inline]
    pub fn add_slot(&mut self, width: u8) -> Slot {
        let size = u32::from(width);
        self.slots.push(SlotData { size, align: size.next_power_of_two() })
    }

    /// Returns the emergency slot of a class, made on first use and large enough for `width` bytes.
    pub fn emergency_slot(&mut self, class: crate::RegClass, width: u8) -> Slot {
        let slot = match self.emergency[class.index()] {
            Some(slot) => slot,
            None => {
                let slot = self.add_slot(width);
                self.emergency[class.index()] = Some(slot);
                slot
            }
        };
        let data = &mut self.slots[slot];
        data.size = data.size.max(u32::from(width));
        data.align = data.align.max(u32::from(width).next_power_of_two());
        slot
    }

    /// Drops an instruction: a move whose two operands share a location, or a rematerializable instruction whose
    /// def has no reader in its location.
    pub fn drop_inst(&mut self, inst: Inst) {
        self.dropped[inst.index() / 64] |= 1 << (inst.index() % 64);
    }

    /// Returns `true` if the instruction is dropped.
    pub fn is_dropped(&self, inst: Inst) -> bool {
        self.dropped.get(inst.index() / 64).is_some_and(|word| word >> (inst.index() % 64) & 1 != 0)
    }

    /// Keeps a dropped instruction again, for tests that plant faults.
    pub fn undrop_inst(&mut self, inst: Inst) {
        self.dropped[inst.index() / 64] &= !(1 << (inst.index() % 64));
    }

    /// Returns the locations of the operands of `inst`.
    #[inline]
    pub fn operand_locs(&self, problem: &Problem, inst: Inst) -> &[Loc] {
        &self.locs[problem.operand_range(inst)]
    }

    /// Sets `saved` to the members of `callee_saved` that a def or an edit writes.
    pub fn collect_saved(&mut self, problem: &Problem, callee_saved: PRegSet) {
        self.saved = self.written(problem).intersection(callee_saved);
    }

    /// Returns all registers that a def, an edit or a clobber writes. A partial clobber does not count, because the
    /// bytes that callers expect are kept.
    pub fn written(&self, problem: &Problem) -> PRegSet {
        let mut written = PRegSet::EMPTY;
        for (operand, loc) in problem.all_operands().iter().zip(&self.locs) {
            if let (true, Some(reg)) = (operand.is_def(), loc.as_reg()) {
                written.insert(reg);
            }
        }
        for edit in &self.edits {
            match edit.kind {
                EditKind::Move { to, .. } | EditKind::Fill { to, .. } | EditKind::Remat { to, .. } => {
                    written.insert(to)
                }
                EditKind::Exchange { a, b, .. } => written = written.with(a).with(b),
                EditKind::Spill { .. } | EditKind::SlotMove { .. } => {}
            }
        }
        let clobbers = (0..problem.num_insts()).map(|inst| problem.clobber_id(Inst::new(inst)));
        for id in clobbers.filter(|&id| id != ClobberId::NONE) {
            written = written.union(problem.all_clobbers()[id].lost);
        }
        written
    }
}
