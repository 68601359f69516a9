//! Sums of neighboring lanes.
//!
//! Before: `v2 = swiden_low v0; v3 = swiden_high v0; v4 = iadd_pairwise v2, v3`. After: `saddlp v4.4s, v0.8h`.

use super::super::cx::Cx;
use super::super::{LowerResult, tiles};
use super::narrow::Widened;
use crate::encoding::Arrangement;
use crate::rows::lanes;
use kingpost_ir::{Inst, Opcode, Value};

/// Lowers `iadd_pairwise`. If the operands are the two widened halves of one vector, one instruction adds its
/// neighbors.
pub(in crate::lower) fn pairwise(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [x, y] = cx.args(inst);
    let ty = cx.ty(x);
    let arrangement = cx.lanes(inst, ty)?;
    let value = cx.first_result(inst);
    let def = cx.result(value);
    if let Some((source, signed, arrangement)) = neighbours(cx, [x, y]) {
        cx.count_tile(tiles::WIDENED_OPERAND);
        let source = cx.use_reg(source);
        cx.define(def, if signed { lanes::SADDLP } else { lanes::UADDLP }, arrangement, &[source]);
        return Ok(());
    }
    let (x, y) = (cx.use_reg(x), cx.use_reg(y));
    if ty.bits() >= 64 {
        cx.define(def, lanes::ADDP, arrangement, &[x, y]);
    } else {
        // The lanes of both operands are joined in one register.
        let both = cx.compute(lanes::ZIP1, Arrangement::new(ty.bits(), false), &[x, y]);
        cx.define(def, lanes::ADDP, arrangement, &[both, both]);
    }
    Ok(())
}

/// Returns the vector whose widened halves are the operands, whether they are sign-extended, and the lanes of the
/// upper half.
pub(super) fn neighbours(cx: &Cx<'_, '_>, [x, y]: [Value; 2]) -> Option<(Value, bool, Arrangement)> {
    let (low, high) = (Widened::of(cx, x)?, Widened::of(cx, y)?);
    let matches = !low.lanes.is_full() && high.lanes.is_full();
    let same = low.source == high.source && low.signed == high.signed;
    (matches && same).then_some((high.source, high.signed, high.lanes))
}

/// Emits a sum with the sums of neighbors, all of twice their width. Returns `false` if `other` has another form.
pub(super) fn pairwise_add(cx: &mut Cx<'_, '_>, inst: Inst, [addend, other]: [Value; 2]) -> bool {
    let Some(sums) = cx.def_as(other, Opcode::IaddPairwise).filter(|_| cx.is_single_use(other)) else { return false };
    let Some((source, signed, arrangement)) = neighbours(cx, cx.args(sums)) else { return false };
    cx.count_tile(tiles::WIDENED_OPERAND);
    let value = cx.first_result(inst);
    let operands = [cx.use_reg(addend), cx.use_reg(source)];
    let def = cx.result(value);
    cx.define(def, if signed { lanes::SADALP } else { lanes::UADALP }, arrangement, &operands);
    true
}
