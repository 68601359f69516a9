//! Floating-point arithmetic, signs, minimum and maximum. Conversions and rounding have files of their own.
//!
//! Before: `v1 = load.f64 v0; v3 = fadd v2, v1`. After: `addsd v3, [v0]`.
//!
//! Signs are changed as bits, so that every bit of a NaN stays. With the setting `enable_nan_canonicalization` what
//! arithmetic yields passes through [`arithmetic`], which replaces any NaN by the canonical one.

use super::cx::Cx;
use super::int::select_bits;
use super::{Lowered, tiles};
use crate::rows;
use kingpost_ir::types::F64;
use kingpost_ir::{Inst, InstView, Opcode, Type, Value};
use kingpost_mach::lower::float_pattern;
use kingpost_mach::{Address, Family, LowerError, MInst, RowId};
use kingpost_regalloc::VReg;
use smallvec::SmallVec;

/// Predicate of `cmpss` and `cmpsd`: some operand is NaN.
const UNORDERED: i32 = 3;

impl Cx<'_, '_> {
    /// Emits `row`, whose last operand is `last`, in memory if it can be: a load or constant without another use.
    pub(super) fn emit_float(
        &mut self,
        row: RowId,
        vregs: &[VReg],
        last: Value,
        user: Inst,
    ) -> Result<&mut MInst, LowerError> {
        let bits = self.ty(last).bits();
        if let Some(twin) = rows::ROWS[usize::from(row.0)].twin {
            if let Some(load) = self.fold_load(last, bits, user)? {
                return Ok(self.emit_folded(twin.row, vregs, load));
            }
            if let Some(literal) = self.sole_constant(last) {
                self.count_tile(tiles::FOLDED_LITERAL);
                return Ok(self.emit_mem(twin.row, vregs, literal));
            }
        }
        let mut all: SmallVec<[VReg; 4]> = vregs.into();
        all.push(self.use_reg(last));
        Ok(self.emit(row, &all))
    }

    /// The address of a constant that only one instruction uses. Zeros are cheaper in a register.
    fn sole_constant(&mut self, value: Value) -> Option<Address> {
        if self.uses(value) != 1 || self.has_reg(value) {
            return None;
        }
        match self.func.dfg.view(self.def(value)?) {
            InstView::UnaryIeee32 { imm } if imm.bits() != 0 => Some(self.literal(&imm.bits().to_le_bytes())),
            InstView::UnaryIeee64 { imm } if imm.bits() != 0 => Some(self.literal(&imm.bits().to_le_bytes())),
            _ => None,
        }
    }

    /// Is the value a load or constant that may become a memory operand?
    fn prefers_memory(&self, value: Value) -> bool {
        let memory = |inst| matches!(self.func.dfg.opcode(inst), Opcode::Load | Opcode::F32const | Opcode::F64const);
        self.uses(value) == 1 && self.def(value).is_some_and(memory)
    }

    /// Emits `row` with a constant of type `ty` in memory as its last operand.
    pub(super) fn emit_float_constant(&mut self, row: RowId, vregs: &[VReg], bits: u64, ty: Type) -> &mut MInst {
        let twin = rows::ROWS[usize::from(row.0)].twin.map_or(row, |twin| twin.row);
        let literal = self.literal(&bits.to_le_bytes()[..ty.bytes() as usize]);
        self.emit_mem(twin, vregs, literal)
    }

    /// Emits a bitwise row with a constant in memory, the same in all lanes of type `ty`, as its last operand.
    fn emit_mask(&mut self, row: RowId, vregs: &[VReg], bits: u64, ty: Type) {
        let lanes = u128::from(if ty == F64 { bits } else { bits << 32 | bits });
        let literal = self.literal(&(lanes << 64 | lanes).to_le_bytes());
        self.emit_mem(row, vregs, literal);
    }

    /// A register for a float of type `ty`.
    pub(super) fn float_like(&mut self, ty: Type) -> VReg {
        self.float_temp(ty.bits())
    }
}

/// Lets `compute` define the result of `inst`, then makes NaNs canonical under that setting.
pub(super) fn arithmetic(
    cx: &mut Cx<'_, '_>,
    inst: Inst,
    compute: impl FnOnce(&mut Cx<'_, '_>, VReg) -> Lowered,
) -> Lowered {
    let value = cx.first_result(inst);
    let ty = cx.ty(value);
    let def = cx.result(value);
    if !cx.settings.enable_nan_canonicalization {
        return compute(cx, def);
    }
    let raw = cx.float_like(ty);
    compute(cx, raw)?;
    // The operand where it is a number, the canonical NaN elsewhere.
    let [nan, number, canonical] = std::array::from_fn(|_| cx.float_like(ty));
    cx.emit_imm(rows::CMPS_RRI.of(ty.bits()), &[nan, raw, raw], UNORDERED);
    cx.emit(rows::ANDNPS_RR, &[number, nan, raw]);
    cx.emit_mask(rows::ANDPS_RM, &[canonical, nan], float_pattern(ty, 0x7fc0_0000, 0x7ff8 << 48), ty);
    cx.emit(rows::ORPS_RR, &[def, number, canonical]);
    Ok(())
}

/// `fadd`, `fsub`, `fmul`, `fdiv`.
pub(super) fn binary(cx: &mut Cx<'_, '_>, inst: Inst, family: Family) -> Lowered {
    let [x, y] = cx.args(inst);
    let ty = cx.ty(x);
    cx.require_float(inst, ty)?;
    let commutes = rows::ROWS[usize::from(family.of(ty.bits()).0)].commutes;
    // The second operand may be in memory; the first one gives its register to the result.
    let swap = commutes && !cx.prefers_memory(y) && (cx.prefers_memory(x) || (cx.uses(x) > 1 && cx.uses(y) == 1));
    let [x, y] = if swap { [y, x] } else { [x, y] };
    arithmetic(cx, inst, |cx, def| {
        let x = cx.use_reg(x);
        cx.emit_float(family.of(ty.bits()), &[def, x], y, inst)?;
        Ok(())
    })
}

/// `sqrt`.
pub(super) fn sqrt(cx: &mut Cx<'_, '_>, inst: Inst) -> Lowered {
    let [x] = cx.args(inst);
    let ty = cx.ty(x);
    cx.require_float(inst, ty)?;
    arithmetic(cx, inst, |cx, def| {
        cx.emit_float(rows::SQRTS_RR.of(ty.bits()), &[def], x, inst)?;
        Ok(())
    })
}

/// `bnot`.
pub(super) fn bnot(cx: &mut Cx<'_, '_>, inst: Inst) -> Lowered {
    let ones = cx.float_temp(128);
    let [def, source] = cx.registers(inst);
    cx.emit(rows::PCMPEQD_ONES, &[ones]);
    cx.emit(rows::XORPS_RR, &[def, source, ones]);
    Ok(())
}

/// `bitselect`.
pub(super) fn bitselect(cx: &mut Cx<'_, '_>, inst: Inst) -> Lowered {
    let [def, c, x, y] = cx.registers(inst);
    let temps = std::array::from_fn(|_| cx.float_temp(128));
    select_bits(cx, [rows::XORPS_RR, rows::ANDPS_RR], temps, def, [c, x, y]);
    Ok(())
}

/// The sign bit.
fn sign(ty: Type) -> u64 {
    float_pattern(ty, 1 << 31, 1 << 63)
}

/// All bits but the sign.
fn magnitude(ty: Type) -> u64 {
    float_pattern(ty, !(1 << 31), !(1 << 63))
}

/// `fneg`.
pub(super) fn fneg(cx: &mut Cx<'_, '_>, inst: Inst) -> Lowered {
    with_mask(cx, inst, rows::XORPS_RM, sign)
}

/// `fabs`.
pub(super) fn fabs(cx: &mut Cx<'_, '_>, inst: Inst) -> Lowered {
    with_mask(cx, inst, rows::ANDPS_RM, magnitude)
}

fn with_mask(cx: &mut Cx<'_, '_>, inst: Inst, row: RowId, mask: fn(Type) -> u64) -> Lowered {
    let ty = cx.result_ty(inst);
    cx.require_float(inst, ty)?;
    let operands: [VReg; 2] = cx.registers(inst);
    cx.emit_mask(row, &operands, mask(ty), ty);
    Ok(())
}

/// `fcopysign`: the magnitude of one, the sign of the other.
pub(super) fn fcopysign(cx: &mut Cx<'_, '_>, inst: Inst) -> Lowered {
    let ty = cx.result_ty(inst);
    cx.require_float(inst, ty)?;
    let [def, x, y] = cx.registers(inst);
    let [plain, signed] = std::array::from_fn(|_| cx.float_like(ty));
    cx.emit_mask(rows::ANDPS_RM, &[plain, x], magnitude(ty), ty);
    cx.emit_mask(rows::ANDPS_RM, &[signed, y], sign(ty), ty);
    cx.emit(rows::ORPS_RR, &[def, plain, signed]);
    Ok(())
}

/// `fmin`: both orders of `minss`, whose result is the second operand for two zeros or a NaN. Either-or keeps the sign of a
/// negative zero and every bit that makes a NaN.
pub(super) fn fmin(cx: &mut Cx<'_, '_>, inst: Inst) -> Lowered {
    min_max(cx, inst, rows::MINS_RR, |cx, ty, [first, second]| {
        let both = cx.float_like(ty);
        cx.emit(rows::ORPS_RR, &[both, first, second]);
        both
    })
}

/// `fmax`: as `fmin`, but for two zeros of different sign the sign goes: the difference of either-or and the bits in which
/// the two orders differ is 0.0 for them, the operand where they agree, and a NaN for a NaN.
pub(super) fn fmax(cx: &mut Cx<'_, '_>, inst: Inst) -> Lowered {
    min_max(cx, inst, rows::MAXS_RR, |cx, ty, [first, second]| {
        let [different, either, both] = std::array::from_fn(|_| cx.float_like(ty));
        cx.emit(rows::XORPS_RR, &[different, second, first]);
        cx.emit(rows::ORPS_RR, &[either, first, different]);
        cx.emit(rows::SUBS_RR.of(ty.bits()), &[both, either, different]);
        both
    })
}

fn min_max(
    cx: &mut Cx<'_, '_>,
    inst: Inst,
    family: Family,
    join: impl FnOnce(&mut Cx<'_, '_>, Type, [VReg; 2]) -> VReg,
) -> Lowered {
    let [x, y] = cx.args(inst);
    let ty = cx.ty(x);
    cx.require_float(inst, ty)?;
    let row = family.of(ty.bits());
    arithmetic(cx, inst, |cx, def| {
        let (x, y) = (cx.use_reg(x), cx.use_reg(y));
        let [first, second, nan, quiet, payload] = std::array::from_fn(|_| cx.float_like(ty));
        cx.emit(row, &[first, x, y]);
        cx.emit(row, &[second, y, x]);
        let both = join(cx, ty, [first, second]);
        // A NaN made of two operands is cut down to the bits of the canonical one, whose significand has one bit set.
        let significand = if ty == F64 { 52 } else { 23 };
        cx.emit_imm(rows::CMPS_RRI.of(ty.bits()), &[nan, both, both], UNORDERED);
        cx.emit(rows::ORPS_RR, &[quiet, both, nan]);
        cx.emit_imm(rows::PSRL_RI.of(ty.bits()), &[payload, nan], ty.bits() as i32 - (significand - 1));
        cx.emit(rows::ANDNPS_RR, &[def, payload, quiet]);
        Ok(())
    })
}
