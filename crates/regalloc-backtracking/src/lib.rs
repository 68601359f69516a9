//! Register allocation by backtracking: bundles of live ranges are assigned longest first, evicted by weight, and
//! split where that is cheap.
//!
//! ```text
//! v0 ─┐ block parameter and argument      {v0, v1} one bundle, tried in r0, r1, ..; a lighter bundle in the way is
//! v1 ─┘ do not overlap                    evicted, a heavier one makes this bundle split or go to memory
//! ```
//!
//! A call point is a point at which all registers of a class but the callee-saved ones are clobbered. Bundles that are live
//! across calls come first. The benefit of a callee-saved register to such a bundle is the cost of storing and
//! loading it around the calls. An unused callee-saved register is opened for a bundle whose benefit exceeds a save
//! and a restore, or for several bundles whose total benefit does. The other bundles are in registers in the
//! regions between their uses in which no call requires a load, and in memory around the calls.
//!
//! A value that is not always in a register has a slot, written after its definition or, if that is colder, at each
//! point at which it leaves its registers; a constant is rematerialized. Bundles that hold several values share one
//! slot. Operands in fixed registers, and uses whose register a result takes over, are copies around the
//! instruction, so that they do not constrain the value's own register.
//!
//! Before a bundle is split, the bundles in its way in some register may be spilled at its points alone, if that is
//! cheaper.
//!
//! A minimal bundle is the live range of one operand at one instruction. If such bundles interfere with each other,
//! a matching assigns the whole instruction, and all its operands are fixed from then on. This ensures termination:
//! the search fails only for instructions that have no solution. A budget proportional to the problem's size bounds
//! the search. After it is exhausted, bundles are processed by memory cost per point, evict no other bundles, and
//! are split where no register is free any more, as in linear scan.
//!
//! At the end, gaps between the fragments of a value are filled where some register is free throughout.
//!
//! Cost: a step for each segment, use and interfering bundle examined; the queue and the interference tables add a
//! logarithm. The method follows LLVM's greedy allocator (Olesen, *Greedy Register Allocation in LLVM 3.0*, 2011)
//! and IonMonkey's backtracking allocator.
//!
//! | file | contents |
//! |---|---|
//! | `allocator.rs` | the phases in order |
//! | `block_graph.rs` | edges between blocks of the linear order |
//! | `collect.rs` | the walk over the code |
//! | `liveness.rs` | uses and live ranges |
//! | `reservations.rs` | registers that instructions reserve: fixed operands, clobbers, safepoints |
//! | `bundles.rs` | values coalesced into bundles |
//! | `interference.rs` | the bundles of each register at each point |
//! | `interference_regions.rs` | bundles spilled only where they interfere |
//! | `spill_weights.rs` | requirements of a bundle, its memory cost, its weight |
//! | `queue.rs` | bundles by priority |
//! | `search.rs` | assignment and eviction |
//! | `region_split.rs` | splits of bundles that are live across calls |
//! | `split.rs` | other splits |
//! | `trace.rs` | events of the search for an observer |
//! | `value_locations.rs` | the location of each value at each point, and slots |
//! | `fill_gaps.rs` | gaps between fragments filled |
//! | `delay_stores.rs` | stores moved to where values leave registers |
//! | `operands.rs` | locations of operands, copies around instructions |
//! | `emit.rs` | edits and the remaining answer |
//! | `edge_moves.rs` | edits of edges |
//! | `verify.rs` | verification of each phase's result |
//!
//! Known limits: a parameter that is still live at the definition of its next value is copied on the edge, which
//! may need a block. Values whose live ranges are too long to find within a budget are in memory except at single
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
mod code;
mod collect;
mod delay_stores;
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
mod spill_weights;
mod split;
mod trace;
mod value_locations;
mod verify;

pub use allocator::Backtracking;
