//! A hasher for terms, which are small and not chosen by an attacker.

use std::hash::{BuildHasherDefault, Hasher};

/// Builds hashers of terms.
pub(crate) type BuildTermHasher = BuildHasherDefault<TermHasher>;

/// Multiplies by an odd constant after each number, and folds the product: the high half depends on all bits.
#[derive(Default)]
pub(crate) struct TermHasher(u64);

/// The fractional part of the golden ratio (Knuth, The Art of Computer Programming, volume 3, section 6.4).
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

impl TermHasher {
    fn add(&mut self, number: u64) {
        let product = u128::from(self.0 ^ number) * u128::from(FACTOR);
        self.0 = (product as u64) ^ (product >> 64) as u64;
    }
}

impl Hasher for TermHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.add(byte.into()));
    }

    fn write_u8(&mut self, number: u8) {
        self.add(number.into());
    }

    fn write_u32(&mut self, number: u32) {
        self.add(number.into());
    }

    fn write_u64(&mut self, number: u64) {
        self.add(number);
    }

    fn write_u128(&mut self, number: u128) {
        self.add(number as u64);
        self.add((number >> 64) as u64);
    }

    fn write_usize(&mut self, number: usize) {
        self.add(number as u64);
    }

    fn write_isize(&mut self, number: isize) {
        self.add(number as u64);
    }
}
