//! Bytes of heap memory that a data structure holds.

/// A data structure that knows how much memory on the heap it holds. Only its own allocations count: not itself, and
/// not the allocations of the elements of a list.
pub trait HeapBytes {
    /// Returns the bytes of its allocations, by their capacity.
    fn heap_bytes(&self) -> u64;
}

impl<T> HeapBytes for Vec<T> {
    fn heap_bytes(&self) -> u64 {
        (self.capacity() * size_of::<T>()) as u64
    }
}
