//! Integer arithmetic on one lane.

use kingpost_ir::condcodes::IntCC;
use kingpost_smt::{Bits, Term, Terms};

pub(crate) fn is_zero(terms: &mut Terms, x: Term) -> Term {
    let zero = terms.number(terms.width(x), 0);
    terms.eq(x, zero)
}

pub(crate) fn is_negative(terms: &mut Terms, x: Term) -> Term {
    let zero = terms.number(terms.width(x), 0);
    terms.slt(x, zero)
}

/// Returns a condition as a number: 1 or 0.
pub(crate) fn flag(terms: &mut Terms, condition: Term, width: u32) -> Term {
    let (one, zero) = (terms.number(width, 1), terms.number(width, 0));
    terms.ite(condition, one, zero)
}

/// Returns a condition as a mask: all ones or zero.
pub(crate) fn mask(terms: &mut Terms, condition: Term, width: u32) -> Term {
    let (ones, zero) = (terms.constant(Bits::ones(width)), terms.number(width, 0));
    terms.ite(condition, ones, zero)
}

/// Zero-extends or truncates `x` to `width` bits.
pub(crate) fn resize(terms: &mut Terms, x: Term, width: u32) -> Term {
    if terms.width(x) <= width { terms.zero_extend(x, width) } else { terms.extract(x, 0, width) }
}

pub(crate) fn abs(terms: &mut Terms, x: Term) -> Term {
    let (negative, minus) = (is_negative(terms, x), terms.neg(x));
    terms.ite(negative, minus, x)
}

pub(crate) fn smin(terms: &mut Terms, x: Term, y: Term) -> Term {
    let less = terms.slt(x, y);
    terms.ite(less, x, y)
}

pub(crate) fn smax(terms: &mut Terms, x: Term, y: Term) -> Term {
    let less = terms.slt(x, y);
    terms.ite(less, y, x)
}

pub(crate) fn umin(terms: &mut Terms, x: Term, y: Term) -> Term {
    let less = terms.ult(x, y);
    terms.ite(less, x, y)
}

pub(crate) fn umax(terms: &mut Terms, x: Term, y: Term) -> Term {
    let less = terms.ult(x, y);
    terms.ite(less, y, x)
}

/// Returns a term that holds if a comparison holds.
pub(crate) fn compare(terms: &mut Terms, condition: IntCC, x: Term, y: Term) -> Term {
    match condition {
        IntCC::Equal => terms.eq(x, y),
        IntCC::NotEqual => terms.ne(x, y),
        IntCC::SignedLessThan => terms.slt(x, y),
        IntCC::SignedGreaterThanOrEqual => terms.sle(y, x),
        IntCC::SignedGreaterThan => terms.slt(y, x),
        IntCC::SignedLessThanOrEqual => terms.sle(x, y),
        IntCC::UnsignedLessThan => terms.ult(x, y),
        IntCC::UnsignedGreaterThanOrEqual => terms.ule(y, x),
        IntCC::UnsignedGreaterThan => terms.ult(y, x),
        IntCC::UnsignedLessThanOrEqual => terms.ule(x, y),
    }
}

/// Returns a term that holds if a signed quotient overflows: the minimum divided by -1.
pub(crate) fn quotient_overflows(terms: &mut Terms, x: Term, y: Term) -> Term {
    let width = terms.width(x);
    let (least, minus_one) = (terms.constant(Bits::sign_bit(width)), terms.constant(Bits::ones(width)));
    let (is_least, is_minus_one) = (terms.eq(x, least), terms.eq(y, minus_one));
    terms.and(is_least, is_minus_one)
}

/// Returns the high half of the unsigned product.
pub(crate) fn umulhi(terms: &mut Terms, x: Term, y: Term) -> Term {
    high_half_of_product(terms, x, y, Terms::zero_extend, high_product)
}

/// Returns the high half of the signed product.
pub(crate) fn smulhi(terms: &mut Terms, x: Term, y: Term) -> Term {
    high_half_of_product(terms, x, y, Terms::sign_extend, |terms, x, y| {
        let mut high = high_product(terms, x, y);
        // In the unsigned product, a negative operand is too large by 2^width.
        for (sign, other) in [(x, y), (y, x)] {
            let negative = is_negative(terms, sign);
            let zero = terms.number(terms.width(x), 0);
            let too_much = terms.ite(negative, other, zero);
            high = terms.sub(high, too_much);
        }
        high
    })
}

/// Returns the high half of a product, computed by a product of double width if terms may be that wide.
fn high_half_of_product(
    terms: &mut Terms,
    x: Term,
    y: Term,
    extend: fn(&mut Terms, Term, u32) -> Term,
    by_halves: fn(&mut Terms, Term, Term) -> Term,
) -> Term {
    let width = terms.width(x);
    if 2 * width > kingpost_smt::MAX_WIDTH {
        return by_halves(terms, x, y);
    }
    let (x, y) = (extend(terms, x, 2 * width), extend(terms, y, 2 * width));
    let product = terms.mul(x, y);
    terms.extract(product, width, width)
}

/// Returns the high half of the unsigned product, computed from four products of halves.
fn high_product(terms: &mut Terms, x: Term, y: Term) -> Term {
    let width = terms.width(x);
    let half = width / 2;
    let mut halves = |x| {
        let [low, high] = [0, half].map(|at| terms.extract(x, at, half));
        [low, high].map(|part| terms.zero_extend(part, width))
    };
    let ([x0, x1], [y0, y1]) = (halves(x), halves(y));
    let [low, left, right, high] = [(x0, y0), (x1, y0), (x0, y1), (x1, y1)].map(|(a, b)| terms.mul(a, b));
    let by = terms.number(width, half.into());
    let mask = terms.constant(Bits::new(width, (1 << half) - 1));
    let carry = terms.lshr(low, by);
    let middle = terms.add(left, carry);
    let (middle_high, middle_low) = (terms.lshr(middle, by), terms.bit_and(middle, mask));
    let other = terms.add(right, middle_low);
    let other_high = terms.lshr(other, by);
    let sum = terms.add(high, middle_high);
    terms.add(sum, other_high)
}

/// Returns the number in the signed range of `width` bits that is nearest to a signed number, in `width` bits.
pub(crate) fn clamp_signed(terms: &mut Terms, x: Term, width: u32) -> Term {
    let wide = terms.width(x);
    let least = terms.constant(Bits::sign_bit(width));
    let most = terms.bit_not(least);
    let (least, most) = (terms.sign_extend(least, wide), terms.sign_extend(most, wide));
    let above = smax(terms, x, least);
    let within = smin(terms, above, most);
    terms.extract(within, 0, width)
}

/// Returns the number in the unsigned range of `width` bits that is nearest to a signed number, in `width` bits.
pub(crate) fn clamp_unsigned(terms: &mut Terms, x: Term, width: u32) -> Term {
    let wide = terms.width(x);
    let (least, most) = (terms.number(wide, 0), terms.number(wide, (1 << width) - 1));
    let above = smax(terms, x, least);
    let within = smin(terms, above, most);
    terms.extract(within, 0, width)
}
