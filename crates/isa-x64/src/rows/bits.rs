//! Counting and searching bits, byte order, and the readers of the flags: `setcc`, `cmovcc`.

use super::line::{BMI1, LZCNT, POPCNT};
use crate::encoding::{of, off3, op, vex38};
use kingpost_mach::operands::D1;
use kingpost_mach::rows;

rows! {
    crate::rows::atomic::END;

    // Byte order.
    BSWAP_R[32 64] = None "bswap {0}" [T, U] of(0xc8).plus(0).size(W);
    // `bsf` and `bsr` leave their register unchanged if the source is 0.
    BSF_RR[32 64] = Def "bsf {0}, {1}" [D, M] of(0xbc).reg(0).rm(1).size(W), .twin(1, BSF_RM), .keeps_upper();
    BSF_RM[32 64] = Def "bsf {0}, {m}" [D] of(0xbc).reg(0).mem(W).size(W), .keeps_upper();
    BSR_RR[32 64] = Def "bsr {0}, {1}" [D, M] of(0xbd).reg(0).rm(1).size(W), .twin(1, BSR_RM), .keeps_upper();
    BSR_RM[32 64] = Def "bsr {0}, {m}" [D] of(0xbd).reg(0).mem(W).size(W), .keeps_upper();
    // Counts of bits, with CPU flags of their own.
    POPCNT_RR[32 64] = Def "popcnt {0}, {1}" [D, M] off3(0xb8).reg(0).rm(1).size(W), .twin(1, POPCNT_RM), .needs(POPCNT);
    POPCNT_RM[32 64] = Def "popcnt {0}, {m}" [D] off3(0xb8).reg(0).mem(W).size(W), .needs(POPCNT);
    LZCNT_RR[32 64] = Def "lzcnt {0}, {1}" [D, M] off3(0xbd).reg(0).rm(1).size(W), .twin(1, LZCNT_RM), .needs(LZCNT);
    LZCNT_RM[32 64] = Def "lzcnt {0}, {m}" [D] off3(0xbd).reg(0).mem(W).size(W), .needs(LZCNT);
    TZCNT_RR[32 64] = Def "tzcnt {0}, {1}" [D, M] off3(0xbc).reg(0).rm(1).size(W), .twin(1, TZCNT_RM), .needs(BMI1);
    TZCNT_RM[32 64] = Def "tzcnt {0}, {m}" [D] off3(0xbc).reg(0).mem(W).size(W), .needs(BMI1);
    // Copy of one bit into the carry flag.
    BT_RR[32 64] = Def "bt {0}, {1}" [U, U] of(0xa3).reg(1).rm(0).size(W);
    BT_RI[32 64] = Def "bt {0}, {i}" [M] of(0xba).digit(4).rm(0).ib().size(W), .twin(0, BT_MI);
    BT_MI[32 64] = Def "bt {m}, {i}" [] of(0xba).digit(4).mem(W).ib().size(W);
    // BMI1.
    ANDN_RR[32 64] = Def "andn {0}, {1}, {2}" [D, U, M] vex38(0, 0xf2).reg(0).v(1).rm(2).size(W), .twin(2, ANDN_RM), .needs(BMI1);
    ANDN_RM[32 64] = Def "andn {0}, {1}, {m}" [D, U] vex38(0, 0xf2).reg(0).v(1).mem(W).size(W), .needs(BMI1);
    BLSI_RR[32 64] = Def "blsi {0}, {1}" [D, M] vex38(0, 0xf3).digit(3).v(0).rm(1).size(W), .twin(1, BLSI_RM), .needs(BMI1);
    BLSI_RM[32 64] = Def "blsi {0}, {m}" [D] vex38(0, 0xf3).digit(3).v(0).mem(W).size(W), .needs(BMI1);
    BLSR_RR[32 64] = Def "blsr {0}, {1}" [D, M] vex38(0, 0xf3).digit(1).v(0).rm(1).size(W), .twin(1, BLSR_RM), .needs(BMI1);
    BLSR_RM[32 64] = Def "blsr {0}, {m}" [D] vex38(0, 0xf3).digit(1).v(0).mem(W).size(W), .needs(BMI1);
    BLSMSK_RR[32 64] = Def "blsmsk {0}, {1}" [D, M] vex38(0, 0xf3).digit(2).v(0).rm(1).size(W), .twin(1, BLSMSK_RM), .needs(BMI1);
    BLSMSK_RM[32 64] = Def "blsmsk {0}, {m}" [D] vex38(0, 0xf3).digit(2).v(0).mem(W).size(W), .needs(BMI1);
    // Conditions.
    SETCC_R = Use "set{c} {0}" [D1] of(0x90).rm(0).cc();
    SETCC_M = Use "set{c} {m}" [] of(0x90).mem(1).cc(), .stores();
    CMOV_RR[32 64] = Use "cmov{c} {0}, {2}" [T, U, M] of(0x40).reg(0).rm(2).cc().size(W), .twin(2, CMOV_RM);
    CMOV_RM[32 64] = Use "cmov{c} {0}, {m}" [T, U] of(0x40).reg(0).mem(W).cc().size(W);
    // Changes of single flags.
    STC = Def "stc" [] op(0xf9);
    CLC = Def "clc" [] op(0xf8);
}
