//! Width changes of integers, halves of integers, and bit casts between register classes. `wide.rs` has i128.
//!
//! Before: `v1, v2 = isplit v0`. After: `mov32_rr v1, v0; shr64_ri v2, v0, 32`.

use super::access::is_little;
use super::machine::LowerBackend;
use super::{LowerResult, by_row, wide};
use kingpost_ir::signature::ArgumentExtension;
use kingpost_ir::{Inst, InstView, Type};
use kingpost_regalloc::VReg;

/// Lowers `uextend` of an operand whose register is not known to have zeros above it.
pub fn uextend<'f>(cx: &mut impl LowerBackend<'f>, inst: Inst) -> LowerResult {
    let [x] = cx.args(inst);
    let [def, source] = cx.registers(inst);
    cx.zero_extend(def, source, cx.ty(x).bits());
    Ok(())
}

/// Lowers `ireduce`. Its users take the operand's register, so this function is called only for other results of a
/// definition.
pub fn ireduce<'f, M: LowerBackend<'f>>(cx: &mut M, inst: Inst) -> LowerResult {
    by_row(cx, inst, M::ROWS.move32)
}

/// Lowers `isplit`.
pub fn isplit<'f, M: LowerBackend<'f>>(cx: &mut M, inst: Inst) -> LowerResult {
    let [x] = cx.args(inst);
    let &[low, high] = cx.func.dfg.inst_results(inst) else { return Err(cx.unsupported(inst)) };
    let bits = cx.ty(low).bits();
    let (low, high) = (cx.needed_result(low), cx.needed_result(high));
    let source = cx.use_reg(x);
    if let Some(def) = low {
        // The upper half stays above the result, where bits are undefined.
        cx.emit(M::ROWS.move32, &[def, source]);
    }
    if let Some(def) = high {
        let row = if bits == 32 { M::ROWS.shift_right64 } else { M::ROWS.shift_right32 };
        cx.emit_imm(row, &[def, source], bits as i32);
    }
    Ok(())
}

/// Lowers `bitcast`.
///
/// # Errors
/// If a vector is dynamic, or its lanes would change their byte order.
pub fn bitcast<'f, M: LowerBackend<'f>>(cx: &mut M, inst: Inst) -> LowerResult {
    let InstView::LoadNoOffset { flags, arg } = cx.func.dfg.view(inst) else { return Err(cx.unsupported(inst)) };
    let value = cx.first_result(inst);
    let (from, to) = (cx.ty(arg), cx.ty(value));
    // The supported targets are little-endian, so lanes are in the order of bytes. A scalar is one lane.
    let in_order = is_little(flags) || from.is_scalar() && to.is_scalar();
    if from.is_dynamic_vector() || to.is_dynamic_vector() || !in_order {
        return Err(cx.unsupported(inst));
    }
    let row = match (from.is_int(), to.is_int(), from.bits()) {
        (true, true, ..=32) => M::ROWS.move32,
        (true, true, 64) => M::ROWS.move64,
        (true, false, 16 | 32) => M::ROWS.int_to_float32,
        (true, false, 64) => M::ROWS.int_to_float64,
        (false, true, 16 | 32) => M::ROWS.float_to_int32,
        (false, true, 64) => M::ROWS.float_to_int64,
        (false, false, bits @ ..=128) => M::float_move_row(bits),
        (_, _, 128) => {
            wide::bitcast(cx, arg, value);
            return Ok(());
        }
        _ => return Err(cx.unsupported(inst)),
    };
    by_row(cx, inst, row)
}

/// Returns the argument or result `value` as its convention passes it: extended to an i64 by `uext` or `sext`, or
/// unchanged.
pub(super) fn extend_for_abi<'f>(
    cx: &mut impl LowerBackend<'f>,
    value: VReg,
    ty: Type,
    extension: ArgumentExtension,
) -> VReg {
    if !ty.is_int() || ty.bits() >= 64 || extension == ArgumentExtension::None {
        return value;
    }
    let wide = cx.int_temp(64);
    if extension == ArgumentExtension::Uext {
        cx.zero_extend(wide, value, ty.bits());
    } else {
        cx.sign_extend(wide, value, ty.bits(), 64);
    }
    wide
}
