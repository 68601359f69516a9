//! Integer width changes, halves, and the same bits in another register class.

use super::Done;
use super::cx::{Cx, is_little};
use crate::rows;
use kingpost_ir::types::{I64, I128};
use kingpost_ir::{Inst, InstView, Value};
use kingpost_mach::RowId;
use kingpost_regalloc::VReg;

/// `uextend`, where the operand's register has no zeros above it by itself.
pub(super) fn uextend(cx: &mut Cx<'_, '_>, inst: Inst) -> Done {
    let [x] = cx.args(inst);
    let value = cx.first(inst);
    let defs = cx.result_parts(value);
    let source = cx.put(x);
    zero_extend(cx, defs[0], source, cx.ty(x).bits());
    if let Some(&high) = defs.get(1) {
        cx.load_constant(high, 0, 64);
    }
    Ok(())
}

/// `def` gets the low `bits` bits of `source`, zero-extended to 64 bits.
pub(super) fn zero_extend(cx: &mut Cx<'_, '_>, def: VReg, source: VReg, bits: u32) {
    let row = match bits {
        8 => rows::MOVZX32_8_RR,
        16 => rows::MOVZX32_16_RR,
        32 => rows::MOVZX64_32_RR,
        _ => rows::MOV64_RR,
    };
    cx.emit(row, &[def, source]);
}

/// Rows that sign-extend `from` bits to `to` bits: from a register, and from memory.
fn sign_extend_rows(from: u32, to: u32) -> (RowId, RowId) {
    match (from, to) {
        (8, ..=32) => (rows::MOVSX32_8_RR, rows::MOVSX32_8_RM),
        (16, ..=32) => (rows::MOVSX32_16_RR, rows::MOVSX32_16_RM),
        (8, _) => (rows::MOVSX64_8_RR, rows::MOVSX64_8_RM),
        (16, _) => (rows::MOVSX64_16_RR, rows::MOVSX64_16_RM),
        (32, _) => (rows::MOVSX64_32_RR, rows::MOVSX64_32_RM),
        _ => (rows::MOV64_RR, rows::MOV64_RM),
    }
}

/// `def` gets the low `from` bits of `source`, sign-extended to `to` bits.
pub(super) fn sign_extend(cx: &mut Cx<'_, '_>, def: VReg, source: VReg, from: u32, to: u32) {
    cx.emit(sign_extend_rows(from, to).0, &[def, source]);
}

/// `sextend`.
pub(super) fn sextend(cx: &mut Cx<'_, '_>, inst: Inst) -> Done {
    let [x] = cx.args(inst);
    let value = cx.first(inst);
    let (from, to) = (cx.ty(x).bits(), cx.ty(value).bits());
    let defs = cx.result_parts(value);
    match cx.fold_load(x, from, inst)? {
        Some(load) => {
            cx.emit_folded(sign_extend_rows(from, to).1, &[defs[0]], load);
        }
        None => {
            let source = cx.put(x);
            sign_extend(cx, defs[0], source, from, to);
        }
    }
    if let Some(&high) = defs.get(1) {
        cx.emit_imm(rows::SAR64_RI, &[high, defs[0]], 63);
    }
    Ok(())
}

/// `ireduce`. Whoever uses it takes the operand's register, so this is only reached for results nobody asked for by name.
pub(super) fn ireduce(cx: &mut Cx<'_, '_>, inst: Inst) -> Done {
    let [x] = cx.args(inst);
    let value = cx.first(inst);
    let operands = [cx.result(value), cx.put(x)];
    cx.emit(rows::MOV32_RR, &operands);
    Ok(())
}

/// `isplit`.
pub(super) fn isplit(cx: &mut Cx<'_, '_>, inst: Inst) -> Done {
    let [x] = cx.args(inst);
    let &[low, high] = cx.func.dfg.inst_results(inst) else { return Err(cx.unsupported(inst)) };
    let bits = cx.ty(low).bits();
    let wanted = |cx: &mut Cx<'_, '_>, value: Value| cx.is_put(value).then(|| cx.result(value));
    let (low, high) = (wanted(cx, low), wanted(cx, high));
    if cx.ty(x) == I128 {
        let parts = cx.put_parts(x);
        for (def, part) in [(low, parts[0]), (high, parts[1])] {
            if let Some(def) = def {
                cx.emit(rows::MOV64_RR, &[def, part]);
            }
        }
        return Ok(());
    }
    let source = cx.put(x);
    if let Some(def) = low {
        // The upper half may stay: it is above the result.
        cx.emit(rows::MOV32_RR, &[def, source]);
    }
    if let Some(def) = high {
        let row = if bits == 32 { rows::SHR64_RI } else { rows::SHR32_RI };
        cx.emit_imm(row, &[def, source], bits as i32);
    }
    Ok(())
}

/// `iconcat`.
pub(super) fn iconcat(cx: &mut Cx<'_, '_>, inst: Inst) -> Done {
    let [low, high] = cx.args(inst);
    let value = cx.first(inst);
    let bits = cx.ty(low).bits();
    if bits == 64 {
        let (defs, low, high) = (cx.result_parts(value), cx.put(low), cx.put(high));
        cx.emit(rows::MOV64_RR, &[defs[0], low]);
        cx.emit(rows::MOV64_RR, &[defs[1], high]);
        return Ok(());
    }
    let def = cx.result(value);
    let high = cx.put(high);
    let (shl, or) = if bits == 32 { (rows::SHL64_RI, rows::OR64_RR) } else { (rows::SHL32_RI, rows::OR32_RR) };
    let (shifted, extended) = (cx.int_temp(bits * 2), cx.int_temp(bits * 2));
    cx.emit_imm(shl, &[shifted, high], bits as i32);
    let source = cx.put(low);
    zero_extend(cx, extended, source, bits);
    cx.emit(or, &[def, shifted, extended]);
    Ok(())
}

/// `bitcast`.
pub(super) fn bitcast(cx: &mut Cx<'_, '_>, inst: Inst) -> Done {
    let InstView::LoadNoOffset { flags, arg } = cx.func.dfg.view(inst) else { return Err(cx.unsupported(inst)) };
    let value = cx.first(inst);
    let (from, to) = (cx.ty(arg), cx.ty(value));
    // The order of bytes is that of lanes here, of which scalars have one.
    let in_order = is_little(flags) || from.is_scalar() && to.is_scalar();
    if !in_order || from.is_dynamic_vector() || to.is_dynamic_vector() {
        return Err(cx.unsupported(inst));
    }
    let row = match (from.is_int(), to.is_int(), from.bits()) {
        (true, true, ..=32) => rows::MOV32_RR,
        (true, true, 64) => rows::MOV64_RR,
        (true, false, 16 | 32) => rows::MOVD_FR,
        (true, false, 64) => rows::MOVQ_FR,
        (false, true, 16 | 32) => rows::MOVD_RF,
        (false, true, 64) => rows::MOVQ_RF,
        (false, false, ..=128) => rows::MOVAPS_RR,
        (true, true, 128) => {
            let (defs, parts) = (cx.result_parts(value), cx.put_parts(arg));
            cx.emit(rows::MOV64_RR, &[defs[0], parts[0]]);
            cx.emit(rows::MOV64_RR, &[defs[1], parts[1]]);
            return Ok(());
        }
        (true, false, 128) => {
            let (def, parts) = (cx.result(value), cx.put_parts(arg));
            let (low, high) = (cx.float_temp(128), cx.float_temp(128));
            cx.emit(rows::MOVQ_FR, &[low, parts[0]]);
            cx.emit(rows::MOVQ_FR, &[high, parts[1]]);
            cx.emit(rows::UNPCKLPD_RR, &[def, low, high]);
            return Ok(());
        }
        (false, true, 128) => {
            let (defs, source) = (cx.result_parts(value), cx.put(arg));
            let high = cx.float_temp(128);
            cx.emit(rows::MOVQ_RF, &[defs[0], source]);
            cx.emit(rows::UNPCKHPD_RR, &[high, source, source]);
            cx.emit(rows::MOVQ_RF, &[defs[1], high]);
            return Ok(());
        }
        _ => return Err(cx.unsupported(inst)),
    };
    let operands = [cx.result(value), cx.put(arg)];
    cx.emit(row, &operands);
    Ok(())
}

/// Is the operand of this type extended to an i64 by `uext` or `sext` for a convention?
pub(super) fn extend_for_abi(
    cx: &mut Cx<'_, '_>,
    value: VReg,
    ty: kingpost_ir::Type,
    extension: kingpost_ir::signature::ArgumentExtension,
) -> VReg {
    use kingpost_ir::signature::ArgumentExtension;
    if !Cx::is_word(ty) || ty == I64 {
        return value;
    }
    match extension {
        ArgumentExtension::None => value,
        ArgumentExtension::Uext => {
            let wide = cx.int_temp(64);
            zero_extend(cx, wide, value, ty.bits());
            wide
        }
        ArgumentExtension::Sext => {
            let wide = cx.int_temp(64);
            sign_extend(cx, wide, value, ty.bits(), 64);
            wide
        }
    }
}
