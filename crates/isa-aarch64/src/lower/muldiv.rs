//! Products, quotients, remainders.
//!
//! Before: `v3 = imul v0, v1; v4 = iadd v2, v3`. After: `madd w4, w0, w1, w2`.
//!
//! Division does not trap on this CPU. Zero divisors, and overflow of signed division, are tested first unless the
//! divisor is a constant.

use super::chain::failing;
use super::cx::{Alu, Cx};
use super::{LowerResult, tiles};
use crate::immediates::{self, Shift};
use crate::regs::{CC_EQ, CC_VS};
use crate::rows;
use kingpost_ir::types::I32;
use kingpost_ir::{Inst, Opcode, TrapCode, Value};
use kingpost_mach::lower::{Cond, Tile, trap_on, working_bits};
use kingpost_mach::{LowerBackend, RowId};
use kingpost_regalloc::VReg;

/// Lowers `imul`.
pub(super) fn imul(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [x, y] = cx.args(inst);
    let bits = working_bits(cx.ty(x));
    let value = cx.first_result(inst);
    let def = cx.result(value);
    let (x, y) = if cx.constant(x).is_some() { (y, x) } else { (x, y) };
    if let Some(tile) = by_constant(cx, x, y, bits).or_else(|| multiply_long(cx, x, y)) {
        return cx.emit_tile(inst, tile);
    }
    let operands = [def, cx.use_reg(x), cx.use_reg(y)];
    cx.emit(rows::MUL_RRR.of(bits), &operands);
    Ok(())
}

/// Returns the tile of a product with `2^n` or `2^n + 1`.
fn by_constant(cx: &Cx<'_, '_>, x: Value, y: Value, bits: u32) -> Option<Tile> {
    let constant = cx.constant(y)?;
    if constant.is_power_of_two() {
        let tile = Tile::new(tiles::PRODUCT_BY_SHIFT, rows::LSL_RRI.of(bits), [x]);
        return Some(tile.imm(constant.trailing_zeros() as i32));
    }
    let exponent = (constant > 2 && (constant - 1).is_power_of_two()).then(|| (constant - 1).trailing_zeros())?;
    let tile = Tile::new(tiles::PRODUCT_BY_SUM, Alu::ADD.rr.of(bits), [x, x]);
    Some(tile.imm(immediates::shifted(Shift::Lsl, exponent as u8)))
}

/// Returns the tile of a product of two integers of 32 bits that are both zero-extended or both sign-extended to 64.
fn multiply_long(cx: &Cx<'_, '_>, x: Value, y: Value) -> Option<Tile> {
    let (factors, signed) = long_factors(cx, [x, y])?;
    Some(Tile::new(tiles::MULTIPLY_LONG, if signed { rows::SMULL_RRR } else { rows::UMULL_RRR }, factors))
}

/// Returns the factors of 32 bits if both are zero-extended or both are sign-extended to 64, and whether they are
/// sign-extended.
fn long_factors(cx: &Cx<'_, '_>, factors: [Value; 2]) -> Option<([Value; 2], bool)> {
    for (extension, signed) in [(Opcode::Uextend, false), (Opcode::Sextend, true)] {
        let source = |value: Value| {
            let extend = cx.def_as(value, extension).filter(|_| cx.ty(value).bits() == 64 && !cx.has_reg(value))?;
            let [source] = cx.args(extend);
            (cx.ty(source) == I32).then_some(source)
        };
        if let [Some(a), Some(b)] = factors.map(source) {
            return Some(([a, b], signed));
        }
    }
    None
}

/// Returns the tile of `addend` plus or minus `product`, if that is a product that has no other use.
pub(super) fn multiply_add(cx: &Cx<'_, '_>, addend: Value, product: Value, subtract: bool) -> Option<Tile> {
    let mul = cx.def_as(product, Opcode::Imul).filter(|_| cx.is_single_use(product))?;
    let factors: [Value; 2] = cx.args(mul);
    let cheap = |c: u64| c.is_power_of_two() || (c > 2 && (c - 1).is_power_of_two());
    if factors.iter().any(|&factor| cx.constant(factor).is_some_and(cheap)) {
        return None;
    }
    let bits = working_bits(cx.ty(product));
    let (factors, row) = match (long_factors(cx, factors), subtract) {
        (Some((factors, false)), false) => (factors, rows::UMADDL_RRRR),
        (Some((factors, false)), true) => (factors, rows::UMSUBL_RRRR),
        (Some((factors, true)), false) => (factors, rows::SMADDL_RRRR),
        (Some((factors, true)), true) => (factors, rows::SMSUBL_RRRR),
        (None, false) => (factors, rows::MADD_RRRR.of(bits)),
        (None, true) => (factors, rows::MSUB_RRRR.of(bits)),
    };
    let id = if subtract { tiles::MULTIPLY_SUBTRACT } else { tiles::MULTIPLY_ADD };
    Some(Tile::new(id, row, [factors[0], factors[1], addend]))
}

/// Lowers `umulhi`, `smulhi`.
pub(super) fn mulhi(cx: &mut Cx<'_, '_>, inst: Inst, signed: bool) -> LowerResult {
    let [x, y] = cx.args(inst);
    let ty = cx.ty(x);
    let value = cx.first_result(inst);
    let (def, bits) = (cx.result(value), ty.bits());
    let (x, y) = (cx.use_extended(x, signed), cx.use_extended(y, signed));
    if bits == 64 {
        cx.emit(if signed { rows::SMULH_RRR } else { rows::UMULH_RRR }, &[def, x, y]);
        return Ok(());
    }
    let product = cx.int_temp(bits * 2);
    if bits == 32 {
        cx.emit(if signed { rows::SMULL_RRR } else { rows::UMULL_RRR }, &[product, x, y]);
        cx.emit_imm(rows::LSR_RRI.of(64), &[def, product], 32);
        cx.declare_zeros(def);
    } else {
        cx.emit(rows::MUL_RRR.of(32), &[product, x, y]);
        cx.emit_imm(rows::LSR_RRI.of(32), &[def, product], bits as i32);
    }
    Ok(())
}

/// Result of a division.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Quotient,
    Remainder,
}

/// Lowers `udiv`, `urem`.
pub(super) fn unsigned(cx: &mut Cx<'_, '_>, inst: Inst, part: Part) -> LowerResult {
    let [x, y] = cx.args(inst);
    let ty = cx.ty(x);
    if let Some(divisor) = cx.constant(y).filter(|d| d.is_power_of_two()) {
        by_power_of_two(cx, inst, part, divisor);
        return Ok(());
    }
    let bits = working_bits(ty);
    let (dividend, divisor) = (cx.use_zero_extended(x), cx.use_zero_extended(y));
    check_divisor(cx, y, divisor);
    divide(cx, inst, rows::UDIV_RRR.of(bits), [dividend, divisor], part);
    Ok(())
}

/// Emits an unsigned division by 2^n as a shift, or its remainder as a mask: both are bit fields of the dividend.
fn by_power_of_two(cx: &mut Cx<'_, '_>, inst: Inst, part: Part, divisor: u64) {
    let [x, _] = cx.args(inst);
    let value = cx.first_result(inst);
    let bits = cx.ty(x).bits();
    let (def, source) = (cx.result(value), cx.use_reg(x));
    let exponent = divisor.trailing_zeros();
    if part == Part::Remainder && exponent == 0 {
        cx.load_constant(def, 0, bits);
        return;
    }
    let (lsb, width) = if part == Part::Quotient { (exponent, bits - exponent) } else { (0, exponent) };
    let imm = immediates::bitfield_extract(lsb as u8, width as u8);
    cx.emit_imm(rows::UBFM_RRI.of(bits), &[def, source], imm);
}

/// Traps if the divisor is zero.
fn check_divisor(cx: &mut Cx<'_, '_>, y: Value, divisor: VReg) {
    if cx.constant(y).is_none_or(|constant| constant == 0) {
        let row = rows::TRAP_CBZ_R.of(cx.ty(y).bits());
        cx.emit(row, &[divisor]).set_trap(Some(TrapCode::INTEGER_DIVISION_BY_ZERO));
    }
}

/// Emits the quotient by `row`, or its remainder.
fn divide(cx: &mut Cx<'_, '_>, inst: Inst, row: RowId, [dividend, divisor]: [VReg; 2], part: Part) {
    let value = cx.first_result(inst);
    let (def, bits) = (cx.result(value), working_bits(cx.ty(value)));
    if part == Part::Quotient {
        cx.emit(row, &[def, dividend, divisor]);
        return;
    }
    let quotient = cx.int_temp(bits);
    cx.emit(row, &[quotient, dividend, divisor]);
    cx.emit(rows::MSUB_RRRR.of(bits), &[def, quotient, divisor, dividend]);
}

/// Lowers `sdiv`, `srem`. The remainder of the smallest integer by -1 is 0 without a special case.
pub(super) fn signed(cx: &mut Cx<'_, '_>, inst: Inst, part: Part) -> LowerResult {
    let [x, y] = cx.args(inst);
    let ty = cx.ty(x);
    let bits = working_bits(ty);
    let (dividend, divisor) = (cx.use_sign_extended(x), cx.use_sign_extended(y));
    check_divisor(cx, y, divisor);
    if part == Part::Quotient && cx.constant_signed(y).is_none_or(|constant| constant == -1) {
        check_overflow(cx, ty.bits(), dividend, divisor);
    }
    divide(cx, inst, rows::SDIV_RRR.of(bits), [dividend, divisor], part);
    Ok(())
}

/// Traps if the divisor is -1 and the dividend less 1 overflows. Narrow dividends are shifted up for this test.
fn check_overflow(cx: &mut Cx<'_, '_>, bits: u32, dividend: VReg, divisor: VReg) {
    let mut subject = dividend;
    if bits < 32 {
        subject = cx.int_temp(32);
        cx.emit_imm(rows::LSL_RRI.of(32), &[subject, dividend], 32 - bits as i32);
    }
    let bits = bits.max(32);
    cx.compare_constant(divisor, -1, bits);
    let imm = immediates::compare(CC_EQ, failing(CC_VS), 1);
    cx.emit_imm(rows::CCMP_RI.of(bits), &[subject], imm);
    trap_on(cx, Cond::One(CC_VS), TrapCode::INTEGER_OVERFLOW);
}
