//! Map from the numbers of a text to dense ids.
//!
//! Small numbers index a table. Its entries carry the number of the function that they belong to, so that clearing
//! is free. The table never grows beyond a constant factor of the number of entities. Numbers that do not fit are
//! stored in a hash map, and move to the table when it has grown enough.

use kingpost_ir::release::release;
use std::collections::HashMap;

#[derive(Copy, Clone, Default)]
struct Slot {
    epoch: u32,
    id: u32,
}

#[derive(Default)]
pub(crate) struct EntityMap {
    /// Slots with another epoch are empty. Epoch 0 is never current.
    table: Vec<Slot>,
    epoch: u32,
    /// Numbers that are not below the table's length.
    overflow: HashMap<u32, u32>,
    /// Entities of the current epoch.
    count: usize,
}

/// Maximum number of slots in the table for each entity. At least a thousand times as many are allowed.
const SLOTS_PER_ENTITY: usize = 4;

/// Maximum number of slots that are kept for the next function.
const MAX_KEPT: usize = 1 << 17;

impl EntityMap {
    /// Clears all numbers. Must be called before the first use.
    pub(crate) fn clear(&mut self) {
        self.count = 0;
        self.overflow.clear();
        if self.epoch == u32::MAX {
            self.table.fill(Slot::default());
            self.epoch = 0;
        }
        self.epoch += 1;
    }

    /// Frees the memory of an unusually large map after its function has been read, because the compiler of the
    /// function needs the memory more.
    pub(crate) fn release(&mut self) {
        if self.table.len() > MAX_KEPT {
            release(&mut self.table);
        }
    }

    #[inline]
    pub(crate) fn get(&self, number: u32) -> Option<u32> {
        match self.table.get(number as usize) {
            Some(slot) => (slot.epoch == self.epoch).then_some(slot.id),
            None if self.overflow.is_empty() => None,
            None => self.overflow.get(&number).copied(),
        }
    }

    /// Adds a number that is not in the map.
    #[inline]
    pub(crate) fn insert(&mut self, number: u32, id: u32) {
        let index = number as usize;
        self.count += 1;
        if index >= self.table.len() && index < SLOTS_PER_ENTITY * (self.count + 1000) {
            self.grow(index);
        }
        match self.table.get_mut(index) {
            Some(slot) => *slot = Slot { epoch: self.epoch, id },
            None => {
                self.overflow.insert(number, id);
            }
        }
    }

    fn grow(&mut self, index: usize) {
        self.table.resize((index + 1).next_power_of_two(), Slot::default());
        let (table, epoch) = (&mut self.table, self.epoch);
        self.overflow.retain(|&number, &mut id| match table.get_mut(number as usize) {
            Some(slot) => {
                *slot = Slot { epoch, id };
                false
            }
            None => true,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sparse_and_dense_numbers() {
        let mut map = EntityMap::default();
        for round in 0..3 {
            map.clear();
            let numbers: Vec<u32> = (0..20_000)
                .map(|index: u32| if index.is_multiple_of(7) { u32::MAX - index } else { 19_999 - index })
                .collect();
            for (id, &number) in numbers.iter().enumerate() {
                assert_eq!(map.get(number), None, "round {round}");
                map.insert(number, id as u32);
            }
            for (id, &number) in numbers.iter().enumerate() {
                assert_eq!(map.get(number), Some(id as u32));
            }
        }
        assert!(map.table.len() <= 2 * SLOTS_PER_ENTITY * 21_000);
    }

    #[test]
    fn a_large_number_costs_nothing() {
        let mut map = EntityMap::default();
        map.clear();
        map.insert(400_000_000, 5);
        assert_eq!((map.get(400_000_000), map.table.len()), (Some(5), 0));
    }
}
