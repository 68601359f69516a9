//! A small random number generator: equal seeds give equal cases on every machine and with every library version.

use std::ops::Range;

/// SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014).
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// The generator of one seed. Neighbouring seeds are unrelated.
    pub fn new(seed: u64) -> Rng {
        let mut rng = Rng(seed);
        rng.0 ^= rng.bits();
        rng
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A number in `range`, which must not be empty.
    pub fn range(&mut self, range: Range<usize>) -> usize {
        range.start + (self.bits() % (range.end - range.start) as u64) as usize
    }

    /// True in `percent` of 100 cases.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.range(0..100) < percent
    }

    /// One of `items`; `None` if there is none.
    pub fn pick<T: Copy>(&mut self, items: &[T]) -> Option<T> {
        (!items.is_empty()).then(|| items[self.range(0..items.len())])
    }
}
