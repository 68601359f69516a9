//! Decoupled register allocation on SSA form: memory is decided by distances to next uses, registers by colouring along
//! the dominator tree. A value's register may change at any point; its slot never does.
//!
//! | phase | file | does |
//! |---|---|---|
//! | liveness | `order.rs`, `uses.rs`, `liveness.rs` | live sets at block heads, distances to next uses |
//! | | `facts.rs` | .. what can be computed again, which instructions take registers |
//! | coalescing | `coalescing.rs` | classes of values that share a slot and would like one register |
//! | spilling | `spilling.rs`, `spill_entry.rs`, `spill_instruction.rs` | which values are in registers where |
//! | reload | `reload.rs` | where values that are in no register come from, and when they are stored |
//! | coloring | `homes.rs` | the register each class would like |
//! | | `coloring.rs` | .. the register map through blocks |
//! | | `simple.rs`, `choose.rs` | .. instructions without demands |
//! | | `bound.rs` | .. instructions with bound operands and clobbers only |
//! | | `instruction.rs`, `matching.rs`, `survivors.rs` | .. all operands of one instruction with any demands |
//! | | `join.rs`, `edges.rs`, `moves.rs` | .. what a block finds, and the moves on edges |
//! | emission | `slots.rs` | memory for classes, one after another |
//! | | `labels.rs`, `emit.rs` | .. the answer |

mod allocator;
mod bound;
mod choose;
mod coalescing;
mod coloring;
mod edges;
mod emit;
mod facts;
mod homes;
mod instruction;
mod join;
mod labels;
mod liveness;
mod matching;
mod moves;
mod order;
mod reload;
mod simple;
mod slots;
mod spill_entry;
mod spill_instruction;
mod spilling;
mod survivors;
mod uses;

pub use allocator::SsaAllocator;
