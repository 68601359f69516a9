//! Shifts and rotations. Amounts count modulo the width; they may have any integer type.

use super::Lowered;
use super::cx::{Alu, Cx, ShiftRows};
use crate::immediates;
use crate::regs::CC_NE;
use crate::rows;
use kingpost_ir::types::I128;
use kingpost_ir::{Inst, Opcode, Value};
use kingpost_mach::Machine;
use kingpost_mach::lower::is_word;
use kingpost_regalloc::VReg;

/// `ishl`, `ushr`, `sshr`.
pub(super) fn shift(cx: &mut Cx<'_, '_>, inst: Inst, op: ShiftRows) -> Lowered {
    let [x, amount] = cx.args(inst);
    let ty = cx.ty(x);
    if ty == I128 {
        return wide_shift(cx, inst, op);
    }
    cx.require_word(inst, ty)?;
    let (value, bits) = (cx.first_result(inst), ty.bits());
    if let Some(constant) = cx.constant(amount) {
        by_constant(cx, inst, op, constant as u32 & (bits - 1));
        return Ok(());
    }
    let amount = count(cx, amount, bits - 1);
    let amount = if bits < 32 { masked(cx, amount, bits - 1) } else { amount };
    let source = match op {
        // What is above the value would come in from the left.
        ShiftRows::LSR => cx.use_zero_extended(x),
        ShiftRows::ASR => cx.use_sign_extended(x),
        _ => cx.use_reg(x),
    };
    let def = cx.result(value);
    cx.emit(op.rr.of(bits), &[def, source, amount]);
    Ok(())
}

/// Shifts by a constant are bit fields: of narrow values, of extended ones, and of what was shifted to the left before.
fn by_constant(cx: &mut Cx<'_, '_>, inst: Inst, op: ShiftRows, amount: u32) {
    let [x, _] = cx.args(inst);
    let value = cx.first_result(inst);
    let bits = cx.ty(x).bits();
    let def = cx.result(value);
    if op == ShiftRows::LSL {
        shift_left(cx, def, x, amount);
        return;
    }
    let row = match op == ShiftRows::ASR {
        true => rows::SBFM_RRI.of(bits),
        false => rows::UBFM_RRI.of(bits),
    };
    if let Some((source, before)) = left_shift(cx, x) {
        // The bits that stay have moved up by `before` and then down by `amount`.
        let imm = if amount >= before {
            immediates::bitfield_extract((amount - before) as u8, (bits - amount) as u8)
        } else {
            immediates::bitfield_insert((before - amount) as u8, (bits - before) as u8, bits.max(32) as u8)
        };
        let source = cx.use_reg(source);
        cx.emit_imm(row, &[def, source], imm);
        return;
    }
    let source = cx.use_reg(x);
    if bits >= 32 {
        cx.emit_imm(op.ri.of(bits), &[def, source], amount as i32);
    } else {
        let imm = immediates::bitfield_extract(amount as u8, (bits - amount) as u8);
        cx.emit_imm(row, &[def, source], imm);
    }
}

/// A left shift by a constant that nobody needs in a register: what is shifted, and by how much.
fn left_shift(cx: &Cx<'_, '_>, value: Value) -> Option<(Value, u32)> {
    let shift = cx.def_as(value, Opcode::Ishl).filter(|_| cx.is_single_use(value))?;
    let [x, amount] = cx.args(shift);
    Some((x, cx.constant(amount)? as u32 & (cx.ty(x).bits() - 1)))
}

/// `def = x << amount`; of an extended value, or of low bits cut out by a mask, at once.
fn shift_left(cx: &mut Cx<'_, '_>, def: VReg, x: Value, amount: u32) {
    let bits = cx.ty(x).bits().max(32);
    if let Some((source, width, signed)) = low_bits(cx, x)
        && amount > 0
    {
        let width = width.min(bits - amount);
        let imm = immediates::bitfield_insert(amount as u8, width as u8, bits as u8);
        let row = match signed {
            true => rows::SBFM_RRI.of(bits),
            false => rows::UBFM_RRI.of(bits),
        };
        let source = cx.use_reg(source);
        cx.emit_imm(row, &[def, source], imm);
        return;
    }
    let source = cx.use_reg(x);
    cx.emit_imm(ShiftRows::LSL.ri.of(bits), &[def, source], amount as i32);
}

/// The low bits of a value that `value` extends, how many, and whether with their sign.
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

/// The low bits of an amount.
fn masked(cx: &mut Cx<'_, '_>, amount: VReg, modulus: u32) -> VReg {
    let low = cx.int_temp(32);
    let mask = immediates::logical(u64::from(modulus), 32).expect("low ones are a pattern");
    cx.emit_imm(rows::AND_RRI.of(32), &[low, amount], mask);
    low
}

/// The register of an amount, of which the bits of `modulus` count. A mask that keeps those is left out. The width less an
/// amount is the negated amount, one less than that the complement.
fn count(cx: &mut Cx<'_, '_>, amount: Value, modulus: u32) -> VReg {
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

/// `rotl`, `rotr`. Only right rotations exist: to the left is by the negated amount.
pub(super) fn rotate(cx: &mut Cx<'_, '_>, inst: Inst, left: bool) -> Lowered {
    let [x, amount] = cx.args(inst);
    let ty = cx.ty(x);
    if ty == I128 {
        return wide_rotate(cx, inst, left);
    }
    cx.require_word(inst, ty)?;
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

/// The amount of a right rotation.
fn right_amount(cx: &mut Cx<'_, '_>, amount: Value, bits: u32, left: bool) -> VReg {
    let amount = count(cx, amount, bits - 1);
    if !left {
        return amount;
    }
    let negated = cx.int_temp(32);
    cx.emit(rows::NEG_RR.of(32), &[negated, amount]);
    negated
}

/// A narrow value repeated until it fills 32 bits: rotating those rotates it.
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

/// The registers of an i128 shift: operand halves, the amount, and what it lacks to 63.
struct Wide {
    low: VReg,
    high: VReg,
    amount: VReg,
    rest: VReg,
}

impl Wide {
    fn new(cx: &mut Cx<'_, '_>, x: Value, amount: Value) -> Wide {
        let parts = cx.use_regs(x);
        let amount = count(cx, amount, 127);
        let rest = cx.int_temp(32);
        cx.emit(rows::MVN_RR.of(32), &[rest, amount]);
        Wide { low: parts[0], high: parts[1], amount, rest }
    }

    /// `near` shifted, with the bits that leave `far` coming in: the amount counts modulo 64.
    fn double(&self, cx: &mut Cx<'_, '_>, left: bool, near: VReg, far: VReg) -> VReg {
        let [moved, one, rest, both] = std::array::from_fn(|_| cx.int_temp(64));
        let (towards, back) = if left { (ShiftRows::LSL, ShiftRows::LSR) } else { (ShiftRows::LSR, ShiftRows::LSL) };
        cx.emit(towards.rr.of(64), &[moved, near, self.amount]);
        // By 64 less the amount, in two steps, so that an amount of 0 leaves nothing.
        cx.emit_imm(back.ri.of(64), &[one, far], 1);
        cx.emit(back.rr.of(64), &[rest, one, self.rest]);
        cx.emit(Alu::OR.rr.of(64), &[both, moved, rest]);
        both
    }

    /// The flags say whether the amount is 64 or more.
    fn test(&self, cx: &mut Cx<'_, '_>) {
        let mask = immediates::logical(64, 32).expect("one bit is a pattern");
        cx.emit_imm(rows::TST_RI.of(32), &[self.amount], mask);
    }
}

/// A shift of i128: both halves as if the amount were below 64, then exchanged if it is not.
fn wide_shift(cx: &mut Cx<'_, '_>, inst: Inst, op: ShiftRows) -> Lowered {
    let [x, amount] = cx.args(inst);
    let value = cx.first_result(inst);
    let defs = cx.result_parts(value);
    let wide = Wide::new(cx, x, amount);
    let left = op == ShiftRows::LSL;
    // `far` is the half that bits come from, `near` the one they leave into.
    let (near, far) = if left { (wide.high, wide.low) } else { (wide.low, wide.high) };
    let mixed = wide.double(cx, left, near, far);
    let shifted = cx.int_temp(64);
    cx.emit(op.rr.of(64), &[shifted, far, wide.amount]);
    let (near_def, far_def) = if left { (defs[1], defs[0]) } else { (defs[0], defs[1]) };
    if op == ShiftRows::ASR {
        let sign = cx.int_temp(64);
        cx.emit_imm(rows::ASR_RRI.of(64), &[sign, wide.high], 63);
        wide.test(cx);
        cx.emit_imm(rows::CSEL_RRR.of(64), &[far_def, sign, shifted], CC_NE);
    } else {
        wide.test(cx);
        cx.emit_imm(rows::CSEL_RZR.of(64), &[far_def, shifted], CC_NE);
    }
    cx.emit_imm(rows::CSEL_RRR.of(64), &[near_def, shifted, mixed], CC_NE);
    Ok(())
}

/// A rotation of i128: the halves are exchanged if the amount is 64 or more, then shifted into each other.
fn wide_rotate(cx: &mut Cx<'_, '_>, inst: Inst, left: bool) -> Lowered {
    let [x, amount] = cx.args(inst);
    let value = cx.first_result(inst);
    let defs = cx.result_parts(value);
    let wide = Wide::new(cx, x, amount);
    let (low, high) = (cx.int_temp(64), cx.int_temp(64));
    wide.test(cx);
    cx.emit_imm(rows::CSEL_RRR.of(64), &[low, wide.high, wide.low], CC_NE);
    cx.emit_imm(rows::CSEL_RRR.of(64), &[high, wide.low, wide.high], CC_NE);
    for (def, near, far) in [(defs[0], low, high), (defs[1], high, low)] {
        let both = wide.double(cx, left, near, far);
        cx.emit(rows::MOV_RR.of(64), &[def, both]);
    }
    Ok(())
}
