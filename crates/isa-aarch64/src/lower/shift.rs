//! Shifts and rotations. Amounts are taken modulo the width; they may have any integer type.
//!
//! Before: `v1 = ishl v0, 8; v2 = ushr v1, 12`. After: `ubfx w2, w0, #4, #20`.

use super::cx::{Cx, ShiftRows};
use super::{LowerResult, tiles};
use crate::immediates;
use crate::rows;
use kingpost_ir::{Inst, Opcode, Value};
use kingpost_mach::lower::{Tile, is_word};
use kingpost_mach::{LowerBackend, RowId};
use kingpost_regalloc::VReg;

/// Lowers `ishl`, `ushr`, `sshr`.
pub(super) fn shift(cx: &mut Cx<'_, '_>, inst: Inst, op: ShiftRows) -> LowerResult {
    let [x, amount] = cx.args(inst);
    let ty = cx.ty(x);
    let (value, bits) = (cx.first_result(inst), ty.bits());
    if let Some(constant) = cx.constant(amount) {
        return by_constant(cx, inst, op, constant as u32 & (bits - 1));
    }
    let amount = count(cx, amount, bits - 1);
    let amount = if bits < 32 { masked(cx, amount, bits - 1) } else { amount };
    let source = match op {
        // The bits above the value would move in from the left.
        ShiftRows::LSR => cx.use_zero_extended(x),
        ShiftRows::ASR => cx.use_sign_extended(x),
        _ => cx.use_reg(x),
    };
    let def = cx.result(value);
    cx.emit(op.rr.of(bits), &[def, source, amount]);
    Ok(())
}

/// Lowers a shift by a constant as a bit field: of a narrow value, of an extended one, or of a value that was shifted
/// left before.
fn by_constant(cx: &mut Cx<'_, '_>, inst: Inst, op: ShiftRows, amount: u32) -> LowerResult {
    let [x, _] = cx.args(inst);
    let tile = if op == ShiftRows::LSL { shift_extended(cx, x, amount) } else { shift_pair(cx, x, op, amount) };
    if let Some(tile) = tile {
        return cx.emit_tile(inst, tile);
    }
    let value = cx.first_result(inst);
    let bits = cx.ty(x).bits();
    let (def, source) = (cx.result(value), cx.use_reg(x));
    if bits >= 32 || op == ShiftRows::LSL {
        cx.emit_imm(op.ri.of(bits), &[def, source], amount as i32);
    } else {
        let imm = immediates::bitfield_extract(amount as u8, (bits - amount) as u8);
        cx.emit_imm(field_row(op == ShiftRows::ASR, bits), &[def, source], imm);
    }
    Ok(())
}

/// Returns the row that moves a bit field and fills the bits above it with its sign or with zeros.
fn field_row(signed: bool, bits: u32) -> RowId {
    if signed { rows::SBFM_RRI.of(bits) } else { rows::UBFM_RRI.of(bits) }
}

/// Returns the tile of a right shift of a value that was shifted left: the remaining bits have moved up and then down
/// by `amount`.
fn shift_pair(cx: &Cx<'_, '_>, x: Value, op: ShiftRows, amount: u32) -> Option<Tile> {
    let (source, before) = left_shift(cx, x)?;
    let bits = cx.ty(x).bits();
    let imm = if amount >= before {
        immediates::bitfield_extract((amount - before) as u8, (bits - amount) as u8)
    } else {
        immediates::bitfield_insert((before - amount) as u8, (bits - before) as u8, bits.max(32) as u8)
    };
    Some(Tile::new(tiles::SHIFT_PAIR, field_row(op == ShiftRows::ASR, bits), [source]).imm(imm))
}

/// Returns the tile of a left shift of an extended value, or of low bits that a mask keeps.
fn shift_extended(cx: &Cx<'_, '_>, x: Value, amount: u32) -> Option<Tile> {
    let (source, width, signed) = low_bits(cx, x).filter(|_| amount > 0)?;
    let bits = cx.ty(x).bits().max(32);
    let imm = immediates::bitfield_insert(amount as u8, width.min(bits - amount) as u8, bits as u8);
    Some(Tile::new(tiles::SHIFT_EXTENDED, field_row(signed, bits), [source]).imm(imm))
}

/// Returns the operand and the amount of a left shift by a constant without another use.
fn left_shift(cx: &Cx<'_, '_>, value: Value) -> Option<(Value, u32)> {
    let shift = cx.def_as(value, Opcode::Ishl).filter(|_| cx.is_single_use(value))?;
    let [x, amount] = cx.args(shift);
    Some((x, cx.constant(amount)? as u32 & (cx.ty(x).bits() - 1)))
}

/// Returns the value that `value` extends, the number of its bits, and whether it is sign-extended.
fn low_bits(cx: &Cx<'_, '_>, value: Value) -> Option<(Value, u32, bool)> {
    let def = cx.def(value).filter(|_| cx.is_single_use(value))?;
    match cx.func.dfg.opcode(def) {
        opcode @ (Opcode::Uextend | Opcode::Sextend) => {
            let [source] = cx.args(def);
            Some((source, cx.ty(source).bits(), opcode == Opcode::Sextend))
        }
        Opcode::Band => {
            let [source, mask] = cx.args(def);
            let mask = cx.constant(mask)?;
            (mask != 0 && mask & mask.wrapping_add(1) == 0).then(|| (source, mask.trailing_ones(), false))
        }
        _ => None,
    }
}

/// Returns the low bits of an amount in a new register.
pub(super) fn masked(cx: &mut Cx<'_, '_>, amount: VReg, modulus: u32) -> VReg {
    let low = cx.int_temp(32);
    let mask = immediates::logical(u64::from(modulus), 32).expect("low ones are a pattern");
    cx.emit_imm(rows::AND_RRI.of(32), &[low, amount], mask);
    low
}

/// Returns the register of an amount whose bits in `modulus` count. A mask that keeps these bits is left out. The
/// width less an amount is its negation, and one less than that is its complement.
pub(super) fn count(cx: &mut Cx<'_, '_>, amount: Value, modulus: u32) -> VReg {
    let unmasked = cx.without_mask(amount, modulus);
    if unmasked != amount {
        return cx.use_reg(unmasked);
    }
    match cx.def(amount).map(|def| (def, cx.func.dfg.opcode(def))) {
        Some((sub, Opcode::Isub)) if cx.is_single_use(amount) && is_word(cx.ty(amount)) => {
            let [x, y] = cx.args(sub);
            let row = match cx.constant(x).map(|x| x as u32 & modulus) {
                Some(0) => Some(rows::NEG_RR.of(32)),
                Some(low) if low == modulus => Some(rows::MVN_RR.of(32)),
                _ => None,
            };
            if let Some(row) = row {
                let changed = cx.int_temp(32);
                let source = cx.use_reg(y);
                cx.emit(row, &[changed, source]);
                return changed;
            }
        }
        _ => {}
    }
    cx.use_regs(amount)[0]
}

/// Lowers `rotl`, `rotr`. The CPU only rotates right: a left rotation is by the negated amount.
pub(super) fn rotate(cx: &mut Cx<'_, '_>, inst: Inst, left: bool) -> LowerResult {
    let [x, amount] = cx.args(inst);
    let ty = cx.ty(x);
    let (value, bits) = (cx.first_result(inst), ty.bits());
    let working = bits.max(32);
    let constant = cx.constant(amount).map(|c| c as u32 & (bits - 1));
    let amount = if constant.is_some() { None } else { Some(right_amount(cx, amount, bits, left)) };
    let (def, source) = (cx.result(value), repeated(cx, x));
    match (constant, amount) {
        (_, Some(amount)) => {
            cx.emit(ShiftRows::ROR.rr.of(working), &[def, source, amount]);
        }
        (constant, None) => {
            let constant = constant.unwrap_or(0);
            let right = if left { (bits - constant) & (bits - 1) } else { constant };
            cx.emit_imm(ShiftRows::ROR.ri.of(working), &[def, source], right as i32);
        }
    }
    Ok(())
}

/// Returns the amount of a right rotation.
fn right_amount(cx: &mut Cx<'_, '_>, amount: Value, bits: u32, left: bool) -> VReg {
    let amount = count(cx, amount, bits - 1);
    if !left {
        return amount;
    }
    let negated = cx.int_temp(32);
    cx.emit(rows::NEG_RR.of(32), &[negated, amount]);
    negated
}

/// Returns a narrow value repeated until it fills 32 bits. Rotating these bits rotates the value.
fn repeated(cx: &mut Cx<'_, '_>, x: Value) -> VReg {
    let mut at = cx.use_reg(x);
    let mut bits = cx.ty(x).bits() as u8;
    while bits < 32 {
        let twice = cx.int_temp(32);
        cx.emit_imm(rows::BFM_RRI.of(32), &[twice, at, at], immediates::bitfield_insert(bits, bits, 32));
        at = twice;
        bits *= 2;
    }
    at
}
