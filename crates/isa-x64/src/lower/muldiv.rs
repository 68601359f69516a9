//! Products, quotients, remainders.
//!
//! Before: `v2 = udiv v0, v1`. After: `mov edx, 0; div v1`, with v0 and v2 in eax.
//!
//! The CPU faults on division by zero and on signed overflow, and the fault is the trap. To distinguish the two, a
//! signed division tests the divisor first, unless it is a constant.

use super::cx::Cx;
use super::{LowerResult, tiles};
use crate::regs::CC_E;
use crate::rows;
use kingpost_ir::{Inst, TrapCode, Value};
use kingpost_mach::lower::{Cond, Tile, trap_on, working_bits};
use kingpost_mach::{LowerBackend, LowerError, RowId};
use kingpost_regalloc::VReg;

/// Lowers `imul`.
pub(super) fn imul(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [x, y] = cx.args(inst);
    let bits = working_bits(cx.ty(x));
    let value = cx.first_result(inst);
    let def = cx.result(value);
    let (x, y) = if cx.constant(x).is_some() { (y, x) } else { (x, y) };
    if let Some(imm) = cx.imm32(y) {
        if imm > 0 && imm & (imm - 1) == 0 {
            let tile = Tile::new(tiles::PRODUCT_BY_SHIFT, rows::SHL_RI.of(bits), [x]);
            return cx.emit_tile(inst, tile.imm(imm.trailing_zeros() as i32));
        }
        let source = cx.use_reg(x);
        cx.emit_imm(rows::IMUL_RRI.of(bits), &[def, source], imm);
        return Ok(());
    }
    for (kept, loaded) in [(x, y), (y, x)] {
        if let Some(load) = cx.fold_load(loaded, bits, inst)? {
            let source = cx.use_reg(kept);
            cx.emit_folded(rows::IMUL_RM.of(bits), &[def, source], load);
            return Ok(());
        }
    }
    let operands = [def, cx.use_reg(x), cx.use_reg(y)];
    cx.emit(rows::IMUL_RR.of(bits), &operands);
    Ok(())
}

/// Lowers `umulhi`, `smulhi`.
pub(super) fn mulhi(cx: &mut Cx<'_, '_>, inst: Inst, signed: bool) -> LowerResult {
    let [x, y] = cx.args(inst);
    let ty = cx.ty(x);
    let value = cx.first_result(inst);
    let (def, x, y) = (cx.result(value), cx.use_reg(x), cx.use_reg(y));
    let bits = ty.bits();
    if bits == 8 {
        let product = cx.int_temp(16);
        cx.emit(if signed { rows::IMULWIDE8_R } else { rows::MULWIDE8_R }, &[product, x, y]);
        cx.emit(rows::MOVZX32_AH, &[def, product]);
        return Ok(());
    }
    let low = cx.int_temp(bits);
    if !signed && cx.isa.flags.has_bmi2 && bits >= 32 {
        cx.emit(rows::MULX_RR.of(bits), &[def, low, x, y]);
    } else {
        cx.emit(wide_product(bits, signed), &[low, def, x, y]);
    }
    Ok(())
}

/// Returns the row that computes both halves of a product of `bits` bits (not 8).
pub(super) fn wide_product(bits: u32, signed: bool) -> RowId {
    match (bits, signed) {
        (16, false) => rows::MULWIDE_R.of(16),
        (32, false) => rows::MULWIDE_R.of(32),
        (_, false) => rows::MULWIDE_R.of(64),
        (16, true) => rows::IMULWIDE_R.of(16),
        (32, true) => rows::IMULWIDE_R.of(32),
        (_, true) => rows::IMULWIDE_R.of(64),
    }
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
        return by_power_of_two(cx, inst, part, divisor);
    }
    let bits = ty.bits();
    let value = cx.first_result(inst);
    let (def, divisor) = (cx.result(value), cx.use_reg(y));
    let trap = Some(TrapCode::INTEGER_DIVISION_BY_ZERO);
    if bits == 8 {
        let dividend = cx.use_zero_extended(x);
        divide_byte(cx, rows::DIV8_R, def, dividend, divisor, part, trap);
        return Ok(());
    }
    let low = cx.use_reg(x);
    let high = cx.constant_temp(0, bits);
    let row = match bits {
        16 => rows::DIV_R.of(16),
        32 => rows::DIV_R.of(32),
        _ => rows::DIV_R.of(64),
    };
    divide(cx, (row, bits), def, [low, high, divisor], part, trap);
    Ok(())
}

/// Emits an unsigned division by 2^n as a shift, or its remainder as a mask.
fn by_power_of_two(cx: &mut Cx<'_, '_>, inst: Inst, part: Part, divisor: u64) -> LowerResult {
    let [x, _] = cx.args(inst);
    let value = cx.first_result(inst);
    let bits = cx.ty(x).bits();
    let (def, source) = (cx.result(value), cx.use_reg(x));
    match part {
        Part::Quotient => {
            let row = rows::SHR_RI.of(bits);
            cx.emit_imm(row, &[def, source], divisor.trailing_zeros() as i32);
        }
        Part::Remainder if bits <= 32 => {
            cx.emit_imm(rows::AND_RI.of(32), &[def, source], (divisor - 1) as i32);
        }
        Part::Remainder => match i32::try_from(divisor - 1) {
            Ok(mask) => {
                cx.emit_imm(rows::AND_RI.of(64), &[def, source], mask);
            }
            Err(_) => {
                let mask = cx.constant_temp(divisor - 1, 64);
                cx.emit(rows::AND_RR.of(64), &[def, source, mask]);
            }
        },
    }
    Ok(())
}

/// Divides 16 bits in `ax` by a byte.
fn divide_byte(
    cx: &mut Cx<'_, '_>,
    row: RowId,
    def: VReg,
    dividend: VReg,
    divisor: VReg,
    part: Part,
    trap: Option<TrapCode>,
) {
    if part == Part::Quotient {
        cx.emit(row, &[def, dividend, divisor]).set_trap(trap);
    } else {
        let both = cx.int_temp(16);
        cx.emit(row, &[both, dividend, divisor]).set_trap(trap);
        cx.emit(rows::MOVZX32_AH, &[def, both]);
    }
}

/// Divides `high:low`.
fn divide(
    cx: &mut Cx<'_, '_>,
    (row, bits): (RowId, u32),
    def: VReg,
    [low, high, divisor]: [VReg; 3],
    part: Part,
    trap: Option<TrapCode>,
) {
    let unused = cx.int_temp(bits);
    let (quotient, remainder) = if part == Part::Quotient { (def, unused) } else { (unused, def) };
    cx.emit(row, &[quotient, remainder, low, high, divisor]).set_trap(trap);
}

/// Emits a signed division, with the sign of the dividend in all bits of `rdx`.
fn divide_signed(cx: &mut Cx<'_, '_>, x: Value, def: VReg, divisor: VReg, part: Part, trap: Option<TrapCode>) {
    let bits = cx.ty(x).bits();
    let low = cx.use_reg(x);
    if bits == 8 {
        let dividend = cx.int_temp(16);
        cx.sign_extend(dividend, low, 8, 32);
        divide_byte(cx, rows::IDIV8_R, def, dividend, divisor, part, trap);
        return;
    }
    let (sign, row) = match bits {
        16 => (rows::CWD, rows::IDIV_R.of(16)),
        32 => (rows::CDQ, rows::IDIV_R.of(32)),
        _ => (rows::CQO, rows::IDIV_R.of(64)),
    };
    let high = cx.int_temp(bits);
    cx.emit(sign, &[high, low]);
    divide(cx, (row, bits), def, [low, high, divisor], part, trap);
}

/// Lowers `sdiv`.
pub(super) fn sdiv(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [x, y] = cx.args(inst);
    let value = cx.first_result(inst);
    let def = cx.result(value);
    let divisor = nonzero_divisor(cx, y)?;
    divide_signed(cx, x, def, divisor, Part::Quotient, Some(TrapCode::INTEGER_OVERFLOW));
    Ok(())
}

/// Returns the divisor, after a trap if it is zero.
fn nonzero_divisor(cx: &mut Cx<'_, '_>, y: Value) -> Result<VReg, LowerError> {
    let divisor = cx.use_reg(y);
    if cx.constant(y).is_none_or(|constant| constant == 0) {
        let bits = cx.ty(y).bits();
        cx.emit(rows::TEST_RR.of(bits), &[divisor, divisor]);
        trap_on(cx, Cond::One(CC_E), TrapCode::INTEGER_DIVISION_BY_ZERO);
    }
    Ok(divisor)
}

/// Lowers `srem`. Dividing by 1 instead of -1 gives an equal remainder and cannot overflow.
pub(super) fn srem(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [x, y] = cx.args(inst);
    let ty = cx.ty(x);
    let value = cx.first_result(inst);
    let def = cx.result(value);
    match cx.constant_signed(y) {
        Some(-1) => {
            cx.load_constant(def, 0, ty.bits());
            return Ok(());
        }
        Some(constant) if constant != 0 => {
            let divisor = cx.use_reg(y);
            divide_signed(cx, x, def, divisor, Part::Remainder, None);
            return Ok(());
        }
        _ => {}
    }
    let bits = working_bits(ty);
    let divisor = cx.use_reg(y);
    let (one, safe) = (cx.constant_temp(1, bits), cx.int_temp(bits));
    cx.emit_imm(rows::CMP_RI.of(ty.bits()), &[divisor], -1);
    cx.emit_imm(rows::CMOV_RR.of(bits), &[safe, divisor, one], CC_E);
    divide_signed(cx, x, def, safe, Part::Remainder, Some(TrapCode::INTEGER_DIVISION_BY_ZERO));
    Ok(())
}
