//! Linear scan register allocation on SSA form with interval splitting.
//!
//! | stage | file | does |
//! |---|---|---|
//! //! | survey | `survey.rs` | one pass over the code, for the next two |
//! | | `values.rs` | what the stages know of each value |
//! | liveness | `liveness.rs`, `live_blocks.rs` | uses and live ranges of each value |
//! | hints | `hints.rs` | registers that values wish for, and the instructions that take registers from them |
//! | walk | `walk.rs` | gives out registers from the first to the last instruction |
//! | | `block.rs`, `loops.rs` | .. what is where as a block begins |
//! | | `instruction.rs`, `simple.rs`, `copies.rs`, `plan.rs`, `exact.rs` | .. all operands of one instruction |
//! | | `displace.rs`, `place.rs` | .. making room for them, and who lives where afterwards |
//! | | `choose.rs`, `spill.rs`, `residence.rs` | .. which register, who must leave one, the record of it |
//! | resolution | `resolve.rs`, `edges.rs` | moves on edges, and where spilled values are stored |
//! | slots | `slot_classes.rs`, `slots.rs` | memory for spilled values |
//! | emission | `emit.rs`, `labels.rs` | the answer |

mod allocator;
mod block;
mod choose;
mod copies;
mod displace;
mod edges;
mod emit;
mod hints;
mod instruction;
mod labels;
mod liveness;
mod loops;
mod place;
mod plan;
mod residence;
mod resolve;
mod simple;
mod slot_coalescing;
mod spill;
mod survey;
mod values;
mod walk;

pub use allocator::LinearScan;
