//! Substitution of terms for variables or other terms of equal sort. The constructors rebuild the result, so that
//! constants fold all the way up.

use crate::hash::BuildTermHasher;
use crate::term::{Node, Term, Terms};
use std::collections::HashMap;

/// A substitution, with its results for the terms to which it was applied.
#[derive(Debug)]
pub struct Substitution {
    /// Terms that are replaced, in ascending order, with their replacements.
    sources: Vec<(Term, Term)>,
    /// Results of other terms, and `None` for one that was reached and has no result yet.
    results: HashMap<Term, Option<Term>, BuildTermHasher>,
}

impl Substitution {
    /// Returns a substitution that replaces each first term by its second. Of pairs with one first term, the last counts.
    pub fn new(pairs: impl IntoIterator<Item = (Term, Term)>) -> Substitution {
        let mut sources: Vec<(Term, Term)> = pairs.into_iter().collect();
        sources.reverse();
        sources.sort_by_key(|&(from, _)| from);
        sources.dedup_by_key(|&mut (from, _)| from);
        Substitution { sources, results: HashMap::default() }
    }

    /// Returns `root` with the replacements made. Cost: the terms below `root` that may contain a replaced term and that no
    /// root before reached.
    pub fn apply(&mut self, terms: &mut Terms, root: Term) -> Term {
        if let Some(new) = self.replacement(root) {
            return new;
        }
        if matches!(terms.node(root), Node::Const(_) | Node::Var(_)) || !self.may_change(terms, root) {
            return root;
        }
        let (mut work, mut cone) = (vec![root], Vec::new());
        while let Some(term) = work.pop() {
            if self.is_known(term) || !self.may_change(terms, term) {
                continue;
            }
            self.results.insert(term, None);
            cone.push(term);
            work.extend(terms.node(term).operands());
        }
        cone.sort_unstable();
        for term in cone {
            let new = self.rebuild(terms, term);
            self.results.insert(term, Some(new));
        }
        self.result(root)
    }

    /// Returns the replacement of a term that is replaced.
    fn replacement(&self, term: Term) -> Option<Term> {
        let place = self.sources.binary_search_by_key(&term, |&(from, _)| from).ok()?;
        Some(self.sources[place].1)
    }

    fn is_known(&self, term: Term) -> bool {
        self.replacement(term).is_some() || self.results.contains_key(&term)
    }

    /// Returns `false` if no replaced term is below a term.
    fn may_change(&self, terms: &Terms, term: Term) -> bool {
        self.sources
            .iter()
            .take_while(|&&(source, _)| source <= term)
            .any(|&(source, _)| terms.may_contain(term, source))
    }

    /// Returns the result for a term that was reached, or that does not change.
    fn result(&self, term: Term) -> Term {
        let reached = || self.results.get(&term).copied().flatten();
        self.replacement(term).or_else(reached).unwrap_or(term)
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
