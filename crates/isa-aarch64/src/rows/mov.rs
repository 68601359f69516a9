//! Copies, constants, loads, stores, addresses.
//!
//! The immediate of `CONST` is 64 bits wide ([`MInst::set_imm64`](kingpost_mach::MInst::set_imm64)); those of the single
//! instructions are made by [`immediates`](crate::immediates). Loads and stores take every kind of address: what the
//! instruction cannot say is computed into x16 or x17 first.

use crate::encoding::{Special, op, pair, rr, single, special, tied, zero};
use crate::rows::rows;
use kingpost_mach::RowKind;
use kingpost_mach::operands::{
    D4, D8, FD1, FD2, FD4, FD8, FD16, FM4, FM8, FT16, FU1, FU2, FU4, FU8, FU16, M4, M8, T4, T8, U4, U8,
};

rows! {
    crate::rows::float::END;

    // Copies.
    MOV32_RR = None "mov {0}, {1}" [D4, U4] op(0x2a00_03e0).rd(0).rm(1), .kind(RowKind::Move);
    MOV64_RR = None "mov {0}, {1}" [D8, U8] op(0xaa00_03e0).rd(0).rm(1), .kind(RowKind::Move);
    FMOV32_FF = None "fmov {0}, {1}" [FD4, FU4] rr(0x1e20_4000), .kind(RowKind::Move);
    FMOV64_FF = None "fmov {0}, {1}" [FD8, FU8] rr(0x1e60_4000), .kind(RowKind::Move);
    MOV128_FF = None "mov {0v}.16b, {1v}.16b" [FD16, FU16] op(0x4ea0_1c00).rd(0).rn(1).rm(1), .kind(RowKind::Move);
    // Constants: any, in as few instructions as it takes; then the single instructions.
    CONST32_I = None "const {0}, {i}" [D4] special(Special::Constant(32)).rd(0).wide(), .kind(RowKind::Remat);
    CONST64_I = None "const {0}, {i}" [D8] special(Special::Constant(64)).rd(0).wide(), .kind(RowKind::Remat);
    MOVZ32_RI = None "movz {0}, {w}" [D4] op(0x5280_0000).rd(0).at(5), .kind(RowKind::Remat);
    MOVZ64_RI = None "movz {0}, {w}" [D8] op(0xd280_0000).rd(0).at(5), .kind(RowKind::Remat);
    MOVN32_RI = None "movn {0}, {w}" [D4] op(0x1280_0000).rd(0).at(5), .kind(RowKind::Remat);
    MOVN64_RI = None "movn {0}, {w}" [D8] op(0x9280_0000).rd(0).at(5), .kind(RowKind::Remat);
    MOVK32_RI = None "movk {0}, {w}" [T4, U4] op(0x7280_0000).rd(0).at(5);
    MOVK64_RI = None "movk {0}, {w}" [T8, U8] op(0xf280_0000).rd(0).at(5);
    ORR32_ZI = None "orr {0}, wzr, {l32}" [D4] op(0x3200_03e0).rd(0).at(10), .kind(RowKind::Remat);
    ORR64_ZI = None "orr {0}, xzr, {l64}" [D8] op(0xb200_03e0).rd(0).at(10), .kind(RowKind::Remat);
    FMOV32_FI = None "fmov {0}, {f}" [FD4] op(0x1e20_1000).rd(0).at(13), .kind(RowKind::Remat);
    FMOV64_FI = None "fmov {0}, {f}" [FD8] op(0x1e60_1000).rd(0).at(13), .kind(RowKind::Remat);
    MOVI64_ZERO = None "movi {0}, #0" [FD8] op(0x2f00_e400).rd(0), .kind(RowKind::Remat);
    MOVI128_ZERO = None "movi {0v}.2d, #0" [FD16] op(0x6f00_e400).rd(0), .kind(RowKind::Remat);
    // Constants from the pool.
    LDR32_CONST = None "ldr {0}, {m}" [D4] op(0x1800_0000).rd(0).literal(4), .kind(RowKind::Remat);
    LDR64_CONST = None "ldr {0}, {m}" [D8] op(0x5800_0000).rd(0).literal(8), .kind(RowKind::Remat);
    LDR32_FCONST = None "ldr {0}, {m}" [FD4] op(0x1c00_0000).rd(0).literal(4), .kind(RowKind::Remat);
    LDR64_FCONST = None "ldr {0}, {m}" [FD8] op(0x5c00_0000).rd(0).literal(8), .kind(RowKind::Remat);
    LDR128_FCONST = None "ldr {0}, {m}" [FD16] op(0x9c00_0000).rd(0).literal(16), .kind(RowKind::Remat);
    // Addresses; `CONST` has no registers, `ABS` and `GOT` name a symbol.
    ADDR64_RM = None "addr {0}, {m}" [D8] op(0).rd(0).addr();
    ADDR64_CONST = None "addr {0}, {m}" [D8] op(0).rd(0).addr(), .kind(RowKind::Remat);
    ADDR64_GOT = None "got {0}, {m}" [D8] special(Special::Got).rd(0), .kind(RowKind::Remat);
    ADDR64_ABS = None "abs {0}, {m}" [D8] special(Special::Absolute).rd(0), .kind(RowKind::Remat);
    // Loads: zero-extended, sign-extended, of pairs.
    LDRB_RM = None "ldrb {0}, {m}" [D4] single(0x3940_0000, 1);
    LDRH_RM = None "ldrh {0}, {m}" [D4] single(0x7940_0000, 2);
    LDR32_RM = None "ldr {0}, {m}" [D4] single(0xb940_0000, 4);
    LDR64_RM = None "ldr {0}, {m}" [D8] single(0xf940_0000, 8);
    LDRSB32_RM = None "ldrsb {0}, {m}" [D4] single(0x39c0_0000, 1);
    LDRSB64_RM = None "ldrsb {0}, {m}" [D8] single(0x3980_0000, 1);
    LDRSH32_RM = None "ldrsh {0}, {m}" [D4] single(0x79c0_0000, 2);
    LDRSH64_RM = None "ldrsh {0}, {m}" [D8] single(0x7980_0000, 2);
    LDRSW64_RM = None "ldrsw {0}, {m}" [D8] single(0xb980_0000, 4);
    LDP32_RRM = None "ldp {0}, {1}, {m}" [D4, D4] pair(0x2940_0000, 8);
    LDP64_RRM = None "ldp {0}, {1}, {m}" [D8, D8] pair(0xa940_0000, 16);
    LDR8_FM = None "ldr {0}, {m}" [FD1] single(0x3d40_0000, 1);
    LDR16_FM = None "ldr {0}, {m}" [FD2] single(0x7d40_0000, 2);
    LDR32_FM = None "ldr {0}, {m}" [FD4] single(0xbd40_0000, 4);
    LDR64_FM = None "ldr {0}, {m}" [FD8] single(0xfd40_0000, 8);
    LDR128_FM = None "ldr {0}, {m}" [FD16] single(0x3dc0_0000, 16);
    LDP64_FFM = None "ldp {0}, {1}, {m}" [FD8, FD8] pair(0x6d40_0000, 16);
    LDP128_FFM = None "ldp {0}, {1}, {m}" [FD16, FD16] pair(0xad40_0000, 32);
    // Stores; `Z` stores zero.
    STRB_MR = None "strb {0}, {m}" [U4] single(0x3900_0000, 1);
    STRH_MR = None "strh {0}, {m}" [U4] single(0x7900_0000, 2);
    STR32_MR = None "str {0}, {m}" [U4] single(0xb900_0000, 4);
    STR64_MR = None "str {0}, {m}" [U8] single(0xf900_0000, 8);
    STP32_MRR = None "stp {0}, {1}, {m}" [U4, U4] pair(0x2900_0000, 8);
    STP64_MRR = None "stp {0}, {1}, {m}" [U8, U8] pair(0xa900_0000, 16);
    STRB_MZ = None "strb wzr, {m}" [] zero(0x3900_0000, 1);
    STRH_MZ = None "strh wzr, {m}" [] zero(0x7900_0000, 2);
    STR32_MZ = None "str wzr, {m}" [] zero(0xb900_0000, 4);
    STR64_MZ = None "str xzr, {m}" [] zero(0xf900_0000, 8);
    STR8_MF = None "str {0}, {m}" [FU1] single(0x3d00_0000, 1);
    STR16_MF = None "str {0}, {m}" [FU2] single(0x7d00_0000, 2);
    STR32_MF = None "str {0}, {m}" [FU4] single(0xbd00_0000, 4);
    STR64_MF = None "str {0}, {m}" [FU8] single(0xfd00_0000, 8);
    STR128_MF = None "str {0}, {m}" [FU16] single(0x3d80_0000, 16);
    STP64_MFF = None "stp {0}, {1}, {m}" [FU8, FU8] pair(0x6d00_0000, 16);
    STP128_MFF = None "stp {0}, {1}, {m}" [FU16, FU16] pair(0xad00_0000, 32);
    // Between register classes.
    FMOV32_FR = None "fmov {0}, {1}" [FD4, M4] rr(0x1e27_0000), .twin(1, LDR32_FM);
    FMOV64_FR = None "fmov {0}, {1}" [FD8, M8] rr(0x9e67_0000), .twin(1, LDR64_FM);
    FMOV32_RF = None "fmov {0}, {1}" [D4, FM4] rr(0x1e26_0000), .twin(1, LDR32_RM);
    FMOV64_RF = None "fmov {0}, {1}" [D8, FM8] rr(0x9e66_0000), .twin(1, LDR64_RM);
    // Halves of 16 bytes: the upper one into and out of an integer or float register; the lower one is moved by `fmov`.
    INS64_HIGH_FR = None "mov {0v}.d[1], {2}" [FT16, FU16, U8] tied(0x4e18_1c00);
    INS64_HIGH_FF = None "mov {0v}.d[1], {2v}.d[0]" [FT16, FU16, FU16] tied(0x6e18_0400);
    UMOV64_HIGH_RF = None "mov {0}, {1v}.d[1]" [D8, FU16] rr(0x4e18_3c00);
    DUP64_HIGH_FF = None "mov {0}, {1v}.d[1]" [FD8, FU16] rr(0x5e18_0400);
}
