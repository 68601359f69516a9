//! The contract between lowering and register allocation.
//!
//! Lowering hands over a [`Problem`] and a [`MachineEnv`]; an [`Allocator`] answers with an [`Allocation`]. All four
//! are plain data: a problem can be typed by hand ([`text`]), checked ([`Problem::verify`]), priced ([`cost`]) and
//! stored. This crate depends neither on the intermediate representation nor on any machine.
//!
//! | file | holds |
//! |---|---|
//! | `reg.rs` | register classes, physical registers and sets of them |
//! | `operand.rs` | one operand of one instruction, in 64 bits |
//! | `problem.rs` | the problem: blocks, edges, instructions, operands |
//! | `env.rs` | the machine: registers and the cost of each edit |
//! | `allocation.rs` | the answer: a location per operand, edits, slots, stack maps |
//! | `allocator.rs` | the trait, its errors and the observer |
//! | `verify/` | the numbered rules a problem keeps |
//! | `dominators.rs` | the dominator tree of the verifier |
//! | `cost.rs` | one price for every allocator's answer |
//! | `parallel_moves.rs` | parallel copies made sequential |
//! | `sort.rs` | sorting in little code |
//! | `text/` | the `.ra` text form, printer and parser |
//!
//! ```
//! use kingpost_regalloc::text::parse;
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
//! let problem = &file.cases[0].problem;
//! assert!(problem.verify_with(file.env.as_ref().unwrap()).is_ok());
//! assert_eq!((problem.vregs.len(), problem.num_insts()), (3, 3));
//! ```

pub mod allocation;
pub mod allocator;
pub mod cost;
mod dominators;
pub mod entities;
pub mod env;
pub mod operand;
pub mod parallel_moves;
pub mod problem;
pub mod reg;
pub mod sort;
pub mod text;
pub mod verify;

// Types of this crate are in public signatures.
pub use cranelift_entity;
pub use kingpost_meter as meter;

pub use allocation::{Allocation, Edit, EditKind, LabelRange, Loc, SlotData, StackMapEntry, Stats};
pub use allocator::{AllocError, Allocator, Diagnostics, Event, Observer};
pub use cost::Cost;
pub use entities::{Block, ClobberId, Edge, Inst, RegSetId, Slot, VReg};
pub use env::{ClassEnv, Costs, MachineEnv};
pub use operand::{Constraint, Demands, Kind, Operand, OperandForm, Pos};
pub use parallel_moves::{NoRegister, ParallelMoves};
pub use problem::{Clobbers, EdgeData, Freq, InstFlags, LabelUse, OperandClass, Problem, Step, VRegData};
pub use reg::{PReg, PRegSet, RegClass};
pub use verify::{Rule, VerifyError};
