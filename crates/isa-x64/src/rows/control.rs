//! Jumps, calls, returns, traps, and the instructions of prologue and epilogue.
//!
//! Jumps: `aux` is the block taken, `extra` the other block. `imm` is the condition, with a second condition in its
//! upper half. Tail calls: `imm` is the number of bytes of stack arguments that the callee pops. Calls with handlers:
//! `imm` is the number of their exits. Calls to symbols have an address of kind `Symbol`.

use crate::encoding::{Special, of, op, op64, special};
use crate::regs::{R15, RAX, RBP, RCX, RDI, RSP, SYSV_CLOBBERED_INTS};
use kingpost_mach::operands::{D8, FT16, FU16, M8, U4, U8};
use kingpost_mach::rows;
use kingpost_mach::{ListIndex, OperandSpec, RelocKind, RowConstraint, RowKind};

/// Operand with the address of a tail call's callee: the epilogue restores all other registers before the jump.
const LASTING: OperandSpec = U8.at(RowConstraint::Within(SYSV_CLOBBERED_INTS));

rows! {
    crate::rows::bits::END;

    // Jumps to blocks.
    JMP = None "jmp {t}" [] special(Special::Jump), .kind(RowKind::Branch);
    JCC = Use "j{c} {t}" [] special(Special::JumpIf), .kind(RowKind::Branch);
    JCC_OR = Use "j{c} {t}; or" [] special(Special::JumpIfOr), .kind(RowKind::Branch);
    JCC_AND = Use "j{c} {t}; and" [] special(Special::JumpIfAnd), .kind(RowKind::Branch);
    // Jumps to one of the first two or three targets by number, else to the next one. The targets begin at the
    // immediate.
    JCHAIN2_R = Clobber "jchain2 {0}" [U4] special(Special::JumpChain(2)), .kind(RowKind::Branch), .index(ListIndex::Targets(3));
    JCHAIN3_R = Clobber "jchain3 {0}" [U4] special(Special::JumpChain(3)), .kind(RowKind::Branch), .index(ListIndex::Targets(4));
    JMP_R = None "jmp {0}" [U8] op(0xff).digit(4).rm(0), .kind(RowKind::Branch);
    // Calls.
    CALL_SYM = Clobber "call {t}" [] op(0xe8).id().reloc(RelocKind::X86CallPcRel4), .kind(RowKind::Call);
    CALL_PLT = Clobber "call {t}@PLT" [] op(0xe8).id().reloc(RelocKind::X86CallPltRel4), .kind(RowKind::Call);
    CALL_R = Clobber "call {0}" [U8] op(0xff).digit(2).rm(0), .kind(RowKind::Call);
    CALL_M = Clobber "call {m}" [] op(0xff).digit(2).mem(8), .kind(RowKind::Call);
    CALL_GOT = Clobber "call {m}" [] op(0xff).digit(2).mem(8).reloc(RelocKind::X86GotPcRel4), .kind(RowKind::Call);
    // Calls with handlers.
    TRY_SYM = Clobber "call {t}" [] op(0xe8).id().reloc(RelocKind::X86CallPcRel4), .kind(RowKind::TryCall);
    TRY_PLT = Clobber "call {t}@PLT" [] op(0xe8).id().reloc(RelocKind::X86CallPltRel4), .kind(RowKind::TryCall);
    TRY_R = Clobber "call {0}" [U8] op(0xff).digit(2).rm(0), .kind(RowKind::TryCall);
    // The address of the target block whose index is the immediate.
    LEA64_BLOCK = None "lea {0}, {t}" [D8] special(Special::BlockAddress), .kind(RowKind::Remat), .index(ListIndex::Targets(1));
    // The address of a thread-local symbol, general dynamic model. Linkers recognize these 16 bytes.
    TLS_ADDRESS = Clobber "data16 lea rdi, {t}@tlsgd[rip]; .value 0x6666; rex64 call symbol{i}@PLT" [D8.fixed(RAX)] special(Special::TlsAddress).reloc(RelocKind::X86TlsGd), .index(ListIndex::Name);
    // The address of a thread-local symbol of the module with the index in the named symbol (Windows).
    TLS_OF_INDEX = None "mov eax, dword ptr symbol{i}[rip]; mov rcx, gs:[0x58]; mov rax, [rcx + rax * 8]; lea rax, [rax + {t}@secrel32]" [D8.fixed(RAX)] special(Special::TlsOfIndex).reloc(RelocKind::X86SecRel), .index(ListIndex::Name);
    // The address of a thread-local symbol with a descriptor of its own (macOS).
    TLS_OF_VARIABLE = Clobber "mov rdi, {t}@tlvp[rip]; call [rdi]" [D8.fixed(RAX)] special(Special::TlsOfVariable).reloc(RelocKind::X86Tlv);
    // Switches to another stack. Only the frame is preserved, so that registers are free.
    STACK_SWITCH = Clobber "mov rdx, [rcx]; mov [rax], rsp; mov rsp, rdx; mov rdx, [rcx + 8]; mov [rax + 8], rbp; mov rbp, rdx; mov rdx, [rcx + 16]; lea r8, [rip + 6]; mov [rax + 16], r8; jmp rdx" [D8.fixed(RDI), U8.fixed(RAX), U8.fixed(RCX), U8.fixed(RDI)] special(Special::StackSwitch);
    // Exits of the function, with the epilogue first.
    RET = None "ret" [] op(0xc3).leave(), .kind(RowKind::Exit);
    TAIL_SYM = None "jmp {t}" [] op(0xe9).id().reloc(RelocKind::X86CallPcRel4).leave(), .kind(RowKind::Exit);
    TAIL_PLT = None "jmp {t}@PLT" [] op(0xe9).id().reloc(RelocKind::X86CallPltRel4).leave(), .kind(RowKind::Exit);
    TAIL_R = None "jmp {0}" [LASTING] op(0xff).digit(4).rm(0).leave(), .kind(RowKind::Exit);
    // Traps.
    UD2 = None "ud2" [] of(0x0b), .kind(RowKind::Exit), .traps();
    INT3 = None "int3" [] op(0xcc), .traps();
    TRAP_IF = Use "trap{c}" [] special(Special::TrapIf), .traps();
    TRAP_IF_OR = Use "trap{c}; or" [] special(Special::TrapIfOr), .traps();
    TRAP_IF_AND = Use "trap{c}; and" [] special(Special::TrapIfAnd), .traps();
    // No bytes in a leaf function without a frame.
    STACK_CHECK_R = Clobber "cmp rsp, {0}; trapb" [U8] special(Special::StackCheck), .traps();
    // A location that debug information records: no bytes.
    SEQUENCE_POINT = None "" [] special(Special::Nothing), .kind(RowKind::SequencePoint);
    // Places of parameters: defs only, no bytes.
    ENTRY = None "" [] special(Special::Nothing);
    // Operand 2 if the condition holds, else operand 1.
    SELECT_F = Use "select{c} {0}, {2}" [FT16, FU16, FU16] special(Special::Select);
    // Frames: emitted by prologue and epilogue. `SUBRSP_I` also restores the stack pointer after a callee popped
    // arguments.
    PUSH_R = None "push {0}" [U8] op(0x50).plus(0);
    POP_R = None "pop {0}" [D8] op(0x58).plus(0);
    PUSH_M = None "push {m}" [] op(0xff).digit(6).mem(8);
    POP_M = None "pop {m}" [] op(0x8f).digit(0).mem(8);
    LEAVE = None "leave" [] op(0xc9);
    RET_BARE = None "ret" [] op(0xc3), .kind(RowKind::Exit);
    RET_POP = None "ret {i}" [] op(0xc2).iw(), .kind(RowKind::Exit);
    ADDRSP_I = Clobber "add rsp, {i}" [] op64(0x81).digit(0).rm_is(RSP).id().short(0x83);
    SUBRSP_I = Clobber "sub rsp, {i}" [] op64(0x81).digit(5).rm_is(RSP).id().short(0x83);
    CMPRSP_R = Def "cmp rsp, {0}" [U8] op64(0x39).reg(0).rm_is(RSP);
    // Registers that are not allocated.
    MOV64_FROM_RSP = None "mov {0}, rsp" [D8] op64(0x89).reg_is(RSP).rm(0);
    MOV64_FROM_RBP = None "mov {0}, rbp" [D8] op64(0x89).reg_is(RBP).rm(0);
    MOV64_FROM_R15 = None "mov {0}, r15" [D8] op64(0x89).reg_is(R15).rm(0);
    MOV64_TO_R15 = None "mov r15, {0}" [M8] op64(0x89).reg(0).rm_is(R15), .twin(0, MOV64_TO_R15_M);
    MOV64_TO_R15_M = None "mov r15, {m}" [] op64(0x8b).reg_is(R15).mem(8);
    // No-op.
    NOP = None "nop" [] op(0x90);
}
