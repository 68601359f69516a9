//! Freeing large tables, so that those of later stages are not in memory together with them.

use cranelift_entity::{EntityRef, PrimaryMap, SecondaryMap};

/// The largest block, in bytes, that the allocator of glibc may take from its heap.
const LARGEST_IN_HEAP: usize = 1 << 25;

/// Bytes of the largest table that is left to grow as it does.
const MAX_GROWN: usize = 1 << 18;

/// Frees the memory of a list. It is shrunk first: after a large block is freed as it is, the allocator of glibc takes
/// blocks of up to its size from the heap, where those that are freed leave holes, and no longer maps each by itself.
pub fn release<T>(list: &mut Vec<T>) {
    list.clear();
    list.shrink_to(1);
    *list = Vec::new();
}

/// As [`release`], of a table.
pub(crate) fn release_map<K: EntityRef, V>(map: &mut PrimaryMap<K, V>) {
    release(&mut Vec::from(std::mem::take(map)));
}

/// Moves a table that has become large, and cannot be shrunk, to a block of address space that is never taken from the
/// heap.
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
