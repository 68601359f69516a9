//! The AArch64 instruction set: lowering, instruction rows, encoding, calling conventions.
//!
//! | file | holds |
//! |---|---|
//! | `regs.rs` | registers and condition codes: numbers, names, what is allocated |
//! | `rows/` | the instruction table, one line per form |
//! | `encoding.rs` | what a line can say about its encoding |
//! | `immediates.rs` | which constants fit into which fields |
//! | `encode.rs` | the words of one instruction, from the two |
//! | `address.rs` | addresses that an instruction cannot say |
//! | `asm.rs` | text of one instruction, likewise |
//! | `emit.rs` | what also depends on blocks or the frame, and edits |
//! | `pairs.rs` | neighboring loads or stores become one |
//! | `branches.rs` | branches to labels, and other references with a limited reach |
//! | `atomic_loop.rs`, `atomic_pair_loop.rs` | loops of exclusive loads and stores |
//! | `frame.rs` | prologue and epilogue |
//! | `stack_switch.rs` | going on with another stack |
//! | `tls.rs` | the address of a thread-local symbol |
//! | `stack_check.rs` | the check that a frame stays above the stack's limit |
//! | `lower/` | instruction selection, one line per opcode |
//! | `abi.rs` | places of arguments and results |
//! | `flags.rs` | CPU flags |
//! | `isa.rs` | the instruction set as the rest of the compiler sees it |
//!
//! ```
//! use kingpost_isa_aarch64::encode::encode;
//! use kingpost_isa_aarch64::{asm, regs, rows};
//! use kingpost_mach::{Args, Buffer};
//!
//! let (row, regs) = (rows::ADD_RRI.of(64), [regs::x(0), regs::x(1)]);
//! let args = Args::imm(&regs, 5);
//! let mut buffer = Buffer::default();
//! buffer.start(0);
//! encode(row, &args, &mut buffer);
//! assert_eq!(asm::text(row, &args), "add x0, x1, #5");
//! assert_eq!(buffer.len(), 4);
//! ```

mod a64;
mod abi;
mod address;
pub mod asm;
mod atomic_loop;
mod atomic_pair_loop;
pub mod branches;
mod emit;
pub mod encode;
pub mod encoding;
mod flags;
mod frame;
pub mod immediates;
mod isa;
mod lower;
mod pairs;
pub mod regs;
pub mod rows;
mod stack_check;
pub mod stack_switch;
pub mod tls;

pub use a64::A64;
pub use flags::A64Flags;
