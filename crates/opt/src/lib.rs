//! The optimizer of `opt_level=speed`. Each pass is one file, named after it.
//!
//! | file | holds |
//! |---|---|
//! | `simplify_cfg.rs` | unreachable blocks, constant block parameters, blocks that follow their only predecessor |
//! | `constant_params.rs` | part of the same pass, without an optimizer too: constant block parameters |
//! | `jump_threading.rs`, `if_convert.rs` | parts of the same pass: decided edges, branches around few instructions |
//! | `dispatch.rs` | for the latter: the places where interpreters continue, which remain branches |
//! | `mem2reg.rs` | promotion of stack slots to values |
//! | `gvn.rs` | value numbering, with the rewrite rules on insertion |
//! | `induction.rs`, `sums.rs` | before the same walk: counters of loops, and their sums, in the type that their uses need |
//! | `counters.rs`, `counter_ranges.rs`, `ranges.rs` | for these: the counters, and the numbers that they may be |
//! | `numbering.rs`, `memory_ops.rs`, `branches.rs` | parts of the same walk: equal instructions, loads and stores, conditions and branches |
//! | `implied.rs`, `facts.rs` | for the same walk: comparisons that a branch or trap before them decides |
//! | `memory.rs` | contents of memory, for that walk |
//! | `store_to_load_forwarding.rs` | loads of part of a stored value |
//! | `code_motion.rs` | unused instructions, motion out of loops and into the paths that use a value |
//! | `invariant_loads.rs`, `store_promotion.rs` | before the same pass: loads that leave loops which do not write their memory, and stores that follow their loop |
//! | `rematerialise.rs` | part of the same pass: cheap values computed again in loops that are short of registers |
//! | `unroll.rs`, `trip_count.rs`, `loop_exits.rs` | inner loops with a few rounds: all rounds one after the other |
//! | `strength_reduction.rs`, `affine.rs`, `exit_test.rs` | products of counters that become counters |
//! | `redundant_loads.rs` | repeated loads of memory that never changes, without an optimizer too |
//! | `known_bits.rs` | known bits of integers, for the conditions of rules |
//! | `inline/` | bodies of functions in place of their calls; a module decides, and no pass |
//! | `rewrite/` | the matcher of the rewrite rules and its queries of the value graph |
//! | `observer.rs` | simplifications, reported as they happen |
//! | `cleanup.rs` | the pass of `opt_level=none`: cheap parts of the passes above |
//! | `fold.rs`, `purity.rs`, `value_table.rs` | constants, effects of opcodes, the numbering table |
//!
//! ```
//! use kingpost_ir::analyses::Analyses;
//! use kingpost_opt::Optimizer;
//!
//! let text = "
//!     function %f(i32) -> i32 {
//!     block0(v0: i32):
//!         v1 = iconst.i32 0
//!         v2 = iadd v0, v1
//!         return v2
//!     }";
//! let mut func = kingpost_reader::parse_functions(text).unwrap().remove(0);
//! Optimizer::default().run_all(&mut func, &mut Analyses::default());
//! assert!(!func.to_string().contains("iadd"), "{func}");
//! ```

mod affine;
mod branches;
mod cleanup;
mod code_motion;
mod constant_params;
mod counter_ranges;
mod counters;
mod dispatch;
mod exit_test;
mod facts;
mod fold;
mod gvn;
mod if_convert;
mod implied;
mod induction;
pub mod inline;
mod invariant_loads;
mod jump_threading;
pub mod known_bits;
mod loop_exits;
mod mem2reg;
mod memory;
mod memory_ops;
mod numbering;
mod observer;
mod optimizer;
mod purity;
mod range_tests;
mod ranges;
mod redundant_loads;
mod rematerialise;
pub mod rewrite;
mod simplify_cfg;
mod store_promotion;
pub mod store_to_load_forwarding;
mod strength_reduction;
mod sums;
mod trip_count;
mod unroll;
mod value_table;

pub use observer::{Observer, Subject};
pub use optimizer::{Optimizer, Pass};
