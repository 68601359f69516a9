//! Atomic operations and fences.

use super::line::CMPXCHG16B;
use crate::encoding::{LoopOp, PairOp, atomic, atomic_pair, of, of64, op};
use crate::regs::{CC_AE, CC_B, CC_BE, CC_GE, CC_L, CC_LE, RAX, RBX, RCX, RDX};
use kingpost_mach::operands::{D8, U8};
use kingpost_mach::rows;

rows! {
    crate::rows::alu::END;

    // `xchg` with memory locks by itself: the new value in, the old one out.
    XCHG_MR[8 16 32 64] = None "xchg {m}, {0}" [T, U] op(0x87).reg(0).mem(W).size(W), .updates();
    // `lock xadd`: the addend in, the old value out.
    LOCK_XADD_MR[8 16 32 64] = Def "lock xadd {m}, {0}" [T, U] of(0xc1).lock().reg(0).mem(W).size(W), .updates();
    // `lock cmpxchg`: the expected value and the replacement in, the old value out.
    LOCK_CMPXCHG_MR[8 16 32 64] = Def "lock cmpxchg {m}, {2}" [D.fixed(RAX), U.fixed(RAX), U] of(0xb1).lock().reg(2).mem(W).size(W), .keeps_upper(), .updates();
    LOCK_CMPXCHG16B_M = Def "lock cmpxchg16b {m}" [D8.fixed(RAX), D8.fixed(RDX), U8.fixed(RAX), U8.fixed(RDX), U8.fixed(RBX), U8.fixed(RCX)] of64(0xc7).lock().digit(1).mem(16), .updates(), .needs(CMPXCHG16B);
    // Locked operations whose result is not used.
    LOCK_ADD_MR[8 16 32 64] = Def "lock add {m}, {0}" [U] op(0x01).lock().reg(0).mem(W).size(W), .updates();
    LOCK_OR_MR[8 16 32 64] = Def "lock or {m}, {0}" [U] op(0x09).lock().reg(0).mem(W).size(W), .updates();
    LOCK_AND_MR[8 16 32 64] = Def "lock and {m}, {0}" [U] op(0x21).lock().reg(0).mem(W).size(W), .updates();
    LOCK_SUB_MR[8 16 32 64] = Def "lock sub {m}, {0}" [U] op(0x29).lock().reg(0).mem(W).size(W), .updates();
    LOCK_XOR_MR[8 16 32 64] = Def "lock xor {m}, {0}" [U] op(0x31).lock().reg(0).mem(W).size(W), .updates();
    // Loops of `lock cmpxchg` around an operation: the old value out, a temporary, the operand in.
    ATOMIC_AND_MR[8 16 32 64] = Clobber "atomic_and {0}, {m}, {2}" [D.fixed(RAX).early(), D.early(), U] atomic(LoopOp::And, W), .updates();
    ATOMIC_OR_MR[8 16 32 64] = Clobber "atomic_or {0}, {m}, {2}" [D.fixed(RAX).early(), D.early(), U] atomic(LoopOp::Or, W), .updates();
    ATOMIC_XOR_MR[8 16 32 64] = Clobber "atomic_xor {0}, {m}, {2}" [D.fixed(RAX).early(), D.early(), U] atomic(LoopOp::Xor, W), .updates();
    ATOMIC_NAND_MR[8 16 32 64] = Clobber "atomic_nand {0}, {m}, {2}" [D.fixed(RAX).early(), D.early(), U] atomic(LoopOp::Nand, W), .updates();
    ATOMIC_UMIN_MR[8 16 32 64] = Clobber "atomic_umin {0}, {m}, {2}" [D.fixed(RAX).early(), D.early(), U] atomic(LoopOp::Keep(CC_BE), W), .updates();
    ATOMIC_UMAX_MR[8 16 32 64] = Clobber "atomic_umax {0}, {m}, {2}" [D.fixed(RAX).early(), D.early(), U] atomic(LoopOp::Keep(CC_AE), W), .updates();
    ATOMIC_SMIN_MR[8 16 32 64] = Clobber "atomic_smin {0}, {m}, {2}" [D.fixed(RAX).early(), D.early(), U] atomic(LoopOp::Keep(CC_LE), W), .updates();
    ATOMIC_SMAX_MR[8 16 32 64] = Clobber "atomic_smax {0}, {m}, {2}" [D.fixed(RAX).early(), D.early(), U] atomic(LoopOp::Keep(CC_GE), W), .updates();
    // Loops on integers in big-endian byte order: old value and temporary are in the order of memory, the operand is
    // not.
    ATOMIC_ADD_BIG_MR[16 32 64] = Clobber "atomic_add_big {0}, {m}, {2}" [D.fixed(RAX).early(), D.early(), U] atomic(LoopOp::AddBig, W), .updates();
    ATOMIC_UMIN_BIG_MR[16 32 64] = Clobber "atomic_umin_big {0}, {m}, {2}" [D.fixed(RAX).early(), D.early(), U] atomic(LoopOp::KeepBig(CC_BE), W), .updates();
    ATOMIC_UMAX_BIG_MR[16 32 64] = Clobber "atomic_umax_big {0}, {m}, {2}" [D.fixed(RAX).early(), D.early(), U] atomic(LoopOp::KeepBig(CC_AE), W), .updates();
    ATOMIC_SMIN_BIG_MR[16 32 64] = Clobber "atomic_smin_big {0}, {m}, {2}" [D.fixed(RAX).early(), D.early(), U] atomic(LoopOp::KeepBig(CC_LE), W), .updates();
    ATOMIC_SMAX_BIG_MR[16 32 64] = Clobber "atomic_smax_big {0}, {m}, {2}" [D.fixed(RAX).early(), D.early(), U] atomic(LoopOp::KeepBig(CC_GE), W), .updates();
    // Loops on 16 bytes: the old value in rax and rdx, the new one in rbx and rcx, then the operand; low halves first.
    ATOMIC16_SWAP_M = Clobber "atomic_swap16 {m}" [D8.fixed(RAX).early(), D8.fixed(RDX).early(), U8.fixed(RBX), U8.fixed(RCX)] atomic_pair(PairOp::Swap, false), .updates(), .needs(CMPXCHG16B);
    ATOMIC16_AND_M = Clobber "atomic_and16 {m}, {4}, {5}" [D8.fixed(RAX).early(), D8.fixed(RDX).early(), D8.fixed(RBX).early(), D8.fixed(RCX).early(), U8, U8] atomic_pair(PairOp::And, false), .updates(), .needs(CMPXCHG16B);
    ATOMIC16_OR_M = Clobber "atomic_or16 {m}, {4}, {5}" [D8.fixed(RAX).early(), D8.fixed(RDX).early(), D8.fixed(RBX).early(), D8.fixed(RCX).early(), U8, U8] atomic_pair(PairOp::Or, false), .updates(), .needs(CMPXCHG16B);
    ATOMIC16_XOR_M = Clobber "atomic_xor16 {m}, {4}, {5}" [D8.fixed(RAX).early(), D8.fixed(RDX).early(), D8.fixed(RBX).early(), D8.fixed(RCX).early(), U8, U8] atomic_pair(PairOp::Xor, false), .updates(), .needs(CMPXCHG16B);
    ATOMIC16_NAND_M = Clobber "atomic_nand16 {m}, {4}, {5}" [D8.fixed(RAX).early(), D8.fixed(RDX).early(), D8.fixed(RBX).early(), D8.fixed(RCX).early(), U8, U8] atomic_pair(PairOp::Nand, false), .updates(), .needs(CMPXCHG16B);
    ATOMIC16_ADD_M = Clobber "atomic_add16 {m}, {4}, {5}" [D8.fixed(RAX).early(), D8.fixed(RDX).early(), D8.fixed(RBX).early(), D8.fixed(RCX).early(), U8, U8] atomic_pair(PairOp::Add, false), .updates(), .needs(CMPXCHG16B);
    ATOMIC16_UMIN_M = Clobber "atomic_umin16 {m}, {4}, {5}" [D8.fixed(RAX).early(), D8.fixed(RDX).early(), D8.fixed(RBX).early(), D8.fixed(RCX).early(), U8, U8] atomic_pair(PairOp::Keep(CC_B), false), .updates(), .needs(CMPXCHG16B);
    ATOMIC16_UMAX_M = Clobber "atomic_umax16 {m}, {4}, {5}" [D8.fixed(RAX).early(), D8.fixed(RDX).early(), D8.fixed(RBX).early(), D8.fixed(RCX).early(), U8, U8] atomic_pair(PairOp::Keep(CC_AE), false), .updates(), .needs(CMPXCHG16B);
    ATOMIC16_SMIN_M = Clobber "atomic_smin16 {m}, {4}, {5}" [D8.fixed(RAX).early(), D8.fixed(RDX).early(), D8.fixed(RBX).early(), D8.fixed(RCX).early(), U8, U8] atomic_pair(PairOp::Keep(CC_L), false), .updates(), .needs(CMPXCHG16B);
    ATOMIC16_SMAX_M = Clobber "atomic_smax16 {m}, {4}, {5}" [D8.fixed(RAX).early(), D8.fixed(RDX).early(), D8.fixed(RBX).early(), D8.fixed(RCX).early(), U8, U8] atomic_pair(PairOp::Keep(CC_GE), false), .updates(), .needs(CMPXCHG16B);
    ATOMIC16_ADD_BIG_M = Clobber "atomic_add16_big {m}, {4}, {5}" [D8.fixed(RAX).early(), D8.fixed(RDX).early(), D8.fixed(RBX).early(), D8.fixed(RCX).early(), U8, U8] atomic_pair(PairOp::Add, true), .updates(), .needs(CMPXCHG16B);
    ATOMIC16_UMIN_BIG_M = Clobber "atomic_umin16_big {m}, {4}, {5}" [D8.fixed(RAX).early(), D8.fixed(RDX).early(), D8.fixed(RBX).early(), D8.fixed(RCX).early(), U8, U8] atomic_pair(PairOp::Keep(CC_B), true), .updates(), .needs(CMPXCHG16B);
    ATOMIC16_UMAX_BIG_M = Clobber "atomic_umax16_big {m}, {4}, {5}" [D8.fixed(RAX).early(), D8.fixed(RDX).early(), D8.fixed(RBX).early(), D8.fixed(RCX).early(), U8, U8] atomic_pair(PairOp::Keep(CC_AE), true), .updates(), .needs(CMPXCHG16B);
    ATOMIC16_SMIN_BIG_M = Clobber "atomic_smin16_big {m}, {4}, {5}" [D8.fixed(RAX).early(), D8.fixed(RDX).early(), D8.fixed(RBX).early(), D8.fixed(RCX).early(), U8, U8] atomic_pair(PairOp::Keep(CC_L), true), .updates(), .needs(CMPXCHG16B);
    ATOMIC16_SMAX_BIG_M = Clobber "atomic_smax16_big {m}, {4}, {5}" [D8.fixed(RAX).early(), D8.fixed(RDX).early(), D8.fixed(RBX).early(), D8.fixed(RCX).early(), U8, U8] atomic_pair(PairOp::Keep(CC_GE), true), .updates(), .needs(CMPXCHG16B);
    // Fences.
    MFENCE = None "mfence" [] of(0xae).bare(0xf0);
}
