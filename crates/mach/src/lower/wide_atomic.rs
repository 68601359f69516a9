//! Atomic accesses to 16 bytes, by one instruction or a loop.
//!
//! Before: `v2 = atomic_rmw.i128 xor v0, v1`. After, on x86-64: `atomic_xor16 [v0], v1l, v1h`. Loads may store the
//! value that they read, so their memory must be writable too.

use super::access::is_little;
use super::machine::LowerBackend;
use super::wide::{in_memory_order, to_memory_order};
use super::{LowerResult, is_arithmetic};
use kingpost_ir::atomic_rmw_op::AtomicRmwOp;
use kingpost_ir::{Inst, InstView};

/// Lowers `atomic_load`.
///
/// # Errors
/// If there are no instructions for 16 bytes, or the type of the address is not `i64`.
pub fn load<'f>(cx: &mut impl LowerBackend<'f>, inst: Inst) -> LowerResult {
    let InstView::LoadNoOffset { flags, arg } = cx.func.dfg.view(inst) else { return Err(cx.unsupported(inst)) };
    let address = cx.pair_address(arg, inst)?;
    in_memory_order(cx, inst, flags, |cx, defs| cx.load_pair(defs, address).set_trap(flags.trap_code()));
    Ok(())
}

/// Lowers `atomic_store` as an exchange.
///
/// # Errors
/// The errors of [`load`].
pub fn store<'f, M: LowerBackend<'f>>(cx: &mut M, inst: Inst) -> LowerResult {
    let InstView::StoreNoOffset { flags, value, addr } = cx.func.dfg.view(inst) else {
        return Err(cx.unsupported(inst));
    };
    let address = cx.pair_address(addr, inst)?;
    let [low, high] = to_memory_order(cx, flags, value);
    let unused = [cx.int_temp(64), cx.int_temp(64)];
    cx.emit_mem(M::ROWS.pairs.swap, &[unused[0], unused[1], low, high], address).set_trap(flags.trap_code());
    Ok(())
}

/// Lowers `atomic_cas`.
///
/// # Errors
/// The errors of [`load`].
pub fn cas<'f>(cx: &mut impl LowerBackend<'f>, inst: Inst) -> LowerResult {
    let InstView::AtomicCas { flags, addr, expected, new } = cx.func.dfg.view(inst) else {
        return Err(cx.unsupported(inst));
    };
    let address = cx.pair_address(addr, inst)?;
    let (expected, new) = (to_memory_order(cx, flags, expected), to_memory_order(cx, flags, new));
    in_memory_order(cx, inst, flags, |cx, old| {
        cx.compare_exchange_pair(old, expected, new, address).set_trap(flags.trap_code());
    });
    Ok(())
}

/// Lowers `atomic_rmw`. In big-endian byte order, bitwise operations take the reversed operand.
///
/// # Errors
/// The errors of [`load`].
pub fn rmw<'f, M: LowerBackend<'f>>(cx: &mut M, inst: Inst) -> LowerResult {
    let InstView::AtomicRmw { flags, op, addr, value: operand } = cx.func.dfg.view(inst) else {
        return Err(cx.unsupported(inst));
    };
    let address = cx.pair_address(addr, inst)?;
    let is_big = is_arithmetic(op) && !is_little(flags);
    let mut operand = match is_arithmetic(op) {
        true => cx.use_regs(operand)[..].try_into().expect("two halves"),
        false => to_memory_order(cx, flags, operand),
    };
    if op == AtomicRmwOp::Sub {
        let negated = [cx.int_temp(64), cx.int_temp(64)];
        cx.negate_pair(negated, operand);
        operand = negated;
    }
    in_memory_order(cx, inst, flags, |cx, old| {
        let row = M::ROWS.pairs.row(op, is_big);
        if op == AtomicRmwOp::Xchg {
            cx.emit_mem(row, &[old, operand].concat(), address).set_trap(flags.trap_code());
            return;
        }
        let new = [cx.int_temp(64), cx.int_temp(64)];
        cx.emit_mem(row, &[old, new, operand].concat(), address).set_trap(flags.trap_code());
    });
    Ok(())
}
