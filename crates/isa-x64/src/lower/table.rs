//! The lowering table: the function that lowers each opcode, by the category of its controlling type. `shared` is
//! `kingpost_mach::lower`, the library of lowering code for all targets; the table's form is documented in `table.rs`
//! there.
//!
//! ```text
//! Opcode [32] => word, wide, float, vector;      or one column for all
//! ```
//!
//! `[n]` after an opcode means: the register of the first result, an integer of up to 32 bits, has zeros above the
//! value if the value has `n` bits or more. `[8]` means any width, `[32]` i32 only. Users omit extensions of such
//! values; the verifier of machine code checks the claim.

use super::cx::{Alu, Cx, Shift};
use super::float::FloatRows;
use super::muldiv::Part;
use super::vector::shift::Way;
use super::vector::widen::Half;
use super::{
    LowerResult, atomic, bits, branch, compare, convert, fconvert, float, fround, int, memory, muldiv, overflow, shift,
    vector, wide,
};
use crate::rows;
use kingpost_ir::Inst;
use kingpost_ir::condcodes::IntCC;
use kingpost_ir::types::{I8, I16, I32};
use kingpost_mach::lower::{self as shared, TypeCategory, is_float_reg, none, refuse};

/// Cell of the table.
pub(super) type LowerFn = fn(&mut Cx<'_, '_>, Inst) -> LowerResult;

kingpost_mach::lowering_table! { LowerFn;
    // Control flow and calls.
    Jump                       => shared::branch::jump;
    Brif                       => branch::brif;
    BrTable                    => shared::branch::br_table;
    Return                     => shared::entry::ret;
    Trap                       => shared::branch::trap;
    Trapz                      => branch::trap_if(true);
    Trapnz                     => branch::trap_if(false);
    Debugtrap                  => shared::branch::debugtrap;
    Call                       => shared::call::call;
    CallIndirect               => shared::call::call_indirect;
    ReturnCall                 => shared::tail_call::return_call;
    ReturnCallIndirect         => shared::tail_call::return_call_indirect;
    TryCall                    => shared::try_call::try_call;
    TryCallIndirect            => shared::try_call::try_call_indirect;
    FuncAddr                   => shared::symbol::func_addr;
    GetExceptionHandlerAddress => shared::try_call::get_exception_handler_address;
    StackSwitch                => shared::stack_switch::stack_switch;
    SequencePoint              => shared::branch::sequence_point;
    Nop                        => shared::branch::nop;

    // Memory.
    Load [8]                   => shared::memory::load, shared::wide::load, shared::memory::load, vector::memory::load;
    Store                      => memory::store, shared::wide::store, memory::store, vector::memory::store;
    Uload8 [32]                => shared::memory::load_widened(I8, false);
    Sload8 [32]                => shared::memory::load_widened(I8, true);
    Istore8                    => memory::store_as(I8);
    Uload16 [32]               => shared::memory::load_widened(I16, false);
    Sload16 [32]               => shared::memory::load_widened(I16, true);
    Istore16                   => memory::store_as(I16);
    Uload32                    => shared::memory::load_widened(I32, false);
    Sload32                    => shared::memory::load_widened(I32, true);
    Istore32                   => memory::store_as(I32);
    Uload8x8                   => vector::widen::load_widened(8, false);
    Sload8x8                   => vector::widen::load_widened(8, true);
    Uload16x4                  => vector::widen::load_widened(16, false);
    Sload16x4                  => vector::widen::load_widened(16, true);
    Uload32x2                  => vector::widen::load_widened(32, false);
    Sload32x2                  => vector::widen::load_widened(32, true);
    StackAddr                  => shared::memory::stack_addr;
    DynamicStackAddr           => refuse;
    SymbolValue                => shared::symbol::symbol_value;
    TlsValue                   => shared::tls::tls_value;

    // Atomics.
    AtomicRmw                  => atomic::rmw, shared::wide_atomic::rmw, none, none;
    AtomicCas                  => atomic::cas, shared::wide_atomic::cas, none, none;
    AtomicLoad                 => atomic::load, shared::wide_atomic::load, none, none;
    AtomicStore                => atomic::store, shared::wide_atomic::store, none, none;
    Fence                      => atomic::fence;

    // Special registers.
    GetPinnedReg               => shared::entry::get_pinned_reg;
    SetPinnedReg               => shared::entry::set_pinned_reg;
    GetFramePointer            => shared::entry::get_frame_pointer;
    GetStackPointer            => shared::entry::get_stack_pointer;
    GetReturnAddress           => shared::entry::get_return_address;

    // Constants.
    Iconst [32]                => shared::constant::iconst;
    F16const                   => shared::constant::fconst;
    F32const                   => shared::constant::fconst;
    F64const                   => shared::constant::fconst;
    F128const                  => shared::constant::from_bytes;
    Vconst                     => shared::constant::from_bytes;

    // Selection and comparison.
    Select [32]                => compare::select, compare::select_regs(rows::CMOV_RR.of(64)), compare::select_float, compare::select_float;
    SelectSpectreGuard         => compare::select, compare::select_regs(rows::CMOV_RR.of(64)), compare::select_by_mask, compare::select_by_mask;
    Bitselect                  => int::bitselect, wide::bitselect, float::bitselect, vector::arith::bitselect;
    Blendv                     => refuse, refuse, refuse, vector::arith::blendv;
    Bmask                      => compare::bmask;
    VanyTrue                   => vector::reduce::vany_true;
    VallTrue                   => vector::reduce::vall_true;
    VhighBits                  => vector::reduce::vhigh_bits;
    Icmp                       => compare::icmp, compare::icmp, none, vector::compare::icmp;
    Fcmp                       => none, none, compare::fcmp, vector::compare::fcmp;

    // Integers.
    Iadd [32]                  => int::iadd, shared::wide::halves(rows::ADD_RR.of(64), rows::ADC_RR.of(64)), none, vector::lanes(rows::PADD);
    Isub [32]                  => int::two_operands(Alu::SUB), shared::wide::halves(rows::SUB_RR.of(64), rows::SBB_RR.of(64)), none, vector::lanes(rows::PSUB);
    Ineg [32]                  => int::one_operand(rows::NEG_R), shared::wide::ineg, none, vector::arith::ineg;
    Iabs                       => int::iabs, shared::wide::iabs, none, vector::arith::iabs;
    Imul [32]                  => muldiv::imul, wide::imul, none, vector::multiply::imul;
    Umulhi                     => muldiv::mulhi(false), shared::wide::mulhi(false), none, vector::multiply::high(false);
    Smulhi                     => muldiv::mulhi(true), shared::wide::mulhi(true), none, vector::multiply::high(true);
    Smin                       => compare::min_max(IntCC::SignedLessThan), wide::min_max(IntCC::SignedLessThan), none, vector::arith::min_max(rows::PMINS, IntCC::SignedLessThan);
    Smax                       => compare::min_max(IntCC::SignedGreaterThan), wide::min_max(IntCC::SignedGreaterThan), none, vector::arith::min_max(rows::PMAXS, IntCC::SignedGreaterThan);
    Umin                       => compare::min_max(IntCC::UnsignedLessThan), wide::min_max(IntCC::UnsignedLessThan), none, vector::arith::min_max(rows::PMINU, IntCC::UnsignedLessThan);
    Umax                       => compare::min_max(IntCC::UnsignedGreaterThan), wide::min_max(IntCC::UnsignedGreaterThan), none, vector::arith::min_max(rows::PMAXU, IntCC::UnsignedGreaterThan);
    Udiv [32]                  => muldiv::unsigned(Part::Quotient), refuse, none, none;
    Sdiv [32]                  => muldiv::sdiv, refuse, none, none;
    Urem [32]                  => muldiv::unsigned(Part::Remainder), refuse, none, none;
    Srem [32]                  => muldiv::srem, refuse, none, none;
    UaddOverflow               => overflow::add_sub(Alu::ADD, overflow::UNSIGNED), wide::add_sub_overflow([rows::ADD_RR.of(64), rows::ADC_RR.of(64)], overflow::UNSIGNED), none, none;
    SaddOverflow               => overflow::add_sub(Alu::ADD, overflow::SIGNED), wide::add_sub_overflow([rows::ADD_RR.of(64), rows::ADC_RR.of(64)], overflow::SIGNED), none, none;
    UsubOverflow               => overflow::add_sub(Alu::SUB, overflow::UNSIGNED), wide::add_sub_overflow([rows::SUB_RR.of(64), rows::SBB_RR.of(64)], overflow::UNSIGNED), none, none;
    SsubOverflow               => overflow::add_sub(Alu::SUB, overflow::SIGNED), wide::add_sub_overflow([rows::SUB_RR.of(64), rows::SBB_RR.of(64)], overflow::SIGNED), none, none;
    UmulOverflow               => overflow::umul;
    SmulOverflow               => overflow::smul;
    UaddOverflowCin            => overflow::add_sub_carry(Alu::ADD, overflow::UNSIGNED);
    SaddOverflowCin            => overflow::add_sub_carry(Alu::ADD, overflow::SIGNED);
    UsubOverflowBin            => overflow::add_sub_carry(Alu::SUB, overflow::UNSIGNED);
    SsubOverflowBin            => overflow::add_sub_carry(Alu::SUB, overflow::SIGNED);
    UaddOverflowTrap           => overflow::add_trap;

    // Bits.
    Band [32]                  => int::band, shared::wide::halves(rows::AND_RR.of(64), rows::AND_RR.of(64)), shared::by_row(rows::ANDPS), vector::by_row(rows::ANDPS);
    Bor [32]                   => int::two_operands(Alu::OR), shared::wide::halves(rows::OR_RR.of(64), rows::OR_RR.of(64)), shared::by_row(rows::ORPS), vector::by_row(rows::ORPS);
    Bxor [32]                  => int::two_operands(Alu::XOR), shared::wide::halves(rows::XOR_RR.of(64), rows::XOR_RR.of(64)), shared::by_row(rows::XORPS), vector::by_row(rows::XORPS);
    Bnot [32]                  => int::one_operand(rows::NOT_R), shared::wide::both_halves(rows::NOT_R.of(64)), float::bnot, float::bnot;
    Rotl [32]                  => shift::rotate(Shift::ROL), wide::rotate(Shift::ROL), none, vector::shift::rotate(Way::Left);
    Rotr [32]                  => shift::rotate(Shift::ROR), wide::rotate(Shift::ROR), none, vector::shift::rotate(Way::Right);
    Ishl [32]                  => shift::shift(Shift::SHL), wide::shift(Shift::SHL), none, vector::shift::logical(Way::Left);
    Ushr [32]                  => shift::shift(Shift::SHR), wide::shift(Shift::SHR), none, vector::shift::logical(Way::Right);
    Sshr [32]                  => shift::shift(Shift::SAR), wide::shift(Shift::SAR), none, vector::shift::arithmetic;
    Bitrev                     => bits::bitrev, wide::bitrev, none, none;
    Clz [32]                   => bits::clz, wide::clz, none, none;
    Cls                        => bits::cls, wide::cls, none, none;
    Ctz [32]                   => bits::ctz, wide::ctz, none, none;
    Bswap                      => shared::endian::bswap, shared::wide::bswap, none, none;
    Popcnt [32]                => bits::popcnt, wide::popcnt, none, vector::arith::popcnt;

    // Width changes, other register classes.
    Ireduce                    => shared::width::ireduce;
    Uextend [32]               => shared::width::uextend, shared::wide::uextend, none, none;
    Sextend [32]               => convert::sextend, wide::sextend, none, none;
    Isplit                     => shared::width::isplit, shared::wide::isplit, none, none;
    Iconcat                    => convert::iconcat;
    Bitcast                    => shared::width::bitcast;

    // Floats.
    Fadd                       => none, none, float::binary(FloatRows::ADD), float::binary(FloatRows::ADD);
    Fsub                       => none, none, float::binary(FloatRows::SUB), float::binary(FloatRows::SUB);
    Fmul                       => none, none, float::binary(FloatRows::MUL), float::binary(FloatRows::MUL);
    Fdiv                       => none, none, float::binary(FloatRows::DIV), float::binary(FloatRows::DIV);
    Sqrt                       => none, none, float::sqrt, float::sqrt;
    Fma                        => none, none, fround::fma, fround::fma;
    Fneg                       => none, none, float::fneg, float::fneg;
    Fabs                       => none, none, float::fabs, float::fabs;
    Fcopysign                  => none, none, float::fcopysign, float::fcopysign;
    Fmin                       => none, none, float::fmin, float::fmin;
    Fmax                       => none, none, float::fmax, float::fmax;
    Ceil                       => none, none, fround::round, fround::round;
    Floor                      => none, none, fround::round, fround::round;
    Trunc                      => none, none, fround::round, fround::round;
    Nearest                    => none, none, fround::round, fround::round;

    // Conversions.
    Fpromote                   => fconvert::resize;
    Fdemote                    => fconvert::resize;
    FvpromoteLow               => vector::convert::resize;
    Fvdemote                   => vector::convert::resize;
    FcvtToUint                 => fconvert::to_uint, refuse, none, none;
    FcvtToSint                 => fconvert::to_sint, refuse, none, none;
    FcvtToUintSat              => fconvert::to_uint_sat, refuse, none, vector::convert::to_uint_sat;
    FcvtToSintSat              => fconvert::to_sint_sat, refuse, none, vector::convert::to_sint_sat;
    FcvtFromUint               => none, none, fconvert::from_uint, vector::convert::from_uint;
    FcvtFromSint               => none, none, fconvert::from_sint, vector::convert::from_sint;
    X86Cvtt2dq                 => fconvert::to_sint_or_minimum, refuse, none, vector::convert::to_sint_or_minimum;

    // Vectors.
    Splat                      => vector::lanes::splat;
    ScalarToVector             => vector::lanes::scalar_to_vector;
    Insertlane                 => vector::lanes::insertlane;
    Extractlane [8]            => vector::lanes::extractlane;
    ExtractVector              => refuse;
    Shuffle                    => vector::shuffle::shuffle;
    Swizzle                    => vector::shuffle::swizzle;
    X86Pshufb                  => vector::shuffle::pshufb;
    UaddSat                    => vector::arith::uadd_sat;
    SaddSat                    => vector::arith::sadd_sat;
    UsubSat                    => vector::arith::usub_sat;
    SsubSat                    => vector::arith::ssub_sat;
    AvgRound                   => vector::arith::avg_round;
    IaddPairwise               => vector::pairwise::iadd_pairwise;
    SqmulRoundSat              => vector::multiply::sqmul_round_sat;
    X86Pmulhrsw                => vector::multiply::pmulhrsw;
    X86Pmaddubsw               => vector::multiply::pmaddubsw;
    Snarrow                    => vector::narrow::snarrow;
    Unarrow                    => vector::narrow::unarrow;
    Uunarrow                   => vector::narrow::uunarrow;
    SwidenLow                  => vector::widen::widen(Half::Low, true);
    SwidenHigh                 => vector::widen::widen(Half::High, true);
    UwidenLow                  => vector::widen::widen(Half::Low, false);
    UwidenHigh                 => vector::widen::widen(Half::High, false);
}

/// Lowers an instruction by the table.
#[inline]
pub(crate) fn lower(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let ty = cx.func.dfg.ctrl_type(inst);
    let category = TypeCategory::of(ty);
    if category == TypeCategory::Vector && !is_float_reg(ty) {
        return Err(cx.unsupported(inst));
    }
    LOWERINGS[cx.func.dfg.opcode(inst) as usize][category as usize](cx, inst)
}

#[cfg(test)]
mod tests {
    use kingpost_mach::lower::misplaced_none;

    #[test]
    fn cells_are_empty_just_where_an_opcode_has_no_type_of_the_category() {
        assert_eq!(misplaced_none(&super::NAMES), Vec::<String>::new());
    }
}
