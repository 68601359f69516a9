//! Instructions in their packed, stored form, and block calls.
//!
//! An instruction has sixteen bytes: the opcode, one byte for a small immediate (condition code, lane, trap code,
//! operation), the controlling type, and three words. Operand values come first in the words. Operand lists that do
//! not fit are in the data flow graph's pool, where an exception table may precede the list. [`crate::InstView`]
//! shows the meaning of the words.

use crate::atomic_rmw_op::AtomicRmwOp;
use crate::condcodes::{FloatCC, IntCC};
use crate::entities::{Block, Constant, DynamicStackSlot, FuncRef, GlobalValue, ShuffleMask, StackSlot, Value};
use crate::immediates::{Ieee16, Ieee32, Ieee64};
use crate::memflags::MemFlags;
use crate::opcodes::{ARGS_LIST, Format, INLINE_ARGS, Opcode};
use crate::pool::List;
use crate::trapcode::TrapCode;
use crate::types::{self, Type};

/// A stored instruction.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct InstData {
    pub(crate) opcode: Opcode,
    pub(crate) small: u8,
    /// The controlling type. In the formats `Store`, `StoreNoOffset` and `AtomicCas`, the upper sixteen of the 24
    /// bits of memory flags instead; `small` holds the lower eight.
    pub(crate) ty: Type,
    pub(crate) words: [Value; 3],
}

const _: () = assert!(size_of::<InstData>() == 16);

const ZERO: Value = Value(0);

/// An argument of a block call.
#[derive(Copy, Clone, PartialEq, Eq, Hash)]
pub struct BlockArg(u32);

/// Meaning of a [`BlockArg`].
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum BlockArgKind {
    /// A value.
    Value(Value),
    /// Result N of the `try_call`, on its normal edge.
    TryCallRet(u32),
    /// Payload N of the exception, on an exceptional edge.
    TryCallExn(u32),
}

const RET: u32 = 0b10 << 30;
const EXN: u32 = 0b11 << 30;

impl BlockArg {
    /// Upper limit of the numbers of `retN` and `exnN`, exclusive.
    pub const MAX_NUMBER: u32 = 1 << 30;
    /// Upper limit of the indices of values that are block arguments, exclusive.
    pub const MAX_VALUE: u32 = 1 << 31;

    /// Packs an argument. Numbers must be below the limits.
    pub fn new(kind: BlockArgKind) -> BlockArg {
        match kind {
            BlockArgKind::Value(value) => {
                debug_assert!(value.0 < BlockArg::MAX_VALUE);
                BlockArg(value.0)
            }
            BlockArgKind::TryCallRet(number) => BlockArg(number & !EXN | RET),
            BlockArgKind::TryCallExn(number) => BlockArg(number | EXN),
        }
    }

    /// Returns the meaning of the argument.
    pub fn kind(self) -> BlockArgKind {
        match self.0 & EXN {
            RET => BlockArgKind::TryCallRet(self.0 & !EXN),
            EXN => BlockArgKind::TryCallExn(self.0 & !EXN),
            _ => BlockArgKind::Value(Value(self.0)),
        }
    }

    /// Returns the value, if the argument is one.
    pub fn value(self) -> Option<Value> {
        match self.kind() {
            BlockArgKind::Value(value) => Some(value),
            BlockArgKind::TryCallRet(_) | BlockArgKind::TryCallExn(_) => None,
        }
    }
}

impl From<Value> for BlockArg {
    fn from(value: Value) -> Self {
        BlockArg::new(BlockArgKind::Value(value))
    }
}

impl std::fmt::Debug for BlockArg {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        self.kind().fmt(f)
    }
}

/// A destination of a branch, with the arguments for its parameters. `DataFlowGraph::block_args` returns the
/// arguments.
#[derive(Copy, Clone, Hash, Debug)]
pub struct BlockCall {
    /// The destination.
    pub block: Block,
    pub(crate) args: List<BlockArg>,
}

/// A range of consecutive block calls of the data flow graph: the edges of one terminator.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Edges {
    pub(crate) start: u32,
    pub(crate) len: u32,
}

impl Edges {
    pub(crate) fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.start as usize + self.len as usize
    }
}

/// Constructors of instructions without operand lists. The `*_data` functions of the data flow graph make
/// instructions with lists.
impl InstData {
    fn raw(opcode: Opcode, small: u8, ty: Type, words: [Value; 3]) -> InstData {
        InstData { opcode, small, ty, words }
    }

    fn formatted(opcode: Opcode, format: Format, ty: Type, words: [Value; 3]) -> InstData {
        debug_assert_eq!(opcode.format(), format, "{opcode}");
        InstData::raw(opcode, 0, ty, words)
    }

    fn with_wide_flags(opcode: Opcode, flags: MemFlags, words: [Value; 3]) -> InstData {
        let bits = flags.bits();
        InstData::raw(opcode, bits as u8, Type::from_code((bits >> 8) as u16), words)
    }

    /// Returns the data of an instruction without operands; `ty` is the suffix or `INVALID`.
    pub fn nullary(opcode: Opcode, ty: Type) -> InstData {
        InstData::formatted(opcode, Format::Nullary, ty, [ZERO; 3])
    }

    /// Returns the data of an instruction with one operand.
    pub fn unary(opcode: Opcode, ty: Type, arg: Value) -> InstData {
        InstData::formatted(opcode, Format::Unary, ty, [arg, ZERO, ZERO])
    }

    /// Returns the data of an instruction with two operands.
    pub fn binary(opcode: Opcode, ty: Type, args: [Value; 2]) -> InstData {
        InstData::formatted(opcode, Format::Binary, ty, [args[0], args[1], ZERO])
    }

    /// Returns the data of an instruction with three operands.
    pub fn ternary(opcode: Opcode, ty: Type, args: [Value; 3]) -> InstData {
        InstData::formatted(opcode, Format::Ternary, ty, args)
    }

    /// Returns the data of `iconst`. Keeps only the low bits of `imm` that fit the type.
    #[inline]
    pub fn iconst(ty: Type, imm: i64) -> InstData {
        let bits = imm as u64 & ty.lane_mask() as u64;
        InstData::raw(Opcode::Iconst, 0, ty, [Value(bits as u32), Value((bits >> 32) as u32), ZERO])
    }

    /// Returns the data of `f16const`.
    pub fn f16const(imm: Ieee16) -> InstData {
        InstData::raw(Opcode::F16const, 0, types::F16, [Value(imm.bits().into()), ZERO, ZERO])
    }

    /// Returns the data of `f32const`.
    pub fn f32const(imm: Ieee32) -> InstData {
        InstData::raw(Opcode::F32const, 0, types::F32, [Value(imm.bits()), ZERO, ZERO])
    }

    /// Returns the data of `f64const`.
    pub fn f64const(imm: Ieee64) -> InstData {
        let bits = imm.bits();
        let words = [Value(bits as u32), Value((bits >> 32) as u32), ZERO];
        InstData::raw(Opcode::F64const, 0, types::F64, words)
    }

    /// Returns the data of `vconst` or `f128const`.
    pub fn unary_const(opcode: Opcode, ty: Type, constant: Constant) -> InstData {
        InstData::formatted(opcode, Format::UnaryConst, ty, [Value(constant.0), ZERO, ZERO])
    }

    /// Returns the data of an instruction with a vector and a lane number.
    pub fn binary_imm8(opcode: Opcode, ty: Type, arg: Value, imm: u8) -> InstData {
        debug_assert_eq!(opcode.format(), Format::BinaryImm8);
        InstData::raw(opcode, imm, ty, [arg, ZERO, ZERO])
    }

    /// Returns the data of `insertlane`: vector, lane value, lane number.
    pub fn insertlane(ty: Type, args: [Value; 2], imm: u8) -> InstData {
        InstData::raw(Opcode::Insertlane, imm, ty, [args[0], args[1], ZERO])
    }

    /// Returns the data of `shuffle`.
    pub fn shuffle(args: [Value; 2], mask: ShuffleMask) -> InstData {
        InstData::raw(Opcode::Shuffle, 0, types::INVALID, [args[0], args[1], Value(mask.0)])
    }

    /// Returns the data of `icmp`.
    #[inline]
    pub fn icmp(ty: Type, cond: IntCC, args: [Value; 2]) -> InstData {
        InstData::raw(Opcode::Icmp, cond as u8, ty, [args[0], args[1], ZERO])
    }

    /// Returns the data of `fcmp`.
    pub fn fcmp(ty: Type, cond: FloatCC, args: [Value; 2]) -> InstData {
        InstData::raw(Opcode::Fcmp, cond as u8, ty, [args[0], args[1], ZERO])
    }

    /// Returns the data of `trap`.
    pub fn trap(code: TrapCode) -> InstData {
        InstData::raw(Opcode::Trap, code.byte(), types::INVALID, [ZERO; 3])
    }

    /// Returns the data of `trapz` or `trapnz`.
    pub fn cond_trap(opcode: Opcode, ty: Type, arg: Value, code: TrapCode) -> InstData {
        debug_assert_eq!(opcode.format(), Format::CondTrap);
        InstData::raw(opcode, code.byte(), ty, [arg, ZERO, ZERO])
    }

    /// Returns the data of `uadd_overflow_trap`.
    pub fn int_add_trap(ty: Type, args: [Value; 2], code: TrapCode) -> InstData {
        InstData::raw(Opcode::UaddOverflowTrap, code.byte(), ty, [args[0], args[1], ZERO])
    }

    /// Returns the data of a load with an offset; `ty` is the controlling type.
    pub fn load(opcode: Opcode, ty: Type, flags: MemFlags, addr: Value, offset: i32) -> InstData {
        let words = [addr, Value(offset as u32), Value(flags.bits())];
        InstData::formatted(opcode, Format::Load, ty, words)
    }

    /// Returns the data of a store with an offset.
    pub fn store(opcode: Opcode, flags: MemFlags, value: Value, addr: Value, offset: i32) -> InstData {
        debug_assert_eq!(opcode.format(), Format::Store);
        InstData::with_wide_flags(opcode, flags, [value, addr, Value(offset as u32)])
    }

    /// Returns the data of `atomic_load` or `bitcast`.
    pub fn load_no_offset(opcode: Opcode, ty: Type, flags: MemFlags, arg: Value) -> InstData {
        InstData::formatted(opcode, Format::LoadNoOffset, ty, [arg, ZERO, Value(flags.bits())])
    }

    /// Returns the data of `atomic_store`.
    pub fn atomic_store(flags: MemFlags, value: Value, addr: Value) -> InstData {
        InstData::with_wide_flags(Opcode::AtomicStore, flags, [value, addr, ZERO])
    }

    /// Returns the data of `atomic_rmw`.
    pub fn atomic_rmw(ty: Type, flags: MemFlags, op: AtomicRmwOp, addr: Value, value: Value) -> InstData {
        let words = [addr, value, Value(flags.bits())];
        InstData::raw(Opcode::AtomicRmw, op as u8, ty, words)
    }

    /// Returns the data of `atomic_cas`.
    pub fn atomic_cas(flags: MemFlags, addr: Value, expected: Value, new: Value) -> InstData {
        InstData::with_wide_flags(Opcode::AtomicCas, flags, [addr, expected, new])
    }

    /// Returns the data of `stack_addr`.
    pub fn stack_addr(ty: Type, slot: StackSlot, offset: i32) -> InstData {
        let words = [Value(slot.0), Value(offset as u32), ZERO];
        InstData::raw(Opcode::StackAddr, 0, ty, words)
    }

    /// Returns the data of `dynamic_stack_addr`.
    pub fn dynamic_stack_addr(ty: Type, slot: DynamicStackSlot) -> InstData {
        InstData::raw(Opcode::DynamicStackAddr, 0, ty, [Value(slot.0), ZERO, ZERO])
    }

    /// Returns the data of `symbol_value` or `tls_value`.
    pub fn unary_global(opcode: Opcode, ty: Type, global: GlobalValue) -> InstData {
        InstData::formatted(opcode, Format::UnaryGlobalValue, ty, [Value(global.0), ZERO, ZERO])
    }

    /// Returns the data of `func_addr`.
    pub fn func_addr(ty: Type, func: FuncRef) -> InstData {
        InstData::raw(Opcode::FuncAddr, 0, ty, [Value(func.0), ZERO, ZERO])
    }

    /// Returns the data of `get_exception_handler_address`.
    pub fn exception_handler_address(ty: Type, block: Block, index: i64) -> InstData {
        let bits = index as u64;
        let words = [Value(block.0), Value(bits as u32), Value((bits >> 32) as u32)];
        InstData::raw(Opcode::GetExceptionHandlerAddress, 0, ty, words)
    }

    /// Returns the opcode.
    pub fn opcode(&self) -> Opcode {
        self.opcode
    }

    /// Returns the controlling type that the instruction was created with; `INVALID` for stores and
    /// compare-and-swaps.
    pub fn controlling_type(&self) -> Type {
        match self.opcode.format() {
            Format::Store | Format::StoreNoOffset | Format::AtomicCas => types::INVALID,
            _ => self.ty,
        }
    }

    /// Returns all sixteen bytes as a key. Two keys are equal exactly if the instructions are equal. Operand lists
    /// compare by their places in the pool, not by their contents.
    #[inline]
    pub fn key(&self) -> [u64; 2] {
        let [a, b, c] = self.words.map(|word| u64::from(word.0));
        let head = self.opcode as u64 | u64::from(self.small) << 8 | u64::from(self.ty.code()) << 16;
        [head | a << 32, b | c << 32]
    }

    /// Returns the key of [`InstData::key`] with the operands of a commutative opcode in sorted order, so that both
    /// orders have equal keys.
    #[inline]
    pub fn unordered_key(&self) -> [u64; 2] {
        let [a, b, c] = self.words;
        let words = if a > b && self.opcode.is_commutative() { [b, a, c] } else { self.words };
        InstData { words, ..*self }.key()
    }

    /// Returns a copy of the instruction with another small immediate.
    #[must_use]
    pub fn with_small(self, small: u8) -> InstData {
        InstData { small, ..self }
    }

    /// Returns a copy of the instruction with another controlling type. Its format must have one.
    #[must_use]
    pub fn with_type(self, ty: Type) -> InstData {
        InstData { ty, ..self }
    }

    /// Returns the small immediate: condition code, lane, trap code or operation, as a number.
    pub fn small(&self) -> u8 {
        self.small
    }

    /// Returns the condition of an `icmp`.
    pub fn int_cond(&self) -> Option<IntCC> {
        (self.opcode == Opcode::Icmp).then(|| IntCC::ALL[usize::from(self.small)])
    }

    /// Returns the condition code of `fcmp`.
    pub fn float_cond(&self) -> Option<FloatCC> {
        (self.opcode == Opcode::Fcmp).then(|| FloatCC::ALL[usize::from(self.small)])
    }

    /// Returns the operand values; none if the format has an operand list.
    #[inline]
    pub fn args(&self) -> &[Value] {
        // A list counts as no operands.
        &self.words[..usize::from(INLINE_ARGS[self.opcode as usize] % ARGS_LIST)]
    }

    /// Returns the operand values for changes; none if the format has an operand list.
    #[inline]
    pub fn args_mut(&mut self) -> &mut [Value] {
        &mut self.words[..usize::from(INLINE_ARGS[self.opcode as usize] % ARGS_LIST)]
    }

    /// Returns the bits of an `iconst`, zero-extended from its type.
    #[inline]
    pub fn iconst_bits(&self) -> Option<u64> {
        (self.opcode == Opcode::Iconst).then(|| self.imm64(0) as u64)
    }

    pub(crate) fn imm64(&self, first: usize) -> i64 {
        (u64::from(self.words[first].0) | u64::from(self.words[first + 1].0) << 32) as i64
    }

    pub(crate) fn wide_flags(&self) -> MemFlags {
        MemFlags::from_bits(u32::from(self.small) | u32::from(self.ty.code()) << 8)
    }

    /// Returns the memory flags, if the format has flags.
    pub fn memflags(&self) -> Option<MemFlags> {
        match self.opcode.format() {
            Format::Store | Format::StoreNoOffset | Format::AtomicCas => Some(self.wide_flags()),
            Format::Load | Format::LoadNoOffset | Format::AtomicRmw => Some(MemFlags::from_bits(self.words[2].0)),
            _ => None,
        }
    }

    /// Sets the memory flags. Does nothing if the format has none.
    pub fn set_memflags(&mut self, flags: MemFlags) {
        match self.opcode.format() {
            Format::Store | Format::StoreNoOffset | Format::AtomicCas => {
                *self = InstData::with_wide_flags(self.opcode, flags, self.words);
            }
            Format::Load | Format::LoadNoOffset | Format::AtomicRmw => {
                self.words[2] = Value(flags.bits());
            }
            _ => {}
        }
    }

    /// Returns the offset of a load or store in bytes; zero for other formats.
    pub fn offset(&self) -> i32 {
        match self.opcode.format() {
            Format::Load => self.words[1].0 as i32,
            Format::Store => self.words[2].0 as i32,
            _ => 0,
        }
    }

    /// Returns the trap code operand of `trap`, `trapz`, `trapnz` or `uadd_overflow_trap`.
    pub fn trap_code(&self) -> Option<TrapCode> {
        match self.opcode.format() {
            Format::Trap | Format::CondTrap | Format::IntAddTrap => TrapCode::from_byte(self.small),
            _ => None,
        }
    }

    /// Returns the number of words that are operand values; `None` if the format has an operand list.
    pub(crate) fn inline_args(&self) -> Option<usize> {
        let count = INLINE_ARGS[self.opcode as usize];
        // The remainder is the count itself, and shows the compiler that it is at most the number of words.
        (count != ARGS_LIST).then_some(usize::from(count % ARGS_LIST))
    }
}
