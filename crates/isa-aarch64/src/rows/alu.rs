//! Addition, subtraction, comparison, bitwise operations, selection.
//!
//! Immediates: of a shifted register [`shifted`](crate::immediates::shifted) with 0 for none, of an extended one
//! [`extended`](crate::immediates::extended), of `RRI` the number ([`add_sub`](crate::immediates::add_sub)) or bit
//! pattern ([`logical`](crate::immediates::logical)), of a selection the condition, of a conditional comparison
//! [`compare`](crate::immediates::compare).

use crate::encoding::{cmp, op, rr, rrr};
use crate::rows::rows;
use kingpost_mach::operands::{D4, D8, U4, U8};

rows! {
    0;

    // `add`: shifted register, extended register, 12 bits.
    ADD32_RRR = None "add {0}, {1}, {2}{s}" [D4, U4, U4] rrr(0x0b00_0000).at(10);
    ADD32_RRX = None "add {0}, {1}, {2x}{x}" [D4, U4, U4] rrr(0x0b20_0000).at(10);
    ADD32_RRI = None "add {0}, {1}, {i}" [D4, U4] rr(0x1100_0000).add_sub();
    ADD64_RRR = None "add {0}, {1}, {2}{s}" [D8, U8, U8] rrr(0x8b00_0000).at(10);
    ADD64_RRX = None "add {0}, {1}, {2x}{x}" [D8, U8, U8] rrr(0x8b20_0000).at(10);
    ADD64_RRI = None "add {0}, {1}, {i}" [D8, U8] rr(0x9100_0000).add_sub();
    // `sub`: shifted register, extended register, 12 bits.
    SUB32_RRR = None "sub {0}, {1}, {2}{s}" [D4, U4, U4] rrr(0x4b00_0000).at(10);
    SUB32_RRX = None "sub {0}, {1}, {2x}{x}" [D4, U4, U4] rrr(0x4b20_0000).at(10);
    SUB32_RRI = None "sub {0}, {1}, {i}" [D4, U4] rr(0x5100_0000).add_sub();
    SUB64_RRR = None "sub {0}, {1}, {2}{s}" [D8, U8, U8] rrr(0xcb00_0000).at(10);
    SUB64_RRX = None "sub {0}, {1}, {2x}{x}" [D8, U8, U8] rrr(0xcb20_0000).at(10);
    SUB64_RRI = None "sub {0}, {1}, {i}" [D8, U8] rr(0xd100_0000).add_sub();
    // `adds`: shifted register, extended register, 12 bits.
    ADDS32_RRR = Def "adds {0}, {1}, {2}{s}" [D4, U4, U4] rrr(0x2b00_0000).at(10);
    ADDS32_RRX = Def "adds {0}, {1}, {2x}{x}" [D4, U4, U4] rrr(0x2b20_0000).at(10);
    ADDS32_RRI = Def "adds {0}, {1}, {i}" [D4, U4] rr(0x3100_0000).add_sub();
    ADDS64_RRR = Def "adds {0}, {1}, {2}{s}" [D8, U8, U8] rrr(0xab00_0000).at(10);
    ADDS64_RRX = Def "adds {0}, {1}, {2x}{x}" [D8, U8, U8] rrr(0xab20_0000).at(10);
    ADDS64_RRI = Def "adds {0}, {1}, {i}" [D8, U8] rr(0xb100_0000).add_sub();
    // `subs`: shifted register, extended register, 12 bits.
    SUBS32_RRR = Def "subs {0}, {1}, {2}{s}" [D4, U4, U4] rrr(0x6b00_0000).at(10);
    SUBS32_RRX = Def "subs {0}, {1}, {2x}{x}" [D4, U4, U4] rrr(0x6b20_0000).at(10);
    SUBS32_RRI = Def "subs {0}, {1}, {i}" [D4, U4] rr(0x7100_0000).add_sub();
    SUBS64_RRR = Def "subs {0}, {1}, {2}{s}" [D8, U8, U8] rrr(0xeb00_0000).at(10);
    SUBS64_RRX = Def "subs {0}, {1}, {2x}{x}" [D8, U8, U8] rrr(0xeb20_0000).at(10);
    SUBS64_RRI = Def "subs {0}, {1}, {i}" [D8, U8] rr(0xf100_0000).add_sub();
    // Comparisons, and the forms with the zero register.
    CMP32_RR = Def "cmp {0}, {1}{s}" [U4, U4] cmp(0x6b00_001f).at(10);
    CMP32_RX = Def "cmp {0}, {1x}{x}" [U4, U4] cmp(0x6b20_001f).at(10);
    CMP32_RI = Def "cmp {0}, {i}" [U4] op(0x7100_001f).rn(0).add_sub();
    CMN32_RR = Def "cmn {0}, {1}{s}" [U4, U4] cmp(0x2b00_001f).at(10);
    CMN32_RX = Def "cmn {0}, {1x}{x}" [U4, U4] cmp(0x2b20_001f).at(10);
    CMN32_RI = Def "cmn {0}, {i}" [U4] op(0x3100_001f).rn(0).add_sub();
    NEG32_RR = None "neg {0}, {1}{s}" [D4, U4] op(0x4b00_03e0).rd(0).rm(1).at(10);
    NEGS32_RR = Def "negs {0}, {1}{s}" [D4, U4] op(0x6b00_03e0).rd(0).rm(1).at(10);
    CMP64_RR = Def "cmp {0}, {1}{s}" [U8, U8] cmp(0xeb00_001f).at(10);
    CMP64_RX = Def "cmp {0}, {1x}{x}" [U8, U8] cmp(0xeb20_001f).at(10);
    CMP64_RI = Def "cmp {0}, {i}" [U8] op(0xf100_001f).rn(0).add_sub();
    CMN64_RR = Def "cmn {0}, {1}{s}" [U8, U8] cmp(0xab00_001f).at(10);
    CMN64_RX = Def "cmn {0}, {1x}{x}" [U8, U8] cmp(0xab20_001f).at(10);
    CMN64_RI = Def "cmn {0}, {i}" [U8] op(0xb100_001f).rn(0).add_sub();
    NEG64_RR = None "neg {0}, {1}{s}" [D8, U8] op(0xcb00_03e0).rd(0).rm(1).at(10);
    NEGS64_RR = Def "negs {0}, {1}{s}" [D8, U8] op(0xeb00_03e0).rd(0).rm(1).at(10);
    // With carry.
    ADC32_RRR = Use "adc {0}, {1}, {2}" [D4, U4, U4] rrr(0x1a00_0000);
    ADCS32_RRR = UseDef "adcs {0}, {1}, {2}" [D4, U4, U4] rrr(0x3a00_0000);
    SBC32_RRR = Use "sbc {0}, {1}, {2}" [D4, U4, U4] rrr(0x5a00_0000);
    SBCS32_RRR = UseDef "sbcs {0}, {1}, {2}" [D4, U4, U4] rrr(0x7a00_0000);
    NGC32_RR = Use "ngc {0}, {1}" [D4, U4] op(0x5a00_03e0).rd(0).rm(1);
    NGCS32_RR = UseDef "ngcs {0}, {1}" [D4, U4] op(0x7a00_03e0).rd(0).rm(1);
    ADC64_RRR = Use "adc {0}, {1}, {2}" [D8, U8, U8] rrr(0x9a00_0000);
    ADCS64_RRR = UseDef "adcs {0}, {1}, {2}" [D8, U8, U8] rrr(0xba00_0000);
    SBC64_RRR = Use "sbc {0}, {1}, {2}" [D8, U8, U8] rrr(0xda00_0000);
    SBCS64_RRR = UseDef "sbcs {0}, {1}, {2}" [D8, U8, U8] rrr(0xfa00_0000);
    NGC64_RR = Use "ngc {0}, {1}" [D8, U8] op(0xda00_03e0).rd(0).rm(1);
    NGCS64_RR = UseDef "ngcs {0}, {1}" [D8, U8] op(0xfa00_03e0).rd(0).rm(1);
    // Bitwise operations: shifted register, bit pattern.
    AND32_RRR = None "and {0}, {1}, {2}{s}" [D4, U4, U4] rrr(0x0a00_0000).at(10);
    AND32_RRI = None "and {0}, {1}, {l32}" [D4, U4] rr(0x1200_0000).at(10);
    AND64_RRR = None "and {0}, {1}, {2}{s}" [D8, U8, U8] rrr(0x8a00_0000).at(10);
    AND64_RRI = None "and {0}, {1}, {l64}" [D8, U8] rr(0x9200_0000).at(10);
    BIC32_RRR = None "bic {0}, {1}, {2}{s}" [D4, U4, U4] rrr(0x0a20_0000).at(10);
    BIC64_RRR = None "bic {0}, {1}, {2}{s}" [D8, U8, U8] rrr(0x8a20_0000).at(10);
    ORR32_RRR = None "orr {0}, {1}, {2}{s}" [D4, U4, U4] rrr(0x2a00_0000).at(10);
    ORR32_RRI = None "orr {0}, {1}, {l32}" [D4, U4] rr(0x3200_0000).at(10);
    ORR64_RRR = None "orr {0}, {1}, {2}{s}" [D8, U8, U8] rrr(0xaa00_0000).at(10);
    ORR64_RRI = None "orr {0}, {1}, {l64}" [D8, U8] rr(0xb200_0000).at(10);
    ORN32_RRR = None "orn {0}, {1}, {2}{s}" [D4, U4, U4] rrr(0x2a20_0000).at(10);
    ORN64_RRR = None "orn {0}, {1}, {2}{s}" [D8, U8, U8] rrr(0xaa20_0000).at(10);
    EOR32_RRR = None "eor {0}, {1}, {2}{s}" [D4, U4, U4] rrr(0x4a00_0000).at(10);
    EOR32_RRI = None "eor {0}, {1}, {l32}" [D4, U4] rr(0x5200_0000).at(10);
    EOR64_RRR = None "eor {0}, {1}, {2}{s}" [D8, U8, U8] rrr(0xca00_0000).at(10);
    EOR64_RRI = None "eor {0}, {1}, {l64}" [D8, U8] rr(0xd200_0000).at(10);
    EON32_RRR = None "eon {0}, {1}, {2}{s}" [D4, U4, U4] rrr(0x4a20_0000).at(10);
    EON64_RRR = None "eon {0}, {1}, {2}{s}" [D8, U8, U8] rrr(0xca20_0000).at(10);
    ANDS32_RRR = Def "ands {0}, {1}, {2}{s}" [D4, U4, U4] rrr(0x6a00_0000).at(10);
    ANDS32_RRI = Def "ands {0}, {1}, {l32}" [D4, U4] rr(0x7200_0000).at(10);
    ANDS64_RRR = Def "ands {0}, {1}, {2}{s}" [D8, U8, U8] rrr(0xea00_0000).at(10);
    ANDS64_RRI = Def "ands {0}, {1}, {l64}" [D8, U8] rr(0xf200_0000).at(10);
    BICS32_RRR = Def "bics {0}, {1}, {2}{s}" [D4, U4, U4] rrr(0x6a20_0000).at(10);
    BICS64_RRR = Def "bics {0}, {1}, {2}{s}" [D8, U8, U8] rrr(0xea20_0000).at(10);
    TST32_RR = Def "tst {0}, {1}{s}" [U4, U4] cmp(0x6a00_001f).at(10);
    TST32_RI = Def "tst {0}, {l32}" [U4] op(0x7200_001f).rn(0).at(10);
    MVN32_RR = None "mvn {0}, {1}{s}" [D4, U4] op(0x2a20_03e0).rd(0).rm(1).at(10);
    TST64_RR = Def "tst {0}, {1}{s}" [U8, U8] cmp(0xea00_001f).at(10);
    TST64_RI = Def "tst {0}, {l64}" [U8] op(0xf200_001f).rn(0).at(10);
    MVN64_RR = None "mvn {0}, {1}{s}" [D8, U8] op(0xaa20_03e0).rd(0).rm(1).at(10);
    // Selection: operand 1 if the condition holds, else operand 2 or what becomes of it.
    CSEL32_RRR = Use "csel {0}, {1}, {2}, {c}" [D4, U4, U4] rrr(0x1a80_0000).at(12);
    CSINC32_RRR = Use "csinc {0}, {1}, {2}, {c}" [D4, U4, U4] rrr(0x1a80_0400).at(12);
    CSINV32_RRR = Use "csinv {0}, {1}, {2}, {c}" [D4, U4, U4] rrr(0x5a80_0000).at(12);
    CSNEG32_RRR = Use "csneg {0}, {1}, {2}, {c}" [D4, U4, U4] rrr(0x5a80_0400).at(12);
    CSEL32_RRZ = Use "csel {0}, {1}, wzr, {c}" [D4, U4] rr(0x1a9f_0000).at(12);
    CSEL32_RZR = Use "csel {0}, wzr, {1}, {c}" [D4, U4] op(0x1a80_03e0).rd(0).rm(1).at(12);
    CSINC32_RRZ = Use "csinc {0}, {1}, wzr, {c}" [D4, U4] rr(0x1a9f_0400).at(12);
    CSINV32_RRZ = Use "csinv {0}, {1}, wzr, {c}" [D4, U4] rr(0x5a9f_0000).at(12);
    CSET32_R = Use "cset {0}, {c}" [D4] op(0x1a9f_07e0).rd(0).inverted();
    CSETM32_R = Use "csetm {0}, {c}" [D4] op(0x5a9f_03e0).rd(0).inverted();
    CSEL64_RRR = Use "csel {0}, {1}, {2}, {c}" [D8, U8, U8] rrr(0x9a80_0000).at(12);
    CSINC64_RRR = Use "csinc {0}, {1}, {2}, {c}" [D8, U8, U8] rrr(0x9a80_0400).at(12);
    CSINV64_RRR = Use "csinv {0}, {1}, {2}, {c}" [D8, U8, U8] rrr(0xda80_0000).at(12);
    CSNEG64_RRR = Use "csneg {0}, {1}, {2}, {c}" [D8, U8, U8] rrr(0xda80_0400).at(12);
    CSEL64_RRZ = Use "csel {0}, {1}, xzr, {c}" [D8, U8] rr(0x9a9f_0000).at(12);
    CSEL64_RZR = Use "csel {0}, xzr, {1}, {c}" [D8, U8] op(0x9a80_03e0).rd(0).rm(1).at(12);
    CSINC64_RRZ = Use "csinc {0}, {1}, xzr, {c}" [D8, U8] rr(0x9a9f_0400).at(12);
    CSINV64_RRZ = Use "csinv {0}, {1}, xzr, {c}" [D8, U8] rr(0xda9f_0000).at(12);
    CSET64_R = Use "cset {0}, {c}" [D8] op(0x9a9f_07e0).rd(0).inverted();
    CSETM64_R = Use "csetm {0}, {c}" [D8] op(0xda9f_03e0).rd(0).inverted();
    // Comparison if the condition holds, else given flags.
    CCMP32_RR = UseDef "ccmp {0}, {1}, {n}, {cc}" [U4, U4] cmp(0x7a40_0000).at(0);
    CCMP32_RI = UseDef "ccmp {0}, {k}, {n}, {cc}" [U4] op(0x7a40_0800).rn(0).at(0);
    CCMN32_RR = UseDef "ccmn {0}, {1}, {n}, {cc}" [U4, U4] cmp(0x3a40_0000).at(0);
    CCMN32_RI = UseDef "ccmn {0}, {k}, {n}, {cc}" [U4] op(0x3a40_0800).rn(0).at(0);
    CCMP64_RR = UseDef "ccmp {0}, {1}, {n}, {cc}" [U8, U8] cmp(0xfa40_0000).at(0);
    CCMP64_RI = UseDef "ccmp {0}, {k}, {n}, {cc}" [U8] op(0xfa40_0800).rn(0).at(0);
    CCMN64_RR = UseDef "ccmn {0}, {1}, {n}, {cc}" [U8, U8] cmp(0xba40_0000).at(0);
    CCMN64_RI = UseDef "ccmn {0}, {k}, {n}, {cc}" [U8] op(0xba40_0800).rn(0).at(0);
}
