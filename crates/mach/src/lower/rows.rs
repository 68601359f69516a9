//! Sets of rows that every machine has under names of its own. Destinations come first.

use crate::row::RowId;
use kingpost_ir::atomic_rmw_op::AtomicRmwOp;

/// Rows that every machine has under a name of its own. Destinations come first.
#[derive(Clone, Copy, Debug)]
pub struct CommonRows {
    /// Row of parameters: defs only, no bytes.
    pub entry: RowId,
    /// Out of the function.
    pub ret: RowId,
    /// To the block in `aux`.
    pub jump: RowId,
    /// To the block in `aux` on a condition, else to the one in `extra`.
    pub branch_if: CondRows,
    /// To one of two targets by number, else to the next; the immediate is where they begin.
    pub chain2: RowId,
    /// As `chain2`, of three.
    pub chain3: RowId,
    /// A trap.
    pub trap: RowId,
    /// A trap on a condition.
    pub trap_if: CondRows,
    /// A stop for debuggers.
    pub breakpoint: RowId,
    /// A place that debug information records.
    pub sequence_point: RowId,
    /// Calls.
    pub call: CallRows,
    /// Calls with handlers, which end their blocks.
    pub try_call: CallRows,
    /// The address of the block that is the target with the number in the immediate.
    pub block_address: RowId,
    /// A copy of 32 bits.
    pub move32: RowId,
    /// A copy of 64 bits.
    pub move64: RowId,
    /// The sum of two registers.
    pub add64: RowId,
    /// A shift to the right by the immediate, zeros coming in, in 32 bits.
    pub shift_right32: RowId,
    /// As `shift_right32`, in 64 bits.
    pub shift_right64: RowId,
    /// The low 32 bits of an integer register to a float register.
    pub int_to_float32: RowId,
    /// 64 bits of an integer register to a float register.
    pub int_to_float64: RowId,
    /// The low 32 bits of a float register to an integer register.
    pub float_to_int32: RowId,
    /// The low 64 bits of a float register to an integer register.
    pub float_to_int64: RowId,
    /// 128 zero bits.
    pub zero128: RowId,
    /// A load of a literal of 128 bits.
    pub literal128: RowId,
    /// An address without registers: of a near symbol, of a place in the frame, of a jump table.
    pub address: RowId,
    /// The address of a symbol, from the global offset table.
    pub address_got: RowId,
    /// The address of a symbol that may be anywhere, in code with a fixed place.
    pub address_absolute: RowId,
    /// The address of a thread-local symbol. The immediate is the number of the routine's name, if there is one.
    pub tls_address: RowId,
    /// Goes on with another stack.
    pub stack_switch: RowId,
    /// The frame pointer.
    pub frame_pointer: RowId,
    /// The stack pointer.
    pub stack_pointer: RowId,
    /// The pinned register.
    pub pinned: RowId,
    /// Writes the pinned register.
    pub set_pinned: RowId,
    /// Arithmetic on integers of 128 bits.
    pub wide: WideRows,
    /// Atomic operations on 16 bytes.
    pub pairs: PairRows,
}

/// Rows that call something, or jump to it with the frame taken down.
#[derive(Clone, Copy, Debug)]
pub struct CallRows {
    /// A symbol that is near.
    pub near: RowId,
    /// A symbol that may be anywhere, in position-independent code.
    pub far: RowId,
    /// The address in a register.
    pub reg: RowId,
}

/// Rows that do something on one condition, on any of two, on both of two. The second one is the upper half of the
/// immediate.
pub type CondRows = [RowId; 3];

/// Rows of arithmetic on halves of 64 bits. Destinations come first.
#[derive(Clone, Copy, Debug)]
pub struct WideRows {
    /// The sum of the low halves, with its carry, and that of the high halves and the carry.
    pub add: [RowId; 2],
    /// As `add`, the difference.
    pub sub: [RowId; 2],
    /// Bitwise and.
    pub and: RowId,
    /// Bitwise exclusive or.
    pub xor: RowId,
    /// A shift to the right by the immediate, copies of the sign coming in.
    pub shift_right_signed: RowId,
}

/// Loops of operations on 16 bytes. Destinations are the old value, and but for `swap` two temporaries.
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
    /// Unsigned minimum, as `add`.
    pub umin: [RowId; 2],
    /// Unsigned maximum, as `add`.
    pub umax: [RowId; 2],
    /// Signed minimum, as `add`.
    pub smin: [RowId; 2],
    /// Signed maximum, as `add`.
    pub smax: [RowId; 2],
}

impl PairRows {
    /// Returns the row of an operation. What is subtracted is negated and added.
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
