//! Substitution of terms for variables or other terms of equal sort. The constructors rebuild the result, so that
//! constants fold all the way up.

use crate::term::{Node, Term, Terms};
use std::collections::HashMap;

/// A substitution, with its results for the terms to which it was applied.
#[derive(Debug)]
pub struct Substitution {
    replaced: HashMap<Term, Term>,
}

impl Substitution {
    /// Returns a substitution that replaces each first term by its second.
    pub fn new(pairs: impl IntoIterator<Item = (Term, Term)>) -> Substitution {
        Substitution { replaced: pairs.into_iter().collect() }
    }

    /// Returns `root` with the replacements made.
    pub fn apply(&mut self, terms: &mut Terms, root: Term) -> Term {
        for term in terms.cone(&[root]) {
            if !self.replaced.contains_key(&term) {
                let new = self.rebuild(terms, term);
                self.replaced.insert(term, new);
            }
        }
        self.replaced[&root]
    }

    fn rebuild(&self, terms: &mut Terms, term: Term) -> Term {
        let new = |old: Term| self.replaced[&old];
        let node = terms.node(term);
        if node.operands().all(|operand| new(operand) == operand) {
            return term;
        }
        match node {
            Node::Const(_) | Node::Var(_) => term,
            Node::Unary(op, a) => terms.unary(op, new(a), terms.sort(term)),
            Node::Binary(op, a, b) => terms.binary(op, new(a), new(b)),
            Node::Ternary(op, a, b, c) => terms.ternary(op, new(a), new(b), new(c)),
        }
    }
}
