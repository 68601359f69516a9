//! Comparisons among terms of machine code, which come from flags.
//!
//! | spelling | normal form |
//! |---|---|
//! | `2 < x` | `!(x < 3)` |
//! | `x <= y && x != y` | `x < y` |
//! | `x + y < x`, where `y` is older | `x + y < y` |
//! | `zext(x) < 5` | `x < 5`, of the bits of `x` |
//! | `zext(x) - 16 < 0` of signed numbers, where `x` has four bits | `true` |

use crate::bits::Bits;
use crate::term::{Node, Op, Term, Terms};

impl Terms {
    /// Returns a comparison `a < b` of extensions as one of fewer bits, and moves constants to the right.
    pub(super) fn code_less(&mut self, op: Op, a: Term, b: Term) -> Option<Term> {
        let is_signed = op == Op::Slt;
        if let Some(constant) = self.bits(a) {
            // The greatest number is less than no other, which the caller has decided.
            let next = self.constant(constant.add(Bits::new(constant.width(), 1)));
            let below = self.binary(op, b, next);
            return Some(self.not(below));
        }
        if !is_signed && let Some(carry) = self.code_carry(a, b) {
            return Some(carry);
        }
        let width = self.width(a);
        let zero_extended = |terms: &Terms, term| match terms.node(term) {
            Node::Unary(Op::ZeroExtend, inner) => Some(inner),
            _ => None,
        };
        match (zero_extended(self, a), zero_extended(self, b)) {
            (Some(x), Some(y)) => {
                let narrow = self.width(x).max(self.width(y));
                let [x, y] = [x, y].map(|operand| self.zero_extend(operand, narrow));
                return Some(self.ult(x, y));
            }
            (Some(x), None) => {
                if let Some(limit) = self.bits(b) {
                    let narrow = self.width(x);
                    return Some(match (is_signed && limit.signed() <= 0, limit.unsigned() >> narrow == 0) {
                        (true, _) => self.bool(false),
                        (_, true) => {
                            let limit = self.number(narrow, limit.unsigned());
                            self.ult(x, limit)
                        }
                        _ => self.bool(true),
                    });
                }
            }
            _ => {}
        }
        if is_signed && let Some(holds) = self.less_by_range(a, b) {
            return Some(self.bool(holds));
        }
        if is_signed && let (Node::Unary(Op::SignExtend, x), Some(limit)) = (self.node(a), self.bits(b)) {
            let narrow = self.width(x);
            let cut = limit.extract(0, narrow);
            if cut.sign_extend(width) == limit {
                let limit = self.constant(cut);
                return Some(self.slt(x, limit));
            }
            return Some(self.bool(limit.signed() > 0));
        }
        None
    }

    /// Decides `zext(x) + 5 < 3` of signed numbers, if it is equally true of all `x`.
    fn less_by_range(&self, a: Term, b: Term) -> Option<bool> {
        let Node::Binary(Op::Add, extension, constant) = self.node(a) else { return None };
        let Node::Unary(Op::ZeroExtend, x) = self.node(extension) else { return None };
        let (least, limit) = (self.bits(constant)?.signed(), self.bits(b)?.signed());
        let most = least.checked_add((1_i128 << self.width(x).min(64)) - 1)?;
        if self.width(x) > 64 || most > Bits::sign_bit(self.width(a)).not().signed() {
            return None;
        }
        (most < limit).then_some(true).or((least >= limit).then_some(false))
    }

    /// Returns `x <= y && x != y` and `x < n && x != n - 1` as one comparison.
    pub(super) fn code_and(&mut self, a: Term, b: Term) -> Option<Term> {
        for (order, differ) in [(a, b), (b, a)] {
            let Node::Unary(Op::Not, equal) = self.node(differ) else { continue };
            match self.node(order) {
                Node::Unary(Op::Not, less) => {
                    let Node::Binary(op @ (Op::Ult | Op::Slt), x, y) = self.node(less) else { continue };
                    if self.eq(x, y) == equal {
                        return Some(self.binary(op, y, x));
                    }
                }
                Node::Binary(op @ (Op::Ult | Op::Slt), x, y) => {
                    let Some(limit) = self.bits(y) else { continue };
                    let most = self.constant(limit.add(Bits::ones(limit.width())));
                    if self.eq(x, most) == equal {
                        return Some(self.binary(op, x, most));
                    }
                }
                _ => {}
            }
        }
        None
    }

    /// Returns an equality of a scaled extension with a constant as one of its operand.
    pub(super) fn code_eq_scaled(&mut self, term: Term, factor: Bits, constant: Bits) -> Option<Term> {
        let Node::Unary(Op::ZeroExtend, inner) = self.node(term) else { return None };
        let by = factor.power_of_two()?;
        let narrow = self.width(inner);
        if narrow + by > factor.width() {
            return None;
        }
        let value = constant.unsigned() >> by;
        if value << by != constant.unsigned() || value >> narrow != 0 {
            return Some(self.bool(false));
        }
        let value = self.number(narrow, value);
        Some(self.eq(inner, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::{Sort, Value};
    use crate::evaluate::{Evaluator, Model};

    /// Compares sums of extensions of two bits and constants with all limits.
    #[test]
    fn sums_of_extensions_are_less_or_not() {
        let mut decided = 0;
        for (constant, limit) in (0..16).flat_map(|constant| (0..16).map(move |limit| (constant, limit))) {
            let [(less, code), (raw_less, raw)] = [Terms::for_code(), Terms::raw()].map(|mut terms| {
                let x = terms.var("x", Sort::Bits(2));
                let (wide, constant, limit) =
                    (terms.zero_extend(x, 4), terms.number(4, constant), terms.number(4, limit));
                let sum = terms.add(wide, constant);
                (terms.slt(sum, limit), terms)
            });
            decided += u32::from(code.value(less).is_some());
            for bits in 0..4 {
                let mut model = Model::default();
                model.set("x", Value::Bits(Bits::new(2, bits)));
                let value = |terms: &Terms, term| Evaluator::new(terms, &[term], &model).value(term);
                assert_eq!(value(&code, less), value(&raw, raw_less), "x + {constant} < {limit} of {bits}");
            }
        }
        assert_eq!(decided, 172);
    }
}
