//! Decoupled register allocation on SSA form: memory is decided by distances to next uses, registers by colouring along
//! the dominator tree. A value's register may change at any point; its slot never does.
//!
//! | phase | file | does |
//! |---|---|---|
//! | liveness | `liveness.rs` | live sets at block heads, distances to next uses |
//! | | `taken.rs` | .. instructions that take registers from values |
//! | coalescing | `coalescing.rs` | classes of values that wish for one register |
//! | spilling | `spilling.rs` | which values loops find in registers |
//! | reload | `reload.rs` | where values that are in no register come from |
//! | coloring | `coloring.rs` | the register map through blocks |
//! | | `instruction.rs`, `matching.rs` | .. all operands of one instruction |
//! | | `edges.rs` | .. what a block finds, and the moves on edges |
//! | emission | `emit.rs` | the answer |

mod allocator;
mod coalescing;
mod coloring;
mod edges;
mod emit;
mod instruction;
mod liveness;
mod matching;
mod reload;
mod spilling;
mod taken;

pub use allocator::SsaAllocator;
