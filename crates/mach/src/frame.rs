//! Frame layout: the areas between the return address and the stack pointer.
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
//! Spill slots are nearest to the frame pointer, so that the common ones have short displacements. If there are no
//! outgoing arguments, a target may place another area at the bottom: the callee-saved registers, which it pushes and
//! pops there, or the link, so that one instruction reserves memory and stores the link, and one undoes both.

use crate::code::{StackLimit, SymbolRef};
use crate::compiled::{ContextPlace, UnwindOp};
use crate::mem::{Mem, MemBase};
use cranelift_entity::{PrimaryMap, SecondaryMap};
use kingpost_meter::heap_bytes;
use kingpost_regalloc::{Loc, PReg, PRegSet, RegClass, Slot, SlotData};
use smallvec::SmallVec;

/// Requirements of a function on its frame.
#[derive(Clone, Copy, Debug)]
pub struct FrameNeeds {
    /// Callee-saved registers that the function writes.
    pub saved: PRegSet,
    /// Bytes of spill slots, which have their offsets already.
    pub spill_bytes: u64,
    /// Alignment of the spill slots.
    pub spill_align: u32,
    /// Bytes of the user's stack slots.
    pub slots_bytes: u64,
    /// Alignment of the user's stack slots.
    pub slots_align: u32,
    /// Bytes of stack arguments for calls.
    pub outgoing_bytes: u64,
    /// Bytes of stack arguments that the function receives.
    pub incoming_bytes: u64,
    /// Bytes of stack arguments that the function pops at its return: the bytes that it receives, or the most that a
    /// tail call passes.
    pub popped_bytes: u64,
    /// Whether the function makes calls.
    pub has_calls: bool,
    /// Whether a frame pointer is required in any case.
    pub keep_frame_pointer: bool,
    /// Whether the stack pointer has another value for a while, because a callee popped its arguments.
    pub moves_stack_pointer: bool,
}

impl Default for FrameNeeds {
    /// Returns the requirements of a function that needs no frame.
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

/// Register from which slots are addressed. If it may be the stack pointer, that must not move in the body.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum SlotBase {
    /// The frame pointer.
    #[default]
    FramePointer,
    /// The stack pointer, which reaches further on some targets.
    StackPointer,
    /// The stack pointer for displacements of one byte, unless the frame pointer has one as well.
    Nearer,
}

/// Shape of a frame. Offsets are in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FrameLayout {
    /// Whether there is a frame pointer (and a frame). Without one the function has only its return address.
    pub has_frame: bool,
    /// Bytes between the CFA and the frame pointer: return address and saved frame pointer. Without a frame: bytes
    /// between the CFA and the stack pointer.
    pub link_bytes: u32,
    /// Bytes of the frame without the link.
    pub size: u64,
    /// Whether the link is below all other areas (AArch64). The frame pointer then is the stack pointer of the body.
    pub link_at_bottom: bool,
    /// Whether the saved registers are below all slots (x86-64).
    pub saves_at_bottom: bool,
    /// Whether the epilogue takes the stack pointer from the frame pointer where that is shorter, but slower (x86-64).
    pub prefers_size: bool,
    /// Whether the epilogue undoes the prologue instruction by instruction, as unwind codes of Windows require
    /// (AArch64).
    pub is_mirrored: bool,
    /// Bytes of the area of saved registers if it is above the link and not below it.
    pub saved_above_link: u64,
    /// Saved registers, each with its distance in bytes below the link, or below the CFA if they are above the link.
    pub saves: SmallVec<[(PReg, u32); 8]>,
    /// Distance of the end of the spill area below the same point. Slot offsets count downwards from the end.
    pub spill_top: u64,
    /// Distance of the start (lowest address) of the user slots below the same point.
    pub slots_base: u64,
    /// Bytes of stack arguments popped at the return: the bytes received and [`FrameLayout::growth`].
    pub popped_bytes: u64,
    /// Bytes of stack arguments that the function receives.
    pub incoming_bytes: u64,
    /// The routine that touches the pages of a large frame, if the target calls one.
    pub probestack: Option<SymbolRef>,
    /// Register from which slots are addressed.
    pub slot_base: SlotBase,
    /// Whether the return address is signed while it is in memory (AArch64).
    pub signs_return: bool,
    /// Whether the function makes calls.
    pub has_calls: bool,
    /// The limit that the prologue checks, if the body does not.
    pub stack_limit: Option<StackLimit>,
}

impl FrameLayout {
    /// Lays out a frame from the top down in a layout that is empty except for [`FrameLayout::saves_at_bottom`]. The
    /// layout is large, so it is filled in place. `link_bytes` is the field of that name with a frame, `bare_bytes`
    /// without one.
    pub fn lay_out(&mut self, needs: &FrameNeeds, link_bytes: u32, bare_bytes: u32, stack_align: u32) {
        let has_frame = needs.keep_frame_pointer
            || needs.has_calls
            || !needs.saved.is_empty()
            || needs.spill_bytes + needs.slots_bytes + needs.outgoing_bytes > 0;
        self.has_frame = has_frame;
        self.has_calls = needs.has_calls;
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
        // that alignment. So slots are aligned relative to the stack pointer.
        self.size = bytes.next_multiple_of(align);
        self.slots_base = self.size - needs.outgoing_bytes;
    }

    /// Places the saved registers below `top` bytes.
    fn place_saves(&mut self, saved: PRegSet, mut top: u64) {
        for reg in saved.iter() {
            top = top_of_save(top, reg);
            self.saves.push((reg, top as u32));
        }
    }

    /// Returns the bytes of the link if it is at the bottom, else 0.
    fn bottom(&self) -> u64 {
        if self.link_at_bottom { self.link_bytes.into() } else { 0 }
    }

    /// Returns the number of bytes by which the stack pointer of the body is below the frame pointer.
    pub fn below_frame_pointer(&self) -> u64 {
        if self.link_at_bottom { 0 } else { self.size - self.saved_above_link }
    }

    /// Returns the memory `offset` bytes above the point that is `bytes` bytes below the link, or below the CFA if
    /// the link is at the bottom.
    fn below(&self, bytes: u64, offset: u64) -> Mem {
        let above_stack_pointer = (self.bottom() + self.size - bytes + offset) as i64;
        let above_frame_pointer = (self.saved_above_link + offset) as i64 - bytes as i64;
        let is_byte = |displacement: i64| i8::try_from(displacement).is_ok();
        let is_from_stack_pointer = match self.slot_base {
            SlotBase::FramePointer => false,
            SlotBase::StackPointer => true,
            SlotBase::Nearer => is_byte(above_stack_pointer) && !is_byte(above_frame_pointer),
        };
        if is_from_stack_pointer {
            Mem::base(MemBase::StackPointer, above_stack_pointer)
        } else {
            debug_assert!(!self.link_at_bottom, "the frame pointer is above the slots");
            Mem::base(MemBase::FramePointer, above_frame_pointer)
        }
    }

    /// Returns the memory at `offset` bytes into the user's slots.
    pub fn user_slot(&self, offset: u32) -> Mem {
        self.below(self.slots_base, offset.into())
    }

    /// Returns the distance of a byte of the user's slots above the stack pointer of the body, in bytes.
    pub fn user_slot_offset(&self, offset: u32) -> u32 {
        (self.bottom() + self.size - self.slots_base) as u32 + offset
    }

    /// Returns the memory of a spill slot that [`SpillArea::place`] placed at `offset`.
    pub fn spill_slot(&self, offset: u64) -> Mem {
        self.below(self.spill_top + offset, 0)
    }

    /// Returns the number of bytes that the prologue reserves below the incoming stack arguments, because a tail call
    /// passes more bytes than this function received. The return address moves down, if it is in memory, and the CFA
    /// with it.
    pub fn growth(&self) -> u64 {
        self.popped_bytes.saturating_sub(self.incoming_bytes)
    }

    /// Returns the distance of a spill slot above the stack pointer of the body, in bytes.
    pub fn above_stack_pointer(&self, offset: u64) -> u64 {
        self.bottom() + self.size - (self.spill_top + offset)
    }

    /// Returns the memory of an incoming stack argument.
    pub fn incoming(&self, offset: i32) -> Mem {
        let base = if self.has_frame { MemBase::FramePointer } else { MemBase::StackPointer };
        let above = self.size - self.below_frame_pointer() + u64::from(self.link_bytes) + self.growth();
        Mem::base(base, above as i64 + i64::from(offset))
    }

    /// Returns the number of bytes by which the return address moves up for a tail call whose callee pops `bytes` of
    /// stack arguments.
    pub fn rise(&self, bytes: u64) -> u64 {
        self.popped_bytes.saturating_sub(bytes)
    }

    /// Returns `true` if the function or a callee needs memory on the stack. A leaf may have only a frame pointer.
    pub fn uses_stack(&self) -> bool {
        self.size > 0 || self.has_calls || self.growth() > 0
    }

    /// Returns the limit that the prologue checks, or `None` if the function uses no stack.
    pub fn checked_limit(&self) -> Option<&StackLimit> {
        self.stack_limit.as_ref().filter(|_| self.uses_stack())
    }

    /// Returns `true` if the prologue makes the link for the check of the limit only, and again below the memory for
    /// tail calls.
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

    /// Returns the memory of an outgoing stack argument.
    pub fn outgoing(&self, offset: u32) -> Mem {
        Mem::base(MemBase::StackPointer, i64::from(offset))
    }
}

/// Returns the distance below the frame pointer at which a register is saved. The registers saved before reach down
/// to `top`. Float registers are saved whole and aligned, because a convention may preserve them whole.
fn top_of_save(top: u64, reg: PReg) -> u64 {
    let bytes = if reg.class() == RegClass::Int { 8 } else { 16 };
    (top + bytes).next_multiple_of(bytes)
}

/// Returns the place of `loc` for a runtime or a debugger.
pub(crate) fn place(loc: Loc, frame: &FrameLayout, spill_area: &SpillArea) -> Option<ContextPlace> {
    let slot = |slot| ContextPlace::Stack(frame.above_stack_pointer(spill_area.offset(slot)) as u32);
    loc.as_reg().map(ContextPlace::Reg).or(loc.as_slot().map(slot))
}

/// Offsets of spill slots within the spill area. Cleared and reused.
#[derive(Default, Debug)]
pub struct SpillArea {
    /// For each slot, the distance of its lowest byte below the top of the area.
    offsets: SecondaryMap<Slot, u64>,
    bytes: u64,
    align: u32,
}

heap_bytes!(SpillArea { offsets } without { bytes, align });

impl SpillArea {
    /// Places every slot, each aligned relative to the top of the area. The order is the allocator's: most frequently
    /// used slots first.
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

    /// Returns the number of bytes of the area.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the distance of the lowest byte of a slot below the top of the area.
    pub fn offset(&self, slot: Slot) -> u64 {
        self.offsets[slot]
    }
}
