//! Free runs of addresses.

use std::collections::{BTreeMap, BTreeSet};

/// Free runs of bytes within one range.
///
/// 1. No two runs overlap or touch.
/// 2. Both collections hold every run.
#[derive(Debug, Default)]
pub(crate) struct Runs {
    /// Length of each run by its first address.
    by_start: BTreeMap<usize, usize>,
    /// Length and first address of each run.
    by_bytes: BTreeSet<(usize, usize)>,
}

impl Runs {
    /// Returns a single free run of `bytes` bytes that begins at `start`.
    pub(crate) fn new(start: usize, bytes: usize) -> Runs {
        let mut runs = Runs::default();
        runs.insert(start, bytes);
        runs
    }

    /// Takes `bytes` bytes at a multiple of `align` from the shortest suitable run, and from the lowest one of
    /// several. Returns the first address.
    pub(crate) fn take(&mut self, bytes: usize, align: usize) -> Option<usize> {
        let (start, len) = self.fitting(bytes, align)?;
        let address = start.checked_next_multiple_of(align)?;
        self.remove(start, len);
        self.insert(start, address - start);
        self.insert(address + bytes, start + len - (address + bytes));
        Some(address)
    }

    /// Returns `true` if [`Runs::take`] would succeed.
    pub(crate) fn has(&self, bytes: usize, align: usize) -> bool {
        self.fitting(bytes, align).is_some()
    }

    /// Returns the first address and the length of the shortest run in which `bytes` bytes fit at a multiple of
    /// `align`. Every run starts at a page, so only alignments larger than a page need additional room.
    fn fitting(&self, bytes: usize, align: usize) -> Option<(usize, usize)> {
        let fits = |&&(len, start): &&(usize, usize)| {
            let end = start.checked_next_multiple_of(align).and_then(|address| address.checked_add(bytes));
            end.is_some_and(|end| end <= start + len)
        };
        // A run of `bytes + align` bytes always suffices, so only a few shorter runs are tried.
        let sure = bytes.checked_add(align)?;
        let exact = self.by_bytes.range((bytes, 0)..).take(MOST_TRIED).find(fits);
        let &(len, start) = exact.or_else(|| self.by_bytes.range((sure, 0)..).next())?;
        Some((start, len))
    }

    /// Frees bytes that [`Runs::take`] returned, and joins them with adjacent free runs.
    pub(crate) fn give_back(&mut self, start: usize, bytes: usize) {
        let (mut first, mut end) = (start, start + bytes);
        if let Some((&before, &len)) = self.by_start.range(..start).next_back()
            && before + len == start
        {
            self.remove(before, len);
            first = before;
        }
        if let Some(&len) = self.by_start.get(&end) {
            self.remove(end, len);
            end += len;
        }
        self.insert(first, end - first);
    }

    fn insert(&mut self, start: usize, bytes: usize) {
        if bytes > 0 {
            self.by_start.insert(start, bytes);
            self.by_bytes.insert((bytes, start));
        }
    }

    fn remove(&mut self, start: usize, bytes: usize) {
        self.by_start.remove(&start);
        self.by_bytes.remove(&(bytes, start));
    }
}

/// Number of runs that are tried although they may be too short after alignment.
const MOST_TRIED: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_that_touch_become_one() {
        let mut runs = Runs::new(0x1000, 0x4000);
        let taken = [(); 4].map(|()| runs.take(0x1000, 1).unwrap());
        assert_eq!((taken, runs.take(1, 1)), ([0x1000, 0x2000, 0x3000, 0x4000], None));
        for index in [0, 2, 3, 1] {
            runs.give_back(taken[index], 0x1000);
        }
        assert_eq!(runs.take(0x4000, 0x1000), Some(0x1000));
    }

    #[test]
    fn shortest_runs_are_taken_first() {
        let mut runs = Runs::new(0, 0x9000);
        assert_eq!(runs.take(0x9000, 1), Some(0));
        runs.give_back(0x1000, 0x3000);
        runs.give_back(0x5000, 0x1000);
        assert_eq!([0x1000, 0x1000].map(|bytes| runs.take(bytes, 0x1000)), [Some(0x5000), Some(0x1000)]);
        assert_eq!(runs.take(0x1000, 0x3000), Some(0x3000));
        assert_eq!((runs.take(0x2000, 1), runs.has(0x1000, 1)), (None, true));
    }

    /// Compares the runs with a map of pages: no page is taken twice, and all are free at the end.
    #[test]
    fn random_runs_never_overlap() {
        const PAGES: usize = 64;
        let (mut runs, mut taken, mut seed) = (Runs::new(0, PAGES), Vec::new(), 1_u64);
        let mut is_taken = [false; PAGES];
        let mut random = |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as usize % below
        };
        // Miri is a thousand times slower.
        for _ in 0..if cfg!(miri) { 500 } else { 20_000 } {
            if random(2) == 0 {
                let (bytes, align) = (1 + random(8), 1 << random(4));
                let Some(start) = runs.take(bytes, align) else { continue };
                assert_eq!(start % align, 0);
                for page in &mut is_taken[start..start + bytes] {
                    assert!(!std::mem::replace(page, true));
                }
                taken.push((start, bytes));
            } else if !taken.is_empty() {
                let (start, bytes) = taken.swap_remove(random(taken.len()));
                is_taken[start..start + bytes].fill(false);
                runs.give_back(start, bytes);
            }
        }
        taken.iter().for_each(|&(start, bytes)| runs.give_back(start, bytes));
        assert_eq!(runs.take(PAGES, 1), Some(0));
    }
}
