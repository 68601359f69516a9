//! Atomic accesses: acquiring loads and releasing stores, the instructions of LSE, or loops of exclusive accesses.
//!
//! Before: `v2 = atomic_rmw.i32 add v0, v1`. After: `ldaddal w1, w2, [x0]`.

use super::LowerResult;
use super::cx::Cx;
use crate::rows;
use kingpost_ir::atomic_rmw_op::AtomicRmwOp;
use kingpost_ir::{Inst, InstView, Value};
use kingpost_mach::lower::{in_memory_order, is_arithmetic, is_little, to_memory_order};
use kingpost_mach::{Address, Family, LowerError, MInst, RowId};
use kingpost_regalloc::VReg;

/// Returns the address as a base register, because atomic instructions take no other kind.
fn address(cx: &mut Cx<'_, '_>, addr: Value, inst: Inst) -> Result<Address, LowerError> {
    let base = cx.address_in_register(addr, 0, inst)?;
    Ok(Address::Base { base, disp: 0 })
}

/// Lowers `atomic_load`.
pub(super) fn load(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let InstView::LoadNoOffset { flags, arg } = cx.func.dfg.view(inst) else { return Err(cx.unsupported(inst)) };
    let value = cx.first_result(inst);
    let ty = cx.ty(value);
    let address = address(cx, arg, inst)?;
    // The instruction is kept because of its effect even if its result has no use.
    let def = cx.result(value);
    in_memory_order(cx, flags, ty.bits(), def, [], |cx, image, []| {
        cx.emit_mem(rows::LDAR_RM.of(ty.bits()), &[image], address).set_trap(flags.trap_code());
    });
    Ok(())
}

/// Lowers `atomic_store`.
pub(super) fn store(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let InstView::StoreNoOffset { flags, value, addr } = cx.func.dfg.view(inst) else {
        return Err(cx.unsupported(inst));
    };
    let ty = cx.ty(value);
    let address = address(cx, addr, inst)?;
    let source = cx.use_reg(value);
    let source = to_memory_order(cx, flags, source, ty.bits());
    cx.emit_mem(rows::STLR_MR.of(ty.bits()), &[source], address).set_trap(flags.trap_code());
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
    let address = address(cx, addr, inst)?;
    let trap = flags.trap_code();
    let (def, operand) = (cx.result(value), cx.use_reg(operand));
    if is_arithmetic(op) && !is_little(flags) && bits > 8 {
        let negated = op == AtomicRmwOp::Sub;
        let operand = if negated { changed(cx, rows::NEG_RR.of(bits), operand, bits) } else { operand };
        in_memory_order(cx, flags, bits, def, [], |cx, old, []| {
            let temp = cx.int_temp(bits);
            cx.emit_mem(big_endian_loop(op).of(bits), &[old, temp, operand], address).set_trap(trap);
        });
        return Ok(());
    }
    in_memory_order(cx, flags, bits, def, [operand], |cx, old, [operand]| {
        operate(cx, op, bits, [old, operand], address).set_trap(trap);
    });
    Ok(())
}

/// Emits an operation in the byte order of the machine. The registers are old value and operand.
fn operate<'a>(
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
        return cx.emit_mem(family.of(bits), &[old, operand], address);
    }
    let row = exclusive(op).of(bits);
    if op == AtomicRmwOp::Xchg {
        return cx.emit_mem(row, &[old, operand], address);
    }
    let temp = cx.int_temp(bits);
    cx.emit_mem(row, &[old, temp, operand], address)
}

/// Returns the result of `row` on the operand, in a new register.
fn changed(cx: &mut Cx<'_, '_>, row: RowId, operand: VReg, bits: u32) -> VReg {
    let changed = cx.int_temp(bits);
    cx.emit(row, &[changed, operand]);
    changed
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

/// Returns the LSE instruction of an operation. A difference is a sum with the negated operand, and a conjunction
/// clears the bits of the complement.
fn single(op: AtomicRmwOp) -> Option<Family> {
    match op {
        AtomicRmwOp::Add | AtomicRmwOp::Sub => Some(rows::LDADDAL_RMR),
        AtomicRmwOp::And => Some(rows::LDCLRAL_RMR),
        AtomicRmwOp::Or => Some(rows::LDSETAL_RMR),
        AtomicRmwOp::Xor => Some(rows::LDEORAL_RMR),
        AtomicRmwOp::Xchg => Some(rows::SWPAL_RMR),
        AtomicRmwOp::Umin => Some(rows::LDUMINAL_RMR),
        AtomicRmwOp::Umax => Some(rows::LDUMAXAL_RMR),
        AtomicRmwOp::Smin => Some(rows::LDSMINAL_RMR),
        AtomicRmwOp::Smax => Some(rows::LDSMAXAL_RMR),
        AtomicRmwOp::Nand => None,
    }
}

/// Returns the row that changes the operand before the LSE instruction.
fn change(op: AtomicRmwOp, bits: u32) -> Option<RowId> {
    match op {
        AtomicRmwOp::Sub => Some(rows::NEG_RR.of(bits)),
        AtomicRmwOp::And => Some(rows::MVN_RR.of(bits)),
        _ => None,
    }
}

/// Returns the exclusive loop of an operation.
fn exclusive(op: AtomicRmwOp) -> Family {
    match op {
        AtomicRmwOp::Add => rows::ATOMIC_ADD_MR,
        AtomicRmwOp::Sub => rows::ATOMIC_SUB_MR,
        AtomicRmwOp::And => rows::ATOMIC_AND_MR,
        AtomicRmwOp::Nand => rows::ATOMIC_NAND_MR,
        AtomicRmwOp::Or => rows::ATOMIC_OR_MR,
        AtomicRmwOp::Xor => rows::ATOMIC_XOR_MR,
        AtomicRmwOp::Xchg => rows::ATOMIC_SWAP_MR,
        AtomicRmwOp::Umin => rows::ATOMIC_UMIN_MR,
        AtomicRmwOp::Umax => rows::ATOMIC_UMAX_MR,
        AtomicRmwOp::Smin => rows::ATOMIC_SMIN_MR,
        AtomicRmwOp::Smax => rows::ATOMIC_SMAX_MR,
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
    let address = address(cx, addr, inst)?;
    let (def, expected, new) = (cx.result(value), cx.use_reg(expected), cx.use_reg(new));
    let family = if cx.isa.flags.has_lse { rows::CASAL_MR } else { rows::ATOMIC_CAS_MR };
    in_memory_order(cx, flags, bits, def, [expected, new], |cx, old, [expected, new]| {
        cx.emit_mem(family.of(bits), &[old, expected, new], address).set_trap(flags.trap_code());
    });
    Ok(())
}

/// Lowers `fence`.
pub(super) fn fence(cx: &mut Cx<'_, '_>, _inst: Inst) -> LowerResult {
    cx.emit(rows::DMB_ISH, &[]);
    Ok(())
}
