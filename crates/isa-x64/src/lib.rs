//! The x86-64 instruction set: lowering, instruction rows, encoding, calling conventions.
//!
//! | file | holds |
//! |---|---|
//! | `regs.rs` | registers and condition codes: numbers, names, allocated registers |
//! | `rows/` | the instruction table, one line per form |
//! | `encoding.rs` | encoding of a line, as data |
//! | `recipe.rs` | constant parts of the encodings of a row, from row and encoding |
//! | `encode.rs` | bytes of one instruction |
//! | `asm.rs` | text of one instruction, from row and encoding |
//! | `emit.rs` | instructions that depend on blocks or the frame |
//! | `edit.rs` | edits of allocators |
//! | `branches.rs` | branches to labels |
//! | `atomic_loop.rs`, `atomic_pair_loop.rs` | loops around `lock cmpxchg` and `lock cmpxchg16b` |
//! | `frame.rs` | prologue and epilogue |
//! | `stack_switch.rs` | the switch to another stack |
//! | `tls.rs` | the address of a thread-local symbol |
//! | `stack_check.rs` | the check of the stack limit in the prologue |
//! | `lower/` | instruction selection, one line per opcode |
//! | `abi.rs` | places of arguments and results |
//! | `flags.rs` | CPU flags and presets |
//! | `isa.rs` | the interface of the instruction set to the compiler |
//!
//! ```
//! use kingpost_isa_x64::encode::encode;
//! use kingpost_isa_x64::{asm, regs, rows};
//! use kingpost_mach::{Args, Buffer};
//!
//! let (row, args) = (rows::ADD_RI.of(64), Args::imm(&[regs::RCX, regs::RCX], 5));
//! let mut buffer = Buffer::default();
//! buffer.start(0);
//! encode(row, &args, &mut buffer);
//! assert_eq!(asm::text(row, &args), "add rcx, 5");
//! assert_eq!(buffer.len(), 4);
//! ```

mod abi;
pub mod asm;
mod atomic_loop;
mod atomic_pair_loop;
pub mod branches;
mod edit;
mod emit;
pub mod encode;
pub mod encoding;
mod flags;
mod frame;
mod isa;
mod lower;
mod recipe;
pub mod regs;
pub mod rows;
mod stack_check;
pub mod stack_switch;
pub mod tls;
mod x64;

pub use flags::X64Flags;
pub use x64::X64;
