//! Jumps, calls, returns, traps, and the instructions of prologue and epilogue.
//!
//! Jumps: `aux` is the block taken, `extra` the other block. `imm` is the number of the tested bit, or the condition,
//! with a second condition in its upper half. Tail calls: `imm` is the number of bytes of stack arguments that the
//! callee pops. Calls with handlers: `imm` is the number of their exits. Calls to symbols have an address of kind
//! `Symbol`.

use crate::encoding::{Special, jump_test, op, special, trap_test};
use crate::regs::{AAPCS_TEMPORARIES, x};
use kingpost_mach::operands::{D8, FD8, FU8, T8, U4, U8};
use kingpost_mach::rows;
use kingpost_mach::{ListIndex, OperandSpec, RelocKind, RowConstraint, RowKind};

/// Operand with the address of a tail call's callee: the epilogue restores all other registers before the jump.
const LASTING: OperandSpec = U8.at(RowConstraint::Within(AAPCS_TEMPORARIES));

rows! {
    crate::rows::bits::END;

    // Jumps to blocks.
    B = None "b {t}" [] special(Special::Jump), .kind(RowKind::Branch);
    B_IF = Use "b.{c} {t}" [] special(Special::JumpIf), .kind(RowKind::Branch);
    B_IF_OR = Use "b.{c} {t}; or" [] special(Special::JumpIfOr), .kind(RowKind::Branch);
    B_IF_AND = Use "b.{c} {t}; and" [] special(Special::JumpIfAnd), .kind(RowKind::Branch);
    // Jumps to one of the first two or three targets by number, else to the next one. The targets begin at the
    // immediate.
    B_CHAIN2_R = Clobber "b.chain2 {0}" [U4] special(Special::JumpChain(2)), .kind(RowKind::Branch), .index(ListIndex::Targets(3));
    B_CHAIN3_R = Clobber "b.chain3 {0}" [U4] special(Special::JumpChain(3)), .kind(RowKind::Branch), .index(ListIndex::Targets(4));
    CBZ_R[32 64] = None "cbz {0}, {t}" [U] jump_test(0x3400_0000).sf(W), .kind(RowKind::Branch);
    CBNZ_R[32 64] = None "cbnz {0}, {t}" [U] jump_test(0x3500_0000).sf(W), .kind(RowKind::Branch);
    TBZ_RI = None "tbz {0}, {i}, {t}" [U8] jump_test(0x3600_0000).test_bit(), .kind(RowKind::Branch);
    TBNZ_RI = None "tbnz {0}, {i}, {t}" [U8] jump_test(0x3700_0000).test_bit(), .kind(RowKind::Branch);
    BR_R = None "br {0}" [U8] op(0xd61f_0000).rn(0), .kind(RowKind::Branch);
    // Calls. A linker inserts a veneer where a symbol is out of reach.
    BL_SYM = Clobber "bl {t}" [] op(0x9400_0000).reloc(RelocKind::Aarch64Call), .kind(RowKind::Call);
    BLR_R = Clobber "blr {0}" [U8] op(0xd63f_0000).rn(0), .kind(RowKind::Call);
    // Calls with handlers.
    TRY_SYM = Clobber "bl {t}" [] op(0x9400_0000).reloc(RelocKind::Aarch64Call), .kind(RowKind::TryCall);
    TRY_R = Clobber "blr {0}" [U8] op(0xd63f_0000).rn(0), .kind(RowKind::TryCall);
    // The address of the target block whose index is the immediate.
    ADR_BLOCK = None "adr {0}, {t}" [D8] special(Special::BlockAddress), .kind(RowKind::Remat), .index(ListIndex::Targets(1));
    // The address of a thread-local symbol, by a descriptor. Linkers recognize the first four instructions.
    TLS_ADDRESS = Clobber "adrp x0, :tlsdesc:{t}; ldr x1, [x0, :tlsdesc_lo12:{t}]; add x0, x0, :tlsdesc_lo12:{t}; .tlsdesccall {t}; blr x1; mrs x1, tpidr_el0; add {0}, x0, x1" [D8.fixed(x(0))] special(Special::TlsAddress);
    // The address of a thread-local symbol of the module with the index in the named symbol (Windows). x18 is the
    // address of the thread's block.
    TLS_OF_INDEX = None "adrp x16, symbol{i}; ldr w16, [x16, :lo12:symbol{i}]; ldr x17, [x18, #88]; ldr {0}, [x17, x16, lsl #3]; add {0}, {0}, :secrel_hi12:{t}; add {0}, {0}, :secrel_lo12:{t}" [D8] special(Special::TlsOfIndex), .index(ListIndex::Name);
    // The address of a thread-local symbol with a descriptor of its own (macOS).
    TLS_OF_VARIABLE = Clobber "adrp x0, {t}@TLVPPAGE; ldr x0, [x0, {t}@TLVPPAGEOFF]; ldr x16, [x0]; blr x16" [D8.fixed(x(0))] special(Special::TlsOfVariable);
    // Switches to another stack. Only the frame is preserved, so that registers are free.
    STACK_SWITCH = Clobber "ldr x3, [x2]; mov x4, sp; str x4, [x1]; mov sp, x3; ldr x3, [x2, #8]; str x29, [x1, #8]; mov x29, x3; ldr x16, [x2, #16]; adr x4, .+12; str x4, [x1, #16]; br x16; hint #36" [D8.fixed(x(0)), U8.fixed(x(1)), U8.fixed(x(2)), U8.fixed(x(0))] special(Special::StackSwitch);
    // Exits of the function, with the epilogue first.
    RET = None "ret" [] op(0xd65f_03c0).leave(), .kind(RowKind::Exit);
    TAIL_SYM = None "b {t}" [] op(0x1400_0000).reloc(RelocKind::Aarch64Call).leave(), .kind(RowKind::Exit);
    TAIL_R = None "br {0}" [LASTING] op(0xd61f_0000).rn(0).leave(), .kind(RowKind::Exit);
    // Jumps through x16, which may arrive at `bti c`.
    TAIL_X16_R = None "mov x16, {0}; br x16" [LASTING] special(Special::LeaveX16), .kind(RowKind::Exit);
    // Traps.
    UDF = None "udf {i}" [] op(0).at(0), .kind(RowKind::Exit), .traps();
    BRK = None "brk {i}" [] op(0xd420_0000).at(5), .traps();
    TRAP_IF = Use "trap.{c}" [] special(Special::TrapIf), .traps();
    TRAP_IF_OR = Use "trap.{c}; or" [] special(Special::TrapIfOr), .traps();
    TRAP_IF_AND = Use "trap.{c}; and" [] special(Special::TrapIfAnd), .traps();
    TRAP_CBZ_R[32 64] = None "trap.z {0}" [U] trap_test(0x3400_0000).sf(W), .traps();
    TRAP_CBNZ_R[32 64] = None "trap.nz {0}" [U] trap_test(0x3500_0000).sf(W), .traps();
    // A location that debug information records: no bytes.
    SEQUENCE_POINT = None "" [] special(Special::Nothing), .kind(RowKind::SequencePoint);
    // Places of parameters: defs only, no bytes.
    ENTRY = None "" [] special(Special::Nothing);
    // Frames: emitted by prologue and epilogue. Operand 0 is the moved base, which replaces the base in operand 1.
    STR64_PRE = None "str {2}, [{1}, {i}]!" [T8, U8, U8] op(0xf800_0c00).rn(1).rd(2).simm9();
    LDR64_POST = None "ldr {2}, [{1}], {i}" [T8, U8, D8] op(0xf840_0400).rn(1).rd(2).simm9();
    STP64_PRE = None "stp {2}, {3}, [{1}, {i}]!" [T8, U8, U8, U8] op(0xa980_0000).rn(1).rd(2).ra(3).simm7(3);
    LDP64_POST = None "ldp {2}, {3}, [{1}], {i}" [T8, U8, D8, D8] op(0xa8c0_0000).rn(1).rd(2).ra(3).simm7(3);
    STP64_FPRE = None "stp {2}, {3}, [{1}, {i}]!" [T8, U8, FU8, FU8] op(0x6d80_0000).rn(1).rd(2).ra(3).simm7(3);
    LDP64_FPOST = None "ldp {2}, {3}, [{1}], {i}" [T8, U8, FD8, FD8] op(0x6cc0_0000).rn(1).rd(2).ra(3).simm7(3);
    RET_BARE = None "ret" [] op(0xd65f_03c0), .kind(RowKind::Exit);
    ADDSP_I = None "add sp, sp, {i}" [] op(0x9100_03ff).add_sub();
    SUBSP_I = None "sub sp, sp, {i}" [] op(0xd100_03ff).add_sub();
    ADDSP_R = None "add sp, sp, {0}" [U8] op(0x8b20_63ff).rm(0);
    SUBSP_R = None "sub sp, sp, {0}" [U8] op(0xcb20_63ff).rm(0);
    // The register counts units of 16 bytes.
    SUBSP_R16 = None "sub sp, sp, {0}, lsl #4" [U8] op(0xcb20_73ff).rm(0);
    CMPSP_R = Def "cmp sp, {0}" [U8] op(0xeb20_63ff).rm(0);
    MOV64_TO_SP = None "mov sp, {0}" [U8] op(0x9100_001f).rn(0);
    // Registers that are not allocated.
    MOV64_FROM_SP = None "mov {0}, sp" [D8] op(0x9100_03e0).rd(0);
    MOV64_FROM_FP = None "mov {0}, x29" [D8] op(0xaa1d_03e0).rd(0);
    MOV64_FROM_LR = None "mov {0}, x30" [D8] op(0xaa1e_03e0).rd(0);
    MOV64_FROM_X21 = None "mov {0}, x21" [D8] op(0xaa15_03e0).rd(0);
    MOV64_TO_X21 = None "mov x21, {0}" [U8] op(0xaa00_03f5).rm(0);
    // No-op, and hints by number: signing and checking the return address, landing pads.
    HINT_I = None "hint {i}" [] op(0xd503_201f).at(5);
    NOP = None "nop" [] op(0xd503_201f);
}
