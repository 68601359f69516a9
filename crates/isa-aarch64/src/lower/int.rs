//! Sums, differences, bitwise operations.
//!
//! Before: `v1 = ushr v0, 7; v2 = band v1, 0xff`. After: `ubfx w2, w0, #7, #8`.

use super::LowerResult;
use super::chain::CompareChain;
use super::compare::set;
use super::cx::{Alu, Cx};
use super::{muldiv, tiles};
use crate::immediates;
use crate::rows;
use kingpost_ir::{Inst, Opcode, Value};
use kingpost_mach::lower::{Cond, Tile, invert, working_bits};
use kingpost_regalloc::VReg;

/// Lowers `iadd`.
pub(super) fn iadd(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [x, y] = cx.args(inst);
    // Most sums are of registers.
    if !is_taken_in(cx, x) && !is_taken_in(cx, y) {
        let (value, bits) = (cx.first_result(inst), working_bits(cx.ty(x)));
        let operands = [cx.result(value), cx.use_reg(x), cx.use_reg(y)];
        cx.emit_imm(rows::ADD_RRR.of(bits), &operands, 0);
        return Ok(());
    }
    for (addend, other) in [(x, y), (y, x)] {
        if let Some(tile) = muldiv::multiply_add(cx, addend, other, false) {
            return cx.emit_tile(inst, tile);
        }
        if increments(cx, other) {
            return increment(cx, inst, addend, other);
        }
    }
    sum(cx, inst, [x, y], false)
}

/// Returns `true` if a sum may fold the definition of a value with this opcode, provided that its operands fit.
fn is_taken_in(cx: &Cx<'_, '_>, value: Value) -> bool {
    let others = [Opcode::Iconst, Opcode::Ireduce, Opcode::Imul, Opcode::Icmp, Opcode::Fcmp, Opcode::Bor];
    cx.is_foldable(value) || cx.opcode_of(value).is_some_and(|opcode| others.contains(&opcode))
}

/// Returns `true` if this is a comparison that has no other use, so that adding it is a conditional increment.
fn increments(cx: &Cx<'_, '_>, condition: Value) -> bool {
    cx.is_single_use(condition) && cx.is_boolean(condition)
}

/// Sets the result to `x + 1` if `condition` holds, else to `x`.
fn increment(cx: &mut Cx<'_, '_>, inst: Inst, x: Value, condition: Value) -> LowerResult {
    cx.count_tile(tiles::INCREMENT_IF);
    let value = cx.first_result(inst);
    let (def, x) = (cx.result(value), cx.use_reg(x));
    let bits = working_bits(cx.ty(value));
    match cx.condition(condition) {
        Cond::One(cc) => {
            cx.emit_imm(rows::CSINC_RRR.of(bits), &[def, x, x], invert(cc));
        }
        cond => {
            let bit = cx.int_temp(bits);
            set(cx, bit, cond);
            cx.emit(Alu::ADD.rr.of(bits), &[def, x, bit]);
        }
    }
    Ok(())
}

/// Lowers `isub`.
pub(super) fn isub(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [x, y] = cx.args(inst);
    if cx.constant(x) == Some(0) {
        return negate(cx, inst, y);
    }
    if let Some(tile) = muldiv::multiply_add(cx, x, y, true) {
        return cx.emit_tile(inst, tile);
    }
    sum(cx, inst, [x, y], true)
}

/// Emits a sum or difference. Constants of up to 24 bits take two instructions.
fn sum(cx: &mut Cx<'_, '_>, inst: Inst, [x, y]: [Value; 2], subtract: bool) -> LowerResult {
    let value = cx.first_result(inst);
    let (def, bits) = (cx.result(value), working_bits(cx.ty(x)));
    let is_swapped = !subtract && cx.constant(y).is_none() && cx.constant(x).is_some();
    let (plain, constant) = if is_swapped { (y, x) } else { (x, y) };
    match cx.constant_signed(constant) {
        Some(constant)
            if immediates::add_sub(constant.unsigned_abs()).is_some()
                || (1 << 16..1 << 24).contains(&constant.unsigned_abs()) =>
        {
            let source = cx.use_reg(plain);
            cx.add_constant(def, source, if subtract { -constant } else { constant }, bits);
        }
        _ => cx.operate(if subtract { Alu::SUB } else { Alu::ADD }, bits, Some(def), [x, y]),
    }
    Ok(())
}

/// Lowers `band`, `bor`, `bxor`.
pub(super) fn bitwise(cx: &mut Cx<'_, '_>, inst: Inst, alu: Alu) -> LowerResult {
    let [x, y] = cx.args(inst);
    let value = cx.first_result(inst);
    let (ty, def) = (cx.ty(value), cx.result(value));
    if let Some(chain) = CompareChain::of(cx, value) {
        let condition = chain.emit(cx);
        cx.emit_imm(rows::CSET_R.of(32), &[def], condition);
        return Ok(());
    }
    let field = match alu {
        Alu::AND => extract_field(cx, inst).or_else(|| place_field(cx, inst)),
        Alu::OR => insert_field(cx, inst),
        _ => None,
    };
    if let Some(tile) = field {
        return cx.emit_tile(inst, tile);
    }
    let [plain, constant] = cx.constant_last(inst);
    if alu == Alu::XOR && cx.constant_signed(constant) == Some(-1) {
        complement(cx, def, plain);
    } else {
        cx.operate(alu, working_bits(ty), Some(def), [x, y]);
    }
    Ok(())
}

/// Returns the operand and the amount of a constant shift without another use.
fn constant_shift(cx: &Cx<'_, '_>, value: Value, opcode: Opcode) -> Option<(Value, u32)> {
    let shift = cx.def_as(value, opcode).filter(|_| cx.is_single_use(value))?;
    let [x, amount] = cx.args(shift);
    Some((x, cx.constant(amount)? as u32 & (cx.ty(x).bits() - 1)))
}

/// Returns the number of ones if the value is a constant that consists of ones in its low bits.
fn low_ones(cx: &Cx<'_, '_>, value: Value) -> Option<u32> {
    let mask = cx.constant(value)?;
    (mask != 0 && mask & mask.wrapping_add(1) == 0).then(|| mask.trailing_ones())
}

/// Returns the tile of `band (ushr x, lsb), low ones`: a bit field of `x` moved to bit 0.
fn extract_field(cx: &Cx<'_, '_>, inst: Inst) -> Option<Tile> {
    let [shifted, mask] = cx.constant_last(inst);
    let width = low_ones(cx, mask)?;
    let field = |opcode| constant_shift(cx, shifted, opcode);
    let (x, lsb) = field(Opcode::Ushr).or_else(|| field(Opcode::Sshr))?;
    let bits = cx.ty(x).bits();
    let tile = Tile::new(tiles::EXTRACT_FIELD, rows::UBFM_RRI.of(bits), [x]);
    (lsb + width <= bits).then(|| tile.imm(immediates::bitfield_extract(lsb as u8, width as u8)))
}

/// Returns the tile of `band (ishl x, lsb), ones from lsb on`: low bits of `x` moved up.
fn place_field(cx: &Cx<'_, '_>, inst: Inst) -> Option<Tile> {
    let [shifted, mask] = cx.constant_last(inst);
    let ((x, lsb), mask) = (constant_shift(cx, shifted, Opcode::Ishl)?, cx.constant(mask)?);
    let bits = working_bits(cx.ty(x));
    let ones = mask >> lsb;
    if ones == 0 || ones & ones.wrapping_add(1) != 0 || ones << lsb != mask {
        return None;
    }
    let imm = immediates::bitfield_insert(lsb as u8, ones.trailing_ones() as u8, bits as u8);
    Some(Tile::new(tiles::PLACE_FIELD, rows::UBFM_RRI.of(bits), [x]).imm(imm))
}

/// Returns the tile of `bor (band x, mask), field`, where the field consists of just the bits that the mask clears:
/// it is inserted into `x`.
fn insert_field(cx: &Cx<'_, '_>, inst: Inst) -> Option<Tile> {
    let [a, b] = cx.args(inst);
    insert_into(cx, a, b).or_else(|| insert_into(cx, b, a))
}

fn insert_into(cx: &Cx<'_, '_>, kept: Value, field: Value) -> Option<Tile> {
    let ((x, mask), (source, lsb, width)) = (masked(cx, kept)?, placed(cx, field)?);
    let ones = (u64::MAX >> (64 - width)) << lsb;
    if mask != !ones & (u64::MAX >> (64 - cx.ty(kept).bits())) {
        return None;
    }
    let bits = working_bits(cx.ty(kept));
    let imm = immediates::bitfield_insert(lsb as u8, width as u8, bits as u8);
    Some(Tile::new(tiles::INSERT_FIELD, rows::BFM_RRI.of(bits), [x, source]).imm(imm))
}

/// Returns the value and the constant mask of a `band` without another use.
fn masked(cx: &Cx<'_, '_>, value: Value) -> Option<(Value, u64)> {
    let and = cx.def_as(value, Opcode::Band).filter(|_| cx.is_single_use(value))?;
    let [x, mask] = cx.constant_last(and);
    Some((x, cx.constant(mask)?))
}

/// Returns a value whose low bits are moved up, the number of the lowest bit, and the number of bits.
fn placed(cx: &Cx<'_, '_>, value: Value) -> Option<(Value, u32, u32)> {
    let bits = cx.ty(value).bits();
    if let Some((x, lsb)) = constant_shift(cx, value, Opcode::Ishl) {
        if let Some((source, mask)) = masked(cx, x)
            && mask & mask.wrapping_add(1) == 0
            && mask.trailing_ones() + lsb <= bits
            && mask != 0
        {
            return Some((source, lsb, mask.trailing_ones()));
        }
        return Some((x, lsb, bits - lsb));
    }
    let (x, mask) = masked(cx, value)?;
    (mask != 0 && mask & mask.wrapping_add(1) == 0).then(|| (x, 0, mask.trailing_ones()))
}

/// Lowers `bnot`. An exclusive or is complemented by its own instruction.
pub(super) fn bnot(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [x] = cx.args(inst);
    let value = cx.first_result(inst);
    let (def, bits) = (cx.result(value), working_bits(cx.ty(x)));
    if let Some(xor) = cx.def_as(x, Opcode::Bxor).filter(|_| cx.is_single_use(x)) {
        let [a, b] = cx.args(xor);
        if cx.constant(a).is_none() && cx.constant(b).is_none() {
            return cx.emit_tile(inst, Tile::new(tiles::NOT_XOR, rows::EON_RRR.of(bits), [a, b]));
        }
    }
    complement(cx, def, x);
    Ok(())
}

/// Emits `def = !x`.
fn complement(cx: &mut Cx<'_, '_>, def: VReg, x: Value) {
    let (source, imm) = cx.shifted_operand(x, Alu::OR);
    let (source, bits) = (cx.use_reg(source), working_bits(cx.ty(x)));
    cx.emit_imm(rows::MVN_RR.of(bits), &[def, source], imm);
}

/// Lowers `ineg`.
pub(super) fn ineg(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [x] = cx.args(inst);
    negate(cx, inst, x)
}

/// Sets the result to `0 - x`.
fn negate(cx: &mut Cx<'_, '_>, inst: Inst, x: Value) -> LowerResult {
    let value = cx.first_result(inst);
    let (def, bits) = (cx.result(value), working_bits(cx.ty(x)));
    if let Some(mul) = cx.def_as(x, Opcode::Imul).filter(|_| cx.is_single_use(x)) {
        let [a, b] = cx.args(mul);
        if cx.constant(a).is_none() && cx.constant(b).is_none() {
            return cx.emit_tile(inst, Tile::new(tiles::MULTIPLY_NEGATE, rows::MNEG_RRR.of(bits), [a, b]));
        }
    }
    let (source, imm) = cx.shifted_operand(x, Alu::ADD);
    let source = cx.use_reg(source);
    cx.emit_imm(rows::NEG_RR.of(bits), &[def, source], imm);
    Ok(())
}

/// Lowers `bitselect`: `(x & c) | (y & !c)`.
pub(super) fn bitselect(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let bits = working_bits(cx.result_ty(inst));
    let [def, c, x, y] = cx.registers(inst);
    select_bits(cx, bits, def, [c, x, y]);
    Ok(())
}

/// Emits `def = (x & c) | (y & !c)` in `bits` bits.
pub(super) fn select_bits(cx: &mut Cx<'_, '_>, bits: u32, def: VReg, [c, x, y]: [VReg; 3]) {
    let [taken, kept] = std::array::from_fn(|_| cx.int_temp(bits));
    cx.emit(Alu::AND.rr.of(bits), &[taken, x, c]);
    cx.emit(rows::BIC_RRR.of(bits), &[kept, y, c]);
    cx.emit(Alu::OR.rr.of(bits), &[def, taken, kept]);
}
