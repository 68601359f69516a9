//! Numbering table: maps the sixteen bytes of an instruction to the value or instruction that represents it.
//!
//! Open addressing with linear probing, at most half full. Entries are dense, in the order of insertion, and a slot
//! holds only the number of an entry. A function therefore touches few bytes of memory for each of its
//! instructions, however they hash.

use kingpost_meter::heap_bytes;

/// Payload of an entry: the number of a value or instruction.
type Payload = u32;

#[derive(Copy, Clone, Debug)]
struct Entry {
    key: [u64; 2],
    payload: Payload,
}

/// The table. Only [`ValueTable::reset`] removes entries.
#[derive(Default, Debug)]
pub(crate) struct ValueTable {
    /// Number of an entry, counted from 1; 0 in an empty slot. The number of slots is a power of two.
    slots: Vec<u32>,
    entries: Vec<Entry>,
}

heap_bytes!(ValueTable { slots, entries });

/// Slot of an entry, or the slot where it would be inserted. Valid until the next insertion.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Position(usize);

impl ValueTable {
    /// Removes all entries and makes room for `entries` entries.
    pub(crate) fn reset(&mut self, entries: usize) {
        self.entries.clear();
        self.clear_slots(2 * entries);
    }

    fn clear_slots(&mut self, count: usize) {
        self.slots.clear();
        self.slots.resize(count.next_power_of_two().max(16), 0);
    }

    /// Returns the place of a key, and the payload of its entry if there is one. Terminates because at least half
    /// of the slots are empty.
    pub(crate) fn find(&self, key: [u64; 2]) -> (Position, Option<Payload>) {
        let mask = self.slots.len() - 1;
        let mut index = hash(key) & mask;
        loop {
            match self.entries.get((self.slots[index] as usize).wrapping_sub(1)) {
                None => return (Position(index), None),
                Some(entry) if entry.key == key => return (Position(index), Some(entry.payload)),
                Some(_) => index = (index + 1) & mask,
            }
        }
    }

    /// Sets the payload of `key` at the place that [`ValueTable::find`] returned for it.
    pub(crate) fn set(&mut self, place: Position, key: [u64; 2], payload: Payload) {
        let slot = &mut self.slots[place.0];
        if let Some(entry) = self.entries.get_mut((*slot as usize).wrapping_sub(1)) {
            entry.payload = payload;
            return;
        }
        self.entries.push(Entry { key, payload });
        *slot = self.entries.len() as u32;
        if 2 * self.entries.len() > self.slots.len() {
            self.grow();
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        self.clear_slots(2 * self.slots.len());
        for number in 0..self.entries.len() {
            let (place, _) = self.find(self.entries[number].key);
            self.slots[place.0] = number as u32 + 1;
        }
    }
}

/// Returns the upper bits of a product with the golden ratio, after mixing both words.
fn hash([a, b]: [u64; 2]) -> usize {
    let mixed = (a ^ b.rotate_left(29).wrapping_mul(0xff51_afd7_ed55_8ccd)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 32) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grows_and_clears() {
        let mut table = ValueTable::default();
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
