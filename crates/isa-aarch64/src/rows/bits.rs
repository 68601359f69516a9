//! Bit counts, bit fields, widening.
//!
//! The immediate of a bit field is made by [`bitfield`](crate::immediates::bitfield) and its kin.

use crate::encoding::{op, rr, rrr, tied};
use crate::rows::mov::*;
use crate::rows::rows;
use kingpost_mach::operands::{D4, D8, M1, M2, M4, T4, T8, U4, U8};

rows! {
    crate::rows::atomic::END;

    // Counting, reversing.
    CLZ32_RR = None "clz {0}, {1}" [D4, U4] rr(0x5ac0_1000);
    CLZ64_RR = None "clz {0}, {1}" [D8, U8] rr(0xdac0_1000);
    CLS32_RR = None "cls {0}, {1}" [D4, U4] rr(0x5ac0_1400);
    CLS64_RR = None "cls {0}, {1}" [D8, U8] rr(0xdac0_1400);
    RBIT32_RR = None "rbit {0}, {1}" [D4, U4] rr(0x5ac0_0000);
    RBIT64_RR = None "rbit {0}, {1}" [D8, U8] rr(0xdac0_0000);
    REV16_32_RR = None "rev16 {0}, {1}" [D4, U4] rr(0x5ac0_0400);
    REV16_64_RR = None "rev16 {0}, {1}" [D8, U8] rr(0xdac0_0400);
    REV32_RR = None "rev {0}, {1}" [D4, U4] rr(0x5ac0_0800);
    REV64_RR = None "rev {0}, {1}" [D8, U8] rr(0xdac0_0c00);
    REV32_64_RR = None "rev32 {0}, {1}" [D8, U8] rr(0xdac0_0800);
    // Bit fields.
    SBFM32_RRI = None "sbfm {0}, {1}, {b}" [D4, U4] rr(0x1300_0000).at(10);
    UBFM32_RRI = None "ubfm {0}, {1}, {b}" [D4, U4] rr(0x5300_0000).at(10);
    BFM32_RRI = None "bfm {0}, {2}, {b}" [T4, U4, U4] tied(0x3300_0000).at(10);
    EXTR32_RRRI = None "extr {0}, {1}, {2}, {i}" [D4, U4, U4] rrr(0x1380_0000).at(10);
    SBFM64_RRI = None "sbfm {0}, {1}, {b}" [D8, U8] rr(0x9340_0000).at(10);
    UBFM64_RRI = None "ubfm {0}, {1}, {b}" [D8, U8] rr(0xd340_0000).at(10);
    BFM64_RRI = None "bfm {0}, {2}, {b}" [T8, U8, U8] tied(0xb340_0000).at(10);
    EXTR64_RRRI = None "extr {0}, {1}, {2}, {i}" [D8, U8, U8] rrr(0x93c0_0000).at(10);
    // Widening. From 32 to 64 bits with zeros it is a 32-bit `mov`.
    SXTB32_RR = None "sxtb {0}, {1w}" [D4, M1] rr(0x1300_1c00), .twin(1, LDRSB32_RM);
    SXTH32_RR = None "sxth {0}, {1w}" [D4, M2] rr(0x1300_3c00), .twin(1, LDRSH32_RM);
    SXTB64_RR = None "sxtb {0}, {1w}" [D8, M1] rr(0x9340_1c00), .twin(1, LDRSB64_RM);
    SXTH64_RR = None "sxth {0}, {1w}" [D8, M2] rr(0x9340_3c00), .twin(1, LDRSH64_RM);
    SXTW64_RR = None "sxtw {0}, {1w}" [D8, M4] rr(0x9340_7c00), .twin(1, LDRSW64_RM);
    UXTB32_RR = None "uxtb {0}, {1w}" [D4, M1] rr(0x5300_1c00), .twin(1, LDRB_RM);
    UXTH32_RR = None "uxth {0}, {1w}" [D4, M2] rr(0x5300_3c00), .twin(1, LDRH_RM);
    MOVZX64_32_RR = None "mov {0}, {1}" [D4, M4] op(0x2a00_03e0).rd(0).rm(1), .twin(1, LDR32_RM);
}
