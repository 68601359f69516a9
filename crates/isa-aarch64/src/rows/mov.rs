//! Copies, constants, loads, stores, addresses.
//!
//! The immediate of `CONST` is 64 bits wide ([`MInst::set_imm64`](kingpost_mach::MInst::set_imm64));
//! [`immediates`](crate::immediates) makes the immediates of the single instructions. Loads and stores take every
//! kind of address: an address that the instruction cannot encode is computed into x16 or x17 first.

use crate::encoding::{Special, literal, op, pair, rr, single, special, tied, zero};
use kingpost_mach::RowKind;
use kingpost_mach::operands::{D8, FD8, FD16, FT16, FU16, U8};
use kingpost_mach::rows;

rows! {
    crate::rows::float::END;

    // Copies.
    MOV_RR[32 64] = None "mov {0}, {1}" [D, U] op(0x2a00_03e0).rd(0).rm(1).sf(W), .kind(RowKind::Move);
    FMOV_FF[32 64] = None "fmov {0}, {1}" [FD, FU] rr(0x1e20_4000).ftype(W), .kind(RowKind::Move);
    MOV128_FF = None "mov {0v}.16b, {1v}.16b" [FD16, FU16] op(0x4ea0_1c00).rd(0).rn(1).rm(1), .kind(RowKind::Move);
    // Constants: any constant, in as few instructions as possible; then the single instructions.
    CONST_I[32 64] = None "const {0}, {i}" [D] special(Special::Constant(8 * W)).rd(0).wide(), .kind(RowKind::Remat);
    MOVZ_RI[32 64] = None "movz {0}, {w}" [D] op(0x5280_0000).rd(0).at(5).sf(W), .kind(RowKind::Remat);
    MOVN_RI[32 64] = None "movn {0}, {w}" [D] op(0x1280_0000).rd(0).at(5).sf(W), .kind(RowKind::Remat);
    MOVK_RI[32 64] = None "movk {0}, {w}" [T, U] op(0x7280_0000).rd(0).at(5).sf(W);
    ORR_ZI[32 64] = None "orr {0}, {z}, {l*}" [D] op(0x3200_03e0).rd(0).at(10).sf(W), .kind(RowKind::Remat);
    FMOV_FI[32 64] = None "fmov {0}, {f}" [FD] op(0x1e20_1000).rd(0).at(13).ftype(W), .kind(RowKind::Remat);
    MOVI64_ZERO = None "movi {0}, #0" [FD8] op(0x2f00_e400).rd(0), .kind(RowKind::Remat);
    MOVI128_ZERO = None "movi {0v}.2d, #0" [FD16] op(0x6f00_e400).rd(0), .kind(RowKind::Remat);
    // Literals, whose page is loaded into x16 first.
    LDR_FCONST[32 64 128] = None "ldr {0}, [x16, :lo12:{t}]" [FD] literal(0x3d40_0000, W).size(W), .kind(RowKind::Remat);
    // Addresses; `CONST` has no registers, `ABS` and `GOT` name a symbol. The text of the other row is for the
    // address of a symbol, `{sym}`.
    ADDR64_RM = None "adrp {0}, {sym}; add {0}, {0}, :lo12:{sym}" [D8] op(0).rd(0).addr();
    ADDR64_CONST = None "adrp {0}, {sym}; add {0}, {0}, :lo12:{sym}" [D8] op(0).rd(0).addr(), .kind(RowKind::Remat);
    ADDR64_GOT = None "adrp {0}, :got:{t}; ldr {0}, [{0}, :got_lo12:{t}]" [D8] special(Special::Got).rd(0), .kind(RowKind::Remat);
    ADDR64_ABS = None "movz {0}, #:abs_g0_nc:{t}; movk {0}, #:abs_g1_nc:{t}; movk {0}, #:abs_g2_nc:{t}; movk {0}, #:abs_g3:{t}" [D8] special(Special::Absolute).rd(0), .kind(RowKind::Remat);
    // Loads: zero-extended, sign-extended, of pairs.
    LDR_RM[8 16 32 64] = None "ldr{sz} {0}, {m}" [D] single(0x3940_0000, W).size(W);
    LDRSB_RM[32 64] = None "ldrsb {0}, {m}" [D] single(0x3980_0000, 1).to(W);
    LDRSH_RM[32 64] = None "ldrsh {0}, {m}" [D] single(0x7980_0000, 2).to(W);
    LDRSW64_RM = None "ldrsw {0}, {m}" [D8] single(0xb980_0000, 4);
    LDP_RRM[32 64] = None "ldp {0}, {1}, {m}" [D, D] pair(0x2940_0000, 2 * W).sf(W);
    LDR_FM[8 16 32 64 128] = None "ldr {0}, {m}" [FD] single(0x3d40_0000, W).size(W);
    LDP_FFM[64 128] = None "ldp {0}, {1}, {m}" [FD, FD] pair(0x2d40_0000, 2 * W).opc(W);
    // Stores; the rows with `Z` store zero.
    STR_MR[8 16 32 64] = None "str{sz} {0}, {m}" [U] single(0x3900_0000, W).size(W), .stores();
    STP_MRR[32 64] = None "stp {0}, {1}, {m}" [U, U] pair(0x2900_0000, 2 * W).sf(W), .stores();
    STR_MZ[8 16 32 64] = None "str{sz} {z}, {m}" [] zero(0x3900_0000, W).size(W), .stores();
    STR_MF[8 16 32 64 128] = None "str {0}, {m}" [FU] single(0x3d00_0000, W).size(W), .stores();
    STP_MFF[64 128] = None "stp {0}, {1}, {m}" [FU, FU] pair(0x2d00_0000, 2 * W).opc(W), .stores();
    // Between register classes.
    FMOV_FR[32 64] = None "fmov {0}, {1}" [FD, M] rr(0x1e27_0000).sf(W).ftype(W), .twin(1, LDR_FM);
    FMOV_RF[32 64] = None "fmov {0}, {1}" [D, FM] rr(0x1e26_0000).sf(W).ftype(W), .twin(1, LDR_RM);
    // Halves of 16 bytes: the upper one into and out of an integer or float register; `fmov` moves the lower one.
    INS64_HIGH_FR = None "mov {0v}.d[1], {2}" [FT16, FU16, U8] tied(0x4e18_1c00);
    INS64_HIGH_FF = None "mov {0v}.d[1], {2v}.d[0]" [FT16, FU16, FU16] tied(0x6e18_0400);
    UMOV64_HIGH_RF = None "mov {0}, {1v}.d[1]" [D8, FU16] rr(0x4e18_3c00);
    DUP64_HIGH_FF = None "mov {0}, {1v}.d[1]" [FD8, FU16] rr(0x5e18_0400);
}
