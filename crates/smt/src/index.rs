//! An index of numbered entries by their hashes, with open addressing. The entries are elsewhere, so that the index is small
//! and grows without a look at them.

/// A slot: the hash of an entry, and its number.
#[derive(Clone, Copy, Debug)]
struct Slot {
    hash: u32,
    entry: u32,
}

/// The number of no entry.
const NONE: u32 = u32::MAX;
const EMPTY: Slot = Slot { hash: 0, entry: NONE };
/// Number of slots at first. A power of two.
const FIRST_SLOTS: usize = 1 << 11;

/// Numbers of entries by their hashes. At most half of the slots are used.
#[derive(Default, Debug)]
pub(crate) struct Index {
    slots: Vec<Slot>,
    used: usize,
}

impl Index {
    /// Returns the number of an entry with this hash that `is_wanted`.
    pub(crate) fn find(&self, hash: u32, is_wanted: impl Fn(u32) -> bool) -> Option<u32> {
        let mask = self.slots.len().checked_sub(1)?;
        let mut at = hash as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot.entry == NONE {
                return None;
            }
            if slot.hash == hash && is_wanted(slot.entry) {
                return Some(slot.entry);
            }
            at = (at + 1) & mask;
        }
    }

    /// Adds an entry.
    pub(crate) fn add(&mut self, hash: u32, entry: u32) {
        if 2 * self.used >= self.slots.len() {
            self.grow();
        }
        self.used += 1;
        place(&mut self.slots, Slot { hash, entry });
    }

    fn grow(&mut self) {
        let mut slots = vec![EMPTY; (2 * self.slots.len()).max(FIRST_SLOTS)];
        self.slots.iter().filter(|slot| slot.entry != NONE).for_each(|&slot| place(&mut slots, slot));
        self.slots = slots;
    }
}

/// Puts a slot into the first free place for its hash.
fn place(slots: &mut [Slot], slot: Slot) {
    let mask = slots.len() - 1;
    let mut at = slot.hash as usize & mask;
    while slots[at].entry != NONE {
        at = (at + 1) & mask;
    }
    slots[at] = slot;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds entries with few hashes, so that many have one, and with hashes at the end of the slots.
    #[test]
    fn entries_are_found() {
        let hash = |entry: u32| (entry % 700).wrapping_sub(350);
        let mut index = Index::default();
        assert_eq!(index.find(0, |_| true), None);
        for entry in 0..5000 {
            assert_eq!(index.find(hash(entry), |found| found == entry), None);
            index.add(hash(entry), entry);
        }
        for entry in 0..5000 {
            assert_eq!(index.find(hash(entry), |found| found == entry), Some(entry));
        }
        assert_eq!(index.find(hash(3), |found| found == 4), None);
    }
}
