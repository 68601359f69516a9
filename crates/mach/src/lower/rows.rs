//! Sets of rows that every machine has under its own names. Destinations come first.

use crate::row::RowId;
use kingpost_ir::atomic_rmw_op::AtomicRmwOp;
use kingpost_regalloc::PRegSet;

/// Rows that every machine has under its own name. Destinations come first.
#[derive(Clone, Copy, Debug)]
pub struct CommonRows {
    /// Row of parameters: defs only, no bytes.
    pub entry: RowId,
    /// Return from the function.
    pub ret: RowId,
    /// Jump to the block in `aux`.
    pub jump: RowId,
    /// Branch to the block in `aux` on a condition, else to the block in `extra`.
    pub branch_if: CondRows,
    /// Jump to one of two targets by number, else to the next one. The immediate is the index of the first target.
    pub chain2: RowId,
    /// Jump to one of three targets by number, else to the next one. The immediate is the index of the first target.
    pub chain3: RowId,
    /// Trap.
    pub trap: RowId,
    /// Trap on a condition.
    pub trap_if: CondRows,
    /// Breakpoint for debuggers.
    pub breakpoint: RowId,
    /// Location that debug information records.
    pub sequence_point: RowId,
    /// Calls.
    pub call: CallRows,
    /// Calls with handlers. They end their blocks.
    pub try_call: CallRows,
    /// Address of the target block whose number is the immediate.
    pub block_address: RowId,
    /// Copy of 32 bits.
    pub move32: RowId,
    /// Copy of 64 bits.
    pub move64: RowId,
    /// Sum of two registers.
    pub add64: RowId,
    /// Right shift of 32 bits by the immediate, with zeros shifted in.
    pub shift_right32: RowId,
    /// Right shift of 64 bits by the immediate, with zeros shifted in.
    pub shift_right64: RowId,
    /// Copy of the low 32 bits of an integer register to a float register.
    pub int_to_float32: RowId,
    /// Copy of 64 bits of an integer register to a float register.
    pub int_to_float64: RowId,
    /// Copy of the low 32 bits of a float register to an integer register.
    pub float_to_int32: RowId,
    /// Copy of the low 64 bits of a float register to an integer register.
    pub float_to_int64: RowId,
    /// Constant of 128 zero bits.
    pub zero128: RowId,
    /// Load of a literal of 128 bits.
    pub literal128: RowId,
    /// Address without registers: of a near symbol, in the frame, or of a jump table.
    pub address: RowId,
    /// Address of a symbol, from the global offset table.
    pub address_got: RowId,
    /// Address of a symbol that may be anywhere, in code with a fixed address.
    pub address_absolute: RowId,
    /// Address of a thread-local symbol. The immediate is the number of the routine's name, if there is one.
    pub tls_address: RowId,
    /// Address of a thread-local symbol of the module with an index (Windows), and the registers that the row writes
    /// besides. The immediate is the number of the index's name.
    pub tls_of_index: (RowId, PRegSet),
    /// Address of a thread-local symbol with a descriptor of its own (macOS), and the registers that the row writes
    /// besides.
    pub tls_of_variable: (RowId, PRegSet),
    /// Switch to another stack.
    pub stack_switch: RowId,
    /// Read of the frame pointer.
    pub frame_pointer: RowId,
    /// Read of the stack pointer.
    pub stack_pointer: RowId,
    /// Read of the pinned register.
    pub pinned: RowId,
    /// Write of the pinned register.
    pub set_pinned: RowId,
    /// Arithmetic on integers of 128 bits.
    pub wide: WideRows,
    /// Atomic operations on 16 bytes.
    pub pairs: PairRows,
}

/// Rows that call a function, or jump to it after the epilogue.
#[derive(Clone, Copy, Debug)]
pub struct CallRows {
    /// To a symbol that is near.
    pub near: RowId,
    /// To a symbol that may be anywhere, in position-independent code.
    pub far: RowId,
    /// To the address in a register.
    pub reg: RowId,
}

/// Rows for one condition, for the disjunction of two, and for the conjunction of two. The second condition is the
/// upper half of the immediate.
pub type CondRows = [RowId; 3];

/// Rows of arithmetic on halves of 64 bits. Destinations come first.
#[derive(Clone, Copy, Debug)]
pub struct WideRows {
    /// Sum of the low halves, which sets the carry, and sum of the high halves and the carry.
    pub add: [RowId; 2],
    /// Difference of the low halves, which sets the borrow, and difference of the high halves and the borrow.
    pub sub: [RowId; 2],
    /// Bitwise and.
    pub and: RowId,
    /// Bitwise exclusive or.
    pub xor: RowId,
    /// Right shift by the immediate, with copies of the sign shifted in.
    pub shift_right_signed: RowId,
}

/// Loops of operations on 16 bytes. Destinations are the old value and, except in `swap`, two temporaries.
#[derive(Clone, Copy, Debug)]
pub struct PairRows {
    /// The operand replaces the value.
    pub swap: RowId,
    /// Bitwise and.
    pub and: RowId,
    /// Complement of bitwise and.
    pub nand: RowId,
    /// Bitwise or.
    pub or: RowId,
    /// Bitwise exclusive or.
    pub xor: RowId,
    /// Addition, in little-endian and in big-endian byte order.
    pub add: [RowId; 2],
    /// Unsigned minimum, in little-endian and in big-endian byte order.
    pub umin: [RowId; 2],
    /// Unsigned maximum, in little-endian and in big-endian byte order.
    pub umax: [RowId; 2],
    /// Signed minimum, in little-endian and in big-endian byte order.
    pub smin: [RowId; 2],
    /// Signed maximum, in little-endian and in big-endian byte order.
    pub smax: [RowId; 2],
}

impl PairRows {
    /// Returns the row of an operation. A subtraction adds the negated operand.
    pub(super) fn row(&self, op: AtomicRmwOp, is_big: bool) -> RowId {
        let by_order = |rows: [RowId; 2]| rows[usize::from(is_big)];
        match op {
            AtomicRmwOp::Xchg => self.swap,
            AtomicRmwOp::And => self.and,
            AtomicRmwOp::Nand => self.nand,
            AtomicRmwOp::Or => self.or,
            AtomicRmwOp::Xor => self.xor,
            AtomicRmwOp::Add | AtomicRmwOp::Sub => by_order(self.add),
            AtomicRmwOp::Umin => by_order(self.umin),
            AtomicRmwOp::Umax => by_order(self.umax),
            AtomicRmwOp::Smin => by_order(self.smin),
            AtomicRmwOp::Smax => by_order(self.smax),
        }
    }
}
