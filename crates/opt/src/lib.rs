//! The optimiser of `opt_level=speed`: a pass a file, named after it.
//!
//! | file | holds |
//! |---|---|
//! | `shape.rs` | unreachable blocks, constant block parameters, blocks that follow their only predecessor |
//! | `constant_params.rs` | part of the same pass, without an optimiser too: block parameters that always have one value |
//! | `thread.rs`, `if_convert.rs` | parts of the same pass: edges past branches they decide, branches around few instructions |
//! | `slots.rs` | promotion of stack slots to values |
//! | `simplify.rs` | value numbering, with the rewrite rules on insertion |
//! | `numbering.rs`, `accesses.rs`, `branches.rs` | parts of the same walk: equal instructions, loads and stores, conditions and branches |
//! | `memory.rs` | what memory holds, for that walk |
//! | `read_back.rs` | loads of part of what was stored |
//! | `place.rs` | unused instructions, motion out of loops and into the paths that use a value |
//! | `rematerialise.rs` | part of the same pass: cheap values made again in loops that are short of registers |
//! | `repeated_loads.rs` | loads that repeat another of memory that never changes, without an optimiser too |
//! | `facts.rs` | known bits, for the conditions of rules |
//! | `rewrite/` | the matcher of the rewrite rules and its queries of the value graph |
//! | `observer.rs` | simplifications, reported as they happen |
//! | `fold.rs`, `purity.rs`, `table.rs` | constants, effects of opcodes, the numbering table |
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

mod accesses;
mod branches;
mod constant_params;
pub mod facts;
mod fold;
mod if_convert;
mod memory;
mod numbering;
mod observer;
mod optimizer;
mod place;
mod purity;
pub mod read_back;
mod rematerialise;
mod repeated_loads;
pub mod rewrite;
mod shape;
mod simplify;
mod slots;
mod table;
mod thread;

pub use observer::{Observer, Subject};
pub use optimizer::{Optimizer, Pass};
