//! Obligations by parts: parts of a condition that are equal wherever the conditions of a path hold become one term, inner
//! parts first.
//!
//! ```text
//! from_signed(a) == from_signed(b)     a search bit by bit knows little about floats
//!            a  == b                   is decided first, and makes both sides one term
//! ```
//!
//! Parts with equal values under a few models are candidates, and a search proves each or finds a model that tells it
//! apart (Kuehlmann, Krohm, Equivalence checking using cuts and heaps, 1997). Each part is compared with older ones, which do
//! not contain it. Cost: [`MAX_SEARCHES`] searches, and a comparison of values for each pair of [`MAX_PARTS`] parts.

use crate::conditions::Conditions;
use crate::equal::{Decision, Judge, MAX_CONFLICTS, Samples};
use kingpost_smt::{Node, Substitution, Term, Terms};

/// Maximum number of terms below a condition.
const MAX_PARTS: usize = 2048;
/// Maximum number of searches for an obligation.
const MAX_SEARCHES: u64 = 96;
/// Maximum number of conflicts of a search about two parts.
const PART_CONFLICTS: u32 = 500;
/// Number of obligations of a function that are not shown by their parts, after which no others are tried.
const MAX_FAILED: usize = 2;
/// Maximum number of older parts that neither are shown to be equal to a part nor to differ from it.
const MAX_UNKNOWN: u32 = 2;

impl Judge<'_> {
    /// Returns `true` if a condition that no search decided holds wherever the others do, because parts of it are equal.
    pub(crate) fn holds_by_parts(&mut self, terms: &mut Terms, under: &Conditions, goal: Term) -> bool {
        let (assumptions, not) = (terms.all(under.known.iter().copied()), terms.not(goal));
        let query = terms.and(assumptions, not);
        if let Some(&known) = self.by_parts.get(&query) {
            return known;
        }
        if self.by_parts.values().filter(|&&holds| !holds).count() >= MAX_FAILED {
            return false;
        }
        let (solver, decisions) = (self.solver.take(), self.decisions);
        let merged = self.merged(terms, under, goal);
        let holds = merged != goal && self.holds_within(terms, under, merged, MAX_CONFLICTS) == Decision::Holds;
        (self.solver, self.decisions) = (solver, decisions);
        self.by_parts.insert(query, holds);
        holds
    }

    /// Returns a condition in which parts that are equal are one term.
    fn merged(&mut self, terms: &mut Terms, under: &Conditions, goal: Term) -> Term {
        let cone = terms.cone(&[goal]);
        if cone.len() > MAX_PARTS {
            return goal;
        }
        let mut samples = self.samples(terms, &cone, &under.known);
        let limit = self.searches + MAX_SEARCHES;
        let (mut pairs, mut merged) = (Vec::new(), Substitution::new([]));
        for at in 0..cone.len() {
            if self.searches >= limit {
                break;
            }
            if let Some(same) = self.older_equal(terms, under, &cone[..=at], &mut merged, &mut samples) {
                pairs.push((cone[at], same));
                merged = Substitution::new(pairs.iter().copied());
            }
        }
        merged.apply(terms, goal)
    }

    /// Returns the merged form of an older part that is equal to the last one, unless their merged forms are one term.
    fn older_equal(
        &mut self,
        terms: &mut Terms,
        under: &Conditions,
        parts: &[Term],
        merged: &mut Substitution,
        samples: &mut Samples,
    ) -> Option<Term> {
        let (&last, older) = parts.split_last()?;
        if matches!(terms.node(last), Node::Const(_) | Node::Var(_)) {
            return None;
        }
        let (form, mut unknown) = (merged.apply(terms, last), 0);
        for (number, &part) in older.iter().enumerate() {
            let is_same = samples.models.iter().all(|model| model[number] == model[older.len()]);
            if !is_same || terms.sort(part) != terms.sort(last) {
                continue;
            }
            let other = merged.apply(terms, part);
            if other == form {
                return None;
            }
            match self.equal_within(terms, under, [form, other], PART_CONFLICTS) {
                Decision::Holds => return Some(other),
                Decision::Fails(model) => samples.add(&model),
                Decision::Unknown => unknown += 1,
            }
            if unknown == MAX_UNKNOWN {
                return None;
            }
        }
        None
    }
}
