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

use super::cx::{Alu, Cx, ShiftRows};
use super::muldiv::Part;
use super::overflow::Op;
use super::{
    LowerResult, atomic, bits, branch, compare, convert, fconvert, float, fround, int, memory, muldiv, overflow, shift,
    vector, wide,
};
use crate::rows::{self, lanes};
use kingpost_ir::Inst;
use kingpost_ir::condcodes::IntCC;
use kingpost_ir::types::{I8, I16, I32};
use kingpost_mach::lower::{self as shared, none, refuse};

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
    Load [8]                   => shared::memory::load, shared::wide::load, shared::memory::load, vector::load;
    Store                      => memory::store, shared::wide::store, memory::store, vector::store;
    Uload8 [8]                 => shared::memory::load_widened(I8, false);
    Sload8 [32]                => shared::memory::load_widened(I8, true);
    Istore8                    => memory::store_as(I8);
    Uload16 [32]               => shared::memory::load_widened(I16, false);
    Sload16 [32]               => shared::memory::load_widened(I16, true);
    Istore16                   => memory::store_as(I16);
    Uload32                    => shared::memory::load_widened(I32, false);
    Sload32                    => shared::memory::load_widened(I32, true);
    Istore32                   => memory::store_as(I32);
    Uload8x8                   => vector::load_widened(I8, false);
    Sload8x8                   => vector::load_widened(I8, true);
    Uload16x4                  => vector::load_widened(I16, false);
    Sload16x4                  => vector::load_widened(I16, true);
    Uload32x2                  => vector::load_widened(I32, false);
    Sload32x2                  => vector::load_widened(I32, true);
    StackAddr                  => shared::memory::stack_addr;
    DynamicStackAddr           => refuse;
    SymbolValue                => shared::symbol::symbol_value;
    TlsValue                   => shared::tls::tls_value;

    // Atomics.
    AtomicRmw [8]              => atomic::rmw, shared::wide_atomic::rmw, none, none;
    AtomicCas [8]              => atomic::cas, shared::wide_atomic::cas, none, none;
    AtomicLoad [8]             => atomic::load, shared::wide_atomic::load, none, none;
    AtomicStore                => atomic::store, shared::wide_atomic::store, none, none;
    Fence                      => atomic::fence;

    // Special registers.
    GetPinnedReg               => shared::entry::get_pinned_reg;
    SetPinnedReg               => shared::entry::set_pinned_reg;
    GetFramePointer            => shared::entry::get_frame_pointer;
    GetStackPointer            => shared::entry::get_stack_pointer;
    GetReturnAddress           => shared::entry::get_return_address;

    // Constants.
    Iconst [8]                 => shared::constant::iconst;
    F16const                   => shared::constant::fconst;
    F32const                   => shared::constant::fconst;
    F64const                   => shared::constant::fconst;
    F128const                  => shared::constant::from_bytes;
    Vconst                     => shared::constant::from_bytes;

    // Selection and comparison.
    Select [32]                => compare::select, wide::select, compare::select_float, shared::vector::in_register(compare::select_float);
    SelectSpectreGuard [32]    => compare::select, wide::select, compare::select_float, shared::vector::in_register(compare::select_float);
    Bitselect [32]             => int::bitselect, wide::bitselect, shared::by_row(rows::BSL_FFF.of(128)), vector::bitselect;
    Blendv                     => refuse, refuse, refuse, vector::blend;
    Bmask                      => compare::bmask;
    VanyTrue [8]               => vector::any_true;
    VallTrue [8]               => vector::all_true;
    VhighBits [16]             => vector::high_bits;
    Icmp [8]                   => compare::icmp, compare::icmp, none, vector::icmp;
    Fcmp [8]                   => none, none, compare::fcmp, vector::fcmp;

    // Integers.
    Iadd [32]                  => int::iadd, shared::wide::halves(rows::ADDS_RRR.of(64), rows::ADC_RRR.of(64)), none, vector::add;
    Isub [32]                  => int::isub, shared::wide::halves(rows::SUBS_RRR.of(64), rows::SBC_RRR.of(64)), none, vector::subtract;
    Ineg [32]                  => int::ineg, shared::wide::ineg, none, vector::plain(lanes::NEG);
    Iabs [32]                  => compare::iabs, shared::wide::iabs, none, vector::plain(lanes::ABS);
    Imul [32]                  => muldiv::imul, wide::imul, none, vector::multiply;
    Umulhi [32]                => muldiv::mulhi(false), shared::wide::mulhi(false), none, vector::multiply_high(false);
    Smulhi [32]                => muldiv::mulhi(true), shared::wide::mulhi(true), none, vector::multiply_high(true);
    Smin [32]                  => compare::min_max(IntCC::SignedLessThan), wide::min_max(IntCC::SignedLessThan), none, vector::min_max(lanes::SMIN);
    Smax [32]                  => compare::min_max(IntCC::SignedGreaterThan), wide::min_max(IntCC::SignedGreaterThan), none, vector::min_max(lanes::SMAX);
    Umin [32]                  => compare::min_max(IntCC::UnsignedLessThan), wide::min_max(IntCC::UnsignedLessThan), none, vector::min_max(lanes::UMIN);
    Umax [32]                  => compare::min_max(IntCC::UnsignedGreaterThan), wide::min_max(IntCC::UnsignedGreaterThan), none, vector::min_max(lanes::UMAX);
    Udiv [8]                   => muldiv::unsigned(Part::Quotient), refuse, none, none;
    Sdiv [32]                  => muldiv::signed(Part::Quotient), refuse, none, none;
    Urem [8]                   => muldiv::unsigned(Part::Remainder), refuse, none, none;
    Srem [32]                  => muldiv::signed(Part::Remainder), refuse, none, none;
    UaddOverflow               => overflow::add_sub(Op::UADD), wide::add_sub_overflow(Op::UADD), none, none;
    SaddOverflow               => overflow::add_sub(Op::SADD), wide::add_sub_overflow(Op::SADD), none, none;
    UsubOverflow               => overflow::add_sub(Op::USUB), wide::add_sub_overflow(Op::USUB), none, none;
    SsubOverflow               => overflow::add_sub(Op::SSUB), wide::add_sub_overflow(Op::SSUB), none, none;
    UmulOverflow               => overflow::mul(false);
    SmulOverflow               => overflow::mul(true);
    UaddOverflowCin            => overflow::add_sub_carry(Op::UADD);
    SaddOverflowCin            => overflow::add_sub_carry(Op::SADD);
    UsubOverflowBin            => overflow::add_sub_carry(Op::USUB);
    SsubOverflowBin            => overflow::add_sub_carry(Op::SSUB);
    UaddOverflowTrap           => overflow::add_trap;

    // Bits.
    Band [32]                  => int::bitwise(Alu::AND), wide::bitwise(Alu::AND), shared::by_row(rows::AND_FFF.of(128)), shared::vector::by_row(rows::AND_FFF.of(128));
    Bor [32]                   => int::bitwise(Alu::OR), wide::bitwise(Alu::OR), shared::by_row(rows::ORR_FFF.of(128)), shared::vector::by_row(rows::ORR_FFF.of(128));
    Bxor [32]                  => int::bitwise(Alu::XOR), wide::bitwise(Alu::XOR), shared::by_row(rows::EOR_FFF.of(128)), shared::vector::by_row(rows::EOR_FFF.of(128));
    Bnot [32]                  => int::bnot, shared::wide::both_halves(rows::MVN_RR.of(64)), shared::by_row(rows::NOT_FF.of(128)), shared::vector::by_row(rows::NOT_FF.of(128));
    Rotl [32]                  => shift::rotate(true), wide::rotate(true), none, vector::rotate(true);
    Rotr [32]                  => shift::rotate(false), wide::rotate(false), none, vector::rotate(false);
    Ishl [32]                  => shift::shift(ShiftRows::LSL), wide::shift(ShiftRows::LSL), none, vector::shift(lanes::SHL, lanes::USHL);
    Ushr [8]                   => shift::shift(ShiftRows::LSR), wide::shift(ShiftRows::LSR), none, vector::shift(lanes::USHR, lanes::USHL);
    Sshr [32]                  => shift::shift(ShiftRows::ASR), wide::shift(ShiftRows::ASR), none, vector::shift(lanes::SSHR, lanes::SSHL);
    Bitrev [32]                => bits::bitrev, wide::bitrev, none, none;
    Clz [8]                    => bits::clz, wide::clz, none, none;
    Cls [32]                   => bits::cls, wide::cls, none, none;
    Ctz [8]                    => bits::ctz, wide::ctz, none, none;
    Bswap [32]                 => shared::endian::bswap, shared::wide::bswap, none, none;
    Popcnt [8]                 => bits::popcnt, wide::popcnt, none, vector::count_ones;

    // Width changes, other register classes.
    Ireduce                    => shared::width::ireduce;
    Uextend [8]                => shared::width::uextend, shared::wide::uextend, none, none;
    Sextend [32]               => convert::sextend, wide::sextend, none, none;
    Isplit                     => shared::width::isplit, shared::wide::isplit, none, none;
    Iconcat                    => convert::iconcat;
    Bitcast                    => shared::width::bitcast;

    // Floats.
    Fadd                       => none, none, float::binary(rows::FADD_FFF), vector::float(lanes::FADD);
    Fsub                       => none, none, float::binary(rows::FSUB_FFF), vector::float(lanes::FSUB);
    Fmul                       => none, none, float::binary(rows::FMUL_FFF), vector::float(lanes::FMUL);
    Fdiv                       => none, none, float::binary(rows::FDIV_FFF), vector::float(lanes::FDIV);
    Sqrt                       => none, none, float::unary(rows::FSQRT_FF), vector::float(lanes::FSQRT);
    Fma                        => none, none, fround::fma, vector::fma;
    Fneg                       => none, none, float::fneg, vector::change_sign(lanes::FNEG);
    Fabs                       => none, none, float::fabs, vector::change_sign(lanes::FABS);
    Fcopysign                  => none, none, float::fcopysign, shared::vector::in_register(float::copy_sign);
    Fmin                       => none, none, float::binary(rows::FMIN_FFF), vector::float(lanes::FMIN);
    Fmax                       => none, none, float::binary(rows::FMAX_FFF), vector::float(lanes::FMAX);
    Ceil                       => none, none, fround::round, vector::round;
    Floor                      => none, none, fround::round, vector::round;
    Trunc                      => none, none, fround::round, vector::round;
    Nearest                    => none, none, fround::round, vector::round;

    // Conversions.
    Fpromote                   => fconvert::resize;
    Fdemote                    => fconvert::resize;
    FvpromoteLow               => vector::promote_low;
    Fvdemote                   => vector::demote;
    FcvtToUint [32]            => fconvert::to_uint, refuse, none, none;
    FcvtToSint [32]            => fconvert::to_sint, refuse, none, none;
    FcvtToUintSat [32]         => fconvert::to_uint_sat, refuse, none, vector::to_int_sat(false);
    FcvtToSintSat [32]         => fconvert::to_sint_sat, refuse, none, vector::to_int_sat(true);
    FcvtFromUint               => none, none, fconvert::from_int(false), vector::from_int(false);
    FcvtFromSint               => none, none, fconvert::from_int(true), vector::from_int(true);
    X86Cvtt2dq                 => refuse, refuse, none, vector::truncate;

    // Vectors.
    Splat                      => vector::splat;
    ScalarToVector             => vector::scalar_to_vector;
    Insertlane                 => vector::insert;
    Extractlane [8]            => vector::extract;
    ExtractVector              => refuse;
    Shuffle                    => vector::shuffle;
    Swizzle                    => vector::swizzle;
    X86Pshufb                  => vector::table_lookup;
    UaddSat                    => vector::plain(lanes::UQADD);
    SaddSat                    => vector::plain(lanes::SQADD);
    UsubSat                    => vector::plain(lanes::UQSUB);
    SsubSat                    => vector::plain(lanes::SQSUB);
    AvgRound                   => vector::average;
    IaddPairwise               => vector::pairwise;
    SqmulRoundSat              => vector::plain(lanes::SQRDMULH);
    X86Pmulhrsw                => vector::multiply_round;
    X86Pmaddubsw               => vector::multiply_add_bytes;
    Snarrow                    => vector::narrow(lanes::SQXTN, lanes::SQXTN2);
    Unarrow                    => vector::narrow(lanes::SQXTUN, lanes::SQXTUN2);
    Uunarrow                   => vector::narrow(lanes::UQXTN, lanes::UQXTN2);
    SwidenLow                  => vector::widen(true, false);
    SwidenHigh                 => vector::widen(true, true);
    UwidenLow                  => vector::widen(false, false);
    UwidenHigh                 => vector::widen(false, true);
}

/// Lowers an instruction by the table.
#[inline]
pub(crate) fn lower(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    LOWERINGS[cx.func.dfg.opcode(inst) as usize][cx.type_category(inst) as usize](cx, inst)
}

#[cfg(test)]
mod tests {
    use kingpost_mach::lower::misplaced_none;

    #[test]
    fn cells_are_empty_just_where_an_opcode_has_no_type_of_the_category() {
        assert_eq!(misplaced_none(&super::NAMES), Vec::<String>::new());
    }
}
