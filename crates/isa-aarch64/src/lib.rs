//! The AArch64 instruction set: lowering, instruction rows, encoding, calling conventions.
//!
//! | file | holds |
//! |---|---|
//! | `regs.rs` | registers and condition codes: numbers, names, allocated registers |
//! | `rows/` | the instruction table, one line per form |
//! | `encoding.rs` | encoding of a line, as data |
//! | `immediates.rs` | constants that fit into fields of instructions |
//! | `plain.rs` | words of an instruction without memory operand, from row and encoding |
//! | `encode.rs` | words of any instruction |
//! | `address.rs` | addresses that an instruction cannot encode |
//! | `asm.rs` | text of one instruction, from row and encoding |
//! | `emit.rs` | instructions that depend on blocks or the frame, and edits |
//! | `pairs.rs` | neighboring loads or stores become one |
//! | `branches.rs` | branches to labels, and other references with a limited reach |
//! | `atomic_loop.rs`, `atomic_pair_loop.rs` | loops of exclusive loads and stores |
//! | `frame.rs` | prologue and epilogue |
//! | `mirrored.rs` | frames on Windows |
//! | `frame_parts.rs` | parts of all frames |
//! | `stack_switch.rs` | the switch to another stack |
//! | `tls.rs` | the address of a thread-local symbol |
//! | `stack_check.rs` | the check that a frame stays above the stack limit |
//! | `lower/` | instruction selection, one line per opcode |
//! | `abi.rs` | places of arguments and results |
//! | `flags.rs` | CPU flags |
//! | `isa.rs` | the interface of the instruction set to the compiler |
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
mod frame_parts;
pub mod immediates;
mod isa;
mod lower;
mod mirrored;
mod pairs;
mod plain;
pub mod regs;
pub mod rows;
mod stack_check;
pub mod stack_switch;
pub mod tls;

pub use a64::A64;
pub use flags::A64Flags;
