//! Atomic accesses. Ordinary loads are sequentially consistent here; stores are exchanges.

use super::Done;
use super::cx::{Cx, neg};
use crate::rows;
use kingpost_ir::atomic_rmw_op::AtomicRmwOp;
use kingpost_ir::{Inst, InstView};
use kingpost_mach::lower::{is_little, load_into, load_word, of_width};
use kingpost_mach::{Machine, RowId};

/// `atomic_load`.
pub(super) fn load(cx: &mut Cx<'_, '_>, inst: Inst) -> Done {
    let InstView::LoadNoOffset { flags, arg } = cx.func.dfg.view(inst) else { return Err(cx.unsupported(inst)) };
    let value = cx.first(inst);
    let ty = cx.ty(value);
    cx.require_word(inst, ty)?;
    let address = cx.address(arg, 0, inst)?;
    let def = cx.result(value);
    if !is_little(flags) {
        return load_word(cx, def, ty, address, flags.trap_code()).ok_or_else(|| cx.unsupported(inst));
    }
    load_into(cx, &[def], ty, address, flags.trap_code()).ok_or_else(|| cx.unsupported(inst))
}

/// `atomic_store`.
pub(super) fn store(cx: &mut Cx<'_, '_>, inst: Inst) -> Done {
    let InstView::StoreNoOffset { flags, value, addr } = cx.func.dfg.view(inst) else {
        return Err(cx.unsupported(inst));
    };
    let ty = cx.ty(value);
    cx.require_word(inst, ty)?;
    let address = cx.address(addr, 0, inst)?;
    let mut operands = [cx.int_temp(ty.bits()), cx.put(value)];
    if !is_little(flags) {
        let swapped = cx.int_temp(ty.bits());
        cx.swap_bytes(swapped, operands[1], ty.bits());
        operands[1] = swapped;
    }
    let row = of_width(rows::XCHG8_MR, ty.bits());
    cx.emit_mem(row, &operands, address).set_trap(flags.trap_code());
    Ok(())
}

/// `atomic_rmw`.
pub(super) fn rmw(cx: &mut Cx<'_, '_>, inst: Inst) -> Done {
    let InstView::AtomicRmw { flags, op, addr, value: operand } = cx.func.dfg.view(inst) else {
        return Err(cx.unsupported(inst));
    };
    let value = cx.first(inst);
    let ty = cx.ty(value);
    cx.require_little_word(inst, ty, flags)?;
    let bits = ty.bits();
    let address = cx.address(addr, 0, inst)?;
    let trap = flags.trap_code();
    let mut operand = cx.put(operand);
    if let (false, Some(family)) = (cx.is_put(value), without_result(op)) {
        cx.emit_mem(of_width(family, bits), &[operand], address).set_trap(trap);
        return Ok(());
    }
    let def = cx.result(value);
    if op == AtomicRmwOp::Sub {
        let negated = cx.int_temp(bits);
        cx.emit(neg(bits), &[negated, operand]);
        operand = negated;
    }
    match with_result(op) {
        Rmw::Single(family) => cx.emit_mem(of_width(family, bits), &[def, operand], address).set_trap(trap),
        Rmw::Loop(family) => {
            let changed = cx.int_temp(bits);
            cx.emit_mem(of_width(family, bits), &[def, changed, operand], address).set_trap(trap);
        }
    }
    Ok(())
}

/// The operation whose old value nobody wants.
fn without_result(op: AtomicRmwOp) -> Option<RowId> {
    match op {
        AtomicRmwOp::Add => Some(rows::LOCK_ADD8_MR),
        AtomicRmwOp::Sub => Some(rows::LOCK_SUB8_MR),
        AtomicRmwOp::And => Some(rows::LOCK_AND8_MR),
        AtomicRmwOp::Or => Some(rows::LOCK_OR8_MR),
        AtomicRmwOp::Xor => Some(rows::LOCK_XOR8_MR),
        AtomicRmwOp::Nand
        | AtomicRmwOp::Xchg
        | AtomicRmwOp::Umin
        | AtomicRmwOp::Umax
        | AtomicRmwOp::Smin
        | AtomicRmwOp::Smax => None,
    }
}

/// How an operation gives the old value.
enum Rmw {
    /// One instruction: the operand in, the old value out.
    Single(RowId),
    /// A loop of compare-exchanges, with a temporary.
    Loop(RowId),
}

fn with_result(op: AtomicRmwOp) -> Rmw {
    match op {
        // Differences are sums with the negated operand.
        AtomicRmwOp::Add | AtomicRmwOp::Sub => Rmw::Single(rows::LOCK_XADD8_MR),
        AtomicRmwOp::Xchg => Rmw::Single(rows::XCHG8_MR),
        AtomicRmwOp::And => Rmw::Loop(rows::ATOMIC_AND8_MR),
        AtomicRmwOp::Nand => Rmw::Loop(rows::ATOMIC_NAND8_MR),
        AtomicRmwOp::Or => Rmw::Loop(rows::ATOMIC_OR8_MR),
        AtomicRmwOp::Xor => Rmw::Loop(rows::ATOMIC_XOR8_MR),
        AtomicRmwOp::Umin => Rmw::Loop(rows::ATOMIC_UMIN8_MR),
        AtomicRmwOp::Umax => Rmw::Loop(rows::ATOMIC_UMAX8_MR),
        AtomicRmwOp::Smin => Rmw::Loop(rows::ATOMIC_SMIN8_MR),
        AtomicRmwOp::Smax => Rmw::Loop(rows::ATOMIC_SMAX8_MR),
    }
}

/// `atomic_cas`.
pub(super) fn cas(cx: &mut Cx<'_, '_>, inst: Inst) -> Done {
    let InstView::AtomicCas { flags, addr, expected, new } = cx.func.dfg.view(inst) else {
        return Err(cx.unsupported(inst));
    };
    let value = cx.first(inst);
    let ty = cx.ty(value);
    cx.require_little_word(inst, ty, flags)?;
    let address = cx.address(addr, 0, inst)?;
    let operands = [cx.result(value), cx.put(expected), cx.put(new)];
    let row = of_width(rows::LOCK_CMPXCHG8_MR, ty.bits());
    cx.emit_mem(row, &operands, address).set_trap(flags.trap_code());
    Ok(())
}

/// `fence`.
pub(super) fn fence(cx: &mut Cx<'_, '_>) -> Done {
    cx.emit(rows::MFENCE, &[]);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_a_family_follow_each_other() {
        for op in AtomicRmwOp::ALL {
            let (Rmw::Single(family) | Rmw::Loop(family)) = with_result(op);
            for first in [Some(family), without_result(op)].into_iter().flatten() {
                let name = rows::ROWS[usize::from(first.0)].name;
                for bits in [16, 32, 64] {
                    let row = of_width(first, bits);
                    let expected = name.replace('8', &bits.to_string());
                    assert_eq!(rows::ROWS[usize::from(row.0)].name, expected);
                }
            }
        }
    }
}
