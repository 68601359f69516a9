//! Prologue and epilogue.
//!
//! ```text
//! stp x29, x30, [sp, #-16]!    the usual chain of frames
//! mov x29, sp
//! sub sp, sp, size             in steps, each touching memory, if frames are probed; large sizes by way of x16, x17
//! stp x20, x19, [x29, #-16]    callee-saved registers lie below the frame pointer, in pairs
//! ...
//! ldp x20, x19, [x29, #-16]
//! mov sp, x29
//! ldp x29, x30, [sp], #16
//! add sp, sp, popped           of callees that pop their arguments
//! ret
//! ```
//! The prologue of a frame of up to 504 bytes without outgoing stack arguments moves the stack pointer once, and the
//! link is at the bottom of the frame:
//!
//! ```text
//! stp x29, x30, [sp, #-48]!
//! mov x29, sp
//! stp x20, x19, [x29, #32]
//! ...
//! ldp x20, x19, [x29, #32]
//! ldp x29, x30, [sp], #48
//! ```
//! A function that needs no frame has no prologue: its return address stays in x30. Where a tail call passes more
//! stack arguments than were received, the stack pointer and the CFA move down first. Windows has frames of its own
//! (`mirrored.rs`).

use crate::encode::encode;
use crate::frame_parts::{LINK_BYTES, MAX_IN_ONE_STEP, above_frame_pointer, descend, pair_row, single_row};
use crate::regs::{FP, LR, SP, X16};
use crate::{mirrored, rows, stack_check};
use kingpost_mach::{Args, Buffer, FrameLayout, FrameNeeds, LowerError, Mem, MemBase, SlotBase, UnwindOp};
use kingpost_regalloc::{PReg, PRegSet, RegClass};

/// Limit of offsets from the frame pointer, so that arguments are within 32 bits as well.
const MAX_FRAME: u64 = (1 << 32) - (1 << 28);
/// Numbers of `paciasp`, `autiasp` and `bti c` among the hints.
const SIGN_RETURN: i64 = 25;
const CHECK_RETURN: i64 = 29;
const LANDING_PAD: i64 = 34;

/// Functions that sign their return address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Signing {
    /// None.
    Never,
    /// Functions that store it in memory.
    WithFrame,
    /// All.
    Always,
}

/// Restrictions of frames by the tables that describe them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Style {
    /// DWARF describes all frames.
    Any,
    /// A word of macOS describes frames with the link at their top and whole pairs of registers below it.
    Compact,
    /// Unwind codes of Windows describe frames whose epilogue mirrors the prologue.
    Mirrored,
}

/// Lays out the frame for `needs` in an empty layout.
///
/// # Errors
/// If the frame is too large for offsets of 32 bits.
pub(crate) fn lay_out(
    needs: &FrameNeeds,
    stack_align: u32,
    signing: Signing,
    style: Style,
    frame: &mut FrameLayout,
) -> Result<(), LowerError> {
    let mut needs = *needs;
    match style {
        Style::Any => {}
        Style::Compact => needs.saved = whole_pairs(needs.saved),
        Style::Mirrored => needs.spill_align = needs.spill_align.max(mirrored::SAVES_ALIGN),
    }
    frame.lay_out(&needs, LINK_BYTES, 0, stack_align);
    if frame.size > MAX_FRAME {
        return Err(LowerError::TooLarge { what: "bytes of stack frame", limit: MAX_FRAME });
    }
    frame.slot_base = if needs.moves_stack_pointer { SlotBase::FramePointer } else { SlotBase::StackPointer };
    // Outgoing arguments are at the bottom of the frame, where the link would be. Where a tail call makes the frame
    // grow, the link may be made twice, at one distance from the CFA.
    frame.link_at_bottom = style != Style::Compact
        && frame.size > 0
        && needs.outgoing_bytes == 0
        && frame.growth() == 0
        && !needs.moves_stack_pointer
        && frame.size + u64::from(LINK_BYTES) <= MAX_IN_ONE_STEP;
    if style == Style::Mirrored {
        mirrored::lay_out(frame);
    }
    frame.signs_return = match signing {
        Signing::Never => false,
        Signing::WithFrame => frame.has_frame,
        Signing::Always => true,
    };
    Ok(())
}

/// Returns the set with the other register of each pair x19 and x20, x21 and x22, and so on.
fn whole_pairs(saved: PRegSet) -> PRegSet {
    let pairs = (19..28).step_by(2).map(|first| [first, first + 1].map(PReg::int));
    pairs.filter(|pair| pair.iter().any(|&reg| saved.contains(reg))).flatten().fold(saved, PRegSet::with)
}

/// Emits the prologue. If `guard` is given, a frame larger than that many bytes touches each guard page.
pub(crate) fn prologue(frame: &FrameLayout, guard: Option<u64>, landing_pad: bool, buffer: &mut Buffer) {
    let growth = frame.growth();
    if frame.signs_return && growth == 0 {
        // This instruction is a landing pad too.
        sign_return(buffer);
    } else if landing_pad {
        hint(LANDING_PAD, buffer);
    }
    match frame.checked_limit() {
        Some(limit) if frame.links_twice() => {
            buffer.unwind(UnwindOp::EpilogueBegin);
            make_link(LINK_BYTES, buffer);
            stack_check::emit(limit, frame.size + growth, buffer);
            undo_link(buffer);
            buffer.unwind(UnwindOp::EpilogueEnd);
        }
        Some(limit) if !frame.has_frame => stack_check::emit(limit, growth, buffer),
        _ => {}
    }
    if growth > 0 {
        descend(growth, guard, buffer);
        buffer.unwind(UnwindOp::Allocated(growth as u32));
        if frame.signs_return {
            // The signature depends on the stack pointer, which must be equal when the signature is checked.
            sign_return(buffer);
        }
    }
    if !frame.has_frame {
        return;
    }
    if frame.is_mirrored {
        return mirrored::prologue(frame, guard, buffer);
    }
    let above = above_frame_pointer(frame);
    make_link(above, buffer);
    if let Some(limit) = frame.checked_limit().filter(|_| !frame.links_twice()) {
        stack_check::emit(limit, frame.below_frame_pointer(), buffer);
    }
    descend(frame.below_frame_pointer(), guard, buffer);
    let top = top_of_saves(frame);
    for save in Saves(&frame.saves) {
        save.emit(true, top, buffer);
        save.each(|reg, below| buffer.unwind(UnwindOp::Saved(reg, (i64::from(above) - top) as u32 + below)));
    }
}

/// Saves the frame pointer and the return address `above` bytes down, and sets the frame pointer to that address.
fn make_link(above: u32, buffer: &mut Buffer) {
    encode(rows::STP64_PRE, &Args::imm(&[SP, SP, FP, LR], -i64::from(above)), buffer);
    buffer.unwind(UnwindOp::CfaStackPointer(above));
    buffer.unwind(UnwindOp::Saved(FP, above));
    buffer.unwind(UnwindOp::Saved(LR, above - 8));
    encode(rows::ADD_RRI.of(64), &Args::imm(&[FP, SP], 0), buffer);
    buffer.unwind(UnwindOp::CfaFramePointer(above));
}

/// Undoes a link of [`LINK_BYTES`]. The return address is still in its register. The copy in memory is not read,
/// because it is not signed.
fn undo_link(buffer: &mut Buffer) {
    let mem = Some(Mem::base(MemBase::StackPointer, 0));
    encode(rows::LDR_RM.of(64), &Args { regs: &[FP], mem, ..Args::default() }, buffer);
    buffer.unwind(UnwindOp::CfaStackPointer(LINK_BYTES));
    buffer.unwind(UnwindOp::Restored(FP));
    encode(rows::ADDSP_I, &Args::imm(&[], LINK_BYTES.into()), buffer);
}

/// Returns the number of bytes from the frame pointer up to the end of the area of saved registers.
fn top_of_saves(frame: &FrameLayout) -> i64 {
    if frame.link_at_bottom { above_frame_pointer(frame).into() } else { 0 }
}

fn sign_return(buffer: &mut Buffer) {
    hint(SIGN_RETURN, buffer);
    buffer.unwind(UnwindOp::SignedReturnToggled);
}

fn hint(number: i64, buffer: &mut Buffer) {
    encode(rows::HINT_I, &Args::imm(&[], number), buffer);
}

/// Emits the epilogue, then `exit`, which leaves the function. Pops `popped` bytes of stack arguments.
pub(crate) fn epilogue(frame: &FrameLayout, popped: u64, buffer: &mut Buffer, exit: impl FnOnce(&mut Buffer)) {
    if !frame.has_frame && !frame.signs_return && popped == 0 {
        exit(buffer);
        return;
    }
    buffer.unwind(UnwindOp::EpilogueBegin);
    if frame.has_frame {
        take_down(frame, buffer);
    }
    if frame.signs_return {
        hint(CHECK_RETURN, buffer);
        buffer.unwind(UnwindOp::SignedReturnToggled);
    }
    if popped > 0 {
        move_up(popped, buffer);
        buffer.unwind(UnwindOp::CfaPopped(popped as u32));
    }
    exit(buffer);
    buffer.unwind(UnwindOp::EpilogueEnd);
}

fn take_down(frame: &FrameLayout, buffer: &mut Buffer) {
    if frame.is_mirrored {
        return mirrored::take_down(frame, buffer);
    }
    for save in Saves(&frame.saves) {
        save.emit(false, top_of_saves(frame), buffer);
        save.each(|reg, _| buffer.unwind(UnwindOp::Restored(reg)));
    }
    if frame.below_frame_pointer() > 0 {
        encode(rows::MOV64_TO_SP, &Args::regs(&[FP]), buffer);
    }
    encode(rows::LDP64_POST, &Args::imm(&[SP, SP, FP, LR], above_frame_pointer(frame).into()), buffer);
    buffer.unwind(UnwindOp::CfaStackPointer(0));
    buffer.unwind(UnwindOp::Restored(FP));
    buffer.unwind(UnwindOp::Restored(LR));
}

/// Moves the stack pointer up in one step, as unwinding requires. The memory below it must be unused.
fn move_up(bytes: u64, buffer: &mut Buffer) {
    if crate::immediates::add_sub(bytes).is_some() {
        encode(rows::ADDSP_I, &Args::imm(&[], bytes as i64), buffer);
    } else {
        encode(rows::CONST_I.of(64), &Args::imm(&[X16], bytes as i64), buffer);
        encode(rows::ADDSP_R, &Args::regs(&[X16]), buffer);
    }
}

/// One or two registers that one instruction saves, each with its distance in bytes below the top of the area of
/// saved registers. The second register has the lower address.
#[derive(Clone, Copy)]
struct Save((PReg, u32), Option<(PReg, u32)>);

impl Save {
    fn each(self, mut f: impl FnMut(PReg, u32)) {
        let Save(first, second) = self;
        f(first.0, first.1);
        if let Some((reg, below)) = second {
            f(reg, below);
        }
    }

    /// Emits the store or the load. The area ends `top` bytes above the frame pointer.
    fn emit(self, store: bool, top: i64, buffer: &mut Buffer) {
        let Save((first, below), second) = self;
        let int = first.class() == RegClass::Int;
        let slot = |below: u32| Mem::base(MemBase::FramePointer, top - i64::from(below));
        match second {
            Some((second, below)) => {
                encode(pair_row(int, store), &Args::mem(&[second, first], slot(below)), buffer);
            }
            None => encode(single_row(int, store), &Args::mem(&[first], slot(below)), buffer),
        }
    }
}

/// Registers of a frame in groups that one instruction saves: neighbors of one class.
struct Saves<'a>(&'a [(PReg, u32)]);

impl Iterator for Saves<'_> {
    type Item = Save;

    fn next(&mut self) -> Option<Save> {
        match *self.0 {
            [first, second, ref rest @ ..] if first.0.class() == second.0.class() => {
                self.0 = rest;
                Some(Save(first, Some(second)))
            }
            [first, ref rest @ ..] => {
                self.0 = rest;
                Some(Save(first, None))
            }
            [] => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(needs: &FrameNeeds, stack_align: u32, signing: Signing) -> Result<FrameLayout, LowerError> {
        let mut frame = FrameLayout::default();
        lay_out(needs, stack_align, signing, Style::Any, &mut frame).map(|()| frame)
    }
    use crate::regs::{v, x};

    fn needs(saved: &[PReg], spill_bytes: u64) -> FrameNeeds {
        FrameNeeds { saved: saved.iter().copied().collect(), spill_bytes, ..FrameNeeds::default() }
    }

    fn words(buffer: &Buffer) -> Vec<u32> {
        buffer.bytes().as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
    }

    fn code(needs: &FrameNeeds, signing: Signing) -> Vec<u32> {
        let frame = layout(needs, 16, signing).unwrap();
        let mut buffer = Buffer::default();
        buffer.start(0);
        prologue(&frame, None, false, &mut buffer);
        encode(rows::NOP, &Args::default(), &mut buffer);
        epilogue(&frame, frame.popped_bytes, &mut buffer, |b| encode(rows::RET_BARE, &Args::default(), b));
        words(&buffer)
    }

    const PUSH: u32 = 0xa9bf_7bfd; // stp x29, x30, [sp, #-16]!
    const SET_FP: u32 = 0x9100_03fd; // mov x29, sp
    const POP: u32 = 0xa8c1_7bfd; // ldp x29, x30, [sp], #16
    const SP_FROM_FP: u32 = 0x9100_03bf; // mov sp, x29
    const RET: u32 = 0xd65f_03c0;
    const NOP: u32 = 0xd503_201f;

    #[test]
    fn a_leaf_without_slots_has_no_frame() {
        assert_eq!(code(&needs(&[], 0), Signing::WithFrame), [NOP, RET]);
        // paciasp, autiasp
        assert_eq!(code(&needs(&[], 0), Signing::Always), [0xd503_233f, NOP, 0xd503_23bf, RET]);
        // add sp, sp, #32
        let popped = FrameNeeds { popped_bytes: 32, incoming_bytes: 32, ..needs(&[], 0) };
        assert_eq!(code(&popped, Signing::Never), [NOP, 0x9100_83ff, RET]);
    }

    #[test]
    fn a_frame_is_built_and_taken_down() {
        let kept = FrameNeeds { keep_frame_pointer: true, ..needs(&[], 0) };
        assert_eq!(code(&kept, Signing::Never), [PUSH, SET_FP, NOP, POP, RET]);
        // stp x29, x30, [sp, #-64]!; mov x29, sp; stp x20, x19, [x29, #48]; str x21, [x29, #40]; and the reverse
        let saved = needs(&[x(19), x(20), x(21)], 16);
        let expected = [0xa9bc_7bfd, SET_FP, 0xa903_4fb4, 0xf900_17b5, NOP, 0xa943_4fb4, 0xf940_17b5, 0xa8c4_7bfd, RET];
        assert_eq!(code(&saved, Signing::Never), expected);
        // paciasp; stp x29, x30, [sp, #-48]!; mov x29, sp; str x19, [x29, #40]; str q8, [x29, #16]
        let wide = code(&needs(&[x(19), v(8)], 0), Signing::WithFrame);
        assert_eq!(wide[..5], [0xd503_233f, 0xa9bd_7bfd, SET_FP, 0xf900_17b3, 0x3d80_07a8]);
        // stp q9, q8, [x29, #16]
        assert_eq!(code(&needs(&[v(8), v(9)], 0), Signing::Never)[2], 0xad00_a3a9);
    }

    #[test]
    fn a_frame_with_outgoing_arguments_or_more_bytes_has_its_link_at_the_top() {
        // sub sp, sp, #64; stp x20, x19, [x29, #-16]; stur x21, [x29, #-24]; and the reverse
        let calls = FrameNeeds { outgoing_bytes: 16, ..needs(&[x(19), x(20), x(21)], 16) };
        let expected =
            [PUSH, SET_FP, 0xd101_03ff, 0xa93f_4fb4, 0xf81e_83b5, NOP, 0xa97f_4fb4, 0xf85e_83b5, SP_FROM_FP, POP, RET];
        assert_eq!(code(&calls, Signing::Never), expected);
        // stp x29, x30, [sp, #-496]! has the largest amount that an access to a pair can add; sub sp, sp, #496
        assert_eq!(code(&needs(&[], 480), Signing::Never)[..2], [0xa9a1_7bfd, SET_FP]);
        assert_eq!(code(&needs(&[], 496), Signing::Never)[..3], [PUSH, SET_FP, 0xd107_c3ff]);
        // A spill slot below a saved register: 32 bytes below the CFA, or below the link.
        for (outgoing_bytes, link_above) in [(0, 0), (16, 16)] {
            let frame = layout(&FrameNeeds { outgoing_bytes, ..needs(&[x(19)], 24) }, 16, Signing::Never).unwrap();
            let bytes = frame.size + u64::from(frame.link_bytes);
            assert_eq!(bytes - frame.above_stack_pointer(24), 32 + link_above);
            let above = (bytes - frame.below_frame_pointer()) as i64;
            assert_eq!(frame.incoming(8), Mem::base(MemBase::FramePointer, above + 8));
        }
    }

    #[test]
    fn compact_frames_have_their_link_at_the_top_and_whole_pairs() {
        let mut frame = FrameLayout::default();
        lay_out(&needs(&[x(19), x(24)], 8), 16, Signing::Never, Style::Compact, &mut frame).unwrap();
        let mut buffer = Buffer::default();
        buffer.start(0);
        prologue(&frame, None, false, &mut buffer);
        // sub sp, sp, #48; stp x20, x19, [x29, #-16]; stp x24, x23, [x29, #-32]
        assert_eq!(words(&buffer), [PUSH, SET_FP, 0xd100_c3ff, 0xa93f_4fb4, 0xa93e_5fb8]);
    }

    #[test]
    fn the_stack_pointer_moves_for_tail_calls() {
        let text = |needs: &FrameNeeds, signing, rise| {
            let frame = layout(needs, 16, signing).unwrap();
            let mut buffer = Buffer::default();
            buffer.start(0);
            prologue(&frame, Some(4096), true, &mut buffer);
            epilogue(&frame, rise, &mut buffer, |b| encode(rows::RET_BARE, &Args::default(), b));
            words(&buffer)
        };
        let (pad, sign, check) = (0xd503_245f, 0xd503_233f, 0xd503_23bf);
        let (down, up) = (0xd100_83ff, 0x9100_43ff); // sub sp, sp, #32; add sp, sp, #16
        let grows = FrameNeeds { incoming_bytes: 16, popped_bytes: 48, ..needs(&[], 0) };
        assert_eq!(text(&grows, Signing::Never, 16), [pad, down, up, RET]);
        // The signature is made and checked at one value of the stack pointer.
        assert_eq!(text(&grows, Signing::Always, 16), [pad, down, sign, check, up, RET]);
        let framed = FrameNeeds { keep_frame_pointer: true, ..grows };
        assert_eq!(text(&framed, Signing::Never, 16), [pad, down, PUSH, SET_FP, POP, up, RET]);
        // sub sp, sp, #4096; str xzr, [sp]; twice
        let pages = FrameNeeds { popped_bytes: 8192, ..needs(&[], 0) };
        let step = [0xd140_07ff, 0xf900_03ff];
        assert_eq!(text(&pages, Signing::Never, 0), [pad, step[0], step[1], step[0], step[1], RET]);
    }

    #[test]
    fn frames_of_any_size() {
        let down = |bytes| {
            let frame = layout(&FrameNeeds { slots_bytes: bytes, ..needs(&[], 0) }, 16, Signing::Never).unwrap();
            let mut buffer = Buffer::default();
            buffer.start(0);
            prologue(&frame, None, true, &mut buffer);
            words(&buffer)
        };
        // bti c; ...; sub sp, sp, #0xffffff000 >> 12, lsl #12; sub sp, sp, #16
        assert_eq!(down(0xff_f010), [0xd503_245f, PUSH, SET_FP, 0xd17f_ffff, 0xd100_43ff]);
        // mov x17, #0xc0000000; sub sp, sp, x17
        assert_eq!(down(3 << 30)[3..], [0xd2b8_0011, 0xcb31_63ff]);
        let large = FrameNeeds { slots_bytes: 1 << 33, ..needs(&[], 0) };
        assert!(layout(&large, 16, Signing::Never).is_err());
    }

    #[test]
    fn large_frames_touch_every_guard_page() {
        let probed = |bytes, guard| {
            let frame = layout(&FrameNeeds { slots_bytes: bytes, ..needs(&[], 0) }, 16, Signing::Never).unwrap();
            let mut buffer = Buffer::default();
            buffer.start(0);
            prologue(&frame, Some(guard), false, &mut buffer);
            words(&buffer)[2..].to_vec()
        };
        // sub sp, sp, #4096; str xzr, [sp]
        let step = [0xd140_07ff, 0xf900_03ff];
        assert_eq!(probed(4096, 4096), step[..1]);
        assert_eq!(probed(8192 + 16, 4096), [step[0], step[1], step[0], step[1], 0xd100_43ff]);
        // mov x16, #0x100000; sub x16, sp, x16; the step; cmp sp, x16; b.ne, whose distance is filled in later
        assert_eq!(probed(1 << 20, 4096)[..5], [0xd2a0_0210, 0xcb30_63f0, step[0], step[1], 0xeb30_63ff]);
    }
}
