//! Atomic accesses to 16 bytes: `caspal` of LSE, or loops of exclusive load and store. Loads store what they read, so that also their memory
//! must be writable.
//!
//! Before: `v2 = atomic_rmw.i128 xor v0, v1`. After: `atomic_xor16 v2l, v2h, [v0], v1l, v1h`.

use super::Lowered;
use super::cx::Cx;
use crate::rows;
use kingpost_ir::atomic_rmw_op::AtomicRmwOp;
use kingpost_ir::{Inst, InstView, Value};
use kingpost_mach::lower::wide::{in_memory_order, to_memory_order};
use kingpost_mach::lower::{is_arithmetic, is_little};
use kingpost_mach::{Address, LowerError, Machine, RowId};
use kingpost_regalloc::VReg;

/// The only kind of address these instructions have.
fn address(cx: &mut Cx<'_, '_>, addr: Value, inst: Inst) -> Result<Address, LowerError> {
    let base = cx.address_in_register(addr, 0, inst)?;
    Ok(Address::Base { base, disp: 0 })
}

/// `atomic_load`.
pub(super) fn load(cx: &mut Cx<'_, '_>, inst: Inst) -> Lowered {
    let InstView::LoadNoOffset { flags, arg } = cx.func.dfg.view(inst) else { return Err(cx.unsupported(inst)) };
    let address = address(cx, arg, inst)?;
    in_memory_order(cx, inst, flags, |cx, [low, high]| {
        let trap = flags.trap_code();
        if cx.isa.flags.has_lse {
            let [a, b, c, d] = std::array::from_fn(|_| cx.constant_temp(0, 64));
            cx.emit_mem(rows::CASPAL64_MR, &[low, high, a, b, c, d], address).set_trap(trap);
        } else {
            cx.emit_mem(rows::ATOMIC16_READ_M, &[low, high], address).set_trap(trap);
        }
    });
    Ok(())
}

/// `atomic_store`: an exchange.
pub(super) fn store(cx: &mut Cx<'_, '_>, inst: Inst) -> Lowered {
    let InstView::StoreNoOffset { flags, value, addr } = cx.func.dfg.view(inst) else {
        return Err(cx.unsupported(inst));
    };
    let address = address(cx, addr, inst)?;
    let [low, high] = to_memory_order(cx, flags, value);
    let unused = [cx.int_temp(64), cx.int_temp(64)];
    cx.emit_mem(rows::ATOMIC16_SWAP_M, &[unused[0], unused[1], low, high], address).set_trap(flags.trap_code());
    Ok(())
}

/// `atomic_cas`.
pub(super) fn cas(cx: &mut Cx<'_, '_>, inst: Inst) -> Lowered {
    let InstView::AtomicCas { flags, addr, expected, new } = cx.func.dfg.view(inst) else {
        return Err(cx.unsupported(inst));
    };
    let address = address(cx, addr, inst)?;
    let (expected, new) = (to_memory_order(cx, flags, expected), to_memory_order(cx, flags, new));
    in_memory_order(cx, inst, flags, |cx, old| {
        let trap = flags.trap_code();
        if cx.isa.flags.has_lse {
            cx.emit_mem(rows::CASPAL64_MR, &[old, expected, new].concat(), address).set_trap(trap);
        } else {
            let stored = [cx.int_temp(64), cx.int_temp(64)];
            cx.emit_mem(rows::ATOMIC16_CAS_M, &[old, stored, expected, new].concat(), address).set_trap(trap);
        }
    });
    Ok(())
}

/// `atomic_rmw`. In big-endian byte order bitwise operations are those of the reversed operand.
pub(super) fn rmw(cx: &mut Cx<'_, '_>, inst: Inst) -> Lowered {
    let InstView::AtomicRmw { flags, op, addr, value: operand } = cx.func.dfg.view(inst) else {
        return Err(cx.unsupported(inst));
    };
    let address = address(cx, addr, inst)?;
    let is_big = is_arithmetic(op) && !is_little(flags);
    let mut operand = match is_arithmetic(op) {
        true => cx.use_regs(operand).as_slice().try_into().expect("two halves"),
        false => to_memory_order(cx, flags, operand),
    };
    if op == AtomicRmwOp::Sub {
        operand = negated(cx, operand);
    }
    in_memory_order(cx, inst, flags, |cx, old| {
        let row = row(op, is_big);
        if op == AtomicRmwOp::Xchg {
            cx.emit_mem(row, &[old, operand].concat(), address).set_trap(flags.trap_code());
            return;
        }
        let new = [cx.int_temp(64), cx.int_temp(64)];
        cx.emit_mem(row, &[old, new, operand].concat(), address).set_trap(flags.trap_code());
    });
    Ok(())
}

/// The negation of an operand, which is added in place of a subtraction.
fn negated(cx: &mut Cx<'_, '_>, [low, high]: [VReg; 2]) -> [VReg; 2] {
    let negated = [cx.int_temp(64), cx.int_temp(64)];
    cx.emit(rows::NEGS_RR.of(64), &[negated[0], low]);
    cx.emit(rows::NGC_RR.of(64), &[negated[1], high]);
    negated
}

/// The loop of an operation.
fn row(op: AtomicRmwOp, is_big: bool) -> RowId {
    match (op, is_big) {
        (AtomicRmwOp::Xchg, _) => rows::ATOMIC16_SWAP_M,
        (AtomicRmwOp::And, _) => rows::ATOMIC16_AND_M,
        (AtomicRmwOp::Nand, _) => rows::ATOMIC16_NAND_M,
        (AtomicRmwOp::Or, _) => rows::ATOMIC16_OR_M,
        (AtomicRmwOp::Xor, _) => rows::ATOMIC16_XOR_M,
        (AtomicRmwOp::Add | AtomicRmwOp::Sub, false) => rows::ATOMIC16_ADD_M,
        (AtomicRmwOp::Umin, false) => rows::ATOMIC16_UMIN_M,
        (AtomicRmwOp::Umax, false) => rows::ATOMIC16_UMAX_M,
        (AtomicRmwOp::Smin, false) => rows::ATOMIC16_SMIN_M,
        (AtomicRmwOp::Smax, false) => rows::ATOMIC16_SMAX_M,
        (AtomicRmwOp::Add | AtomicRmwOp::Sub, true) => rows::ATOMIC16_ADD_BIG_M,
        (AtomicRmwOp::Umin, true) => rows::ATOMIC16_UMIN_BIG_M,
        (AtomicRmwOp::Umax, true) => rows::ATOMIC16_UMAX_BIG_M,
        (AtomicRmwOp::Smin, true) => rows::ATOMIC16_SMIN_BIG_M,
        (AtomicRmwOp::Smax, true) => rows::ATOMIC16_SMAX_BIG_M,
    }
}
