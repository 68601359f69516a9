//! Lists of small items in one shared vector.
//!
//! A list is a start and a length. Lists are created whole and grow only at their end. A list that grew has capacity
//! for the next power of two. A list that was created whole is copied on its first growth. The space of the old copy
//! is reclaimed when the pool is cleared.

use crate::release::release;
use kingpost_meter::heap_bytes;
use std::marker::PhantomData;

/// A list in a [`Pool`].
#[derive(Hash, Debug)]
pub struct List<T> {
    start: u32,
    /// Number of items in bits 0–30; bit 31 set if the capacity is the next power of two.
    len: u32,
    items: PhantomData<T>,
}

impl<T> Copy for List<T> {}

impl<T> Clone for List<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Default for List<T> {
    fn default() -> Self {
        List { start: 0, len: 0, items: PhantomData }
    }
}

const GROWN: u32 = 1 << 31;

impl<T> List<T> {
    /// Returns the number of items.
    pub fn len(self) -> usize {
        (self.len & !GROWN) as usize
    }

    /// Returns `true` if there are no items.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Returns the two words that an instruction stores for the list.
    pub(crate) fn words(self) -> (u32, u32) {
        (self.start, self.len)
    }

    pub(crate) fn from_words(start: u32, len: u32) -> List<T> {
        List { start, len, items: PhantomData }
    }

    fn range(self) -> std::ops::Range<usize> {
        let start = self.start as usize;
        start..start + self.len()
    }
}

/// Owner of the items of many lists.
#[derive(Clone, Hash, Debug)]
pub struct Pool<T> {
    items: Vec<T>,
}

heap_bytes!(Pool<T> { items });

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Pool { items: Vec::new() }
    }
}

impl<T: Copy> Pool<T> {
    /// Creates a list of these items.
    pub fn list(&mut self, items: &[T]) -> List<T> {
        let start = self.items.len() as u32;
        self.items.extend_from_slice(items);
        List::from_words(start, items.len() as u32)
    }

    /// Returns the items of the list.
    pub fn get(&self, list: List<T>) -> &[T] {
        &self.items[list.range()]
    }

    /// Returns the items of the list for changes.
    pub fn get_mut(&mut self, list: List<T>) -> &mut [T] {
        &mut self.items[list.range()]
    }

    /// Returns all items, including unused copies from before lists grew.
    pub(crate) fn items(&self) -> &[T] {
        &self.items
    }

    /// Returns all items for changes, including unused copies from before lists grew.
    pub(crate) fn items_mut(&mut self) -> &mut [T] {
        &mut self.items
    }

    /// Appends an item in amortized constant time.
    #[inline]
    pub fn push(&mut self, list: &mut List<T>, item: T) {
        let len = list.len();
        if list.range().end == self.items.len() {
            self.items.push(item);
            // No item follows the list, so it counts as created whole.
            list.len = len as u32 + 1;
            return;
        }
        let capacity = if list.len & GROWN != 0 { len.next_power_of_two() } else { len };
        if len == capacity {
            let start = self.items.len();
            self.items.extend_from_within(list.range());
            self.items.resize(start + (len + 1).next_power_of_two(), item);
            list.start = start as u32;
        } else {
            self.items[list.start as usize + len] = item;
        }
        list.len = (len as u32 + 1) | GROWN;
    }

    /// Removes the item at an index and moves the later items forward.
    pub fn remove(&mut self, list: &mut List<T>, index: usize) {
        let len = list.len();
        self.items[list.range()].copy_within(index + 1.., index);
        list.len = len as u32 - 1;
    }

    /// Removes all items after the first `len`.
    pub fn truncate(&mut self, list: &mut List<T>, len: usize) {
        list.len = list.len().min(len) as u32;
    }

    /// Clears all lists and keeps the memory.
    pub fn clear(&mut self) {
        self.items.clear();
    }

    /// Clears everything and frees the memory.
    pub(crate) fn release(&mut self) {
        release(&mut self.items);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_grow_independently() {
        let mut pool = Pool::default();
        let mut first = pool.list(&[1, 2, 3]);
        let mut second = pool.list(&[]);
        let mut expected = (vec![1, 2, 3], Vec::new());
        for item in 0..100 {
            pool.push(&mut first, item);
            expected.0.push(item);
            if item % 3 == 0 {
                pool.push(&mut second, item);
                expected.1.push(item);
            }
            if item % 10 == 9 {
                pool.remove(&mut first, 1);
                expected.0.remove(1);
            }
            assert_eq!((pool.get(first), pool.get(second)), (&expected.0[..], &expected.1[..]));
        }
    }
}
