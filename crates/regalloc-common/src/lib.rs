//! Building blocks shared by the register allocators: data structures, data-flow analysis, assignment of one
//! instruction. The contract with lowering is `kingpost-regalloc`. Each allocator uses a part of this crate.
//!
//! | file | contents |
//! |---|---|
//! | `affinity.rs` | pairs of values by frequency |
//! | `answer.rs` | the last steps on an allocation |
//! | `congruence.rs` | classes of values that are never live at one point |
//! | `edge_sites.rs` | the place of an edge's edits; a majority vote for join points |
//! | `hoist.rs` | moves the edits of edges before branches |
//! | `label_places.rs` | places of labeled values, read from an allocation |
//! | `live_blocks.rs` | live ranges of values that cross blocks |
//! | `matching.rs` | registers for the operands of one instruction |
//! | `order.rs` | the linear order of blocks, positions of their instructions, the loops |
//! | `point.rs` | program points: a position in the linear order and one of its four phases |
//! | `preference.rs` | registers numbered in order of preference, and sets of them |
//! | `slot_packing.rs` | spill slots for lifetimes |
//!
//! ```
//! use kingpost_regalloc::text::parse;
//! use kingpost_regalloc_common::order::LinearOrder;
//!
//! let text = "
//!     problem %loop {
//!       b0:
//!         branch -> e0 b1
//!       b1:
//!         branch -> e1 b1, e2 b2
//!       b2:
//!         branch
//!     }";
//! let problem = &parse(text).unwrap().cases[0].problem;
//! let mut order = LinearOrder::default();
//! order.build(problem).unwrap();
//! assert_eq!((order.num_blocks(), order.loops().len()), (3, 1));
//! ```

pub mod affinity;
pub mod answer;
pub mod congruence;
pub mod edge_sites;
pub mod hoist;
pub mod label_places;
pub mod live_blocks;
pub mod matching;
pub mod order;
pub mod point;
pub mod preference;
pub mod slot_packing;

/// Largest problem, in instructions, for which an allocator keeps its memory after the answer. The memory of a
/// larger problem is worth more to the stages after allocation than to the next problem.
pub const MAX_KEPT: usize = 1 << 17;

/// Bytes that a list may keep for the next problem.
const KEPT: usize = 1 << 20;

/// Frees the memory of a list that is larger than most problems need, at the end of the last stage that uses it,
/// because the peak of a large problem is in a later stage. The list is shrunk first. If a large block is freed at
/// full size, glibc's allocator then takes blocks of up to that size from the heap instead of mapping each one, and
/// the freed ones leave holes in the heap.
///
/// If this function does nothing, a function of 200,000 instructions in 60,000 blocks takes 32 % more memory with
/// `ssa` and 8 % more with `backtracking` (`/usr/bin/time -f %M`, x86-64).
pub fn release<T>(list: &mut Vec<T>) {
    if list.capacity() * size_of::<T>() > KEPT {
        list.clear();
        list.shrink_to(1);
        *list = Vec::new();
    }
}
