//! Constants.

use super::Done;
use super::cx::{Cx, pick};
use crate::immediates;
use crate::rows;
use kingpost_ir::{Inst, InstView};
use kingpost_mach::Address;
use kingpost_regalloc::VReg;

/// `iconst`.
pub(super) fn iconst(cx: &mut Cx<'_, '_>, inst: Inst) -> Done {
    let InstView::UnaryImm { imm } = cx.func.dfg.view(inst) else { return Err(cx.unsupported(inst)) };
    let value = cx.first(inst);
    let (def, bits) = (cx.result(value), cx.ty(value).bits());
    cx.load_constant(def, imm as u64, bits);
    Ok(())
}

/// `f32const`.
pub(super) fn f32const(cx: &mut Cx<'_, '_>, inst: Inst) -> Done {
    let InstView::UnaryIeee32 { imm } = cx.func.dfg.view(inst) else { return Err(cx.unsupported(inst)) };
    let value = cx.first(inst);
    let def = cx.result(value);
    load_float(cx, def, u64::from(imm.bits()), 32);
    Ok(())
}

/// `f64const`.
pub(super) fn f64const(cx: &mut Cx<'_, '_>, inst: Inst) -> Done {
    let InstView::UnaryIeee64 { imm } = cx.func.dfg.view(inst) else { return Err(cx.unsupported(inst)) };
    let value = cx.first(inst);
    let def = cx.result(value);
    load_float(cx, def, imm.bits(), 64);
    Ok(())
}

/// `f16const`.
pub(super) fn f16const(cx: &mut Cx<'_, '_>, inst: Inst) -> Done {
    let InstView::UnaryIeee16 { imm } = cx.func.dfg.view(inst) else { return Err(cx.unsupported(inst)) };
    let value = cx.first(inst);
    let def = cx.result(value);
    // The 16 bits above the value are nobody's.
    load_float(cx, def, u64::from(imm.bits()), 32);
    Ok(())
}

/// `f128const`, and `vconst` of 128 bits.
pub(super) fn wide(cx: &mut Cx<'_, '_>, inst: Inst) -> Done {
    let InstView::UnaryConst { constant } = cx.func.dfg.view(inst) else { return Err(cx.unsupported(inst)) };
    let value = cx.first(inst);
    let bytes = cx.func.dfg.constants.bytes(constant);
    if cx.ty(value).bits() != 128 || cx.ty(value).is_dynamic_vector() || bytes.len() != 16 {
        return Err(cx.unsupported(inst));
    }
    let def = cx.result(value);
    if bytes.iter().all(|&byte| byte == 0) {
        cx.emit(rows::MOVI128_ZERO, &[def]);
    } else {
        let entry = cx.code.pool.constant(bytes);
        cx.emit_mem(rows::LDR128_FCONST, &[def], Address::Pool(entry));
    }
    Ok(())
}

/// Puts the float with these bits into `def`. Leaves the flags alone.
pub(super) fn load_float(cx: &mut Cx<'_, '_>, def: VReg, value: u64, bits: u32) {
    if value == 0 {
        cx.emit(rows::MOVI64_ZERO, &[def]);
    } else if let Some(imm) = immediates::float(value, bits) {
        cx.emit_imm(pick(bits, rows::FMOV32_FI, rows::FMOV64_FI), &[def], imm);
    } else {
        let entry = cx.code.pool.constant(&value.to_le_bytes()[..bits as usize / 8]);
        cx.emit_mem(pick(bits, rows::LDR32_FCONST, rows::LDR64_FCONST), &[def], Address::Pool(entry));
    }
}
