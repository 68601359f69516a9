//! Bundles that wait for registers: those that are live across calls come first, then the longest, then the oldest.
//!
//! The first bundles are sorted once; a heap takes only what comes later. Cost: a logarithm per bundle.

use crate::bundles::Bundle;
use std::collections::BinaryHeap;

/// What decides when a bundle's turn comes: the number of points at which it is live, with a mark on bundles that are live
/// across calls.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Priority(u32);

impl Priority {
    const CROSSES_CALLS: u32 = 1 << 31;

    /// The priority of a bundle that is live at so many points.
    pub(crate) fn new(points: u32, crosses_calls: bool) -> Priority {
        Priority(points.min(Self::CROSSES_CALLS - 1) | if crosses_calls { Self::CROSSES_CALLS } else { 0 })
    }

    /// Is the bundle live across a call?
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

    /// Adds a bundle before the first [`Queue::sort`].
    pub(crate) fn add(&mut self, priority: Priority, bundle: Bundle) {
        self.first.push(Entry::new(priority, bundle));
    }

    /// Sorts what was added.
    pub(crate) fn sort(&mut self) {
        self.first.sort_unstable();
    }

    /// Adds a bundle afterwards.
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
