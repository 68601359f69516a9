//! Register allocation by backtracking: bundles of live ranges, assigned longest first, evicted by weight, split where
//! it is cheap.
//!
//! ```text
//! v0 ─┐ block parameter and argument      {v0, v1} one bundle, tried in r0, r1, ..; a lighter bundle in the way is
//! v1 ─┘ do not overlap                    evicted, a heavier one makes this bundle split or go to memory
//! ```
//!
//! A wall is a point where all registers but the callee-saved ones are lost, such as a call. Bundles that live over walls
//! come first. What a callee-saved register is worth to one is the price of storing and loading it around the walls; a
//! register that is not in use yet is opened for a bundle that is worth a save and a restore, or for several that are
//! so together. The others are in registers in the regions between their uses where no wall is worth a load, and in memory
//! around the walls.
//!
//! A value that is in no register somewhere is in its slot, written after its definition or, if that is colder, wherever it
//! leaves its registers; a constant is computed again. Bundles that hold several values share one slot. Operands in fixed
//! registers, and the uses whose register a result takes over, are copies around the instruction, so that they bind the
//! value's own place to nothing.
//!
//! A minimal bundle is the life of one operand at one instruction. Where such bundles get in each other's way, the
//! instruction is solved by a matching of its own, and all its operands are fixed from then on. This ends the search:
//! it fails only for instructions that no allocator can serve. A budget proportional to the problem's size bounds
//! evictions and splits; what is left when it is used up is cut to minimal bundles at once.
//!
//! At the end, gaps between the pieces of a value are filled where some register is free all the while.
//!
//! Cost: a step for each segment, use and bundle in the way that is looked at; the queue and the tables of occupancy add a
//! logarithm. The method is that of LLVM's greedy allocator and of IonMonkey's backtracking allocator.
//!
//! | file | holds |
//! |---|---|
//! | `allocator.rs` | the stages in order |
//! | `order.rs` | points, loops |
//! | `scan.rs` | the walk over the code |
//! | `live.rs` | uses and live ranges |
//! | `machine.rs` | what instructions take from each register: fixed operands, clobbers |
//! | `bundles.rs` | values joined to bundles |
//! | `occupancy.rs` | who is in which register when |
//! | `wants.rs` | what a bundle would like, and its weight |
//! | `queue.rs` | bundles by length |
//! | `search.rs` | assignment and eviction |
//! | `regions.rs` | where a bundle is cut that lives over walls |
//! | `split.rs` | where a bundle is cut |
//! | `tell.rs` | the story for an observer |
//! | `matching.rs` | registers for the operands of one instruction |
//! | `places.rs` | where each value is at each point, and slots |
//! | `second_chance.rs` | gaps between pieces filled |
//! | `sink_stores.rs` | stores moved to where values leave registers |
//! | `operands.rs` | locations of operands, copies around instructions |
//! | `emit.rs` | edits and the rest of the answer |
//! | `edges.rs` | edits of edges |
//!
//! Known limits: a parameter that is still live where its next value is computed is copied on the edge, where that may
//! need a block; values whose live ranges are too long to find within a budget are in memory but for single instructions.

mod allocator;
mod bundles;
mod edges;
mod emit;
mod live;
mod machine;
mod matching;
mod occupancy;
mod operands;
mod order;
mod places;
mod queue;
mod regions;
mod scan;
mod search;
mod second_chance;
mod sink_stores;
mod split;
mod tell;
mod wants;

pub use allocator::Backtracking;
