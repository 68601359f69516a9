//! Atomic operations and fences.

use super::CMPXCHG16B;
use crate::encoding::{LoopOp, atomic, of, of64, op};
use crate::regs::{CC_AE, CC_BE, CC_GE, CC_LE, RAX, RBX, RCX, RDX};
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
    // The same on integers in big-endian byte order: old value and temporary are in memory's order, the operand is not.
    ATOMIC_ADD_BIG_MR[16 32 64] = Clobber "atomic_add_big {0}, {m}, {2}" [D.fixed(RAX).early(), D.early(), U] atomic(LoopOp::AddBig, W), .updates();
    ATOMIC_UMIN_BIG_MR[16 32 64] = Clobber "atomic_umin_big {0}, {m}, {2}" [D.fixed(RAX).early(), D.early(), U] atomic(LoopOp::KeepBig(CC_BE), W), .updates();
    ATOMIC_UMAX_BIG_MR[16 32 64] = Clobber "atomic_umax_big {0}, {m}, {2}" [D.fixed(RAX).early(), D.early(), U] atomic(LoopOp::KeepBig(CC_AE), W), .updates();
    ATOMIC_SMIN_BIG_MR[16 32 64] = Clobber "atomic_smin_big {0}, {m}, {2}" [D.fixed(RAX).early(), D.early(), U] atomic(LoopOp::KeepBig(CC_LE), W), .updates();
    ATOMIC_SMAX_BIG_MR[16 32 64] = Clobber "atomic_smax_big {0}, {m}, {2}" [D.fixed(RAX).early(), D.early(), U] atomic(LoopOp::KeepBig(CC_GE), W), .updates();
    // Fences.
    MFENCE = None "mfence" [] of(0xae).bare(0xf0);
}
