//! Divisions by constants as products (Granlund, Montgomery: Division by Invariant Integers using Multiplication,
//! 1994).
//!
//! ```text
//! v2 = udiv v0, 10      v2 = ushr (umulhi v0, 0xcccccccd), 3
//! v3 = srem v0, 7       v3 = isub v0, (imul q, 7) where q is the quotient, made likewise
//! ```
//!
//! Let `x` be below X. The quotient of `x` by `d` is `x * m >> n` if `m * d = 2^n + e` with `0 <= e` and
//! `e * X <= 2^n`: for `x = q*d + r` the product is `q * 2^n + q*e + r*m`, and the last two terms are below `2^n`
//! together. `crates/rule-verify/tests/division.rs` proves this for all numbers. The condition is checked for every
//! divisor. Powers of two are left to rules.

use super::graph::Graph;
use kingpost_ir::{InstData, Opcode, Type, Value};

/// A factor `m` of `width + 1` bits at most, and the shift `n`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Magic {
    factor: u128,
    shift: u32,
}

impl Magic {
    /// Returns the smallest factor for dividends up to `limit`, inclusive, with `n` from `width` on. The divisor
    /// must not be a power of two.
    fn new(width: u32, divisor: u64, limit: u128) -> Option<Magic> {
        let divisor = u128::from(divisor);
        (width..=2 * width).find_map(|shift| {
            // 2^n is not a multiple of the divisor, and 2^128 does not fit a `u128`.
            let power_minus_one = u128::MAX >> (128 - shift);
            let factor = power_minus_one / divisor + 1;
            let excess = factor.wrapping_mul(divisor).wrapping_sub(power_minus_one).wrapping_sub(1);
            let fits = excess.checked_mul(limit + 1).is_some_and(|product| product - 1 <= power_minus_one);
            fits.then_some(Magic { factor, shift })
        })
    }
}

/// Returns the value of a division of 32 or 64 bits by a constant. Quotients by powers of two are left to the
/// rules.
pub(super) fn expand(g: &mut impl Graph, request: &InstData) -> Option<Value> {
    let opcode = request.opcode();
    let &[x, divisor] = request.args() else { return None };
    let (ty, bits) = (g.ty(x), g.constant(divisor)?);
    let width = ty.bits();
    if width != 32 && width != 64 {
        return None;
    }
    let signed = (bits << (64 - width)) as i64 >> (64 - width);
    let is_signed = matches!(opcode, Opcode::Sdiv | Opcode::Srem);
    let magnitude = if is_signed { signed.unsigned_abs() } else { bits };
    let by = Build { ty, x };
    let quotient = if magnitude.is_power_of_two() {
        // Rules replace quotients by powers of two, and the unsigned remainder.
        if opcode != Opcode::Srem || signed < 2 {
            return None;
        }
        by.binary(g, Opcode::Sdiv, x, divisor)
    } else if magnitude == 0 {
        return None;
    } else if is_signed {
        by.signed_quotient(g, signed)?
    } else {
        by.unsigned_quotient(g, magnitude)?
    };
    if matches!(opcode, Opcode::Udiv | Opcode::Sdiv) {
        return Some(quotient);
    }
    let product = by.binary(g, Opcode::Imul, quotient, divisor);
    Some(by.binary(g, Opcode::Isub, x, product))
}

/// The dividend and its type.
#[derive(Clone, Copy)]
struct Build {
    ty: Type,
    x: Value,
}

impl Build {
    fn binary(self, g: &mut impl Graph, opcode: Opcode, x: Value, y: Value) -> Value {
        g.make(InstData::binary(opcode, self.ty, [x, y]))
    }

    fn with_constant(self, g: &mut impl Graph, opcode: Opcode, x: Value, constant: u128) -> Value {
        let constant = g.iconst(self.ty, constant as u64);
        self.binary(g, opcode, x, constant)
    }

    fn shifted(self, g: &mut impl Graph, opcode: Opcode, x: Value, by: u32) -> Value {
        if by == 0 { x } else { self.with_constant(g, opcode, x, by.into()) }
    }

    fn unsigned_quotient(self, g: &mut impl Graph, divisor: u64) -> Option<Value> {
        let width = self.ty.bits();
        let most = u128::MAX >> (128 - width);
        let magic = Magic::new(width, divisor, most)?;
        if magic.factor <= most {
            let high = self.with_constant(g, Opcode::Umulhi, self.x, magic.factor);
            return Some(self.shifted(g, Opcode::Ushr, high, magic.shift - width));
        }
        let zeros = divisor.trailing_zeros();
        if zeros > 0 {
            // A smaller dividend needs a smaller factor.
            let magic = Magic::new(width, divisor >> zeros, most >> zeros)?;
            let x = self.shifted(g, Opcode::Ushr, self.x, zeros);
            let high = self.with_constant(g, Opcode::Umulhi, x, magic.factor);
            return Some(self.shifted(g, Opcode::Ushr, high, magic.shift - width));
        }
        // The factor is 2^width + f. The sum of x and umulhi(x, f) is halved without its carry.
        let high = self.with_constant(g, Opcode::Umulhi, self.x, magic.factor & most);
        let difference = self.binary(g, Opcode::Isub, self.x, high);
        let half = self.shifted(g, Opcode::Ushr, difference, 1);
        let sum = self.binary(g, Opcode::Iadd, half, high);
        Some(self.shifted(g, Opcode::Ushr, sum, magic.shift - width - 1))
    }

    /// Returns the signed quotient. Adds the sign bit of the dividend, because the product is rounded down and so
    /// is one too small for negative dividends.
    fn signed_quotient(self, g: &mut impl Graph, divisor: i64) -> Option<Value> {
        let width = self.ty.bits();
        let magic = Magic::new(width, divisor.unsigned_abs(), 1 << (width - 1))?;
        let mut high = self.with_constant(g, Opcode::Smulhi, self.x, magic.factor);
        if magic.factor >= 1 << (width - 1) {
            // As a signed number, the factor is less by 2^width.
            high = self.binary(g, Opcode::Iadd, high, self.x);
        }
        let floor = self.shifted(g, Opcode::Sshr, high, magic.shift - width);
        let sign = self.shifted(g, Opcode::Ushr, self.x, width - 1);
        let quotient = self.binary(g, Opcode::Iadd, floor, sign);
        Some(if divisor < 0 { g.make(InstData::unary(Opcode::Ineg, self.ty, quotient)) } else { quotient })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that the product gives the quotient, for every dividend and divisor of eight bits, and at the limits
    /// of wider types.
    #[test]
    fn factors_make_quotients() {
        let check = |width: u32, divisor: u64, limit: u128, x: u128| {
            let Magic { factor, shift } = Magic::new(width, divisor, limit).unwrap();
            assert!(factor < 2 << width && shift <= 2 * width, "{divisor}");
            if let Some(product) = x.checked_mul(factor) {
                let quotient = product.checked_shr(shift).unwrap_or(0);
                assert_eq!(quotient, x / u128::from(divisor), "{x} / {divisor} at {width}");
            }
        };
        for divisor in (3..256).filter(|divisor: &u64| !divisor.is_power_of_two()) {
            for x in 0..=255 {
                check(8, divisor, 255, x);
                check(8, divisor, 128, x.min(128));
            }
        }
        for width in [32, 64] {
            let most = u64::MAX >> (64 - width);
            for divisor in [3, 5, 6, 7, 10, 641, 1_000_000_007, most / 2, most / 2 + 2, most - 1, most] {
                let divisor = divisor.min(most);
                for x in
                    [0, 1, divisor - 1, divisor, most / divisor * divisor - 1, most / divisor * divisor, most - 1, most]
                {
                    check(width, divisor, most.into(), x.into());
                }
            }
        }
    }
}
