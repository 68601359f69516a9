//! Decoupled register allocation on SSA form: memory is decided by distances to next uses, registers by colouring along
//! the dominator tree. A value's register may change at any point; its slot never does.
//!
//! | phase | file | does |
//! |---|---|---|
//! | liveness | `order.rs`, `next_use.rs`, `liveness.rs` | live sets at block heads, distances to next uses |
//! | | `constraints.rs` | .. what can be computed again, which instructions take registers |
//! | coalescing | `coalescing.rs` | classes of values that share a slot and would like one register |
//! | spilling | `spilling.rs`, `entry_set.rs`, `spill_instruction.rs` | which values are in registers where |
//! | reload | `reload.rs` | where values that are in no register come from, and when they are stored |
//! | coloring | `register_hints.rs` | the register each class would like |
//! | | `coloring.rs` | .. the register map through blocks |
//! | | `fast_path.rs`, `pick_register.rs` | .. instructions without demands |
//! | | `fixed_operands.rs` | .. instructions with bound operands and clobbers only |
//! | | `instruction.rs`, `matching.rs`, `live_through.rs` | .. all operands of one instruction with any demands |
//! | | `block_entry.rs`, `edges.rs`, `moves.rs` | .. what a block finds, and the moves on edges |
//! | emission | `slots.rs` | memory for classes, one after another |
//! | | `labels.rs`, `emit.rs` | .. the answer |

mod allocator;
mod block_entry;
mod coalescing;
mod coloring;
mod constraints;
mod edges;
mod emit;
mod entry_set;
mod fast_path;
mod fixed_operands;
mod instruction;
mod labels;
mod live_through;
mod liveness;
mod matching;
mod moves;
mod next_use;
mod order;
mod pick_register;
mod register_hints;
mod reload;
mod slots;
mod spill_instruction;
mod spilling;

pub use allocator::SsaAllocator;
