//! Register allocation by backtracking: bundles of live ranges, assigned longest first, evicted by weight, split where
//! it is cheap.
//!
//! ```text
//! v0 ─┐ block parameter and argument      {v0, v1} one bundle, tried in r0, r1, ..; a lighter bundle in the way is
//! v1 ─┘ do not overlap                    evicted, a heavier one makes this bundle split or go to memory
//! ```
//!
//! A call point is a point at which all registers but the callee-saved ones are clobbered. Bundles that are live across
//! calls come first. The benefit of a callee-saved register to one is the cost of storing and loading it around the
//! calls; a register that is not in use yet is opened for a bundle whose benefit exceeds a save and a restore, or for
//! several whose benefits do so together. The others are in registers in the regions between their uses where no call
//! makes a load necessary, and in memory around the calls.
//!
//! A value that is in no register somewhere is in its slot, written after its definition or, if that is colder,
//! wherever it leaves its registers; a constant is rematerialized. Bundles that hold several values share one slot.
//! Operands in fixed registers, and the uses whose register a result takes over, are copies around the instruction, so
//! that they bind the value's own register to nothing.
//!
//! Before a bundle is split, what is in its way in some register may be spilled over its points alone, if that is
//! cheaper.
//!
//! A minimal bundle is the live range of one operand at one instruction. Where such bundles interfere with each other,
//! a matching serves the whole instruction, and all its operands are fixed from then on. This ends the search: it fails
//! only for instructions that no allocator can serve. A budget proportional to the problem's size bounds the search.
//! Once it is used up, bundles come by what memory costs them per point, evict no others, and are split where no register
//! is free any more, as in linear scan.
//!
//! At the end, gaps between the fragments of a value are filled where some register is free all the while.
//!
//! Cost: a step for each segment, use and interfering bundle that is looked at; the queue and the interference tables
//! add a logarithm. The method is that of LLVM's greedy allocator (Olesen, *Greedy Register Allocation in LLVM 3.0*,
//! 2011) and of IonMonkey's backtracking allocator.
//!
//! | file | holds |
//! |---|---|
//! | `allocator.rs` | the phases in order |
//! | `block_graph.rs` | edges between blocks of the linear order |
//! | `collect.rs` | the walk over the code |
//! | `liveness.rs` | uses and live ranges |
//! | `reservations.rs` | what instructions reserve of each register: fixed operands, clobbers, safepoints |
//! | `bundles.rs` | values coalesced into bundles |
//! | `interference.rs` | which bundle is in which register when |
//! | `interference_regions.rs` | bundles spilled only where they interfere |
//! | `spill_weights.rs` | what a bundle requires, what memory would cost it, its weight |
//! | `queue.rs` | bundles by priority |
//! | `search.rs` | assignment and eviction |
//! | `region_split.rs` | where a bundle is split that is live across calls |
//! | `split.rs` | where a bundle is split |
//! | `trace.rs` | what the search reports to an observer |
//! | `value_locations.rs` | where each value is at each point, and slots |
//! | `fill_gaps.rs` | gaps between fragments filled |
//! | `sink_stores.rs` | stores moved to where values leave registers |
//! | `operands.rs` | locations of operands, copies around instructions |
//! | `emit.rs` | edits and the rest of the answer |
//! | `edge_moves.rs` | edits of edges |
//! | `verify.rs` | what each phase relies on of those before it |
//!
//! Known limits: a parameter that is still live where its next value is computed is copied on the edge, where that may
//! need a block; values whose live ranges are too long to find within a budget are in memory but for single
//! instructions.
//!
//! ```
//! use kingpost_regalloc::text::parse;
//! use kingpost_regalloc::{Allocation, Allocator};
//! use kingpost_regalloc_backtracking::Backtracking;
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
//! Backtracking::default().allocate(problem, &env, &mut answer).unwrap();
//! assert!(answer.edits.is_empty(), "every value stays in its register");
//! ```

mod allocator;
mod block_graph;
mod bundles;
mod collect;
mod edge_moves;
mod emit;
mod fill_gaps;
mod interference;
mod interference_regions;
mod liveness;
mod operands;
mod queue;
mod region_split;
mod reservations;
mod search;
mod sink_stores;
mod spill_weights;
mod split;
mod trace;
mod value_locations;
mod verify;

pub use allocator::Backtracking;
