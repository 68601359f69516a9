//! Booleans: conjunction, disjunction, choice.

use crate::bits::Sort;
use crate::term::{Node, Op, Term, Terms};

impl Terms {
    /// Returns the boolean negation. A negated disjunction becomes a conjunction, so that its parts are found as
    /// conjuncts.
    pub(super) fn build_not(&mut self, a: Term) -> Term {
        match self.node(a) {
            Node::Unary(Op::Not, inner) if self.simplifies() => inner,
            Node::Binary(Op::Or, x, y) if self.simplifies() => {
                let (not_x, not_y) = (self.not(x), self.not(y));
                self.and(not_x, not_y)
            }
            _ => self.plain_unary(Op::Not, a, Sort::Bool),
        }
    }

    fn is_negation(&self, a: Term, b: Term) -> bool {
        self.node(a) == Node::Unary(Op::Not, b) || self.node(b) == Node::Unary(Op::Not, a)
    }

    /// Returns the conjunction.
    pub(super) fn build_and(&mut self, a: Term, b: Term) -> Term {
        if self.simplifies() {
            let (a, b) = (a.min(b), a.max(b));
            for (x, y) in [(a, b), (b, a)] {
                match self.value(x) {
                    Some(value) if value.is_true() => return y,
                    Some(_) => return x,
                    None => {}
                }
            }
            if a == b {
                return a;
            }
            if self.is_negation(a, b) {
                return self.bool(false);
            }
            if self.is_of_code()
                && let Some(normal) = self.code_and(a, b)
            {
                return normal;
            }
            return self.intern(Node::Binary(Op::And, a, b), Sort::Bool);
        }
        self.plain_binary(Op::And, a, b, Sort::Bool)
    }

    /// Returns the disjunction.
    pub(super) fn build_or(&mut self, a: Term, b: Term) -> Term {
        if self.simplifies() {
            let (not_a, not_b) = (self.not(a), self.not(b));
            let neither = self.and(not_a, not_b);
            return match self.node(neither) {
                Node::Binary(Op::And, ..) => self.intern(Node::Binary(Op::Or, a.min(b), a.max(b)), Sort::Bool),
                _ => self.not(neither),
            };
        }
        self.plain_binary(Op::Or, a, b, Sort::Bool)
    }

    /// Returns the conjunction of all terms.
    pub fn all(&mut self, of: impl IntoIterator<Item = Term>) -> Term {
        let start = self.bool(true);
        of.into_iter().fold(start, |all, term| self.and(all, term))
    }

    /// Returns the disjunction of all terms.
    pub fn any(&mut self, of: impl IntoIterator<Item = Term>) -> Term {
        let start = self.bool(false);
        of.into_iter().fold(start, |any, term| self.or(any, term))
    }

    /// Returns the implication.
    pub fn implies(&mut self, a: Term, b: Term) -> Term {
        let not_a = self.not(a);
        self.or(not_a, b)
    }

    /// Returns `if condition then a else b`.
    pub(super) fn build_ite(&mut self, condition: Term, a: Term, b: Term) -> Term {
        let sort = self.sort(a);
        assert_eq!(sort, self.sort(b), "the arms of an ite");
        if !self.simplifies() {
            return self.intern(Node::Ternary(Op::Ite, condition, a, b), sort);
        }
        if a == b {
            return a;
        }
        match self.node(condition) {
            Node::Const(value) => return if value.is_true() { a } else { b },
            Node::Unary(Op::Not, inner) => return self.ite(inner, b, a),
            _ => {}
        }
        if sort == Sort::Bool {
            let then = self.implies(condition, a);
            let otherwise = self.or(condition, b);
            return self.and(then, otherwise);
        }
        if self.is_of_code()
            && let Some(normal) = self.code_ite(condition, a, b)
        {
            return normal;
        }
        self.intern(Node::Ternary(Op::Ite, condition, a, b), sort)
    }
}
