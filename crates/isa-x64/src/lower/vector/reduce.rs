//! Tests of all lanes, whose result is an integer.
//!
//! Before: `v1 = vall_true.i32x4 v0`. After: `pcmpeqd t, zero; ptest t, t; sete v1`.

use super::LowerResult;
use super::compare::equal;
use crate::lower::compare;
use crate::lower::cx::Cx;
use crate::regs::{CC_E, CC_NE};
use crate::rows;
use kingpost_ir::{Inst, Type};
use kingpost_mach::lower::Cond;
use kingpost_mach::{LowerBackend, lower};
use kingpost_regalloc::VReg;

/// Lowers `vany_true`.
pub(in crate::lower) fn vany_true(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    set_result(cx, inst, |cx, x, ty| cx.any_true(x, ty))
}

/// Lowers `vall_true`.
pub(in crate::lower) fn vall_true(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    set_result(cx, inst, |cx, x, ty| cx.all_true(x, ty))
}

fn set_result(cx: &mut Cx<'_, '_>, inst: Inst, test: fn(&mut Cx<'_, '_>, VReg, Type) -> Cond) -> LowerResult {
    let [x] = cx.args(inst);
    let ty = cx.ty(x);
    if !lower::is_float_reg(ty) {
        return Err(cx.unsupported(inst));
    }
    let value = cx.first_result(inst);
    let (def, x) = (cx.result(value), cx.use_reg(x));
    let cond = test(cx, x, ty);
    compare::set(cx, def, cond);
    Ok(())
}

impl Cx<'_, '_> {
    /// Emits the flags for "some bit of `x` is set".
    pub(in crate::lower) fn any_true(&mut self, x: VReg, ty: Type) -> Cond {
        if ty.bits() < 128 {
            let (bits, image) = self.low_bits(x, ty);
            self.emit(rows::TEST_RR.of(bits), &[image, image]);
            return Cond::One(CC_NE);
        }
        if self.can(rows::PTEST_RR) {
            self.emit(rows::PTEST_RR, &[x, x]);
            return Cond::One(CC_NE);
        }
        let zero = self.vector(0);
        let zeros = self.make(rows::PCMPEQ.of(8), &[x, zero]);
        let mask = self.int_temp(32);
        self.emit(rows::PMOVMSKB_RR, &[mask, zeros]);
        self.emit_imm(rows::CMP_RI.of(32), &[mask], 0xffff);
        Cond::One(CC_NE)
    }

    /// Emits the flags for "no lane of `x` is zero".
    pub(in crate::lower) fn all_true(&mut self, x: VReg, ty: Type) -> Cond {
        let (zero, zeros) = (self.vector(0), self.vector_temp());
        equal(self, zeros, ty.lane_bits(), [x, zero]);
        if ty.bits() < 128 {
            let (bits, image) = self.low_bits(zeros, ty);
            self.emit(rows::TEST_RR.of(bits), &[image, image]);
        } else if self.can(rows::PTEST_RR) {
            self.emit(rows::PTEST_RR, &[zeros, zeros]);
        } else {
            let mask = self.int_temp(32);
            self.emit(rows::PMOVMSKB_RR, &[mask, zeros]);
            self.emit(rows::TEST_RR.of(32), &[mask, mask]);
        }
        Cond::One(CC_E)
    }

    /// Returns the number of bits of a vector of fewer than 128 bits, and the bits as an integer.
    fn low_bits(&mut self, x: VReg, ty: Type) -> (u32, VReg) {
        let bits = ty.bits();
        let image = self.int_temp(bits);
        self.emit(rows::MOV_RF.of(bits.max(32)), &[image, x]);
        (bits, image)
    }
}

/// Lowers `vhigh_bits`.
pub(in crate::lower) fn vhigh_bits(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [x] = cx.args(inst);
    let ty = cx.ty(x);
    let value = cx.first_result(inst);
    let result = cx.ty(value);
    if !lower::is_float_reg(ty) || ty.is_scalar() || result.bits() > 64 {
        return Err(cx.unsupported(inst));
    }
    let (def, mut source) = (cx.result(value), cx.use_reg(x));
    if ty.bits() < 128 {
        // Clear the signs above the vector.
        source = cx.make_with(rows::ANDPS, source, (1 << ty.bits()) - 1);
    }
    let row = match ty.lane_bits() {
        8 => rows::PMOVMSKB_RR,
        16 => {
            let zero = cx.vector(0);
            source = cx.make(rows::PACKSSWB, &[source, zero]);
            rows::PMOVMSKB_RR
        }
        bits => rows::MOVMSKP_RR.of(bits),
    };
    if result.bits() < 64 {
        cx.emit(row, &[def, source]);
    } else {
        let narrow = cx.int_temp(32);
        cx.emit(row, &[narrow, source]);
        cx.zero_extend(def, narrow, 32);
    }
    Ok(())
}
