//! Terms of machine code that are extensions of others, or whose bits are.
//!
//! | spelling | normal form |
//! |---|---|
//! | `x == sext(x[..8])` | `x[8..] == sext(x[7])` |
//! | `x == zext(x[..8])` | `x[8..] == 0` |

use crate::bits::{Sort, Value};
use crate::term::{Node, Op, Term, Terms};

impl Terms {
    /// Returns the term of `width` bits whose sign extension is a term or constant.
    pub(super) fn sign_extended_from(&mut self, a: Term, width: u32) -> Option<Term> {
        match self.node(a) {
            Node::Unary(Op::SignExtend, inner) if self.width(inner) <= width => Some(self.sign_extend(inner, width)),
            Node::Unary(Op::ZeroExtend, inner) if self.width(inner) < width => Some(self.zero_extend(inner, width)),
            _ => {
                let bits = self.bits(a)?;
                let cut = bits.extract(0, width);
                (cut.sign_extend(bits.width()) == bits).then(|| self.constant(cut))
            }
        }
    }

    /// Returns an equality of a term with the extension of its low bits as one of its high bits with zeros or with the sign.
    pub(super) fn code_eq_extended(&mut self, a: Term, b: Term) -> Option<Term> {
        for (whole, extension) in [(a, b), (b, a)] {
            let Node::Unary(op @ (Op::ZeroExtend | Op::SignExtend), low) = self.node(extension) else { continue };
            let at = self.width(low);
            if matches!(self.node(whole), Node::Unary(..)) || self.extract(whole, 0, at) != low {
                continue;
            }
            let whole = self.narrow_product(op, whole, 2 * at).unwrap_or(whole);
            let rest = self.width(whole) - at;
            let high = self.extract(whole, at, rest);
            let expected = match op {
                Op::ZeroExtend => self.number(rest, 0),
                _ => {
                    let sign = self.extract(low, at - 1, 1);
                    self.sign_extend(sign, rest)
                }
            };
            return Some(self.eq(high, expected));
        }
        None
    }

    /// Returns the equality of a term that is joined of two parts with another one as equalities of the parts, if one of them
    /// is decided: code that moves bytes of a vector joins other parts than the function does.
    pub(super) fn code_eq_joined(&mut self, a: Term, b: Term) -> Option<Term> {
        let (at, all) = (self.joint(a).or_else(|| self.joint(b))?, self.width(a));
        let [high, low] = [(at, all - at), (0, at)].map(|(first, width)| {
            let [x, y] = [a, b].map(|side| self.extract(side, first, width));
            self.eq(x, y)
        });
        let is_decided = self.value(high).is_some() || self.value(low).is_some();
        is_decided.then(|| self.and(high, low))
    }

    /// Returns the number of bits below the joint of a concatenation, or of one of the operands of a bitwise operation.
    fn joint(&self, term: Term) -> Option<u32> {
        match self.node(term) {
            Node::Binary(Op::Concat, _, low) => Some(self.width(low)),
            Node::Binary(Op::BitAnd | Op::BitOr | Op::BitXor, x, y) => self.joint(x).or_else(|| self.joint(y)),
            _ => None,
        }
    }

    /// Returns a product of extensions in fewer bits, if it has no more: at least `least`, and as many as both factors
    /// together.
    fn narrow_product(&mut self, op: Op, product: Term, least: u32) -> Option<Term> {
        let Node::Binary(Op::Mul, x, y) = self.node(product) else { return None };
        let (Node::Unary(x_op, x), Node::Unary(y_op, y)) = (self.node(x), self.node(y)) else { return None };
        let width = least.max(self.width(x) + self.width(y));
        if x_op != op || y_op != op || width >= self.width(product) {
            return None;
        }
        let [x, y] = [x, y].map(|factor| self.unary(op, factor, Sort::Bits(width)));
        Some(self.mul(x, y))
    }

    /// Returns a term whose bits above the lowest are a field, or a choice of fields.
    pub(super) fn whole_of_field(&mut self, field: Term) -> Option<Term> {
        match self.node(field) {
            Node::Unary(Op::Extract { low: 1 }, x) => (self.width(x) == self.width(field) + 1).then_some(x),
            Node::Unary(Op::SignExtend, sign) if self.width(sign) == 1 => {
                Some(self.sign_extend(sign, self.width(field) + 1))
            }
            Node::Const(Value::Bits(bits)) if bits.is_zero() => Some(self.number(bits.width() + 1, 0)),
            Node::Ternary(Op::Ite, condition, x, y) => {
                let [x, y] = [self.whole_of_field(x)?, self.whole_of_field(y)?];
                Some(self.ite(condition, x, y))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::Bits;
    use crate::evaluate::{Evaluator, Model};

    /// Compares equalities with extensions with their normal forms, for all operands.
    #[test]
    fn equalities_with_extensions_have_the_values_of_their_forms() {
        for op in [Op::ZeroExtend, Op::SignExtend] {
            let [code, raw] = [Terms::for_code(), Terms::raw()].map(|mut terms| {
                let [x, y] = ["x", "y"].map(|name| terms.var(name, Sort::Bits(4)));
                let low = terms.mul(x, y);
                let [x, y, low] = [x, y, low].map(|term| terms.unary(op, term, Sort::Bits(16)));
                let product = terms.mul(x, y);
                (terms.eq(product, low), terms)
            });
            for bits in 0..256 {
                let mut model = Model::default();
                model.set("x", Value::Bits(Bits::new(4, bits)));
                model.set("y", Value::Bits(Bits::new(4, bits >> 4)));
                let values = [&code, &raw].map(|(term, terms)| Evaluator::new(terms, &[*term], &model).value(*term));
                assert_eq!(values[0], values[1], "{op:?} of {bits:#x}");
            }
        }
    }

    /// Compares exclusive ors of fields of one term, joined at other bits than another term.
    #[test]
    fn equalities_of_parts_are_decided_or_smaller() {
        let mut terms = Terms::for_code();
        let [x, y, z] = ["x", "y", "z"].map(|name| terms.var(name, Sort::Bits(16)));
        let rotated = |terms: &mut Terms, by: u32| {
            let [low, high] = [(0, by), (by, 16 - by)].map(|(first, width)| terms.extract(x, first, width));
            terms.concat(low, high)
        };
        let (far, near) = (rotated(&mut terms, 8), rotated(&mut terms, 4));
        let whole = terms.bit_xor(near, y);
        let parts = [(0, 5), (5, 11)].map(|(first, width)| {
            let [x, y] = [near, y].map(|side| terms.extract(side, first, width));
            terms.bit_xor(x, y)
        });
        let joined = terms.concat(parts[1], parts[0]);
        assert_eq!(terms.eq(whole, joined), terms.bool(true));
        let [low, other] = [far, z].map(|term| terms.extract(term, 0, 8));
        let [same, above] = [z, far].map(|term| terms.extract(term, 8, 8));
        let replaced = terms.concat(same, low);
        let (equal, smaller) = (terms.eq(replaced, z), terms.eq(low, other));
        assert_eq!(equal, smaller);
        assert_ne!(terms.extract(replaced, 8, 8), above);
    }

    /// Compares remainders by an extended divisor, for which code may choose 1 if it is -1.
    #[test]
    fn remainders_by_extended_divisors_are_equal() {
        let mut terms = Terms::for_code();
        let (x, y) = (terms.var("x", Sort::Bits(16)), terms.var("y", Sort::Bits(8)));
        let (one, minus_one, wide) = (terms.number(16, 1), terms.number(8, 0xff), terms.sign_extend(y, 16));
        let is_minus_one = terms.eq(y, minus_one);
        let divisor = terms.ite(is_minus_one, one, wide);
        assert_eq!(terms.srem(x, divisor), terms.srem(x, wide));
    }
}
