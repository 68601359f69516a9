//! Instruction selection: a table with one line per opcode, and one short function per opcode or family.
//!
//! | file | holds |
//! |---|---|
//! | `table.rs` | **the table**: the function that lowers each opcode, by category of type |
//! | `tiles.rs` | the list of local patterns |
//! | `machine.rs` | the interface to `kingpost_mach::lower`, the library for all targets |
//! | `cx.rs` | context of lowering functions, and rows by width |
//! | `address.rs` | memory operands from address computations |
//! | `operand.rs` | second operands: immediates, shifted and extended registers |
//! | `condition.rs` | comparisons into the flags, for their readers |
//! | `condition_codes.rs` | condition codes of comparisons |
//! | `chain.rs` | several comparisons, each made only if it still matters |
//! | `wide.rs` | integers of 128 bits |
//! | `vector/` | vectors |
//! | all further files | words and floats, by family |
//!
//! Integers narrower than 32 bits are computed in 32-bit registers whose upper bits are undefined; they are extended
//! only where an operation depends on these bits. The walk runs backwards (see `kingpost_mach::lower`), so a use is
//! lowered before its definition and decides whether to fold it.

mod address;
mod atomic;
mod bits;
mod branch;
mod chain;
mod compare;
mod condition;
mod condition_codes;
mod convert;
mod cx;
mod fconvert;
mod float;
mod fround;
mod int;
mod machine;
mod memory;
mod muldiv;
mod operand;
mod overflow;
mod shift;
pub(crate) mod table;
pub(crate) mod tiles;
mod vector;
mod wide;

pub(crate) use cx::Cx;

use kingpost_mach::lower::LowerResult;
