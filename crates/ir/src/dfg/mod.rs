//! The data flow graph: values, instructions, block parameters, and the tables they refer to.
//!
//! Invariants: 1. A value has at most one definition: it is a result, a block parameter, an alias, or undefined. 2.
//! Alias links have no cycles. 3. The results of an instruction and the parameters of a block store their owner and
//! their index. 4. The edges of a terminator are consecutive block calls, in the order of successors: for `br_table`
//! the default first, for `try_call` the handlers first and the normal return last.

mod branches;
mod lists;
mod values;
mod view;

pub use values::AliasCycle;

use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntityRef, PrimaryMap, SecondaryMap};

use crate::condcodes::{FloatCC, IntCC};
use crate::constants::ConstantPool;
use crate::entities::{Block, ExceptionTable, FuncRef, Inst, JumpTable, ShuffleMask, SigRef, Value};
use crate::exception_table::{ExceptionItem, ExceptionTableData};
use crate::extfunc::ExtFuncData;
use crate::instruction::{BlockArg, BlockArgKind, BlockCall, Edges, InstData};
use crate::layout::Layout;
use crate::memflags::{Endianness, MemFlags};
use crate::opcodes::{Format, INLINE_ARGS, Opcode, Suffix};
use crate::pool::{List, Pool};
use crate::release::release;
use crate::signature::Signature;
use crate::table::Table;
use crate::type_class::{Allowed, Constraint};
use crate::types::{self, Type};
use crate::value_data::ValueData;
use kingpost_meter::heap_bytes;

/// Results of an instruction: one inline, several in the pool.
#[derive(Copy, Clone, Hash, Debug)]
struct InstResults {
    len: u32,
    /// The only result, or the start of the list.
    first: Value,
}

const NO_RESULTS: InstResults = InstResults { len: 0, first: Value(0) };

/// Values and instructions of a function.
#[derive(Clone, Default, Hash, Debug)]
pub struct DataFlowGraph {
    values: Table<Value, ValueData>,
    /// The values that ever became aliases, one entry each time.
    aliases: Vec<Value>,
    /// Whether any `symbol_value` was ever created.
    has_symbols: bool,
    /// Whether any `get_exception_handler_address` was ever created.
    has_handler_addresses: bool,
    /// Whether any `bitcast` in big-endian byte order was ever created.
    has_big_bitcasts: bool,
    /// Bit set of the lane codes of all types that values ever had, and [`DYNAMIC_VECTORS`].
    lane_types: u16,
    /// For each alias, the value that the alias was created for, as written.
    alias_targets: SecondaryMap<Value, PackedOption<Value>>,
    insts: Table<Inst, InstData>,
    results: Table<Inst, InstResults>,
    blocks: Table<Block, List<Value>>,
    value_lists: Pool<Value>,
    block_args: Pool<BlockArg>,
    block_calls: Vec<BlockCall>,
    jump_tables: PrimaryMap<JumpTable, Edges>,
    exception_tables: PrimaryMap<ExceptionTable, ExceptionTableData>,
    exception_items: Pool<ExceptionItem>,
    shuffle_masks: PrimaryMap<ShuffleMask, [u8; 16]>,
    /// Declared signatures.
    pub signatures: PrimaryMap<SigRef, Signature>,
    /// Declared functions.
    pub ext_funcs: PrimaryMap<FuncRef, ExtFuncData>,
    /// Constants of `vconst` and `f128const`.
    pub constants: ConstantPool,
}

heap_bytes!(DataFlowGraph { values, aliases, alias_targets, insts, results, blocks, value_lists, block_args, block_calls, jump_tables, exception_tables, exception_items, shuffle_masks, signatures, ext_funcs, constants } without { has_symbols, has_handler_addresses, has_big_bitcasts, lane_types });

/// Bit in `lane_types` for all dynamic vectors.
const DYNAMIC_VECTORS: u16 = 1 << 15;

/// Returns the bit for a type in `lane_types`.
fn type_bit(ty: Type) -> u16 {
    1 << ty.lane_code() | if ty.is_dynamic_vector() { DYNAMIC_VECTORS } else { 0 }
}

impl DataFlowGraph {
    /// Clears everything and keeps the memory.
    pub fn clear(&mut self) {
        self.values.clear();
        self.aliases.clear();
        self.has_symbols = false;
        self.has_handler_addresses = false;
        self.has_big_bitcasts = false;
        self.lane_types = 0;
        self.alias_targets.clear();
        self.insts.clear();
        self.results.clear();
        self.blocks.clear();
        self.value_lists.clear();
        self.block_args.clear();
        self.block_calls.clear();
        self.jump_tables.clear();
        self.exception_tables.clear();
        self.exception_items.clear();
        self.shuffle_masks.clear();
        self.signatures.clear();
        self.ext_funcs.clear();
        self.constants.clear();
    }

    /// Clears the tables of values, instructions and blocks, and frees their memory.
    pub(crate) fn release(&mut self) {
        self.values.release();
        self.insts.release();
        self.results.release();
        self.blocks.release();
        self.value_lists.release();
        self.block_args.release();
        release(&mut self.block_calls);
        self.exception_items.release();
    }
}

/// Instructions.
impl DataFlowGraph {
    /// Creates an instruction without results, not in the layout.
    #[inline]
    pub fn make_inst(&mut self, data: InstData) -> Inst {
        self.results.push(NO_RESULTS);
        self.note(&data);
        self.insts.push(data)
    }

    /// Records whether rare instructions occur.
    fn note(&mut self, data: &InstData) {
        match data.opcode {
            Opcode::SymbolValue => self.has_symbols = true,
            Opcode::GetExceptionHandlerAddress => self.has_handler_addresses = true,
            Opcode::Bitcast => {
                let order = data.memflags().and_then(MemFlags::endianness);
                self.has_big_bitcasts |= order == Some(Endianness::Big);
            }
            _ => {}
        }
    }

    /// Returns the number of instructions, including instructions that are not in the layout.
    pub fn num_insts(&self) -> usize {
        self.insts.len()
    }

    /// Returns `true` if any `symbol_value` was ever created.
    pub fn has_symbol_values(&self) -> bool {
        self.has_symbols
    }

    /// Returns `true` if any `get_exception_handler_address` was ever created.
    pub fn has_handler_addresses(&self) -> bool {
        self.has_handler_addresses
    }

    /// Returns `true` if any `bitcast` in big-endian byte order was ever created.
    pub fn has_big_bitcasts(&self) -> bool {
        self.has_big_bitcasts
    }

    /// Returns `true` if any value ever had lanes of the type `lane`, alone or in a vector.
    pub fn has_lanes_of(&self, lane: Type) -> bool {
        self.lane_types >> lane.lane_code() & 1 != 0
    }

    /// Returns `true` if any value ever had a dynamic vector type.
    pub fn has_dynamic_vectors(&self) -> bool {
        self.lane_types & DYNAMIC_VECTORS != 0
    }

    /// Returns all instructions in their stored form, by number, including instructions that are not in the layout.
    pub fn insts(&self) -> &[InstData] {
        self.insts.elements()
    }

    /// Returns the stored form of an instruction.
    #[inline]
    pub fn inst(&self, inst: Inst) -> &InstData {
        &self.insts[inst]
    }

    /// Replaces an instruction and keeps its results.
    #[inline]
    pub fn replace_inst(&mut self, inst: Inst, data: InstData) {
        self.note(&data);
        self.insts[inst] = data;
    }

    /// Changes the memory flags of an instruction that has them.
    pub fn set_memflags(&mut self, inst: Inst, flags: MemFlags) {
        let mut data = self.insts[inst];
        data.set_memflags(flags);
        self.replace_inst(inst, data);
    }

    /// Returns the opcode of an instruction.
    #[inline]
    pub fn opcode(&self, inst: Inst) -> Opcode {
        self.insts[inst].opcode
    }

    /// Returns the controlling type: the type of the operand that the opcode names, or the written type. Returns
    /// `INVALID` if the opcode is not polymorphic.
    #[inline]
    pub fn ctrl_type(&self, inst: Inst) -> Type {
        match self.opcode(inst).suffix() {
            Suffix::None => types::INVALID,
            Suffix::Required => self.insts[inst].ty,
            Suffix::From(index) => self.value_type(self.inst_args(inst)[usize::from(index)]),
        }
    }

    /// Returns the operand of an instruction whose operands are all inline.
    #[inline]
    pub fn inline_arg(&self, inst: Inst, index: usize) -> Value {
        self.insts[inst].words[index]
    }

    /// Returns the bits of an `iconst`.
    #[inline]
    pub fn iconst_bits(&self, inst: Inst) -> u64 {
        let words = self.insts[inst].words;
        u64::from(words[0].0) | u64::from(words[1].0) << 32
    }

    /// Returns the condition and operands of an `icmp`.
    #[inline]
    pub fn icmp_parts(&self, inst: Inst) -> (IntCC, [Value; 2]) {
        let InstData { small, words: [x, y, _], .. } = self.insts[inst];
        (IntCC::ALL[usize::from(small)], [x, y])
    }

    /// Returns the condition and operands of an `fcmp`.
    #[inline]
    pub fn fcmp_parts(&self, inst: Inst) -> (FloatCC, [Value; 2]) {
        let InstData { small, words: [x, y, _], .. } = self.insts[inst];
        (FloatCC::ALL[usize::from(small)], [x, y])
    }

    /// Returns the flags, address and offset of an instruction of the format `Load`.
    #[inline]
    pub fn load_parts(&self, inst: Inst) -> (MemFlags, Value, i32) {
        let [addr, offset, flags] = self.insts[inst].words;
        (MemFlags::from_bits(flags.0), addr, offset.0 as i32)
    }

    /// Returns the flags, address and offset of an instruction of the format `Store`. The value that is stored comes
    /// first among its operands.
    #[inline]
    pub fn store_parts(&self, inst: Inst) -> (MemFlags, Value, i32) {
        let data = &self.insts[inst];
        (data.wide_flags(), data.words[1], data.words[2].0 as i32)
    }

    /// Returns all operand values in the order of the text, without the arguments of block calls. The callee of an
    /// indirect call comes first.
    #[inline]
    pub fn inst_args(&self, inst: Inst) -> &[Value] {
        let data = &self.insts[inst];
        // A number larger than the number of words means that the operands are in a list.
        match data.words.get(..INLINE_ARGS[data.opcode as usize].into()) {
            Some(args) => args,
            None => self.value_lists.get(args_list(data)),
        }
    }

    /// Returns the operand values for changes.
    #[inline]
    pub fn inst_args_mut(&mut self, inst: Inst) -> &mut [Value] {
        let data = &mut self.insts[inst];
        match data.inline_args() {
            Some(count) => &mut data.words[..count],
            None => self.value_lists.get_mut(args_list(data)),
        }
    }

    /// Returns the results of an instruction.
    #[inline]
    pub fn inst_results(&self, inst: Inst) -> &[Value] {
        let results = &self.results[inst];
        match results.len {
            0 => &[],
            1 => std::slice::from_ref(&results.first),
            len => self.value_lists.get(List::from_words(results.first.0, len)),
        }
    }

    /// Returns the first result, if there is any.
    #[inline]
    pub fn first_result(&self, inst: Inst) -> Option<Value> {
        let results = &self.results[inst];
        if results.len == 1 { Some(results.first) } else { self.inst_results(inst).first().copied() }
    }

    /// Appends a result to an instruction.
    #[inline]
    pub fn append_result(&mut self, inst: Inst, ty: Type) -> Value {
        let value = self.make_undefined_value();
        self.append_result_as(inst, value, ty);
        value
    }

    /// Appends an undefined value as a result to an instruction.
    #[inline]
    pub fn append_result_as(&mut self, inst: Inst, value: Value, ty: Type) {
        let results = &mut self.results[inst];
        let number = results.len & !(1 << 31);
        self.values[value] = ValueData::result(inst, number, ty);
        self.lane_types |= type_bit(ty);
        *results = match number {
            0 => InstResults { len: 1, first: value },
            1 => {
                let (start, len) = self.value_lists.list(&[results.first, value]).words();
                InstResults { len, first: Value(start) }
            }
            _ => {
                let mut list = List::from_words(results.first.0, results.len);
                self.value_lists.push(&mut list, value);
                let (start, len) = list.words();
                InstResults { len, first: Value(start) }
            }
        };
    }

    /// Removes all results from an instruction. The values become undefined.
    pub fn clear_results(&mut self, inst: Inst) {
        let InstResults { len, first } = std::mem::replace(&mut self.results[inst], NO_RESULTS);
        match len {
            0 => {}
            1 => self.values[first] = ValueData::undefined(),
            len => {
                for &value in self.value_lists.get(List::from_words(first.0, len)) {
                    self.values[value] = ValueData::undefined();
                }
            }
        }
    }

    /// Creates the results that the opcode or the called signature specifies. `ctrl` is the controlling type. A type
    /// that does not exist becomes `INVALID`.
    pub fn make_results(&mut self, inst: Inst, ctrl: Type) {
        let mut number = 0;
        while let Some(ty) = self.result_type(inst, number, ctrl) {
            self.append_result(inst, ty);
            number += 1;
        }
    }

    /// Returns the type of result `number` according to the opcode or the called signature; `None` if there are fewer
    /// results.
    #[inline]
    pub fn result_type(&self, inst: Inst, number: usize, ctrl: Type) -> Option<Type> {
        let opcode = self.opcode(inst);
        match opcode.info().results.get(number) {
            Some(Constraint::Same) => Some(ctrl),
            Some(constraint) => Some(match constraint.resolve(ctrl) {
                Allowed::Exactly(ty) => ty,
                Allowed::In(_) | Allowed::Nothing => types::INVALID,
            }),
            None => self.called_result_type(inst, number),
        }
    }

    fn called_result_type(&self, inst: Inst, number: usize) -> Option<Type> {
        let opcode = self.opcode(inst);
        if !opcode.is_call() || opcode.is_terminator() {
            return None;
        }
        let returns = &self.signatures[self.call_signature(inst)?].returns;
        Some(returns.get(number)?.value_type)
    }

    /// Returns the number of results of the opcode or of the called signature.
    pub fn result_count(&self, inst: Inst) -> usize {
        let info = self.opcode(inst).info();
        if info.results.is_empty() { self.called_result_count(inst) } else { info.results.len() }
    }

    fn called_result_count(&self, inst: Inst) -> usize {
        let opcode = self.opcode(inst);
        if !opcode.is_call() || opcode.is_terminator() {
            return 0;
        }
        self.call_signature(inst).map_or(0, |sig| self.signatures[sig].returns.len())
    }

    /// Returns the signature that an instruction calls; `None` if it is no call, or if the signature or function does
    /// not exist.
    pub fn call_signature(&self, inst: Inst) -> Option<SigRef> {
        let data = &self.insts[inst];
        let sig = match data.opcode.format() {
            Format::Call | Format::TryCall => self.ext_funcs.get(FuncRef(data.words[0].0))?.signature,
            Format::CallIndirect => SigRef(data.words[0].0),
            Format::TryCallIndirect => self.exception_tables[ExceptionTable(data.words[0].0)].sig,
            _ => return None,
        };
        self.signatures.is_valid(sig).then_some(sig)
    }

    /// Calls `visit` with every value that the instruction uses: operands, arguments of block
    /// calls, contexts of exception tables.
    #[inline]
    pub fn for_each_use(&self, inst: Inst, mut visit: impl FnMut(Value)) {
        self.inst_args(inst).iter().copied().for_each(&mut visit);
        if self.opcode(inst).is_branch() {
            self.for_each_use_of_edges(inst, visit);
        }
    }

    /// Calls `visit` with every value that the edges of a terminator use.
    fn for_each_use_of_edges(&self, inst: Inst, mut visit: impl FnMut(Value)) {
        for call in self.branch_destinations(inst) {
            self.block_args(*call).iter().filter_map(|arg| arg.value()).for_each(&mut visit);
        }
        if let Some(table) = self.inst_exception_table(inst) {
            let items = self.exception_items.get(self.exception_tables[table].items);
            items.iter().filter_map(|item| item.context()).for_each(&mut visit);
        }
    }

    /// Adds the number of uses of each value to `uses`, which is indexed by value. Only instructions in the layout
    /// count. Counts saturate at 255.
    pub fn count_uses(&self, layout: &Layout, uses: &mut [u8]) {
        let mut count = |value: Value| {
            let uses = &mut uses[value.index()];
            *uses = uses.saturating_add(1);
        };
        for (inst, data) in
            self.insts.keys().zip(self.insts.elements()).filter(|&(inst, _)| layout.inst_block(inst).is_some())
        {
            match data.words.get(..INLINE_ARGS[data.opcode as usize].into()) {
                Some(args) => args.iter().copied().for_each(&mut count),
                None => self.value_lists.get(args_list(data)).iter().copied().for_each(&mut count),
            }
            if data.opcode.is_branch() {
                self.for_each_use_of_edges(inst, &mut count);
            }
        }
    }

    /// Replaces every value that the instruction uses.
    #[inline]
    pub fn map_values(&mut self, inst: Inst, mut map: impl FnMut(Value) -> Value) {
        for value in self.inst_args_mut(inst) {
            *value = map(*value);
        }
        if !self.opcode(inst).is_branch() {
            return;
        }
        for edge in self.edges(inst).range() {
            for arg in self.block_args.get_mut(self.block_calls[edge].args) {
                if let BlockArgKind::Value(value) = arg.kind() {
                    *arg = map(value).into();
                }
            }
        }
        if let Some(table) = self.inst_exception_table(inst) {
            for item in self.exception_items.get_mut(self.exception_tables[table].items) {
                if let ExceptionItem::Context(value) = item {
                    *value = map(*value);
                }
            }
        }
    }
}

/// Returns the operands of a format with a list.
fn args_list(data: &InstData) -> List<Value> {
    List::from_words(data.words[1].0, data.words[2].0)
}

#[cfg(test)]
mod tests;
