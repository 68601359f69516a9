//! Expansion of arithmetic and comparisons of floats of 16 and 128 bits.
//!
//! Half precision is computed in single precision and rounded. Double rounding equals single rounding for sums,
//! products, quotients and roots if the wider format has at least twice as many bits and two more: here 24 against 11
//! (Figueroa, "When is double rounding innocuous?", 1995).

use super::float_format::Format;
use super::wide::Expander;
use kingpost_ir::builder::InstBuilder;
use kingpost_ir::condcodes::{FloatCC, IntCC};
use kingpost_ir::immediates::{Ieee16, Ieee128};
use kingpost_ir::libcall::LibCall;
use kingpost_ir::types::{F16, F32, F64, F128, I32};
use kingpost_ir::{InstData, Opcode, Type, Value};

/// Operations on signs.
impl Expander<'_> {
    /// Returns a float constant with these bits.
    pub(super) fn float_bits(&mut self, ty: Type, bits: u128) -> Value {
        match ty {
            F16 => self.ins().f16const(Ieee16::from_bits(bits as u16)),
            F32 => self.ins().f32const(f32::from_bits(bits as u32)),
            F64 => self.ins().f64const(f64::from_bits(bits as u64)),
            _ => self.ins().f128const(Ieee128::from_bits(bits)),
        }
    }

    /// Expands `fneg`, `fabs` and `fcopysign` into operations on bits.
    pub(super) fn sign(&mut self, opcode: Opcode, args: &[Value], ty: Type) -> Option<Value> {
        if !self.lacks(ty) {
            return None;
        }
        let sign = Format::of(ty).sign();
        let mask = self.float_bits(ty, if opcode == Opcode::Fabs { sign - 1 } else { sign });
        Some(match (opcode, args) {
            (Opcode::Fneg, &[x]) => self.ins().bxor(x, mask),
            (Opcode::Fabs, &[x]) => self.ins().band(x, mask),
            (_, &[x, y]) => self.ins().bitselect(mask, y, x),
            _ => return None,
        })
    }

    /// Expands arithmetic that the machine lacks.
    pub(super) fn float(&mut self, opcode: Opcode, args: &[Value], ty: Type) -> Option<Value> {
        match (ty, opcode) {
            _ if !self.lacks(ty) => None,
            (F16, Opcode::Fma) => Some(self.fma_in_double(args)),
            (F16, _) => Some(self.in_single(opcode, args)),
            (F128, Opcode::Fmin | Opcode::Fmax) => Some(self.min_max(opcode, [args[0], args[1]])),
            (F128, _) => {
                let value = self.call(routine(opcode), args, F128);
                Some(self.with_canonical_nans(value))
            }
            _ => None,
        }
    }

    /// Computes an operation of half precision in single precision.
    fn in_single(&mut self, opcode: Opcode, args: &[Value]) -> Value {
        let data = match *args {
            [x] => InstData::unary(opcode, F32, self.resized(x, F32)),
            [x, y] => InstData::binary(opcode, F32, [self.resized(x, F32), self.resized(y, F32)]),
            _ => unreachable!("of one operand or two"),
        };
        let value = self.ins().insert_with_result(data, F32);
        self.resized(value, F16)
    }

    /// Computes an `fma` of half precision in double precision. The product is exact. Usually the sum is exact, too.
    /// Otherwise one of its terms is less than 2^-10 of the last bit of the other term in half precision, so that
    /// rounding the sum cannot produce a tie; or the result is infinite.
    fn fma_in_double(&mut self, args: &[Value]) -> Value {
        let [x, y, z] = [args[0], args[1], args[2]].map(|arg| self.resized(arg, F64));
        let product = self.ins().fmul(x, y);
        let sum = self.ins().fadd(product, z);
        self.resized(sum, F16)
    }

    /// Computes `fmin` or `fmax` of quadruple precision. Equal numbers can differ only if they are zeros of different
    /// sign.
    fn min_max(&mut self, opcode: Opcode, [x, y]: [Value; 2]) -> Value {
        let is_less = self.compare(FloatCC::LessThan, [x, y]);
        let is_equal = self.compare(FloatCC::Equal, [x, y]);
        let is_unordered = self.compare(FloatCC::Unordered, [x, y]);
        let nan = self.call(LibCall::AddF128, &[x, y], F128);
        let (picked, same) = if opcode == Opcode::Fmin {
            (self.ins().select(is_less, x, y), self.ins().bor(x, y))
        } else {
            (self.ins().select(is_less, y, x), self.ins().band(x, y))
        };
        let number = self.ins().select(is_equal, same, picked);
        let value = self.ins().select(is_unordered, nan, number);
        self.with_canonical_nans(value)
    }

    /// Compares two floats (`fcmp`) and returns 1 or 0. Routines compare numbers of quadruple precision. For a NaN,
    /// the result of each routine says that its relation does not hold. Unordered conditions are therefore tested as
    /// the opposite of the inverse relation.
    pub(super) fn compare(&mut self, cond: FloatCC, [x, y]: [Value; 2]) -> Value {
        match self.ty(x) {
            F16 => {
                let (x, y) = (self.resized(x, F32), self.resized(y, F32));
                return self.ins().fcmp(cond, x, y);
            }
            F128 => {}
            _ => return self.ins().fcmp(cond, x, y),
        }
        let (routine, cond) = match cond {
            FloatCC::Equal => (LibCall::EqF128, IntCC::Equal),
            FloatCC::NotEqual => (LibCall::EqF128, IntCC::NotEqual),
            FloatCC::Ordered => (LibCall::UnordF128, IntCC::Equal),
            FloatCC::Unordered => (LibCall::UnordF128, IntCC::NotEqual),
            FloatCC::LessThan => (LibCall::LtF128, IntCC::SignedLessThan),
            FloatCC::LessThanOrEqual => (LibCall::LeF128, IntCC::SignedLessThanOrEqual),
            FloatCC::GreaterThan => (LibCall::GtF128, IntCC::SignedGreaterThan),
            FloatCC::GreaterThanOrEqual => (LibCall::GeF128, IntCC::SignedGreaterThanOrEqual),
            FloatCC::UnorderedOrLessThan => (LibCall::GeF128, IntCC::SignedLessThan),
            FloatCC::UnorderedOrLessThanOrEqual => (LibCall::GtF128, IntCC::SignedLessThanOrEqual),
            FloatCC::UnorderedOrGreaterThan => (LibCall::LeF128, IntCC::SignedGreaterThan),
            FloatCC::UnorderedOrGreaterThanOrEqual => (LibCall::LtF128, IntCC::SignedGreaterThanOrEqual),
            FloatCC::OrderedNotEqual => return self.either([FloatCC::LessThan, FloatCC::GreaterThan], [x, y]),
            FloatCC::UnorderedOrEqual => return self.either([FloatCC::Unordered, FloatCC::Equal], [x, y]),
        };
        let order = self.call(routine, &[x, y], I32);
        let zero = self.int(I32, 0);
        self.ins().icmp(cond, order, zero)
    }

    /// Returns 1 if one of two conditions holds, otherwise 0.
    fn either(&mut self, conds: [FloatCC; 2], args: [Value; 2]) -> Value {
        let [x, y] = conds.map(|cond| self.compare(cond, args));
        self.ins().bor(x, y)
    }
}

/// Returns the routine for an operation in quadruple precision.
fn routine(opcode: Opcode) -> LibCall {
    match opcode {
        Opcode::Fadd => LibCall::AddF128,
        Opcode::Fsub => LibCall::SubF128,
        Opcode::Fmul => LibCall::MulF128,
        Opcode::Fdiv => LibCall::DivF128,
        Opcode::Sqrt => LibCall::SqrtF128,
        Opcode::Fma => LibCall::FmaF128,
        Opcode::Ceil => LibCall::CeilF128,
        Opcode::Floor => LibCall::FloorF128,
        Opcode::Trunc => LibCall::TruncF128,
        Opcode::Nearest => LibCall::NearestF128,
        _ => unreachable!("not arithmetic"),
    }
}
