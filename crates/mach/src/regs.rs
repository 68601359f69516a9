//! The registers of one instruction in a word: what an encoder reads of them is a shift and a mask.

use kingpost_regalloc::{Loc, PReg};

/// Up to eight registers in order.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Regs {
    /// [`PReg::index`] of register `k` in byte `k`, zero where there is none.
    word: u64,
    len: u8,
}

impl Regs {
    /// Registers that there is room for.
    pub const MAX: usize = 8;

    /// These registers, the first eight if there are more.
    #[inline]
    pub fn of(regs: &[PReg]) -> Regs {
        regs.iter().take(Regs::MAX).rev().fold(Regs::default(), |regs, &reg| regs.behind(reg.index() as u64))
    }

    /// The registers that these places are, no more than eight.
    #[inline]
    pub(crate) fn of_locs(locs: &[Loc]) -> Regs {
        locs.iter().rev().fold(Regs::default(), |regs, loc| regs.behind(loc.reg_index().into()))
    }

    /// The register of this index, and behind it these.
    #[inline]
    fn behind(self, index: u64) -> Regs {
        Regs { word: self.word << 8 | index, len: self.len + 1 }
    }

    /// Adds a register. False if there is no room.
    #[inline]
    pub(crate) fn push(&mut self, reg: PReg) -> bool {
        let has_room = self.len() < Regs::MAX;
        if has_room {
            self.word |= (reg.index() as u64) << (8 * self.len);
            self.len += 1;
        }
        has_room
    }

    /// How many there are.
    #[inline]
    pub fn len(self) -> usize {
        self.len.into()
    }

    /// Are there none?
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// [`PReg::index`] of register `k` in byte `k`, zero where there is none.
    #[inline]
    pub fn word(self) -> u64 {
        self.word
    }

    /// Register `k`, or the register of index 0 if there are fewer.
    #[inline]
    pub fn get(self, k: usize) -> PReg {
        PReg::from_index((self.word >> (8 * k)) as usize % PReg::COUNT)
    }

    /// The register that only `k` ones follow.
    #[inline]
    pub fn from_end(self, k: usize) -> PReg {
        self.get(self.len().wrapping_sub(1 + k) % Regs::MAX)
    }

    /// All of them, one by one. [`Regs::len`] of these count.
    pub fn to_array(self) -> [PReg; Regs::MAX] {
        std::array::from_fn(|k| self.get(k))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_keep_their_order() {
        let regs = [3, 60, 0, 63, 7, 15, 1, 31].map(|n| if n % 3 == 0 { PReg::float(n) } else { PReg::int(n) });
        for len in 0..=regs.len() {
            let packed = Regs::of(&regs[..len]);
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
