//! Copies, constants, loads, stores, addresses, widening.

use crate::encoding::{of, of64, of66, op, op64};
use crate::regs::RAX;
use kingpost_mach::operands::{D4, D8, FD16, FU16, M4, U2};
use kingpost_mach::rows;
use kingpost_mach::{RelocKind, RowKind};

rows! {
    crate::rows::float::END;

    // Copies. Exchanges are for edits only: they change both registers, which operands cannot describe.
    MOV_RR[32 64] = None "mov {0}, {1}" [D, U] op(0x89).reg(1).rm(0).size(W), .kind(RowKind::Move);
    MOVAPS_RR = None "movaps {0}, {1}" [FD16, FU16] of(0x28).reg(0).rm(1), .kind(RowKind::Move);
    XCHG_RR[32 64] = None "xchg {0}, {1}" [T, U] op(0x87).reg(1).rm(0).acc(0x90).size(W);
    // Constants: 32 bits zero-extended, 32 bits sign-extended, 64 bits.
    MOV32_RI = None "mov {0}, {i}" [D4] op(0xb8).plus(0).id(), .kind(RowKind::Remat);
    MOV64_RI = None "mov {0}, {i}" [D8] op64(0xc7).digit(0).rm(0).id(), .kind(RowKind::Remat);
    MOVABS_RI = None "movabs {0}, {i}" [D8] op64(0xb8).plus(0).io(), .kind(RowKind::Remat);
    XOR32_ZERO = Clobber "xor {0}, {0}" [D4] op(0x31).reg(0).rm(0);
    // Addresses; `CONST` has no registers, `ABS` and `GOT` name a symbol.
    LEA_RM[32 64] = None "lea {0}, {m}" [D] op(0x8d).reg(0).addr().size(W);
    LEA64_CONST = None "lea {0}, {m}" [D8] op64(0x8d).reg(0).addr(), .kind(RowKind::Remat);
    MOVABS_ABS = None "movabs {0}, offset {t}" [D8] op64(0xb8).plus(0).io().reloc(RelocKind::Abs8), .kind(RowKind::Remat);
    MOV64_GOT = None "mov {0}, {m}" [D8] op64(0x8b).reg(0).mem(8).reloc(RelocKind::X86GotPcRel4), .kind(RowKind::Remat);
    // Loads.
    MOV_RM[32 64] = None "mov {0}, {m}" [D] op(0x8b).reg(0).mem(W).size(W);
    MOVS_RM[ss sd] = None "movs* {0}, {m}" [FD] of(0x10).reg(0).mem(W).scalar(W), .clears_upper();
    MOVAPS_RM = None "movaps {0}, {m}" [FD16] of(0x28).reg(0).mem(16);
    MOVUPS_RM = None "movups {0}, {m}" [FD16] of(0x10).reg(0).mem(16);
    // Loads of literals.
    MOVS_CONST[ss sd] = None "movs* {0}, {m}" [FD] of(0x10).reg(0).mem(W).scalar(W), .clears_upper(), .kind(RowKind::Remat);
    MOVUPS_CONST = None "movups {0}, {m}" [FD16] of(0x10).reg(0).mem(16), .kind(RowKind::Remat);
    // Stores.
    MOV_MR[8 16 32 64] = None "mov {m}, {0}" [U] op(0x89).reg(0).mem(W).size(W), .stores();
    MOV_MI[8 16 32 64] = None "mov {m}, {i}" [] op(0xc7).digit(0).mem(W).iz(W).size(W), .stores();
    MOVS_MR[ss sd] = None "movs* {m}, {0}" [FU] of(0x11).reg(0).mem(W).scalar(W), .stores();
    MOVAPS_MR = None "movaps {m}, {0}" [FU16] of(0x29).reg(0).mem(16), .stores();
    MOVUPS_MR = None "movups {m}, {0}" [FU16] of(0x11).reg(0).mem(16), .stores();
    // Widening; from 32 to 64 bits with zeros it is a 32-bit `mov`.
    MOVZX32_RR[8 16] = None "movzx {0}, {1}" [D4, M] of(0xb6 + LOG).reg(0).rm(1), .twin(1, MOVZX32_RM);
    MOVZX32_RM[8 16] = None "movzx {0}, {m}" [D4] of(0xb6 + LOG).reg(0).mem(W);
    MOVSX32_RR[8 16] = None "movsx {0}, {1}" [D4, M] of(0xbe + LOG).reg(0).rm(1), .twin(1, MOVSX32_RM);
    MOVSX32_RM[8 16] = None "movsx {0}, {m}" [D4] of(0xbe + LOG).reg(0).mem(W);
    MOVSX64_RR[8 16] = None "movsx {0}, {1}" [D8, M] of64(0xbe + LOG).reg(0).rm(1), .twin(1, MOVSX64_RM);
    MOVSX64_RM[8 16] = None "movsx {0}, {m}" [D8] of64(0xbe + LOG).reg(0).mem(W);
    MOVSX64_32_RR = None "movsxd {0}, {1}" [D8, M4] op64(0x63).reg(0).rm(1), .twin(1, MOVSX64_32_RM);
    MOVSX64_32_RM = None "movsxd {0}, {m}" [D8] op64(0x63).reg(0).mem(4);
    MOVZX64_32_RR = None "mov {0}, {1}" [D4, M4] op(0x89).reg(1).rm(0), .twin(1, MOV_RM.of(32));
    MOVZX32_AH = None "movzx eax, ah" [D4.fixed(RAX), U2.fixed(RAX)] of(0xb6).bare(0xc4);
    // Between register classes.
    MOV_FR[d q] = None "mov* {0}, {1}" [FD, M] of66(0x6e).reg(0).rm(1).size(W), .twin(1, MOVS_RM), .clears_upper();
    MOV_RF[d q] = None "mov* {0}, {1}" [D, FM] of66(0x7e).reg(1).rm(0).size(W), .twin(1, MOV_RM);
}
