//! Constants.
//!
//! Before: `v0 = f64const 0x1.8p0`. After: `movsd_const v0, [literal 3ff8000000000000]`.

use super::Lowered;
use super::machine::Machine;
use kingpost_ir::{Inst, InstView};

/// `iconst`.
///
/// # Errors
/// None.
pub fn iconst<'f>(cx: &mut impl Machine<'f>, inst: Inst) -> Lowered {
    let InstView::UnaryImm { imm } = cx.func.dfg.view(inst) else { return Err(cx.unsupported(inst)) };
    let value = cx.first_result(inst);
    let (def, bits) = (cx.result(value), cx.ty(value).bits());
    cx.load_constant(def, imm as u64, bits);
    Ok(())
}

/// `f16const`, `f32const`, `f64const`.
///
/// # Errors
/// None.
pub fn fconst<'f>(cx: &mut impl Machine<'f>, inst: Inst) -> Lowered {
    let (bits, width) = match cx.func.dfg.view(inst) {
        // Bits 16 to 31 are undefined.
        InstView::UnaryIeee16 { imm } => (u64::from(imm.bits()), 32),
        InstView::UnaryIeee32 { imm } => (u64::from(imm.bits()), 32),
        InstView::UnaryIeee64 { imm } => (imm.bits(), 64),
        _ => return Err(cx.unsupported(inst)),
    };
    let value = cx.first_result(inst);
    let def = cx.result(value);
    cx.load_float(def, bits, width);
    Ok(())
}

/// `f128const`, and `vconst` of 128 bits.
///
/// # Errors
/// Vectors of other sizes.
pub fn quad<'f, M: Machine<'f>>(cx: &mut M, inst: Inst) -> Lowered {
    let InstView::UnaryConst { constant } = cx.func.dfg.view(inst) else { return Err(cx.unsupported(inst)) };
    let value = cx.first_result(inst);
    let bytes = cx.func.dfg.constants.bytes(constant);
    if cx.ty(value).bits() != 128 || cx.ty(value).is_dynamic_vector() || bytes.len() != 16 {
        return Err(cx.unsupported(inst));
    }
    let def = cx.result(value);
    if bytes.iter().all(|&byte| byte == 0) {
        cx.emit(M::ROWS.zero128, &[def]);
    } else {
        let literal = cx.literal(bytes);
        cx.emit_mem(M::ROWS.literal128, &[def], literal);
    }
    Ok(())
}
