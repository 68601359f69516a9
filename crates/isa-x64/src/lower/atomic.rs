//! Atomic accesses. Ordinary loads are sequentially consistent on x86-64; stores are exchanges.
//!
//! Before: `v2 = atomic_rmw.i32 add v0, v1`. After: `lock xadd [v0], v2`.

use super::LowerResult;
use super::cx::Cx;
use crate::rows;
use kingpost_ir::atomic_rmw_op::AtomicRmwOp;
use kingpost_ir::{Inst, InstView};
use kingpost_mach::Family;
use kingpost_mach::lower::{in_memory_order, is_arithmetic, is_little, load_into, load_word, to_memory_order};
use kingpost_regalloc::VReg;

/// Lowers `atomic_load`.
pub(super) fn load(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let InstView::LoadNoOffset { flags, arg } = cx.func.dfg.view(inst) else { return Err(cx.unsupported(inst)) };
    let value = cx.first_result(inst);
    let ty = cx.ty(value);
    let address = cx.address(arg, 0, inst)?;
    let def = cx.result(value);
    if !is_little(flags) {
        return load_word(cx, def, ty, address, flags.trap_code()).ok_or_else(|| cx.unsupported(inst));
    }
    load_into(cx, def, ty, address, flags.trap_code()).ok_or_else(|| cx.unsupported(inst))
}

/// Lowers `atomic_store`.
pub(super) fn store(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let InstView::StoreNoOffset { flags, value, addr } = cx.func.dfg.view(inst) else {
        return Err(cx.unsupported(inst));
    };
    let ty = cx.ty(value);
    let address = cx.address(addr, 0, inst)?;
    let (unused, source) = (cx.int_temp(ty.bits()), cx.use_reg(value));
    let source = to_memory_order(cx, flags, source, ty.bits());
    cx.emit_mem(rows::XCHG_MR.of(ty.bits()), &[unused, source], address).set_trap(flags.trap_code());
    Ok(())
}

/// Lowers `atomic_rmw`. In big-endian byte order, bitwise operations take the reversed operand, and the old value is
/// reversed afterwards.
pub(super) fn rmw(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let InstView::AtomicRmw { flags, op, addr, value: operand } = cx.func.dfg.view(inst) else {
        return Err(cx.unsupported(inst));
    };
    let value = cx.first_result(inst);
    let ty = cx.ty(value);
    let bits = ty.bits();
    let address = cx.address(addr, 0, inst)?;
    let trap = flags.trap_code();
    let operand = cx.use_reg(operand);
    if is_arithmetic(op) && !is_little(flags) && bits > 8 {
        let def = cx.result(value);
        let operand = addend(cx, op, operand, bits);
        in_memory_order(cx, flags, bits, def, [], |cx, old, []| {
            let changed = cx.int_temp(bits);
            cx.emit_mem(big_endian_loop(op).of(bits), &[old, changed, operand], address).set_trap(trap);
        });
        return Ok(());
    }
    if let (false, Some(family)) = (cx.has_reg(value), without_result(op)) {
        let operand = to_memory_order(cx, flags, operand, bits);
        cx.emit_mem(family.of(bits), &[operand], address).set_trap(trap);
        return Ok(());
    }
    let def = cx.result(value);
    let operand = addend(cx, op, operand, bits);
    in_memory_order(cx, flags, bits, def, [operand], |cx, old, [operand]| match with_result(op) {
        Rmw::Single(family) => cx.emit_mem(family.of(bits), &[old, operand], address).set_trap(trap),
        Rmw::Loop(family) => {
            let changed = cx.int_temp(bits);
            cx.emit_mem(family.of(bits), &[old, changed, operand], address).set_trap(trap);
        }
    });
    Ok(())
}

/// Returns the operand, negated for a difference, which is a sum with the negated operand.
fn addend(cx: &mut Cx<'_, '_>, op: AtomicRmwOp, operand: VReg, bits: u32) -> VReg {
    if op != AtomicRmwOp::Sub {
        return operand;
    }
    let negated = cx.int_temp(bits);
    cx.emit(rows::NEG_R.of(bits), &[negated, operand]);
    negated
}

/// Returns the row of the operation if its old value has no use.
fn without_result(op: AtomicRmwOp) -> Option<Family> {
    match op {
        AtomicRmwOp::Add => Some(rows::LOCK_ADD_MR),
        AtomicRmwOp::Sub => Some(rows::LOCK_SUB_MR),
        AtomicRmwOp::And => Some(rows::LOCK_AND_MR),
        AtomicRmwOp::Or => Some(rows::LOCK_OR_MR),
        AtomicRmwOp::Xor => Some(rows::LOCK_XOR_MR),
        AtomicRmwOp::Nand
        | AtomicRmwOp::Xchg
        | AtomicRmwOp::Umin
        | AtomicRmwOp::Umax
        | AtomicRmwOp::Smin
        | AtomicRmwOp::Smax => None,
    }
}

/// Way in which an operation returns the old value.
enum Rmw {
    /// One instruction: the operand in, the old value out.
    Single(Family),
    /// A loop of compare-exchanges, with a temporary.
    Loop(Family),
}

fn with_result(op: AtomicRmwOp) -> Rmw {
    match op {
        // A difference is a sum with the negated operand.
        AtomicRmwOp::Add | AtomicRmwOp::Sub => Rmw::Single(rows::LOCK_XADD_MR),
        AtomicRmwOp::Xchg => Rmw::Single(rows::XCHG_MR),
        AtomicRmwOp::And => Rmw::Loop(rows::ATOMIC_AND_MR),
        AtomicRmwOp::Nand => Rmw::Loop(rows::ATOMIC_NAND_MR),
        AtomicRmwOp::Or => Rmw::Loop(rows::ATOMIC_OR_MR),
        AtomicRmwOp::Xor => Rmw::Loop(rows::ATOMIC_XOR_MR),
        AtomicRmwOp::Umin => Rmw::Loop(rows::ATOMIC_UMIN_MR),
        AtomicRmwOp::Umax => Rmw::Loop(rows::ATOMIC_UMAX_MR),
        AtomicRmwOp::Smin => Rmw::Loop(rows::ATOMIC_SMIN_MR),
        AtomicRmwOp::Smax => Rmw::Loop(rows::ATOMIC_SMAX_MR),
    }
}

/// Returns the loop of an arithmetic operation on 16 bits and more in big-endian byte order.
fn big_endian_loop(op: AtomicRmwOp) -> Family {
    match op {
        AtomicRmwOp::Umin => rows::ATOMIC_UMIN_BIG_MR,
        AtomicRmwOp::Umax => rows::ATOMIC_UMAX_BIG_MR,
        AtomicRmwOp::Smin => rows::ATOMIC_SMIN_BIG_MR,
        AtomicRmwOp::Smax => rows::ATOMIC_SMAX_BIG_MR,
        _ => rows::ATOMIC_ADD_BIG_MR,
    }
}

/// Lowers `atomic_cas`.
pub(super) fn cas(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let InstView::AtomicCas { flags, addr, expected, new } = cx.func.dfg.view(inst) else {
        return Err(cx.unsupported(inst));
    };
    let value = cx.first_result(inst);
    let ty = cx.ty(value);
    let bits = ty.bits();
    let address = cx.address(addr, 0, inst)?;
    let (def, expected, new) = (cx.result(value), cx.use_reg(expected), cx.use_reg(new));
    in_memory_order(cx, flags, bits, def, [expected, new], |cx, old, [expected, new]| {
        let row = rows::LOCK_CMPXCHG_MR.of(bits);
        cx.emit_mem(row, &[old, expected, new], address).set_trap(flags.trap_code());
    });
    Ok(())
}

/// Lowers `fence`.
pub(super) fn fence(cx: &mut Cx<'_, '_>, _inst: Inst) -> LowerResult {
    cx.emit(rows::MFENCE, &[]);
    Ok(())
}
