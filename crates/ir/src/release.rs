//! Release of large tables, so that tables of later stages do not add to the peak of memory.

use cranelift_entity::{EntityRef, PrimaryMap, SecondaryMap};

/// The largest block, in bytes, that the allocator of glibc may take from its heap.
const LARGEST_IN_HEAP: usize = 1 << 25;

/// Size in bytes of the largest table that may grow in the ordinary way.
const MAX_GROWN: usize = 1 << 18;

/// Frees the memory of a list, after shrinking it. Freeing a large block directly would make the allocator of glibc
/// take later blocks up to that size from its heap, where freed blocks leave holes, and not map each block
/// separately.
pub fn release<T>(list: &mut Vec<T>) {
    list.clear();
    list.shrink_to(1);
    *list = Vec::new();
}

/// Frees the memory of a table, like [`release`].
pub(crate) fn release_map<K: EntityRef, V>(map: &mut PrimaryMap<K, V>) {
    release(&mut Vec::from(std::mem::take(map)));
}

/// Moves a table that is large and cannot be shrunk to a separately mapped block of address space.
#[cold]
pub(crate) fn map_apart<K: EntityRef, V: Clone + Default>(map: &mut SecondaryMap<K, V>, len: usize) {
    let size = size_of::<V>().max(1);
    let apart = LARGEST_IN_HEAP / size + 1;
    if len > MAX_GROWN / size && map.capacity() < apart {
        let mut list = Vec::with_capacity(apart);
        list.extend_from_slice(map.as_values_slice());
        *map = SecondaryMap::from(list);
    }
}
