//! Substitution of terms for variables or other terms of equal sort. The constructors rebuild the result, so that
//! constants fold all the way up.

use crate::hash::BuildTermHasher;
use crate::term::{Node, Term, Terms};
use std::collections::HashMap;

/// A substitution, with its results for the terms to which it was applied.
#[derive(Debug)]
pub struct Substitution {
    /// Terms that are replaced.
    sources: Vec<Term>,
    /// Results, and `None` for a term that was reached and has no result yet.
    replaced: HashMap<Term, Option<Term>, BuildTermHasher>,
}

impl Substitution {
    /// Returns a substitution that replaces each first term by its second.
    pub fn new(pairs: impl IntoIterator<Item = (Term, Term)>) -> Substitution {
        let replaced: HashMap<_, _, _> = pairs.into_iter().map(|(from, to)| (from, Some(to))).collect();
        let mut sources: Vec<Term> = replaced.keys().copied().collect();
        sources.sort_unstable();
        Substitution { sources, replaced }
    }

    /// Returns `root` with the replacements made. Cost: the terms below `root` that may contain a replaced term and that no
    /// root before reached.
    pub fn apply(&mut self, terms: &mut Terms, root: Term) -> Term {
        if !self.may_change(terms, root) {
            return root;
        }
        let (mut work, mut cone) = (vec![root], Vec::new());
        while let Some(term) = work.pop() {
            if self.replaced.contains_key(&term) || !self.may_change(terms, term) {
                continue;
            }
            self.replaced.insert(term, None);
            cone.push(term);
            work.extend(terms.node(term).operands());
        }
        cone.sort_unstable();
        for term in cone {
            let new = self.rebuild(terms, term);
            self.replaced.insert(term, Some(new));
        }
        self.result(root)
    }

    /// Returns `false` if no replaced term is below a term.
    fn may_change(&self, terms: &Terms, term: Term) -> bool {
        self.sources.iter().take_while(|&&source| source <= term).any(|&source| terms.may_contain(term, source))
    }

    /// Returns the result for a term that was reached, or that does not change.
    fn result(&self, term: Term) -> Term {
        self.replaced.get(&term).copied().flatten().unwrap_or(term)
    }

    fn rebuild(&self, terms: &mut Terms, term: Term) -> Term {
        let new = |old: Term| self.result(old);
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
