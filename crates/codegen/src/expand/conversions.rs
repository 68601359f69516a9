//! Expansion of conversions from and to integers of 128 bits and floats of 16 and 128 bits.

use super::float_format::Format;
use super::wide::Expander;
use kingpost_ir::builder::InstBuilder;
use kingpost_ir::condcodes::FloatCC;
use kingpost_ir::libcall::LibCall;
use kingpost_ir::types::{F16, F32, F64, F128, I64, I128};
use kingpost_ir::{InstData, Opcode, TrapCode, Type, Value};
use kingpost_mach::HalfPrecision;

/// Conversions between floats.
impl Expander<'_> {
    /// Converts `x` to another float type (`fpromote`, `fdemote`).
    pub(super) fn resized(&mut self, x: Value, to: Type) -> Value {
        let from = self.ty(x);
        if let Some(value) = self.resize_by_routine(x, to) {
            return value;
        }
        let opcode = if from.bits() < to.bits() { Opcode::Fpromote } else { Opcode::Fdemote };
        self.ins().insert_with_result(InstData::unary(opcode, to, x), to)
    }

    /// Converts `x` to another float type by a routine; `None` if the machine has an instruction. Never narrows in
    /// two steps, because that would round twice.
    pub(super) fn resize_by_routine(&mut self, x: Value, to: Type) -> Option<Value> {
        let has_half = self.half != HalfPrecision::None;
        let routine = match (self.ty(x), to) {
            (F16, F64) if !has_half => {
                let single = self.resized(x, F32);
                return Some(self.resized(single, F64));
            }
            (F16, F32) if !has_half => LibCall::F16ToF32,
            (F32, F16) if !has_half => LibCall::F32ToF16,
            (F64, F16) if !has_half => LibCall::F64ToF16,
            (F16, F128) => LibCall::F16ToF128,
            (F32, F128) => LibCall::F32ToF128,
            (F64, F128) => LibCall::F64ToF128,
            (F128, F16) => LibCall::F128ToF16,
            (F128, F32) => LibCall::F128ToF32,
            (F128, F64) => LibCall::F128ToF64,
            _ => return None,
        };
        let value = self.call(routine, &[x], to);
        Some(self.with_canonical_nans(value))
    }
}

/// Conversions between floats and integers.
impl Expander<'_> {
    /// Converts an integer to a float (`fcvt_from_uint`, `fcvt_from_sint`), if the machine has no instruction for it.
    pub(super) fn int_to_float(&mut self, opcode: Opcode, x: Value, to: Type) -> Option<Value> {
        let is_signed = opcode == Opcode::FcvtFromSint;
        let pick = |signed: LibCall, unsigned| if is_signed { signed } else { unsigned };
        let routine = match (self.ty(x), to) {
            (from, F16) => {
                // A value that is not exact in single precision is infinite in half precision.
                let single = match from {
                    I128 => self.int_to_float(opcode, x, F32)?,
                    _ => self.ins().insert_with_result(InstData::unary(opcode, F32, x), F32),
                };
                return Some(self.resized(single, F16));
            }
            (I128, F32) => pick(LibCall::I128ToF32, LibCall::U128ToF32),
            (I128, F64) => pick(LibCall::I128ToF64, LibCall::U128ToF64),
            (I128, F128) => pick(LibCall::I128ToF128, LibCall::U128ToF128),
            (from, F128) => {
                let word = match from {
                    I64 => x,
                    _ if is_signed => self.ins().sextend(I64, x),
                    _ => self.ins().uextend(I64, x),
                };
                return Some(self.call(pick(LibCall::I64ToF128, LibCall::U64ToF128), &[word], F128));
            }
            _ => return None,
        };
        Some(self.call(routine, &[x], to))
    }

    /// Converts a float to an integer (`fcvt_to_uint` and related opcodes), if the machine has no instruction for it.
    pub(super) fn float_to_int(&mut self, opcode: Opcode, x: Value, to: Type) -> Option<Value> {
        match self.ty(x) {
            F16 => {
                let single = self.resized(x, F32);
                Some(match self.float_to_int(opcode, single, to) {
                    Some(value) => value,
                    None => self.ins().insert_with_result(InstData::unary(opcode, to, single), to),
                })
            }
            F128 => Some(self.checked(opcode, x, to)),
            _ if to == I128 => Some(self.checked(opcode, x, to)),
            _ => None,
        }
    }

    /// Converts a float to an integer by a routine, after or with checks of the range, because routines do not check.
    fn checked(&mut self, opcode: Opcode, x: Value, to: Type) -> Value {
        let is_signed = !matches!(opcode, Opcode::FcvtToUint | Opcode::FcvtToUintSat);
        let is_nan = self.compare(FloatCC::Unordered, [x, x]);
        if matches!(opcode, Opcode::FcvtToUint | Opcode::FcvtToSint) {
            self.ins().trapnz(is_nan, TrapCode::BAD_CONVERSION_TO_INTEGER);
            let [is_low, is_high] = self.beyond(x, to.bits(), is_signed);
            let is_out = self.ins().bor(is_low, is_high);
            self.ins().trapnz(is_out, TrapCode::INTEGER_OVERFLOW);
            return self.truncated(x, to, is_signed);
        }
        let [is_low, is_high] = self.beyond(x, to.bits(), is_signed);
        let (minimum, maximum) =
            if is_signed { (1 << (to.bits() - 1), to.lane_mask() >> 1) } else { (0, to.lane_mask()) };
        let [low, high, nan] = match opcode {
            Opcode::X86Cvtt2dq => [minimum; 3],
            _ => [minimum, maximum, 0],
        }
        .map(|bits| self.int(to, bits));
        let truncated = self.truncated(x, to, is_signed);
        [(is_low, low), (is_high, high), (is_nan, nan)]
            .into_iter()
            .fold(truncated, |value, (cond, bound)| self.ins().select(cond, bound, value))
    }

    /// Returns two flags: whether `x`, truncated, is less than all integers of `bits` bits, and whether it is greater
    /// than all of them.
    fn beyond(&mut self, x: Value, bits: u32, is_signed: bool) -> [Value; 2] {
        let ty = self.ty(x);
        let format = Format::of(ty);
        let magnitude = bits - u32::from(is_signed);
        let (cond, low) = match is_signed {
            false => (FloatCC::LessThanOrEqual, format.power(0)),
            // The largest float below the minimum, if the format can represent it. Otherwise the minimum is the next
            // float.
            true if magnitude <= format.stored => {
                (FloatCC::LessThanOrEqual, format.power(magnitude) | 1 << (format.stored - magnitude))
            }
            true => (FloatCC::LessThan, format.power(magnitude)),
        };
        let low = self.float_bits(ty, format.sign() | low);
        let high = self.float_bits(ty, format.power(magnitude));
        [self.compare(cond, [x, low]), self.compare(FloatCC::GreaterThanOrEqual, [x, high])]
    }

    /// Converts `x`, truncated, to i128 or from f128 by a routine. `x` must be in range.
    fn truncated(&mut self, x: Value, to: Type, is_signed: bool) -> Value {
        let from = self.ty(x);
        let routine = match (from, is_signed) {
            (F32, true) => LibCall::F32ToI128,
            (F32, false) => LibCall::F32ToU128,
            (F64, true) => LibCall::F64ToI128,
            (F64, false) => LibCall::F64ToU128,
            (_, true) if to == I128 => LibCall::F128ToI128,
            (_, false) if to == I128 => LibCall::F128ToU128,
            (_, false) if to == I64 => LibCall::F128ToU64,
            _ => LibCall::F128ToI64,
        };
        if matches!(to, I64 | I128) {
            return self.call(routine, &[x], to);
        }
        let word = self.call(routine, &[x], I64);
        self.ins().ireduce(to, word)
    }
}
