//! Conditions: comparisons into the flags register, for branches, selects, conditional traps and boolean results.
//!
//! Before: `v2 = icmp slt v0, v1; v3 = uextend.i32 v2; brif v3, block1, block2`. After: `cmp v0, v1; jl block1`.
//!
//! A reader of the flags calls [`Cx::condition`] and is emitted immediately after it. Comparisons are repeated for
//! each reader, which is cheaper than keeping the boolean in a register.

use super::condition_codes::int_code;
use super::cx::Cx;
use super::{tiles, wide};
use crate::regs::{CC_A, CC_AE, CC_B, CC_BE, CC_E, CC_NE, CC_NP, CC_P};
use crate::rows;
use kingpost_ir::condcodes::{FloatCC, IntCC};
use kingpost_ir::types::{F32, F64, I128};
use kingpost_ir::{Inst, Opcode, Value};
use kingpost_mach::LowerError;
use kingpost_mach::lower::{Cond, TruthTest, is_float_reg};

impl Cx<'_, '_> {
    /// Emits the flags for "`value` is not zero", on behalf of `user`. Their reader must be the next instruction.
    pub(super) fn condition(&mut self, value: Value, user: Inst) -> Result<Cond, LowerError> {
        let test = self.truth_test(value, |value| self.is_comparison(value));
        let cond = self.is_nonzero(&test, user)?;
        Ok(cond.inverse_if(test.negated))
    }

    fn is_nonzero(&mut self, test: &TruthTest, user: Inst) -> Result<Cond, LowerError> {
        let value = test.value;
        if let (Some(opcode), Some(def)) = (self.opcode_of(value), self.def(value)) {
            match opcode {
                Opcode::Icmp => {
                    let (cond, args) = self.func.dfg.icmp_parts(def);
                    if self.ty(args[0]).is_int() {
                        return self.compare(cond, args, test.sole.then_some(user));
                    }
                }
                Opcode::Fcmp => {
                    let (cond, args) = self.func.dfg.fcmp_parts(def);
                    if matches!(self.ty(args[0]), F32 | F64) {
                        return self.compare_floats(cond, args, test.sole.then_some(user));
                    }
                }
                Opcode::VanyTrue | Opcode::VallTrue => {
                    let [lanes] = self.args(def);
                    let ty = self.ty(lanes);
                    if is_float_reg(ty) {
                        self.count_tile(tiles::TRUTH_OF_LANES);
                        let x = self.use_reg(lanes);
                        return Ok(if opcode == Opcode::VanyTrue {
                            self.any_true(x, ty)
                        } else {
                            self.all_true(x, ty)
                        });
                    }
                }
                _ => {}
            }
        }
        if self.ty(value) == I128 {
            let parts = self.use_regs(value);
            let any = self.int_temp(64);
            self.emit(rows::OR_RR.of(64), &[any, parts[0], parts[1]]);
        } else {
            self.test(value, test.sole.then_some(user))?;
        }
        Ok(Cond::One(CC_NE))
    }

    /// Emits the flags of an integer comparison. `sole` is the reader, if it is the only user of the comparison.
    pub(super) fn compare(&mut self, cond: IntCC, [x, y]: [Value; 2], sole: Option<Inst>) -> Result<Cond, LowerError> {
        let (cond, x, y) = if self.constant(x).is_some() { (cond.swap_args(), y, x) } else { (cond, x, y) };
        let bits = self.ty(x).bits();
        if bits == 128 {
            return Ok(wide::compare(self, cond, x, y));
        }
        let cc = Cond::One(int_code(cond));
        if let Some(imm) = self.imm32(y) {
            if let Some(user) = sole
                && let Some(load) = self.fold_load(x, bits, user)?
            {
                self.emit_folded(rows::CMP_MI.of(bits), &[], load).imm = imm;
            } else if imm == 0 {
                self.test(x, sole)?;
            } else {
                let x = self.use_reg(x);
                self.emit_imm(rows::CMP_RI.of(bits), &[x], imm);
            }
            return Ok(cc);
        }
        if let Some(user) = sole {
            if let Some(load) = self.fold_load(y, bits, user)? {
                let x = self.use_reg(x);
                self.emit_folded(rows::CMP_RM.of(bits), &[x], load);
                return Ok(cc);
            }
            if let Some(load) = self.fold_load(x, bits, user)? {
                let y = self.use_reg(y);
                self.emit_folded(rows::CMP_MR.of(bits), &[y], load);
                return Ok(cc);
            }
        }
        let operands = [self.use_reg(x), self.use_reg(y)];
        self.emit(rows::CMP_RR.of(bits), &operands);
        Ok(cc)
    }

    /// Emits the flags of `value` compared with zero. A bitwise and is part of the test and is not computed.
    fn test(&mut self, value: Value, sole: Option<Inst>) -> Result<(), LowerError> {
        let bits = self.ty(value).bits();
        let and = self.def_as(value, Opcode::Band).filter(|_| sole.is_some() && self.uses(value) <= 1);
        if let Some(and) = and {
            let [x, y] = self.args(and);
            let (x, y) = if self.constant(x).is_some() { (y, x) } else { (x, y) };
            if let Some(imm) = self.imm32(y) {
                let x = self.use_reg(x);
                self.emit_imm(rows::TEST_RI.of(bits), &[x], imm);
            } else {
                let operands = [self.use_reg(x), self.use_reg(y)];
                self.emit(rows::TEST_RR.of(bits), &operands);
            }
            return Ok(());
        }
        if let Some(user) = sole
            && let Some(load) = self.fold_load(value, bits, user)?
        {
            self.emit_folded(rows::CMP_MI.of(bits), &[], load).imm = 0;
            return Ok(());
        }
        let value = self.use_reg(value);
        self.emit(rows::TEST_RR.of(bits), &[value, value]);
        Ok(())
    }

    /// Emits the flags of a float comparison: `ucomis` sets zero, parity and carry if the operands are unordered.
    pub(super) fn compare_floats(
        &mut self,
        cond: FloatCC,
        [x, y]: [Value; 2],
        sole: Option<Inst>,
    ) -> Result<Cond, LowerError> {
        let (cc, swap) = match cond {
            FloatCC::Ordered => (Cond::One(CC_NP), false),
            FloatCC::Unordered => (Cond::One(CC_P), false),
            FloatCC::Equal => (Cond::And(CC_E, CC_NP), false),
            FloatCC::NotEqual => (Cond::Or(CC_NE, CC_P), false),
            FloatCC::OrderedNotEqual => (Cond::One(CC_NE), false),
            FloatCC::UnorderedOrEqual => (Cond::One(CC_E), false),
            FloatCC::LessThan => (Cond::One(CC_A), true),
            FloatCC::LessThanOrEqual => (Cond::One(CC_AE), true),
            FloatCC::GreaterThan => (Cond::One(CC_A), false),
            FloatCC::GreaterThanOrEqual => (Cond::One(CC_AE), false),
            FloatCC::UnorderedOrLessThan => (Cond::One(CC_B), false),
            FloatCC::UnorderedOrLessThanOrEqual => (Cond::One(CC_BE), false),
            FloatCC::UnorderedOrGreaterThan => (Cond::One(CC_B), true),
            FloatCC::UnorderedOrGreaterThanOrEqual => (Cond::One(CC_BE), true),
        };
        let (x, y) = if swap { (y, x) } else { (x, y) };
        let row = rows::UCOMIS_RR.of(self.ty(x).bits());
        let x = self.use_reg(x);
        match sole {
            Some(user) => {
                self.emit_float(row, &[x], y, user)?;
            }
            None => {
                let y = self.use_reg(y);
                self.emit(row, &[x, y]);
            }
        }
        Ok(cc)
    }
}
