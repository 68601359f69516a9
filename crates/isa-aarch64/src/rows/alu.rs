//! Addition, subtraction, comparison, bitwise operations, selection.
//!
//! Immediates: for a shifted register [`shifted`](crate::immediates::shifted), 0 if there is no shift; for an
//! extended one [`extended`](crate::immediates::extended); for `RRI` the number
//! ([`add_sub`](crate::immediates::add_sub)) or bit pattern ([`logical`](crate::immediates::logical)); for a
//! selection the condition; for a conditional comparison [`compare`](crate::immediates::compare).

use crate::encoding::{cmp, op, rr, rrr};
use kingpost_mach::rows;

rows! {
    0;

    // `add`: shifted register, extended register, 12 bits.
    ADD_RRR[32 64] = None "add {0}, {1}, {2}{s}" [D, U, U] rrr(0x0b00_0000).at(10).sf(W), .commutes();
    ADD_RRX[32 64] = None "add {0}, {1}, {2x}{x}" [D, U, U] rrr(0x0b20_0000).at(10).sf(W);
    ADD_RRI[32 64] = None "add {0}, {1}, {i}" [D, U] rr(0x1100_0000).add_sub().sf(W);
    // `sub`: shifted register, extended register, 12 bits.
    SUB_RRR[32 64] = None "sub {0}, {1}, {2}{s}" [D, U, U] rrr(0x4b00_0000).at(10).sf(W);
    SUB_RRX[32 64] = None "sub {0}, {1}, {2x}{x}" [D, U, U] rrr(0x4b20_0000).at(10).sf(W);
    SUB_RRI[32 64] = None "sub {0}, {1}, {i}" [D, U] rr(0x5100_0000).add_sub().sf(W);
    // `adds`: shifted register, extended register, 12 bits.
    ADDS_RRR[32 64] = Def "adds {0}, {1}, {2}{s}" [D, U, U] rrr(0x2b00_0000).at(10).sf(W), .commutes();
    ADDS_RRX[32 64] = Def "adds {0}, {1}, {2x}{x}" [D, U, U] rrr(0x2b20_0000).at(10).sf(W);
    ADDS_RRI[32 64] = Def "adds {0}, {1}, {i}" [D, U] rr(0x3100_0000).add_sub().sf(W);
    // `subs`: shifted register, extended register, 12 bits.
    SUBS_RRR[32 64] = Def "subs {0}, {1}, {2}{s}" [D, U, U] rrr(0x6b00_0000).at(10).sf(W);
    SUBS_RRX[32 64] = Def "subs {0}, {1}, {2x}{x}" [D, U, U] rrr(0x6b20_0000).at(10).sf(W);
    SUBS_RRI[32 64] = Def "subs {0}, {1}, {i}" [D, U] rr(0x7100_0000).add_sub().sf(W);
    // Comparisons, and the forms with the zero register.
    CMP_RR[32 64] = Def "cmp {0}, {1}{s}" [U, U] cmp(0x6b00_001f).at(10).sf(W);
    CMP_RX[32 64] = Def "cmp {0}, {1x}{x}" [U, U] cmp(0x6b20_001f).at(10).sf(W);
    CMP_RI[32 64] = Def "cmp {0}, {i}" [U] op(0x7100_001f).rn(0).add_sub().sf(W);
    CMN_RR[32 64] = Def "cmn {0}, {1}{s}" [U, U] cmp(0x2b00_001f).at(10).sf(W), .commutes();
    CMN_RX[32 64] = Def "cmn {0}, {1x}{x}" [U, U] cmp(0x2b20_001f).at(10).sf(W);
    CMN_RI[32 64] = Def "cmn {0}, {i}" [U] op(0x3100_001f).rn(0).add_sub().sf(W);
    NEG_RR[32 64] = None "neg {0}, {1}{s}" [D, U] op(0x4b00_03e0).rd(0).rm(1).at(10).sf(W);
    NEGS_RR[32 64] = Def "negs {0}, {1}{s}" [D, U] op(0x6b00_03e0).rd(0).rm(1).at(10).sf(W);
    // With carry.
    ADC_RRR[32 64] = Use "adc {0}, {1}, {2}" [D, U, U] rrr(0x1a00_0000).sf(W), .commutes();
    ADCS_RRR[32 64] = UseDef "adcs {0}, {1}, {2}" [D, U, U] rrr(0x3a00_0000).sf(W), .commutes();
    SBC_RRR[32 64] = Use "sbc {0}, {1}, {2}" [D, U, U] rrr(0x5a00_0000).sf(W);
    SBCS_RRR[32 64] = UseDef "sbcs {0}, {1}, {2}" [D, U, U] rrr(0x7a00_0000).sf(W);
    NGC_RR[32 64] = Use "ngc {0}, {1}" [D, U] op(0x5a00_03e0).rd(0).rm(1).sf(W);
    NGCS_RR[32 64] = UseDef "ngcs {0}, {1}" [D, U] op(0x7a00_03e0).rd(0).rm(1).sf(W);
    // Bitwise operations: shifted register, bit pattern.
    AND_RRR[32 64] = None "and {0}, {1}, {2}{s}" [D, U, U] rrr(0x0a00_0000).at(10).sf(W), .commutes();
    AND_RRI[32 64] = None "and {0}, {1}, {l*}" [D, U] rr(0x1200_0000).at(10).sf(W);
    BIC_RRR[32 64] = None "bic {0}, {1}, {2}{s}" [D, U, U] rrr(0x0a20_0000).at(10).sf(W);
    ORR_RRR[32 64] = None "orr {0}, {1}, {2}{s}" [D, U, U] rrr(0x2a00_0000).at(10).sf(W), .commutes();
    ORR_RRI[32 64] = None "orr {0}, {1}, {l*}" [D, U] rr(0x3200_0000).at(10).sf(W);
    ORN_RRR[32 64] = None "orn {0}, {1}, {2}{s}" [D, U, U] rrr(0x2a20_0000).at(10).sf(W);
    EOR_RRR[32 64] = None "eor {0}, {1}, {2}{s}" [D, U, U] rrr(0x4a00_0000).at(10).sf(W), .commutes();
    EOR_RRI[32 64] = None "eor {0}, {1}, {l*}" [D, U] rr(0x5200_0000).at(10).sf(W);
    EON_RRR[32 64] = None "eon {0}, {1}, {2}{s}" [D, U, U] rrr(0x4a20_0000).at(10).sf(W), .commutes();
    ANDS_RRR[32 64] = Def "ands {0}, {1}, {2}{s}" [D, U, U] rrr(0x6a00_0000).at(10).sf(W), .commutes();
    ANDS_RRI[32 64] = Def "ands {0}, {1}, {l*}" [D, U] rr(0x7200_0000).at(10).sf(W);
    BICS_RRR[32 64] = Def "bics {0}, {1}, {2}{s}" [D, U, U] rrr(0x6a20_0000).at(10).sf(W);
    TST_RR[32 64] = Def "tst {0}, {1}{s}" [U, U] cmp(0x6a00_001f).at(10).sf(W), .commutes();
    TST_RI[32 64] = Def "tst {0}, {l*}" [U] op(0x7200_001f).rn(0).at(10).sf(W);
    MVN_RR[32 64] = None "mvn {0}, {1}{s}" [D, U] op(0x2a20_03e0).rd(0).rm(1).at(10).sf(W);
    // Selection: operand 1 if the condition holds, else operand 2, changed according to the mnemonic.
    CSEL_RRR[32 64] = Use "csel {0}, {1}, {2}, {c}" [D, U, U] rrr(0x1a80_0000).at(12).sf(W);
    CSINC_RRR[32 64] = Use "csinc {0}, {1}, {2}, {c}" [D, U, U] rrr(0x1a80_0400).at(12).sf(W);
    CSINV_RRR[32 64] = Use "csinv {0}, {1}, {2}, {c}" [D, U, U] rrr(0x5a80_0000).at(12).sf(W);
    CSNEG_RRR[32 64] = Use "csneg {0}, {1}, {2}, {c}" [D, U, U] rrr(0x5a80_0400).at(12).sf(W);
    CSEL_RRZ[32 64] = Use "csel {0}, {1}, {z}, {c}" [D, U] rr(0x1a9f_0000).at(12).sf(W);
    CSEL_RZR[32 64] = Use "csel {0}, {z}, {1}, {c}" [D, U] op(0x1a80_03e0).rd(0).rm(1).at(12).sf(W);
    CSINC_RRZ[32 64] = Use "csinc {0}, {1}, {z}, {c}" [D, U] rr(0x1a9f_0400).at(12).sf(W);
    CSINV_RRZ[32 64] = Use "csinv {0}, {1}, {z}, {c}" [D, U] rr(0x5a9f_0000).at(12).sf(W);
    CSET_R[32 64] = Use "cset {0}, {c}" [D] op(0x1a9f_07e0).rd(0).inverted().sf(W);
    CSETM_R[32 64] = Use "csetm {0}, {c}" [D] op(0x5a9f_03e0).rd(0).inverted().sf(W);
    // Comparison if the condition holds, else the given flags.
    CCMP_RR[32 64] = UseDef "ccmp {0}, {1}, {n}, {cc}" [U, U] cmp(0x7a40_0000).at(0).sf(W);
    CCMP_RI[32 64] = UseDef "ccmp {0}, {k}, {n}, {cc}" [U] op(0x7a40_0800).rn(0).at(0).sf(W);
    CCMN_RR[32 64] = UseDef "ccmn {0}, {1}, {n}, {cc}" [U, U] cmp(0x3a40_0000).at(0).sf(W);
    CCMN_RI[32 64] = UseDef "ccmn {0}, {k}, {n}, {cc}" [U] op(0x3a40_0800).rn(0).at(0).sf(W);
}
