//! Bit counts, bit fields, widening.
//!
//! The immediate of a bit field is made by [`bitfield`](crate::immediates::bitfield) and the functions after it.

use crate::encoding::{op, rr, rrr, tied};
use crate::rows::mov::*;
use kingpost_mach::operands::{D4, D8, M1, M2, M4, U8};
use kingpost_mach::rows;

rows! {
    crate::rows::atomic::END;

    // Counting, reversing.
    CLZ_RR[32 64] = None "clz {0}, {1}" [D, U] rr(0x5ac0_1000).sf(W);
    CLS_RR[32 64] = None "cls {0}, {1}" [D, U] rr(0x5ac0_1400).sf(W);
    RBIT_RR[32 64] = None "rbit {0}, {1}" [D, U] rr(0x5ac0_0000).sf(W);
    REV16_RR[32 64] = None "rev16 {0}, {1}" [D, U] rr(0x5ac0_0400).sf(W);
    REV_RR[32 64] = None "rev {0}, {1}" [D, U] rr(0x5ac0_0000 | (LOG as u32) << 10).sf(W);
    REV32_64_RR = None "rev32 {0}, {1}" [D8, U8] rr(0xdac0_0800);
    // Bit fields.
    SBFM_RRI[32 64] = None "sbfm {0}, {1}, {b}" [D, U] rr(0x1300_0000).at(10).sf_n(W);
    UBFM_RRI[32 64] = None "ubfm {0}, {1}, {b}" [D, U] rr(0x5300_0000).at(10).sf_n(W);
    BFM_RRI[32 64] = None "bfm {0}, {2}, {b}" [T, U, U] tied(0x3300_0000).at(10).sf_n(W);
    EXTR_RRRI[32 64] = None "extr {0}, {1}, {2}, {i}" [D, U, U] rrr(0x1380_0000).at(10).sf_n(W);
    // Widening. From 32 to 64 bits with zeros it is a 32-bit `mov`.
    SXTB_RR[32 64] = None "sxtb {0}, {1w}" [D, M1] rr(0x1300_1c00).sf_n(W), .twin(1, LDRSB_RM);
    SXTH_RR[32 64] = None "sxth {0}, {1w}" [D, M2] rr(0x1300_3c00).sf_n(W), .twin(1, LDRSH_RM);
    SXTW64_RR = None "sxtw {0}, {1w}" [D8, M4] rr(0x9340_7c00), .twin(1, LDRSW64_RM);
    UXTB32_RR = None "uxtb {0}, {1w}" [D4, M1] rr(0x5300_1c00), .twin(1, LDR_RM.of(8));
    UXTH32_RR = None "uxth {0}, {1w}" [D4, M2] rr(0x5300_3c00), .twin(1, LDR_RM.of(16));
    MOVZX64_32_RR = None "mov {0}, {1}" [D4, M4] op(0x2a00_03e0).rd(0).rm(1), .twin(1, LDR_RM.of(32));
}
