//! Rounding to integral values, and multiplication and addition with one rounding.
//!
//! Before: `v3 = fneg v0; v4 = fma v3, v1, v2`. After: `fmsub d4, d0, d1, d2`.

use super::LowerResult;
use super::cx::Cx;
use super::float::{arithmetic, unary};
use crate::rows;
use kingpost_ir::{Inst, Opcode, Value};
use kingpost_mach::Family;

/// Lowers `ceil`, `floor`, `trunc`, `nearest`.
pub(super) fn round(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let family = match cx.func.dfg.opcode(inst) {
        Opcode::Nearest => rows::FRINTN_FF,
        Opcode::Floor => rows::FRINTM_FF,
        Opcode::Ceil => rows::FRINTP_FF,
        _ => rows::FRINTZ_FF,
    };
    unary(cx, inst, family)
}

/// The rows of `a * b + c` with the signs of product and addend: `[negate product][negate addend]`.
const FUSED: [[Family; 2]; 2] = [[rows::FMADD_FFFF, rows::FNMSUB_FFFF], [rows::FMSUB_FFFF, rows::FNMADD_FFFF]];

/// Lowers `fma`.
pub(super) fn fma(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [x, y, z] = cx.args(inst);
    let ty = cx.ty(x);
    cx.require_arithmetic(inst, ty)?;
    arithmetic(cx, inst, |cx, def| {
        let (x, negate_x) = cx.without_sign_change(x);
        let (y, negate_y) = cx.without_sign_change(y);
        let (z, negate_z) = cx.without_sign_change(z);
        let row = FUSED[usize::from(negate_x != negate_y)][usize::from(negate_z)].of(ty.bits());
        let operands = [def, cx.use_reg(x), cx.use_reg(y), cx.use_reg(z)];
        cx.emit(row, &operands);
    })
}

impl Cx<'_, '_> {
    /// Returns the operand of an `fneg` without another use, and whether there was one.
    pub(super) fn without_sign_change(&self, value: Value) -> (Value, bool) {
        match self.def_as(value, Opcode::Fneg).filter(|_| self.is_single_use(value)) {
            Some(fneg) => {
                let [operand] = self.args(fneg);
                (operand, true)
            }
            None => (value, false),
        }
    }
}
