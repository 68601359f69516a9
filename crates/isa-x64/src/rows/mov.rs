//! Copies, constants, loads, stores, addresses, widening.

use crate::encoding::{of, of64, of66, off2, off3, op, op16, op64};
use crate::regs::RAX;
use crate::rows::rows;
use kingpost_mach::operands::{
    D4, D8, FD4, FD8, FD16, FM4, FM8, FU4, FU8, FU16, M1, M2, M4, M8, T4, T8, U1, U2, U4, U8,
};
use kingpost_mach::{RelocKind, RowKind};

rows! {
    crate::rows::float::END;

    // Copies. Exchanges change both registers, which operands cannot say: they are for edits only.
    MOV32_RR = None "mov {0}, {1}" [D4, U4] op(0x89).reg(1).rm(0), .kind(RowKind::Move);
    MOV64_RR = None "mov {0}, {1}" [D8, U8] op64(0x89).reg(1).rm(0), .kind(RowKind::Move);
    MOVAPS_RR = None "movaps {0}, {1}" [FD16, FU16] of(0x28).reg(0).rm(1), .kind(RowKind::Move);
    XCHG32_RR = None "xchg {0}, {1}" [T4, U4] op(0x87).reg(1).rm(0).acc(0x90);
    XCHG64_RR = None "xchg {0}, {1}" [T8, U8] op64(0x87).reg(1).rm(0).acc(0x90);
    // Constants: 32 bits zero-extended, 32 bits sign-extended, 64 bits.
    MOV32_RI = None "mov {0}, {i}" [D4] op(0xb8).plus(0).id(), .kind(RowKind::Remat);
    MOV64_RI = None "mov {0}, {i}" [D8] op64(0xc7).digit(0).rm(0).id(), .kind(RowKind::Remat);
    MOVABS_RI = None "movabs {0}, {i}" [D8] op64(0xb8).plus(0).io(), .kind(RowKind::Remat);
    XOR32_ZERO = Clobber "xor {0}, {0}" [D4] op(0x31).reg(0).rm(0);
    // Addresses; `CONST` has no registers, `ABS` and `GOT` name a symbol.
    LEA64_RM = None "lea {0}, {m}" [D8] op64(0x8d).reg(0).addr();
    LEA32_RM = None "lea {0}, {m}" [D4] op(0x8d).reg(0).addr();
    LEA64_CONST = None "lea {0}, {m}" [D8] op64(0x8d).reg(0).addr(), .kind(RowKind::Remat);
    MOVABS_ABS = None "movabs {0}, offset {t}" [D8] op64(0xb8).plus(0).io().reloc(RelocKind::Abs8), .kind(RowKind::Remat);
    MOV64_GOT = None "mov {0}, {m}" [D8] op64(0x8b).reg(0).mem(8).reloc(RelocKind::X86GotPcRel4), .kind(RowKind::Remat);
    // Loads.
    MOV32_RM = None "mov {0}, {m}" [D4] op(0x8b).reg(0).mem(4);
    MOV64_RM = None "mov {0}, {m}" [D8] op64(0x8b).reg(0).mem(8);
    MOVSS_RM = None "movss {0}, {m}" [FD4] off3(0x10).reg(0).mem(4), .clears_upper();
    MOVSD_RM = None "movsd {0}, {m}" [FD8] off2(0x10).reg(0).mem(8), .clears_upper();
    MOVAPS_RM = None "movaps {0}, {m}" [FD16] of(0x28).reg(0).mem(16);
    MOVUPS_RM = None "movups {0}, {m}" [FD16] of(0x10).reg(0).mem(16);
    // Loads of constants from the pool.
    MOVSS_CONST = None "movss {0}, {m}" [FD4] off3(0x10).reg(0).mem(4), .clears_upper(), .kind(RowKind::Remat);
    MOVSD_CONST = None "movsd {0}, {m}" [FD8] off2(0x10).reg(0).mem(8), .clears_upper(), .kind(RowKind::Remat);
    MOVUPS_CONST = None "movups {0}, {m}" [FD16] of(0x10).reg(0).mem(16), .kind(RowKind::Remat);
    // Stores.
    MOV8_MR = None "mov {m}, {0}" [U1] op(0x88).reg(0).mem(1);
    MOV16_MR = None "mov {m}, {0}" [U2] op16(0x89).reg(0).mem(2);
    MOV32_MR = None "mov {m}, {0}" [U4] op(0x89).reg(0).mem(4);
    MOV64_MR = None "mov {m}, {0}" [U8] op64(0x89).reg(0).mem(8);
    MOV8_MI = None "mov {m}, {i}" [] op(0xc6).digit(0).mem(1).ib();
    MOV16_MI = None "mov {m}, {i}" [] op16(0xc7).digit(0).mem(2).iw();
    MOV32_MI = None "mov {m}, {i}" [] op(0xc7).digit(0).mem(4).id();
    MOV64_MI = None "mov {m}, {i}" [] op64(0xc7).digit(0).mem(8).id();
    MOVSS_MR = None "movss {m}, {0}" [FU4] off3(0x11).reg(0).mem(4);
    MOVSD_MR = None "movsd {m}, {0}" [FU8] off2(0x11).reg(0).mem(8);
    MOVAPS_MR = None "movaps {m}, {0}" [FU16] of(0x29).reg(0).mem(16);
    MOVUPS_MR = None "movups {m}, {0}" [FU16] of(0x11).reg(0).mem(16);
    // Widening; from 32 to 64 bits with zeros it is a 32-bit `mov`.
    MOVZX32_8_RR = None "movzx {0}, {1}" [D4, M1] of(0xb6).reg(0).rm(1), .twin(1, MOVZX32_8_RM);
    MOVZX32_8_RM = None "movzx {0}, {m}" [D4] of(0xb6).reg(0).mem(1);
    MOVZX32_16_RR = None "movzx {0}, {1}" [D4, M2] of(0xb7).reg(0).rm(1), .twin(1, MOVZX32_16_RM);
    MOVZX32_16_RM = None "movzx {0}, {m}" [D4] of(0xb7).reg(0).mem(2);
    MOVSX32_8_RR = None "movsx {0}, {1}" [D4, M1] of(0xbe).reg(0).rm(1), .twin(1, MOVSX32_8_RM);
    MOVSX32_8_RM = None "movsx {0}, {m}" [D4] of(0xbe).reg(0).mem(1);
    MOVSX32_16_RR = None "movsx {0}, {1}" [D4, M2] of(0xbf).reg(0).rm(1), .twin(1, MOVSX32_16_RM);
    MOVSX32_16_RM = None "movsx {0}, {m}" [D4] of(0xbf).reg(0).mem(2);
    MOVSX64_8_RR = None "movsx {0}, {1}" [D8, M1] of64(0xbe).reg(0).rm(1), .twin(1, MOVSX64_8_RM);
    MOVSX64_8_RM = None "movsx {0}, {m}" [D8] of64(0xbe).reg(0).mem(1);
    MOVSX64_16_RR = None "movsx {0}, {1}" [D8, M2] of64(0xbf).reg(0).rm(1), .twin(1, MOVSX64_16_RM);
    MOVSX64_16_RM = None "movsx {0}, {m}" [D8] of64(0xbf).reg(0).mem(2);
    MOVSX64_32_RR = None "movsxd {0}, {1}" [D8, M4] op64(0x63).reg(0).rm(1), .twin(1, MOVSX64_32_RM);
    MOVSX64_32_RM = None "movsxd {0}, {m}" [D8] op64(0x63).reg(0).mem(4);
    MOVZX64_32_RR = None "mov {0}, {1}" [D4, M4] op(0x89).reg(1).rm(0), .twin(1, MOV32_RM);
    MOVZX32_AH = None "movzx eax, ah" [D4.fixed(RAX), U2.fixed(RAX)] of(0xb6).bare(0xc4);
    // Between register classes.
    MOVD_FR = None "movd {0}, {1}" [FD4, M4] of66(0x6e).reg(0).rm(1), .twin(1, MOVSS_RM), .clears_upper();
    MOVQ_FR = None "movq {0}, {1}" [FD8, M8] of66(0x6e).w().reg(0).rm(1), .twin(1, MOVSD_RM), .clears_upper();
    MOVD_RF = None "movd {0}, {1}" [D4, FM4] of66(0x7e).reg(1).rm(0), .twin(1, MOV32_RM);
    MOVQ_RF = None "movq {0}, {1}" [D8, FM8] of66(0x7e).w().reg(1).rm(0), .twin(1, MOV64_RM);
}
