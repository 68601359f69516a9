//! Products.
//!
//! Before: `v2 = imul.i64x2 v0, v1`. After: three products of 32-bit halves, shifted and added.

use super::compare::sign_mask;
use super::narrow::cut_down;
use super::widen::Half;
use super::{LowerResult, by_row, repeated};
use crate::lower::cx::Cx;
use crate::lower::tiles;
use crate::rows;
use kingpost_ir::{Inst, Opcode, Value};
use kingpost_regalloc::VReg;

/// Immediate of `pshufd` that moves odd lanes to even places. Unlike a shift it needs no copy of the operand.
const ODD_LANES: i32 = 0xf5;

/// Returns the operand of a widening from 128 bits, its half, and whether the widening is signed.
pub(super) fn widened(cx: &Cx<'_, '_>, value: Value) -> Option<(Value, Half, bool)> {
    let inst = cx.def(value)?;
    let (half, signed) = match cx.func.dfg.opcode(inst) {
        Opcode::SwidenLow => (Half::Low, true),
        Opcode::SwidenHigh => (Half::High, true),
        Opcode::UwidenLow => (Half::Low, false),
        Opcode::UwidenHigh => (Half::High, false),
        _ => return None,
    };
    let [x] = cx.args(inst);
    (cx.ty(x).bits() == 128).then_some((x, half, signed))
}

/// Returns the operands of a product whose factors are widened alike.
pub(super) fn widened_both(cx: &Cx<'_, '_>, inst: Inst) -> Option<([Value; 2], Half, bool)> {
    let [x, y] = cx.args(inst);
    let ((x, half, signed), (y, other_half, other_signed)) = (widened(cx, x)?, widened(cx, y)?);
    (half == other_half && signed == other_signed).then_some(([x, y], half, signed))
}

/// Emits a product of widened lanes. Returns `false` if `inst` has another form, or another sequence is better.
fn long_product(cx: &mut Cx<'_, '_>, inst: Inst) -> bool {
    let Some((operands, half, signed)) = widened_both(cx, inst) else { return false };
    let value = cx.first_result(inst);
    match cx.ty(value).lane_bits() {
        64 if !signed || cx.can(rows::PMULDQ) => {
            let def = cx.result(value);
            let lanes = if half == Half::Low { 0x50 } else { 0xfa };
            let [x, y] = operands.map(|v| {
                let v = cx.use_reg(v);
                cx.make_imm(rows::PSHUFD, &[v], lanes)
            });
            cx.emit(if signed { rows::PMULDQ } else { rows::PMULUDQ }, &[def, x, y]);
        }
        32 => {
            let def = cx.result(value);
            let operands = operands.map(|v| cx.use_reg(v));
            let high = if signed { rows::PMULHW } else { rows::PMULHUW };
            let [low, high] = [rows::PMULL.of(16), high].map(|row| cx.make(row, &operands));
            let unpack = if half == Half::Low { rows::PUNPCKL } else { rows::PUNPCKH };
            cx.emit(unpack.of(16), &[def, low, high]);
        }
        _ => return false,
    }
    cx.count_tile(tiles::LONG_PRODUCT);
    true
}

/// Lowers `imul`.
pub(in crate::lower) fn imul(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let bits = cx.result_ty(inst).lane_bits();
    if long_product(cx, inst) {
        return Ok(());
    }
    if let Some(row) = cx.lane_row(rows::PMULL, bits) {
        return by_row(cx, inst, row);
    }
    let (def, operands) = cx.binary(inst);
    match bits {
        8 => bytes(cx, def, operands),
        32 => {
            let odd = cx.args::<2>(inst).map(|v| cx.def_as(v, Opcode::Splat).is_none());
            let [even, odd] = whole_or_equal(cx, operands, odd);
            let [even, odd] = [even, odd].map(|v| cx.make_imm(rows::PSHUFD, &[v], 0x08));
            cx.emit(rows::PUNPCKL.of(32), &[def, even, odd]);
        }
        _ => quads(cx, def, operands),
    }
    Ok(())
}

/// Multiplies bytes: odd ones in the upper halves of 16 bits, even ones in the lower halves.
fn bytes(cx: &mut Cx<'_, '_>, def: VReg, [x, y]: [VReg; 2]) {
    let product = cx.make(rows::PMULL.of(16), &[x, y]);
    let even = cx.make_with(rows::ANDPS, product, repeated(0xff, 16));
    let down = cx.make_imm(rows::PSRL_RI.of(16), &[x], 8);
    let upper = cx.make_with(rows::ANDPS, y, repeated(0xff00, 16));
    let odd = cx.make(rows::PMULL.of(16), &[upper, down]);
    cx.emit(rows::ORPS, &[def, even, odd]);
}

/// Returns the unsigned products of 64 bits of even and of odd lanes of 32 bits.
fn whole(cx: &mut Cx<'_, '_>, operands: [VReg; 2]) -> [VReg; 2] {
    whole_or_equal(cx, operands, [true; 2])
}

/// Returns the unsigned products of 64 bits of even and of odd lanes of 32 bits. Odd lanes of an operand may differ
/// from its even ones only if `differ` is set for it.
fn whole_or_equal(cx: &mut Cx<'_, '_>, operands: [VReg; 2], differ: [bool; 2]) -> [VReg; 2] {
    let mut odd = operands;
    for (odd, _) in odd.iter_mut().zip(differ).filter(|&(_, differs)| differs) {
        *odd = cx.make_imm(rows::PSHUFD, &[*odd], ODD_LANES);
    }
    [operands, odd].map(|operands| cx.make(rows::PMULUDQ, &operands))
}

/// Returns the signed products of 64 bits of even and of odd lanes of 32 bits. Without `pmuldq`, each operand is
/// subtracted from the upper half where the other one is negative.
fn whole_signed(cx: &mut Cx<'_, '_>, operands: [VReg; 2]) -> [VReg; 2] {
    if cx.can(rows::PMULDQ) {
        let even = cx.make(rows::PMULDQ, &operands);
        let [x, y] = operands.map(|v| cx.make_imm(rows::PSHUFD, &[v], ODD_LANES));
        return [even, cx.make(rows::PMULDQ, &[x, y])];
    }
    let products = whole(cx, operands);
    let [x, y] = operands;
    let [first, second] = [[x, y], [y, x]].map(|[v, other]| {
        let negative = sign_mask(cx, 32, v);
        cx.make(rows::ANDPS, &[negative, other])
    });
    let excess = cx.make(rows::PADD.of(32), &[first, second]);
    let even = cx.make_imm(rows::PSLL_RI.of(64), &[excess], 32);
    let odd = cx.make_with(rows::ANDPS, excess, repeated(0xffff_ffff << 32, 64));
    [cx.make(rows::PSUB.of(64), &[products[0], even]), cx.make(rows::PSUB.of(64), &[products[1], odd])]
}

/// Multiplies lanes of 64 bits: the product of the low halves, plus the two mixed products shifted up.
fn quads(cx: &mut Cx<'_, '_>, def: VReg, [x, y]: [VReg; 2]) {
    let [x_high, y_high] = [x, y].map(|v| cx.make_imm(rows::PSHUFD, &[v], ODD_LANES));
    let mixed = [[x_high, y], [y_high, x]].map(|operands| cx.make(rows::PMULUDQ, &operands));
    let sum = cx.make(rows::PADD.of(64), &mixed);
    let up = cx.make_imm(rows::PSLL_RI.of(64), &[sum], 32);
    let low = cx.make(rows::PMULUDQ, &[x, y]);
    cx.emit(rows::PADD.of(64), &[def, low, up]);
}

/// Lowers `umulhi`, `smulhi`.
pub(in crate::lower) fn high(cx: &mut Cx<'_, '_>, inst: Inst, signed: bool) -> LowerResult {
    let bits = cx.result_ty(inst).lane_bits();
    if bits == 16 {
        return by_row(cx, inst, if signed { rows::PMULHW } else { rows::PMULHUW });
    }
    let (def, [x, y]) = cx.binary(inst);
    match bits {
        8 => {
            let halves = [rows::PUNPCKL, rows::PUNPCKH].map(|half| {
                // Bytes are in the upper halves of 16 bits, so that the upper byte of the high half of a product is
                // their high half.
                let [x, y] = [x, y].map(|v| {
                    let zero = cx.vector(0);
                    cx.make(half.of(8), &[zero, v])
                });
                let product = cx.make(if signed { rows::PMULHW } else { rows::PMULHUW }, &[x, y]);
                cx.make_imm(rows::PSRL_RI.of(16), &[product], 8)
            });
            cx.emit(rows::PACKUSWB, &[def, halves[0], halves[1]]);
        }
        32 if !signed => high_of_words(cx, def, [x, y]),
        32 => {
            let plain = cx.vector_temp();
            high_of_words(cx, plain, [x, y]);
            without_signs(cx, def, plain, [x, y], bits);
        }
        _ if !signed => high_of_quads(cx, def, [x, y]),
        _ => {
            let plain = cx.vector_temp();
            high_of_quads(cx, plain, [x, y]);
            without_signs(cx, def, plain, [x, y], bits);
        }
    }
    Ok(())
}

/// Computes the high halves of unsigned products of 32 bits.
fn high_of_words(cx: &mut Cx<'_, '_>, def: VReg, operands: [VReg; 2]) {
    let [even, odd] = whole(cx, operands);
    let [even, odd] = [even, odd].map(|v| cx.make_imm(rows::PSHUFD, &[v], 0x0d));
    cx.emit(rows::PUNPCKL.of(32), &[def, even, odd]);
}

/// Computes the high halves of unsigned products of 64 bits: four products of halves, with their carries.
fn high_of_quads(cx: &mut Cx<'_, '_>, def: VReg, [x, y]: [VReg; 2]) {
    let add = rows::PADD.of(64);
    let upper = |cx: &mut Cx<'_, '_>, v| cx.make_imm(rows::PSRL_RI.of(64), &[v], 32);
    let [x_high, y_high] = [upper(cx, x), upper(cx, y)];
    let products = [[x, y], [x_high, y], [x, y_high], [x_high, y_high]];
    let [low, first, second, high] = products.map(|operands| cx.make(rows::PMULUDQ, &operands));
    let carry = upper(cx, low);
    let middle = cx.make(add, &[first, carry]);
    let middle_low = cx.make_with(rows::ANDPS, middle, repeated(0xffff_ffff, 64));
    let second = cx.make(add, &[second, middle_low]);
    let [middle, second] = [upper(cx, middle), upper(cx, second)];
    let high = cx.make(add, &[high, middle]);
    cx.emit(add, &[def, high, second]);
}

/// Sets `def` to the high halves of signed products: subtracts each operand from the unsigned high half where the
/// other one is negative.
fn without_signs(cx: &mut Cx<'_, '_>, def: VReg, plain: VReg, [x, y]: [VReg; 2], bits: u32) {
    let [first, second] = [[x, y], [y, x]].map(|[v, other]| {
        let negative = sign_mask(cx, bits, v);
        cx.make(rows::ANDPS, &[negative, other])
    });
    let less = cx.make(rows::PSUB.of(bits), &[plain, first]);
    cx.emit(rows::PSUB.of(bits), &[def, less, second]);
}

/// Returns products of 16-bit lanes, doubled and rounded, in lanes of 32 bits: for the low lanes and for the high
/// ones.
fn rounded(cx: &mut Cx<'_, '_>, [x, y]: [VReg; 2]) -> [VReg; 2] {
    let [low, high] = [rows::PMULL.of(16), rows::PMULHW].map(|row| cx.make(row, &[x, y]));
    [rows::PUNPCKL, rows::PUNPCKH].map(|half| {
        let product = cx.make(half.of(16), &[low, high]);
        let sum = cx.make_with(rows::PADD.of(32), product, repeated(0x4000, 32));
        cx.make_imm(rows::PSRA_RI.of(32), &[sum], 15)
    })
}

/// Sets `def` to products of 32-bit lanes, doubled and rounded: bits 31 to 62 of each.
fn rounded_words(cx: &mut Cx<'_, '_>, def: VReg, operands: [VReg; 2]) {
    let [even, odd] = whole_signed(cx, operands).map(|v| cx.make_with(rows::PADD.of(64), v, repeated(1 << 30, 64)));
    let even = cx.make_imm(rows::PSRL_RI.of(64), &[even], 31);
    let odd = cx.make_imm(rows::PSLL_RI.of(64), &[odd], 1);
    let even = cx.make_with(rows::ANDPS, even, repeated(0xffff_ffff, 64));
    let odd = cx.make_with(rows::ANDPS, odd, repeated(0xffff_ffff << 32, 64));
    cx.emit(rows::ORPS, &[def, even, odd]);
}

/// Lowers `sqmul_round_sat`: `pmulhrsw`, except that the product of two minimums is clamped.
pub(in crate::lower) fn sqmul_round_sat(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let (def, operands) = cx.binary(inst);
    match cx.result_ty(inst).lane_bits() {
        16 if cx.can(rows::PMULHRSW) => {
            let product = cx.make(rows::PMULHRSW, &operands);
            let wrong = cx.make_with(rows::PCMPEQ.of(16), product, repeated(0x8000, 16));
            cx.emit(rows::XORPS, &[def, product, wrong]);
        }
        16 => {
            let [low, high] = rounded(cx, operands);
            cx.emit(rows::PACKSSDW, &[def, low, high]);
        }
        32 => {
            let product = cx.vector_temp();
            rounded_words(cx, product, operands);
            let wrong = cx.make_with(rows::PCMPEQ.of(32), product, repeated(1 << 31, 32));
            cx.emit(rows::XORPS, &[def, product, wrong]);
        }
        _ => return Err(cx.unsupported(inst)),
    }
    Ok(())
}

/// Lowers `x86_pmulhrsw`.
pub(in crate::lower) fn pmulhrsw(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    match cx.result_ty(inst).lane_bits() {
        16 if cx.can(rows::PMULHRSW) => return by_row(cx, inst, rows::PMULHRSW),
        16 => {
            let (def, operands) = cx.binary(inst);
            let halves = rounded(cx, operands);
            cut_down(cx, def, 16, halves);
        }
        32 => {
            let (def, operands) = cx.binary(inst);
            rounded_words(cx, def, operands);
        }
        _ => return Err(cx.unsupported(inst)),
    }
    Ok(())
}

/// Lowers `x86_pmaddubsw`. The opcode takes signed bytes first, and the instruction takes unsigned bytes first.
pub(in crate::lower) fn pmaddubsw(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let (def, [x, y]) = cx.binary(inst);
    if cx.can(rows::PMADDUBSW) {
        cx.emit(rows::PMADDUBSW, &[def, y, x]);
        return Ok(());
    }
    let up = cx.make_imm(rows::PSLL_RI.of(16), &[x], 8);
    let even = cx.make_imm(rows::PSRA_RI.of(16), &[up], 8);
    let even_y = cx.make_with(rows::ANDPS, y, repeated(0xff, 16));
    let odd = cx.make_imm(rows::PSRA_RI.of(16), &[x], 8);
    let odd_y = cx.make_imm(rows::PSRL_RI.of(16), &[y], 8);
    let [even, odd] = [[even, even_y], [odd, odd_y]].map(|operands| cx.make(rows::PMULL.of(16), &operands));
    cx.emit(rows::PADDS.of(16), &[def, even, odd]);
    Ok(())
}
