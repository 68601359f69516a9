//! Atomic operations and barriers. Narrow results have zeros above them.

use crate::encoding::{LoopOp, atomic, base, op};
use crate::regs::{CC_GT, CC_HI, CC_LO, CC_LT, x};
use crate::rows::{OLD4, OLD8, rows};
use kingpost_mach::operands::{D4, D8, T4, T8, U4, U8};

rows! {
    crate::rows::alu::END;

    // Acquire and release.
    LDAR8_RM = None "ldarb {0}, {m}" [D4] base(0x08df_fc00, 1).rd(0);
    LDAR16_RM = None "ldarh {0}, {m}" [D4] base(0x48df_fc00, 2).rd(0);
    LDAR32_RM = None "ldar {0}, {m}" [D4] base(0x88df_fc00, 4).rd(0);
    LDAR64_RM = None "ldar {0}, {m}" [D8] base(0xc8df_fc00, 8).rd(0);
    LDAXR8_RM = None "ldaxrb {0}, {m}" [D4] base(0x085f_fc00, 1).rd(0);
    LDAXR16_RM = None "ldaxrh {0}, {m}" [D4] base(0x485f_fc00, 2).rd(0);
    LDAXR32_RM = None "ldaxr {0}, {m}" [D4] base(0x885f_fc00, 4).rd(0);
    LDAXR64_RM = None "ldaxr {0}, {m}" [D8] base(0xc85f_fc00, 8).rd(0);
    LDXR8_RM = None "ldxrb {0}, {m}" [D4] base(0x085f_7c00, 1).rd(0);
    LDXR16_RM = None "ldxrh {0}, {m}" [D4] base(0x485f_7c00, 2).rd(0);
    LDXR32_RM = None "ldxr {0}, {m}" [D4] base(0x885f_7c00, 4).rd(0);
    LDXR64_RM = None "ldxr {0}, {m}" [D8] base(0xc85f_7c00, 8).rd(0);
    STLR8_MR = None "stlrb {0}, {m}" [U4] base(0x089f_fc00, 1).rd(0);
    STLR16_MR = None "stlrh {0}, {m}" [U4] base(0x489f_fc00, 2).rd(0);
    STLR32_MR = None "stlr {0}, {m}" [U4] base(0x889f_fc00, 4).rd(0);
    STLR64_MR = None "stlr {0}, {m}" [U8] base(0xc89f_fc00, 8).rd(0);
    // Exclusive stores: 0 if done, else 1.
    STLXR8_RMR = None "stlxrb {0}, {1}, {m}" [D4.early(), U4] base(0x0800_fc00, 1).rm(0).rd(1);
    STLXR16_RMR = None "stlxrh {0}, {1}, {m}" [D4.early(), U4] base(0x4800_fc00, 2).rm(0).rd(1);
    STLXR32_RMR = None "stlxr {0}, {1}, {m}" [D4.early(), U4] base(0x8800_fc00, 4).rm(0).rd(1);
    STLXR64_RMR = None "stlxr {0}, {1}, {m}" [D4.early(), U8] base(0xc800_fc00, 8).rm(0).rd(1);
    STXR8_RMR = None "stxrb {0}, {1}, {m}" [D4.early(), U4] base(0x0800_7c00, 1).rm(0).rd(1);
    STXR16_RMR = None "stxrh {0}, {1}, {m}" [D4.early(), U4] base(0x4800_7c00, 2).rm(0).rd(1);
    STXR32_RMR = None "stxr {0}, {1}, {m}" [D4.early(), U4] base(0x8800_7c00, 4).rm(0).rd(1);
    STXR64_RMR = None "stxr {0}, {1}, {m}" [D4.early(), U8] base(0xc800_7c00, 8).rm(0).rd(1);
    LDAXP64_RRM = None "ldaxp {0}, {1}, {m}" [D8, D8] base(0xc87f_8000, 16).rd(0).ra(1);
    STLXP64_RMRR = None "stlxp {0}, {1}, {2}, {m}" [D4.early(), U8, U8] base(0xc820_8000, 16).rm(0).rd(1).ra(2);
    // LSE: the old value, the operand.
    LDADDAL8_RMR = None "ldaddalb {1}, {0}, {m}" [D4, U4] base(0x38e0_0000, 1).rd(0).rm(1);
    LDADDAL16_RMR = None "ldaddalh {1}, {0}, {m}" [D4, U4] base(0x78e0_0000, 2).rd(0).rm(1);
    LDADDAL32_RMR = None "ldaddal {1}, {0}, {m}" [D4, U4] base(0xb8e0_0000, 4).rd(0).rm(1);
    LDADDAL64_RMR = None "ldaddal {1}, {0}, {m}" [D8, U8] base(0xf8e0_0000, 8).rd(0).rm(1);
    LDCLRAL8_RMR = None "ldclralb {1}, {0}, {m}" [D4, U4] base(0x38e0_1000, 1).rd(0).rm(1);
    LDCLRAL16_RMR = None "ldclralh {1}, {0}, {m}" [D4, U4] base(0x78e0_1000, 2).rd(0).rm(1);
    LDCLRAL32_RMR = None "ldclral {1}, {0}, {m}" [D4, U4] base(0xb8e0_1000, 4).rd(0).rm(1);
    LDCLRAL64_RMR = None "ldclral {1}, {0}, {m}" [D8, U8] base(0xf8e0_1000, 8).rd(0).rm(1);
    LDEORAL8_RMR = None "ldeoralb {1}, {0}, {m}" [D4, U4] base(0x38e0_2000, 1).rd(0).rm(1);
    LDEORAL16_RMR = None "ldeoralh {1}, {0}, {m}" [D4, U4] base(0x78e0_2000, 2).rd(0).rm(1);
    LDEORAL32_RMR = None "ldeoral {1}, {0}, {m}" [D4, U4] base(0xb8e0_2000, 4).rd(0).rm(1);
    LDEORAL64_RMR = None "ldeoral {1}, {0}, {m}" [D8, U8] base(0xf8e0_2000, 8).rd(0).rm(1);
    LDSETAL8_RMR = None "ldsetalb {1}, {0}, {m}" [D4, U4] base(0x38e0_3000, 1).rd(0).rm(1);
    LDSETAL16_RMR = None "ldsetalh {1}, {0}, {m}" [D4, U4] base(0x78e0_3000, 2).rd(0).rm(1);
    LDSETAL32_RMR = None "ldsetal {1}, {0}, {m}" [D4, U4] base(0xb8e0_3000, 4).rd(0).rm(1);
    LDSETAL64_RMR = None "ldsetal {1}, {0}, {m}" [D8, U8] base(0xf8e0_3000, 8).rd(0).rm(1);
    LDSMAXAL8_RMR = None "ldsmaxalb {1}, {0}, {m}" [D4, U4] base(0x38e0_4000, 1).rd(0).rm(1);
    LDSMAXAL16_RMR = None "ldsmaxalh {1}, {0}, {m}" [D4, U4] base(0x78e0_4000, 2).rd(0).rm(1);
    LDSMAXAL32_RMR = None "ldsmaxal {1}, {0}, {m}" [D4, U4] base(0xb8e0_4000, 4).rd(0).rm(1);
    LDSMAXAL64_RMR = None "ldsmaxal {1}, {0}, {m}" [D8, U8] base(0xf8e0_4000, 8).rd(0).rm(1);
    LDSMINAL8_RMR = None "ldsminalb {1}, {0}, {m}" [D4, U4] base(0x38e0_5000, 1).rd(0).rm(1);
    LDSMINAL16_RMR = None "ldsminalh {1}, {0}, {m}" [D4, U4] base(0x78e0_5000, 2).rd(0).rm(1);
    LDSMINAL32_RMR = None "ldsminal {1}, {0}, {m}" [D4, U4] base(0xb8e0_5000, 4).rd(0).rm(1);
    LDSMINAL64_RMR = None "ldsminal {1}, {0}, {m}" [D8, U8] base(0xf8e0_5000, 8).rd(0).rm(1);
    LDUMAXAL8_RMR = None "ldumaxalb {1}, {0}, {m}" [D4, U4] base(0x38e0_6000, 1).rd(0).rm(1);
    LDUMAXAL16_RMR = None "ldumaxalh {1}, {0}, {m}" [D4, U4] base(0x78e0_6000, 2).rd(0).rm(1);
    LDUMAXAL32_RMR = None "ldumaxal {1}, {0}, {m}" [D4, U4] base(0xb8e0_6000, 4).rd(0).rm(1);
    LDUMAXAL64_RMR = None "ldumaxal {1}, {0}, {m}" [D8, U8] base(0xf8e0_6000, 8).rd(0).rm(1);
    LDUMINAL8_RMR = None "lduminalb {1}, {0}, {m}" [D4, U4] base(0x38e0_7000, 1).rd(0).rm(1);
    LDUMINAL16_RMR = None "lduminalh {1}, {0}, {m}" [D4, U4] base(0x78e0_7000, 2).rd(0).rm(1);
    LDUMINAL32_RMR = None "lduminal {1}, {0}, {m}" [D4, U4] base(0xb8e0_7000, 4).rd(0).rm(1);
    LDUMINAL64_RMR = None "lduminal {1}, {0}, {m}" [D8, U8] base(0xf8e0_7000, 8).rd(0).rm(1);
    SWPAL8_RMR = None "swpalb {1}, {0}, {m}" [D4, U4] base(0x38e0_8000, 1).rd(0).rm(1);
    SWPAL16_RMR = None "swpalh {1}, {0}, {m}" [D4, U4] base(0x78e0_8000, 2).rd(0).rm(1);
    SWPAL32_RMR = None "swpal {1}, {0}, {m}" [D4, U4] base(0xb8e0_8000, 4).rd(0).rm(1);
    SWPAL64_RMR = None "swpal {1}, {0}, {m}" [D8, U8] base(0xf8e0_8000, 8).rd(0).rm(1);
    // LSE compare and swap: the expected value becomes the old one; the replacement.
    CASAL8_MR = None "casalb {0}, {2}, {m}" [T4, U4, U4] base(0x08e0_fc00, 1).rm(0).rd(2);
    CASAL16_MR = None "casalh {0}, {2}, {m}" [T4, U4, U4] base(0x48e0_fc00, 2).rm(0).rd(2);
    CASAL32_MR = None "casal {0}, {2}, {m}" [T4, U4, U4] base(0x88e0_fc00, 4).rm(0).rd(2);
    CASAL64_MR = None "casal {0}, {2}, {m}" [T8, U8, U8] base(0xc8e0_fc00, 8).rm(0).rd(2);
    CASPAL64_MR = None "caspal {0}, {1}, {4}, {5}, {m}" [D8.fixed(x(0)), D8.fixed(x(1)), U8.fixed(x(0)), U8.fixed(x(1)), U8.fixed(x(2)), U8.fixed(x(3))] base(0x4860_fc00, 16).rm(0).rd(4);
    // Loops of exclusive load and store: the old value out, a temporary, the operand in.
    ATOMIC_ADD8_MR = None "atomic_add {0}, {m}, {2}" [OLD4, OLD4, U4] atomic(LoopOp::Add, 1);
    ATOMIC_ADD16_MR = None "atomic_add {0}, {m}, {2}" [OLD4, OLD4, U4] atomic(LoopOp::Add, 2);
    ATOMIC_ADD32_MR = None "atomic_add {0}, {m}, {2}" [OLD4, OLD4, U4] atomic(LoopOp::Add, 4);
    ATOMIC_ADD64_MR = None "atomic_add {0}, {m}, {2}" [OLD8, OLD8, U8] atomic(LoopOp::Add, 8);
    ATOMIC_SUB8_MR = None "atomic_sub {0}, {m}, {2}" [OLD4, OLD4, U4] atomic(LoopOp::Sub, 1);
    ATOMIC_SUB16_MR = None "atomic_sub {0}, {m}, {2}" [OLD4, OLD4, U4] atomic(LoopOp::Sub, 2);
    ATOMIC_SUB32_MR = None "atomic_sub {0}, {m}, {2}" [OLD4, OLD4, U4] atomic(LoopOp::Sub, 4);
    ATOMIC_SUB64_MR = None "atomic_sub {0}, {m}, {2}" [OLD8, OLD8, U8] atomic(LoopOp::Sub, 8);
    ATOMIC_AND8_MR = None "atomic_and {0}, {m}, {2}" [OLD4, OLD4, U4] atomic(LoopOp::And, 1);
    ATOMIC_AND16_MR = None "atomic_and {0}, {m}, {2}" [OLD4, OLD4, U4] atomic(LoopOp::And, 2);
    ATOMIC_AND32_MR = None "atomic_and {0}, {m}, {2}" [OLD4, OLD4, U4] atomic(LoopOp::And, 4);
    ATOMIC_AND64_MR = None "atomic_and {0}, {m}, {2}" [OLD8, OLD8, U8] atomic(LoopOp::And, 8);
    ATOMIC_OR8_MR = None "atomic_or {0}, {m}, {2}" [OLD4, OLD4, U4] atomic(LoopOp::Or, 1);
    ATOMIC_OR16_MR = None "atomic_or {0}, {m}, {2}" [OLD4, OLD4, U4] atomic(LoopOp::Or, 2);
    ATOMIC_OR32_MR = None "atomic_or {0}, {m}, {2}" [OLD4, OLD4, U4] atomic(LoopOp::Or, 4);
    ATOMIC_OR64_MR = None "atomic_or {0}, {m}, {2}" [OLD8, OLD8, U8] atomic(LoopOp::Or, 8);
    ATOMIC_XOR8_MR = None "atomic_xor {0}, {m}, {2}" [OLD4, OLD4, U4] atomic(LoopOp::Xor, 1);
    ATOMIC_XOR16_MR = None "atomic_xor {0}, {m}, {2}" [OLD4, OLD4, U4] atomic(LoopOp::Xor, 2);
    ATOMIC_XOR32_MR = None "atomic_xor {0}, {m}, {2}" [OLD4, OLD4, U4] atomic(LoopOp::Xor, 4);
    ATOMIC_XOR64_MR = None "atomic_xor {0}, {m}, {2}" [OLD8, OLD8, U8] atomic(LoopOp::Xor, 8);
    ATOMIC_NAND8_MR = None "atomic_nand {0}, {m}, {2}" [OLD4, OLD4, U4] atomic(LoopOp::Nand, 1);
    ATOMIC_NAND16_MR = None "atomic_nand {0}, {m}, {2}" [OLD4, OLD4, U4] atomic(LoopOp::Nand, 2);
    ATOMIC_NAND32_MR = None "atomic_nand {0}, {m}, {2}" [OLD4, OLD4, U4] atomic(LoopOp::Nand, 4);
    ATOMIC_NAND64_MR = None "atomic_nand {0}, {m}, {2}" [OLD8, OLD8, U8] atomic(LoopOp::Nand, 8);
    ATOMIC_UMIN8_MR = Clobber "atomic_umin {0}, {m}, {2}" [OLD4, OLD4, U4] atomic(LoopOp::Keep(CC_LO, false), 1);
    ATOMIC_UMIN16_MR = Clobber "atomic_umin {0}, {m}, {2}" [OLD4, OLD4, U4] atomic(LoopOp::Keep(CC_LO, false), 2);
    ATOMIC_UMIN32_MR = Clobber "atomic_umin {0}, {m}, {2}" [OLD4, OLD4, U4] atomic(LoopOp::Keep(CC_LO, false), 4);
    ATOMIC_UMIN64_MR = Clobber "atomic_umin {0}, {m}, {2}" [OLD8, OLD8, U8] atomic(LoopOp::Keep(CC_LO, false), 8);
    ATOMIC_UMAX8_MR = Clobber "atomic_umax {0}, {m}, {2}" [OLD4, OLD4, U4] atomic(LoopOp::Keep(CC_HI, false), 1);
    ATOMIC_UMAX16_MR = Clobber "atomic_umax {0}, {m}, {2}" [OLD4, OLD4, U4] atomic(LoopOp::Keep(CC_HI, false), 2);
    ATOMIC_UMAX32_MR = Clobber "atomic_umax {0}, {m}, {2}" [OLD4, OLD4, U4] atomic(LoopOp::Keep(CC_HI, false), 4);
    ATOMIC_UMAX64_MR = Clobber "atomic_umax {0}, {m}, {2}" [OLD8, OLD8, U8] atomic(LoopOp::Keep(CC_HI, false), 8);
    ATOMIC_SMIN8_MR = Clobber "atomic_smin {0}, {m}, {2}" [OLD4, OLD4, U4] atomic(LoopOp::Keep(CC_LT, true), 1);
    ATOMIC_SMIN16_MR = Clobber "atomic_smin {0}, {m}, {2}" [OLD4, OLD4, U4] atomic(LoopOp::Keep(CC_LT, true), 2);
    ATOMIC_SMIN32_MR = Clobber "atomic_smin {0}, {m}, {2}" [OLD4, OLD4, U4] atomic(LoopOp::Keep(CC_LT, true), 4);
    ATOMIC_SMIN64_MR = Clobber "atomic_smin {0}, {m}, {2}" [OLD8, OLD8, U8] atomic(LoopOp::Keep(CC_LT, true), 8);
    ATOMIC_SMAX8_MR = Clobber "atomic_smax {0}, {m}, {2}" [OLD4, OLD4, U4] atomic(LoopOp::Keep(CC_GT, true), 1);
    ATOMIC_SMAX16_MR = Clobber "atomic_smax {0}, {m}, {2}" [OLD4, OLD4, U4] atomic(LoopOp::Keep(CC_GT, true), 2);
    ATOMIC_SMAX32_MR = Clobber "atomic_smax {0}, {m}, {2}" [OLD4, OLD4, U4] atomic(LoopOp::Keep(CC_GT, true), 4);
    ATOMIC_SMAX64_MR = Clobber "atomic_smax {0}, {m}, {2}" [OLD8, OLD8, U8] atomic(LoopOp::Keep(CC_GT, true), 8);
    ATOMIC_SWAP8_MR = None "atomic_swap {0}, {m}, {1}" [OLD4, U4] atomic(LoopOp::Swap, 1);
    ATOMIC_SWAP16_MR = None "atomic_swap {0}, {m}, {1}" [OLD4, U4] atomic(LoopOp::Swap, 2);
    ATOMIC_SWAP32_MR = None "atomic_swap {0}, {m}, {1}" [OLD4, U4] atomic(LoopOp::Swap, 4);
    ATOMIC_SWAP64_MR = None "atomic_swap {0}, {m}, {1}" [OLD8, U8] atomic(LoopOp::Swap, 8);
    // The same for compare and exchange: the old value, the expected value, the replacement.
    ATOMIC_CAS8_MR = Clobber "atomic_cas {0}, {m}, {1}, {2}" [OLD4, U4, U4] atomic(LoopOp::CompareExchange, 1);
    ATOMIC_CAS16_MR = Clobber "atomic_cas {0}, {m}, {1}, {2}" [OLD4, U4, U4] atomic(LoopOp::CompareExchange, 2);
    ATOMIC_CAS32_MR = Clobber "atomic_cas {0}, {m}, {1}, {2}" [OLD4, U4, U4] atomic(LoopOp::CompareExchange, 4);
    ATOMIC_CAS64_MR = Clobber "atomic_cas {0}, {m}, {1}, {2}" [OLD8, U8, U8] atomic(LoopOp::CompareExchange, 8);
    // Barriers.
    DMB_ISH = None "dmb ish" [] op(0xd503_3bbf);
    DMB_ISHLD = None "dmb ishld" [] op(0xd503_39bf);
    DMB_ISHST = None "dmb ishst" [] op(0xd503_3abf);
    DSB_SY = None "dsb sy" [] op(0xd503_3f9f);
    ISB = None "isb" [] op(0xd503_3fdf);
}
