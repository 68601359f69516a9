//! The x86-64 instruction set: lowering, instruction rows, encoding, calling conventions.
//!
//! | file | holds |
//! |---|---|
//! | `regs.rs` | registers and condition codes: numbers, names, what is allocated |
//! | `rows/` | the instruction table, one line per form |
//! | `encoding.rs` | what a line can say about its encoding |

pub mod encoding;
pub mod regs;
pub mod rows;
