//! Instruction selection: one line per opcode, one short function per opcode or family behind it. What is lowered alike for
//! all machines is in `kingpost_mach::lower`.
//!
//! | file | holds |
//! |---|---|
//! | `machine.rs` | what those shared parts need of this machine |
//! | `cx.rs` | what lowering functions work on, and how rows are found by width |
//! | `address.rs` | memory operands from address computations |
//! | `condition.rs` | comparisons into the flags, for whoever reads them |
//! | the others | opcodes, by family |
//!
//! Integers narrower than 32 bits are computed in 32-bit registers whose upper bits are undefined; they are extended only
//! where an operation looks at them. The walk runs backwards (see `kingpost_mach::lower`), so whoever uses a value decides
//! first whether to take its definition in.

mod address;
mod atomic;
mod bits;
mod branch;
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
mod overflow;
mod shift;

pub(crate) use cx::Cx;

use crate::rows;
use cx::{Alu, Shift};
use kingpost_ir::types::{I8, I16, I32};
use kingpost_ir::{Inst, InstView, Opcode, Value};
use kingpost_mach::Lower;
use kingpost_mach::lower::{Lowered, is_little};

/// Lowers an opcode that each machine lowers its own way.
fn dispatch(cx: &mut Cx<'_, '_>, inst: Inst) -> Lowered {
    match cx.func.dfg.opcode(inst) {
        Opcode::Iadd => int::iadd(cx, inst),
        Opcode::Isub => int::isub(cx, inst),
        Opcode::Ineg => int::ineg(cx, inst),
        Opcode::Iabs => int::iabs(cx, inst),
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
        Opcode::Sdiv => muldiv::sdiv(cx, inst),
        Opcode::Srem => muldiv::srem(cx, inst),

        Opcode::Ishl => shift::shift(cx, inst, Shift::SHL),
        Opcode::Ushr => shift::shift(cx, inst, Shift::SHR),
        Opcode::Sshr => shift::shift(cx, inst, Shift::SAR),
        Opcode::Rotl => shift::rotate(cx, inst, Shift::ROL),
        Opcode::Rotr => shift::rotate(cx, inst, Shift::ROR),

        Opcode::UaddOverflow => overflow::add_sub(cx, inst, Alu::ADD, overflow::UNSIGNED),
        Opcode::SaddOverflow => overflow::add_sub(cx, inst, Alu::ADD, overflow::SIGNED),
        Opcode::UsubOverflow => overflow::add_sub(cx, inst, Alu::SUB, overflow::UNSIGNED),
        Opcode::SsubOverflow => overflow::add_sub(cx, inst, Alu::SUB, overflow::SIGNED),
        Opcode::UmulOverflow => overflow::umul(cx, inst),
        Opcode::SmulOverflow => overflow::smul(cx, inst),
        Opcode::UaddOverflowTrap => overflow::add_trap(cx, inst),
        Opcode::UaddOverflowCin => overflow::add_sub_carry(cx, inst, Alu::ADD, overflow::UNSIGNED),
        Opcode::SaddOverflowCin => overflow::add_sub_carry(cx, inst, Alu::ADD, overflow::SIGNED),
        Opcode::UsubOverflowBin => overflow::add_sub_carry(cx, inst, Alu::SUB, overflow::UNSIGNED),
        Opcode::SsubOverflowBin => overflow::add_sub_carry(cx, inst, Alu::SUB, overflow::SIGNED),

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
        Opcode::FcvtFromSint => fconvert::from_sint(cx, inst),
        Opcode::FcvtFromUint => fconvert::from_uint(cx, inst),
        Opcode::FcvtToSint => fconvert::to_sint(cx, inst),
        Opcode::FcvtToUint => fconvert::to_uint(cx, inst),
        Opcode::FcvtToSintSat => fconvert::to_sint_sat(cx, inst),
        Opcode::FcvtToUintSat => fconvert::to_uint_sat(cx, inst),
        Opcode::X86Cvtt2dq => fconvert::to_sint_or_minimum(cx, inst),

        Opcode::Fadd => float::binary(cx, inst, rows::ADDS_RR),
        Opcode::Fsub => float::binary(cx, inst, rows::SUBS_RR),
        Opcode::Fmul => float::binary(cx, inst, rows::MULS_RR),
        Opcode::Fdiv => float::binary(cx, inst, rows::DIVS_RR),
        Opcode::Sqrt => float::sqrt(cx, inst),
        Opcode::Fma => fround::fma(cx, inst),
        Opcode::Fneg => float::fneg(cx, inst),
        Opcode::Fabs => float::fabs(cx, inst),
        Opcode::Fcopysign => float::fcopysign(cx, inst),
        Opcode::Fmin => float::fmin(cx, inst),
        Opcode::Fmax => float::fmax(cx, inst),
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
/// 32-bit operations do, as the CPU clears the upper half. Narrow loads do, as they are done by `movzx`. Truncations,
/// parameters and call results do not.
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
                | Opcode::Popcnt
                | Opcode::Clz
                | Opcode::Ctz
        ),
        I8 => opcode == Opcode::Load,
        // Bytes are exchanged in 16 bits only.
        I16 => {
            opcode == Opcode::Load
                && matches!(lower.func.dfg.view(inst), InstView::Load { flags, .. } if is_little(flags))
        }
        _ => false,
    }
}
