//! The typed view of an instruction, for pattern matching; see `DataFlowGraph::view`.

use crate::atomic_rmw_op::AtomicRmwOp;
use crate::condcodes::{FloatCC, IntCC};
use crate::entities::{
    Block, Constant, DynamicStackSlot, ExceptionTable, FuncRef, GlobalValue, JumpTable, SigRef, StackSlot, Value,
};
use crate::immediates::{Ieee16, Ieee32, Ieee64};
use crate::instruction::BlockCall;
use crate::memflags::MemFlags;
use crate::trapcode::TrapCode;

/// An instruction by format, with named operands in the order of the text.
#[derive(Copy, Clone, Debug)]
pub enum InstView<'a> {
    /// No operands.
    Nullary,
    /// One value; for instance `ineg`.
    Unary {
        /// The operand.
        arg: Value,
    },
    /// Two values; for instance `iadd`.
    Binary {
        /// The operands.
        args: [Value; 2],
    },
    /// Three values; for instance `select`.
    Ternary {
        /// The operands.
        args: [Value; 3],
    },
    /// Any number of values: `return`.
    MultiAry {
        /// The operands.
        args: &'a [Value],
    },
    /// `iconst`.
    UnaryImm {
        /// The low bits of the constant, zero-extended from its type.
        imm: i64,
    },
    /// `f16const`.
    UnaryIeee16 {
        /// The constant.
        imm: Ieee16,
    },
    /// `f32const`.
    UnaryIeee32 {
        /// The constant.
        imm: Ieee32,
    },
    /// `f64const`.
    UnaryIeee64 {
        /// The constant.
        imm: Ieee64,
    },
    /// `f128const` and `vconst`.
    UnaryConst {
        /// The constant's bytes, in the constant pool.
        constant: Constant,
    },
    /// `extractlane` and `extract_vector`.
    BinaryImm8 {
        /// The vector.
        arg: Value,
        /// The lane.
        imm: u8,
    },
    /// `insertlane`.
    TernaryImm8 {
        /// Vector and lane value.
        args: [Value; 2],
        /// The lane.
        imm: u8,
    },
    /// `shuffle`.
    Shuffle {
        /// The two vectors.
        args: [Value; 2],
        /// Source byte of each lane, lane 0 first.
        mask: &'a [u8; 16],
    },
    /// `icmp`.
    IntCompare {
        /// The condition.
        cond: IntCC,
        /// The operands.
        args: [Value; 2],
    },
    /// `fcmp`.
    FloatCompare {
        /// The condition.
        cond: FloatCC,
        /// The operands.
        args: [Value; 2],
    },
    /// `trap`.
    Trap {
        /// The reason.
        code: TrapCode,
    },
    /// `trapz` and `trapnz`.
    CondTrap {
        /// The condition.
        arg: Value,
        /// The reason.
        code: TrapCode,
    },
    /// `uadd_overflow_trap`.
    IntAddTrap {
        /// The summands.
        args: [Value; 2],
        /// The reason.
        code: TrapCode,
    },
    /// All loads with an offset.
    Load {
        /// Memory flags.
        flags: MemFlags,
        /// The address.
        addr: Value,
        /// Added to the address, in bytes.
        offset: i32,
    },
    /// All stores with an offset.
    Store {
        /// Memory flags.
        flags: MemFlags,
        /// Stored value.
        value: Value,
        /// The address.
        addr: Value,
        /// Added to the address, in bytes.
        offset: i32,
    },
    /// `atomic_load` and `bitcast`.
    LoadNoOffset {
        /// Memory flags.
        flags: MemFlags,
        /// The address, or the operand of the cast.
        arg: Value,
    },
    /// `atomic_store`.
    StoreNoOffset {
        /// Memory flags.
        flags: MemFlags,
        /// Stored value.
        value: Value,
        /// The address.
        addr: Value,
    },
    /// `atomic_rmw`.
    AtomicRmw {
        /// Memory flags.
        flags: MemFlags,
        /// The operation.
        op: AtomicRmwOp,
        /// The address.
        addr: Value,
        /// The operand.
        value: Value,
    },
    /// `atomic_cas`.
    AtomicCas {
        /// Memory flags.
        flags: MemFlags,
        /// The address.
        addr: Value,
        /// The value for which memory is changed.
        expected: Value,
        /// The new value.
        new: Value,
    },
    /// `stack_addr`.
    StackAddr {
        /// The slot.
        slot: StackSlot,
        /// From the slot's first byte, in bytes.
        offset: i32,
    },
    /// `dynamic_stack_addr`.
    DynamicStackAddr {
        /// The slot.
        slot: DynamicStackSlot,
    },
    /// `symbol_value` and `tls_value`.
    UnaryGlobalValue {
        /// The global value.
        global: GlobalValue,
    },
    /// `func_addr`.
    FuncAddr {
        /// The function.
        func: FuncRef,
    },
    /// `get_exception_handler_address`.
    ExceptionHandlerAddress {
        /// The block that ends in a `try_call`.
        block: Block,
        /// Index of the exceptional edge.
        index: i64,
    },
    /// `jump`.
    Jump {
        /// Destination.
        dest: BlockCall,
    },
    /// `brif`.
    Brif {
        /// The condition.
        cond: Value,
        /// Destination if it is not zero.
        then_dest: BlockCall,
        /// Destination if it is zero.
        else_dest: BlockCall,
    },
    /// `br_table`.
    BranchTable {
        /// The index.
        index: Value,
        /// The destinations.
        table: JumpTable,
    },
    /// `call` and `return_call`.
    Call {
        /// The function.
        func: FuncRef,
        /// Its arguments.
        args: &'a [Value],
    },
    /// `call_indirect` and `return_call_indirect`.
    CallIndirect {
        /// The signature.
        sig: SigRef,
        /// The address.
        callee: Value,
        /// The arguments, without the address.
        args: &'a [Value],
    },
    /// `try_call`.
    TryCall {
        /// The function.
        func: FuncRef,
        /// Its arguments.
        args: &'a [Value],
        /// Destinations.
        table: ExceptionTable,
    },
    /// `try_call_indirect`.
    TryCallIndirect {
        /// The address.
        callee: Value,
        /// The arguments, without the address.
        args: &'a [Value],
        /// Destinations, and the signature.
        table: ExceptionTable,
    },
}
