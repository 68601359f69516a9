//! Atomic accesses: acquiring loads and releasing stores, the instructions of LSE, or loops of exclusive accesses.

use super::Lowered;
use super::cx::Cx;
use crate::rows;
use kingpost_ir::atomic_rmw_op::AtomicRmwOp;
use kingpost_ir::{Inst, InstView, Value};
use kingpost_mach::lower::{is_arithmetic, is_little, of_width, pick};
use kingpost_mach::{Address, LowerError, MInst, Machine, RowId};
use kingpost_regalloc::VReg;

/// The only kind of address these instructions have.
fn address(cx: &mut Cx<'_, '_>, addr: Value, inst: Inst) -> Result<Address, LowerError> {
    let base = cx.address_in_register(addr, 0, inst)?;
    Ok(Address::Base { base, disp: 0 })
}

/// `atomic_load`.
pub(super) fn load(cx: &mut Cx<'_, '_>, inst: Inst) -> Lowered {
    let InstView::LoadNoOffset { flags, arg } = cx.func.dfg.view(inst) else { return Err(cx.unsupported(inst)) };
    let value = cx.first_result(inst);
    let ty = cx.ty(value);
    cx.require_word(inst, ty)?;
    let address = address(cx, arg, inst)?;
    // An effect keeps the instruction even if nobody wants its result.
    let def = cx.result(value);
    let image = if is_little(flags) { def } else { cx.int_temp(ty.bits()) };
    cx.emit_mem(of_width(rows::LDAR8_RM, ty.bits()), &[image], address).set_trap(flags.trap_code());
    if image != def {
        cx.swap_bytes(def, image, ty.bits());
    }
    Ok(())
}

/// `atomic_store`.
pub(super) fn store(cx: &mut Cx<'_, '_>, inst: Inst) -> Lowered {
    let InstView::StoreNoOffset { flags, value, addr } = cx.func.dfg.view(inst) else {
        return Err(cx.unsupported(inst));
    };
    let ty = cx.ty(value);
    cx.require_word(inst, ty)?;
    let address = address(cx, addr, inst)?;
    let mut source = cx.use_reg(value);
    if !is_little(flags) {
        source = cx.bytes_reversed(source, ty.bits());
    }
    cx.emit_mem(of_width(rows::STLR8_MR, ty.bits()), &[source], address).set_trap(flags.trap_code());
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
    let address = address(cx, addr, inst)?;
    let trap = flags.trap_code();
    let (def, mut operand) = (cx.result(value), cx.use_reg(operand));
    let big = !is_little(flags) && bits > 8;
    let old = if big { cx.int_temp(bits) } else { def };
    if big && is_arithmetic(op) {
        if op == AtomicRmwOp::Sub {
            operand = changed(cx, pick(bits, rows::NEG32_RR, rows::NEG64_RR), operand, bits);
        }
        let temp = cx.int_temp(bits);
        cx.emit_mem(big_endian_loop(op, bits), &[old, temp, operand], address).set_trap(trap);
    } else {
        let operand = if big { cx.bytes_reversed(operand, bits) } else { operand };
        in_order(cx, op, bits, [old, operand], address).set_trap(trap);
    }
    if big {
        cx.swap_bytes(def, old, bits);
    }
    Ok(())
}

/// Emits an operation in the byte order of the machine: old value and operand.
fn in_order<'a>(
    cx: &'a mut Cx<'_, '_>,
    op: AtomicRmwOp,
    bits: u32,
    [old, mut operand]: [VReg; 2],
    address: Address,
) -> &'a mut MInst {
    if let (true, Some(family)) = (cx.isa.flags.has_lse, single(op)) {
        if let Some(change) = change(op, bits) {
            operand = changed(cx, change, operand, bits);
        }
        return cx.emit_mem(of_width(family, bits), &[old, operand], address);
    }
    let row = of_width(exclusive(op), bits);
    if op == AtomicRmwOp::Xchg {
        return cx.emit_mem(row, &[old, operand], address);
    }
    let temp = cx.int_temp(bits);
    cx.emit_mem(row, &[old, temp, operand], address)
}

/// What `row` makes of the operand, in a new register.
fn changed(cx: &mut Cx<'_, '_>, row: RowId, operand: VReg, bits: u32) -> VReg {
    let changed = cx.int_temp(bits);
    cx.emit(row, &[changed, operand]);
    changed
}

/// The loop of an arithmetic operation on 16 bits and more in big-endian byte order.
fn big_endian_loop(op: AtomicRmwOp, bits: u32) -> RowId {
    let [narrow, middle, wide] = match op {
        AtomicRmwOp::Umin => [rows::ATOMIC_UMIN_BIG16_MR, rows::ATOMIC_UMIN_BIG32_MR, rows::ATOMIC_UMIN_BIG64_MR],
        AtomicRmwOp::Umax => [rows::ATOMIC_UMAX_BIG16_MR, rows::ATOMIC_UMAX_BIG32_MR, rows::ATOMIC_UMAX_BIG64_MR],
        AtomicRmwOp::Smin => [rows::ATOMIC_SMIN_BIG16_MR, rows::ATOMIC_SMIN_BIG32_MR, rows::ATOMIC_SMIN_BIG64_MR],
        AtomicRmwOp::Smax => [rows::ATOMIC_SMAX_BIG16_MR, rows::ATOMIC_SMAX_BIG32_MR, rows::ATOMIC_SMAX_BIG64_MR],
        // Differences are sums with the negated operand.
        _ => [rows::ATOMIC_ADD_BIG16_MR, rows::ATOMIC_ADD_BIG32_MR, rows::ATOMIC_ADD_BIG64_MR],
    };
    match bits {
        16 => narrow,
        32 => middle,
        _ => wide,
    }
}

/// The instruction that does an operation. Differences are sums with the negated operand, and conjunctions clear the bits
/// of the complement.
fn single(op: AtomicRmwOp) -> Option<RowId> {
    match op {
        AtomicRmwOp::Add | AtomicRmwOp::Sub => Some(rows::LDADDAL8_RMR),
        AtomicRmwOp::And => Some(rows::LDCLRAL8_RMR),
        AtomicRmwOp::Or => Some(rows::LDSETAL8_RMR),
        AtomicRmwOp::Xor => Some(rows::LDEORAL8_RMR),
        AtomicRmwOp::Xchg => Some(rows::SWPAL8_RMR),
        AtomicRmwOp::Umin => Some(rows::LDUMINAL8_RMR),
        AtomicRmwOp::Umax => Some(rows::LDUMAXAL8_RMR),
        AtomicRmwOp::Smin => Some(rows::LDSMINAL8_RMR),
        AtomicRmwOp::Smax => Some(rows::LDSMAXAL8_RMR),
        AtomicRmwOp::Nand => None,
    }
}

/// What is done to the operand before.
fn change(op: AtomicRmwOp, bits: u32) -> Option<RowId> {
    match op {
        AtomicRmwOp::Sub => Some(pick(bits, rows::NEG32_RR, rows::NEG64_RR)),
        AtomicRmwOp::And => Some(pick(bits, rows::MVN32_RR, rows::MVN64_RR)),
        _ => None,
    }
}

/// The loop that does an operation.
fn exclusive(op: AtomicRmwOp) -> RowId {
    match op {
        AtomicRmwOp::Add => rows::ATOMIC_ADD8_MR,
        AtomicRmwOp::Sub => rows::ATOMIC_SUB8_MR,
        AtomicRmwOp::And => rows::ATOMIC_AND8_MR,
        AtomicRmwOp::Nand => rows::ATOMIC_NAND8_MR,
        AtomicRmwOp::Or => rows::ATOMIC_OR8_MR,
        AtomicRmwOp::Xor => rows::ATOMIC_XOR8_MR,
        AtomicRmwOp::Xchg => rows::ATOMIC_SWAP8_MR,
        AtomicRmwOp::Umin => rows::ATOMIC_UMIN8_MR,
        AtomicRmwOp::Umax => rows::ATOMIC_UMAX8_MR,
        AtomicRmwOp::Smin => rows::ATOMIC_SMIN8_MR,
        AtomicRmwOp::Smax => rows::ATOMIC_SMAX8_MR,
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
    let address = address(cx, addr, inst)?;
    let (def, mut expected, mut new) = (cx.result(value), cx.use_reg(expected), cx.use_reg(new));
    let big = !is_little(flags) && bits > 8;
    let old = if big { cx.int_temp(bits) } else { def };
    if big {
        [expected, new] = [expected, new].map(|operand| cx.bytes_reversed(operand, bits));
    }
    let family = if cx.isa.flags.has_lse { rows::CASAL8_MR } else { rows::ATOMIC_CAS8_MR };
    cx.emit_mem(of_width(family, bits), &[old, expected, new], address).set_trap(flags.trap_code());
    if big {
        cx.swap_bytes(def, old, bits);
    }
    Ok(())
}

/// `fence`.
pub(super) fn fence(cx: &mut Cx<'_, '_>) -> Lowered {
    cx.emit(rows::DMB_ISH, &[]);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_a_family_follow_each_other() {
        let families = AtomicRmwOp::ALL.into_iter().flat_map(|op| [Some(exclusive(op)), single(op)]);
        let others = [rows::LDAR8_RM, rows::STLR8_MR, rows::CASAL8_MR, rows::ATOMIC_CAS8_MR];
        for first in families.flatten().chain(others) {
            let name = rows::ROWS[usize::from(first.0)].name;
            for bits in [16, 32, 64] {
                let row = of_width(first, bits);
                let expected = name.replace('8', &bits.to_string());
                assert_eq!(rows::ROWS[usize::from(row.0)].name, expected);
            }
        }
    }
}
