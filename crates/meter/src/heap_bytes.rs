//! Bytes of heap memory that a data structure holds.

use cranelift_entity::{EntityRef, EntitySet, PrimaryMap, SecondaryMap};
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, VecDeque};

/// A data structure that knows how much memory on the heap it holds, by capacity. The structure itself does not count,
/// nor do allocations of the elements of a list.
pub trait HeapBytes {
    /// Returns the bytes of its allocations.
    fn heap_bytes(&self) -> u64;
}

/// Implements [`HeapBytes`](crate::HeapBytes) for a structure as the sum over fields. All other fields are listed too, so
/// that a field that is added cannot be forgotten.
#[macro_export]
macro_rules! heap_bytes {
    ($name:ident $(<$($param:ident),+>)? { $($field:ident),* } $(without { $($other:ident),* })?) => {
        impl $(<$($param),+>)? $crate::HeapBytes for $name $(<$($param),+>)? {
            fn heap_bytes(&self) -> u64 {
                let $name { $($field,)* $($($other: _,)*)? } = self;
                0 $(+ $crate::HeapBytes::heap_bytes($field))*
            }
        }
    };
}

fn bytes<T>(count: usize) -> u64 {
    (count * size_of::<T>()) as u64
}

impl<T> HeapBytes for Vec<T> {
    fn heap_bytes(&self) -> u64 {
        bytes::<T>(self.capacity())
    }
}

impl<T> HeapBytes for VecDeque<T> {
    fn heap_bytes(&self) -> u64 {
        bytes::<T>(self.capacity())
    }
}

impl<T> HeapBytes for BinaryHeap<T> {
    fn heap_bytes(&self) -> u64 {
        bytes::<T>(self.capacity())
    }
}

impl HeapBytes for String {
    fn heap_bytes(&self) -> u64 {
        self.capacity() as u64
    }
}

impl<T> HeapBytes for Box<[T]> {
    fn heap_bytes(&self) -> u64 {
        bytes::<T>(self.len())
    }
}

impl<T: HeapBytes> HeapBytes for Box<T> {
    fn heap_bytes(&self) -> u64 {
        bytes::<T>(1) + (**self).heap_bytes()
    }
}

impl<T: HeapBytes> HeapBytes for Option<T> {
    fn heap_bytes(&self) -> u64 {
        self.as_ref().map_or(0, HeapBytes::heap_bytes)
    }
}

impl<T: HeapBytes, const N: usize> HeapBytes for [T; N] {
    fn heap_bytes(&self) -> u64 {
        self.iter().map(HeapBytes::heap_bytes).sum()
    }
}

/// Its capacity is not known. It is assumed to be the one that pushes give.
impl<K: EntityRef, V> HeapBytes for PrimaryMap<K, V> {
    fn heap_bytes(&self) -> u64 {
        match self.len() {
            0 => 0,
            len => bytes::<V>(len.next_power_of_two().max(4)),
        }
    }
}

impl<K: EntityRef, V: Clone> HeapBytes for SecondaryMap<K, V> {
    fn heap_bytes(&self) -> u64 {
        bytes::<V>(self.capacity())
    }
}

/// Its words are not known. At most one bit in sixteen is assumed to be unset.
impl<K: EntityRef> HeapBytes for EntitySet<K> {
    fn heap_bytes(&self) -> u64 {
        self.keys().next_back().map_or(0, |last| last.index() as u64 / 8)
    }
}

/// Nodes are assumed to be three quarters full.
impl<K, V> HeapBytes for BTreeMap<K, V> {
    fn heap_bytes(&self) -> u64 {
        bytes::<(K, V)>(self.len()) * 4 / 3
    }
}

/// Nodes are assumed to be three quarters full.
impl<T> HeapBytes for BTreeSet<T> {
    fn heap_bytes(&self) -> u64 {
        bytes::<T>(self.len()) * 4 / 3
    }
}

/// Tables are at most seven eighths full, and have a byte for each entry.
impl<K, V, S> HeapBytes for HashMap<K, V, S> {
    fn heap_bytes(&self) -> u64 {
        match self.capacity() {
            0 => 0,
            capacity => (capacity * 8 / 7).next_power_of_two() as u64 * (size_of::<(K, V)>() as u64 + 1),
        }
    }
}
