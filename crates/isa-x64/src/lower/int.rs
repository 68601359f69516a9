//! Sums, differences, bitwise operations.
//!
//! Before: `v2 = ishl v1, 2; v3 = iadd v0, v2`. After: `lea v3, [v0 + v1*4]`.

use super::address::{AddressExpr, MAX_SHIFT};
use super::cx::{Alu, Cx};
use super::{LowerResult, tiles};
use crate::regs::CC_NS;
use crate::rows;
use kingpost_ir::{Inst, Opcode, Value};
use kingpost_mach::lower::{Tile, by_row, working_bits};
use kingpost_mach::{Family, LowerError, RowId};
use kingpost_regalloc::VReg;

/// Lowers `iadd`.
pub(super) fn iadd(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [x, y] = cx.args(inst);
    if let Some(terms) = sum_for_lea(cx, x, y) {
        cx.count_tile(tiles::SUM_BY_LEA);
        let ty = cx.ty(x);
        let value = cx.first_result(inst);
        let def = cx.result(value);
        let address = cx.register_address(&terms);
        cx.emit_mem(rows::LEA_RM.of(ty.bits()), &[def], address);
        return Ok(());
    }
    two_operands(cx, inst, Alu::ADD)
}

/// Returns the terms of `x + y` if `lea` saves an instruction: it folds another sum or shift, or keeps both operands
/// intact.
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
        // A shift that others use too is repeated here, which takes no instruction. Its operand is needed later anyway.
        let is_folded = |&(source, _): &(Value, u8)| once(index) || cx.uses(source) > 1;
        if let Some(shifted) = cx.small_shift(index, MAX_SHIFT).filter(is_folded) {
            return Some(AddressExpr { base, index: Some(shifted), disp: 0 });
        }
    }
    (cx.uses(x) > 1 && cx.uses(y) > 1).then_some(AddressExpr { base: x, index: Some((y, 0)), disp: 0 })
}

/// Lowers `band`.
pub(super) fn band(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    match mask(cx, inst).or_else(|| and_not(cx, inst)) {
        Some(tile) => cx.emit_tile(inst, tile),
        None => two_operands(cx, inst, Alu::AND),
    }
}

/// Returns the tile of a `band` with a constant that keeps the low 8, 16 or 32 bits, or whose upper half is zero.
fn mask(cx: &Cx<'_, '_>, inst: Inst) -> Option<Tile> {
    let [x, y] = cx.constant_last(inst);
    let bits = cx.ty(x).bits();
    let row = match cx.constant(y)? {
        0xff if bits > 8 => rows::MOVZX32_RR.of(8),
        0xffff if bits > 16 => rows::MOVZX32_RR.of(16),
        0xffff_ffff if bits == 64 => rows::MOVZX64_32_RR,
        constant @ 0..=0xffff_ffff if bits == 64 => {
            return Some(Tile::new(tiles::NARROW_MASK, rows::AND_RI.of(32), [x]).imm(constant as i32));
        }
        _ => return None,
    };
    Some(Tile::new(tiles::ZERO_EXTEND, row, [x]))
}

/// Returns the tile of a `band` with a complement, if the CPU has an instruction for it.
fn and_not(cx: &Cx<'_, '_>, inst: Inst) -> Option<Tile> {
    if !cx.isa.flags.has_bmi1 {
        return None;
    }
    let [x, y] = cx.args(inst);
    let (plain, bnot) = [(x, y), (y, x)].into_iter().find_map(|(plain, inverted)| {
        let bnot = cx.def_as(inverted, Opcode::Bnot).filter(|_| cx.uses(inverted) == 1)?;
        Some((plain, bnot))
    })?;
    let [source] = cx.args(bnot);
    Some(Tile::new(tiles::AND_NOT, rows::ANDN_RR.of(working_bits(cx.ty(x))), [source, plain]))
}

/// Lowers `isub`, `bor`, `bxor`, and further two-operand operations where no tile matches.
pub(super) fn two_operands(cx: &mut Cx<'_, '_>, inst: Inst, alu: Alu) -> LowerResult {
    let value = cx.first_result(inst);
    let (ty, def) = (cx.ty(value), cx.result(value));
    let [x, y] = if commutes(alu) { cx.constant_last(inst) } else { cx.args(inst) };
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
    if commutes(alu)
        && let Some(load) = cx.fold_load(x, bits, inst)?
    {
        let source = cx.use_reg(y);
        cx.emit_folded(alu.rm.of(bits), &[def, source], load);
        return Ok(());
    }
    // The result shares the register of the first operand.
    let is_swapped = commutes(alu) && cx.is_better_second(cx.first_result(inst), [x, y]);
    let [x, y] = if is_swapped { [y, x] } else { [x, y] };
    let operands = [def, cx.use_reg(x), cx.use_reg(y)];
    cx.emit(alu.rr.of(bits), &operands);
    Ok(())
}

/// Returns `true` if the operands of `alu` may be exchanged.
pub(super) fn commutes(alu: Alu) -> bool {
    rows::ROWS[usize::from(alu.rr.of(64).0)].commutes
}

/// Lowers `bnot`, `ineg`.
pub(super) fn one_operand(cx: &mut Cx<'_, '_>, inst: Inst, rows: Family) -> LowerResult {
    by_row(cx, inst, rows.of(working_bits(cx.result_ty(inst))))
}

/// Lowers `iabs`: the negation, or the operand if that is negative.
pub(super) fn iabs(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let ty = cx.result_ty(inst);
    let bits = working_bits(ty);
    let negated = cx.int_temp(bits);
    let [def, source] = cx.registers(inst);
    cx.emit(rows::NEG_R.of(ty.bits()), &[negated, source]);
    // The result is the negation unless that is negative.
    cx.emit_imm(rows::CMOV_RR.of(bits), &[def, source, negated], CC_NS);
    Ok(())
}

/// Lowers `bitselect`: `(x & c) | (y & !c)`, as `((x ^ y) & c) ^ y`.
pub(super) fn bitselect(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let bits = working_bits(cx.result_ty(inst));
    let [def, c, x, y] = cx.registers(inst);
    let temps = std::array::from_fn(|_| cx.int_temp(bits));
    select_bits(cx, [Alu::XOR.rr.of(bits), Alu::AND.rr.of(bits)], temps, def, [c, x, y]);
    Ok(())
}

/// Emits `def = ((x ^ y) & c) ^ y` by the rows of exclusive or and of and.
pub(super) fn select_bits(
    cx: &mut Cx<'_, '_>,
    [xor, and]: [RowId; 2],
    [different, taken]: [VReg; 2],
    def: VReg,
    [c, x, y]: [VReg; 3],
) {
    cx.emit(xor, &[different, x, y]);
    cx.emit(and, &[taken, different, c]);
    cx.emit(xor, &[def, taken, y]);
}
