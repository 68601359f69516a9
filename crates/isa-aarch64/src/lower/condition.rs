//! Conditions: comparisons into the flags register, for branches, selects, conditional traps and boolean results.
//!
//! Before: `v2 = icmp slt v0, v1; v3 = uextend.i32 v2; brif v3, block1, block2`. After: `cmp w0, w1; b.lt block1`.
//!
//! A reader of the flags calls [`Cx::condition`] and is emitted immediately after it. Comparisons are repeated for
//! each reader, which is cheaper than keeping the boolean in a register. Branches and traps call [`Cx::test`],
//! because they can also test a register or one bit of it without flags.

use super::chain::CompareChain;
use super::condition_codes::{Comparison, float_code, int_code, is_signed};
use super::cx::{Alu, Cx};
use super::operand::{Operand2, extension};
use super::vector::{self, Truth};
use super::{tiles, wide};
use crate::immediates;
use crate::regs::CC_NE;
use crate::rows;
use kingpost_ir::condcodes::{FloatCC, IntCC};
use kingpost_ir::types::I128;
use kingpost_ir::{InstView, Opcode, Value};
use kingpost_mach::LowerBackend;
use kingpost_mach::lower::{Cond, TruthTest, is_word};
use kingpost_regalloc::VReg;

/// Test of branches and traps.
#[derive(Clone, Copy, Debug)]
pub(super) enum Test {
    /// A condition over the flags.
    Flags(Cond),
    /// Whether a register of this many bits is zero, or is not.
    Zero { reg: VReg, bits: u32, zero: bool },
    /// Whether one bit of a register is set, or is not.
    Bit { reg: VReg, bit: u32, set: bool },
}

impl Cx<'_, '_> {
    /// Emits the flags for "`value` is not zero". Their reader must be the next instruction.
    pub(super) fn condition(&mut self, value: Value) -> Cond {
        let test = self.truth_test_of(value);
        self.is_nonzero(test.value).inverse_if(test.negated)
    }

    /// Emits the test for "`value` is not zero", for readers that can test registers as well.
    pub(super) fn test(&mut self, value: Value) -> Test {
        let test = self.truth_test_of(value);
        let negated = test.negated;
        if let Some(comparison) = self.def_as(test.value, Opcode::Icmp)
            && let (cond, args) = self.func.dfg.icmp_parts(comparison)
            && is_word(self.ty(args[0]))
        {
            let Comparison { cond, x, y } = self.constant_second(cond, args);
            return self.test_comparison(if negated { cond.inverse() } else { cond }, [x, y]);
        }
        match self.opcode_of(test.value) {
            None => self.test_zero(test.value, negated),
            Some(Opcode::Icmp | Opcode::Fcmp) => Test::Flags(self.is_nonzero(test.value).inverse_if(negated)),
            _ if vector::is_reduction(self, test.value).is_some() => self.test_lanes(test.value, negated),
            _ if self.chain(test.value).is_some() => Test::Flags(self.is_nonzero(test.value).inverse_if(negated)),
            _ => self.test_zero(test.value, negated),
        }
    }

    /// Returns the test of a comparison of words.
    fn test_comparison(&mut self, cond: IntCC, [x, y]: [Value; 2]) -> Test {
        match (cond, self.constant_signed(y)) {
            (IntCC::Equal | IntCC::UnsignedLessThanOrEqual, Some(0)) | (IntCC::UnsignedLessThan, Some(1)) => {
                self.test_zero(x, true)
            }
            (IntCC::NotEqual | IntCC::UnsignedGreaterThan, Some(0)) | (IntCC::UnsignedGreaterThanOrEqual, Some(1)) => {
                self.test_zero(x, false)
            }
            (IntCC::SignedLessThan, Some(0)) | (IntCC::SignedLessThanOrEqual, Some(-1)) => self.test_sign(x, true),
            (IntCC::SignedGreaterThanOrEqual, Some(0)) | (IntCC::SignedGreaterThan, Some(-1)) => {
                self.test_sign(x, false)
            }
            _ => Test::Flags(self.compare(cond, [x, y])),
        }
    }

    /// Returns the test of a reduction of lanes, or of its opposite.
    fn test_lanes(&mut self, value: Value, negated: bool) -> Test {
        let truth = vector::is_reduction(self, value).and_then(|def| vector::truth(self, def).ok());
        match truth {
            Some(Truth { reg, bits, if_zero }) => {
                self.count_tile(tiles::BRANCH_ON_LANES);
                Test::Zero { reg, bits, zero: if_zero != negated }
            }
            None => self.test_zero(value, negated),
        }
    }

    /// Returns the comparisons that a value joins, if it has no register.
    fn chain(&self, value: Value) -> Option<CompareChain> {
        if self.has_reg(value) { None } else { CompareChain::of(self, value) }
    }

    /// Returns the test of `value` for zero, or for a value other than zero.
    fn test_zero(&mut self, value: Value, zero: bool) -> Test {
        let ty = self.ty(value);
        if let Some((source, bit)) = self.single_bit(value) {
            return Test::Bit { reg: self.use_reg(source), bit, set: !zero };
        }
        let and = self.def_as(value, Opcode::Band).is_some() && self.is_single_use(value);
        let direct = ty.bits() >= 32 || self.has_zeros(value);
        if and || !direct || !is_word(ty) {
            return Test::Flags(self.is_nonzero(value).inverse_if(zero));
        }
        Test::Zero { reg: self.use_reg(value), bits: ty.bits().max(32), zero }
    }

    /// Returns the test of the sign of `x`, set or clear.
    fn test_sign(&mut self, x: Value, set: bool) -> Test {
        Test::Bit { reg: self.use_reg(x), bit: self.ty(x).bits() - 1, set }
    }

    /// Returns the value that `value` masks to a single bit, and the number of the bit.
    fn single_bit(&self, value: Value) -> Option<(Value, u32)> {
        let and = self.def_as(value, Opcode::Band).filter(|_| self.is_single_use(value))?;
        let [x, mask] = self.mask_second(self.args(and));
        let mask = self.constant(mask).filter(|mask| mask.is_power_of_two())?;
        Some((x, mask.trailing_zeros()))
    }

    fn mask_second(&self, [x, y]: [Value; 2]) -> [Value; 2] {
        if self.constant(x).is_some() { [y, x] } else { [x, y] }
    }

    pub(super) fn truth_test_of(&self, value: Value) -> TruthTest {
        self.truth_test(value, |value| self.is_boolean(value))
    }

    /// Returns `true` if the value is a comparison, perhaps extended, or is made of comparisons by bitwise operations.
    pub(super) fn is_boolean(&self, value: Value) -> bool {
        let value = self.strip_zero_extensions(value);
        match self.opcode_of(value) {
            Some(Opcode::Icmp | Opcode::Fcmp) => true,
            Some(Opcode::Band | Opcode::Bor) => CompareChain::of(self, value).is_some(),
            _ => false,
        }
    }

    fn is_nonzero(&mut self, value: Value) -> Cond {
        if let Some(comparison) = self.def_as(value, Opcode::Icmp) {
            let (cond, args) = self.func.dfg.icmp_parts(comparison);
            if self.ty(args[0]).is_int() {
                return self.compare(cond, args);
            }
        }
        if let Some(comparison) = self.def_as(value, Opcode::Fcmp) {
            let (cond, args) = self.func.dfg.fcmp_parts(comparison);
            if self.has_arithmetic(self.ty(args[0])) {
                return self.compare_floats(cond, args);
            }
        }
        if let Some(chain) = self.chain(value) {
            return Cond::One(chain.emit(self));
        }
        if self.ty(value) == I128 {
            let parts = self.use_regs(value);
            let any = self.int_temp(64);
            self.emit(rows::ORR_RRR.of(64), &[any, parts[0], parts[1]]);
            self.emit_imm(rows::CMP_RI.of(64), &[any], 0);
        } else {
            self.compare_with_zero(value, false);
        }
        Cond::One(CC_NE)
    }

    /// Returns the comparison with a constant moved to its second operand.
    pub(super) fn constant_second(&self, cond: IntCC, [x, y]: [Value; 2]) -> Comparison {
        if self.constant(x).is_some() {
            Comparison { cond: cond.swap_args(), x: y, y: x }
        } else {
            Comparison { cond, x, y }
        }
    }

    /// Emits the flags of an integer comparison.
    pub(super) fn compare(&mut self, cond: IntCC, args: [Value; 2]) -> Cond {
        let Comparison { cond, x, y } = self.constant_second(cond, args);
        let bits = self.ty(x).bits();
        if bits == 128 {
            return wide::compare(self, cond, x, y);
        }
        let equality = matches!(cond, IntCC::Equal | IntCC::NotEqual);
        if self.constant(y) == Some(0) && (equality || is_signed(cond)) {
            self.compare_with_zero(x, is_signed(cond));
            return Cond::One(int_code(cond));
        }
        if bits < 32 {
            self.compare_narrow(cond, x, y);
            return Cond::One(int_code(cond));
        }
        if let Some(constant) = self.constant_signed(y)
            && let Some((cond, constant)) = encodable(cond, constant, bits)
        {
            let x = self.use_reg(x);
            self.compare_constant(x, constant, bits);
            return Cond::One(int_code(cond));
        }
        let (first, second) = (self.operand2(Alu::CMP, bits, y), self.operand2(Alu::CMP, bits, x));
        match (first, second) {
            // The operand that saves an instruction is the second one.
            (Operand2::Plain(..), Operand2::Changed(..)) => {
                let y = self.use_reg(y);
                self.emit_operand2(None, y, second);
                Cond::One(int_code(cond.swap_args()))
            }
            _ => {
                let x = self.use_reg(x);
                self.emit_operand2(None, x, first);
                Cond::One(int_code(cond))
            }
        }
    }

    /// Emits the flags of `x` and a constant that fits the instruction.
    pub(super) fn compare_constant(&mut self, x: VReg, constant: i64, bits: u32) {
        let row = match (constant < 0, bits == 64) {
            (false, false) => rows::CMP_RI.of(32),
            (false, true) => rows::CMP_RI.of(64),
            (true, false) => rows::CMN_RI.of(32),
            (true, true) => rows::CMN_RI.of(64),
        };
        self.emit_imm(row, &[x], constant.unsigned_abs() as i32);
    }

    /// Emits the flags of `value` compared with zero, for equality and signed order. A bitwise and is part of the
    /// comparison and is not computed. Narrow values are cut to their bits by an and, or sign-extended.
    fn compare_with_zero(&mut self, value: Value, signed: bool) {
        let bits = self.ty(value).bits();
        let and = self.def_as(value, Opcode::Band).filter(|_| self.is_single_use(value) && (bits >= 32 || !signed));
        if let Some(and) = and {
            let [x, y] = self.args(and);
            if bits >= 32 {
                self.operate(Alu::TST, bits, None, [x, y]);
                return;
            }
            let [x, mask] = self.mask_second([x, y]);
            if let Some(mask) = self.constant(mask).and_then(|mask| immediates::logical(mask, 32)) {
                let x = self.use_reg(x);
                self.emit_imm(rows::TST_RI.of(32), &[x], mask);
                return;
            }
        }
        if bits >= 32 {
            let x = self.use_reg(value);
            self.compare_constant(x, 0, bits);
        } else if signed || self.has_zeros(value) {
            let x = self.use_extended(value, signed);
            self.compare_constant(x, 0, 32);
        } else {
            let x = self.use_reg(value);
            let mask = immediates::logical((1 << bits) - 1, 32).expect("low ones are a pattern");
            self.emit_imm(rows::TST_RI.of(32), &[x], mask);
        }
    }

    /// Emits the flags of a comparison of narrow integers. One of them is extended by an instruction, the other by
    /// the comparison.
    fn compare_narrow(&mut self, cond: IntCC, x: Value, y: Value) {
        let signed = is_signed(cond);
        let bits = self.ty(x).bits();
        let first = self.use_extended(x, signed);
        let constant = if signed { self.constant_signed(y) } else { self.constant(y).map(|c| c as i64) };
        match constant {
            Some(constant) if immediates::add_sub(constant.unsigned_abs()).is_some() => {
                self.compare_constant(first, constant, 32);
            }
            Some(constant) => {
                let constant = self.constant_temp(constant as u64, 32);
                self.emit(rows::CMP_RR.of(32), &[first, constant]);
            }
            None if !signed && self.has_zeros(y) => {
                let second = self.use_reg(y);
                self.emit(rows::CMP_RR.of(32), &[first, second]);
            }
            None => {
                let second = self.use_reg(y);
                let imm = immediates::extended(extension(bits, signed), 0);
                self.emit_imm(rows::CMP_RX.of(32), &[first, second], imm);
            }
        }
    }

    /// Emits the flags of a float comparison.
    pub(super) fn compare_floats(&mut self, cond: FloatCC, [x, y]: [Value; 2]) -> Cond {
        let ty = self.ty(x);
        if self.is_float_zero(y) {
            let x = self.use_reg(x);
            self.emit(rows::FCMP_FZ.of(ty.bits()), &[x]);
            return float_code(cond);
        }
        if self.is_float_zero(x) {
            let y = self.use_reg(y);
            self.emit(rows::FCMP_FZ.of(ty.bits()), &[y]);
            return float_code(cond.swap_args());
        }
        let operands = [self.use_reg(x), self.use_reg(y)];
        self.emit(rows::FCMP_FF.of(ty.bits()), &operands);
        float_code(cond)
    }

    /// Returns `true` if the value is a constant zero of either sign.
    fn is_float_zero(&self, value: Value) -> bool {
        match self.def(value).map(|def| self.func.dfg.view(def)) {
            Some(InstView::UnaryIeee16 { imm }) => imm.bits() << 1 == 0,
            Some(InstView::UnaryIeee32 { imm }) => imm.bits() << 1 == 0,
            Some(InstView::UnaryIeee64 { imm }) => imm.bits() << 1 == 0,
            _ => false,
        }
    }
}

/// Returns the comparison with `constant`, or an equivalent one with its neighbor, whose constant fits the
/// instruction.
fn encodable(cond: IntCC, constant: i64, bits: u32) -> Option<(IntCC, i64)> {
    if immediates::add_sub(constant.unsigned_abs()).is_some() {
        return Some((cond, constant));
    }
    let (min, max) = if is_signed(cond) {
        let max = i64::MAX >> (64 - bits);
        (-max - 1, max)
    } else {
        // The largest unsigned integer is -1 in this representation, and the smallest one is 0.
        (0, -1)
    };
    let (cond, neighbour) = match cond {
        IntCC::SignedLessThan if constant != min => (IntCC::SignedLessThanOrEqual, constant - 1),
        IntCC::SignedGreaterThanOrEqual if constant != min => (IntCC::SignedGreaterThan, constant - 1),
        IntCC::UnsignedLessThan if constant != min => (IntCC::UnsignedLessThanOrEqual, constant.wrapping_sub(1)),
        IntCC::UnsignedGreaterThanOrEqual if constant != min => (IntCC::UnsignedGreaterThan, constant.wrapping_sub(1)),
        IntCC::SignedLessThanOrEqual if constant != max => (IntCC::SignedLessThan, constant + 1),
        IntCC::SignedGreaterThan if constant != max => (IntCC::SignedGreaterThanOrEqual, constant + 1),
        IntCC::UnsignedLessThanOrEqual if constant != max => (IntCC::UnsignedLessThan, constant.wrapping_add(1)),
        IntCC::UnsignedGreaterThan if constant != max => (IntCC::UnsignedGreaterThanOrEqual, constant.wrapping_add(1)),
        _ => return None,
    };
    // A step across the smallest signed integer is valid for unsigned integers, but its result is not a constant of
    // this many bits.
    let fits = neighbour >> (bits - 1) == 0 || neighbour >> (bits - 1) == -1;
    (fits && immediates::add_sub(neighbour.unsigned_abs()).is_some()).then_some((cond, neighbour))
}
