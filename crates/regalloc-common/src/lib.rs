//! What the register allocators share. The contract with lowering is `kingpost-regalloc`; this crate is a kit of analyses
//! and data structures on top of it, of which each allocator takes what it needs.
//!
//! | file | what it is |
//! |---|---|
//! | `point.rs` | program points: a position in the linear order and one of its four phases |
//! | `order.rs` | the linear order of blocks, positions of their instructions, the loops |

pub mod order;
pub mod point;
