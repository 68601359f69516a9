//! Helpers that all phases share: tables, ranges of pools, scaled frequencies, checks of invariants.

use kingpost_regalloc::Freq;

/// Clears a table and fills it with `len` copies of `value`.
pub(crate) fn reset<T: Clone>(table: &mut Vec<T>, len: usize, value: T) {
    table.clear();
    table.resize(len, value);
}

/// Binary logarithm of the divisor that scales frequencies to small numbers.
const SCALE: u32 = 8;

/// Returns a frequency as a small number: 256 per entry of the function.
pub(crate) fn scaled(freq: Freq) -> u32 {
    (freq.0 >> SCALE).clamp(1, u64::from(u32::MAX)) as u32
}

/// Returns the frequency that a scaled number represents.
pub(crate) fn unscaled(freq: u32) -> u64 {
    u64::from(freq) << SCALE
}

/// A half-open range of a pool.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Span {
    pub(crate) start: u32,
    pub(crate) end: u32,
}

impl Span {
    pub(crate) fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

pub(crate) fn check(holds: bool, message: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(message()) }
}
