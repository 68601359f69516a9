//! Verification of a register allocation by abstract interpretation.
//!
//! Given a [`Problem`](kingpost_regalloc::Problem) and an [`Allocation`](kingpost_regalloc::Allocation) from any
//! allocator, [`Checker::check`] accepts only if, on every path, every use reads the value that it reads in the
//! problem before allocation. It shares types with the allocators, but no algorithm: not liveness, not intervals,
//! not parallel moves, not dominators.
//!
//! # Domain
//!
//! A state records the values that each location holds. Values that are copies of one another in the problem itself
//! have one name (`value_numbering.rs`). If that depends on the path taken, a location holds a set of names. A
//! copy, whether of the problem or inserted, copies all names. Joins keep the names that both paths have. A
//! register or slot that an instruction, an edit, a clobber or a safepoint overwrites loses its names. At a block,
//! its parameters are removed from their locations of a loop's previous iteration, and added to the locations of
//! their arguments. The method follows the checker of regalloc.rs (Chris Fallin, "Cranelift, part 3: correctness in
//! register allocation", 2021), with sets of values instead of single values.
//!
//! # Rules
//!
//! | rules | subject | file |
//! |---|---|---|
//! | 1 | one location per operand of the problem | `structural_rules.rs` |
//! | 2–6 | each location exists, is of the value's class, allocatable, large enough and aligned | `operands.rs`, `structural_rules.rs` |
//! | 7–9 | each constraint at its own operand; one operand in memory; `reuse` | `operands.rs` |
//! | 10, 11 | operands that may share a location within an instruction; clobbers, whole and partial | `operands.rs` |
//! | 12 | instructions that may be dropped | `operands.rs` |
//! | 13–16 | edits: order, registers, availability on the machine, rematerialization | `structural_rules.rs` |
//! | 17 | emergency slots stay private | `operands.rs`, `structural_rules.rs` |
//! | 18 | callee-saved registers that are written are saved | `structural_rules.rs` |
//! | 19, 20 | stack map entries: order, safepoint, slots written at all | `structural_rules.rs` |
//! | 21 | a use's location holds its value, in full width | `walk.rs` |
//! | 22 | a mapped slot holds a reference; other copies of references are lost at a safepoint | `walk.rs` |
//! | 23, 24 | label ranges | `labels.rs` |
//! | 25, 26 | every reachable block was walked; limits | `check.rs` |
//! | 27 | widths of edits | `structural_rules.rs` |
//! | 28 | label ranges: order, overlap | `structural_rules.rs` |
//! | 29 | the saved set has only callee-saved registers | `structural_rules.rs` |
//!
//! [`Rule`] has the sentence of each. The order of points and edges in `walk.rs` is the order of
//! [`Edit`](kingpost_regalloc::Edit): an edit runs before its instruction, so that no edit can follow a terminator,
//! and one that overwrites a register read by a terminator breaks rule 21.
//!
//! # Cost
//!
//! Registers are an array of a few dozen cells. Slots are a version of an array whose versions share common parts
//! (`persistent.rs`). A block with one incoming edge is walked right after its predecessor; only the entries of
//! other blocks are stored. Joining a state to a stored one costs the registers and the slots written since the two
//! diverged, not the size of the state. There is no table of blocks and slots, and liveness is not needed. Uses are
//! checked in the walk that computes the states. A second walk reports only if there is an error or a label range.
//! A block in loops is walked again whenever its entry loses a content, which is once for most blocks. A label
//! range is checked where it, its block or its request begins or ends, and after each change of its location. The
//! cost is about 150 nanoseconds per instruction of compiled WebAssembly, a sixth of the time that regalloc2 takes
//! to allocate; 10^5 blocks with 10^4 values in slots throughout take a tenth of a second.
//!
//! # Limits
//!
//! The checker does not verify:
//!
//! - Whether a problem matches the function: operands, clobbers, flags and calling convention are trusted.
//! - Encodings, and all code emitted later than the edits: frame offsets, prologue and epilogue, saves and restores.
//! - Whether an instruction with the rematerialization flag really is pure.
//! - A stack map without a reference that is not read any more; an allocation that is correct but slow.
//! - Unreachable blocks: only the rules without states are checked there.
//! - Overlap of slots: they are separate areas by definition, and the frame layout places them.
//!
//! ```
//! use kingpost_checker::Checker;
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
//!     }
//!     allocation {
//!       i0: r0, r1
//!       i1: r0, r1, r0
//!       i2: r0
//!     }";
//! let mut file = parse(text).unwrap();
//! let (env, case) = (file.env.unwrap(), &mut file.cases[0]);
//! let answer = case.allocation.as_mut().unwrap();
//! assert!(Checker::new().check(&case.problem, &env, answer).is_ok());
//! // The sum would read its second operand from the register of the first.
//! answer.locs[3] = answer.locs[2];
//! assert!(Checker::new().check(&case.problem, &env, answer).is_err());
//! ```

mod check;
mod class;
mod entry;
mod error;
mod flow;
mod labels;
mod operands;
mod persistent;
mod report;
mod state;
mod structural_rules;
pub mod text;
mod value_numbering;
mod walk;

pub use check::Checker;
pub use error::{CheckError, Entity, Found, Origin, Rule};
