//! Substitution of terms for variables or other terms of equal sort. The constructors rebuild the result, so that
//! constants fold all the way up.

use crate::hash::BuildTermHasher;
use crate::term::{Node, Term, Terms};
use std::collections::{HashMap, HashSet};

/// A substitution, with its results for the terms to which it was applied.
#[derive(Debug)]
pub struct Substitution {
    replaced: HashMap<Term, Term, BuildTermHasher>,
    /// Terms that were reached from a root.
    reached: HashSet<Term, BuildTermHasher>,
}

impl Substitution {
    /// Returns a substitution that replaces each first term by its second.
    pub fn new(pairs: impl IntoIterator<Item = (Term, Term)>) -> Substitution {
        Substitution { replaced: pairs.into_iter().collect(), reached: HashSet::default() }
    }

    /// Returns `root` with the replacements made. Cost: the terms below `root` that no root before reached.
    pub fn apply(&mut self, terms: &mut Terms, root: Term) -> Term {
        let (mut work, mut cone) = (vec![root], Vec::new());
        while let Some(term) = work.pop() {
            if self.reached.insert(term) {
                cone.push(term);
                work.extend(terms.node(term).operands());
            }
        }
        cone.sort_unstable();
        for term in cone {
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
