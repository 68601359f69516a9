//! Instruction selection: one line per opcode, one short function per opcode or family behind it. What is lowered alike for
//! all machines is in `kingpost_mach::lower`.
//!
//! | file | holds |
//! |---|---|
//! | `machine.rs` | what those shared parts need of this machine |
//! | `cx.rs` | what lowering functions work on, and how rows are found by width |
//! | `address.rs` | memory operands from address computations |
//! | `operand.rs` | second operands: immediates, shifted and extended registers |
//! | `condition.rs` | comparisons into the flags, for whoever reads them |
//! | `chain.rs` | several comparisons, each made only if it still matters |
//! | the others | opcodes, by family |
//!
//! Integers narrower than 32 bits are computed in 32-bit registers whose upper bits are undefined; they are extended only
//! where an operation looks at them. The walk runs backwards (see `kingpost_mach::lower`), so whoever uses a value decides
//! first whether to take its definition in.

mod address;
mod atomic;
mod bits;
mod branch;
mod chain;
mod compare;
mod condition;
mod convert;
mod cx;
mod fconvert;
mod float;
mod fround;
mod int;
mod machine;
mod muldiv;
mod operand;
mod overflow;
mod shift;

pub(crate) use cx::Cx;

use crate::rows;
use cx::{Alu, ShiftRows};
use kingpost_ir::types::{I8, I16, I32};
use kingpost_ir::{Inst, Opcode, Value};
use kingpost_mach::Lower;
use kingpost_mach::lower::Lowered;

/// Lowers an opcode that each machine lowers its own way.
fn dispatch(cx: &mut Cx<'_, '_>, inst: Inst) -> Lowered {
    match cx.func.dfg.opcode(inst) {
        Opcode::Iadd => int::iadd(cx, inst),
        Opcode::Isub => int::isub(cx, inst),
        Opcode::Ineg => int::ineg(cx, inst),
        Opcode::Iabs => compare::iabs(cx, inst),
        Opcode::Band => int::bitwise(cx, inst, Alu::AND),
        Opcode::Bor => int::bitwise(cx, inst, Alu::OR),
        Opcode::Bxor => int::bitwise(cx, inst, Alu::XOR),
        Opcode::Bnot => int::bnot(cx, inst),
        Opcode::Smin | Opcode::Smax | Opcode::Umin | Opcode::Umax => compare::min_max(cx, inst),

        Opcode::Imul => muldiv::imul(cx, inst),
        Opcode::Umulhi => muldiv::mulhi(cx, inst, false),
        Opcode::Smulhi => muldiv::mulhi(cx, inst, true),
        Opcode::Udiv => muldiv::unsigned(cx, inst, muldiv::Part::Quotient),
        Opcode::Urem => muldiv::unsigned(cx, inst, muldiv::Part::Remainder),
        Opcode::Sdiv => muldiv::signed(cx, inst, muldiv::Part::Quotient),
        Opcode::Srem => muldiv::signed(cx, inst, muldiv::Part::Remainder),

        Opcode::Ishl => shift::shift(cx, inst, ShiftRows::LSL),
        Opcode::Ushr => shift::shift(cx, inst, ShiftRows::LSR),
        Opcode::Sshr => shift::shift(cx, inst, ShiftRows::ASR),
        Opcode::Rotl => shift::rotate(cx, inst, true),
        Opcode::Rotr => shift::rotate(cx, inst, false),

        Opcode::UaddOverflow => overflow::add_sub(cx, inst, overflow::Op::UADD),
        Opcode::SaddOverflow => overflow::add_sub(cx, inst, overflow::Op::SADD),
        Opcode::UsubOverflow => overflow::add_sub(cx, inst, overflow::Op::USUB),
        Opcode::SsubOverflow => overflow::add_sub(cx, inst, overflow::Op::SSUB),
        Opcode::UmulOverflow => overflow::mul(cx, inst, false),
        Opcode::SmulOverflow => overflow::mul(cx, inst, true),
        Opcode::UaddOverflowTrap => overflow::add_trap(cx, inst),
        Opcode::UaddOverflowCin => overflow::add_sub_carry(cx, inst, overflow::Op::UADD),
        Opcode::SaddOverflowCin => overflow::add_sub_carry(cx, inst, overflow::Op::SADD),
        Opcode::UsubOverflowBin => overflow::add_sub_carry(cx, inst, overflow::Op::USUB),
        Opcode::SsubOverflowBin => overflow::add_sub_carry(cx, inst, overflow::Op::SSUB),

        Opcode::Icmp | Opcode::Fcmp => compare::to_value(cx, inst),
        Opcode::Select | Opcode::SelectSpectreGuard => compare::select(cx, inst),
        Opcode::Bmask => compare::bmask(cx, inst),
        Opcode::Bitselect => int::bitselect(cx, inst),

        Opcode::Bitrev => bits::bitrev(cx, inst),
        Opcode::Clz => bits::clz(cx, inst),
        Opcode::Cls => bits::cls(cx, inst),
        Opcode::Ctz => bits::ctz(cx, inst),
        Opcode::Popcnt => bits::popcnt(cx, inst),

        Opcode::Sextend => convert::sextend(cx, inst),
        Opcode::Fpromote | Opcode::Fdemote => fconvert::resize(cx, inst),
        Opcode::FcvtFromSint => fconvert::from_int(cx, inst, true),
        Opcode::FcvtFromUint => fconvert::from_int(cx, inst, false),
        Opcode::FcvtToSint => fconvert::to_sint(cx, inst),
        Opcode::FcvtToUint => fconvert::to_uint(cx, inst),
        Opcode::FcvtToSintSat => fconvert::to_sint_sat(cx, inst),
        Opcode::FcvtToUintSat => fconvert::to_uint_sat(cx, inst),

        Opcode::Fadd => float::binary(cx, inst, rows::FADD_FFF),
        Opcode::Fsub => float::binary(cx, inst, rows::FSUB_FFF),
        Opcode::Fmul => float::binary(cx, inst, rows::FMUL_FFF),
        Opcode::Fdiv => float::binary(cx, inst, rows::FDIV_FFF),
        Opcode::Sqrt => float::unary(cx, inst, rows::FSQRT_FF),
        Opcode::Fma => fround::fma(cx, inst),
        Opcode::Fneg => float::fneg(cx, inst),
        Opcode::Fabs => float::fabs(cx, inst),
        Opcode::Fcopysign => float::fcopysign(cx, inst),
        Opcode::Fmin => float::binary(cx, inst, rows::FMIN_FFF),
        Opcode::Fmax => float::binary(cx, inst, rows::FMAX_FFF),
        Opcode::Ceil | Opcode::Floor | Opcode::Trunc | Opcode::Nearest => fround::round(cx, inst),

        Opcode::AtomicLoad => atomic::load(cx, inst),
        Opcode::AtomicStore => atomic::store(cx, inst),
        Opcode::AtomicRmw => atomic::rmw(cx, inst),
        Opcode::AtomicCas => atomic::cas(cx, inst),
        Opcode::Fence => atomic::fence(cx),

        Opcode::Trapz => branch::trap_if(cx, inst, true),
        Opcode::Trapnz => branch::trap_if(cx, inst, false),
        // New opcodes are listed in `kingpost_mach::lower`.
        _ => Err(cx.unsupported(inst)),
    }
}

/// Is `value` always defined by a row that clears its register above the value's bits?
///
/// 32-bit operations do, as the CPU clears the upper half. Of narrow ones those do whose rows leave the exact result.
/// Truncations, parameters and call results do not.
pub(crate) fn zero_extends(lower: &Lower<'_>, value: Value) -> bool {
    let Some(inst) = lower.def(value) else { return false };
    let opcode = lower.func.dfg.opcode(inst);
    match lower.ty(value) {
        I32 => matches!(
            opcode,
            Opcode::Iadd
                | Opcode::Isub
                | Opcode::Ineg
                | Opcode::Imul
                | Opcode::Band
                | Opcode::Bor
                | Opcode::Bxor
                | Opcode::Bnot
                | Opcode::Ishl
                | Opcode::Ushr
                | Opcode::Sshr
                | Opcode::Rotl
                | Opcode::Rotr
                | Opcode::Iconst
                | Opcode::Uextend
                | Opcode::Sextend
                | Opcode::Load
                | Opcode::Uload8
                | Opcode::Sload8
                | Opcode::Uload16
                | Opcode::Sload16
                | Opcode::Udiv
                | Opcode::Urem
                | Opcode::Sdiv
                | Opcode::Srem
                | Opcode::Select
                | Opcode::SelectSpectreGuard
                | Opcode::Smin
                | Opcode::Smax
                | Opcode::Umin
                | Opcode::Umax
                | Opcode::Iabs
                | Opcode::Umulhi
                | Opcode::Smulhi
                | Opcode::Bitselect
                | Opcode::Bswap
                | Opcode::Bitrev
                | Opcode::Popcnt
                | Opcode::Clz
                | Opcode::Cls
                | Opcode::Ctz
                | Opcode::AtomicLoad
                | Opcode::AtomicRmw
                | Opcode::AtomicCas
                | Opcode::FcvtToSint
                | Opcode::FcvtToUint
                | Opcode::FcvtToSintSat
                | Opcode::FcvtToUintSat
        ),
        I8 | I16 => matches!(
            opcode,
            Opcode::Load
                | Opcode::Uload8
                | Opcode::AtomicLoad
                | Opcode::AtomicRmw
                | Opcode::AtomicCas
                | Opcode::Iconst
                | Opcode::Icmp
                | Opcode::Fcmp
                | Opcode::Uextend
                | Opcode::Ushr
                | Opcode::Udiv
                | Opcode::Urem
                | Opcode::Clz
                | Opcode::Ctz
                | Opcode::Popcnt
        ),
        _ => false,
    }
}
