//! Decoupled register allocation on SSA form: spilling decides by distances to next uses, coloring assigns
//! registers along the dominator tree. A value's register may change at any point; its slot never does.
//!
//! Each phase is a function of the results of earlier phases. Its result is a struct with a text form (`dump`) and
//! a verifier. A problem and the text of one phase form a test in `filetests/regalloc/ssa`.
//!
//! | phase | file | purpose |
//! |---|---|---|
//! | liveness | `liveness.rs` | **result**: live values at block heads, distances to next uses |
//! | | `uses.rs`, `next_use.rs`, `constraints.rs` | .. one walk over all operands, and other facts that it collects |
//! | | `bare_jumps.rs` | .. blocks that are passed over as edges |
//! | coalescing | `coalescing.rs` | **result**: classes of values that share a slot and a register hint |
//! | spilling | `spill_plan.rs` | **result**: the values in registers at block ends, and the transfers in between |
//! | | `spilling.rs`, `register_set.rs` | .. the walk over blocks with the set of values in registers |
//! | | `entry_set.rs`, `spill_instruction.rs`, `spill_fit.rs` | .. the set at a block's head, and at an instruction |
//! | | `saved_registers.rs` | .. the callee-saved registers that pay |
//! | reload | `reload.rs` | **result**: all traffic between registers and memory, on edges too |
//! | register_hints | `register_hints.rs`, `preference.rs` | **result**: one register per class |
//! | coloring | `assignment.rs` | **result**: the registers of values at block ends, and edits in between |
//! | | `coloring.rs`, `register_map.rs` | .. the walk over blocks with the map of registers |
//! | | `block_entry.rs`, `picker.rs`, `pick_register.rs` | .. the map at a block's head, and the register of one value |
//! | | `fast_path.rs` | .. unconstrained instructions |
//! | | `instruction.rs`, `instruction_scratch.rs`, `live_through.rs` | .. constrained instructions |
//! | | `demands.rs` | .. the registers that one needs, for spilling as well |
//! | resolve | `resolve.rs` | the allocation: edits of blocks, moves of edges |
//! | | `class_slots.rs`, `slots.rs`, `stack_maps.rs` | .. slots, stack maps |
//!
//! `spill_input.rs` and `color_input.rs` have the results that later phases read, `tables.rs` the helpers that all
//! phases share.
//!
//! The observer receives events that `events.rs` derives from these results.
//!
//! ```
//! use kingpost_regalloc::text::parse;
//! use kingpost_regalloc::{Allocation, Allocator};
//! use kingpost_regalloc_ssa::SsaAllocator;
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
//! SsaAllocator::default().allocate(problem, &env, &mut answer).unwrap();
//! assert!(answer.edits.is_empty(), "every value stays in its register");
//! ```

mod allocator;
mod assignment;
mod bare_jumps;
mod block_entry;
mod class_slots;
mod coalescing;
mod color_input;
mod coloring;
mod constraints;
mod demands;
mod entry_set;
mod events;
mod fast_path;
mod instruction;
mod instruction_scratch;
mod live_through;
mod liveness;
mod next_use;
mod pick_register;
mod picker;
#[cfg(test)]
mod planted_faults;
mod preference;
mod register_hints;
mod register_map;
mod register_set;
mod reload;
mod resolve;
mod saved_registers;
mod slots;
mod spill_fit;
mod spill_input;
mod spill_instruction;
mod spill_plan;
mod spilling;
mod stack_maps;
mod tables;
mod uses;

pub use allocator::SsaAllocator;
