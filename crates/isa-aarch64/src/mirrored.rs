//! Frames on Windows: the epilogue undoes the prologue instruction by instruction, and saved registers lie above the link.
//! Unwind codes describe no others.
//!
//! ```text
//! stp x29, x30, [sp, #-48]!    the link, and room for the saved registers
//! stp x19, x20, [sp, #16]      consecutive registers in pairs, the lower one at the lower address
//! str x21, [sp, #32]
//! mov x29, sp
//! sub sp, sp, size             of a page or more: mov x15, size / 16; bl __chkstk; sub sp, sp, x15, lsl #4
//! ...
//! mov sp, x29
//! ldr x21, [sp, #32]
//! ldp x19, x20, [sp, #16]
//! ldp x29, x30, [sp], #48
//! ret
//! ```
//! A small frame without outgoing stack arguments is reserved with the link, as on other systems.

use crate::encode::encode;
use crate::frame_parts::{LINK_BYTES, MAX_IN_ONE_STEP, above_frame_pointer, descend, pair_row, single_row};
use crate::regs::{FP, LR, SP, X15};
use crate::{rows, stack_check};
use kingpost_mach::{Args, Buffer, FrameLayout, Mem, MemBase, SymbolRef, UnwindOp};
use kingpost_regalloc::{PReg, RegClass};

/// Alignment of the area of saved registers in bytes.
pub(crate) const SAVES_ALIGN: u32 = 16;

/// Completes a layout, in which the saved registers are below the link and slots are aligned to [`SAVES_ALIGN`] or more.
/// Registers that need more memory than one instruction reserves stay there.
pub(crate) fn lay_out(frame: &mut FrameLayout) {
    let saved = frame.saves.last().map_or(0, |&(_, below)| u64::from(below)).next_multiple_of(SAVES_ALIGN.into());
    if !frame.has_frame || saved + u64::from(LINK_BYTES) > MAX_IN_ONE_STEP {
        return;
    }
    frame.is_mirrored = true;
    if !frame.link_at_bottom {
        frame.saved_above_link = saved;
    }
    let mut rest = &mut frame.saves[..];
    while let [(first, above), (second, below), ..] = rest {
        let is_pair = first.class() == RegClass::Int && second.class() == RegClass::Int;
        let taken = if is_pair && first.enc() + 1 == second.enc() {
            std::mem::swap(above, below);
            2
        } else {
            1
        };
        rest = &mut rest[taken..];
    }
}

/// Emits the prologue after landing pad and room for tail calls. Frames of `guard` bytes or more call the routine that
/// touches their pages.
pub(crate) fn prologue(frame: &FrameLayout, guard: Option<u64>, buffer: &mut Buffer) {
    let above = above_frame_pointer(frame);
    encode(rows::STP64_PRE, &Args::imm(&[SP, SP, FP, LR], -i64::from(above)), buffer);
    buffer.unwind(UnwindOp::CfaStackPointer(above));
    buffer.unwind(UnwindOp::Saved(FP, above));
    buffer.unwind(UnwindOp::Saved(LR, above - 8));
    let limit = frame.checked_limit().filter(|_| !frame.links_twice());
    if let Some(limit) = limit {
        set_frame_pointer(above, buffer);
        stack_check::emit(limit, frame.below_frame_pointer(), buffer);
    }
    for group in groups(frame) {
        emit_group(group, above, true, buffer);
        group.iter().for_each(|&(reg, below)| buffer.unwind(UnwindOp::Saved(reg, below)));
    }
    if limit.is_none() {
        set_frame_pointer(above, buffer);
    }
    match (frame.below_frame_pointer(), guard, frame.probestack) {
        (0, ..) => return,
        (bytes, Some(guard), Some(routine)) if bytes >= guard => call_probestack(bytes, routine, buffer),
        (bytes, guard, _) => descend(bytes, guard, buffer),
    }
    buffer.unwind(UnwindOp::Allocated(frame.below_frame_pointer() as u32));
}

fn set_frame_pointer(above: u32, buffer: &mut Buffer) {
    encode(rows::ADD_RRI.of(64), &Args::imm(&[FP, SP], 0), buffer);
    buffer.unwind(UnwindOp::CfaFramePointer(above));
}

/// Calls `routine` to touch the next `bytes` bytes, then moves the stack pointer down. The routine receives the number
/// in x15, in units of 16 bytes, and writes x16 and x17 at most.
fn call_probestack(bytes: u64, routine: SymbolRef, buffer: &mut Buffer) {
    encode(rows::CONST_I.of(64), &Args::imm(&[X15], (bytes / 16) as i64), buffer);
    let symbol = Some(Mem::base(MemBase::Symbol(0), 0));
    encode(rows::BL_SYM, &Args { mem: symbol, symbols: &[routine], ..Args::default() }, buffer);
    buffer.call();
    encode(rows::SUBSP_R16, &Args::regs(&[X15]), buffer);
}

/// Emits the epilogue without its exit.
pub(crate) fn take_down(frame: &FrameLayout, buffer: &mut Buffer) {
    let above = above_frame_pointer(frame);
    if frame.below_frame_pointer() > 0 {
        encode(rows::MOV64_TO_SP, &Args::regs(&[FP]), buffer);
    }
    for group in groups(frame).rev() {
        emit_group(group, above, false, buffer);
        group.iter().for_each(|&(reg, _)| buffer.unwind(UnwindOp::Restored(reg)));
    }
    encode(rows::LDP64_POST, &Args::imm(&[SP, SP, FP, LR], above.into()), buffer);
    buffer.unwind(UnwindOp::CfaStackPointer(0));
    buffer.unwind(UnwindOp::Restored(FP));
    buffer.unwind(UnwindOp::Restored(LR));
}

/// Returns the saved registers in groups of one instruction. [`lay_out`] placed the first register of a pair below the
/// second one.
fn groups(frame: &FrameLayout) -> impl DoubleEndedIterator<Item = &[(PReg, u32)]> {
    frame.saves.chunk_by(|first, second| first.1 > second.1)
}

/// Emits the store or the load of one or two registers. Their area ends `above` bytes above the stack pointer.
fn emit_group(group: &[(PReg, u32)], above: u32, store: bool, buffer: &mut Buffer) {
    let slot = |below: u32| Mem::base(MemBase::StackPointer, i64::from(above - below));
    match *group {
        [(first, below), (second, _)] => {
            encode(pair_row(true, store), &Args::mem(&[first, second], slot(below)), buffer);
        }
        [(reg, below), ..] => {
            let is_int = reg.class() == RegClass::Int;
            encode(single_row(is_int, store), &Args::mem(&[reg], slot(below)), buffer);
        }
        [] => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{Signing, Style, epilogue, lay_out, prologue};
    use crate::regs::{v, x};
    use kingpost_mach::FrameNeeds;

    const NOP: u32 = 0xd503_201f;
    const RET: u32 = 0xd65f_03c0;

    fn code(saved: &[PReg], spill_bytes: u64, outgoing_bytes: u64) -> Vec<u32> {
        let needs =
            FrameNeeds { saved: saved.iter().copied().collect(), spill_bytes, outgoing_bytes, ..FrameNeeds::default() };
        let mut frame = FrameLayout::default();
        lay_out(&needs, 16, Signing::Never, Style::Mirrored, &mut frame).unwrap();
        frame.probestack = Some(SymbolRef { name: 7, colocated: false, offset: 0 });
        let mut buffer = Buffer::default();
        buffer.start(0);
        prologue(&frame, Some(4096), false, &mut buffer);
        encode(rows::NOP, &Args::default(), &mut buffer);
        epilogue(&frame, 0, &mut buffer, |b| encode(rows::RET_BARE, &Args::default(), b));
        buffer.bytes().as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
    }

    #[test]
    fn epilogues_mirror_prologues() {
        // stp x29, x30, [sp, #-48]!; stp x19, x20, [sp, #32]; str x22, [sp, #24]; mov x29, sp; and the reverse
        let expected =
            [0xa9bd_7bfd, 0xa902_53f3, 0xf900_0ff6, 0x9100_03fd, NOP, 0xf940_0ff6, 0xa942_53f3, 0xa8c3_7bfd, RET];
        assert_eq!(code(&[x(19), x(20), x(22)], 0, 0), expected);
        // stp x29, x30, [sp, #-48]!; str x19, [sp, #40]; str q8, [sp, #16]; mov x29, sp; sub sp, sp, #32; and the
        // reverse, from mov sp, x29
        let expected = [
            0xa9bd_7bfd,
            0xf900_17f3,
            0x3d80_07e8,
            0x9100_03fd,
            0xd100_83ff,
            NOP,
            0x9100_03bf,
            0x3dc0_07e8,
            0xf940_17f3,
            0xa8c3_7bfd,
            RET,
        ];
        assert_eq!(code(&[x(19), v(8)], 8, 16), expected);
        // stp x29, x30, [sp, #-32]!; str x19, [sp, #24]; mov x29, sp; mov x15, #256; bl; sub sp, sp, x15, lsl #4
        let expected = [0xa9be_7bfd, 0xf900_0ff3, 0x9100_03fd, 0xd280_200f, 0x9400_0000, 0xcb2f_73ff];
        assert_eq!(code(&[x(19)], 4096, 0)[..6], expected);
        // sub sp, sp, #4080
        assert_eq!(code(&[x(19)], 4080, 0)[3], 0xd13f_c3ff);
    }

    #[test]
    fn slots_are_below_the_link() {
        let needs = FrameNeeds {
            saved: [x(19)].into_iter().collect(),
            spill_bytes: 24,
            outgoing_bytes: 16,
            incoming_bytes: 8,
            ..FrameNeeds::default()
        };
        let mut frame = FrameLayout::default();
        lay_out(&needs, 16, Signing::Never, Style::Mirrored, &mut frame).unwrap();
        // 16 bytes for x19, 24 of the slot, 16 of arguments, in units of 16. The link is below x19.
        assert_eq!((frame.size, frame.below_frame_pointer()), (64, 48));
        assert_eq!(frame.spill_slot(24), Mem::base(MemBase::StackPointer, 64 - 16 - 24));
        assert_eq!(frame.incoming(0), Mem::base(MemBase::FramePointer, 16 + 16));
    }
}
