//! Sums, differences, bitwise operations.

use super::Lowered;
use super::address::{AddressExpr, MAX_SHIFT};
use super::cx::{Alu, Cx};
use crate::regs::CC_NS;
use crate::rows;
use kingpost_ir::types::I128;
use kingpost_ir::{Inst, Opcode, Type, Value};
use kingpost_mach::lower::{is_float_reg, is_word, working_bits};
use kingpost_mach::{LowerError, Machine};
use kingpost_regalloc::VReg;

/// `iadd`.
pub(super) fn iadd(cx: &mut Cx<'_, '_>, inst: Inst) -> Lowered {
    let [x, y] = cx.args(inst);
    let ty = cx.ty(x);
    if ty == I128 {
        cx.emit_halves(inst, Alu::ADD.rr.of(64), Alu::ADC.rr.of(64));
        return Ok(());
    }
    if is_word(ty)
        && let Some(terms) = sum_for_lea(cx, x, y)
    {
        let value = cx.first_result(inst);
        let def = cx.result(value);
        let address = cx.register_address(&terms);
        cx.emit_mem(rows::LEA_RM.of(ty.bits()), &[def], address);
        return Ok(());
    }
    two_operands(cx, inst, Alu::ADD)
}

/// The terms of `x + y` if `lea` saves something: it takes in another sum or shift, or keeps both operands intact.
fn sum_for_lea(cx: &Cx<'_, '_>, x: Value, y: Value) -> Option<AddressExpr> {
    let (x, y) = if cx.constant(x).is_some() { (y, x) } else { (x, y) };
    let once = |value| cx.uses(value) == 1 && !cx.has_reg(value);
    if let Some(imm) = cx.imm32(y) {
        if cx.def_as(x, Opcode::Iadd).is_some() && once(x) {
            let terms = cx.address_expr(x, i64::from(imm));
            return terms.index.is_some().then_some(terms);
        }
        return (cx.uses(x) > 1).then_some(AddressExpr { base: x, index: None, disp: i64::from(imm) });
    }
    for (base, index) in [(x, y), (y, x)] {
        if let Some(shifted) = cx.small_shift(index, MAX_SHIFT).filter(|_| once(index)) {
            return Some(AddressExpr { base, index: Some(shifted), disp: 0 });
        }
    }
    (cx.uses(x) > 1 && cx.uses(y) > 1).then_some(AddressExpr { base: x, index: Some((y, 0)), disp: 0 })
}

/// `isub`.
pub(super) fn isub(cx: &mut Cx<'_, '_>, inst: Inst) -> Lowered {
    if cx.result_ty(inst) == I128 {
        cx.emit_halves(inst, Alu::SUB.rr.of(64), Alu::SBB.rr.of(64));
        return Ok(());
    }
    two_operands(cx, inst, Alu::SUB)
}

/// `band`, `bor`, `bxor`.
pub(super) fn bitwise(cx: &mut Cx<'_, '_>, inst: Inst, alu: Alu) -> Lowered {
    let ty = cx.result_ty(inst);
    if ty == I128 {
        cx.emit_halves(inst, alu.rr.of(64), alu.rr.of(64));
        return Ok(());
    }
    if is_float_reg(ty) {
        return float_bitwise(cx, inst, alu);
    }
    if alu == Alu::AND && is_word(ty) && (mask(cx, inst) || and_not(cx, inst)) {
        return Ok(());
    }
    two_operands(cx, inst, alu)
}

/// Bitwise operations on float registers work on all their bits.
fn float_bitwise(cx: &mut Cx<'_, '_>, inst: Inst, alu: Alu) -> Lowered {
    let [x, y] = cx.args(inst);
    let row = match alu {
        Alu::AND => rows::ANDPS_RR,
        Alu::OR => rows::ORPS_RR,
        _ => rows::XORPS_RR,
    };
    let value = cx.first_result(inst);
    let operands = [cx.result(value), cx.use_reg(x), cx.use_reg(y)];
    cx.emit(row, &operands);
    Ok(())
}

/// `band` with a constant that keeps the low 8, 16 or 32 bits, or whose upper half is zero.
fn mask(cx: &mut Cx<'_, '_>, inst: Inst) -> bool {
    let [x, y] = cx.constant_last(inst);
    let Some(constant) = cx.constant(y) else { return false };
    let bits = cx.ty(x).bits();
    let row = match constant {
        0xff if bits > 8 => rows::MOVZX32_RR.of(8),
        0xffff if bits > 16 => rows::MOVZX32_RR.of(16),
        0xffff_ffff if bits == 64 => rows::MOVZX64_32_RR,
        0..=0xffff_ffff if bits == 64 => {
            let value = cx.first_result(inst);
            let operands = [cx.result(value), cx.use_reg(x)];
            cx.emit_imm(rows::AND_RI.of(32), &operands, constant as i32);
            return true;
        }
        _ => return false,
    };
    let value = cx.first_result(inst);
    let operands = [cx.result(value), cx.use_reg(x)];
    cx.emit(row, &operands);
    true
}

/// `band` with a complement, where the CPU has an instruction for it.
fn and_not(cx: &mut Cx<'_, '_>, inst: Inst) -> bool {
    if !cx.isa.flags.has_bmi1 {
        return false;
    }
    let [x, y] = cx.args(inst);
    for (plain, inverted) in [(x, y), (y, x)] {
        if let Some(bnot) = cx.def_as(inverted, Opcode::Bnot).filter(|_| cx.uses(inverted) == 1) {
            let bits = working_bits(cx.ty(x));
            let [source] = cx.args(bnot);
            let value = cx.first_result(inst);
            let operands = [cx.result(value), cx.use_reg(source), cx.use_reg(plain)];
            cx.emit(rows::ANDN_RR.of(bits), &operands);
            return true;
        }
    }
    false
}

/// A two-operand operation on integers of one register.
pub(super) fn two_operands(cx: &mut Cx<'_, '_>, inst: Inst, alu: Alu) -> Lowered {
    let ty = cx.result_ty(inst);
    cx.require_word(inst, ty)?;
    let value = cx.first_result(inst);
    let def = cx.result(value);
    let [x, y] = if alu.commutes() { cx.constant_last(inst) } else { cx.args(inst) };
    operate(cx, inst, alu, working_bits(ty), def, [x, y])
}

/// Emits `def = x op y` in `bits` bits: with an immediate, a folded load, or registers.
pub(super) fn operate(
    cx: &mut Cx<'_, '_>,
    inst: Inst,
    alu: Alu,
    bits: u32,
    def: VReg,
    [x, y]: [Value; 2],
) -> Result<(), LowerError> {
    if let Some(imm) = cx.imm32(y) {
        let source = cx.use_reg(x);
        cx.emit_imm(alu.ri.of(bits), &[def, source], imm);
        return Ok(());
    }
    if let Some(load) = cx.fold_load(y, bits, inst)? {
        let source = cx.use_reg(x);
        cx.emit_folded(alu.rm.of(bits), &[def, source], load);
        return Ok(());
    }
    if alu.commutes()
        && let Some(load) = cx.fold_load(x, bits, inst)?
    {
        let source = cx.use_reg(y);
        cx.emit_folded(alu.rm.of(bits), &[def, source], load);
        return Ok(());
    }
    // The result takes the place of the first operand: better one that nobody needs afterwards.
    let (x, y) = if alu.commutes() && cx.uses(x) > 1 && cx.uses(y) == 1 { (y, x) } else { (x, y) };
    let operands = [def, cx.use_reg(x), cx.use_reg(y)];
    cx.emit(alu.rr.of(bits), &operands);
    Ok(())
}

/// `bnot`.
pub(super) fn bnot(cx: &mut Cx<'_, '_>, inst: Inst) -> Lowered {
    let [x] = cx.args(inst);
    let ty = cx.ty(x);
    let value = cx.first_result(inst);
    if ty == I128 {
        let (defs, x) = (cx.result_parts(value), cx.use_regs(x));
        cx.emit(rows::NOT_R.of(64), &[defs[0], x[0]]);
        cx.emit(rows::NOT_R.of(64), &[defs[1], x[1]]);
        return Ok(());
    }
    if is_float_reg(ty) {
        let ones = cx.float_temp(128);
        let operands = [cx.result(value), cx.use_reg(x), ones];
        cx.emit(rows::PCMPEQD_ONES, &[ones]);
        cx.emit(rows::XORPS_RR, &operands);
        return Ok(());
    }
    one_operand(cx, inst, ty, rows::NOT_R.of(working_bits(ty).min(64)))
}

/// `ineg`.
pub(super) fn ineg(cx: &mut Cx<'_, '_>, inst: Inst) -> Lowered {
    let [x] = cx.args(inst);
    let ty = cx.ty(x);
    if ty == I128 {
        let value = cx.first_result(inst);
        let (defs, x) = (cx.result_parts(value), cx.use_regs(x));
        let zero = cx.constant_temp(0, 64);
        cx.emit(rows::NEG_R.of(64), &[defs[0], x[0]]);
        cx.emit(rows::SBB_RR.of(64), &[defs[1], zero, x[1]]);
        return Ok(());
    }
    one_operand(cx, inst, ty, rows::NEG_R.of(working_bits(ty).min(64)))
}

fn one_operand(cx: &mut Cx<'_, '_>, inst: Inst, ty: Type, row: kingpost_mach::RowId) -> Lowered {
    cx.require_word(inst, ty)?;
    let [x] = cx.args(inst);
    let value = cx.first_result(inst);
    let operands = [cx.result(value), cx.use_reg(x)];
    cx.emit(row, &operands);
    Ok(())
}

/// `iabs`: the negation, or the operand if that is negative.
pub(super) fn iabs(cx: &mut Cx<'_, '_>, inst: Inst) -> Lowered {
    let [x] = cx.args(inst);
    let ty = cx.ty(x);
    let value = cx.first_result(inst);
    if ty == I128 {
        return abs_wide(cx, x, value);
    }
    cx.require_word(inst, ty)?;
    let bits = working_bits(ty);
    let negated = cx.int_temp(bits);
    let (def, source) = (cx.result(value), cx.use_reg(x));
    cx.emit(rows::NEG_R.of(ty.bits()), &[negated, source]);
    // If the negation is not negative it is the result.
    cx.emit_imm(rows::CMOV_RR.of(bits), &[def, source, negated], CC_NS);
    Ok(())
}

/// `(x ^ s) - s`, where `s` is the sign in every bit.
fn abs_wide(cx: &mut Cx<'_, '_>, x: Value, value: Value) -> Lowered {
    let (defs, x) = (cx.result_parts(value), cx.use_regs(x));
    let [sign, low, high] = std::array::from_fn(|_| cx.int_temp(64));
    cx.emit_imm(rows::SAR_RI.of(64), &[sign, x[1]], 63);
    cx.emit(rows::XOR_RR.of(64), &[low, x[0], sign]);
    cx.emit(rows::XOR_RR.of(64), &[high, x[1], sign]);
    cx.emit(rows::SUB_RR.of(64), &[defs[0], low, sign]);
    cx.emit(rows::SBB_RR.of(64), &[defs[1], high, sign]);
    Ok(())
}

/// `bitselect`: `(x & c) | (y & !c)`, as `((x ^ y) & c) ^ y`.
pub(super) fn bitselect(cx: &mut Cx<'_, '_>, inst: Inst) -> Lowered {
    let [c, x, y] = cx.args(inst);
    let ty = cx.ty(x);
    let value = cx.first_result(inst);
    let float = is_float_reg(ty);
    let (xor, and) = match ty.bits() {
        _ if float => (rows::XORPS_RR, rows::ANDPS_RR),
        _ if !ty.is_int() => return Err(cx.unsupported(inst)),
        64 | 128 => (rows::XOR_RR.of(64), rows::AND_RR.of(64)),
        _ => (rows::XOR_RR.of(32), rows::AND_RR.of(32)),
    };
    let (defs, c, x, y) = (cx.result_parts(value), cx.use_regs(c), cx.use_regs(x), cx.use_regs(y));
    for k in 0..defs.len() {
        let [different, taken] =
            std::array::from_fn(|_| if float { cx.float_temp(128) } else { cx.int_temp(ty.bits().min(64)) });
        cx.emit(xor, &[different, x[k], y[k]]);
        cx.emit(and, &[taken, different, c[k]]);
        cx.emit(xor, &[defs[k], taken, y[k]]);
    }
    Ok(())
}
