//! Pairs of values that should share a register or a slot, in descending order of frequency.
//!
//! ```text
//! b1 -> b3(v5, v6) freq 1: v1, v2 are passed     (v1, v5), (v2, v6)
//! b2 -> b3(v5, v6) freq 8: v3, v4 are passed     (v3, v5), (v4, v6): tried first
//! ```
//!
//! Pairs that are added one after another mostly belong to one edge, and so have one frequency. They are sorted as
//! one run. Cost: n log n in runs.

use kingpost_regalloc::VReg;
use kingpost_regalloc::meter::heap_bytes;
use std::cmp::Reverse;

/// Pairs of one frequency, added one after another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Run {
    freq: Reverse<u64>,
    start: u32,
    end: u32,
}

/// Pairs of values. Its memory is reused.
#[derive(Clone, Default, Debug)]
pub struct Affinities {
    pairs: Vec<(VReg, VReg)>,
    runs: Vec<Run>,
}

heap_bytes!(Affinities { pairs, runs });

impl Affinities {
    /// Clears all pairs.
    pub fn clear(&mut self) {
        self.pairs.clear();
        self.runs.clear();
    }

    /// Returns the number of pairs.
    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Returns `true` if there are no pairs.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Adds a pair.
    #[inline]
    pub fn add(&mut self, freq: u64, a: VReg, b: VReg) {
        let start = self.pairs.len() as u32;
        self.pairs.push((a, b));
        match self.runs.last_mut() {
            Some(run) if run.freq.0 == freq => run.end += 1,
            _ => self.runs.push(Run { freq: Reverse(freq), start, end: start + 1 }),
        }
    }

    /// Sorts the pairs by frequency. Pairs of one frequency stay in the order in which they were added.
    pub fn sort(&mut self) {
        self.runs.sort_unstable();
    }

    /// Returns all pairs in order.
    pub fn iter(&self) -> impl Iterator<Item = (VReg, VReg)> {
        self.runs.iter().flat_map(|run| self.pairs[run.start as usize..run.end as usize].iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_frequent_come_first_and_equals_as_they_were_added() {
        let mut affinities = Affinities::default();
        let v = VReg::from_u32;
        for (freq, a, b) in [(1, 0, 1), (1, 2, 3), (8, 4, 5), (1, 6, 7), (8, 8, 9)] {
            affinities.add(freq, v(a), v(b));
        }
        affinities.sort();
        let first: Vec<u32> = affinities.iter().map(|pair| pair.0.as_u32()).collect();
        assert_eq!((first, affinities.len()), (vec![4, 8, 0, 2, 6], 5));
        affinities.clear();
        assert!(affinities.is_empty() && affinities.iter().next().is_none());
    }
}
