//! Lanes of vector registers, and operations on one lane or on two lanes.

use super::bits::{extended, is_negative, is_zero};
use super::compare::{Relation, any_relation};
use super::counts;
use super::float::{Binary, Unary, multiply_add, to_integer};
use super::machine::Machine;
use crate::World;
use kingpost_smt::{Bits, FloatOp, Term, Terms};

/// Lanes of a vector, the lowest first.
#[derive(Clone, Copy)]
pub(super) struct Lanes {
    terms: [Term; 16],
    count: usize,
}

impl Lanes {
    /// Returns `count` lanes that are each computed from its number.
    pub(super) fn new(count: usize, mut lane: impl FnMut(usize) -> Term) -> Lanes {
        let mut terms = [lane(0); 16];
        for (number, term) in terms.iter_mut().enumerate().take(count).skip(1) {
            *term = lane(number);
        }
        Lanes { terms, count }
    }
}

impl std::ops::Deref for Lanes {
    type Target = [Term];

    fn deref(&self) -> &[Term] {
        &self.terms[..self.count]
    }
}

/// Returns the number of lanes of `width` bits in 64 or 128 bits.
pub(super) fn count(full: bool, width: u32) -> usize {
    (if full { 128 } else { 64 } / width) as usize
}

impl<W: World> Machine<'_, W> {
    /// Returns the lanes of `width` bits of the low half of a register, or of the whole register.
    pub(super) fn lanes(&mut self, number: u8, full: bool, width: u32) -> Lanes {
        let halves = self.state.vector[usize::from(number)];
        let terms = self.world.terms();
        let each = (64 / width) as usize;
        Lanes::new(count(full, width), |lane| terms.extract(halves[lane / each], (lane % each) as u32 * width, width))
    }

    /// Returns the lanes of `width` bits of the upper half or the lower half of a register.
    pub(super) fn half_lanes(&mut self, number: u8, upper: bool, width: u32) -> Lanes {
        let half = self.state.vector[usize::from(number)][usize::from(upper)];
        let terms = self.world.terms();
        Lanes::new((64 / width) as usize, |lane| terms.extract(half, lane as u32 * width, width))
    }

    /// Writes a register, with zeros above the lanes.
    pub(super) fn write_lanes(&mut self, number: u8, lanes: &[Term]) {
        let each = (64 / self.terms().width(lanes[0])) as usize;
        let low = self.joined(&lanes[..each.min(lanes.len())]);
        let high = if lanes.len() > each { self.joined(&lanes[each..]) } else { self.number(64, 0) };
        self.state.vector[usize::from(number)] = [low, high];
    }

    /// Writes the lower half of a register and clears the upper half, or writes the upper half.
    pub(super) fn write_half(&mut self, number: u8, upper: bool, lanes: &[Term]) {
        let value = self.joined(lanes);
        let zero = self.number(64, 0);
        let register = &mut self.state.vector[usize::from(number)];
        *register = if upper { [register[0], value] } else { [value, zero] };
    }

    /// Returns the lanes as 64 bits, with zeros above them.
    fn joined(&mut self, lanes: &[Term]) -> Term {
        let terms = self.world.terms();
        let joined = lanes.iter().copied().reduce(|low, high| terms.concat(high, low)).expect("a vector has a lane");
        terms.zero_extend(joined, 64)
    }
}

/// A comparison of integers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Order {
    Equal,
    SignedGreater,
    SignedGreaterOrEqual,
    UnsignedGreater,
    UnsignedGreaterOrEqual,
    SignedLess,
    SignedLessOrEqual,
    /// Whether the operands have a common bit.
    Common,
}

/// A comparison of floats.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FloatOrder {
    Equal,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
}

/// An operation on the lanes of two operands and the old lane of the destination.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Three {
    Add,
    Subtract,
    Multiply,
    /// `mla`, `mls`.
    MultiplyAdd {
        subtract: bool,
    },
    /// `sqadd`, `uqadd`, `sqsub`, `uqsub`.
    Saturate {
        signed: bool,
        subtract: bool,
    },
    /// `shadd`, `uhadd`, `srhadd`, `urhadd`.
    HalfSum {
        signed: bool,
        round: bool,
    },
    /// `sqdmulh`, `sqrdmulh`: the high half of the doubled product.
    DoubledHigh {
        round: bool,
    },
    Extreme {
        signed: bool,
        greater: bool,
    },
    Compare(Order),
    /// `sshl`, `ushl`: by a signed amount in the low byte.
    Shift {
        signed: bool,
    },
    And,
    AndNot,
    Or,
    OrNot,
    Xor,
    /// `bsl`: selected by the old lane.
    SelectByOld,
    /// `bit`: the first operand where the second has ones.
    InsertIfOne,
    /// `bif`: the first operand where the second has zeros.
    InsertIfZero,
    Float(Binary),
    FloatCompare(FloatOrder),
    /// `fmla`, `fmls`.
    FloatMultiplyAdd {
        subtract: bool,
    },
}

/// An operation on the lanes of one operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Two {
    /// `rev16`, `rev32`, `rev64`: the order of lanes of this many bits.
    Reverse(u8),
    ReverseBits,
    CountOnes,
    LeadingZeros,
    LeadingSigns,
    Not,
    Absolute,
    Negate,
    CompareWithZero(Order),
    Float(Unary),
    FloatCompareWithZero(FloatOrder),
    ToInteger {
        signed: bool,
        round: FloatOp,
    },
    FromInteger {
        signed: bool,
    },
}

/// Returns all ones or zero.
fn mask(terms: &mut Terms, condition: Term, width: u32) -> Term {
    let (ones, zero) = (terms.constant(Bits::ones(width)), terms.number(width, 0));
    terms.ite(condition, ones, zero)
}

impl Order {
    fn holds(self, terms: &mut Terms, x: Term, y: Term) -> Term {
        match self {
            Order::Equal => terms.eq(x, y),
            Order::SignedGreater => terms.slt(y, x),
            Order::SignedGreaterOrEqual => terms.sle(y, x),
            Order::UnsignedGreater => terms.ult(y, x),
            Order::UnsignedGreaterOrEqual => terms.ule(y, x),
            Order::SignedLess => terms.slt(x, y),
            Order::SignedLessOrEqual => terms.sle(x, y),
            Order::Common => {
                let common = terms.bit_and(x, y);
                let none = is_zero(terms, common);
                terms.not(none)
            }
        }
    }
}

impl FloatOrder {
    fn holds(self, terms: &mut Terms, x: Term, y: Term) -> Term {
        use Relation::{Equal, Greater, Less};
        let relations: &[Relation] = match self {
            FloatOrder::Equal => &[Equal],
            FloatOrder::Greater => &[Greater],
            FloatOrder::GreaterOrEqual => &[Greater, Equal],
            FloatOrder::Less => &[Less],
            FloatOrder::LessOrEqual => &[Less, Equal],
        };
        any_relation(terms, [x, y], relations)
    }
}

impl Three {
    pub(super) fn apply(self, terms: &mut Terms, [x, y, old]: [Term; 3]) -> Term {
        let width = terms.width(x);
        match self {
            Three::Add => terms.add(x, y),
            Three::Subtract => terms.sub(x, y),
            Three::Multiply => terms.mul(x, y),
            Three::MultiplyAdd { subtract } => {
                let product = terms.mul(x, y);
                if subtract { terms.sub(old, product) } else { terms.add(old, product) }
            }
            Three::Saturate { signed, subtract } => saturated(terms, signed, subtract, x, y),
            Three::HalfSum { signed, round } => {
                let [x, y] = [x, y].map(|operand| extended(terms, operand, signed, width + 1));
                let (mut sum, one) = (terms.add(x, y), terms.number(width + 1, 1));
                if round {
                    sum = terms.add(sum, one);
                }
                terms.extract(sum, 1, width)
            }
            Three::DoubledHigh { round } => doubled_high(terms, round, x, y),
            Three::Extreme { signed, greater } => {
                let less = if signed { terms.slt(x, y) } else { terms.ult(x, y) };
                if greater { terms.ite(less, y, x) } else { terms.ite(less, x, y) }
            }
            Three::Compare(order) => {
                let holds = order.holds(terms, x, y);
                mask(terms, holds, width)
            }
            Three::Shift { signed } => shifted(terms, signed, x, y),
            Three::And => terms.bit_and(x, y),
            Three::AndNot => {
                let y = terms.bit_not(y);
                terms.bit_and(x, y)
            }
            Three::Or => terms.bit_or(x, y),
            Three::OrNot => {
                let y = terms.bit_not(y);
                terms.bit_or(x, y)
            }
            Three::Xor => terms.bit_xor(x, y),
            Three::SelectByOld => selected(terms, [old, x, y]),
            Three::InsertIfOne => selected(terms, [y, x, old]),
            Three::InsertIfZero => selected(terms, [y, old, x]),
            Three::Float(operation) => operation.apply(terms, x, y),
            Three::FloatCompare(order) => {
                let holds = order.holds(terms, x, y);
                mask(terms, holds, width)
            }
            Three::FloatMultiplyAdd { subtract } => multiply_add(terms, subtract, false, [x, y, old]),
        }
    }
}

/// Returns the bits of `x` where `c` has ones, and the bits of `y` elsewhere.
fn selected(terms: &mut Terms, [c, x, y]: [Term; 3]) -> Term {
    let not_c = terms.bit_not(c);
    let (chosen, other) = (terms.bit_and(c, x), terms.bit_and(not_c, y));
    terms.bit_or(chosen, other)
}

/// Returns the sum or the difference; the limit that is nearest to it, if it is out of range.
fn saturated(terms: &mut Terms, signed: bool, subtract: bool, x: Term, y: Term) -> Term {
    let width = terms.width(x);
    let result = if subtract { terms.sub(x, y) } else { terms.add(x, y) };
    if !signed {
        let overflows = if subtract { terms.ult(x, y) } else { terms.ult(result, x) };
        let limit = if subtract { terms.number(width, 0) } else { terms.constant(Bits::ones(width)) };
        return terms.ite(overflows, limit, result);
    }
    let from_x = terms.bit_xor(result, x);
    let other = if subtract { terms.bit_xor(x, y) } else { terms.bit_xor(result, y) };
    let both = terms.bit_and(from_x, other);
    let overflows = is_negative(terms, both);
    let negative = is_negative(terms, x);
    let least = terms.constant(Bits::sign_bit(width));
    let most = terms.bit_not(least);
    let limit = terms.ite(negative, least, most);
    terms.ite(overflows, limit, result)
}

fn doubled_high(terms: &mut Terms, round: bool, x: Term, y: Term) -> Term {
    let width = terms.width(x);
    let wide = 2 * width + 1;
    let (x, y) = (terms.sign_extend(x, wide), terms.sign_extend(y, wide));
    let product = terms.mul(x, y);
    let mut doubled = terms.add(product, product);
    if round {
        let half = terms.number(wide, 1 << (width - 1));
        doubled = terms.add(doubled, half);
    }
    let high = terms.extract(doubled, width, width + 1);
    narrowed(terms, Narrow::SignedToSigned, high, width)
}

/// Shifts to the left by the signed low byte of `y`, or to the right if it is negative.
fn shifted(terms: &mut Terms, signed: bool, x: Term, y: Term) -> Term {
    let width = terms.width(x);
    let by = terms.extract(y, 0, 8);
    let (is_right, back) = (is_negative(terms, by), terms.neg(by));
    let [by, back] = [by, back].map(|amount| terms.zero_extend(amount, width));
    let (left, right) = (terms.shl(x, by), if signed { terms.ashr(x, back) } else { terms.lshr(x, back) });
    terms.ite(is_right, right, left)
}

impl Two {
    pub(super) fn apply(self, terms: &mut Terms, x: Term) -> Term {
        let width = terms.width(x);
        match self {
            Two::Reverse(lane) => terms.reverse_groups(x, lane.into()),
            Two::ReverseBits => terms.reverse_groups(x, 1),
            Two::CountOnes => terms.count_ones(x),
            Two::LeadingZeros => terms.leading_zeros(x),
            Two::LeadingSigns => counts::leading_signs(terms, x),
            Two::Not => terms.bit_not(x),
            Two::Absolute => {
                let (negative, minus) = (is_negative(terms, x), terms.neg(x));
                terms.ite(negative, minus, x)
            }
            Two::Negate => terms.neg(x),
            Two::CompareWithZero(order) => {
                let zero = terms.number(width, 0);
                let holds = order.holds(terms, x, zero);
                mask(terms, holds, width)
            }
            Two::Float(operation) => operation.apply(terms, x),
            Two::FloatCompareWithZero(order) => {
                let zero = terms.number(width, 0);
                let holds = order.holds(terms, x, zero);
                mask(terms, holds, width)
            }
            Two::ToInteger { signed, round } => to_integer(terms, x, round, width, signed),
            Two::FromInteger { signed } => {
                let operation = if signed { FloatOp::FromSigned } else { FloatOp::FromUnsigned };
                terms.float(operation, &[x], width)
            }
        }
    }
}

/// The conversion to a narrower lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Narrow {
    /// The low bits.
    Truncate,
    /// `sqxtn`: the nearest number in the signed range, of a signed number.
    SignedToSigned,
    /// `sqxtun`: the nearest number in the unsigned range, of a signed number.
    SignedToUnsigned,
    /// `uqxtn`: the nearest number in the unsigned range, of an unsigned number.
    UnsignedToUnsigned,
}

/// Returns a lane narrowed to `width` bits.
pub(super) fn narrowed(terms: &mut Terms, narrow: Narrow, x: Term, width: u32) -> Term {
    let wide = terms.width(x);
    let (least, most) = match narrow {
        Narrow::Truncate => return terms.extract(x, 0, width),
        Narrow::SignedToSigned => {
            let least = terms.constant(Bits::sign_bit(width));
            let most = terms.bit_not(least);
            (terms.sign_extend(least, wide), terms.sign_extend(most, wide))
        }
        Narrow::SignedToUnsigned => (terms.number(wide, 0), terms.number(wide, (1 << width) - 1)),
        Narrow::UnsignedToUnsigned => {
            let most = terms.number(wide, (1 << width) - 1);
            let less = terms.ult(x, most);
            let within = terms.ite(less, x, most);
            return terms.extract(within, 0, width);
        }
    };
    let less = terms.slt(x, least);
    let above = terms.ite(less, least, x);
    let less = terms.slt(above, most);
    let within = terms.ite(less, above, most);
    terms.extract(within, 0, width)
}
