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
//! | `branches.rs` | branches to labels, and other references with a limited reach |
//! | `frame.rs` | prologue and epilogue |
//! | `abi.rs` | places of arguments and results |
//! | `atomic_loop.rs` | loops of exclusive loads and stores |

mod abi;
mod address;
pub mod asm;
mod atomic_loop;
pub mod branches;
pub mod encode;
pub mod encoding;
mod frame;
pub mod immediates;
pub mod regs;
pub mod rows;
