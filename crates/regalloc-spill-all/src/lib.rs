//! The simplest allocator: every value lives in its own spill slot.
