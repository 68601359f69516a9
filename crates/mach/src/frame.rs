//! Frame layout: what lies where between the return address and the stack pointer.
//!
//! ```text
//!            incoming stack arguments
//!            room for more of them in tail calls
//!   CFA ───▶ ─────────────────────────
//!            return address, caller's frame pointer      (`link_bytes`)
//!   FP ────▶ ─────────────────────────
//!            callee-saved registers
//!            spill slots
//!            user stack slots
//!            outgoing stack arguments
//!   SP ────▶ ─────────────────────────
//! ```
//!
//! Spill slots stand nearest to the frame pointer, so that the common ones have short displacements. Where no outgoing arguments
//! are, a target may have something else at the bottom: the callee-saved registers, which it pushes and pops there, or the link, so
//! that one instruction makes room and stores the link, and one undoes both.

use crate::code::{StackLimit, SymbolRef};
use crate::compiled::{ContextPlace, UnwindOp};
use crate::mem::{Mem, MemBase};
use cranelift_entity::{PrimaryMap, SecondaryMap};
use kingpost_regalloc::{Loc, PReg, PRegSet, RegClass, Slot, SlotData};
use smallvec::SmallVec;

/// What a function needs of its frame.
#[derive(Clone, Copy, Debug)]
pub struct FrameNeeds {
    /// Callee-saved registers it writes.
    pub saved: PRegSet,
    /// Bytes of spill slots, already laid out.
    pub spill_bytes: u64,
    /// Alignment of the spill slots.
    pub spill_align: u32,
    /// Bytes of the user's stack slots.
    pub slots_bytes: u64,
    /// Alignment of the user's stack slots.
    pub slots_align: u32,
    /// Bytes of stack arguments for calls.
    pub outgoing_bytes: u64,
    /// Bytes of stack arguments it receives.
    pub incoming_bytes: u64,
    /// Bytes of stack arguments it pops at return: those it receives, or the most a tail call passes on.
    pub popped_bytes: u64,
    /// Does it call?
    pub has_calls: bool,
    /// Must there be a frame pointer in any case?
    pub keep_frame_pointer: bool,
    /// Is the stack pointer elsewhere for a while, because a callee popped its arguments?
    pub moves_stack_pointer: bool,
}

impl Default for FrameNeeds {
    /// Nothing.
    fn default() -> FrameNeeds {
        FrameNeeds {
            saved: PRegSet::EMPTY,
            spill_bytes: 0,
            spill_align: 1,
            slots_bytes: 0,
            slots_align: 1,
            outgoing_bytes: 0,
            incoming_bytes: 0,
            popped_bytes: 0,
            has_calls: false,
            keep_frame_pointer: false,
            moves_stack_pointer: false,
        }
    }
}

/// The shape of a frame. Offsets are bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FrameLayout {
    /// Is there a frame pointer (and a frame)? Without one the function only has its return address.
    pub has_frame: bool,
    /// Bytes between the CFA and the frame pointer: return address and saved frame pointer. Without a frame: bytes between the
    /// CFA and the stack pointer.
    pub link_bytes: u32,
    /// Bytes of the frame beside the link.
    pub size: u64,
    /// Is the link below all the rest (AArch64)? The frame pointer is the stack pointer of the body then.
    pub link_at_bottom: bool,
    /// Whether the saved registers are below all slots (x86-64).
    pub saves_at_bottom: bool,
    /// Saved registers and how far below the link, or the CFA if that is at the bottom, each is stored.
    pub saves: SmallVec<[(PReg, u32); 8]>,
    /// How far the end of the spill area is below there: slot offsets count downwards from here.
    pub spill_top: u64,
    /// How far the start (lowest address) of the user slots is below there.
    pub slots_base: u64,
    /// Bytes of stack arguments popped at return: those received and [`FrameLayout::growth`].
    pub popped_bytes: u64,
    /// Bytes of stack arguments received.
    pub incoming_bytes: u64,
    /// The routine that touches the pages of a large frame, if the target calls one.
    pub probestack: Option<SymbolRef>,
    /// Are slots addressed from the stack pointer, where that reaches further?
    pub slots_from_stack_pointer: bool,
    /// Is the return address signed as long as it is in memory (AArch64)?
    pub signs_return: bool,
    /// Does it call?
    pub has_calls: bool,
    /// The limit that the prologue checks, if the body does not.
    pub stack_limit: Option<StackLimit>,
}

impl FrameLayout {
    /// Lays out a frame top down in a layout that is empty but for [`FrameLayout::saves_at_bottom`]: it is large, so it is filled
    /// where it is. `link_bytes` as in the field of that name with a frame; `bare_bytes` without.
    pub fn lay_out(&mut self, needs: &FrameNeeds, link_bytes: u32, bare_bytes: u32, stack_align: u32) {
        let has_frame = needs.keep_frame_pointer
            || needs.has_calls
            || !needs.saved.is_empty()
            || needs.spill_bytes + needs.slots_bytes + needs.outgoing_bytes > 0;
        self.has_frame = has_frame;
        self.link_bytes = if has_frame { link_bytes } else { bare_bytes };
        self.popped_bytes = needs.popped_bytes;
        self.incoming_bytes = needs.incoming_bytes;
        if !has_frame {
            return;
        }
        let align = u64::from(stack_align);
        let saves = needs.saved.iter().fold(0, top_of_save);
        if self.saves_at_bottom {
            self.slots_base = (needs.spill_bytes + needs.slots_bytes).next_multiple_of(needs.slots_align.into());
            self.size = (self.slots_base + saves).next_multiple_of(align);
            return self.place_saves(needs.saved, self.size - saves);
        }
        self.place_saves(needs.saved, 0);
        self.spill_top = saves.next_multiple_of(needs.spill_align.into());
        let bytes = self.spill_top + needs.spill_bytes + needs.slots_bytes + needs.outgoing_bytes;
        // The frame pointer itself is aligned once the link is pushed, and the outgoing arguments fill whole units of
        // that alignment: so slots are aligned from the stack pointer up.
        self.size = bytes.next_multiple_of(align);
        self.slots_base = self.size - needs.outgoing_bytes;
    }

    /// Places the saved registers below so many bytes.
    fn place_saves(&mut self, saved: PRegSet, mut top: u64) {
        for reg in saved.iter() {
            top = top_of_save(top, reg);
            self.saves.push((reg, top as u32));
        }
    }

    /// Bytes of the link, if it is at the bottom.
    fn bottom(&self) -> u64 {
        if self.link_at_bottom { self.link_bytes.into() } else { 0 }
    }

    /// Bytes by which the stack pointer is below the frame pointer in the body.
    pub fn below_frame_pointer(&self) -> u64 {
        if self.link_at_bottom { 0 } else { self.size }
    }

    /// What lies so far below the link at the top, or the CFA, in the body.
    fn below(&self, bytes: u64, offset: u64) -> Mem {
        if self.slots_from_stack_pointer {
            Mem::base(MemBase::StackPointer, (self.bottom() + self.size - bytes + offset) as i64)
        } else {
            debug_assert!(!self.link_at_bottom, "the frame pointer is above the slots");
            Mem::base(MemBase::FramePointer, offset as i64 - bytes as i64)
        }
    }

    /// The memory of a byte range that starts `offset` bytes into the user's slots.
    pub fn user_slot(&self, offset: u32) -> Mem {
        self.below(self.slots_base, offset.into())
    }

    /// How far a byte of the user's slots is above the stack pointer of the body.
    pub fn user_slot_offset(&self, offset: u32) -> u32 {
        (self.bottom() + self.size - self.slots_base) as u32 + offset
    }

    /// The memory of a spill slot placed at `offset` by [`SpillArea::place`].
    pub fn spill_slot(&self, offset: u64) -> Mem {
        self.below(self.spill_top + offset, 0)
    }

    /// Bytes of room that the prologue makes below the incoming stack arguments: a tail call passes more than this
    /// function received. The return address moves down, if it is in memory, and the CFA with it.
    pub fn growth(&self) -> u64 {
        self.popped_bytes.saturating_sub(self.incoming_bytes)
    }

    /// How far a spill slot is above the stack pointer of the body.
    pub fn above_stack_pointer(&self, offset: u64) -> u64 {
        self.bottom() + self.size - (self.spill_top + offset)
    }

    /// The memory of an incoming stack argument.
    pub fn incoming(&self, offset: i32) -> Mem {
        let base = if self.has_frame { MemBase::FramePointer } else { MemBase::StackPointer };
        let above = self.size - self.below_frame_pointer() + u64::from(self.link_bytes) + self.growth();
        Mem::base(base, above as i64 + i64::from(offset))
    }

    /// By how many bytes the return address moves up for a tail call whose callee pops `bytes` of stack arguments.
    pub fn rise(&self, bytes: u64) -> u64 {
        self.popped_bytes.saturating_sub(bytes)
    }

    /// Must there be room on the stack? A leaf may have a frame pointer and nothing else.
    pub fn uses_stack(&self) -> bool {
        self.size > 0 || self.has_calls || self.growth() > 0
    }

    /// Returns the limit that the prologue checks: none where no stack is used.
    pub fn checked_limit(&self) -> Option<&StackLimit> {
        self.stack_limit.as_ref().filter(|_| self.uses_stack())
    }

    /// Returns `true` if the prologue makes the link for the check of the limit alone, and anew below the room for tail calls.
    pub fn links_twice(&self) -> bool {
        self.has_frame && self.growth() > 0 && self.checked_limit().is_some()
    }

    /// Returns the operations from the unwinding state of the body to the state in which the prologue checks the limit.
    pub fn undo_saves(&self) -> SmallVec<[UnwindOp; 8]> {
        let mut ops: SmallVec<[UnwindOp; 8]> = self.saves.iter().map(|&(reg, _)| UnwindOp::Restored(reg)).collect();
        if self.growth() > 0 && self.signs_return {
            ops.push(UnwindOp::SignedReturnToggled);
        }
        ops
    }

    /// The memory of an outgoing stack argument.
    pub fn outgoing(&self, offset: u32) -> Mem {
        Mem::base(MemBase::StackPointer, i64::from(offset))
    }
}

/// How far below the frame pointer a register is saved, what was saved before reaching down to `top`. Float registers are
/// saved whole, as a convention may preserve them whole, and aligned.
fn top_of_save(top: u64, reg: PReg) -> u64 {
    let bytes = if reg.class() == RegClass::Int { 8 } else { 16 };
    (top + bytes).next_multiple_of(bytes)
}

/// Where a runtime or a debugger finds what is in `loc`.
pub(crate) fn place(loc: Loc, frame: &FrameLayout, spill_area: &SpillArea) -> Option<ContextPlace> {
    let slot = |slot| ContextPlace::Stack(frame.above_stack_pointer(spill_area.offset(slot)) as u32);
    loc.as_reg().map(ContextPlace::Reg).or(loc.as_slot().map(slot))
}

/// Offsets of spill slots within the spill area. Cleared and used again.
#[derive(Default, Debug)]
pub struct SpillArea {
    /// Per slot, how far its lowest byte is below the top of the area.
    offsets: SecondaryMap<Slot, u64>,
    bytes: u64,
    align: u32,
}

impl SpillArea {
    /// Places every slot: in order, which an allocator chooses by hotness, each aligned relative to the top of the area.
    pub fn place(&mut self, slots: &PrimaryMap<Slot, SlotData>) {
        self.offsets.clear();
        (self.bytes, self.align) = (0, 1);
        for (slot, data) in slots.iter() {
            let align = data.align.clamp(1, 16);
            self.bytes = (self.bytes + u64::from(data.size)).next_multiple_of(align.into());
            self.align = self.align.max(align);
            self.offsets[slot] = self.bytes;
        }
    }

    /// Returns the alignment of the top of the area.
    pub fn align(&self) -> u32 {
        self.align
    }

    /// Bytes of the area.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How far the lowest byte of a slot is below the top of the area.
    pub fn offset(&self, slot: Slot) -> u64 {
        self.offsets[slot]
    }
}
