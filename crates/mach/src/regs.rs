//! The registers of one instruction in a word, so that an encoder reads each by a shift and a mask.

use kingpost_regalloc::{Loc, PReg};

/// Sequence of up to seven registers.
///
/// Byte `k` is the [`PReg::index`] of register `k`, or zero if there is none. The last byte is their number.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Regs(u64);

/// Mask of the bits of [`PReg::index`] in each byte.
const INDICES: u64 = 0x0101_0101_0101_0101 * (PReg::COUNT as u64 - 1);
/// Byte that holds the number of registers.
const LEN_AT: usize = 8 * Regs::MAX;

impl Regs {
    /// Largest number of registers.
    pub const MAX: usize = 7;

    /// Returns these registers, or the first seven if there are more.
    #[inline]
    pub fn of(regs: &[PReg]) -> Regs {
        Regs::of_few(regs.iter().copied().take(Regs::MAX))
    }

    /// Returns these registers. There must be at most seven.
    pub fn of_few(regs: impl Iterator<Item = PReg>) -> Regs {
        let (mut word, mut at) = (0, 0);
        for reg in regs {
            debug_assert!(at < LEN_AT, "there is room for seven");
            word |= (reg.index() as u64) << at;
            at += 8;
        }
        Regs::counted(word, at / 8)
    }

    /// Returns the first `len` of these registers.
    pub fn of_first<const N: usize>(regs: [PReg; N], len: usize) -> Regs {
        const { assert!(N <= Regs::MAX) };
        // Without a loop, because the number of iterations is hard to predict.
        let word = regs.iter().rev().fold(0, |word, reg| word << 8 | reg.index() as u64);
        Regs::counted(word & ((1 << (8 * len)) - 1), len)
    }

    /// Returns the registers of these locations. There must be at most seven.
    #[inline]
    pub(crate) fn of_locs(locs: &[Loc]) -> Regs {
        Regs::counted(locs.iter().rev().fold(0, |word, loc| word << 8 | u64::from(loc.reg_index())), locs.len())
    }

    fn counted(word: u64, len: usize) -> Regs {
        Regs(word | (len as u64) << LEN_AT)
    }

    /// Adds a register. Returns `false` if there is no room.
    #[inline]
    pub fn push(&mut self, reg: PReg) -> bool {
        let has_room = self.len() < Regs::MAX;
        if has_room {
            self.0 = (self.0 | (reg.index() as u64) << (8 * self.len())) + (1 << LEN_AT);
        }
        has_room
    }

    /// Returns the number of registers.
    pub fn len(self) -> usize {
        (self.0 >> LEN_AT) as usize
    }

    /// Returns `true` if there are no registers.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the word: byte `k` is the [`PReg::index`] of register `k`, or zero if there is none, and the last byte
    /// is their number, less than 16.
    pub fn word(self) -> u64 {
        self.0
    }

    /// Returns register `k`, or the register of index 0 if there are fewer.
    pub fn get(self, k: usize) -> PReg {
        PReg::from_index((self.0 >> (8 * k)) as usize % PReg::COUNT)
    }

    /// Returns the register that is followed by `k` registers.
    pub fn from_end(self, k: usize) -> PReg {
        self.get(self.len().wrapping_sub(1 + k) % size_of::<Regs>())
    }

    /// Returns all registers as an array. Only the first [`Regs::len`] are valid.
    #[inline]
    pub fn to_array(self) -> [PReg; Regs::MAX] {
        let bytes = (self.0 & INDICES).to_le_bytes();
        std::array::from_fn(|k| PReg::from_index(bytes[k].into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_keep_their_order() {
        let regs = [3, 60, 0, 63, 7, 15, 31].map(|n| if n % 3 == 0 { PReg::float(n) } else { PReg::int(n) });
        for len in 0..=regs.len() {
            let packed = Regs::of(&regs[..len]);
            if len < regs.len() {
                assert_eq!(Regs::of_first(regs, len), packed);
            }
            assert_eq!(packed.to_array()[..packed.len()], regs[..len]);
            (0..len).for_each(|k| assert_eq!((packed.get(k), packed.from_end(k)), (regs[k], regs[len - 1 - k])));
            let locs: Vec<Loc> = regs[..len].iter().map(|&reg| Loc::reg(reg)).collect();
            assert_eq!(Regs::of_locs(&locs), packed);
            let mut pushed = Regs::default();
            assert!(regs[..len].iter().all(|&reg| pushed.push(reg)));
            assert_eq!((pushed, pushed.push(regs[0])), (packed, len < Regs::MAX));
        }
    }
}
