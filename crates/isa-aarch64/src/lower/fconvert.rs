//! Conversions between integers and floats, and between floats.
//!
//! Before: `v1 = fcvt_to_uint_sat.i32 v0`. After: `fcvtzu w1, s0`.
//!
//! The CPU converts integers of 32 and 64 bits, signed and unsigned, truncating and saturating; NaN becomes 0. Narrow
//! integers are extended before the conversion or limited after it. Traps compare with bounds that are exact in the
//! float's type.

use super::LowerResult;
use super::compare::limit;
use super::cx::Cx;
use super::float::arithmetic;
use crate::regs::{CC_GE, CC_LS, CC_MI, CC_VS};
use crate::rows;
use kingpost_ir::condcodes::IntCC;
use kingpost_ir::types::{F16, F32, F64};
use kingpost_ir::{Inst, TrapCode, Type};
use kingpost_mach::lower::{Cond, float_bits, precision, trap_on};
use kingpost_mach::{LowerBackend, RowId};
use kingpost_regalloc::VReg;

/// Returns the row that truncates a float to an integer of 32 or 64 bits.
fn truncate_row(from: Type, bits: u32, signed: bool) -> RowId {
    let family = match (bits == 64, signed) {
        (false, true) => rows::FCVTZS32_RF,
        (true, true) => rows::FCVTZS64_RF,
        (false, false) => rows::FCVTZU32_RF,
        (true, false) => rows::FCVTZU64_RF,
    };
    family.of(from.bits())
}

/// Returns the row that converts an integer of 32 or 64 bits to a float.
fn convert_row(to: Type, bits: u32, signed: bool) -> RowId {
    let family = match (to == F64, signed) {
        (false, true) => rows::SCVTF32_FR,
        (true, true) => rows::SCVTF64_FR,
        (false, false) => rows::UCVTF32_FR,
        (true, false) => rows::UCVTF64_FR,
    };
    family.of(bits)
}

/// Lowers `fpromote`, `fdemote`.
pub(super) fn resize(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [x] = cx.args(inst);
    let row = match (cx.ty(x), cx.result_ty(inst)) {
        (F16, F32) => rows::FCVT32_16_FF,
        (F16, F64) => rows::FCVT64_16_FF,
        (F32, F16) => rows::FCVT16_32_FF,
        (F64, F16) => rows::FCVT16_64_FF,
        (F32, F64) => rows::FCVT64_32_FF,
        (F64, F32) => rows::FCVT32_64_FF,
        _ => return Err(cx.unsupported(inst)),
    };
    arithmetic(cx, inst, |cx, def| {
        let operands = [def, cx.use_reg(x)];
        cx.emit(row, &operands);
    })
}

/// Lowers `fcvt_from_sint`, `fcvt_from_uint`.
pub(super) fn from_int(cx: &mut Cx<'_, '_>, inst: Inst, signed: bool) -> LowerResult {
    let [x] = cx.args(inst);
    let (from, to) = (cx.ty(x), cx.result_ty(inst));
    cx.require_float(inst, to)?;
    cx.require_word(inst, from)?;
    let value = cx.first_result(inst);
    let operands = [cx.result(value), cx.use_extended(x, signed)];
    cx.emit(convert_row(to, from.bits(), signed), &operands);
    Ok(())
}

/// Lowers `fcvt_to_sint`, which traps unless `-2^(n-1) - 1 < x < 2^(n-1)`.
pub(super) fn to_sint(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let (x, from, bits) = cx.float_to_int(inst)?;
    let source = cx.use_reg(x);
    let bound = (1u64 << (bits - 1)) as f64;
    // Where the number below the minimum is not exact in the float's type, the bound is the minimum itself.
    let (low, fails) = if bits <= precision(from) { (-bound - 1.0, CC_LS) } else { (-bound, CC_MI) };
    check_range(cx, source, from, bound, low, fails);
    let value = cx.first_result(inst);
    let def = cx.result(value);
    cx.emit(truncate_row(from, bits, true), &[def, source]);
    Ok(())
}

/// Lowers `fcvt_to_uint`, which traps unless `-1 < x < 2^n`.
pub(super) fn to_uint(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let (x, from, bits) = cx.float_to_int(inst)?;
    let source = cx.use_reg(x);
    let end = 2.0 * (1u64 << (bits - 1)) as f64;
    check_range(cx, source, from, end, -1.0, CC_LS);
    let value = cx.first_result(inst);
    let def = cx.result(value);
    cx.emit(truncate_row(from, bits, false), &[def, source]);
    Ok(())
}

/// Traps if `x` is NaN, at least `end`, or fails the comparison with `low`.
fn check_range(cx: &mut Cx<'_, '_>, x: VReg, ty: Type, end: f64, low: f64, fails: i32) {
    let compare = rows::FCMP_FF.of(ty.bits());
    let [end, low] = [end, low].map(|bound| cx.float_constant(float_bits(ty, bound), ty));
    cx.emit(compare, &[x, end]);
    trap_on(cx, Cond::One(CC_VS), TrapCode::BAD_CONVERSION_TO_INTEGER);
    trap_on(cx, Cond::One(CC_GE), TrapCode::INTEGER_OVERFLOW);
    cx.emit(compare, &[x, low]);
    trap_on(cx, Cond::One(fails), TrapCode::INTEGER_OVERFLOW);
}

/// Lowers `fcvt_to_sint_sat`.
pub(super) fn to_sint_sat(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let (x, from, bits) = cx.float_to_int(inst)?;
    let value = cx.first_result(inst);
    let (def, source) = (cx.result(value), cx.use_reg(x));
    let row = truncate_row(from, bits, true);
    if bits >= 32 {
        cx.emit(row, &[def, source]);
        return Ok(());
    }
    let largest = (1i64 << (bits - 1)) - 1;
    let [truncated, below] = std::array::from_fn(|_| cx.int_temp(32));
    let [largest, smallest] = [largest, -largest - 1].map(|bound| cx.constant_temp(bound as u64, 32));
    cx.emit(row, &[truncated, source]);
    limit(cx, 32, below, [truncated, largest], IntCC::SignedLessThan);
    limit(cx, 32, def, [below, smallest], IntCC::SignedGreaterThan);
    Ok(())
}

/// Lowers `fcvt_to_uint_sat`.
pub(super) fn to_uint_sat(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let (x, from, bits) = cx.float_to_int(inst)?;
    let value = cx.first_result(inst);
    let (def, source) = (cx.result(value), cx.use_reg(x));
    let row = truncate_row(from, bits, false);
    if bits >= 32 {
        cx.emit(row, &[def, source]);
        return Ok(());
    }
    let truncated = cx.int_temp(32);
    let largest = cx.constant_temp((1 << bits) - 1, 32);
    cx.emit(row, &[truncated, source]);
    limit(cx, 32, def, [truncated, largest], IntCC::UnsignedLessThan);
    Ok(())
}
