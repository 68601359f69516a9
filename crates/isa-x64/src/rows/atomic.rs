//! Atomic operations and fences.

use crate::encoding::{LoopOp, atomic, of, of64, of66, op, op16, op64};
use crate::regs::{CC_AE, CC_BE, CC_GE, CC_LE, RAX, RBX, RCX, RDX};
use crate::rows::{OLD1, OLD2, OLD4, OLD8, TMP1, TMP2, TMP4, TMP8, rows};
use kingpost_mach::operands::{D1, D2, D4, D8, T1, T2, T4, T8, U1, U2, U4, U8};

rows! {
    crate::rows::alu::END;

    // `xchg` with memory locks by itself: the new value in, the old one out.
    XCHG8_MR = None "xchg {m}, {0}" [T1, U1] op(0x86).reg(0).mem(1);
    XCHG16_MR = None "xchg {m}, {0}" [T2, U2] op16(0x87).reg(0).mem(2);
    XCHG32_MR = None "xchg {m}, {0}" [T4, U4] op(0x87).reg(0).mem(4);
    XCHG64_MR = None "xchg {m}, {0}" [T8, U8] op64(0x87).reg(0).mem(8);
    // `lock xadd`: the addend in, the old value out.
    LOCK_XADD8_MR = Def "lock xadd {m}, {0}" [T1, U1] of(0xc0).lock().reg(0).mem(1);
    LOCK_XADD16_MR = Def "lock xadd {m}, {0}" [T2, U2] of66(0xc1).lock().reg(0).mem(2);
    LOCK_XADD32_MR = Def "lock xadd {m}, {0}" [T4, U4] of(0xc1).lock().reg(0).mem(4);
    LOCK_XADD64_MR = Def "lock xadd {m}, {0}" [T8, U8] of64(0xc1).lock().reg(0).mem(8);
    // `lock cmpxchg`: the expected value and the replacement in, the old value out.
    LOCK_CMPXCHG8_MR = Def "lock cmpxchg {m}, {2}" [D1.fixed(RAX), U1.fixed(RAX), U1] of(0xb0).lock().reg(2).mem(1), .keeps_upper();
    LOCK_CMPXCHG16_MR = Def "lock cmpxchg {m}, {2}" [D2.fixed(RAX), U2.fixed(RAX), U2] of66(0xb1).lock().reg(2).mem(2), .keeps_upper();
    LOCK_CMPXCHG32_MR = Def "lock cmpxchg {m}, {2}" [D4.fixed(RAX), U4.fixed(RAX), U4] of(0xb1).lock().reg(2).mem(4), .keeps_upper();
    LOCK_CMPXCHG64_MR = Def "lock cmpxchg {m}, {2}" [D8.fixed(RAX), U8.fixed(RAX), U8] of64(0xb1).lock().reg(2).mem(8), .keeps_upper();
    LOCK_CMPXCHG16B_M = Def "lock cmpxchg16b {m}" [D8.fixed(RAX), D8.fixed(RDX), U8.fixed(RAX), U8.fixed(RDX), U8.fixed(RBX), U8.fixed(RCX)] of64(0xc7).lock().digit(1).mem(16);
    // Locked operations whose result nobody wants.
    LOCK_ADD8_MR = Def "lock add {m}, {0}" [U1] op(0x00).lock().reg(0).mem(1);
    LOCK_ADD16_MR = Def "lock add {m}, {0}" [U2] op16(0x01).lock().reg(0).mem(2);
    LOCK_ADD32_MR = Def "lock add {m}, {0}" [U4] op(0x01).lock().reg(0).mem(4);
    LOCK_ADD64_MR = Def "lock add {m}, {0}" [U8] op64(0x01).lock().reg(0).mem(8);
    LOCK_OR8_MR = Def "lock or {m}, {0}" [U1] op(0x08).lock().reg(0).mem(1);
    LOCK_OR16_MR = Def "lock or {m}, {0}" [U2] op16(0x09).lock().reg(0).mem(2);
    LOCK_OR32_MR = Def "lock or {m}, {0}" [U4] op(0x09).lock().reg(0).mem(4);
    LOCK_OR64_MR = Def "lock or {m}, {0}" [U8] op64(0x09).lock().reg(0).mem(8);
    LOCK_AND8_MR = Def "lock and {m}, {0}" [U1] op(0x20).lock().reg(0).mem(1);
    LOCK_AND16_MR = Def "lock and {m}, {0}" [U2] op16(0x21).lock().reg(0).mem(2);
    LOCK_AND32_MR = Def "lock and {m}, {0}" [U4] op(0x21).lock().reg(0).mem(4);
    LOCK_AND64_MR = Def "lock and {m}, {0}" [U8] op64(0x21).lock().reg(0).mem(8);
    LOCK_SUB8_MR = Def "lock sub {m}, {0}" [U1] op(0x28).lock().reg(0).mem(1);
    LOCK_SUB16_MR = Def "lock sub {m}, {0}" [U2] op16(0x29).lock().reg(0).mem(2);
    LOCK_SUB32_MR = Def "lock sub {m}, {0}" [U4] op(0x29).lock().reg(0).mem(4);
    LOCK_SUB64_MR = Def "lock sub {m}, {0}" [U8] op64(0x29).lock().reg(0).mem(8);
    LOCK_XOR8_MR = Def "lock xor {m}, {0}" [U1] op(0x30).lock().reg(0).mem(1);
    LOCK_XOR16_MR = Def "lock xor {m}, {0}" [U2] op16(0x31).lock().reg(0).mem(2);
    LOCK_XOR32_MR = Def "lock xor {m}, {0}" [U4] op(0x31).lock().reg(0).mem(4);
    LOCK_XOR64_MR = Def "lock xor {m}, {0}" [U8] op64(0x31).lock().reg(0).mem(8);
    // Loops of `lock cmpxchg` around an operation: the old value out, a temporary, the operand in.
    ATOMIC_AND8_MR = Clobber "atomic_and {0}, {m}, {2}" [OLD1, TMP1, U1] atomic(LoopOp::And, 1);
    ATOMIC_AND16_MR = Clobber "atomic_and {0}, {m}, {2}" [OLD2, TMP2, U2] atomic(LoopOp::And, 2);
    ATOMIC_AND32_MR = Clobber "atomic_and {0}, {m}, {2}" [OLD4, TMP4, U4] atomic(LoopOp::And, 4);
    ATOMIC_AND64_MR = Clobber "atomic_and {0}, {m}, {2}" [OLD8, TMP8, U8] atomic(LoopOp::And, 8);
    ATOMIC_OR8_MR = Clobber "atomic_or {0}, {m}, {2}" [OLD1, TMP1, U1] atomic(LoopOp::Or, 1);
    ATOMIC_OR16_MR = Clobber "atomic_or {0}, {m}, {2}" [OLD2, TMP2, U2] atomic(LoopOp::Or, 2);
    ATOMIC_OR32_MR = Clobber "atomic_or {0}, {m}, {2}" [OLD4, TMP4, U4] atomic(LoopOp::Or, 4);
    ATOMIC_OR64_MR = Clobber "atomic_or {0}, {m}, {2}" [OLD8, TMP8, U8] atomic(LoopOp::Or, 8);
    ATOMIC_XOR8_MR = Clobber "atomic_xor {0}, {m}, {2}" [OLD1, TMP1, U1] atomic(LoopOp::Xor, 1);
    ATOMIC_XOR16_MR = Clobber "atomic_xor {0}, {m}, {2}" [OLD2, TMP2, U2] atomic(LoopOp::Xor, 2);
    ATOMIC_XOR32_MR = Clobber "atomic_xor {0}, {m}, {2}" [OLD4, TMP4, U4] atomic(LoopOp::Xor, 4);
    ATOMIC_XOR64_MR = Clobber "atomic_xor {0}, {m}, {2}" [OLD8, TMP8, U8] atomic(LoopOp::Xor, 8);
    ATOMIC_NAND8_MR = Clobber "atomic_nand {0}, {m}, {2}" [OLD1, TMP1, U1] atomic(LoopOp::Nand, 1);
    ATOMIC_NAND16_MR = Clobber "atomic_nand {0}, {m}, {2}" [OLD2, TMP2, U2] atomic(LoopOp::Nand, 2);
    ATOMIC_NAND32_MR = Clobber "atomic_nand {0}, {m}, {2}" [OLD4, TMP4, U4] atomic(LoopOp::Nand, 4);
    ATOMIC_NAND64_MR = Clobber "atomic_nand {0}, {m}, {2}" [OLD8, TMP8, U8] atomic(LoopOp::Nand, 8);
    ATOMIC_UMIN8_MR = Clobber "atomic_umin {0}, {m}, {2}" [OLD1, TMP1, U1] atomic(LoopOp::Keep(CC_BE), 1);
    ATOMIC_UMIN16_MR = Clobber "atomic_umin {0}, {m}, {2}" [OLD2, TMP2, U2] atomic(LoopOp::Keep(CC_BE), 2);
    ATOMIC_UMIN32_MR = Clobber "atomic_umin {0}, {m}, {2}" [OLD4, TMP4, U4] atomic(LoopOp::Keep(CC_BE), 4);
    ATOMIC_UMIN64_MR = Clobber "atomic_umin {0}, {m}, {2}" [OLD8, TMP8, U8] atomic(LoopOp::Keep(CC_BE), 8);
    ATOMIC_UMAX8_MR = Clobber "atomic_umax {0}, {m}, {2}" [OLD1, TMP1, U1] atomic(LoopOp::Keep(CC_AE), 1);
    ATOMIC_UMAX16_MR = Clobber "atomic_umax {0}, {m}, {2}" [OLD2, TMP2, U2] atomic(LoopOp::Keep(CC_AE), 2);
    ATOMIC_UMAX32_MR = Clobber "atomic_umax {0}, {m}, {2}" [OLD4, TMP4, U4] atomic(LoopOp::Keep(CC_AE), 4);
    ATOMIC_UMAX64_MR = Clobber "atomic_umax {0}, {m}, {2}" [OLD8, TMP8, U8] atomic(LoopOp::Keep(CC_AE), 8);
    ATOMIC_SMIN8_MR = Clobber "atomic_smin {0}, {m}, {2}" [OLD1, TMP1, U1] atomic(LoopOp::Keep(CC_LE), 1);
    ATOMIC_SMIN16_MR = Clobber "atomic_smin {0}, {m}, {2}" [OLD2, TMP2, U2] atomic(LoopOp::Keep(CC_LE), 2);
    ATOMIC_SMIN32_MR = Clobber "atomic_smin {0}, {m}, {2}" [OLD4, TMP4, U4] atomic(LoopOp::Keep(CC_LE), 4);
    ATOMIC_SMIN64_MR = Clobber "atomic_smin {0}, {m}, {2}" [OLD8, TMP8, U8] atomic(LoopOp::Keep(CC_LE), 8);
    ATOMIC_SMAX8_MR = Clobber "atomic_smax {0}, {m}, {2}" [OLD1, TMP1, U1] atomic(LoopOp::Keep(CC_GE), 1);
    ATOMIC_SMAX16_MR = Clobber "atomic_smax {0}, {m}, {2}" [OLD2, TMP2, U2] atomic(LoopOp::Keep(CC_GE), 2);
    ATOMIC_SMAX32_MR = Clobber "atomic_smax {0}, {m}, {2}" [OLD4, TMP4, U4] atomic(LoopOp::Keep(CC_GE), 4);
    ATOMIC_SMAX64_MR = Clobber "atomic_smax {0}, {m}, {2}" [OLD8, TMP8, U8] atomic(LoopOp::Keep(CC_GE), 8);
    // The same on integers in big-endian byte order: old value and temporary are in memory's order, the operand is not.
    ATOMIC_ADD_BIG16_MR = Clobber "atomic_add_big {0}, {m}, {2}" [OLD2, TMP2, U2] atomic(LoopOp::AddBig, 2);
    ATOMIC_ADD_BIG32_MR = Clobber "atomic_add_big {0}, {m}, {2}" [OLD4, TMP4, U4] atomic(LoopOp::AddBig, 4);
    ATOMIC_ADD_BIG64_MR = Clobber "atomic_add_big {0}, {m}, {2}" [OLD8, TMP8, U8] atomic(LoopOp::AddBig, 8);
    ATOMIC_UMIN_BIG16_MR = Clobber "atomic_umin_big {0}, {m}, {2}" [OLD2, TMP2, U2] atomic(LoopOp::KeepBig(CC_BE), 2);
    ATOMIC_UMIN_BIG32_MR = Clobber "atomic_umin_big {0}, {m}, {2}" [OLD4, TMP4, U4] atomic(LoopOp::KeepBig(CC_BE), 4);
    ATOMIC_UMIN_BIG64_MR = Clobber "atomic_umin_big {0}, {m}, {2}" [OLD8, TMP8, U8] atomic(LoopOp::KeepBig(CC_BE), 8);
    ATOMIC_UMAX_BIG16_MR = Clobber "atomic_umax_big {0}, {m}, {2}" [OLD2, TMP2, U2] atomic(LoopOp::KeepBig(CC_AE), 2);
    ATOMIC_UMAX_BIG32_MR = Clobber "atomic_umax_big {0}, {m}, {2}" [OLD4, TMP4, U4] atomic(LoopOp::KeepBig(CC_AE), 4);
    ATOMIC_UMAX_BIG64_MR = Clobber "atomic_umax_big {0}, {m}, {2}" [OLD8, TMP8, U8] atomic(LoopOp::KeepBig(CC_AE), 8);
    ATOMIC_SMIN_BIG16_MR = Clobber "atomic_smin_big {0}, {m}, {2}" [OLD2, TMP2, U2] atomic(LoopOp::KeepBig(CC_LE), 2);
    ATOMIC_SMIN_BIG32_MR = Clobber "atomic_smin_big {0}, {m}, {2}" [OLD4, TMP4, U4] atomic(LoopOp::KeepBig(CC_LE), 4);
    ATOMIC_SMIN_BIG64_MR = Clobber "atomic_smin_big {0}, {m}, {2}" [OLD8, TMP8, U8] atomic(LoopOp::KeepBig(CC_LE), 8);
    ATOMIC_SMAX_BIG16_MR = Clobber "atomic_smax_big {0}, {m}, {2}" [OLD2, TMP2, U2] atomic(LoopOp::KeepBig(CC_GE), 2);
    ATOMIC_SMAX_BIG32_MR = Clobber "atomic_smax_big {0}, {m}, {2}" [OLD4, TMP4, U4] atomic(LoopOp::KeepBig(CC_GE), 4);
    ATOMIC_SMAX_BIG64_MR = Clobber "atomic_smax_big {0}, {m}, {2}" [OLD8, TMP8, U8] atomic(LoopOp::KeepBig(CC_GE), 8);
    // Fences.
    MFENCE = None "mfence" [] of(0xae).bare(0xf0);
}
