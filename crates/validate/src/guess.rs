//! Values in other forms: places that hold a value although their terms differ.
//!
//! ```text
//! v2 = uadd_overflow.i16 v0, v1       the term is the carry of v0 + v1
//! cmp w0, #1; cset w1, hs             x1 is 1 if 1 <= v0, else 0
//! ```
//!
//! The first path to a head proposes the values that terms find in places. If a proof fails, it begins again, and the
//! first path also proposes values that are in no place by terms, but equal the contents of one under random models,
//! once that is proved. Cost: one evaluation of all terms for each model, and few proofs, at each head.

use crate::equal::{Decision, samples};
use crate::path::Path;
use crate::prove::Proof;
use crate::relation::{Fact, Needed, Relation, contents};
use kingpost_smt::{Term, Value};

/// Maximum number of proofs at a head.
const MAX_PROOFS: usize = 128;
/// Maximum number of places of a value. Calls overwrite some of them, and a value that is always zero equals the content
/// of many.
const MAX_PLACES: usize = 8;

impl Proof<'_, '_> {
    /// Adds facts about needed values that are in no place by terms. They hold on `path`, which arrives first.
    pub(crate) fn guess(&mut self, path: &Path, registers: (usize, usize), needed: &[Needed], relation: &mut Relation) {
        let open: Vec<Needed> = needed
            .iter()
            .copied()
            .filter(|needed| self.terms.value(needed.name).is_none() && !relation.has(needed.name))
            .collect();
        if open.is_empty() {
            return;
        }
        let contents = contents(self.terms, registers, &path.state, &path.frame);
        let mut roots: Vec<Term> = contents.iter().map(|&(_, content)| content).collect();
        roots.extend(open.iter().map(|needed| needed.value));
        let samples = samples(self.terms, &roots, &path.conditions.known);
        let mut proofs = 0;
        for (number, needed) in open.iter().enumerate() {
            let width = self.terms.width(needed.value);
            let mut places = 0;
            for (at, &(place, content)) in contents.iter().enumerate() {
                let holds = |sample: &Vec<Value>| {
                    low_bits(sample[at], width) == low_bits(sample[contents.len() + number], width)
                };
                if self.terms.width(content) < width || !samples.iter().all(holds) {
                    continue;
                }
                proofs += 1;
                if proofs > MAX_PROOFS {
                    return;
                }
                let low = self.terms.extract(content, 0, width);
                if self.judge.equal(self.terms, &path.conditions, low, needed.value) == Decision::Holds {
                    relation.add(place, Fact::of(self.terms, needed.name, low, content));
                    places += 1;
                    if places == MAX_PLACES {
                        break;
                    }
                }
            }
        }
    }
}

/// Returns the low bits of a value.
fn low_bits(value: Value, width: u32) -> Option<u128> {
    value.bits().map(|bits| bits.unsigned() & (u128::MAX >> (128 - width.clamp(1, 128))))
}
