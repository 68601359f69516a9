//! Integers of 128 bits, in two registers: the lowering that all machines share.
//!
//! Before: `v1 = load.i128 v0`. After: `mov64_rm v1l, [v0]; mov64_rm v1h, [v0 + 8]`.

use super::access::is_little;
use super::machine::LowerBackend;
use super::memory::Store;
use super::rows::WideRows;
use super::{LowerResult, endian};
use crate::row::RowId;
use kingpost_ir::types::{I64, I128};
use kingpost_ir::{Inst, MemFlags, Value};
use kingpost_regalloc::{RegClass, VReg};

/// Number of bytes of a half.
const HALF: i32 = 8;

/// Lowers an operation half by half: `low` on the low halves, then `high` on the high halves, which may read its
/// carry.
pub fn halves<'f>(cx: &mut impl LowerBackend<'f>, inst: Inst, low: RowId, high: RowId) -> LowerResult {
    let [x, y] = cx.args(inst);
    let value = cx.first_result(inst);
    let (defs, x, y) = (cx.result_parts(value), cx.use_regs(x), cx.use_regs(y));
    cx.emit(low, &[defs[0], x[0], y[0]]);
    cx.emit(high, &[defs[1], x[1], y[1]]);
    Ok(())
}

/// Lowers an operation of one operand by one row on each half.
pub fn both_halves<'f>(cx: &mut impl LowerBackend<'f>, inst: Inst, row: RowId) -> LowerResult {
    let [x] = cx.args(inst);
    let value = cx.first_result(inst);
    let (defs, x) = (cx.result_parts(value), cx.use_regs(x));
    cx.emit(row, &[defs[0], x[0]]);
    cx.emit(row, &[defs[1], x[1]]);
    Ok(())
}

/// Lowers `load`, in either byte order.
///
/// # Errors
/// If the type of the address is not `i64`.
pub fn load<'f, M: LowerBackend<'f>>(cx: &mut M, inst: Inst) -> LowerResult {
    let (flags, addr, offset) = cx.func.dfg.load_parts(inst);
    let (value, trap) = (cx.first_result(inst), flags.trap_code());
    let address = cx.memory_operand(addr, i64::from(offset), HALF as u8, inst)?;
    let defs = cx.result_parts(value);
    let above = cx.offset_address(address, HALF);
    if is_little(flags) {
        cx.emit_mem(M::load_row(RegClass::Int, HALF as u8), &[defs[0]], address).set_trap(trap);
        cx.emit_mem(M::load_row(RegClass::Int, HALF as u8), &[defs[1]], above).set_trap(trap);
        return Ok(());
    }
    let loaded = endian::load_word(cx, defs[1], I64, address, trap);
    loaded.and_then(|()| endian::load_word(cx, defs[0], I64, above, trap)).ok_or_else(|| cx.unsupported(inst))
}

/// Lowers `store`, in either byte order.
///
/// # Errors
/// If the type of the address is not `i64`.
pub fn store<'f, M: LowerBackend<'f>>(cx: &mut M, inst: Inst) -> LowerResult {
    let store = Store::of(cx, inst, I128)?;
    let trap = store.flags.trap_code();
    if !is_little(store.flags) {
        return store.emit(cx);
    }
    let parts = cx.use_regs(store.value);
    let above = cx.offset_address(store.address, HALF);
    cx.emit_mem(M::store_row(RegClass::Int, HALF as u8), &[parts[0]], store.address).set_trap(trap);
    cx.emit_mem(M::store_row(RegClass::Int, HALF as u8), &[parts[1]], above).set_trap(trap);
    Ok(())
}

/// Lowers `uextend`.
pub fn uextend<'f>(cx: &mut impl LowerBackend<'f>, inst: Inst) -> LowerResult {
    let [x] = cx.args(inst);
    let value = cx.first_result(inst);
    let defs = cx.result_parts(value);
    let source = cx.use_reg(x);
    cx.zero_extend(defs[0], source, cx.ty(x).bits());
    cx.load_constant(defs[1], 0, 64);
    Ok(())
}

/// Lowers `isplit`.
pub fn isplit<'f, M: LowerBackend<'f>>(cx: &mut M, inst: Inst) -> LowerResult {
    let [x] = cx.args(inst);
    let &[low, high] = cx.func.dfg.inst_results(inst) else { return Err(cx.unsupported(inst)) };
    let defs = [cx.needed_result(low), cx.needed_result(high)];
    let parts = cx.use_regs(x);
    for (def, &part) in defs.into_iter().zip(&parts[..]) {
        if let Some(def) = def {
            cx.emit(M::ROWS.move64, &[def, part]);
        }
    }
    Ok(())
}

/// Lowers `iconcat` of two i64.
pub fn iconcat<'f, M: LowerBackend<'f>>(cx: &mut M, inst: Inst) -> LowerResult {
    let [low, high] = cx.args(inst);
    let value = cx.first_result(inst);
    let (defs, low, high) = (cx.result_parts(value), cx.use_reg(low), cx.use_reg(high));
    cx.emit(M::ROWS.move64, &[defs[0], low]);
    cx.emit(M::ROWS.move64, &[defs[1], high]);
    Ok(())
}

/// Lowers `bitcast` of 128 bits from or to an i128.
pub(super) fn bitcast<'f, M: LowerBackend<'f>>(cx: &mut M, arg: Value, value: Value) {
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

/// Returns the halves of an operand in the order and byte order of an access to memory with `flags`.
pub fn to_memory_order<'f>(cx: &mut impl LowerBackend<'f>, flags: MemFlags, operand: Value) -> [VReg; 2] {
    let parts = cx.use_regs(operand);
    match is_little(flags) {
        true => [parts[0], parts[1]],
        false => [cx.bytes_reversed(parts[1], 64), cx.bytes_reversed(parts[0], 64)],
    }
}

/// Emits `access`, which reads the halves of the first result from memory, in the order and byte order of an access
/// with `flags`.
pub fn in_memory_order<'f, M: LowerBackend<'f>>(
    cx: &mut M,
    inst: Inst,
    flags: MemFlags,
    access: impl FnOnce(&mut M, [VReg; 2]),
) {
    let value = cx.first_result(inst);
    let defs = cx.result_parts(value);
    if is_little(flags) {
        return access(cx, [defs[0], defs[1]]);
    }
    let image = [cx.int_temp(64), cx.int_temp(64)];
    access(cx, image);
    cx.swap_bytes(defs[0], image[1], 64);
    cx.swap_bytes(defs[1], image[0], 64);
}

/// Lowers `bswap`: reverses and exchanges the halves.
pub fn bswap<'f>(cx: &mut impl LowerBackend<'f>, inst: Inst) -> LowerResult {
    let [x] = cx.args(inst);
    let value = cx.first_result(inst);
    let (defs, parts) = (cx.result_parts(value), cx.use_regs(x));
    cx.swap_bytes(defs[0], parts[1], 64);
    cx.swap_bytes(defs[1], parts[0], 64);
    Ok(())
}

/// Lowers `ineg`.
pub fn ineg<'f>(cx: &mut impl LowerBackend<'f>, inst: Inst) -> LowerResult {
    let [x] = cx.args(inst);
    let value = cx.first_result(inst);
    let (defs, x) = (cx.result_parts(value), cx.use_regs(x));
    cx.negate_pair([defs[0], defs[1]], [x[0], x[1]]);
    Ok(())
}

/// Lowers `iabs`: `(x ^ s) - s`, where `s` is the sign in every bit.
pub fn iabs<'f, M: LowerBackend<'f>>(cx: &mut M, inst: Inst) -> LowerResult {
    let WideRows { xor, sub, shift_right_signed, .. } = M::ROWS.wide;
    let [x] = cx.args(inst);
    let value = cx.first_result(inst);
    let (defs, x) = (cx.result_parts(value), cx.use_regs(x));
    let [sign, low, high] = std::array::from_fn(|_| cx.int_temp(64));
    cx.emit_imm(shift_right_signed, &[sign, x[1]], 63);
    cx.emit(xor, &[low, x[0], sign]);
    cx.emit(xor, &[high, x[1], sign]);
    cx.emit(sub[0], &[defs[0], low, sign]);
    cx.emit(sub[1], &[defs[1], high, sign]);
    Ok(())
}

/// Lowers `umulhi`, `smulhi`: the upper halves of four products of halves, added up from the second word on. The
/// unsigned value of a negative operand is 2^128 too large, so the product is too large by 2^128 times the other
/// operand.
pub fn mulhi<'f, M: LowerBackend<'f>>(cx: &mut M, inst: Inst, signed: bool) -> LowerResult {
    let WideRows { add, sub, and, shift_right_signed, .. } = M::ROWS.wide;
    let [x, y] = cx.args(inst);
    let value = cx.first_result(inst);
    let (defs, x, y) = (cx.result_parts(value), cx.use_regs(x), cx.use_regs(y));
    let product = |cx: &mut M, x, y| {
        let [low, high] = [cx.int_temp(64), cx.int_temp(64)];
        cx.wide_product(Some(low), high, x, y);
        [low, high]
    };
    let second = cx.int_temp(64);
    cx.wide_product(None, second, x[0], y[0]);
    let one = product(cx, x[1], y[0]);
    let other = product(cx, x[0], y[1]);
    let last = product(cx, x[1], y[1]);
    // The sum of the first mixed product and the carry fits in two words. With the second mixed product it may carry
    // into a third.
    let zero = cx.constant_temp(0, 64);
    let one = combined(cx, add, one, [second, zero]);
    let [_, low] = combined(cx, add, one, [other[0], zero]);
    let upper = combined(cx, add, last, [low, zero]);
    let mut total = combined(cx, add, upper, [other[1], zero]);
    if signed {
        for (operand, times) in [(&x, &y), (&y, &x)] {
            let [sign, low, high] = std::array::from_fn(|_| cx.int_temp(64));
            cx.emit_imm(shift_right_signed, &[sign, operand[1]], 63);
            cx.emit(and, &[low, times[0], sign]);
            cx.emit(and, &[high, times[1], sign]);
            total = combined(cx, sub, total, [low, high]);
        }
    }
    cx.emit(M::ROWS.move64, &[defs[0], total[0]]);
    cx.emit(M::ROWS.move64, &[defs[1], total[1]]);
    Ok(())
}

/// Returns the sum or difference of two integers, in new registers.
fn combined<'f>(cx: &mut impl LowerBackend<'f>, rows: [RowId; 2], x: [VReg; 2], y: [VReg; 2]) -> [VReg; 2] {
    let result = [cx.int_temp(64), cx.int_temp(64)];
    cx.emit(rows[0], &[result[0], x[0], y[0]]);
    cx.emit(rows[1], &[result[1], x[1], y[1]]);
    result
}
