//! Constructors whose results are kept: a proof builds the same terms again and again, one for each path through a block.
//!
//! A result depends on the operands alone, so one that is kept is the term that would be built again. Only terms of code are
//! kept.

use crate::bits::Sort;
use crate::term::{Node, Op, Operation, Term, Terms};

impl Terms {
    /// Returns the result for an operation on operands, which `build` makes at the first call.
    fn once(&mut self, node: Node, sort: Sort, build: impl FnOnce(&mut Terms) -> Term) -> Term {
        if !self.is_of_code() {
            return build(self);
        }
        let operation = Operation::new(node, sort);
        if let Some(result) = self.result(&operation) {
            return result;
        }
        let result = build(self);
        self.keep(&operation, result);
        result
    }

    /// Returns the sum.
    pub fn add(&mut self, a: Term, b: Term) -> Term {
        let sort = self.sort(a);
        self.once(Node::Binary(Op::Add, a, b), sort, |terms| terms.build_add(a, b))
    }

    /// Returns the two's complement.
    pub fn neg(&mut self, a: Term) -> Term {
        let sort = self.sort(a);
        self.once(Node::Unary(Op::Neg, a), sort, |terms| terms.build_neg(a))
    }

    /// Returns the bitwise complement.
    pub fn bit_not(&mut self, a: Term) -> Term {
        let sort = self.sort(a);
        self.once(Node::Unary(Op::BitNot, a), sort, |terms| terms.build_bit_not(a))
    }

    /// Returns the product.
    pub fn mul(&mut self, a: Term, b: Term) -> Term {
        let sort = self.sort(a);
        self.once(Node::Binary(Op::Mul, a, b), sort, |terms| terms.build_mul(a, b))
    }

    /// Returns the unsigned quotient.
    pub fn udiv(&mut self, a: Term, b: Term) -> Term {
        let sort = self.sort(a);
        self.once(Node::Binary(Op::Udiv, a, b), sort, |terms| terms.build_udiv(a, b))
    }

    /// Returns the unsigned remainder.
    pub fn urem(&mut self, a: Term, b: Term) -> Term {
        let sort = self.sort(a);
        self.once(Node::Binary(Op::Urem, a, b), sort, |terms| terms.build_urem(a, b))
    }

    /// Returns the signed quotient.
    pub fn sdiv(&mut self, a: Term, b: Term) -> Term {
        let sort = self.sort(a);
        self.once(Node::Binary(Op::Sdiv, a, b), sort, |terms| terms.build_sdiv(a, b))
    }

    /// Returns the signed remainder.
    pub fn srem(&mut self, a: Term, b: Term) -> Term {
        let sort = self.sort(a);
        self.once(Node::Binary(Op::Srem, a, b), sort, |terms| terms.build_srem(a, b))
    }

    /// Returns `a` shifted left.
    pub fn shl(&mut self, a: Term, by: Term) -> Term {
        let sort = self.sort(a);
        self.once(Node::Binary(Op::Shl, a, by), sort, |terms| terms.build_shl(a, by))
    }

    /// Returns `a` shifted right, filled with zeros.
    pub fn lshr(&mut self, a: Term, by: Term) -> Term {
        let sort = self.sort(a);
        self.once(Node::Binary(Op::Lshr, a, by), sort, |terms| terms.build_lshr(a, by))
    }

    /// Returns `a` shifted right, filled with its sign bit.
    pub fn ashr(&mut self, a: Term, by: Term) -> Term {
        let sort = self.sort(a);
        self.once(Node::Binary(Op::Ashr, a, by), sort, |terms| terms.build_ashr(a, by))
    }

    /// Returns the bitwise and.
    pub fn bit_and(&mut self, a: Term, b: Term) -> Term {
        let sort = self.sort(a);
        self.once(Node::Binary(Op::BitAnd, a, b), sort, |terms| terms.build_bit_and(a, b))
    }

    /// Returns the bitwise or.
    pub fn bit_or(&mut self, a: Term, b: Term) -> Term {
        let sort = self.sort(a);
        self.once(Node::Binary(Op::BitOr, a, b), sort, |terms| terms.build_bit_or(a, b))
    }

    /// Returns the bitwise exclusive or.
    pub fn bit_xor(&mut self, a: Term, b: Term) -> Term {
        let sort = self.sort(a);
        self.once(Node::Binary(Op::BitXor, a, b), sort, |terms| terms.build_bit_xor(a, b))
    }

    /// Returns the equality of two terms.
    pub fn eq(&mut self, a: Term, b: Term) -> Term {
        self.once(Node::Binary(Op::Eq, a, b), Sort::Bool, |terms| terms.build_eq(a, b))
    }

    /// Returns the comparison `a < b` of unsigned numbers.
    pub fn ult(&mut self, a: Term, b: Term) -> Term {
        self.once(Node::Binary(Op::Ult, a, b), Sort::Bool, |terms| terms.build_ult(a, b))
    }

    /// Returns the comparison `a < b` of signed numbers.
    pub fn slt(&mut self, a: Term, b: Term) -> Term {
        self.once(Node::Binary(Op::Slt, a, b), Sort::Bool, |terms| terms.build_slt(a, b))
    }

    /// Returns the boolean negation. A negated disjunction becomes a conjunction, so that its parts are found as
    /// conjuncts.
    pub fn not(&mut self, a: Term) -> Term {
        self.once(Node::Unary(Op::Not, a), Sort::Bool, |terms| terms.build_not(a))
    }

    /// Returns the conjunction.
    pub fn and(&mut self, a: Term, b: Term) -> Term {
        self.once(Node::Binary(Op::And, a, b), Sort::Bool, |terms| terms.build_and(a, b))
    }

    /// Returns the disjunction.
    pub fn or(&mut self, a: Term, b: Term) -> Term {
        self.once(Node::Binary(Op::Or, a, b), Sort::Bool, |terms| terms.build_or(a, b))
    }

    /// Returns `if condition then a else b`.
    pub fn ite(&mut self, condition: Term, a: Term, b: Term) -> Term {
        let sort = self.sort(a);
        self.once(Node::Ternary(Op::Ite, condition, a, b), sort, |terms| terms.build_ite(condition, a, b))
    }

    /// Returns the concatenation of `high` and `low`.
    pub fn concat(&mut self, high: Term, low: Term) -> Term {
        let sort = Sort::Bits(self.width(high) + self.width(low));
        self.once(Node::Binary(Op::Concat, high, low), sort, |terms| terms.build_concat(high, low))
    }

    /// Returns `width` bits of a term, from bit `low` on.
    pub fn extract(&mut self, a: Term, low: u32, width: u32) -> Term {
        if self.is_of_code() && low == 0 && width == self.width(a) {
            return a;
        }
        self.once(Node::Unary(Op::Extract { low }, a), Sort::Bits(width), |terms| terms.build_extract(a, low, width))
    }

    /// Zero-extends a term to `width` bits; returns the term itself if it has that width.
    pub fn zero_extend(&mut self, a: Term, width: u32) -> Term {
        if width == self.width(a) {
            return a;
        }
        self.once(Node::Unary(Op::ZeroExtend, a), Sort::Bits(width), |terms| terms.build_zero_extend(a, width))
    }

    /// Sign-extends a term to `width` bits; returns the term itself if it has that width.
    pub fn sign_extend(&mut self, a: Term, width: u32) -> Term {
        if width == self.width(a) {
            return a;
        }
        self.once(Node::Unary(Op::SignExtend, a), Sort::Bits(width), |terms| terms.build_sign_extend(a, width))
    }
}
