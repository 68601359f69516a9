//! Values in other forms: places that hold a value although their terms differ.
//!
//! ```text
//! v2 = uadd_overflow.i16 v0, v1       the term is the carry of v0 + v1
//! cmp w0, #1; cset w1, hs             x1 is 1 if 1 <= v0, else 0
//! ```
//!
//! The first path to a head proposes the values that terms find in places. If a proof fails, it begins again, and the
//! first path also proposes values that no term finds, but that equal the contents of a place under models of the
//! path's conditions, once that is proved: first only values that code after the head uses and that are in no place. If
//! the proof fails again, it begins a third time with all values. Those that code uses come first, then those from which
//! it may compute them again: many of the latter are always zero or one, and equal the contents of many places. Without a
//! model of the conditions, the path proposes the values whose terms the conditions make equal to the contents. A search that
//! fails returns a model in which two terms differ, and it also tells others apart. Cost: one evaluation of all terms for
//! each model, and a limited number of searches, at each head.

use crate::clif::parts;
use crate::conditions::simplifier;
use crate::equal::{Decision, FEW_CONFLICTS, MAX_CONFLICTS};
use crate::fact::{Fact, Place};
use crate::live;
use crate::path::Path;
use crate::prove::{Effort, Proof};
use crate::relation::{Comparison, Needed, Relation, contents};
use kingpost_ir::Block;
use kingpost_smt::{Term, Value};

/// Maximum number of pairs of a value and a place that are compared at a head.
const MAX_PROOFS: usize = 2048;
/// Maximum number of searches bit by bit at a head.
const MAX_SEARCHES: u64 = 128;
/// Maximum number of places of a value. Calls overwrite some of them, and a value that is always zero equals the content
/// of many, most of them in vector registers.
const MAX_PLACES: usize = 8;

/// Returns the order in which the kinds of places are tried: seldom is a value in the high half of a vector register.
fn rank(place: Place) -> usize {
    match place {
        Place::General(_) => 0,
        Place::Frame(..) => 1,
        Place::Vector(_, half) => 2 + half,
    }
}

impl Effort {
    /// Returns the maximum number of conflicts of a search about a value in a place.
    fn conflicts(self) -> u32 {
        if self == Effort::All { MAX_CONFLICTS } else { FEW_CONFLICTS }
    }
}

impl Proof<'_, '_> {
    /// Adds facts about needed values of a block that terms do not find. They hold on `path`, which arrives first.
    pub(crate) fn guess(
        &mut self,
        path: &Path,
        registers: (usize, usize),
        block: Block,
        needed: &[Needed],
        relation: &mut Relation,
    ) {
        let used = self.used(block);
        let is_used = |needed: &Needed| used.binary_search(&needed.name).is_ok();
        let is_wanted = |needed: &Needed| match self.effort {
            Effort::Forms => false,
            Effort::Missing => is_used(needed) && !relation.has(needed.name),
            Effort::All => is_used(needed) || !relation.has(needed.name),
        };
        let is_open = |needed: &Needed| self.terms.value(needed.name).is_none() && is_wanted(needed);
        let mut open: Vec<Needed> = needed.iter().copied().filter(is_open).collect();
        if open.is_empty() {
            return;
        }
        open.sort_by_key(|needed| !is_used(needed));
        let mut contents = contents(self.terms, registers, &path.state, &path.frame);
        contents.sort_by_key(|&(place, _)| rank(place));
        let mut roots: Vec<Term> = contents.iter().map(|&(_, content)| content).collect();
        roots.extend(open.iter().map(|needed| needed.value));
        let mut samples = self.judge.samples(self.terms, &roots, &path.conditions.known);
        let mut simplifier = simplifier(self.terms, &path.conditions);
        let (mut proofs, limit, conflicts) = (0, self.judge.searches + MAX_SEARCHES, self.effort.conflicts());
        for (number, needed) in open.iter().enumerate() {
            let width = self.terms.width(needed.value);
            let mut places = 0;
            for (at, &(place, content)) in contents.iter().enumerate() {
                let holds = |sample: &Vec<Value>| {
                    low_bits(sample[at], width) == low_bits(sample[contents.len() + number], width)
                };
                if self.terms.width(content) < width || relation.has_in(place, needed.name) {
                    continue;
                }
                let agrees = samples.models.iter().all(holds);
                if !agrees && samples.are_inside {
                    continue;
                }
                let low = self.terms.extract(content, 0, width);
                if !self.judge.is_same_under(self.terms, &mut simplifier, low, needed.value) {
                    if !agrees {
                        continue;
                    }
                    proofs += 1;
                    if proofs > MAX_PROOFS || self.judge.searches >= limit {
                        return;
                    }
                    match self.judge.equal_within(self.terms, &path.conditions, [low, needed.value], conflicts) {
                        Decision::Holds => {}
                        Decision::Fails(model) => {
                            samples.add(&model);
                            continue;
                        }
                        Decision::Unknown => continue,
                    }
                }
                relation.add(place, Fact::of(self.terms, needed.name, low, content));
                places += 1;
                if places == MAX_PLACES {
                    break;
                }
            }
        }
    }

    /// Removes the comparisons of terms that have different normal forms, unless a thorough proof shows that they are equal
    /// on the path.
    pub(crate) fn keep_equal(&mut self, path: &Path, open: Vec<&mut Option<Comparison>>) {
        if self.effort == Effort::Forms || open.is_empty() {
            open.into_iter().for_each(|comparison| *comparison = None);
            return;
        }
        let sides = |open: &&mut Option<Comparison>| open.as_ref().map(|comparison| [comparison.low, comparison.value]);
        let roots: Vec<Term> = open.iter().filter_map(sides).flatten().collect();
        let mut samples = self.judge.samples(self.terms, &roots, &path.conditions.known);
        if !samples.are_inside {
            samples.models.clear();
        }
        let (limit, conflicts) = (self.judge.searches + MAX_SEARCHES, self.effort.conflicts());
        for (number, comparison) in open.into_iter().enumerate() {
            let Some(Comparison { low, value, .. }) = *comparison else { continue };
            let is_same = |model: &Vec<Value>| model[2 * number] == model[2 * number + 1];
            let decision = match self.judge.searches < limit && samples.models.iter().all(is_same) {
                true => self.judge.equal_within(self.terms, &path.conditions, [low, value], conflicts),
                false => Decision::Unknown,
            };
            match decision {
                Decision::Holds => continue,
                Decision::Fails(model) => samples.add(&model),
                Decision::Unknown => {}
            }
            *comparison = None;
        }
    }

    /// Returns the terms of the values that code after the head of a block uses, in ascending order.
    fn used(&mut self, block: Block) -> Vec<Term> {
        let (func, meaning) = (self.func, &self.meaning);
        // Without them, all values are equally useful.
        let values =
            self.used.get_or_insert_with(|| live::used(func, &meaning.sources, &meaning.order).unwrap_or_default());
        let known = values[block].iter().filter_map(|&value| meaning.values[value]);
        let mut used: Vec<Term> = known.flat_map(|value| parts(self.terms, value)).collect();
        used.sort_unstable();
        used
    }
}

/// Returns the low bits of a value.
fn low_bits(value: Value, width: u32) -> Option<u128> {
    value.bits().map(|bits| bits.unsigned() & (u128::MAX >> (128 - width.clamp(1, 128))))
}
