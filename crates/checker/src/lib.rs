//! Proves one register allocation right by abstract interpretation.
//!
//! Given a [`Problem`](kingpost_regalloc::Problem) and an [`Allocation`](kingpost_regalloc::Allocation) from any
//! allocator, [`Checker::check`] accepts only if, on every path, every use reads the value that it reads in the problem
//! before allocation. It shares types with what it judges and no algorithm: not liveness, not intervals, not the
//! parallel moves, not dominators.
//!
//! # Domain
//!
//! A state says which values each location holds. Values that the problem itself makes copies of one another have one
//! name (`value_numbering.rs`); where that depends on the way taken, a location holds a set of names. A copy, whether
//! of the problem or inserted, copies all names. Joins keep what holds on both ways in. The register or slot that an
//! instruction, an edit, a clobber or a safepoint overwrites loses what it held; a block's parameters are taken away
//! from wherever they were in the last round of a loop, and added to what holds their arguments. The idea is that of
//! the checker of regalloc.rs (Chris Fallin, "Cranelift, part 3: correctness in register allocation", 2021), with sets
//! of values in place of one.
//!
//! # Rules
//!
//! | rules | about | file |
//! |---|---|---|
//! | 1 | one location per operand of the problem | `structural_rules.rs` |
//! | 2–6 | each location exists, is of the value's class, allocatable, large enough and aligned | `operands.rs`, `structural_rules.rs` |
//! | 7–9 | each constraint at its own operand; one operand in memory; `reuse` | `operands.rs` |
//! | 10, 11 | which operands may share a location within an instruction; clobbers, whole and partial | `operands.rs` |
//! | 12 | what may be dropped | `operands.rs` |
//! | 13–16 | edits: order, registers, what the machine has, rematerialization | `structural_rules.rs` |
//! | 17 | emergency slots stay private | `operands.rs`, `structural_rules.rs` |
//! | 18 | callee-saved registers that are written are saved | `structural_rules.rs` |
//! | 19, 20 | stack map entries: order, safepoint, written at all | `structural_rules.rs` |
//! | 21 | a use's location holds its value, in full width | `walk.rs` |
//! | 22 | a mapped slot holds a reference; other copies of references die at a safepoint | `walk.rs` |
//! | 23, 24 | label ranges | `labels.rs` |
//! | 25, 26 | every reachable block was walked; limits | `check.rs` |
//! | 27 | widths of edits | `structural_rules.rs` |
//! | 28 | label ranges: order, overlap | `structural_rules.rs` |
//! | 29 | the saved set holds nothing else | `structural_rules.rs` |
//!
//! [`Rule`] has the sentence of each. The order of points and edges that `walk.rs` gives a meaning to is the one of
//! [`Edit`](kingpost_regalloc::Edit): an edit runs before its instruction, so no edit can follow a terminator, and one
//! that overwrites what a terminator reads breaks rule 21.
//!
//! # Cost
//!
//! Registers are an array of a few dozen cells. Slots are a version of an array whose versions share what they have in
//! common (`persistent.rs`). A block with one way in is walked right after its predecessor; only the entries of other
//! blocks are stored, and joining a state to a stored one costs the registers and what was written to slots since they
//! parted, not what is known. There is no table of blocks and slots, and liveness is not needed. Uses are checked in
//! the same walk that finds the states; only if something is wrong, or there are label ranges, a second walk reports. A
//! block in loops is walked once more whenever its entry loses something, which for most is once. A label range is
//! looked at where it, its block or its request begins or ends and after each change of its location. About 150
//! nanoseconds per instruction of compiled WebAssembly, a sixth of what regalloc2 takes to allocate; 10^5 blocks with
//! 10^4 values in slots throughout take a tenth of a second.
//!
//! # What it cannot see
//!
//! - Whether a problem says what the function means: operands, clobbers, flags and calling convention are believed.
//! - Encodings, and anything emitted later than the edits: frame offsets, prologue and epilogue, saves and restores.
//! - Whether an instruction with the rematerialization flag really is pure.
//! - A stack map that leaves out a reference that is not read any more; an allocation that is right but slow.
//! - Blocks that the entry does not reach: only the rules without states are checked there.
//! - That slots do not overlap: they are areas of their own by definition, and laying them out is the frame's business.
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
