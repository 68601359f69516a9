//! The large tables of a function: [`PrimaryMap`](cranelift_entity::PrimaryMap) with a known capacity, which the limit of
//! memory counts.

use cranelift_entity::{EntityRef, Keys};
use kingpost_meter::HeapBytes;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// A list of `V` in which `K` numbers the elements. Elements are only added, or removed all together.
#[derive(Clone, Hash, Debug)]
pub(crate) struct Table<K, V> {
    elements: Vec<V>,
    keys: PhantomData<K>,
}

impl<K, V> Default for Table<K, V> {
    fn default() -> Table<K, V> {
        Table { elements: Vec::new(), keys: PhantomData }
    }
}

impl<K, V> HeapBytes for Table<K, V> {
    fn heap_bytes(&self) -> u64 {
        self.elements.heap_bytes()
    }
}

impl<K: EntityRef, V> Table<K, V> {
    /// Adds an element and returns its key.
    #[inline]
    pub(crate) fn push(&mut self, element: V) -> K {
        let key = K::new(self.elements.len());
        self.elements.push(element);
        key
    }

    /// Returns the number of elements.
    pub(crate) fn len(&self) -> usize {
        self.elements.len()
    }

    /// Returns `true` if there is an element with this key.
    pub(crate) fn is_valid(&self, key: K) -> bool {
        key.index() < self.elements.len()
    }

    /// Returns all keys.
    pub(crate) fn keys(&self) -> Keys<K> {
        Keys::with_len(self.elements.len())
    }

    /// Returns all elements, in the order of the keys.
    pub(crate) fn elements(&self) -> &[V] {
        &self.elements
    }

    /// Returns all elements for changes.
    pub(crate) fn elements_mut(&mut self) -> &mut [V] {
        &mut self.elements
    }

    /// Removes all elements and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.elements.clear();
    }

    /// Frees the memory, like [`release`](crate::release::release).
    pub(crate) fn release(&mut self) {
        crate::release::release(&mut self.elements);
    }
}

impl<K: EntityRef, V> Index<K> for Table<K, V> {
    type Output = V;

    #[inline(always)]
    fn index(&self, key: K) -> &V {
        &self.elements[key.index()]
    }
}

impl<K: EntityRef, V> IndexMut<K> for Table<K, V> {
    #[inline(always)]
    fn index_mut(&mut self, key: K) -> &mut V {
        &mut self.elements[key.index()]
    }
}
