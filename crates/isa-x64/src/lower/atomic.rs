//! Atomic accesses. Ordinary loads are sequentially consistent here; stores are exchanges.

use super::Lowered;
use super::cx::{Cx, neg};
use crate::rows;
use kingpost_ir::atomic_rmw_op::AtomicRmwOp;
use kingpost_ir::{Inst, InstView};
use kingpost_mach::lower::{is_arithmetic, is_little, load_into, load_word, of_width};
use kingpost_mach::{Machine, RowId};

/// `atomic_load`.
pub(super) fn load(cx: &mut Cx<'_, '_>, inst: Inst) -> Lowered {
    let InstView::LoadNoOffset { flags, arg } = cx.func.dfg.view(inst) else { return Err(cx.unsupported(inst)) };
    let value = cx.first_result(inst);
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
pub(super) fn store(cx: &mut Cx<'_, '_>, inst: Inst) -> Lowered {
    let InstView::StoreNoOffset { flags, value, addr } = cx.func.dfg.view(inst) else {
        return Err(cx.unsupported(inst));
    };
    let ty = cx.ty(value);
    cx.require_word(inst, ty)?;
    let address = cx.address(addr, 0, inst)?;
    let mut operands = [cx.int_temp(ty.bits()), cx.use_reg(value)];
    if !is_little(flags) {
        operands[1] = cx.bytes_reversed(operands[1], ty.bits());
    }
    let row = of_width(rows::XCHG8_MR, ty.bits());
    cx.emit_mem(row, &operands, address).set_trap(flags.trap_code());
    Ok(())
}

/// `atomic_rmw`. In big-endian byte order bitwise operations are those of the reversed operand, and the old value is reversed
/// afterwards.
pub(super) fn rmw(cx: &mut Cx<'_, '_>, inst: Inst) -> Lowered {
    let InstView::AtomicRmw { flags, op, addr, value: operand } = cx.func.dfg.view(inst) else {
        return Err(cx.unsupported(inst));
    };
    let value = cx.first_result(inst);
    let ty = cx.ty(value);
    cx.require_word(inst, ty)?;
    let bits = ty.bits();
    let address = cx.address(addr, 0, inst)?;
    let trap = flags.trap_code();
    let big = !is_little(flags) && bits > 8;
    let mut operand = cx.use_reg(operand);
    if big && !is_arithmetic(op) {
        operand = cx.bytes_reversed(operand, bits);
    }
    let in_order = !(big && is_arithmetic(op));
    if let (false, true, Some(family)) = (cx.has_reg(value), in_order, without_result(op)) {
        cx.emit_mem(of_width(family, bits), &[operand], address).set_trap(trap);
        return Ok(());
    }
    let def = cx.result(value);
    let old = if big { cx.int_temp(bits) } else { def };
    if op == AtomicRmwOp::Sub {
        let negated = cx.int_temp(bits);
        cx.emit(neg(bits), &[negated, operand]);
        operand = negated;
    }
    let row = if in_order { with_result(op, bits) } else { Rmw::Loop(big_endian_loop(op, bits)) };
    match row {
        Rmw::Single(row) => cx.emit_mem(row, &[old, operand], address).set_trap(trap),
        Rmw::Loop(row) => {
            let changed = cx.int_temp(bits);
            cx.emit_mem(row, &[old, changed, operand], address).set_trap(trap);
        }
    }
    if big {
        cx.swap_bytes(def, old, bits);
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

fn with_result(op: AtomicRmwOp, bits: u32) -> Rmw {
    let family = match op {
        // Differences are sums with the negated operand.
        AtomicRmwOp::Add | AtomicRmwOp::Sub => return Rmw::Single(of_width(rows::LOCK_XADD8_MR, bits)),
        AtomicRmwOp::Xchg => return Rmw::Single(of_width(rows::XCHG8_MR, bits)),
        AtomicRmwOp::And => rows::ATOMIC_AND8_MR,
        AtomicRmwOp::Nand => rows::ATOMIC_NAND8_MR,
        AtomicRmwOp::Or => rows::ATOMIC_OR8_MR,
        AtomicRmwOp::Xor => rows::ATOMIC_XOR8_MR,
        AtomicRmwOp::Umin => rows::ATOMIC_UMIN8_MR,
        AtomicRmwOp::Umax => rows::ATOMIC_UMAX8_MR,
        AtomicRmwOp::Smin => rows::ATOMIC_SMIN8_MR,
        AtomicRmwOp::Smax => rows::ATOMIC_SMAX8_MR,
    };
    Rmw::Loop(of_width(family, bits))
}

/// The loop of an arithmetic operation on 16 bits and more in big-endian byte order.
fn big_endian_loop(op: AtomicRmwOp, bits: u32) -> RowId {
    let [narrow, middle, wide] = match op {
        AtomicRmwOp::Umin => [rows::ATOMIC_UMIN_BIG16_MR, rows::ATOMIC_UMIN_BIG32_MR, rows::ATOMIC_UMIN_BIG64_MR],
        AtomicRmwOp::Umax => [rows::ATOMIC_UMAX_BIG16_MR, rows::ATOMIC_UMAX_BIG32_MR, rows::ATOMIC_UMAX_BIG64_MR],
        AtomicRmwOp::Smin => [rows::ATOMIC_SMIN_BIG16_MR, rows::ATOMIC_SMIN_BIG32_MR, rows::ATOMIC_SMIN_BIG64_MR],
        AtomicRmwOp::Smax => [rows::ATOMIC_SMAX_BIG16_MR, rows::ATOMIC_SMAX_BIG32_MR, rows::ATOMIC_SMAX_BIG64_MR],
        // Differences are sums here, too.
        _ => [rows::ATOMIC_ADD_BIG16_MR, rows::ATOMIC_ADD_BIG32_MR, rows::ATOMIC_ADD_BIG64_MR],
    };
    match bits {
        16 => narrow,
        32 => middle,
        _ => wide,
    }
}

/// `atomic_cas`.
pub(super) fn cas(cx: &mut Cx<'_, '_>, inst: Inst) -> Lowered {
    let InstView::AtomicCas { flags, addr, expected, new } = cx.func.dfg.view(inst) else {
        return Err(cx.unsupported(inst));
    };
    let value = cx.first_result(inst);
    let ty = cx.ty(value);
    cx.require_word(inst, ty)?;
    let bits = ty.bits();
    let address = cx.address(addr, 0, inst)?;
    let (def, mut expected, mut new) = (cx.result(value), cx.use_reg(expected), cx.use_reg(new));
    let big = !is_little(flags) && bits > 8;
    let old = if big { cx.int_temp(bits) } else { def };
    if big {
        [expected, new] = [expected, new].map(|operand| cx.bytes_reversed(operand, bits));
    }
    let row = of_width(rows::LOCK_CMPXCHG8_MR, bits);
    cx.emit_mem(row, &[old, expected, new], address).set_trap(flags.trap_code());
    if big {
        cx.swap_bytes(def, old, bits);
    }
    Ok(())
}

/// `fence`.
pub(super) fn fence(cx: &mut Cx<'_, '_>) -> Lowered {
    cx.emit(rows::MFENCE, &[]);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_a_family_follow_each_other() {
        for op in AtomicRmwOp::ALL {
            let (Rmw::Single(family) | Rmw::Loop(family)) = with_result(op, 8);
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
