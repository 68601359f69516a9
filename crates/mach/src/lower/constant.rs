//! Constants.
//!
//! Before: `v0 = f64const 0x1.8p0`. After: `movsd_const v0, [literal 3ff8000000000000]`.

use super::LowerResult;
use super::machine::LowerBackend;
use super::types::is_float_reg;
use kingpost_ir::{Inst, InstView};

/// Lowers `iconst`.
pub fn iconst<'f>(cx: &mut impl LowerBackend<'f>, inst: Inst) -> LowerResult {
    let InstView::UnaryImm { imm } = cx.func.dfg.view(inst) else { return Err(cx.unsupported(inst)) };
    let value = cx.first_result(inst);
    let (def, bits) = (cx.result(value), cx.ty(value).bits());
    cx.load_constant(def, imm as u64, bits);
    Ok(())
}

/// Lowers `f16const`, `f32const`, `f64const`.
pub fn fconst<'f>(cx: &mut impl LowerBackend<'f>, inst: Inst) -> LowerResult {
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

/// Lowers `f128const`, and `vconst` of up to 128 bits.
///
/// # Errors
/// If the vector is larger or dynamic.
pub fn from_bytes<'f>(cx: &mut impl LowerBackend<'f>, inst: Inst) -> LowerResult {
    let InstView::UnaryConst { constant } = cx.func.dfg.view(inst) else { return Err(cx.unsupported(inst)) };
    let value = cx.first_result(inst);
    if !is_float_reg(cx.ty(value)) {
        return Err(cx.unsupported(inst));
    }
    let def = cx.result(value);
    let bits = cx.ty(value).bits();
    let image =
        cx.func.dfg.constants.bytes(constant).iter().rev().fold(0, |image, &byte| image << 8 | u128::from(byte));
    if bits == 128 {
        cx.load_vector(def, image);
    } else {
        cx.load_float(def, image as u64, bits.max(32));
    }
    Ok(())
}
