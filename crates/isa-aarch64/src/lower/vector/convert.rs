//! Conversions between floats and integers, and between floats.
//!
//! Before: `v1 = fcvt_to_sint_sat.i32x4 v0`. After: `fcvtzs v1.4s, v0.4s`.

use super::super::LowerResult;
use super::super::cx::Cx;
use super::arith::{arithmetic, in_single};
use super::multiply::doubleword;
use crate::encoding::Arrangement;
use crate::rows;
use crate::rows::lanes;
use kingpost_ir::{Inst, Type};
use kingpost_mach::LowerError;
use kingpost_regalloc::VReg;

/// Lowers `fvpromote_low`.
pub(in crate::lower) fn promote_low(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [x] = cx.args(inst);
    arithmetic(cx, inst, |cx, def| {
        let source = cx.use_reg(x);
        cx.define(def, lanes::FCVTL, Arrangement::new(32, false), &[source]);
    })
}

/// Lowers `fvdemote`.
pub(in crate::lower) fn demote(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [x] = cx.args(inst);
    arithmetic(cx, inst, |cx, def| {
        let source = cx.use_reg(x);
        cx.define(def, lanes::FCVTN, Arrangement::new(32, false), &[source]);
    })
}

/// Returns the lanes in which a conversion is done, in as many bytes as the wider type has.
fn working_lanes(cx: &Cx<'_, '_>, inst: Inst, bits: u32, lanes: u32) -> Result<Arrangement, LowerError> {
    let arrangement = Arrangement::new(bits, bits * lanes == 128);
    let row = cx.find_row(lanes::FCVTZS, arrangement).filter(|_| bits * lanes <= 128);
    row.map(|_| arrangement).ok_or_else(|| cx.unsupported(inst))
}

/// Lowers `fcvt_to_sint_sat`, `fcvt_to_uint_sat` in the wider of both widths. A narrower result saturates in a second
/// step.
pub(in crate::lower) fn to_int_sat(cx: &mut Cx<'_, '_>, inst: Inst, signed: bool) -> LowerResult {
    let [x] = cx.args(inst);
    let value = cx.first_result(inst);
    let (from, to) = (cx.ty(x), cx.ty(value));
    cx.lanes(inst, from)?;
    cx.lanes(inst, to)?;
    if from.bits() == 128 && from.lane_bits() == 16 && !cx.isa.flags.has_fp16 {
        halves_to_int_sat(cx, inst, signed);
        return Ok(());
    }
    let bits = from.lane_bits().max(to.lane_bits());
    let bits = if bits == 16 && !cx.isa.flags.has_fp16 { 32 } else { bits };
    let working = working_lanes(cx, inst, bits, from.lane_count())?;
    let (def, mut source) = (cx.result(value), cx.use_reg(x));
    let mut width = from.lane_bits();
    while width < bits {
        source = cx.compute(lanes::FCVTL, Arrangement::new(width, false), &[source]);
        width *= 2;
    }
    let truncate = if signed { lanes::FCVTZS } else { lanes::FCVTZU };
    if width == to.lane_bits() {
        cx.define(def, truncate, working, &[source]);
        return Ok(());
    }
    source = cx.compute(truncate, working, &[source]);
    let saturate = if signed { lanes::SQXTN } else { lanes::UQXTN };
    while width > to.lane_bits() {
        width /= 2;
        let next = if width == to.lane_bits() { def } else { cx.vector_temp() };
        cx.define(next, saturate, Arrangement::new(width, false), &[source]);
        source = next;
    }
    Ok(())
}

/// Converts eight lanes of half precision to integers of 16 or 8 bits by way of single precision.
fn halves_to_int_sat(cx: &mut Cx<'_, '_>, inst: Inst, signed: bool) {
    let [def, source] = cx.registers(inst);
    let (truncate, narrow) = match signed {
        true => (lanes::FCVTZS, [lanes::SQXTN, lanes::SQXTN2]),
        false => (lanes::FCVTZU, [lanes::UQXTN, lanes::UQXTN2]),
    };
    let is_narrow = cx.result_ty(inst).lane_bits() == 8;
    let halves = if is_narrow { cx.vector_temp() } else { def };
    in_single(cx, halves, Arrangement::new(16, true), &[source], narrow, |cx, singles| {
        cx.compute(truncate, WORDS, singles)
    });
    if is_narrow {
        cx.define(def, narrow[0], Arrangement::new(8, false), &[halves]);
    }
}

/// Lowers `fcvt_from_sint`, `fcvt_from_uint`. Integers wider than floats of 32 bits are converted lane by lane, so
/// that each is rounded once.
pub(in crate::lower) fn from_int(cx: &mut Cx<'_, '_>, inst: Inst, signed: bool) -> LowerResult {
    let [x] = cx.args(inst);
    let value = cx.first_result(inst);
    let (from, to) = (cx.ty(x), cx.ty(value));
    cx.lanes(inst, from)?;
    cx.lanes(inst, to)?;
    let (def, source) = (cx.result(value), cx.use_reg(x));
    let convert = if signed { lanes::SCVTF } else { lanes::UCVTF };
    match (from.lane_bits(), to.lane_bits()) {
        (64, 32) => doublewords_to_single(cx, def, source, signed),
        (64, 16) => return Err(cx.unsupported(inst)),
        // In single precision integers of 24 bits are exact, and larger ones are infinite in half precision.
        (32, 16) => single_to_half(cx, def, convert, source),
        (_, 16) if !cx.isa.flags.has_fp16 => {
            let source = widened(cx, source, from.lane_bits(), 16, signed);
            integers_in_single(cx, def, convert, source, to, signed);
        }
        (narrow, bits) => {
            let working = working_lanes(cx, inst, bits, to.lane_count())?;
            let source = widened(cx, source, narrow, bits, signed);
            cx.define(def, convert, working, &[source]);
        }
    }
    Ok(())
}

/// Extends lanes of `from` bits in 8 bytes or less to `to` bits and returns the result.
fn widened(cx: &mut Cx<'_, '_>, mut source: VReg, from: u32, to: u32, signed: bool) -> VReg {
    let family = if signed { lanes::SSHLL } else { lanes::USHLL };
    let mut width = from;
    while width < to {
        source = cx.compute(family, Arrangement::new(width, false), &[source]);
        width *= 2;
    }
    source
}

const WORDS: Arrangement = Arrangement::new(32, true);

/// Converts integers of 16 bits to half precision by way of single precision, which represents them exactly.
fn integers_in_single(cx: &mut Cx<'_, '_>, def: VReg, convert: lanes::Lanes, source: VReg, to: Type, signed: bool) {
    let family = if signed { lanes::SSHLL } else { lanes::USHLL };
    let low = cx.compute(family, Arrangement::new(16, false), &[source]);
    if to.bits() < 128 {
        single_to_half(cx, def, convert, low);
        return;
    }
    let high = cx.compute(family, Arrangement::new(16, true), &[source]);
    let [low, high] = [low, high].map(|half| cx.compute(convert, WORDS, &[half]));
    let narrow = cx.compute(lanes::FCVTN, Arrangement::new(16, false), &[low]);
    cx.define(def, lanes::FCVTN2, Arrangement::new(16, true), &[narrow, high]);
}

fn single_to_half(cx: &mut Cx<'_, '_>, def: VReg, convert: lanes::Lanes, source: VReg) {
    let single = cx.compute(convert, WORDS, &[source]);
    cx.define(def, lanes::FCVTN, Arrangement::new(16, false), &[single]);
}

fn doublewords_to_single(cx: &mut Cx<'_, '_>, def: VReg, source: VReg, signed: bool) {
    let family = if signed { rows::SCVTF32_FR } else { rows::UCVTF32_FR };
    let [low, high] = [0, 1].map(|index| {
        let (integer, float) = (doubleword(cx, source, index), cx.float_temp(32));
        cx.emit(family.of(64), &[float, integer]);
        float
    });
    cx.define(def, lanes::ZIP1, Arrangement::new(32, false), &[low, high]);
}

/// Lowers `x86_cvtt2dq`. NaN and numbers that are too large become the least integer. Numbers below the least integer
/// saturate to it.
pub(in crate::lower) fn truncate(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [def, source] = cx.registers(inst);
    let [x] = cx.args(inst);
    let (from, to) = (cx.ty(x), cx.result_ty(inst));
    let arrangement = cx.lanes(inst, to)?;
    if from.lane_bits() != to.lane_bits() || from.lane_bits() < 32 {
        return Err(cx.unsupported(inst));
    }
    let (end, least) = if to.lane_bits() == 32 { (0x4f00_0000, 1 << 31) } else { (0x43e << 52, 1 << 63) };
    let [end, least] = [end, least].map(|lane: u64| cx.all_lanes(lane, to.lane_bits()));
    let fits = cx.compute(lanes::FCMGT, arrangement, &[end, source]);
    let integer = cx.compute(lanes::FCVTZS, arrangement, &[source]);
    cx.emit(rows::BSL_FFF.of(128), &[def, fits, integer, least]);
    Ok(())
}
