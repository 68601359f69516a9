//! Conversions between integers and floats, and between floats.
//!
//! Before: `v1 = fcvt_from_sint.f64 v0`. After: `cvtsi2sd v1, v0`.
//!
//! The CPU converts signed integers of 32 and 64 bits, truncating; a number that does not fit becomes the smallest
//! integer. All further conversions are made from these: unsigned and narrow types, traps, saturation. All bounds of
//! comparisons are exact in the float's type.

use super::LowerResult;
use super::cx::Cx;
use super::float::arithmetic;
use crate::regs::{CC_AE, CC_B, CC_BE, CC_P};
use crate::rows;
use kingpost_ir::types::{F32, F64, I32, I64};
use kingpost_ir::{Inst, Opcode, TrapCode, Type};
use kingpost_mach::lower::{Cond, float_bits, precision, trap_on};
use kingpost_mach::{LowerBackend, RowId};
use kingpost_regalloc::VReg;

/// Returns the row that truncates a float to a signed integer of 32 or 64 bits.
fn truncate_row(from: Type, bits: u32) -> RowId {
    let family = if from == F64 { rows::CVTTSD2SI_RR } else { rows::CVTTSS2SI_RR };
    family.of(bits)
}

/// Returns the row that converts a signed integer of 32 or 64 bits to a float.
fn convert_row(to: Type, bits: u32) -> RowId {
    let family = if to == F64 { rows::CVTSI2SD_RR } else { rows::CVTSI2SS_RR };
    family.of(bits)
}

/// Returns the bits of `2^exponent` in `ty`.
fn power(ty: Type, exponent: u32) -> u64 {
    if ty == F64 { (1023 + u64::from(exponent)) << 52 } else { (127 + u64::from(exponent)) << 23 }
}

/// Lowers `fpromote`, `fdemote`.
pub(super) fn resize(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [x] = cx.args(inst);
    let row = match (cx.ty(x), cx.result_ty(inst)) {
        (F32, F64) => rows::CVTSS2SD_RR,
        (F64, F32) => rows::CVTSD2SS_RR,
        _ => return Err(cx.unsupported(inst)),
    };
    arithmetic(cx, inst, |cx, def| {
        cx.emit_float(row, &[def], x, inst)?;
        Ok(())
    })
}

/// Lowers `fcvt_from_sint`.
pub(super) fn from_sint(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [x] = cx.args(inst);
    let (from, to) = (cx.ty(x), cx.result_ty(inst));
    cx.require_float(inst, to)?;
    cx.require_word(inst, from)?;
    let value = cx.first_result(inst);
    let def = cx.result(value);
    if matches!(from, I32 | I64)
        && let Some(load) = cx.fold_load(x, from.bits(), inst)?
    {
        let zero = zero(cx, to);
        let row = convert_row(to, from.bits());
        let row = rows::ROWS[usize::from(row.0)].twin.map_or(row, |twin| twin.row);
        cx.emit_folded(row, &[def, zero], load);
        return Ok(());
    }
    let source = if from == I64 { cx.use_reg(x) } else { cx.use_sign_extended(x) };
    convert(cx, def, to, source, from.bits());
    Ok(())
}

fn zero(cx: &mut Cx<'_, '_>, ty: Type) -> VReg {
    let zero = cx.float_like(ty);
    cx.emit(rows::XORPS_ZERO, &[zero]);
    zero
}

/// Sets `def` of type `to` to the signed integer `source` of `bits` bits. The instruction keeps some upper bits of
/// its first operand. These are zeros, so that it does not wait for an old value of the register.
pub(super) fn convert(cx: &mut Cx<'_, '_>, def: VReg, to: Type, source: VReg, bits: u32) {
    let zero = zero(cx, to);
    cx.emit(convert_row(to, bits), &[def, zero, source]);
}

/// Lowers `fcvt_from_uint`.
pub(super) fn from_uint(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [x] = cx.args(inst);
    let (from, to) = (cx.ty(x), cx.result_ty(inst));
    cx.require_float(inst, to)?;
    cx.require_word(inst, from)?;
    let value = cx.first_result(inst);
    let def = cx.result(value);
    match from {
        I64 => {
            let source = cx.use_reg(x);
            from_u64(cx, def, to, source);
        }
        I32 => {
            let mut wide = cx.use_reg(x);
            if cx.has_zeros(x) {
                cx.widen(wide, 8);
            } else {
                wide = cx.int_temp(64);
                let source = cx.use_reg(x);
                cx.zero_extend(wide, source, 32);
            }
            convert(cx, def, to, wide, 64);
        }
        _ => {
            let source = cx.use_zero_extended(x);
            convert(cx, def, to, source, 32);
        }
    }
    Ok(())
}

/// Sets `def` to the unsigned integer `x` of 64 bits. A number whose top bit is set is halved first and doubled
/// afterwards, by adding 1 to the exponent. The bit that is shifted out is or-ed to the lowest bit, where it matters
/// for rounding only.
pub(super) fn from_u64(cx: &mut Cx<'_, '_>, def: VReg, to: Type, x: VReg) {
    let [half, lost, halved, chosen] = std::array::from_fn(|_| cx.int_temp(64));
    cx.emit_imm(rows::SHR_RI.of(64), &[half, x], 1);
    cx.emit_imm(rows::AND_RI.of(32), &[lost, x], 1);
    cx.emit(rows::OR_RR.of(64), &[halved, half, lost]);
    cx.emit(rows::TEST_RR.of(64), &[x, x]);
    cx.emit_imm(rows::CMOV_RR.of(64), &[chosen, x, halved], crate::regs::CC_S);
    let rounded = cx.float_like(to);
    convert(cx, rounded, to, chosen, 64);
    let wide = to == F64;
    let bits = to.bits();
    let (top, one, image, doubled) = (cx.int_temp(64), cx.int_temp(64), cx.int_temp(bits), cx.int_temp(bits));
    cx.emit(if wide { rows::MOV_RF.of(64) } else { rows::MOV_RF.of(32) }, &[image, rounded]);
    cx.emit_imm(rows::SHR_RI.of(64), &[top, x], 63);
    cx.emit_imm(rows::SHL_RI.of(64), &[one, top], precision(to) as i32 - 1);
    cx.emit(rows::ADD_RR.of(bits), &[doubled, image, one]);
    cx.emit(if wide { rows::MOV_FR.of(64) } else { rows::MOV_FR.of(32) }, &[def, doubled]);
}

/// Lowers `fcvt_to_sint`, which traps unless `-2^(n-1) - 1 < x < 2^(n-1)`.
pub(super) fn to_sint(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let (x, from, bits) = cx.float_to_int(inst)?;
    let source = cx.use_reg(x);
    let bound = (1u64 << (bits - 1)) as f64;
    // Where the number below the minimum is not exact in the float's type, the bound is the minimum itself.
    let (low, fails) = if bits <= precision(from) { (-bound - 1.0, CC_BE) } else { (-bound, CC_B) };
    check_range(cx, source, from, power(from, bits - 1), float_bits(from, low), fails);
    let value = cx.first_result(inst);
    let def = cx.result(value);
    cx.emit(truncate_row(from, bits), &[def, source]);
    Ok(())
}

/// Lowers `fcvt_to_uint`, which traps unless `-1 < x < 2^n`.
pub(super) fn to_uint(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let (x, from, bits) = cx.float_to_int(inst)?;
    let source = cx.use_reg(x);
    check_range(cx, source, from, power(from, bits), float_bits(from, -1.0), CC_BE);
    let value = cx.first_result(inst);
    let def = cx.result(value);
    truncate_unsigned(cx, def, source, from, bits);
    Ok(())
}

/// Traps if `x` is NaN, at least `end`, or fails the comparison with `low`.
fn check_range(cx: &mut Cx<'_, '_>, x: VReg, ty: Type, end: u64, low: u64, fails: i32) {
    let compare = rows::UCOMIS_RR.of(ty.bits());
    cx.emit_float_constant(compare, &[x], end, ty);
    trap_on(cx, Cond::One(CC_P), TrapCode::BAD_CONVERSION_TO_INTEGER);
    trap_on(cx, Cond::One(CC_AE), TrapCode::INTEGER_OVERFLOW);
    cx.emit_float_constant(compare, &[x], low, ty);
    trap_on(cx, Cond::One(fails), TrapCode::INTEGER_OVERFLOW);
}

/// Sets `def` to `x`, which must be between -1 and `2^bits`. The result for larger numbers is undefined.
fn truncate_unsigned(cx: &mut Cx<'_, '_>, def: VReg, x: VReg, from: Type, bits: u32) {
    if bits < 64 {
        // The next larger width has room for the top bit.
        cx.emit(truncate_row(from, bits * 2), &[def, x]);
        return;
    }
    // From 2^63 on the first result is the smallest integer, which supplies the top bit; the second result supplies
    // the lower bits.
    let below = cx.float_like(from);
    let [low, high, large, rest] = std::array::from_fn(|_| cx.int_temp(64));
    cx.emit_float_constant(rows::SUBS_RR.of(from.bits()), &[below, x], power(from, 63), from);
    cx.emit(truncate_row(from, 64), &[low, x]);
    cx.emit(truncate_row(from, 64), &[high, below]);
    cx.emit_imm(rows::SAR_RI.of(64), &[large, low], 63);
    cx.emit(rows::AND_RR.of(64), &[rest, high, large]);
    cx.emit(rows::OR_RR.of(64), &[def, low, rest]);
}

/// Emits `def = x`, or the constant `other` if the condition holds.
fn replace_if(cx: &mut Cx<'_, '_>, condition: i32, def: VReg, x: VReg, other: VReg, bits: u32) {
    cx.emit_imm(rows::CMOV_RR.of(bits), &[def, x, other], condition);
}

/// Lowers `fcvt_to_sint_sat`.
pub(super) fn to_sint_sat(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let (x, from, bits) = cx.float_to_int(inst)?;
    let value = cx.first_result(inst);
    let (def, source) = (cx.result(value), cx.use_reg(x));
    saturate_signed(cx, def, source, from, bits);
    Ok(())
}

/// Sets `def` to `source` clamped to `bits` bits, signed. Numbers that are too small become the smallest integer by
/// the conversion itself. Too large numbers and NaN are corrected afterwards.
pub(super) fn saturate_signed(cx: &mut Cx<'_, '_>, def: VReg, mut source: VReg, from: Type, bits: u32) {
    let nan = source;
    let bound = (1u64 << (bits - 1)) as f64;
    if bits < 32 {
        let [above, within] = std::array::from_fn(|_| cx.float_like(from));
        cx.emit_float_constant(rows::MAXS_RR.of(from.bits()), &[above, source], float_bits(from, -bound), from);
        cx.emit_float_constant(rows::MINS_RR.of(from.bits()), &[within, above], float_bits(from, bound - 1.0), from);
        source = within;
    }
    let (truncated, limited) = (cx.int_temp(bits), cx.int_temp(bits));
    cx.emit(truncate_row(from, bits), &[truncated, source]);
    let largest = cx.constant_temp((1 << (bits - 1)) - 1, bits);
    let zero = cx.constant_temp(0, bits);
    cx.emit_float_constant(rows::UCOMIS_RR.of(from.bits()), &[nan], power(from, bits - 1), from);
    replace_if(cx, CC_AE, limited, truncated, largest, bits);
    replace_if(cx, CC_P, def, limited, zero, bits);
}

/// Lowers `fcvt_to_uint_sat`.
pub(super) fn to_uint_sat(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let (x, from, bits) = cx.float_to_int(inst)?;
    let value = cx.first_result(inst);
    let (def, source) = (cx.result(value), cx.use_reg(x));
    saturate_unsigned(cx, def, source, from, bits);
    Ok(())
}

/// Sets `def` to `source` clamped to `bits` bits, unsigned. The maximum with 0 takes negative numbers and NaN to 0,
/// because its result is the second operand for NaN.
pub(super) fn saturate_unsigned(cx: &mut Cx<'_, '_>, def: VReg, source: VReg, from: Type, bits: u32) {
    let zero = zero(cx, from);
    let positive = cx.float_like(from);
    cx.emit(rows::MAXS_RR.of(from.bits()), &[positive, source, zero]);
    let truncated = cx.int_temp(bits);
    truncate_unsigned(cx, truncated, positive, from, bits);
    let largest = cx.constant_temp(u64::MAX >> (64 - bits), bits);
    cx.emit_float_constant(rows::UCOMIS_RR.of(from.bits()), &[positive], power(from, bits), from);
    replace_if(cx, CC_AE, def, truncated, largest, bits);
}

/// Lowers `x86_cvtt2dq` of a scalar, which is one instruction.
pub(super) fn to_sint_or_minimum(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    debug_assert_eq!(cx.func.dfg.opcode(inst), Opcode::X86Cvtt2dq);
    let (x, from, bits) = cx.float_to_int(inst)?;
    if bits < 32 {
        return Err(cx.unsupported(inst));
    }
    let value = cx.first_result(inst);
    let def = cx.result(value);
    cx.emit_float(truncate_row(from, bits), &[def], x, inst)?;
    Ok(())
}
