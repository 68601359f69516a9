//! Integer width changes, halves, and the same bits in another register class.

use super::machine::Machine;
use super::memory::is_little;
use super::{Lower, Lowered};
use kingpost_ir::signature::ArgumentExtension;
use kingpost_ir::types::{I64, I128};
use kingpost_ir::{Inst, InstView, Type, Value};
use kingpost_regalloc::VReg;

/// `uextend`, where the operand's register has no zeros above it by itself.
pub(super) fn uextend<'f>(cx: &mut impl Machine<'f>, inst: Inst) -> Lowered {
    let [x] = cx.args(inst);
    let value = cx.first_result(inst);
    let defs = cx.result_parts(value);
    let source = cx.use_reg(x);
    cx.zero_extend(defs[0], source, cx.ty(x).bits());
    if let Some(&high) = defs.get(1) {
        cx.load_constant(high, 0, 64);
    }
    Ok(())
}

/// The register of `value`, or one with all 32 bits defined if it has fewer.
pub fn use_widened<'f>(cx: &mut impl Machine<'f>, value: Value, signed: bool) -> VReg {
    let (source, bits) = (cx.use_reg(value), cx.ty(value).bits());
    if bits >= 32 {
        return source;
    }
    let wide = cx.int_temp(32);
    if signed {
        cx.sign_extend(wide, source, bits, 32);
    } else {
        cx.zero_extend(wide, source, bits);
    }
    wide
}

/// `ireduce`. Whoever uses it takes the operand's register, so this is only reached for results nobody asked for by name.
pub(super) fn ireduce<'f, M: Machine<'f>>(cx: &mut M, inst: Inst) -> Lowered {
    let [x] = cx.args(inst);
    let value = cx.first_result(inst);
    let operands = [cx.result(value), cx.use_reg(x)];
    cx.emit(M::ROWS.move32, &operands);
    Ok(())
}

/// `isplit`.
pub(super) fn isplit<'f, M: Machine<'f>>(cx: &mut M, inst: Inst) -> Lowered {
    let [x] = cx.args(inst);
    let &[low, high] = cx.func.dfg.inst_results(inst) else { return Err(cx.unsupported(inst)) };
    let bits = cx.ty(low).bits();
    let wanted = |cx: &mut Lower<'_>, value: Value| cx.has_reg(value).then(|| cx.result(value));
    let (low, high) = (wanted(cx, low), wanted(cx, high));
    if cx.ty(x) == I128 {
        let parts = cx.use_regs(x);
        for (def, part) in [(low, parts[0]), (high, parts[1])] {
            if let Some(def) = def {
                cx.emit(M::ROWS.move64, &[def, part]);
            }
        }
        return Ok(());
    }
    let source = cx.use_reg(x);
    if let Some(def) = low {
        // The upper half may stay: it is above the result.
        cx.emit(M::ROWS.move32, &[def, source]);
    }
    if let Some(def) = high {
        let row = if bits == 32 { M::ROWS.shift_right64 } else { M::ROWS.shift_right32 };
        cx.emit_imm(row, &[def, source], bits as i32);
    }
    Ok(())
}

/// `iconcat`.
pub(super) fn iconcat<'f, M: Machine<'f>>(cx: &mut M, inst: Inst) -> Lowered {
    let [low, high] = cx.args(inst);
    let value = cx.first_result(inst);
    if cx.ty(low) != I64 {
        let def = cx.result(value);
        cx.concatenate(def, low, high);
        return Ok(());
    }
    let (defs, low, high) = (cx.result_parts(value), cx.use_reg(low), cx.use_reg(high));
    cx.emit(M::ROWS.move64, &[defs[0], low]);
    cx.emit(M::ROWS.move64, &[defs[1], high]);
    Ok(())
}

/// `bitcast`.
pub(super) fn bitcast<'f, M: Machine<'f>>(cx: &mut M, inst: Inst) -> Lowered {
    let InstView::LoadNoOffset { flags, arg } = cx.func.dfg.view(inst) else { return Err(cx.unsupported(inst)) };
    let value = cx.first_result(inst);
    let (from, to) = (cx.ty(arg), cx.ty(value));
    // The order of bytes is that of lanes here, of which scalars have one.
    let in_order = is_little(flags) || from.is_scalar() && to.is_scalar();
    if from.is_dynamic_vector() || to.is_dynamic_vector() {
        return Err(cx.unsupported(inst));
    }
    if !in_order {
        return Err(cx.unsupported_byte_order(inst, to));
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
            bitcast_wide(cx, arg, value);
            return Ok(());
        }
        _ => return Err(cx.unsupported(inst)),
    };
    let operands = [cx.result(value), cx.use_reg(arg)];
    cx.emit(row, &operands);
    Ok(())
}

/// i128 to and from anything.
fn bitcast_wide<'f, M: Machine<'f>>(cx: &mut M, arg: Value, value: Value) {
    let (defs, parts) = (cx.result_parts(value), cx.use_regs(arg));
    match (&defs[..], &parts[..]) {
        (&[def], &[low, high]) => cx.join_halves(def, low, high),
        (&[low, high], &[source]) => cx.split_halves(low, high, source),
        (defs, parts) => {
            for (&def, &part) in defs.iter().zip(parts) {
                cx.emit(M::ROWS.move64, &[def, part]);
            }
        }
    }
}

/// The argument or result `value` as its convention wants it: extended to an i64 by `uext` or `sext`, or as it is.
pub(super) fn extend_for_abi<'f>(
    cx: &mut impl Machine<'f>,
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
