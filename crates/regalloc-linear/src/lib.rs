//! Linear scan register allocation on SSA form with interval splitting.
//!
//! | stage | file | purpose |
//! |---|---|---|
//! | liveness | `collect.rs` | one pass backward: uses, live ranges, register hints, clobber points |
//! | | `values.rs` | the facts of each value |
//! | scan | `linear_scan.rs` | assigns registers from the first to the last instruction |
//! | | `block_entry.rs` | .. the state of the registers at a block's entry |
//! | | `fast_path.rs`, `assign_operands.rs`, `operand_assignment.rs`, `record_operands.rs` | .. the operands of one instruction |
//! | | `pick_register.rs`, `evict.rs` | .. the choice of a register, and the value that is split and spilled |
//! | | `split_intervals.rs` | .. the value in each register at each point |
//! | resolve | `resolve.rs` | moves on edges, and stores of spilled values |
//! | slots | `slot_coalescing.rs` | memory for spilled values |
//! | emit | `emit.rs` | the allocation |
//! | | `dump.rs`, `verify.rs` | the results of the stages as text, and their rules |
//!
//! `kingpost-regalloc-common` provides block order, program points, live blocks, register preference, slot packing,
//! congruence classes, and the matching of last resort.
//!
//! ```
//! use kingpost_regalloc::text::parse;
//! use kingpost_regalloc::{Allocation, Allocator};
//! use kingpost_regalloc_linear::LinearScan;
//!
//! let text = "
//!     env { int r0, r1 exchange }
//!     problem %sum {
//!       v0, v1, v2: int 8
//!       b0:
//!         i0: def v0 = r0, def v1 = r1
//!         i1: use v0, use v1, def v2 reuse 0
//!         i2: branch use v2 = r0
//!     }";
//! let file = parse(text).unwrap();
//! let (env, problem) = (file.env.unwrap(), &file.cases[0].problem);
//! let mut answer = Allocation::default();
//! LinearScan::default().allocate(problem, &env, &mut answer).unwrap();
//! assert!(answer.edits.is_empty(), "every value stays in its register");
//! ```

mod allocator;
mod assign_operands;
mod block_entry;
mod collect;
mod dump;
mod emit;
mod evict;
mod fast_path;
mod linear_scan;
mod operand_assignment;
mod pick_register;
mod record_operands;
mod resolve;
mod slot_coalescing;
mod split_intervals;
mod values;
mod verify;

pub use allocator::LinearScan;
