//! The numbering table: from an instruction's sixteen bytes to what stands for it.
//!
//! Open addressing with linear probing, at most half full. A slot counts only if it bears the table's current epoch, so
//! that forgetting everything is one increment and a function touches no more memory than it needs.

/// What an entry stands for: the number of a value or instruction.
type Payload = u32;

#[derive(Copy, Clone, Default, Debug)]
struct Slot {
    key: [u64; 2],
    payload: Payload,
    epoch: u32,
}

/// The table. Nothing is ever removed but by [`Table::reset`].
#[derive(Default, Debug)]
pub(crate) struct Table {
    slots: Vec<Slot>,
    /// One less than the number of slots in use, which is a power of two.
    mask: usize,
    len: usize,
    epoch: u32,
}

/// Where an entry is, or where it would go. Valid until the next insertion.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Place(usize);

impl Table {
    /// Clears everything and makes room for `entries` entries.
    pub(crate) fn reset(&mut self, entries: usize) {
        self.epoch = self.epoch.wrapping_add(1);
        if self.epoch == 0 {
            self.slots.fill(Slot::default());
            self.epoch = 1;
        }
        let count = (2 * entries).next_power_of_two().max(16);
        if self.slots.len() < count {
            self.slots.resize(count, Slot::default());
        }
        self.mask = count - 1;
        self.len = 0;
    }

    /// The entry of a key, and its place.
    #[inline]
    pub(crate) fn find(&self, key: [u64; 2]) -> (Place, Option<Payload>) {
        let mut index = hash(key) & self.mask;
        loop {
            let slot = &self.slots[index];
            if slot.epoch != self.epoch {
                return (Place(index), None);
            }
            if slot.key == key {
                return (Place(index), Some(slot.payload));
            }
            index = (index + 1) & self.mask;
        }
    }

    /// Sets the entry at a place that [`Table::find`] returned for `key`.
    #[inline]
    pub(crate) fn set(&mut self, place: Place, key: [u64; 2], payload: Payload) {
        let slot = &mut self.slots[place.0];
        let is_new = slot.epoch != self.epoch;
        *slot = Slot { key, payload, epoch: self.epoch };
        if is_new {
            self.len += 1;
            if 2 * self.len > self.mask {
                self.grow();
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let old: Vec<Slot> = self.slots[..=self.mask].iter().copied().filter(|slot| slot.epoch == self.epoch).collect();
        self.reset(2 * (self.mask + 1));
        for slot in old {
            let (place, _) = self.find(slot.key);
            self.set(place, slot.key, slot.payload);
        }
    }
}

/// The upper bits of a product with the golden ratio, after mixing both words.
#[inline]
fn hash([a, b]: [u64; 2]) -> usize {
    let mixed = (a ^ b.rotate_left(29).wrapping_mul(0xff51_afd7_ed55_8ccd)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 32) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grows_and_clears() {
        let mut table = Table::default();
        for round in 0..3 {
            table.reset(4);
            for number in 0..1000 {
                let key = [number, number % 7];
                let (place, entry) = table.find(key);
                assert_eq!(entry, None, "round {round}");
                table.set(place, key, number as u32);
            }
            for number in 0..1000 {
                assert_eq!(table.find([number, number % 7]).1, Some(number as u32));
            }
        }
    }
}
