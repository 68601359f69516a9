//! Sign extensions, which loads do themselves, and concatenation of two integers.
//!
//! Before: `v1 = load.i8 v0; v2 = sextend.i64 v1`. After: `movsx v2, byte [v0]`.

use super::LowerResult;
use super::cx::Cx;
use crate::rows;
use kingpost_ir::Inst;
use kingpost_mach::lower as shared;
use kingpost_mach::{LowerBackend, RowId};
use kingpost_regalloc::VReg;

/// Returns rows that sign-extend `from` bits to `to` bits: from a register, and from memory.
pub(super) fn sign_extend_rows(from: u32, to: u32) -> (RowId, RowId) {
    match (from, to) {
        (8 | 16, ..=32) => (rows::MOVSX32_RR.of(from), rows::MOVSX32_RM.of(from)),
        (8 | 16, _) => (rows::MOVSX64_RR.of(from), rows::MOVSX64_RM.of(from)),
        (32, _) => (rows::MOVSX64_32_RR, rows::MOVSX64_32_RM),
        _ => (rows::MOV_RR.of(64), rows::MOV_RM.of(64)),
    }
}

/// Lowers `sextend`.
pub(super) fn sextend(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let value = cx.first_result(inst);
    let to = cx.ty(value).bits();
    let def = cx.result(value);
    extend(cx, inst, def, to)
}

/// Sign-extends the operand of `inst` to `to` bits in `def`.
pub(super) fn extend(cx: &mut Cx<'_, '_>, inst: Inst, def: VReg, to: u32) -> LowerResult {
    let [x] = cx.args(inst);
    let from = cx.ty(x).bits();
    match cx.fold_load(x, from, inst)? {
        Some(load) => {
            cx.emit_folded(sign_extend_rows(from, to).1, &[def], load);
        }
        None => {
            let source = cx.use_reg(x);
            cx.sign_extend(def, source, from, to);
        }
    }
    Ok(())
}

/// Lowers `iconcat`.
pub(super) fn iconcat(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [low, high] = cx.args(inst);
    let bits = cx.ty(low).bits();
    if bits == 64 {
        return shared::wide::iconcat(cx, inst);
    }
    let value = cx.first_result(inst);
    let (def, high) = (cx.result(value), cx.use_reg(high));
    let (shl, or) =
        if bits == 32 { (rows::SHL_RI.of(64), rows::OR_RR.of(64)) } else { (rows::SHL_RI.of(32), rows::OR_RR.of(32)) };
    let (shifted, extended) = (cx.int_temp(bits * 2), cx.int_temp(bits * 2));
    cx.emit_imm(shl, &[shifted, high], bits as i32);
    let source = cx.use_reg(low);
    cx.zero_extend(extended, source, bits);
    cx.emit(or, &[def, shifted, extended]);
    Ok(())
}
