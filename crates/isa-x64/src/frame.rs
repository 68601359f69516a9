//! Prologue and epilogue.
//!
//! ```text
//! push rbp                  pushes, so that debuggers see the usual chain of frames
//! mov rbp, rsp
//! sub rsp, slots            or push rax for 8 bytes
//! push rbx                  callee-saved registers lie at the bottom
//! ...
//! pop rbx
//! add rsp, slots
//! pop rbp
//! ret
//! ```
//! `leave` is shorter than the last two, and functions without calls take it, as all do for `opt_level=speed_and_size`. But it
//! reads the stack pointer from a register that the function called before has just loaded, so that returns wait for one another:
//! with it, the kernel `fibonacci` of `make bench` takes 1.7 times as long on an Intel Xeon.
//!
//! Registers are saved first if the stack arguments of calls are at the bottom of the frame, or if the stack is
//! probed, because probing writes registers:
//!
//! ```text
//! push rbx                  callee-saved registers lie below the frame pointer
//! ...
//! sub rsp, the rest
//! ...
//! lea rsp, [rbp - saves]    or mov rbx, [rbp - 8]; leave: what is shorter
//! pop ...
//! pop rbp
//! ```
//! A function that needs no frame has no prologue. If a tail call passes more stack arguments than were received, the
//! return address moves down first. If one passes fewer arguments than that, the return address moves up after the
//! epilogue:
//!
//! ```text
//! sub rsp, n - 8               pop  [rsp + n - 8]
//! push [rsp + n - 8]           add  rsp, n - 8
//! ```
//! Float registers are saved by moves, after the frame is complete. All registers are restored by moves then.

use crate::branches::jump_if;
use crate::edit::emit_edit;
use crate::encode::{encode, encode_row};
use crate::regs::{CC_NE, R11, RAX, RBP, RSP};
use crate::{rows, stack_check};
use kingpost_ir::TrapCode;
use kingpost_mach::{
    Args, Buffer, FrameLayout, FrameNeeds, LowerError, MachineEdit, Mem, MemBase, SlotBase, SymbolRef, UnwindOp,
};
use kingpost_regalloc::{PReg, PRegSet, RegClass};

/// Size of the return address in bytes.
const RETURN_BYTES: u32 = 8;
/// Size of the return address and the caller's frame pointer in bytes.
const LINK_BYTES: u32 = 16;
/// Limit of the frame's size. Displacements reach further, so that arguments are within reach as well.
const MAX_FRAME: u64 = (1 << 31) - (1 << 20);
/// Largest number of probes that are unrolled; more become a loop.
const MAX_UNROLLED: u64 = 4;
/// Least size of a guard page in bytes: no page is smaller.
const LEAST_GUARD: u64 = 4096;
/// Largest number of bytes that `ret imm16` pops, a multiple of the stack alignment.
const MAX_POPPED: u64 = 0xfff0;

/// Upper bound of the bytes of pushed registers and gaps.
const MAX_SAVED: u64 = 16 * 8 + 16;

/// Lays out the frame for `needs` in an empty layout. Frames larger than `guard` are probed. If `saves_first`, the saved
/// registers are right below the link, where compact unwind information of macOS finds them.
///
/// # Errors
/// If the frame is too large for displacements, or more bytes are to be popped than a return can pop.
pub(crate) fn lay_out(
    needs: &FrameNeeds,
    stack_align: u32,
    guard: Option<u64>,
    saves_first: bool,
    frame: &mut FrameLayout,
) -> Result<(), LowerError> {
    frame.saves_at_bottom = !saves_first
        && needs.outgoing_bytes == 0
        && needs.saved.iter().all(|reg| reg.class() == RegClass::Int)
        && guard.is_none_or(|guard| MAX_SAVED + needs.spill_bytes + needs.slots_bytes <= guard);
    frame.lay_out(needs, LINK_BYTES, RETURN_BYTES, stack_align);
    frame.slot_base = if needs.moves_stack_pointer { SlotBase::FramePointer } else { SlotBase::Nearer };
    if frame.size > MAX_FRAME || frame.incoming_bytes > MAX_FRAME {
        return Err(LowerError::TooLarge { what: "bytes of stack frame", limit: MAX_FRAME });
    }
    if frame.popped_bytes > MAX_POPPED {
        return Err(LowerError::TooLarge { what: "bytes of popped stack arguments", limit: MAX_POPPED });
    }
    Ok(())
}

/// Registers that probing the stack may write: the register of the loop, and the register with the argument of the
/// routine, `eax`.
pub(crate) const PROBE_CLOBBERS: PRegSet = PRegSet::EMPTY.with(RAX).with(R11);

/// Emits the prologue. If `guard` is given, a frame larger than that many bytes touches each guard page.
pub(crate) fn prologue(frame: &FrameLayout, guard: Option<u64>, buffer: &mut Buffer) {
    let bytes = frame.size + frame.growth();
    // The limit bounds the stack pointer at the entry less the bytes of the frame without its link, with a link or without.
    let after_link = bytes.saturating_sub(u64::from(LINK_BYTES - RETURN_BYTES));
    match frame.checked_limit() {
        Some(limit) if frame.links_twice() => {
            buffer.unwind(UnwindOp::EpilogueBegin);
            make_link(buffer);
            stack_check::emit(limit, after_link, buffer);
            encode_row::<{ rows::POP_R.0 }>(&[RBP], buffer);
            buffer.unwind(UnwindOp::EpilogueEnd);
        }
        Some(limit) if !frame.has_frame => stack_check::emit(limit, bytes, buffer),
        _ => {}
    }
    if frame.growth() > 0 {
        move_return_down(frame.growth(), guard, buffer);
    }
    if !frame.has_frame {
        return;
    }
    make_link(buffer);
    if let Some(limit) = frame.checked_limit().filter(|_| !frame.links_twice()) {
        stack_check::emit(limit, after_link, buffer);
    }
    if frame.saves_at_bottom {
        return push_at_bottom(frame, buffer);
    }
    // A routine is called from a whole page on: on Windows, the next call would skip the guard page otherwise.
    let is_large = |guard| frame.size > guard || frame.size == guard && frame.probestack.is_some();
    let guard = guard.filter(|&guard| is_large(guard));
    let floats = frame.saves.partition_point(|(reg, _)| reg.class() == RegClass::Int);
    let mut pushed = 0;
    for &(reg, below) in &frame.saves[..floats] {
        encode_row::<{ rows::PUSH_R.0 }>(&[reg], buffer);
        buffer.unwind(UnwindOp::Saved(reg, LINK_BYTES + below));
        pushed = u64::from(below);
    }
    match (guard, frame.probestack) {
        (None, _) => allocate(frame.size - pushed, buffer),
        (_, Some(routine)) => call_probestack(frame.size - pushed, routine, buffer),
        (Some(guard), None) => probe(frame.size - pushed, guard, buffer),
    }
    for &(reg, below) in &frame.saves[floats..] {
        emit_edit(&MachineEdit::Spill(reg, save_slot(below), width(reg)), buffer);
        buffer.unwind(UnwindOp::Saved(reg, LINK_BYTES + below));
    }
}

/// Makes room for slots, and pushes the saved registers below it.
fn push_at_bottom(frame: &FrameLayout, buffer: &mut Buffer) {
    match slots_bytes(frame) {
        // The pushed register does not matter, because the word is not read.
        8 => {
            encode_row::<{ rows::PUSH_R.0 }>(&[RAX], buffer);
            buffer.unwind(UnwindOp::Allocated(8));
        }
        bytes => allocate(bytes, buffer),
    }
    for &(reg, below) in &frame.saves {
        encode_row::<{ rows::PUSH_R.0 }>(&[reg], buffer);
        buffer.unwind(UnwindOp::Saved(reg, LINK_BYTES + below));
    }
}

/// Returns the bytes between the frame pointer and the registers saved at the bottom.
fn slots_bytes(frame: &FrameLayout) -> u64 {
    frame.size - 8 * frame.saves.len() as u64
}

/// Saves the frame pointer below the return address, and sets the frame pointer to that address.
fn make_link(buffer: &mut Buffer) {
    encode_row::<{ rows::PUSH_R.0 }>(&[RBP], buffer);
    buffer.unwind(UnwindOp::CfaStackPointer(LINK_BYTES));
    buffer.unwind(UnwindOp::Saved(RBP, LINK_BYTES));
    encode_row::<{ rows::MOV_RR.of(64).0 }>(&[RBP, RSP], buffer);
    buffer.unwind(UnwindOp::CfaFramePointer(LINK_BYTES));
}

/// Returns the bytes of the saved registers, or `None` if some cannot be pushed.
fn pushed_bytes(frame: &FrameLayout) -> Option<u64> {
    let is_pushed = |&(reg, _): &(PReg, u32)| reg.class() == RegClass::Int;
    frame.saves.iter().all(is_pushed).then(|| frame.saves.last().map_or(0, |&(_, below)| below.into()))
}

/// Moves the return address down by `bytes`, a multiple of 16, touching each guard page in between.
fn move_return_down(bytes: u64, guard: Option<u64>, buffer: &mut Buffer) {
    let guard = guard.unwrap_or(u64::MAX).max(LEAST_GUARD);
    for page in 1..=bytes / guard {
        touch(-((page * guard) as i64), buffer);
    }
    // The push computes the address of its operand before it moves the stack pointer.
    move_down(bytes - u64::from(RETURN_BYTES), buffer);
    buffer.unwind(UnwindOp::CfaStackPointer(bytes as u32));
    encode(rows::PUSH_M, &Args::mem(&[], Mem::base(MemBase::StackPointer, bytes as i64 - 8)), buffer);
    buffer.unwind(UnwindOp::CfaStackPointer(RETURN_BYTES));
}

/// Moves the return address up by `bytes`, a multiple of 16.
fn move_return_up(bytes: u64, buffer: &mut Buffer) {
    // The pop computes the address of its operand after it moves the stack pointer.
    encode(rows::POP_M, &Args::mem(&[], Mem::base(MemBase::StackPointer, bytes as i64 - 8)), buffer);
    buffer.unwind(UnwindOp::CfaStackPointer(bytes as u32));
    encode(rows::ADDRSP_I, &Args::imm(&[], bytes as i64 - 8), buffer);
    buffer.unwind(UnwindOp::CfaStackPointer(RETURN_BYTES));
}

/// Calls `routine` to touch the next `bytes` bytes, then moves the stack pointer down. The routine receives the
/// number of bytes in `eax` and preserves all registers except [`PROBE_CLOBBERS`].
fn call_probestack(bytes: u64, routine: SymbolRef, buffer: &mut Buffer) {
    encode(rows::MOV32_RI, &Args::imm(&[RAX], bytes as i64), buffer);
    let row = if routine.colocated { rows::CALL_SYM } else { rows::CALL_PLT };
    let symbol = Some(Mem::base(MemBase::Symbol(0), 0));
    encode(row, &Args { mem: symbol, symbols: &[routine], ..Args::default() }, buffer);
    buffer.call();
    allocate(bytes, buffer);
}

/// Moves the stack pointer down by `bytes` as part of the prologue.
fn allocate(bytes: u64, buffer: &mut Buffer) {
    if bytes > 0 {
        move_down(bytes, buffer);
        buffer.unwind(UnwindOp::Allocated(bytes as u32));
    }
}

fn move_down(bytes: u64, buffer: &mut Buffer) {
    if bytes > 0 {
        encode(rows::SUBRSP_I, &Args::imm(&[], bytes as i64), buffer);
    }
}

/// Moves the stack pointer down by `bytes` in steps of `guard`, touching memory after each whole step.
fn probe(bytes: u64, guard: u64, buffer: &mut Buffer) {
    let steps = bytes / guard;
    if steps <= MAX_UNROLLED {
        for _ in 0..steps {
            step(guard, buffer);
            buffer.unwind(UnwindOp::Allocated(guard as u32));
        }
    } else {
        let last = Mem::base(MemBase::StackPointer, -((steps * guard) as i64));
        encode(rows::LEA_RM.of(64), &Args::mem(&[R11], last), buffer);
        let again = buffer.new_label();
        buffer.bind(again);
        step(guard, buffer);
        encode(rows::CMPRSP_R, &Args::regs(&[R11]), buffer);
        jump_if(CC_NE, again, buffer);
        buffer.unwind(UnwindOp::Allocated((steps * guard) as u32));
    }
    allocate(bytes % guard, buffer);
}

/// Moves the stack pointer down by `guard` and touches the memory there. A fault means that the stack is exhausted.
fn step(guard: u64, buffer: &mut Buffer) {
    move_down(guard, buffer);
    touch(0, buffer);
}

/// Writes to the memory at `offset` from the stack pointer. A fault means that the stack is exhausted.
fn touch(offset: i64, buffer: &mut Buffer) {
    buffer.trap(TrapCode::STACK_OVERFLOW);
    let args = Args { mem: Some(Mem::base(MemBase::StackPointer, offset)), ..Args::default() };
    encode(rows::MOV_MI.of(32), &args, buffer);
}

/// Emits the epilogue, then `exit`, which leaves the function. Moves the return address up by `rise` bytes.
pub(crate) fn epilogue(frame: &FrameLayout, rise: u64, buffer: &mut Buffer, exit: impl FnOnce(&mut Buffer)) {
    if !frame.has_frame && rise == 0 {
        exit(buffer);
        return;
    }
    buffer.unwind(UnwindOp::EpilogueBegin);
    if frame.has_frame {
        take_down(frame, buffer);
    }
    if rise > 0 {
        move_return_up(rise, buffer);
    }
    exit(buffer);
    buffer.unwind(UnwindOp::EpilogueEnd);
}

fn take_down(frame: &FrameLayout, buffer: &mut Buffer) {
    let restored = |reg, buffer: &mut Buffer| buffer.unwind(UnwindOp::Restored(reg));
    // With slots below the saved registers, pops need an instruction that moves the stack pointer there. They are
    // shorter only for several registers.
    let pushed = pushed_bytes(frame).filter(|_| frame.saves_at_bottom || frame.saves.len() >= 3);
    if let Some(bytes) = pushed {
        if !frame.saves_at_bottom {
            encode(rows::LEA_RM.of(64), &Args::mem(&[RSP], save_slot(bytes as u32)), buffer);
        }
        for &(reg, _) in frame.saves.iter().rev() {
            encode_row::<{ rows::POP_R.0 }>(&[reg], buffer);
            restored(reg, buffer);
        }
    } else {
        for &(reg, below) in &frame.saves {
            emit_edit(&MachineEdit::Fill(save_slot(below), reg, width(reg)), buffer);
            restored(reg, buffer);
        }
    }
    let slots = if frame.saves_at_bottom { slots_bytes(frame) } else { 0 };
    let leaves = if frame.saves_at_bottom {
        slots > 0 && (frame.prefers_size || !frame.has_calls)
    } else {
        frame.size > 0 && pushed.is_none()
    };
    if leaves {
        encode_row::<{ rows::LEAVE.0 }>(&[], buffer);
    } else {
        if slots > 0 {
            encode(rows::ADDRSP_I, &Args::imm(&[], slots as i64), buffer);
        }
        encode_row::<{ rows::POP_R.0 }>(&[RBP], buffer);
    }
    buffer.unwind(UnwindOp::CfaStackPointer(RETURN_BYTES));
    restored(RBP, buffer);
}

/// Emits the return instruction.
pub(crate) fn ret(frame: &FrameLayout, buffer: &mut Buffer) {
    match frame.popped_bytes {
        0 => encode_row::<{ rows::RET_BARE.0 }>(&[], buffer),
        bytes => encode(rows::RET_POP, &Args::imm(&[], bytes as i64), buffer),
    }
}

/// Returns the number of bytes of a register.
fn width(reg: PReg) -> u8 {
    if reg.class() == RegClass::Int { 8 } else { 16 }
}

fn save_slot(below: u32) -> Mem {
    Mem::base(MemBase::FramePointer, -i64::from(below))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(needs: &FrameNeeds, guard: Option<u64>) -> Result<FrameLayout, LowerError> {
        let mut frame = FrameLayout::default();
        lay_out(needs, 16, guard, false, &mut frame).map(|()| frame)
    }
    use crate::regs::{R12, R13, RBX, xmm};

    fn needs(saved: &[PReg], spill_bytes: u64) -> FrameNeeds {
        FrameNeeds { saved: saved.iter().copied().collect(), spill_bytes, ..FrameNeeds::default() }
    }

    fn code(needs: &FrameNeeds) -> String {
        let frame = layout(needs, None).unwrap();
        let mut buffer = Buffer::default();
        buffer.start(0);
        prologue(&frame, None, &mut buffer);
        buffer.put1(0x90);
        epilogue(&frame, 0, &mut buffer, |b| ret(&frame, b));
        buffer.bytes().iter().map(|b| format!("{b:02x}")).collect()
    }

    #[test]
    fn a_leaf_without_slots_has_no_frame() {
        assert_eq!(code(&needs(&[], 0)), "90c3");
    }

    #[test]
    fn a_frame_is_built_and_taken_down() {
        // push rbp; mov rbp, rsp; nop; pop rbp; ret
        let kept = FrameNeeds { keep_frame_pointer: true, ..needs(&[], 0) };
        assert_eq!(code(&kept), "554889e5905dc3");
        // ...; sub rsp, 16; nop; leave; ret 32
        let popped = FrameNeeds { popped_bytes: 32, incoming_bytes: 32, ..needs(&[], 8) };
        assert_eq!(code(&popped), "554889e54883ec1090c9c22000");
        // sub rsp, 16; push rbx; push r12; nop; pop r12; pop rbx; add rsp, 16; pop rbp
        let calls = FrameNeeds { has_calls: true, ..needs(&[RBX, R12], 16) };
        assert_eq!(code(&calls), "554889e54883ec1053415490415c5b4883c4105dc3");
        // Stack arguments are at the bottom: push rbx; push r12; sub rsp, 16; nop; mov rbx, [rbp - 8]; mov r12, [rbp - 16]; leave
        let calls = FrameNeeds { outgoing_bytes: 16, ..needs(&[RBX, R12], 0) };
        assert_eq!(code(&calls), "554889e55341544883ec1090488b5df84c8b65f0c9c3");
        // ...; push r13; sub rsp, 24; nop; lea rsp, [rbp - 24]; pop r13; pop r12; pop rbx; pop rbp
        let calls = FrameNeeds { outgoing_bytes: 16, ..needs(&[RBX, R12, R13], 0) };
        assert_eq!(code(&calls), "554889e553415441554883ec1890488d65e8415d415c5b5dc3");
        // The frame has only saved registers: push rbx; push r12; nop and the reverse
        assert_eq!(code(&needs(&[RBX, R12], 0)), "554889e553415490415c5b5dc3");
        // push rax, which makes room for 8 bytes; push rbx; push r12; push r13; nop; pop r13; pop r12; pop rbx; leave
        let many = needs(&[RBX, R12, R13], 8);
        assert_eq!(code(&many), "554889e550534154415590415d415c5bc9c3");
        // movups [rbp - 16], xmm6
        assert_eq!(code(&needs(&[xmm(6)], 0)), "554889e54883ec100f1175f0900f1075f0c9c3");
    }

    #[test]
    fn slots_are_addressed_from_the_nearer_end() {
        let mut wide = FrameNeeds { slots_bytes: 256, ..needs(&[RBX, R12], 0) };
        let of = |needs: &FrameNeeds, offset| layout(needs, None).unwrap().user_slot(offset);
        let (above_stack, above_frame) =
            ([0, 111].map(|offset| of(&wide, offset)), [112, 255].map(|offset| of(&wide, offset)));
        assert_eq!(above_stack, [16, 127].map(|disp| Mem::base(MemBase::StackPointer, disp)));
        assert_eq!(above_frame, [-144, -1].map(|disp| Mem::base(MemBase::FramePointer, disp)));
        // The frame pointer, which needs no further byte, is preferred.
        assert_eq!(of(&FrameNeeds { slots_bytes: 64, ..needs(&[], 0) }, 0), Mem::base(MemBase::FramePointer, -64));
        wide.moves_stack_pointer = true;
        assert_eq!(of(&wide, 0), Mem::base(MemBase::FramePointer, -256));
    }

    #[test]
    fn a_small_frame_is_left_by_the_frame_pointer() {
        let mut frame = layout(&FrameNeeds { has_calls: true, ..needs(&[RBX], 8) }, None).unwrap();
        frame.prefers_size = true;
        let mut buffer = Buffer::default();
        buffer.start(0);
        epilogue(&frame, 0, &mut buffer, |b| ret(&frame, b));
        // pop rbx; leave; ret
        assert_eq!(buffer.bytes(), [0x5b, 0xc9, 0xc3]);
    }

    #[test]
    fn the_return_address_moves_for_tail_calls() {
        let text = |needs: &FrameNeeds, rise| {
            let frame = layout(needs, Some(4096)).unwrap();
            let mut buffer = Buffer::default();
            buffer.start(0);
            prologue(&frame, Some(4096), &mut buffer);
            buffer.put1(0x90);
            epilogue(&frame, rise, &mut buffer, |b| ret(&frame, b));
            buffer.bytes().iter().map(|b| format!("{b:02x}")).collect::<String>()
        };
        // sub rsp, 24; push [rsp + 24]; nop; pop [rsp + 8]; add rsp, 8; ret 48
        let grows = FrameNeeds { incoming_bytes: 16, popped_bytes: 48, ..needs(&[], 0) };
        assert_eq!(text(&grows, 16), "4883ec18ff742418908f4424084883c408c23000");
        // The above code around push rbp; mov rbp, rsp; and pop rbp
        let framed = FrameNeeds { keep_frame_pointer: true, ..grows };
        assert_eq!(text(&framed, 16), "4883ec18ff742418554889e5905d8f4424084883c408c23000");
        // mov dword [rsp - 4096], 0; sub rsp, 8184; push [rsp + 8184]; nop; ret 8192
        let page = FrameNeeds { popped_bytes: 8192, ..needs(&[], 0) };
        let touches = ["00f0ffff", "00e0ffff"].map(|at| format!("c78424{at}00000000")).concat();
        assert_eq!(text(&page, 0), touches + "4881ecf81f0000ffb424f81f000090c20020");
    }

    #[test]
    fn large_frames_touch_every_guard_page() {
        let probed = |bytes, guard| {
            let frame = layout(&FrameNeeds { slots_bytes: bytes, ..needs(&[], 0) }, Some(guard)).unwrap();
            hex(&frame, guard)
        };
        let step = "4881ec00100000c7042400000000";
        assert_eq!(probed(4096, 4096), "554889e54881ec00100000");
        assert_eq!(probed(8192 + 16, 4096), format!("554889e5{step}{step}4883ec10"));
        // lea r11, [rsp - 0x100000]; the step; cmp rsp, r11; jne, whose distance is filled in later
        assert_eq!(probed(1 << 20, 4096), format!("554889e54c8d9c240000f0ff{step}4c39dc0000"));
        // push rbx; the steps; sub rsp, 8
        let saved = layout(&FrameNeeds { slots_bytes: 8192, ..needs(&[RBX], 0) }, Some(4096)).unwrap();
        assert_eq!(hex(&saved, 4096), format!("554889e553{step}{step}4883ec08"));
    }

    #[test]
    fn a_routine_touches_guard_pages() {
        let frame = layout(&FrameNeeds { slots_bytes: 8192, ..needs(&[RBX], 0) }, Some(4096)).unwrap();
        let probestack = Some(SymbolRef { name: 7, colocated: false, offset: 0 });
        let frame = FrameLayout { probestack, ..frame };
        // push rbx; mov eax, 8200; call; sub rsp, 8200
        for guard in [4096, 8208] {
            assert_eq!(hex(&frame, guard), "554889e553b808200000e8000000004881ec08200000");
        }
        assert_eq!(hex(&frame, 8224), "554889e5534881ec08200000");
    }

    /// Returns the bytes of the prologue in hexadecimal.
    fn hex(frame: &FrameLayout, guard: u64) -> String {
        let mut buffer = Buffer::default();
        buffer.start(0);
        prologue(frame, Some(guard), &mut buffer);
        buffer.bytes().iter().map(|b| format!("{b:02x}")).collect()
    }

    #[test]
    fn unreachable_frames_are_refused() {
        let large = FrameNeeds { slots_bytes: 3 << 30, ..needs(&[], 0) };
        assert!(layout(&large, None).is_err());
        let popped = FrameNeeds { popped_bytes: 1 << 16, ..needs(&[], 0) };
        assert!(layout(&popped, None).is_err());
    }
}
