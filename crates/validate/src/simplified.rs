//! Values that numbers simplify: places that hold a value because the conditions of the path make a part of its term a number.
//!
//! ```text
//! block1:
//!     v2 = iadd v0, v1
//!     brif v1, block2, block3     at block3, v1 is 0, and the place of v0 holds v2, too
//! ```
//!
//! Values that become numbers are not looked for: each would be in all places that happen to hold the number. Cost: a
//! substitution for each needed value without a place, on paths with a condition that determines a number.

use crate::conditions::numbers;
use crate::fact::Fact;
use crate::path::Path;
use crate::prove::Proof;
use crate::relation::{Needed, Relation, contents};
use kingpost_smt::Term;

impl Proof<'_, '_> {
    /// Adds facts about needed values that are in no place by their terms. They hold on `path`, which arrives first.
    pub(crate) fn add_simplified(
        &mut self,
        path: &Path,
        registers: (usize, usize),
        needed: &[Needed],
        relation: &mut Relation,
    ) {
        let Some(mut numbers) = numbers(self.terms, &path.conditions) else { return };
        let known = relation.values();
        // Simplified terms, with the values.
        let mut missing: Vec<(Term, Term)> = Vec::new();
        for &Needed { name, value } in needed {
            let simple = numbers.apply(self.terms, value);
            if simple != value && self.terms.value(simple).is_none() && known.binary_search(&name).is_err() {
                missing.push((simple, name));
            }
        }
        if missing.is_empty() {
            return;
        }
        missing.sort_unstable();
        for (place, content) in contents(self.terms, registers, &path.state, &path.frame) {
            for width in [64, 32, 16, 8].into_iter().filter(|&width| width <= place.bits()) {
                let low = self.terms.extract(content, 0, width);
                let first = missing.partition_point(|&(simple, _)| simple < low);
                for &(_, name) in missing[first..].iter().take_while(|&&(simple, _)| simple == low) {
                    relation.add(place, Fact::of(self.terms, name, low, content));
                }
            }
        }
    }
}
