//! Products: low and high halves, rounded ones, sums of them.
//!
//! Before: `v2 = swiden_low v0; v3 = swiden_low v1; v4 = imul v2, v3; v5 = iadd v4, v6`. After: `smlal v6.4s, v0.4h,
//! v1.4h`.

use super::super::cx::Cx;
use super::super::{LowerResult, tiles};
use super::narrow::Widened;
use super::pairwise::neighbours;
use crate::encoding::Arrangement;
use crate::rows;
use crate::rows::lanes::{self, Lanes};
use kingpost_ir::{Inst, Opcode, Value};
use kingpost_mach::LowerError;
use kingpost_regalloc::VReg;

/// Lowers `imul`.
pub(in crate::lower) fn multiply(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let args: [Value; 2] = cx.args(inst);
    let value = cx.first_result(inst);
    if let Some(product) = WidenedProduct::of(cx, args) {
        cx.count_tile(tiles::WIDENED_OPERAND);
        let (def, sources) = (cx.result(value), product.sources.map(|source| cx.use_reg(source)));
        let family = if product.signed { lanes::SMULL } else { lanes::UMULL };
        cx.define(def, family, product.lanes, &sources);
        return Ok(());
    }
    if cx.lane_row(inst, lanes::MUL).is_ok() {
        return super::plain(cx, inst, lanes::MUL);
    }
    cx.lanes(inst, cx.ty(value))?;
    let (def, [x, y]) = (cx.result(value), args.map(|arg| cx.use_reg(arg)));
    multiply_doublewords(cx, def, [x, y]);
    Ok(())
}

/// Multiplies lanes of 64 bits: adds the two products of low and high halves, shifts the sum up by 32 bits, and adds
/// the product of the low halves.
fn multiply_doublewords(cx: &mut Cx<'_, '_>, def: VReg, [x, y]: [VReg; 2]) {
    let words = Arrangement::new(32, true);
    let exchanged = cx.compute(lanes::REV64, words, &[y]);
    let crossed = cx.compute(lanes::MUL, words, &[exchanged, x]);
    let sums = cx.compute(lanes::UADDLP, words, &[crossed]);
    let moved = cx.compute_imm(lanes::SHL, Arrangement::new(64, true), &[sums], 32);
    let [x, y] = [x, y].map(|source| cx.compute(lanes::XTN, words.in_half(), &[source]));
    cx.define(def, lanes::UMLAL, words.in_half(), &[moved, x, y]);
}

/// Product of lanes that the instruction widens itself.
struct WidenedProduct {
    signed: bool,
    lanes: Arrangement,
    sources: [Value; 2],
}

impl WidenedProduct {
    fn of(cx: &Cx<'_, '_>, [x, y]: [Value; 2]) -> Option<WidenedProduct> {
        let (x, y) = (Widened::of(cx, x)?, Widened::of(cx, y)?);
        let Widened { signed, lanes, .. } = x;
        x.is_like(y).then_some(WidenedProduct { signed, lanes, sources: [x.source, y.source] })
    }
}

/// Emits a sum or difference with a product that has no other use. Returns `false` if there is none.
pub(super) fn multiply_add(
    cx: &mut Cx<'_, '_>,
    inst: Inst,
    [addend, other]: [Value; 2],
    subtract: bool,
) -> Result<bool, LowerError> {
    let Some(product) = cx.def_as(other, Opcode::Imul).filter(|_| cx.is_single_use(other)) else { return Ok(false) };
    let args: [Value; 2] = cx.args(product);
    let (family, arrangement, sources) = if let Some(product) = WidenedProduct::of(cx, args) {
        let family = match (product.signed, subtract) {
            (true, false) => lanes::SMLAL,
            (true, true) => lanes::SMLSL,
            (false, false) => lanes::UMLAL,
            (false, true) => lanes::UMLSL,
        };
        (family, product.lanes, product.sources)
    } else {
        let family = if subtract { lanes::MLS } else { lanes::MLA };
        let arrangement = cx.lanes(inst, cx.ty(addend))?;
        if family.find(arrangement).is_none() {
            return Ok(false);
        }
        (family, arrangement, args)
    };
    cx.count_tile(tiles::MULTIPLY_ADD_LANES);
    let value = cx.first_result(inst);
    let operands = [addend, sources[0], sources[1]].map(|source| cx.use_reg(source));
    let def = cx.result(value);
    cx.define(def, family, arrangement, &operands);
    Ok(true)
}

/// Emits a sum with products of bytes, where each lane adds four products. Returns `false` if `other` has another
/// form or the CPU has no such instruction.
pub(super) fn dot_product(cx: &mut Cx<'_, '_>, inst: Inst, addend: Value, other: Value) -> bool {
    let Some(sums) = cx.def_as(other, Opcode::IaddPairwise).filter(|_| cx.is_single_use(other)) else { return false };
    let Some((family, sources)) = products_of_bytes(cx, sums) else { return false };
    cx.count_tile(tiles::DOT_PRODUCT);
    let value = cx.first_result(inst);
    let operands = [addend, sources[0], sources[1]].map(|source| cx.use_reg(source));
    let def = cx.result(value);
    cx.define(def, family, Arrangement::new(32, true), &operands);
    true
}

/// Returns the instruction and the two vectors of bytes of an `iadd_pairwise` that adds four products of bytes per
/// lane.
fn products_of_bytes(cx: &Cx<'_, '_>, sums: Inst) -> Option<(Lanes, [Value; 2])> {
    let halves: [Value; 2] = cx.args(sums);
    let mut parts = [None; 2];
    for (part, half) in parts.iter_mut().zip(halves) {
        let inner = cx.def_as(half, Opcode::IaddPairwise)?;
        let (product, signed, _) = neighbours(cx, cx.args(inner))?;
        let [x, y] = cx.args::<2>(cx.def_as(product, Opcode::Imul)?).map(|factor| Widened::of(cx, factor));
        *part = Some((signed, x?, y?));
    }
    let [(signed, x, y), (signed_high, x_high, y_high)] = [parts[0]?, parts[1]?];
    let in_order = |low: Widened, high: Widened| {
        low.source == high.source && low.signed == high.signed && !low.lanes.is_full() && high.lanes.is_full()
    };
    let bytes = x.lanes.lane_bits() == 8 && signed == signed_high;
    if !bytes || !in_order(x, x_high) || !in_order(y, y_high) {
        return None;
    }
    let (family, sources) = match (signed, x.signed, y.signed) {
        (true, true, true) => (lanes::SDOT, [x.source, y.source]),
        (false, false, false) => (lanes::UDOT, [x.source, y.source]),
        (true, false, true) => (lanes::USDOT, [x.source, y.source]),
        (true, true, false) => (lanes::USDOT, [y.source, x.source]),
        _ => return None,
    };
    cx.find_row(family, Arrangement::new(32, true)).map(|_| (family, sources))
}

/// Lowers `umulhi`, `smulhi`: the upper halves of products of twice the width.
pub(in crate::lower) fn multiply_high(cx: &mut Cx<'_, '_>, inst: Inst, signed: bool) -> LowerResult {
    let [def, x, y] = cx.registers(inst);
    let arrangement = cx.lanes(inst, cx.result_ty(inst))?;
    let bits = arrangement.lane_bits();
    let family = if signed { lanes::SMULL } else { lanes::UMULL };
    if bits == 64 {
        let row = if signed { rows::SMULH_RRR } else { rows::UMULH_RRR };
        each_doubleword(cx, def, |cx, def, index| {
            let sources = [x, y].map(|vector| doubleword(cx, vector, index));
            cx.emit(row, &[def, sources[0], sources[1]]);
        });
        return Ok(());
    }
    let low = cx.compute(family, arrangement.in_half(), &[x, y]);
    if arrangement.is_full() {
        let high = cx.compute(family, arrangement, &[x, y]);
        cx.define(def, lanes::UZP2, arrangement, &[low, high]);
    } else {
        cx.define_imm(def, lanes::SHRN, arrangement, &[low], bits as i32);
    }
    Ok(())
}

/// Returns lane `index` of two lanes of 64 bits in an integer register.
pub(super) fn doubleword(cx: &mut Cx<'_, '_>, vector: VReg, index: i32) -> VReg {
    let def = cx.int_temp(64);
    if index == 0 {
        cx.emit(rows::FMOV_RF.of(64), &[def, vector]);
    } else {
        cx.define_imm(def, lanes::UMOV_XE, Arrangement::new(64, true), &[vector], index);
    }
    def
}

/// Sets `def` to two lanes of 64 bits that `compute` makes in integer registers.
fn each_doubleword(cx: &mut Cx<'_, '_>, def: VReg, mut compute: impl FnMut(&mut Cx<'_, '_>, VReg, i32)) {
    let [low, high] = std::array::from_fn(|_| cx.int_temp(64));
    compute(cx, low, 0);
    compute(cx, high, 1);
    let image = cx.vector_temp();
    cx.emit(rows::FMOV_FR.of(64), &[image, low]);
    cx.emit(rows::INS64_HIGH_FR, &[def, image, high]);
}

/// Lowers `x86_pmulhrsw` like `sqmul_round_sat`, except that the one product that is out of range wraps.
pub(in crate::lower) fn multiply_round(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [def, x, y] = cx.registers(inst);
    let arrangement = cx.lanes(inst, cx.result_ty(inst))?;
    let amount = arrangement.lane_bits() as i32 - 1;
    let low = cx.compute(lanes::SMULL, arrangement.in_half(), &[x, y]);
    if !arrangement.is_full() {
        cx.define_imm(def, lanes::RSHRN, arrangement, &[low], amount);
        return Ok(());
    }
    let high = cx.compute(lanes::SMULL, arrangement, &[x, y]);
    let half = cx.compute_imm(lanes::RSHRN, arrangement.in_half(), &[low], amount);
    cx.define_imm(def, lanes::RSHRN2, arrangement, &[half, high], amount);
    Ok(())
}

/// Lowers `x86_pmaddubsw`. The products of signed and unsigned bytes fit into 16 bits; the sums of neighbors saturate.
pub(in crate::lower) fn multiply_add_bytes(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [def, x, y] = cx.registers(inst);
    let halfwords = Arrangement::new(16, true);
    let products = [false, true].map(|full| {
        let bytes = Arrangement::new(8, full);
        let x = cx.compute(lanes::SSHLL, bytes, &[x]);
        let y = cx.compute(lanes::USHLL, bytes, &[y]);
        cx.compute(lanes::MUL, halfwords, &[x, y])
    });
    let [even, odd] = [lanes::UZP1, lanes::UZP2].map(|family| cx.compute(family, halfwords, &products));
    cx.define(def, lanes::SQADD, halfwords, &[even, odd]);
    Ok(())
}
