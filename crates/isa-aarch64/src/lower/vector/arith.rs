//! Sums, differences, averages; arithmetic of floats.
//!
//! Before: `v2 = swiden_low v0; v3 = swiden_low v1; v4 = iadd v2, v3`. After: `saddl v4.4s, v0.4h, v1.4h`.
//!
//! Under `enable_nan_canonicalization` each lane of a result of floating-point arithmetic passes through
//! [`arithmetic`].

use super::super::cx::Cx;
use super::super::{LowerResult, tiles};
use super::multiply::{dot_product, multiply_add};
use super::narrow::Widened;
use super::pairwise::pairwise_add;
use crate::encoding::Arrangement;
use crate::rows;
use crate::rows::lanes::{self, Lanes};
use kingpost_ir::{Inst, Opcode, Value};
use kingpost_mach::LowerError;
use kingpost_regalloc::VReg;
use smallvec::SmallVec;

/// Lowers `iadd`.
pub(in crate::lower) fn add(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [x, y] = cx.args(inst);
    for [addend, other] in [[x, y], [y, x]] {
        if dot_product(cx, inst, addend, other)
            || multiply_add(cx, inst, [addend, other], false)?
            || shift_add(cx, inst, [addend, other])?
            || pairwise_add(cx, inst, [addend, other])
        {
            return Ok(());
        }
    }
    if widened_sum(cx, inst, [x, y], &ADDITION) || widened_sum(cx, inst, [y, x], &ADDITION) {
        return Ok(());
    }
    super::plain(cx, inst, lanes::ADD)
}

/// Lowers `isub`.
pub(in crate::lower) fn subtract(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let args: [Value; 2] = cx.args(inst);
    if multiply_add(cx, inst, args, true)? || widened_sum(cx, inst, args, &SUBTRACTION) {
        return Ok(());
    }
    super::plain(cx, inst, lanes::SUB)
}

/// Sums and differences of lanes of half the width, unsigned and signed.
struct WidenedSum {
    both: [Lanes; 2],
    second: [Lanes; 2],
}

const ADDITION: WidenedSum = WidenedSum { both: [lanes::UADDL, lanes::SADDL], second: [lanes::UADDW, lanes::SADDW] };
const SUBTRACTION: WidenedSum = WidenedSum { both: [lanes::USUBL, lanes::SSUBL], second: [lanes::USUBW, lanes::SSUBW] };

/// Emits a sum or difference that widens its second operand, or both operands, by itself. Returns `false` if the
/// second operand is not widened.
fn widened_sum(cx: &mut Cx<'_, '_>, inst: Inst, [x, y]: [Value; 2], sum: &WidenedSum) -> bool {
    let Some(second) = Widened::of(cx, y) else { return false };
    let value = cx.first_result(inst);
    let (def, family, first) = match Widened::of(cx, x).filter(|first| first.is_like(second)) {
        Some(first) => (cx.result(value), sum.both, first.source),
        None => (cx.result(value), sum.second, x),
    };
    cx.count_tile(tiles::WIDENED_OPERAND);
    let sources = [cx.use_reg(first), cx.use_reg(second.source)];
    cx.define(def, family[usize::from(second.signed)], second.lanes, &sources);
    true
}

/// Emits a sum with a value that is shifted right by a constant. Returns `false` if there is none.
fn shift_add(cx: &mut Cx<'_, '_>, inst: Inst, [addend, other]: [Value; 2]) -> Result<bool, LowerError> {
    let Some(def) = cx.def(other).filter(|_| cx.is_single_use(other)) else { return Ok(false) };
    let family = match cx.func.dfg.opcode(def) {
        Opcode::Ushr => lanes::USRA,
        Opcode::Sshr => lanes::SSRA,
        _ => return Ok(false),
    };
    let [x, amount] = cx.args(def);
    let ty = cx.ty(x);
    let arrangement = cx.lanes(inst, ty)?;
    let Some(amount) = cx.constant(amount).map(|n| n as u32 & (ty.lane_bits() - 1)).filter(|&n| n != 0) else {
        return Ok(false);
    };
    cx.count_tile(tiles::SHIFT_ADD_LANES);
    let value = cx.first_result(inst);
    let operands = [cx.use_reg(addend), cx.use_reg(x)];
    let def = cx.result(value);
    cx.define_imm(def, family, arrangement, &operands, amount as i32);
    Ok(true)
}

/// Lowers `avg_round`: `(x | y) - ((x ^ y) >> 1)` where there is no instruction.
pub(in crate::lower) fn average(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    if cx.lane_row(inst, lanes::URHADD).is_ok() {
        return super::plain(cx, inst, lanes::URHADD);
    }
    let [def, x, y] = cx.registers(inst);
    let arrangement = cx.lanes(inst, cx.result_ty(inst))?;
    let [either, differing] = std::array::from_fn(|_| cx.vector_temp());
    cx.emit(rows::ORR_FFF.of(128), &[either, x, y]);
    cx.emit(rows::EOR_FFF.of(128), &[differing, x, y]);
    let half = cx.compute_imm(lanes::USHR, arrangement, &[differing], 1);
    cx.define(def, lanes::SUB, arrangement, &[either, half]);
    Ok(())
}

/// Lowers arithmetic on floats that is one instruction. Half precision is computed in single precision if the CPU
/// requires it.
pub(in crate::lower) fn float(cx: &mut Cx<'_, '_>, inst: Inst, family: Lanes) -> LowerResult {
    let value = cx.first_result(inst);
    let arrangement = cx.lanes(inst, cx.ty(value))?;
    let def = cx.result(value);
    let args = cx.func.dfg.inst_args(inst);
    let sources: SmallVec<[VReg; 2]> = args.iter().map(|&arg| cx.use_reg(arg)).collect();
    if cx.find_row(family, arrangement).is_some() {
        with_canonical_nans(cx, def, arrangement, |cx, def| cx.define(def, family, arrangement, &sources));
    } else {
        in_single(cx, def, arrangement, &sources, [lanes::FCVTN, lanes::FCVTN2], |cx, sources| {
            let def = cx.vector_temp();
            with_canonical_nans(cx, def, WORDS, |cx, def| cx.define(def, family, WORDS, sources));
            def
        });
    }
    Ok(())
}

/// Four lanes of single precision.
const WORDS: Arrangement = Arrangement::new(32, true);

/// Emits `compute` on lanes of single precision that are converted from lanes of half precision in `sources`: on the
/// lower lanes, and in vectors of 16 bytes on the upper ones. Narrows the results by the two operations in `narrow`.
pub(super) fn in_single(
    cx: &mut Cx<'_, '_>,
    def: VReg,
    halves: Arrangement,
    sources: &[VReg],
    narrow: [Lanes; 2],
    compute: impl Fn(&mut Cx<'_, '_>, &[VReg]) -> VReg,
) {
    let part = |cx: &mut Cx<'_, '_>, part| {
        let singles: SmallVec<[VReg; 2]> =
            sources.iter().map(|&source| cx.compute(lanes::FCVTL, part, &[source])).collect();
        compute(cx, &singles)
    };
    let low = part(cx, halves.in_half());
    if !halves.is_full() {
        cx.define(def, narrow[0], halves, &[low]);
        return;
    }
    let high = part(cx, halves);
    let lower = cx.compute(narrow[0], halves.in_half(), &[low]);
    cx.define(def, narrow[1], halves, &[lower, high]);
}

/// Emits the result of `inst` by `compute`, then makes the NaNs among its lanes canonical if the setting requires it.
pub(super) fn arithmetic(cx: &mut Cx<'_, '_>, inst: Inst, compute: impl FnOnce(&mut Cx<'_, '_>, VReg)) -> LowerResult {
    let value = cx.first_result(inst);
    let arrangement = cx.lanes(inst, cx.ty(value))?;
    let def = cx.result(value);
    with_canonical_nans(cx, def, arrangement, compute);
    Ok(())
}

/// Emits `def` by `compute`, then makes the NaNs among its lanes canonical if the setting requires it.
fn with_canonical_nans(
    cx: &mut Cx<'_, '_>,
    def: VReg,
    arrangement: Arrangement,
    compute: impl FnOnce(&mut Cx<'_, '_>, VReg),
) {
    if !cx.settings.enable_nan_canonicalization {
        return compute(cx, def);
    }
    let raw = cx.vector_temp();
    compute(cx, raw);
    let nan = match arrangement.lane_bits() {
        16 => 0x7e00,
        32 => 0x7fc0_0000,
        _ => 0x7ff8 << 48,
    };
    let canonical = cx.all_lanes(nan, arrangement.lane_bits());
    let is_number = cx.compute(lanes::FCMEQ, arrangement, &[raw, raw]);
    cx.emit(rows::BSL_FFF.of(128), &[def, is_number, raw, canonical]);
}

/// Lowers `fneg`, `fabs`. Without arithmetic in half precision, the signs of half floats are changed as bits.
pub(in crate::lower) fn change_sign(cx: &mut Cx<'_, '_>, inst: Inst, family: Lanes) -> LowerResult {
    if cx.lane_row(inst, family).is_ok() {
        return super::plain(cx, inst, family);
    }
    let [def, x] = cx.registers(inst);
    cx.lanes(inst, cx.result_ty(inst))?;
    let signs = cx.all_lanes(0x8000, 16);
    let row = if cx.func.dfg.opcode(inst) == Opcode::Fneg { rows::EOR_FFF } else { rows::BIC_FFF };
    cx.emit(row.of(128), &[def, x, signs]);
    Ok(())
}

/// Lowers `ceil`, `floor`, `trunc`, `nearest`.
pub(in crate::lower) fn round(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let family = match cx.func.dfg.opcode(inst) {
        Opcode::Nearest => lanes::FRINTN,
        Opcode::Floor => lanes::FRINTM,
        Opcode::Ceil => lanes::FRINTP,
        _ => lanes::FRINTZ,
    };
    float(cx, inst, family)
}

/// Lowers `fma`. The result replaces the addend. The instruction can negate one factor.
pub(in crate::lower) fn fma(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [x, y, z] = cx.args(inst);
    cx.lane_row(inst, lanes::FMLA)?;
    let arrangement = cx.lanes(inst, cx.ty(x))?;
    arithmetic(cx, inst, |cx, def| {
        let (x, negate_x) = cx.without_sign_change(x);
        let (y, negate_y) = cx.without_sign_change(y);
        let family = if negate_x != negate_y { lanes::FMLS } else { lanes::FMLA };
        let sources = [cx.use_reg(z), cx.use_reg(x), cx.use_reg(y)];
        cx.define(def, family, arrangement, &sources);
    })
}
