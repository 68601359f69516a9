//! Bundles that wait for registers: the longest comes first, then the oldest.
//!
//! The first bundles are sorted once; a heap takes only what comes later.

use std::collections::BinaryHeap;

/// Bundles by length.
#[derive(Default)]
pub(crate) struct Queue {
    /// The first come last.
    first: Vec<u64>,
    later: BinaryHeap<u64>,
}

impl Queue {
    pub(crate) fn clear(&mut self) {
        self.first.clear();
        self.later.clear();
    }

    /// Adds a bundle; [`Queue::sort`] must follow.
    pub(crate) fn add(&mut self, length: u32, bundle: u32) {
        self.first.push(key(length, bundle));
    }

    pub(crate) fn sort(&mut self) {
        self.first.sort_unstable();
    }

    pub(crate) fn push(&mut self, length: u32, bundle: u32) {
        self.later.push(key(length, bundle));
    }

    /// The length of the bundle that comes next.
    pub(crate) fn longest(&self) -> Option<u32> {
        self.first.last().max(self.later.peek()).map(|key| (key >> 32) as u32)
    }

    /// The next bundle, with its length.
    pub(crate) fn pop(&mut self) -> Option<(u32, u32)> {
        let key = match self.later.peek() {
            Some(later) if self.first.last().is_none_or(|first| first < later) => self.later.pop(),
            _ => self.first.pop(),
        };
        key.map(|key| ((key >> 32) as u32, !(key as u32)))
    }
}

fn key(length: u32, bundle: u32) -> u64 {
    u64::from(length) << 32 | u64::from(!bundle)
}
