//! Bundles that wait for registers: first those that are live across calls, then by length, then by age.
//!
//! The initial bundles are sorted once; a heap holds only later ones. Cost: a logarithm per bundle.

use crate::bundles::Bundle;
use kingpost_regalloc::meter::heap_bytes;
use kingpost_regalloc_common::release;
use std::collections::BinaryHeap;

/// Priority of a bundle in the queue: the number of points at which it is live, with a mark on bundles that are live
/// across calls.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Priority(u32);

impl Priority {
    const CROSSES_CALLS: u32 = 1 << 31;

    /// Returns the priority of a bundle that is live at `points` points.
    pub(crate) fn new(points: u32, crosses_calls: bool) -> Priority {
        Priority(points.min(Self::CROSSES_CALLS - 1) | if crosses_calls { Self::CROSSES_CALLS } else { 0 })
    }

    /// Returns the priority of a bundle after the search has ended: the order of magnitude of a cost, and its
    /// leading 25 bits.
    pub(crate) fn by_cost(cost: u64, crosses_calls: bool) -> Priority {
        let magnitude = u64::BITS - cost.leading_zeros();
        let bits = if magnitude > 25 { cost >> (magnitude - 25) } else { cost << (25 - magnitude) };
        Priority::new(magnitude.min(63) << 25 | bits as u32 & ((1 << 25) - 1), crosses_calls)
    }

    /// Returns `true` if the bundle is live across a call.
    pub(crate) fn crosses_calls(self) -> bool {
        self.0 & Self::CROSSES_CALLS != 0
    }
}

/// Bundles by priority.
#[derive(Default)]
pub(crate) struct Queue {
    /// Sorted, the next one last.
    first: Vec<Entry>,
    later: BinaryHeap<Entry>,
}

heap_bytes!(Queue { first, later });

/// A priority, and the complement of a bundle, as one word.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry(u64);

impl Entry {
    fn new(priority: Priority, bundle: Bundle) -> Entry {
        Entry(u64::from(priority.0) << 32 | u64::from(!bundle.as_u32()))
    }

    fn priority(self) -> Priority {
        Priority((self.0 >> 32) as u32)
    }

    fn bundle(self) -> Bundle {
        Bundle::from_u32(!(self.0 as u32))
    }
}

impl Queue {
    pub(crate) fn clear(&mut self) {
        self.first.clear();
        self.later.clear();
    }

    /// Frees the memory of a large problem, after the queue is empty.
    pub(crate) fn release(&mut self) {
        release(&mut self.first);
        let mut later = std::mem::take(&mut self.later).into_vec();
        release(&mut later);
        self.later = later.into();
    }

    /// Adds a bundle before the first [`Queue::sort`].
    pub(crate) fn add(&mut self, priority: Priority, bundle: Bundle) {
        self.first.push(Entry::new(priority, bundle));
    }

    /// Sorts the bundles added so far.
    pub(crate) fn sort(&mut self) {
        self.first.sort_unstable();
    }

    /// Adds a bundle after [`Queue::sort`].
    pub(crate) fn push(&mut self, priority: Priority, bundle: Bundle) {
        self.later.push(Entry::new(priority, bundle));
    }

    /// Returns the priority of the next bundle.
    pub(crate) fn next_priority(&self) -> Option<Priority> {
        self.first.last().max(self.later.peek()).map(|entry| entry.priority())
    }

    /// Removes and returns the next bundle.
    pub(crate) fn pop(&mut self) -> Option<(Priority, Bundle)> {
        let entry = match self.later.peek() {
            Some(later) if self.first.last().is_none_or(|first| first < later) => self.later.pop(),
            _ => self.first.pop(),
        };
        entry.map(|entry| (entry.priority(), entry.bundle()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Checks that bundles leave in the order of a sorted set, whichever are added in between.
    #[test]
    fn bundles_leave_in_order() {
        let mut seed = 1u64;
        let mut random = move |below: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % below
        };
        let (mut queue, mut expected) = (Queue::default(), BTreeSet::new());
        let mut entry = |number: u32| (Priority::new(random(50) as u32, random(5) == 0), Bundle::from_u32(number));
        for (priority, bundle) in (0..300).map(&mut entry) {
            queue.add(priority, bundle);
            expected.insert(Entry::new(priority, bundle));
        }
        queue.sort();
        for number in 300..3000 {
            let (priority, bundle) = entry(number);
            queue.push(priority, bundle);
            expected.insert(Entry::new(priority, bundle));
            for _ in 0..number % 3 {
                let next = expected.pop_last();
                assert_eq!(queue.next_priority(), next.map(Entry::priority));
                assert_eq!(queue.pop(), next.map(|entry| (entry.priority(), entry.bundle())));
            }
        }
    }
}
