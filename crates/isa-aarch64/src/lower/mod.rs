//! Instruction selection: one line per opcode, one short function per opcode or family behind it.
//!
//! | file | holds |
//! |---|---|
//! | `cx.rs` | what lowering functions work on, and how rows are found by width |
//! | `address.rs` | memory operands from address computations |
//! | `operand.rs` | second operands: immediates, shifted and extended registers |
//! | `condition.rs` | comparisons into the flags, for whoever reads them |
//! | `chain.rs` | several comparisons, each made only if it still matters |
//! | `entry.rs`, `call.rs` | parameters, returns, calls |
//! | the others | opcodes, by family |
//!
//! Integers narrower than 32 bits are computed in 32-bit registers whose upper bits are undefined; they are extended only
//! where an operation looks at them. The walk runs backwards (see `kingpost_mach::lower`), so whoever uses a value decides
//! first whether to take its definition in.

mod address;
mod atomic;
mod bits;
mod branch;
mod call;
mod chain;
mod compare;
mod condition;
mod constant;
mod convert;
mod cx;
mod endian;
mod entry;
mod fconvert;
mod float;
mod fround;
mod int;
mod memory;
mod muldiv;
mod operand;
mod overflow;
mod shift;
mod symbol;

use crate::isa::A64;
use cx::{Alu, Cx, ShiftRows};
use float::FloatRows;
use kingpost_ir::types::{I8, I16, I32};
use kingpost_ir::{Inst, Opcode, Value};
use kingpost_mach::{Lower, LowerError};
use kingpost_regalloc::Block;

type Done = Result<(), LowerError>;

/// Lowers an instruction that is not a terminator.
pub(crate) fn inst(isa: &A64, lower: &mut Lower<'_>, inst: Inst) -> Done {
    let cx = &mut Cx { lower, isa };
    match cx.func.dfg.opcode(inst) {
        Opcode::Iconst => constant::iconst(cx, inst),
        Opcode::F32const => constant::f32const(cx, inst),
        Opcode::F64const => constant::f64const(cx, inst),
        Opcode::F16const => constant::f16const(cx, inst),
        Opcode::F128const | Opcode::Vconst => constant::wide(cx, inst),

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

        Opcode::Bswap => bits::bswap(cx, inst),
        Opcode::Bitrev => bits::bitrev(cx, inst),
        Opcode::Clz => bits::clz(cx, inst),
        Opcode::Cls => bits::cls(cx, inst),
        Opcode::Ctz => bits::ctz(cx, inst),
        Opcode::Popcnt => bits::popcnt(cx, inst),

        Opcode::Uextend => convert::uextend(cx, inst),
        Opcode::Sextend => convert::sextend(cx, inst),
        Opcode::Ireduce => convert::ireduce(cx, inst),
        Opcode::Isplit => convert::isplit(cx, inst),
        Opcode::Iconcat => convert::iconcat(cx, inst),
        Opcode::Bitcast => convert::bitcast(cx, inst),
        Opcode::Fpromote | Opcode::Fdemote => fconvert::resize(cx, inst),
        Opcode::FcvtFromSint => fconvert::from_int(cx, inst, true),
        Opcode::FcvtFromUint => fconvert::from_int(cx, inst, false),
        Opcode::FcvtToSint => fconvert::to_sint(cx, inst),
        Opcode::FcvtToUint => fconvert::to_uint(cx, inst),
        Opcode::FcvtToSintSat => fconvert::to_sint_sat(cx, inst),
        Opcode::FcvtToUintSat => fconvert::to_uint_sat(cx, inst),

        Opcode::Fadd => float::binary(cx, inst, FloatRows::ADD),
        Opcode::Fsub => float::binary(cx, inst, FloatRows::SUB),
        Opcode::Fmul => float::binary(cx, inst, FloatRows::MUL),
        Opcode::Fdiv => float::binary(cx, inst, FloatRows::DIV),
        Opcode::Sqrt => float::unary(cx, inst, FloatRows::SQRT),
        Opcode::Fma => fround::fma(cx, inst),
        Opcode::Fneg => float::fneg(cx, inst),
        Opcode::Fabs => float::fabs(cx, inst),
        Opcode::Fcopysign => float::fcopysign(cx, inst),
        Opcode::Fmin => float::binary(cx, inst, FloatRows::MIN),
        Opcode::Fmax => float::binary(cx, inst, FloatRows::MAX),
        Opcode::Ceil | Opcode::Floor | Opcode::Trunc | Opcode::Nearest => fround::round(cx, inst),

        Opcode::Load
        | Opcode::Uload8
        | Opcode::Sload8
        | Opcode::Uload16
        | Opcode::Sload16
        | Opcode::Uload32
        | Opcode::Sload32 => memory::load(cx, inst),
        Opcode::Store | Opcode::Istore8 | Opcode::Istore16 | Opcode::Istore32 => memory::store(cx, inst),
        Opcode::StackAddr => memory::stack_addr(cx, inst),
        Opcode::SymbolValue => symbol::symbol_value(cx, inst),
        Opcode::FuncAddr => symbol::func_addr(cx, inst),

        Opcode::AtomicLoad => atomic::load(cx, inst),
        Opcode::AtomicStore => atomic::store(cx, inst),
        Opcode::AtomicRmw => atomic::rmw(cx, inst),
        Opcode::AtomicCas => atomic::cas(cx, inst),
        Opcode::Fence => atomic::fence(cx),

        Opcode::Trapz => branch::trap_if(cx, inst, true),
        Opcode::Trapnz => branch::trap_if(cx, inst, false),
        Opcode::Debugtrap => branch::debugtrap(cx),
        Opcode::Nop | Opcode::SequencePoint => Ok(()),

        Opcode::Call => call::call(cx, inst),
        Opcode::CallIndirect => call::call_indirect(cx, inst),

        Opcode::GetFramePointer => entry::get_frame_pointer(cx, inst),
        Opcode::GetStackPointer => entry::get_stack_pointer(cx, inst),
        Opcode::GetReturnAddress => entry::get_return_address(cx, inst),
        Opcode::GetPinnedReg => entry::get_pinned_reg(cx, inst),
        Opcode::SetPinnedReg => entry::set_pinned_reg(cx, inst),

        Opcode::Jump
        | Opcode::Brif
        | Opcode::BrTable
        | Opcode::Return
        | Opcode::ReturnCall
        | Opcode::ReturnCallIndirect
        | Opcode::TryCall
        | Opcode::TryCallIndirect
        | Opcode::Trap
        | Opcode::GetExceptionHandlerAddress
        | Opcode::StackSwitch
        | Opcode::TlsValue
        | Opcode::DynamicStackAddr
        | Opcode::Blendv
        | Opcode::VanyTrue
        | Opcode::VallTrue
        | Opcode::VhighBits
        | Opcode::Uload8x8
        | Opcode::Sload8x8
        | Opcode::Uload16x4
        | Opcode::Sload16x4
        | Opcode::Uload32x2
        | Opcode::Sload32x2
        | Opcode::FvpromoteLow
        | Opcode::Fvdemote
        | Opcode::Splat
        | Opcode::ScalarToVector
        | Opcode::Insertlane
        | Opcode::Extractlane
        | Opcode::ExtractVector
        | Opcode::Shuffle
        | Opcode::Swizzle
        | Opcode::X86Pshufb
        | Opcode::X86Cvtt2dq
        | Opcode::UaddSat
        | Opcode::SaddSat
        | Opcode::UsubSat
        | Opcode::SsubSat
        | Opcode::AvgRound
        | Opcode::IaddPairwise
        | Opcode::SqmulRoundSat
        | Opcode::X86Pmulhrsw
        | Opcode::X86Pmaddubsw
        | Opcode::Snarrow
        | Opcode::Unarrow
        | Opcode::Uunarrow
        | Opcode::SwidenLow
        | Opcode::SwidenHigh
        | Opcode::UwidenLow
        | Opcode::UwidenHigh => Err(cx.unsupported(inst)),
    }
}

/// Lowers a block's last instruction, whose successors are `targets`.
pub(crate) fn terminator(isa: &A64, lower: &mut Lower<'_>, inst: Inst, targets: &[Block]) -> Done {
    let cx = &mut Cx { lower, isa };
    match cx.func.dfg.opcode(inst) {
        Opcode::Jump => {
            branch::jump(cx, targets[0]);
            Ok(())
        }
        Opcode::Brif => branch::brif(cx, inst, targets),
        Opcode::BrTable => branch::br_table(cx, inst, targets),
        Opcode::Return => entry::ret(cx, inst),
        Opcode::Trap => branch::trap(cx, inst),
        // Tail calls and exceptions are not supported yet; nothing else ends a block.
        _ => Err(cx.unsupported(inst)),
    }
}

/// Lowers the entry.
pub(crate) fn entry(isa: &A64, lower: &mut Lower<'_>) -> Done {
    entry::entry(&mut Cx { lower, isa })
}

/// Appends a jump.
pub(crate) fn jump(isa: &A64, lower: &mut Lower<'_>, target: Block) {
    branch::jump(&mut Cx { lower, isa }, target);
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
