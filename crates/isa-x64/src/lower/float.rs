//! Floating-point arithmetic, signs, minimum and maximum. Conversions and rounding have files of their own.
//!
//! Before: `v1 = load.f64 v0; v3 = fadd v2, v1`. After: `addsd v3, [v0]`.
//!
//! Signs are changed as bits, so that every bit of a NaN stays. With the setting `enable_nan_canonicalization` the
//! results of arithmetic pass through [`arithmetic`], which replaces any NaN by the canonical one.

use super::cx::Cx;
use super::int::select_bits;
use super::vector::{in_memory, repeated};
use super::{LowerResult, tiles};
use crate::rows;
use kingpost_ir::{Inst, InstView, Type, Value};
use kingpost_mach::lower::{float_pattern, is_float, is_float_reg};
use kingpost_mach::{Address, Family, LowerError, MInst, RowId};
use kingpost_regalloc::VReg;
use smallvec::SmallVec;

/// Predicate of `cmpss` and `cmpsd`: at least one operand is NaN.
const UNORDERED: i32 = 3;

/// Rows of an operation on scalars and on vectors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct FloatRows(Family, Family);

impl FloatRows {
    pub(super) const ADD: FloatRows = FloatRows(rows::ADDS_RR, rows::ADDP);
    pub(super) const SUB: FloatRows = FloatRows(rows::SUBS_RR, rows::SUBP);
    pub(super) const MUL: FloatRows = FloatRows(rows::MULS_RR, rows::MULP);
    pub(super) const DIV: FloatRows = FloatRows(rows::DIVS_RR, rows::DIVP);
    const MIN: FloatRows = FloatRows(rows::MINS_RR, rows::MINP);
    const MAX: FloatRows = FloatRows(rows::MAXS_RR, rows::MAXP);
    const SQRT: FloatRows = FloatRows(rows::SQRTS_RR, rows::SQRTP);
    const CMP: FloatRows = FloatRows(rows::CMPS_RRI, rows::CMPP);

    pub(super) const fn new(scalar: Family, packed: Family) -> FloatRows {
        FloatRows(scalar, packed)
    }

    /// Returns the row for a type.
    pub(super) const fn of(self, ty: Type) -> RowId {
        if ty.is_scalar() { self.0.of(ty.bits()) } else { self.1.of(ty.lane_bits()) }
    }
}

impl Cx<'_, '_> {
    /// Returns an error for `inst` unless `ty` consists of floats with arithmetic of their own.
    pub(super) fn require_floats(&self, inst: Inst, ty: Type) -> LowerResult {
        if is_float(ty.lane_type()) && is_float_reg(ty) { Ok(()) } else { Err(self.unsupported(inst)) }
    }

    /// Emits `row`, whose last operand is `last`. The operand is in memory if it is a load or constant without
    /// another use.
    pub(super) fn emit_float(
        &mut self,
        row: RowId,
        vregs: &[VReg],
        last: Value,
        user: Inst,
    ) -> Result<&mut MInst, LowerError> {
        let bits = self.ty(last).bits();
        if let Some(twin) = rows::ROWS[usize::from(row.0)].twin
            && u32::from(rows::ROWS[usize::from(twin.row.0)].mem) == bits / 8
        {
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

    /// Returns the address of a constant that only one instruction uses. Zeros are cheaper in a register.
    fn sole_constant(&mut self, value: Value) -> Option<Address> {
        if self.uses(value) != 1 || self.has_reg(value) {
            return None;
        }
        match self.func.dfg.view(self.def(value)?) {
            InstView::UnaryIeee32 { imm } if imm.bits() != 0 => Some(self.literal(&imm.bits().to_le_bytes())),
            InstView::UnaryIeee64 { imm } if imm.bits() != 0 => Some(self.literal(&imm.bits().to_le_bytes())),
            InstView::UnaryConst { constant } => {
                let bytes = self.func.dfg.constants.bytes(constant);
                let in_register = bytes.iter().all(|&byte| byte == 0) || bytes.iter().all(|&byte| byte == 0xff);
                if in_register { None } else { Some(self.literal(bytes)) }
            }
            _ => None,
        }
    }

    /// Returns `true` if the value is a load or constant that may become a memory operand.
    fn prefers_memory(&self, value: Value) -> bool {
        let may_fold = |inst| match self.func.dfg.view(inst) {
            InstView::Load { flags, .. } => self.is_operand(flags, self.ty(value).bits()),
            InstView::UnaryIeee32 { .. } | InstView::UnaryIeee64 { .. } | InstView::UnaryConst { .. } => true,
            _ => false,
        };
        self.uses(value) == 1 && self.def(value).is_some_and(may_fold)
    }

    /// Returns the operands of a row, exchanged if that is allowed and better. The second operand may be in memory,
    /// and the first one shares its register with the result.
    pub(super) fn memory_last(&self, row: RowId, result: Value, [x, y]: [Value; 2]) -> [Value; 2] {
        let commutes = rows::ROWS[usize::from(row.0)].commutes;
        let swap =
            commutes && !self.prefers_memory(y) && (self.prefers_memory(x) || self.is_better_second(result, [x, y]));
        if swap { [y, x] } else { [x, y] }
    }

    /// Emits `row` with a constant of type `ty` in memory as its last operand.
    pub(super) fn emit_float_constant(&mut self, row: RowId, vregs: &[VReg], bits: u64, ty: Type) -> &mut MInst {
        let literal = self.literal(&bits.to_le_bytes()[..ty.bytes() as usize]);
        self.emit_mem(in_memory(row), vregs, literal)
    }

    /// Emits a bitwise row whose last operand is a constant in memory, repeated in all lanes of `ty`.
    fn emit_mask(&mut self, row: RowId, vregs: &[VReg], bits: u64, ty: Type) {
        self.emit_with(row, vregs, repeated(bits, ty.lane_bits()));
    }

    /// Returns a new register for a float of type `ty`.
    pub(super) fn float_like(&mut self, ty: Type) -> VReg {
        self.float_temp(ty.bits())
    }
}

/// Emits the result of `inst` by `compute`, then makes NaNs canonical if the setting requires it.
pub(super) fn arithmetic(
    cx: &mut Cx<'_, '_>,
    inst: Inst,
    compute: impl FnOnce(&mut Cx<'_, '_>, VReg) -> LowerResult,
) -> LowerResult {
    let value = cx.first_result(inst);
    let ty = cx.ty(value);
    let def = cx.result(value);
    if !cx.settings.enable_nan_canonicalization {
        return compute(cx, def);
    }
    let raw = cx.float_like(ty);
    compute(cx, raw)?;
    // Take the operand where it is a number, and the canonical NaN elsewhere.
    let [nan, number, canonical] = std::array::from_fn(|_| cx.float_like(ty));
    cx.emit_imm(FloatRows::CMP.of(ty), &[nan, raw, raw], UNORDERED);
    cx.emit(rows::ANDNPS, &[number, nan, raw]);
    cx.emit_mask(rows::ANDPS, &[canonical, nan], float_pattern(ty.lane_type(), 0x7fc0_0000, 0x7ff8 << 48), ty);
    cx.emit(rows::ORPS, &[def, number, canonical]);
    Ok(())
}

/// Lowers `fadd`, `fsub`, `fmul`, `fdiv`.
pub(super) fn binary(cx: &mut Cx<'_, '_>, inst: Inst, rows: FloatRows) -> LowerResult {
    let operands: [Value; 2] = cx.args(inst);
    let ty = cx.ty(operands[0]);
    cx.require_floats(inst, ty)?;
    let row = rows.of(ty);
    let [x, y] = cx.memory_last(row, cx.first_result(inst), operands);
    arithmetic(cx, inst, |cx, def| {
        let x = cx.use_reg(x);
        cx.emit_float(row, &[def, x], y, inst)?;
        Ok(())
    })
}

/// Lowers `sqrt`.
pub(super) fn sqrt(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [x] = cx.args(inst);
    let ty = cx.ty(x);
    cx.require_floats(inst, ty)?;
    arithmetic(cx, inst, |cx, def| {
        cx.emit_float(FloatRows::SQRT.of(ty), &[def], x, inst)?;
        Ok(())
    })
}

/// Lowers `bnot`.
pub(super) fn bnot(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let ones = cx.float_temp(128);
    let [def, source] = cx.registers(inst);
    cx.emit(rows::PCMPEQD_ONES, &[ones]);
    cx.emit(rows::XORPS, &[def, source, ones]);
    Ok(())
}

/// Lowers `bitselect`.
pub(super) fn bitselect(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [def, c, x, y] = cx.registers(inst);
    let temps = std::array::from_fn(|_| cx.float_temp(128));
    select_bits(cx, [rows::XORPS, rows::ANDPS], temps, def, [c, x, y]);
    Ok(())
}

/// Returns the sign bit of a lane, which has 64 bits at most because wider floats are expanded.
fn sign(cx: &Cx<'_, '_>, inst: Inst, ty: Type) -> Result<u64, LowerError> {
    if is_float_reg(ty) && ty.lane_bits() <= 64 { Ok(1 << (ty.lane_bits() - 1)) } else { Err(cx.unsupported(inst)) }
}

/// Lowers `fneg`.
pub(super) fn fneg(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    with_mask(cx, inst, rows::XORPS, |sign| sign)
}

/// Lowers `fabs`.
pub(super) fn fabs(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    with_mask(cx, inst, rows::ANDPS, |sign| sign - 1)
}

fn with_mask(cx: &mut Cx<'_, '_>, inst: Inst, row: RowId, mask: fn(u64) -> u64) -> LowerResult {
    let ty = cx.result_ty(inst);
    let sign = sign(cx, inst, ty)?;
    let operands: [VReg; 2] = cx.registers(inst);
    cx.emit_mask(row, &operands, mask(sign), ty);
    Ok(())
}

/// Lowers `fcopysign`: the magnitude of one, the sign of the other.
pub(super) fn fcopysign(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let ty = cx.result_ty(inst);
    let sign = sign(cx, inst, ty)?;
    let [def, x, y] = cx.registers(inst);
    let [plain, signed] = std::array::from_fn(|_| cx.float_like(ty));
    cx.emit_mask(rows::ANDPS, &[plain, x], sign - 1, ty);
    cx.emit_mask(rows::ANDPS, &[signed, y], sign, ty);
    cx.emit(rows::ORPS, &[def, plain, signed]);
    Ok(())
}

/// Lowers `fmin` by both orders of `minss`, whose result is the second operand for two zeros or a NaN. The
/// disjunction of both keeps the sign of a negative zero and every bit of a NaN, which becomes quiet when all bits
/// are set.
pub(super) fn fmin(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    min_max(cx, inst, FloatRows::MIN, |cx, ty, [first, second]| {
        let [both, nan, quiet] = std::array::from_fn(|_| cx.float_like(ty));
        cx.emit(rows::ORPS, &[both, first, second]);
        cx.emit_imm(FloatRows::CMP.of(ty), &[nan, both, both], UNORDERED);
        cx.emit(rows::ORPS, &[quiet, both, nan]);
        [quiet, nan]
    })
}

/// Lowers `fmax` by both orders of `maxss`. For two zeros of different sign the sign must be clear. The disjunction
/// minus the bits in which the two orders differ is 0.0 for them, the operand where the orders agree, and a quiet NaN
/// for a NaN.
pub(super) fn fmax(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    min_max(cx, inst, FloatRows::MAX, |cx, ty, [first, second]| {
        let [different, either, both, nan] = std::array::from_fn(|_| cx.float_like(ty));
        cx.emit(rows::XORPS, &[different, second, first]);
        cx.emit(rows::ORPS, &[either, first, different]);
        cx.emit(FloatRows::SUB.of(ty), &[both, either, different]);
        cx.emit_imm(FloatRows::CMP.of(ty), &[nan, either, either], UNORDERED);
        [both, nan]
    })
}

/// Lowers a minimum or maximum. `join` makes from both orders the result, with any quiet NaN, and a mask of the NaNs.
fn min_max(
    cx: &mut Cx<'_, '_>,
    inst: Inst,
    rows: FloatRows,
    join: impl FnOnce(&mut Cx<'_, '_>, Type, [VReg; 2]) -> [VReg; 2],
) -> LowerResult {
    let [x, y] = cx.args(inst);
    let ty = cx.ty(x);
    cx.require_floats(inst, ty)?;
    let row = rows.of(ty);
    arithmetic(cx, inst, |cx, def| {
        let (x, y) = (cx.use_reg(x), cx.use_reg(y));
        let [first, second, payload] = std::array::from_fn(|_| cx.float_like(ty));
        cx.emit(row, &[first, x, y]);
        cx.emit(row, &[second, y, x]);
        let [result, nan] = join(cx, ty, [first, second]);
        // A NaN made of two operands is reduced to the bits of the canonical one, whose significand has one bit set.
        let bits = ty.lane_bits();
        let significand = if bits == 64 { 52 } else { 23 };
        cx.emit_imm(rows::PSRL_RI.of(bits), &[payload, nan], bits as i32 - (significand - 1));
        cx.emit(rows::ANDNPS, &[def, payload, result]);
        Ok(())
    })
}
