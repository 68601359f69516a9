//! Memory operands of instructions whose registers are known and whose frame is laid out.

use crate::inst::IndexExtend;
use kingpost_regalloc::PReg;

/// Base of a memory operand after allocation and frame layout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MemBase {
    /// A register.
    Reg(PReg),
    /// The stack pointer.
    StackPointer,
    /// The frame pointer.
    FramePointer,
    /// A symbol, by its index into the code's symbols.
    Symbol(u32),
    /// A jump table.
    Table(u32),
}

/// A memory operand after allocation and frame layout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mem {
    /// Base of the address.
    pub base: MemBase,
    /// Index register with its shift and extension.
    pub index: Option<(PReg, u8, IndexExtend)>,
    /// Displacement in bytes.
    pub disp: i64,
}

impl Mem {
    /// Returns the memory at `base + disp`.
    pub fn base(base: MemBase, disp: i64) -> Mem {
        Mem { base, index: None, disp }
    }
}
