//! Conversions between integers and floats, and between precisions.
//!
//! Before: `v1 = fcvt_from_sint.f64x2 (swiden_low v0)` of i32x4. After: `cvtdq2pd v1, v0`.
//!
//! The CPU converts signed integers of 32 bits. Integers of 64 bits become floats of 64 bits in two exact parts,
//! whose sum is rounded once. Floats become integers of 64 bits by way of integer registers.

use super::saturate::{unsigned_halves, without_negatives};
use super::widen::{Half, widen_half};
use super::{LowerResult, repeated};
use crate::lower::cx::Cx;
use crate::lower::fconvert;
use crate::lower::float::arithmetic;
use crate::lower::tiles;
use crate::rows;
use kingpost_ir::types::{F32, F64, F64X2, I8, I16, I32, I64, I64X2};
use kingpost_ir::{Inst, Opcode, Type, Value};
use kingpost_mach::lower::{float_bits, is_float_reg};
use kingpost_regalloc::VReg;

/// Predicates of `cmpps`.
const LESS_OR_EQUAL: i32 = 2;
const EQUAL: i32 = 0;
/// Immediate of `roundpd`: towards zero, without a report of inexact results.
const TRUNCATE: i32 = 8 | 3;

/// Returns a constant of type `lane` in all lanes.
fn all_lanes(lane: Type, value: f64) -> u128 {
    repeated(float_bits(lane, value), lane.bits())
}

/// Lowers `fvpromote_low`, `fvdemote`.
pub(in crate::lower) fn resize(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [x] = cx.args(inst);
    let row = if cx.func.dfg.opcode(inst) == Opcode::FvpromoteLow { rows::CVTPS2PD } else { rows::CVTPD2PS };
    arithmetic(cx, inst, |cx, def| {
        cx.emit_float(row, &[def], x, inst)?;
        Ok(())
    })
}

/// Returns the operand of a conversion, and the lane types of operand and result.
fn lane_types(cx: &Cx<'_, '_>, inst: Inst) -> Result<(Value, Type, Type), kingpost_mach::LowerError> {
    let [x] = cx.args(inst);
    let (from, to) = (cx.ty(x), cx.result_ty(inst));
    let supported = is_float_reg(from) && is_float_reg(to);
    if supported { Ok((x, from.lane_type(), to.lane_type())) } else { Err(cx.unsupported(inst)) }
}

/// Returns `x`, whose lanes have type `from`, with lanes of at least 32 bits, and their type.
fn widened(cx: &mut Cx<'_, '_>, mut x: VReg, mut from: Type, signed: bool) -> (VReg, Type) {
    while let (8 | 16, Some(wide)) = (from.bits(), from.double_width()) {
        let widened = cx.vector_temp();
        widen_half(cx, widened, x, from.bits(), Half::Low, signed);
        (x, from) = (widened, wide);
    }
    (x, from)
}

/// Returns the operand of a widening of the low lanes that has no other use.
fn low_lanes(cx: &Cx<'_, '_>, x: Value, opcode: Opcode) -> Option<Value> {
    let widening = cx.def_as(x, opcode).filter(|_| cx.is_single_use(x))?;
    let [source] = cx.args(widening);
    (cx.ty(source).lane_type() == I32).then_some(source)
}

/// Lowers `fcvt_from_sint`.
pub(in crate::lower) fn from_sint(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let (x, from, to) = lane_types(cx, inst)?;
    let value = cx.first_result(inst);
    if let (F64, Some(source)) = (to, low_lanes(cx, x, Opcode::SwidenLow)) {
        cx.count_tile(tiles::CONVERTED_HALF);
        let (def, source) = (cx.result(value), cx.use_reg(source));
        cx.emit(rows::CVTDQ2PD, &[def, source]);
        return Ok(());
    }
    let (def, source) = (cx.result(value), cx.use_reg(x));
    let (source, from) = widened(cx, source, from, true);
    match (from, to) {
        (I32, F32) => {
            cx.emit(rows::CVTDQ2PS, &[def, source]);
        }
        (I32, F64) => {
            cx.emit(rows::CVTDQ2PD, &[def, source]);
        }
        (I64, F64) => {
            let flipped = cx.make_with(rows::XORPS, source, super::signs(64));
            from_quads(cx, def, flipped, (1u64 << 63) as f64);
        }
        (I64, F32) => to_singles(cx, def, source, |cx, def, x| fconvert::convert(cx, def, F32, x, 64)),
        _ => return Err(cx.unsupported(inst)),
    }
    Ok(())
}

/// Lowers `fcvt_from_uint`.
pub(in crate::lower) fn from_uint(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let (x, from, to) = lane_types(cx, inst)?;
    let value = cx.first_result(inst);
    if let (F64, Some(source)) = (to, low_lanes(cx, x, Opcode::UwidenLow)) {
        cx.count_tile(tiles::CONVERTED_HALF);
        let (def, source) = (cx.result(value), cx.use_reg(source));
        from_words(cx, def, source);
        return Ok(());
    }
    let (def, source) = (cx.result(value), cx.use_reg(x));
    let was_narrow = from.bits() < 32;
    let (source, from) = widened(cx, source, from, false);
    match (from, to) {
        (I32, F32) if was_narrow => {
            cx.emit(rows::CVTDQ2PS, &[def, source]);
        }
        (I32, F32) => from_halves(cx, def, source),
        (I32, F64) => from_words(cx, def, source),
        (I64, F64) => from_quads(cx, def, source, 0.0),
        (I64, F32) => to_singles(cx, def, source, |cx, def, x| fconvert::from_u64(cx, def, F32, x)),
        _ => return Err(cx.unsupported(inst)),
    }
    Ok(())
}

/// Converts unsigned integers of 32 bits to floats of 32. Each half of 16 bits is put below an exponent that makes it
/// exact, and one sum is rounded.
fn from_halves(cx: &mut Cx<'_, '_>, def: VReg, x: VReg) {
    let low = cx.make_with(rows::ANDPS, x, repeated(0xffff, 32));
    let low = cx.make_with(rows::ORPS, low, all_lanes(F32, 2f64.powi(23)));
    let high = cx.make_imm(rows::PSRL_RI.of(32), &[x], 16);
    let high = cx.make_with(rows::ORPS, high, all_lanes(F32, 2f64.powi(39)));
    let high = cx.make_with(rows::SUBP.of(32), high, all_lanes(F32, 2f64.powi(39) + 2f64.powi(23)));
    cx.emit(rows::ADDP.of(32), &[def, high, low]);
}

/// Converts the two low unsigned integers of 32 bits to floats of 64, by the exponent of 2^52.
fn from_words(cx: &mut Cx<'_, '_>, def: VReg, x: VReg) {
    let exponent = cx.vector(repeated(float_bits(F64, 2f64.powi(52)) >> 32, 32));
    let joined = cx.make(rows::PUNPCKL.of(32), &[x, exponent]);
    cx.emit_with(rows::SUBP.of(64), &[def, joined], all_lanes(F64, 2f64.powi(52)));
}

/// Converts integers of 64 bits, less `bias`, to floats of 64. Both halves are put below an exponent that makes them
/// exact, and one sum is rounded.
fn from_quads(cx: &mut Cx<'_, '_>, def: VReg, x: VReg, bias: f64) {
    let low = cx.make_with(rows::ANDPS, x, repeated(0xffff_ffff, 64));
    let low = cx.make_with(rows::ORPS, low, all_lanes(F64, 2f64.powi(52)));
    let high = cx.make_imm(rows::PSRL_RI.of(64), &[x], 32);
    let high = cx.make_with(rows::ORPS, high, all_lanes(F64, 2f64.powi(84)));
    let high = cx.make_with(rows::SUBP.of(64), high, all_lanes(F64, 2f64.powi(84) + bias + 2f64.powi(52)));
    cx.emit(rows::ADDP.of(64), &[def, high, low]);
}

/// Converts two integers of 64 bits to floats of 32. `convert` converts each from an integer register, so that it is
/// rounded once.
fn to_singles(cx: &mut Cx<'_, '_>, def: VReg, x: VReg, convert: impl Fn(&mut Cx<'_, '_>, VReg, VReg)) {
    let high = cx.make_imm(rows::PSHUFD, &[x], 0xee);
    let [low, high] = [x, high].map(|half| {
        let (lane, single) = (cx.int_temp(64), cx.float_temp(32));
        cx.emit(rows::MOV_RF.of(64), &[lane, half]);
        convert(cx, single, lane);
        single
    });
    cx.emit(rows::PUNPCKL.of(32), &[def, low, high]);
}

/// Lowers `fcvt_to_sint_sat`.
pub(in crate::lower) fn to_sint_sat(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let (x, from, to) = lane_types(cx, inst)?;
    let value = cx.first_result(inst);
    let (def, source) = (cx.result(value), cx.use_reg(x));
    match (from, to) {
        (F32, I32) => words(cx, def, source),
        (F64, I32) => low_words(cx, def, source),
        (F32 | F64, I8 | I16) => {
            let halves = if to == I16 { def } else { cx.vector_temp() };
            let words = any_words(cx, source, from);
            cx.emit(rows::PACKSSDW, &[halves, words, words]);
            if to == I8 {
                cx.emit(rows::PACKSSWB, &[def, halves, halves]);
            }
        }
        (F32 | F64, I64) => {
            let source = doubles(cx, source, from);
            by_lanes(cx, def, source, |cx, def, x| fconvert::saturate_signed(cx, def, x, F64, 64));
        }
        _ => return Err(cx.unsupported(inst)),
    }
    Ok(())
}

/// Lowers `fcvt_to_uint_sat`. Results of 16 bits at most are clamped from signed integers of 32.
pub(in crate::lower) fn to_uint_sat(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let (x, from, to) = lane_types(cx, inst)?;
    let value = cx.first_result(inst);
    let (def, source) = (cx.result(value), cx.use_reg(x));
    match (from, to) {
        (F32, I32) => {
            // The result is the number up to 2^31, and above it the minimum plus the excess; both parts are clamped.
            let zero = cx.vector(0);
            let positive = cx.make(rows::MAXP.of(32), &[source, zero]);
            let low = cx.make(rows::CVTTPS2DQ, &[positive]);
            let bound = cx.vector(all_lanes(F32, 2f64.powi(31)));
            let rest = cx.make(rows::SUBP.of(32), &[positive, bound]);
            let large = cx.make_imm(rows::CMPP.of(32), &[bound, rest], LESS_OR_EQUAL);
            let rest = cx.make(rows::CVTTPS2DQ, &[rest]);
            let rest = cx.make(rows::XORPS, &[rest, large]);
            let rest = without_negatives(cx, 32, rest);
            cx.emit(rows::PADD.of(32), &[def, low, rest]);
        }
        (F64, I32) => {
            let quads = cx.vector_temp();
            by_lanes(cx, quads, source, |cx, def, x| fconvert::saturate_unsigned(cx, def, x, F64, 32));
            cx.emit_imm(rows::PSHUFD, &[def, quads], 0x08);
        }
        (F32 | F64, I16) => {
            let words = any_words(cx, source, from);
            unsigned_halves(cx, def, [words, words]);
        }
        (F32 | F64, I8) => {
            let words = any_words(cx, source, from);
            let halves = cx.make(rows::PACKSSDW, &[words, words]);
            cx.emit(rows::PACKUSWB, &[def, halves, halves]);
        }
        (F32 | F64, I64) => {
            let source = doubles(cx, source, from);
            by_lanes(cx, def, source, |cx, def, x| fconvert::saturate_unsigned(cx, def, x, F64, 64));
        }
        _ => return Err(cx.unsupported(inst)),
    }
    Ok(())
}

/// Converts floats of 32 bits to signed integers of 32. Numbers that are too large become the minimum, whose
/// complement is the maximum. NaN is replaced by zero first.
fn words(cx: &mut Cx<'_, '_>, def: VReg, source: VReg) {
    let number = cx.make_imm(rows::CMPP.of(32), &[source, source], EQUAL);
    let source = cx.make(rows::ANDPS, &[source, number]);
    let bound = cx.vector(all_lanes(F32, 2f64.powi(31)));
    let large = cx.make_imm(rows::CMPP.of(32), &[bound, source], LESS_OR_EQUAL);
    let truncated = cx.make(rows::CVTTPS2DQ, &[source]);
    cx.emit(rows::XORPS, &[def, truncated, large]);
}

/// Converts two floats of 64 bits to signed integers of 32 in the low half, with zeros in the high half. The minimum
/// of a NaN and the bound is the bound, which is zero for a NaN.
fn low_words(cx: &mut Cx<'_, '_>, def: VReg, source: VReg) {
    let number = cx.make_imm(rows::CMPP.of(64), &[source, source], EQUAL);
    let bound = cx.make_with(rows::ANDPS, number, all_lanes(F64, f64::from(i32::MAX)));
    let limited = cx.make(rows::MINP.of(64), &[source, bound]);
    cx.emit(rows::CVTTPD2DQ, &[def, limited]);
}

/// Converts floats of either precision to signed integers of 32 bits and returns them.
fn any_words(cx: &mut Cx<'_, '_>, source: VReg, from: Type) -> VReg {
    let def = cx.vector_temp();
    if from == F32 {
        words(cx, def, source)
    } else {
        low_words(cx, def, source)
    }
    def
}

/// Returns the two low floats in double precision, which represents them exactly.
fn doubles(cx: &mut Cx<'_, '_>, source: VReg, from: Type) -> VReg {
    if from == F64 { source } else { cx.make(rows::CVTPS2PD, &[source]) }
}

/// Emits a narrowing of the result of `conversion` on two floats of 64 bits, and of zeros, as a conversion to
/// integers of 32 bits. Returns `false` if `inst` has another form or the CPU has no such instruction.
pub(super) fn to_low_half(cx: &mut Cx<'_, '_>, inst: Inst, conversion: Opcode) -> bool {
    let [x, zeros] = cx.args(inst);
    let Some(converted) = cx.def_as(x, conversion).filter(|_| cx.is_single_use(x)) else { return false };
    let [source] = cx.args(converted);
    let signed = conversion == Opcode::FcvtToSintSat;
    let fits = cx.ty(source) == F64X2 && cx.ty(x) == I64X2 && cx.vector_constant(zeros) == Some(0);
    if !fits || !signed && !cx.can(rows::ROUNDP.of(64)) {
        return false;
    }
    cx.count_tile(tiles::CONVERTED_HALF);
    let value = cx.first_result(inst);
    let (def, source) = (cx.result(value), cx.use_reg(source));
    if signed {
        low_words(cx, def, source);
        return true;
    }
    // The lowest 32 bits of a float between 2^52 and 2^53 are the lowest 32 bits of the integer.
    let zero = cx.vector(0);
    let positive = cx.make(rows::MAXP.of(64), &[source, zero]);
    let limited = cx.make_with(rows::MINP.of(64), positive, all_lanes(F64, f64::from(u32::MAX)));
    let truncated = cx.make_imm(rows::ROUNDP.of(64), &[limited], TRUNCATE);
    let shifted = cx.make_with(rows::ADDP.of(64), truncated, all_lanes(F64, 2f64.powi(52)));
    cx.emit_imm(rows::SHUFPS, &[def, shifted, zero], 0x88);
    true
}

/// Lowers `x86_cvtt2dq`.
pub(in crate::lower) fn to_sint_or_minimum(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let (x, from, to) = lane_types(cx, inst)?;
    let value = cx.first_result(inst);
    let (def, source) = (cx.result(value), cx.use_reg(x));
    match (from, to) {
        (F32, I32) => {
            cx.emit(rows::CVTTPS2DQ, &[def, source]);
        }
        (F64, I32) => {
            cx.emit(rows::CVTTPD2DQ, &[def, source]);
        }
        (F32 | F64, I64) => {
            let source = doubles(cx, source, from);
            by_lanes(cx, def, source, |cx, def, x| {
                cx.emit(rows::CVTTSD2SI_RR.of(64), &[def, x]);
            });
        }
        _ => return Err(cx.unsupported(inst)),
    }
    Ok(())
}

/// Sets `def` to two lanes of 64 bits that `convert` makes in integer registers.
fn by_lanes(cx: &mut Cx<'_, '_>, def: VReg, x: VReg, convert: impl Fn(&mut Cx<'_, '_>, VReg, VReg)) {
    let high = cx.make_imm(rows::PSHUFD, &[x], 0xee);
    let halves = [x, high].map(|lane| {
        let (converted, half) = (cx.int_temp(64), cx.float_temp(64));
        convert(cx, converted, lane);
        cx.emit(rows::MOV_FR.of(64), &[half, converted]);
        half
    });
    cx.emit(rows::MOVLHPS_RR, &[def, halves[0], halves[1]]);
}
