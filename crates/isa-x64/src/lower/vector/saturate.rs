//! Parts of narrowings with saturation.

use super::compare::sign_mask;
use super::repeated;
use crate::lower::cx::Cx;
use crate::rows;
use kingpost_regalloc::VReg;

/// Narrows lanes of 32 bits with saturation to unsigned lanes of 16 bits.
pub(super) fn unsigned_halves(cx: &mut Cx<'_, '_>, def: VReg, operands: [VReg; 2]) {
    if cx.can(rows::PACKUSDW) {
        cx.emit(rows::PACKUSDW, &[def, operands[0], operands[1]]);
        return;
    }
    let positive = operands.map(|v| without_negatives(cx, 32, v));
    pack_words(cx, def, positive);
}

/// Returns `x` with zeros in lanes whose top bit is set.
pub(super) fn without_negatives(cx: &mut Cx<'_, '_>, bits: u32, x: VReg) -> VReg {
    let negative = sign_mask(cx, bits, x);
    cx.make(rows::ANDNPS, &[negative, x])
}

/// Narrows lanes of 32 bits that are not negative, with saturation to unsigned lanes of 16 bits. The instruction is a
/// signed narrowing around zero.
pub(super) fn pack_words(cx: &mut Cx<'_, '_>, def: VReg, operands: [VReg; 2]) {
    let [x, y] = operands.map(|v| cx.make_with(rows::PSUB.of(32), v, repeated(0x8000, 32)));
    let packed = cx.make(rows::PACKSSDW, &[x, y]);
    cx.emit_with(rows::XORPS, &[def, packed], repeated(0x8000, 16));
}
