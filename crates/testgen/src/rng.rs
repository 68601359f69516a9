//! A small random number generator: equal seeds give equal cases on every machine and with every library version.

use std::ops::Range;

/// SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014).
///
/// Bytes can determine the first decisions, so that a fuzzer that changes bytes changes decisions.
#[derive(Clone, Debug)]
pub struct Rng {
    state: u64,
    /// Bytes for the next decisions, the next one last.
    bytes: Vec<u8>,
}

impl Rng {
    /// Returns the generator of one seed. Neighboring seeds are unrelated.
    pub fn new(seed: u64) -> Rng {
        let mut rng = Rng { state: seed, bytes: Vec::new() };
        rng.state ^= rng.bits();
        rng
    }

    /// Returns a generator that decides by `bytes` as long as there are any: a byte for each choice among at most
    /// 256.
    pub fn from_bytes(bytes: &[u8]) -> Rng {
        Rng { bytes: bytes.iter().rev().copied().collect(), ..Rng::new(bytes.len() as u64) }
    }

    /// Returns 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// Returns a number in `range`, which must not be empty.
    pub fn range(&mut self, range: Range<usize>) -> usize {
        let choices = range.end - range.start;
        if let (0..=256, Some(byte)) = (choices, self.bytes.pop()) {
            return range.start + usize::from(byte) % choices;
        }
        range.start + (self.bits() % choices as u64) as usize
    }

    /// Returns `true` in `percent` of 100 cases.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.range(0..100) < percent
    }

    /// Returns a random member of `items`, or `None` if there is none.
    pub fn pick<T: Copy>(&mut self, items: &[T]) -> Option<T> {
        (!items.is_empty()).then(|| items[self.range(0..items.len())])
    }
}
