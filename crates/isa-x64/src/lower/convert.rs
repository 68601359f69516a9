//! Sign extensions, of loads by the load itself.

use super::Lowered;
use super::cx::Cx;
use crate::rows;
use kingpost_ir::Inst;
use kingpost_mach::{Machine, RowId};

/// Rows that sign-extend `from` bits to `to` bits: from a register, and from memory.
pub(super) fn sign_extend_rows(from: u32, to: u32) -> (RowId, RowId) {
    match (from, to) {
        (8 | 16, ..=32) => (rows::MOVSX32_RR.of(from), rows::MOVSX32_RM.of(from)),
        (8 | 16, _) => (rows::MOVSX64_RR.of(from), rows::MOVSX64_RM.of(from)),
        (32, _) => (rows::MOVSX64_32_RR, rows::MOVSX64_32_RM),
        _ => (rows::MOV_RR.of(64), rows::MOV_RM.of(64)),
    }
}

/// `sextend`.
pub(super) fn sextend(cx: &mut Cx<'_, '_>, inst: Inst) -> Lowered {
    let [x] = cx.args(inst);
    let value = cx.first_result(inst);
    let (from, to) = (cx.ty(x).bits(), cx.ty(value).bits());
    let defs = cx.result_parts(value);
    match cx.fold_load(x, from, inst)? {
        Some(load) => {
            cx.emit_folded(sign_extend_rows(from, to).1, &[defs[0]], load);
        }
        None => {
            let source = cx.use_reg(x);
            cx.sign_extend(defs[0], source, from, to);
        }
    }
    if let Some(&high) = defs.get(1) {
        cx.emit_imm(rows::SAR_RI.of(64), &[high, defs[0]], 63);
    }
    Ok(())
}
