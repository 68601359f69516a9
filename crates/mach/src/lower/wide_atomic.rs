//! Atomic accesses to 16 bytes, by one instruction or a loop.
//!
//! Before: `v2 = atomic_rmw.i128 xor v0, v1`. After, on x86-64: `atomic_xor16 [v0], v1l, v1h`. Loads may store what
//! they read, so that also their memory must be writable.

use super::machine::Machine;
use super::memory::is_little;
use super::wide::{in_memory_order, to_memory_order};
use super::{Lowered, is_arithmetic};
use crate::row::RowId;
use kingpost_ir::atomic_rmw_op::AtomicRmwOp;
use kingpost_ir::{Inst, InstView};

/// Loops of operations on 16 bytes. Destinations are the old value, and but for `swap` two temporaries.
#[derive(Clone, Copy, Debug)]
pub struct PairRows {
    /// The operand replaces the value.
    pub swap: RowId,
    /// Bitwise and.
    pub and: RowId,
    /// Complement of bitwise and.
    pub nand: RowId,
    /// Bitwise or.
    pub or: RowId,
    /// Bitwise exclusive or.
    pub xor: RowId,
    /// Addition, in little-endian and in big-endian byte order.
    pub add: [RowId; 2],
    /// Unsigned minimum, as `add`.
    pub umin: [RowId; 2],
    /// Unsigned maximum, as `add`.
    pub umax: [RowId; 2],
    /// Signed minimum, as `add`.
    pub smin: [RowId; 2],
    /// Signed maximum, as `add`.
    pub smax: [RowId; 2],
}

impl PairRows {
    /// Returns the row of an operation. What is subtracted is negated and added.
    fn row(&self, op: AtomicRmwOp, is_big: bool) -> RowId {
        let by_order = |rows: [RowId; 2]| rows[usize::from(is_big)];
        match op {
            AtomicRmwOp::Xchg => self.swap,
            AtomicRmwOp::And => self.and,
            AtomicRmwOp::Nand => self.nand,
            AtomicRmwOp::Or => self.or,
            AtomicRmwOp::Xor => self.xor,
            AtomicRmwOp::Add | AtomicRmwOp::Sub => by_order(self.add),
            AtomicRmwOp::Umin => by_order(self.umin),
            AtomicRmwOp::Umax => by_order(self.umax),
            AtomicRmwOp::Smin => by_order(self.smin),
            AtomicRmwOp::Smax => by_order(self.smax),
        }
    }
}

/// Lowers `atomic_load`.
///
/// # Errors
/// No instructions for 16 bytes, addresses of other types than `i64`.
pub fn load<'f>(cx: &mut impl Machine<'f>, inst: Inst) -> Lowered {
    let InstView::LoadNoOffset { flags, arg } = cx.func.dfg.view(inst) else { return Err(cx.unsupported(inst)) };
    let address = cx.pair_address(arg, inst)?;
    in_memory_order(cx, inst, flags, |cx, defs| cx.load_pair(defs, address).set_trap(flags.trap_code()));
    Ok(())
}

/// Lowers `atomic_store`: an exchange.
///
/// # Errors
/// As [`load`].
pub fn store<'f, M: Machine<'f>>(cx: &mut M, inst: Inst) -> Lowered {
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
/// As [`load`].
pub fn cas<'f>(cx: &mut impl Machine<'f>, inst: Inst) -> Lowered {
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

/// Lowers `atomic_rmw`. In big-endian byte order bitwise operations are those of the reversed operand.
///
/// # Errors
/// As [`load`].
pub fn rmw<'f, M: Machine<'f>>(cx: &mut M, inst: Inst) -> Lowered {
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
