//! Sign extensions, of loads by the load itself.

use super::Lowered;
use super::cx::Cx;
use crate::rows;
use kingpost_ir::Inst;
use kingpost_mach::{Machine, RowId};

/// Rows that sign-extend `from` bits to `to` bits: from a register, and from memory.
pub(super) fn sign_extend_rows(from: u32, to: u32) -> (RowId, RowId) {
    match (from, to) {
        (8, ..=32) => (rows::MOVSX32_8_RR, rows::MOVSX32_8_RM),
        (16, ..=32) => (rows::MOVSX32_16_RR, rows::MOVSX32_16_RM),
        (8, _) => (rows::MOVSX64_8_RR, rows::MOVSX64_8_RM),
        (16, _) => (rows::MOVSX64_16_RR, rows::MOVSX64_16_RM),
        (32, _) => (rows::MOVSX64_32_RR, rows::MOVSX64_32_RM),
        _ => (rows::MOV64_RR, rows::MOV64_RM),
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
        cx.emit_imm(rows::SAR64_RI, &[high, defs[0]], 63);
    }
    Ok(())
}
