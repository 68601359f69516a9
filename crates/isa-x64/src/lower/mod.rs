//! Instruction selection: a table with one line per opcode, one short function per opcode or family behind it.
//!
//! | file | holds |
//! |---|---|
//! | `table.rs` | **the table**: which function lowers an opcode at a shape of type |
//! | `machine.rs` | what `kingpost_mach::lower`, the library for all machines, needs of this one |
//! | `cx.rs` | what lowering functions work on, and how rows are found by width |
//! | `address.rs` | memory operands from address computations |
//! | `condition.rs` | comparisons into the flags, for whoever reads them |
//! | `wide.rs`, `vector.rs` | integers of 128 bits, vectors |
//! | the others | words and floats, by family |
//!
//! Integers narrower than 32 bits are computed in 32-bit registers whose upper bits are undefined; they are extended only
//! where an operation looks at them. The walk runs backwards (see `kingpost_mach::lower`), so a use is lowered before
//! its definition and decides whether to fold it.

mod address;
mod atomic;
mod bits;
mod branch;
mod compare;
mod condition;
mod convert;
mod cx;
mod fconvert;
mod float;
mod fround;
mod int;
mod machine;
mod memory;
mod muldiv;
mod overflow;
mod shift;
pub(crate) mod table;
mod vector;
mod wide;

pub(crate) use cx::Cx;

use kingpost_ir::types::{I8, I16, I32};
use kingpost_ir::{InstView, Opcode, Value};
use kingpost_mach::Lower;
use kingpost_mach::lower::{Lowered, is_little};

/// Is `value` always defined by a row that clears its register above the value's bits?
///
/// 32-bit operations do, as the CPU clears the upper half. Narrow loads do, as they are done by `movzx`. Truncations,
/// parameters and call results do not.
pub(crate) fn zero_extends(lower: &Lower<'_>, value: Value) -> bool {
    let Some(inst) = lower.def(value) else { return false };
    let opcode = lower.func.dfg.opcode(inst);
    match lower.ty(value) {
        I32 => matches!(
            opcode,
            Opcode::Iadd
                | Opcode::Isub
                | Opcode::Ineg
                | Opcode::Imul
                | Opcode::Band
                | Opcode::Bor
                | Opcode::Bxor
                | Opcode::Bnot
                | Opcode::Ishl
                | Opcode::Ushr
                | Opcode::Sshr
                | Opcode::Rotl
                | Opcode::Rotr
                | Opcode::Iconst
                | Opcode::Uextend
                | Opcode::Sextend
                | Opcode::Load
                | Opcode::Uload8
                | Opcode::Sload8
                | Opcode::Uload16
                | Opcode::Sload16
                | Opcode::Udiv
                | Opcode::Urem
                | Opcode::Sdiv
                | Opcode::Srem
                | Opcode::Select
                | Opcode::Popcnt
                | Opcode::Clz
                | Opcode::Ctz
        ),
        I8 => opcode == Opcode::Load,
        // Bytes are exchanged in 16 bits only.
        I16 => {
            opcode == Opcode::Load
                && matches!(lower.func.dfg.view(inst), InstView::Load { flags, .. } if is_little(flags))
        }
        _ => false,
    }
}
