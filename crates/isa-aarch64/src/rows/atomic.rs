//! Atomic operations and barriers. Narrow results have zeros above them.

use super::line::LSE;
use crate::encoding::{LoopOp, PairOp, atomic, atomic_pair, base, op};
use crate::regs::{CC_GE, CC_GT, CC_HI, CC_HS, CC_LO, CC_LT, x};
use kingpost_mach::operands::{D4, D8, U8};
use kingpost_mach::rows;

rows! {
    crate::rows::alu::END;

    // Acquire and release.
    LDAR_RM[8 16 32 64] = None "ldar{sz} {0}, {m}" [D] base(0x08df_fc00, W).rd(0).size(W);
    LDAXR_RM[8 16 32 64] = None "ldaxr{sz} {0}, {m}" [D] base(0x085f_fc00, W).rd(0).size(W);
    LDXR_RM[8 16 32 64] = None "ldxr{sz} {0}, {m}" [D] base(0x085f_7c00, W).rd(0).size(W);
    STLR_MR[8 16 32 64] = None "stlr{sz} {0}, {m}" [U] base(0x089f_fc00, W).rd(0).size(W), .stores();
    // Exclusive stores: 0 if done, else 1.
    STLXR_RMR[8 16 32 64] = None "stlxr{sz} {0}, {1}, {m}" [D4.early(), U] base(0x0800_fc00, W).rm(0).rd(1).size(W), .stores();
    STXR_RMR[8 16 32 64] = None "stxr{sz} {0}, {1}, {m}" [D4.early(), U] base(0x0800_7c00, W).rm(0).rd(1).size(W), .stores();
    LDAXP64_RRM = None "ldaxp {0}, {1}, {m}" [D8, D8] base(0xc87f_8000, 16).rd(0).ra(1);
    STLXP64_RMRR = None "stlxp {0}, {1}, {2}, {m}" [D4.early(), U8, U8] base(0xc820_8000, 16).rm(0).rd(1).ra(2), .stores();
    // LSE: the old value, the operand.
    LDADDAL_RMR[8 16 32 64] = None "ldaddal{sz} {1}, {0}, {m}" [D, U] base(0x38e0_0000, W).rd(0).rm(1).size(W), .updates(), .needs(LSE);
    LDCLRAL_RMR[8 16 32 64] = None "ldclral{sz} {1}, {0}, {m}" [D, U] base(0x38e0_1000, W).rd(0).rm(1).size(W), .updates(), .needs(LSE);
    LDEORAL_RMR[8 16 32 64] = None "ldeoral{sz} {1}, {0}, {m}" [D, U] base(0x38e0_2000, W).rd(0).rm(1).size(W), .updates(), .needs(LSE);
    LDSETAL_RMR[8 16 32 64] = None "ldsetal{sz} {1}, {0}, {m}" [D, U] base(0x38e0_3000, W).rd(0).rm(1).size(W), .updates(), .needs(LSE);
    LDSMAXAL_RMR[8 16 32 64] = None "ldsmaxal{sz} {1}, {0}, {m}" [D, U] base(0x38e0_4000, W).rd(0).rm(1).size(W), .updates(), .needs(LSE);
    LDSMINAL_RMR[8 16 32 64] = None "ldsminal{sz} {1}, {0}, {m}" [D, U] base(0x38e0_5000, W).rd(0).rm(1).size(W), .updates(), .needs(LSE);
    LDUMAXAL_RMR[8 16 32 64] = None "ldumaxal{sz} {1}, {0}, {m}" [D, U] base(0x38e0_6000, W).rd(0).rm(1).size(W), .updates(), .needs(LSE);
    LDUMINAL_RMR[8 16 32 64] = None "lduminal{sz} {1}, {0}, {m}" [D, U] base(0x38e0_7000, W).rd(0).rm(1).size(W), .updates(), .needs(LSE);
    SWPAL_RMR[8 16 32 64] = None "swpal{sz} {1}, {0}, {m}" [D, U] base(0x38e0_8000, W).rd(0).rm(1).size(W), .updates(), .needs(LSE);
    // LSE compare and swap: the expected value becomes the old one; the replacement.
    CASAL_MR[8 16 32 64] = None "casal{sz} {0}, {2}, {m}" [T, U, U] base(0x08e0_fc00, W).rm(0).rd(2).size(W), .updates(), .needs(LSE);
    CASPAL64_MR = None "caspal {0}, {1}, {4}, {5}, {m}" [D8.fixed(x(0)), D8.fixed(x(1)), U8.fixed(x(0)), U8.fixed(x(1)), U8.fixed(x(2)), U8.fixed(x(3))] base(0x4860_fc00, 16).rm(0).rd(4), .updates(), .needs(LSE);
    // Loops of exclusive load and store: the old value out, a temporary, the operand in.
    ATOMIC_ADD_MR[8 16 32 64] = None "atomic_add {0}, {m}, {2}" [D.early(), D.early(), U] atomic(LoopOp::Add, W), .updates();
    ATOMIC_SUB_MR[8 16 32 64] = None "atomic_sub {0}, {m}, {2}" [D.early(), D.early(), U] atomic(LoopOp::Sub, W), .updates();
    ATOMIC_AND_MR[8 16 32 64] = None "atomic_and {0}, {m}, {2}" [D.early(), D.early(), U] atomic(LoopOp::And, W), .updates();
    ATOMIC_OR_MR[8 16 32 64] = None "atomic_or {0}, {m}, {2}" [D.early(), D.early(), U] atomic(LoopOp::Or, W), .updates();
    ATOMIC_XOR_MR[8 16 32 64] = None "atomic_xor {0}, {m}, {2}" [D.early(), D.early(), U] atomic(LoopOp::Xor, W), .updates();
    ATOMIC_NAND_MR[8 16 32 64] = None "atomic_nand {0}, {m}, {2}" [D.early(), D.early(), U] atomic(LoopOp::Nand, W), .updates();
    ATOMIC_UMIN_MR[8 16 32 64] = Clobber "atomic_umin {0}, {m}, {2}" [D.early(), D.early(), U] atomic(LoopOp::Keep(CC_LO, false), W), .updates();
    ATOMIC_UMAX_MR[8 16 32 64] = Clobber "atomic_umax {0}, {m}, {2}" [D.early(), D.early(), U] atomic(LoopOp::Keep(CC_HI, false), W), .updates();
    ATOMIC_SMIN_MR[8 16 32 64] = Clobber "atomic_smin {0}, {m}, {2}" [D.early(), D.early(), U] atomic(LoopOp::Keep(CC_LT, true), W), .updates();
    ATOMIC_SMAX_MR[8 16 32 64] = Clobber "atomic_smax {0}, {m}, {2}" [D.early(), D.early(), U] atomic(LoopOp::Keep(CC_GT, true), W), .updates();
    ATOMIC_SWAP_MR[8 16 32 64] = None "atomic_swap {0}, {m}, {1}" [D.early(), U] atomic(LoopOp::Swap, W), .updates();
    // Loops of compare and exchange: the old value, the expected value, the replacement.
    ATOMIC_CAS_MR[8 16 32 64] = Clobber "atomic_cas {0}, {m}, {1}, {2}" [D.early(), U, U] atomic(LoopOp::CompareExchange, W), .updates();
    // Loops on integers in big-endian byte order: the old value is in the order of memory, the operand is not.
    ATOMIC_ADD_BIG_MR[16 32 64] = None "atomic_add_big {0}, {m}, {2}" [D.early(), D.early(), U] atomic(LoopOp::AddBig, W), .updates();
    ATOMIC_UMIN_BIG_MR[16 32 64] = Clobber "atomic_umin_big {0}, {m}, {2}" [D.early(), D.early(), U] atomic(LoopOp::KeepBig(CC_LO, false), W), .updates();
    ATOMIC_UMAX_BIG_MR[16 32 64] = Clobber "atomic_umax_big {0}, {m}, {2}" [D.early(), D.early(), U] atomic(LoopOp::KeepBig(CC_HI, false), W), .updates();
    ATOMIC_SMIN_BIG_MR[16 32 64] = Clobber "atomic_smin_big {0}, {m}, {2}" [D.early(), D.early(), U] atomic(LoopOp::KeepBig(CC_LT, true), W), .updates();
    ATOMIC_SMAX_BIG_MR[16 32 64] = Clobber "atomic_smax_big {0}, {m}, {2}" [D.early(), D.early(), U] atomic(LoopOp::KeepBig(CC_GT, true), W), .updates();
    // Loops on 16 bytes: the old value, the new one if it differs from it and the operands, the operands; low halves
    // first.
    ATOMIC16_READ_M = None "atomic_read16 {0}, {1}, {m}" [D8.early(), D8.early()] atomic_pair(PairOp::Read, false), .updates();
    ATOMIC16_SWAP_M = None "atomic_swap16 {0}, {1}, {m}, {2}, {3}" [D8.early(), D8.early(), U8, U8] atomic_pair(PairOp::Swap, false), .updates();
    ATOMIC16_CAS_M = Clobber "atomic_cas16 {0}, {1}, {m}, {4}, {5}, {6}, {7}" [D8.early(), D8.early(), D8.early(), D8.early(), U8, U8, U8, U8] atomic_pair(PairOp::CompareExchange, false), .updates();
    ATOMIC16_AND_M = Clobber "atomic_and16 {0}, {1}, {m}, {4}, {5}" [D8.early(), D8.early(), D8.early(), D8.early(), U8, U8] atomic_pair(PairOp::And, false), .updates();
    ATOMIC16_OR_M = Clobber "atomic_or16 {0}, {1}, {m}, {4}, {5}" [D8.early(), D8.early(), D8.early(), D8.early(), U8, U8] atomic_pair(PairOp::Or, false), .updates();
    ATOMIC16_XOR_M = Clobber "atomic_xor16 {0}, {1}, {m}, {4}, {5}" [D8.early(), D8.early(), D8.early(), D8.early(), U8, U8] atomic_pair(PairOp::Xor, false), .updates();
    ATOMIC16_NAND_M = Clobber "atomic_nand16 {0}, {1}, {m}, {4}, {5}" [D8.early(), D8.early(), D8.early(), D8.early(), U8, U8] atomic_pair(PairOp::Nand, false), .updates();
    ATOMIC16_ADD_M = Clobber "atomic_add16 {0}, {1}, {m}, {4}, {5}" [D8.early(), D8.early(), D8.early(), D8.early(), U8, U8] atomic_pair(PairOp::Add, false), .updates();
    ATOMIC16_UMIN_M = Clobber "atomic_umin16 {0}, {1}, {m}, {4}, {5}" [D8.early(), D8.early(), D8.early(), D8.early(), U8, U8] atomic_pair(PairOp::Keep(CC_LO), false), .updates();
    ATOMIC16_UMAX_M = Clobber "atomic_umax16 {0}, {1}, {m}, {4}, {5}" [D8.early(), D8.early(), D8.early(), D8.early(), U8, U8] atomic_pair(PairOp::Keep(CC_HS), false), .updates();
    ATOMIC16_SMIN_M = Clobber "atomic_smin16 {0}, {1}, {m}, {4}, {5}" [D8.early(), D8.early(), D8.early(), D8.early(), U8, U8] atomic_pair(PairOp::Keep(CC_LT), false), .updates();
    ATOMIC16_SMAX_M = Clobber "atomic_smax16 {0}, {1}, {m}, {4}, {5}" [D8.early(), D8.early(), D8.early(), D8.early(), U8, U8] atomic_pair(PairOp::Keep(CC_GE), false), .updates();
    ATOMIC16_ADD_BIG_M = Clobber "atomic_add16_big {0}, {1}, {m}, {4}, {5}" [D8.early(), D8.early(), D8.early(), D8.early(), U8, U8] atomic_pair(PairOp::Add, true), .updates();
    ATOMIC16_UMIN_BIG_M = Clobber "atomic_umin16_big {0}, {1}, {m}, {4}, {5}" [D8.early(), D8.early(), D8.early(), D8.early(), U8, U8] atomic_pair(PairOp::Keep(CC_LO), true), .updates();
    ATOMIC16_UMAX_BIG_M = Clobber "atomic_umax16_big {0}, {1}, {m}, {4}, {5}" [D8.early(), D8.early(), D8.early(), D8.early(), U8, U8] atomic_pair(PairOp::Keep(CC_HS), true), .updates();
    ATOMIC16_SMIN_BIG_M = Clobber "atomic_smin16_big {0}, {1}, {m}, {4}, {5}" [D8.early(), D8.early(), D8.early(), D8.early(), U8, U8] atomic_pair(PairOp::Keep(CC_LT), true), .updates();
    ATOMIC16_SMAX_BIG_M = Clobber "atomic_smax16_big {0}, {1}, {m}, {4}, {5}" [D8.early(), D8.early(), D8.early(), D8.early(), U8, U8] atomic_pair(PairOp::Keep(CC_GE), true), .updates();
    // Barriers.
    DMB_ISH = None "dmb ish" [] op(0xd503_3bbf);
    DMB_ISHLD = None "dmb ishld" [] op(0xd503_39bf);
    DMB_ISHST = None "dmb ishst" [] op(0xd503_3abf);
    DSB_SY = None "dsb sy" [] op(0xd503_3f9f);
    ISB = None "isb" [] op(0xd503_3fdf);
}
