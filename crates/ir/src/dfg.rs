//! The data flow graph: values, instructions, block parameters, and the tables they refer to.
//!
//! Invariants: 1. A value is defined at most once: it is a result, a block parameter, an alias, or
//! undefined. 2. Alias links have no cycles. 3. The results of an instruction and the parameters of
//! a block name it and their own number. 4. The edges of a terminator are consecutive block calls,
//! in the order of successors: for `br_table` the default first, for `try_call` the handlers first
//! and the normal return last.

use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{PrimaryMap, SecondaryMap};
use smallvec::SmallVec;

use crate::constants::ConstantPool;
use crate::entities::{Block, ExceptionTable, FuncRef, Inst, JumpTable, ShuffleMask, SigRef, Value};
use crate::exception_table::{ExceptionItem, ExceptionTableData, ExceptionTableView};
use crate::extfunc::ExtFuncData;
use crate::instruction::{BlockArg, BlockArgKind, BlockCall, Edges, InstData};
use crate::opcodes::{Format, Opcode, Suffix};
use crate::pool::{List, Pool};
use crate::signature::Signature;
use crate::type_class::Allowed;
use crate::types::{self, Type};
use crate::value_data::{ValueData, ValueDef};

/// Results of an instruction: one inline, more in the pool.
#[derive(Copy, Clone, Debug)]
struct InstResults {
    len: u32,
    /// The only result, or the start of the list.
    first: Value,
}

const NO_RESULTS: InstResults = InstResults { len: 0, first: Value(0) };

/// Values and instructions of a function.
#[derive(Clone, Default, Debug)]
pub struct DataFlowGraph {
    values: PrimaryMap<Value, ValueData>,
    /// For aliases: the value that the alias was made for, as written.
    alias_targets: SecondaryMap<Value, PackedOption<Value>>,
    insts: PrimaryMap<Inst, InstData>,
    results: PrimaryMap<Inst, InstResults>,
    blocks: PrimaryMap<Block, List<Value>>,
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

impl DataFlowGraph {
    /// Forgets everything and keeps the memory.
    pub fn clear(&mut self) {
        self.values.clear();
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
}

/// Values.
impl DataFlowGraph {
    /// A value that nothing defines yet.
    pub fn make_undefined_value(&mut self) -> Value {
        self.values.push(ValueData::undefined())
    }

    /// Number of values.
    pub fn num_values(&self) -> usize {
        self.values.len()
    }

    /// All values.
    pub fn values(&self) -> impl Iterator<Item = Value> + use<> {
        self.values.keys()
    }

    /// Whether the value exists.
    pub fn is_value_valid(&self, value: Value) -> bool {
        self.values.is_valid(value)
    }

    /// The type; `INVALID` of a value that nothing defines.
    pub fn value_type(&self, value: Value) -> Type {
        self.values[value].ty()
    }

    /// Changes the type of a value.
    pub fn set_value_type(&mut self, value: Value, ty: Type) {
        self.values[value].set_type(ty);
    }

    /// Where a value comes from, through aliases.
    pub fn value_def(&self, value: Value) -> ValueDef {
        self.values[self.resolve_aliases(value)].def()
    }

    /// The value that this alias was made for, as written; `None` if it is no alias.
    pub fn value_alias(&self, value: Value) -> Option<Value> {
        self.values[value].alias_target()?;
        self.alias_targets[value].expand()
    }

    /// Whether nothing defines the value.
    pub fn is_undefined(&self, value: Value) -> bool {
        let data = self.values[value];
        data.def() == ValueDef::Undefined && data.alias_target().is_none()
    }

    /// The value at the end of the alias links; the value itself if it is no alias.
    pub fn resolve_aliases(&self, value: Value) -> Value {
        let mut value = value;
        while let Some(target) = self.values[value].alias_target() {
            value = target;
        }
        value
    }

    /// Makes `value` another name of `target`.
    ///
    /// # Errors
    /// If `target` is `value` itself, perhaps through aliases; nothing changes then.
    pub fn change_to_alias(&mut self, value: Value, target: Value) -> Result<(), AliasCycle> {
        let root = self.resolve_aliases(target);
        if root == value {
            return Err(AliasCycle { value });
        }
        self.values[value] = ValueData::alias(root, self.value_type(root));
        self.alias_targets[value] = target.into();
        Ok(())
    }

    /// Makes each alias point at its value directly and replaces aliases in all instructions.
    /// The aliases still exist afterwards, but nothing uses them.
    pub fn resolve_all_aliases(&mut self) {
        let mut any = false;
        for value in self.values.keys() {
            let root = self.resolve_aliases(value);
            if root != value {
                any = true;
                // Compress the whole path, so that long chains cost linear time in total.
                let mut link = value;
                while let Some(next) = self.values[link].alias_target() {
                    self.values[link] = ValueData::alias(root, self.value_type(root));
                    link = next;
                }
            }
        }
        if !any {
            return;
        }
        for inst in self.insts.keys() {
            self.map_aliases(inst);
        }
    }

    fn map_aliases(&mut self, inst: Inst) {
        let values = std::mem::take(&mut self.values);
        self.map_values(inst, |value| values[value].alias_target().unwrap_or(value));
        self.values = values;
    }
}

/// A value would have become its own alias.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct AliasCycle {
    /// The value.
    pub value: Value,
}

/// Blocks and their parameters.
impl DataFlowGraph {
    /// A new block without parameters, not in the layout.
    pub fn make_block(&mut self) -> Block {
        self.blocks.push(List::default())
    }

    /// Number of blocks, those that are not in the layout included.
    pub fn num_blocks(&self) -> usize {
        self.blocks.len()
    }

    /// Whether the block exists.
    pub fn is_block_valid(&self, block: Block) -> bool {
        self.blocks.is_valid(block)
    }

    /// The parameters of a block.
    pub fn block_params(&self, block: Block) -> &[Value] {
        self.value_lists.get(self.blocks[block])
    }

    /// Appends a parameter to a block.
    pub fn append_block_param(&mut self, block: Block, ty: Type) -> Value {
        let value = self.make_undefined_value();
        self.append_block_param_as(block, value, ty);
        value
    }

    /// Appends an undefined value as a parameter to a block.
    pub fn append_block_param_as(&mut self, block: Block, value: Value, ty: Type) {
        let number = self.blocks[block].len() as u32;
        self.values[value] = ValueData::param(block, number, ty);
        self.value_lists.push(&mut self.blocks[block], value);
    }

    /// Removes the parameters at the end of a block that have become aliases.
    pub(crate) fn pop_aliased_params(&mut self, block: Block) {
        while let Some(&last) = self.block_params(block).last() {
            if self.values[last].alias_target().is_none() {
                return;
            }
            let index = self.blocks[block].len() - 1;
            self.value_lists.remove(&mut self.blocks[block], index);
        }
    }

    /// Removes all parameters of a block that have become aliases.
    pub(crate) fn drop_aliased_params(&mut self, block: Block) {
        let params = self.value_lists.get_mut(self.blocks[block]);
        let mut kept = 0;
        for index in 0..params.len() {
            let param = params[index];
            let data = self.values[param];
            if data.alias_target().is_none() {
                self.values[param] = ValueData::param(block, kept as u32, data.ty());
                params[kept] = param;
                kept += 1;
            }
        }
        self.value_lists.truncate(&mut self.blocks[block], kept);
    }

    /// Removes a parameter of a block; its value becomes undefined. The branches to the block are
    /// not changed.
    pub fn remove_block_param(&mut self, block: Block, index: usize) {
        let value = self.block_params(block)[index];
        self.values[value] = ValueData::undefined();
        self.value_lists.remove(&mut self.blocks[block], index);
        for (number, &param) in self.value_lists.get(self.blocks[block]).iter().enumerate().skip(index) {
            self.values[param] = ValueData::param(block, number as u32, self.values[param].ty());
        }
    }
}

/// Instructions.
impl DataFlowGraph {
    /// Stores an instruction without results, not in the layout.
    pub fn make_inst(&mut self, data: InstData) -> Inst {
        self.results.push(NO_RESULTS);
        self.insts.push(data)
    }

    /// Number of instructions, those that are not in the layout included.
    pub fn num_insts(&self) -> usize {
        self.insts.len()
    }

    /// The instruction as it is stored.
    pub fn inst(&self, inst: Inst) -> &InstData {
        &self.insts[inst]
    }

    /// Replaces an instruction; the results stay.
    pub fn replace_inst(&mut self, inst: Inst, data: InstData) {
        self.insts[inst] = data;
    }

    /// Changes the memory flags of an instruction that has them.
    pub fn set_memflags(&mut self, inst: Inst, flags: crate::memflags::MemFlags) {
        self.insts[inst].set_memflags(flags);
    }

    /// The opcode of an instruction.
    pub fn opcode(&self, inst: Inst) -> Opcode {
        self.insts[inst].opcode
    }

    /// The controlling type: that of the operand which the opcode names, or the one that was
    /// written. `INVALID` if the opcode is not polymorphic.
    pub fn ctrl_type(&self, inst: Inst) -> Type {
        match self.opcode(inst).info().suffix {
            Suffix::None => types::INVALID,
            Suffix::Required => self.insts[inst].ty,
            Suffix::From(index) => self.value_type(self.inst_args(inst)[usize::from(index)]),
        }
    }

    /// All operand values in the order of the text, without the arguments of block calls. The
    /// callee of an indirect call comes first.
    pub fn inst_args(&self, inst: Inst) -> &[Value] {
        let data = &self.insts[inst];
        match data.inline_args() {
            Some(count) => &data.words[..count],
            None => self.value_lists.get(args_list(data)),
        }
    }

    /// The operand values, to be changed.
    pub fn inst_args_mut(&mut self, inst: Inst) -> &mut [Value] {
        let data = &mut self.insts[inst];
        match data.inline_args() {
            Some(count) => &mut data.words[..count],
            None => self.value_lists.get_mut(args_list(data)),
        }
    }

    /// The results of an instruction.
    pub fn inst_results(&self, inst: Inst) -> &[Value] {
        let results = &self.results[inst];
        match results.len {
            0 => &[],
            1 => std::slice::from_ref(&results.first),
            len => self.value_lists.get(List::from_words(results.first.0, len)),
        }
    }

    /// The first result, if there is any.
    pub fn first_result(&self, inst: Inst) -> Option<Value> {
        self.inst_results(inst).first().copied()
    }

    /// Appends a result to an instruction.
    pub fn append_result(&mut self, inst: Inst, ty: Type) -> Value {
        let value = self.make_undefined_value();
        self.append_result_as(inst, value, ty);
        value
    }

    /// Appends an undefined value as a result to an instruction.
    pub fn append_result_as(&mut self, inst: Inst, value: Value, ty: Type) {
        let results = &mut self.results[inst];
        let number = results.len & !(1 << 31);
        self.values[value] = ValueData::result(inst, number, ty);
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

    /// Takes all results from an instruction; the values become undefined.
    pub fn clear_results(&mut self, inst: Inst) {
        let results: SmallVec<[Value; 4]> = self.inst_results(inst).into();
        for value in results {
            self.values[value] = ValueData::undefined();
        }
        self.results[inst] = NO_RESULTS;
    }

    /// Appends the results that the opcode or the called signature asks for. `ctrl` is the
    /// controlling type. Types that do not exist become `INVALID`.
    pub fn make_results(&mut self, inst: Inst, ctrl: Type) {
        for ty in self.result_types(inst, ctrl) {
            self.append_result(inst, ty);
        }
    }

    /// The types of the results that the opcode or the called signature asks for.
    pub fn result_types(&self, inst: Inst, ctrl: Type) -> SmallVec<[Type; 4]> {
        let opcode = self.opcode(inst);
        if let (Some(sig), false) = (self.call_signature(inst), opcode.is_terminator()) {
            return self.signatures[sig].returns.iter().map(|param| param.value_type).collect();
        }
        let results = opcode.info().results.iter();
        results
            .map(|constraint| match constraint.resolve(ctrl) {
                Allowed::Exactly(ty) => ty,
                Allowed::In(_) | Allowed::Nothing => types::INVALID,
            })
            .collect()
    }

    /// The signature that an instruction calls; `None` if it is no call or names a signature or
    /// function that does not exist.
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
    pub fn for_each_use(&self, inst: Inst, mut visit: impl FnMut(Value)) {
        self.inst_args(inst).iter().copied().for_each(&mut visit);
        for call in self.branch_destinations(inst) {
            self.block_args(*call).iter().filter_map(|arg| arg.value()).for_each(&mut visit);
        }
        if let Some(table) = self.inst_exception_table(inst) {
            let items = self.exception_items.get(self.exception_tables[table].items);
            items.iter().filter_map(|item| item.context()).for_each(&mut visit);
        }
    }

    /// Replaces every value that the instruction uses.
    pub fn map_values(&mut self, inst: Inst, mut map: impl FnMut(Value) -> Value) {
        for value in self.inst_args_mut(inst) {
            *value = map(*value);
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

/// Where the operands of a format with a list stand.
fn args_list(data: &InstData) -> List<Value> {
    List::from_words(data.words[1].0, data.words[2].0)
}

/// Instructions with lists of operands.
impl DataFlowGraph {
    fn list_data(&mut self, opcode: Opcode, first: u32, args: List<Value>) -> InstData {
        let (start, len) = args.words();
        let words = [Value(first), Value(start), Value(len)];
        InstData { opcode, small: 0, ty: types::INVALID, words }
    }

    /// `return`.
    pub fn return_data(&mut self, args: &[Value]) -> InstData {
        let args = self.value_lists.list(args);
        self.list_data(Opcode::Return, 0, args)
    }

    /// `call` or `return_call`.
    pub fn call_data(&mut self, opcode: Opcode, func: FuncRef, args: &[Value]) -> InstData {
        debug_assert_eq!(opcode.format(), Format::Call);
        let args = self.value_lists.list(args);
        self.list_data(opcode, func.as_u32(), args)
    }

    /// `call_indirect` or `return_call_indirect`.
    pub fn call_indirect_data(&mut self, opcode: Opcode, sig: SigRef, callee: Value, args: &[Value]) -> InstData {
        debug_assert_eq!(opcode.format(), Format::CallIndirect);
        let args = self.callee_list(callee, args);
        self.list_data(opcode, sig.as_u32(), args)
    }

    /// `try_call`.
    pub fn try_call_data(&mut self, func: FuncRef, args: &[Value], table: ExceptionTable) -> InstData {
        let mut list: SmallVec<[Value; 8]> = SmallVec::with_capacity(args.len() + 1);
        list.push(Value(table.as_u32()));
        list.extend_from_slice(args);
        let (start, len) = self.value_lists.list(&list).words();
        self.list_data(Opcode::TryCall, func.as_u32(), List::from_words(start + 1, len - 1))
    }

    /// `try_call_indirect`.
    pub fn try_call_indirect_data(&mut self, callee: Value, args: &[Value], table: ExceptionTable) -> InstData {
        let args = self.callee_list(callee, args);
        self.list_data(Opcode::TryCallIndirect, table.as_u32(), args)
    }

    fn callee_list(&mut self, callee: Value, args: &[Value]) -> List<Value> {
        let mut list: SmallVec<[Value; 8]> = SmallVec::with_capacity(args.len() + 1);
        list.push(callee);
        list.extend_from_slice(args);
        self.value_lists.list(&list)
    }

    /// The word in front of the operands of a `try_call`: its exception table.
    pub(crate) fn try_call_table(&self, data: &InstData) -> ExceptionTable {
        let list = List::from_words(data.words[1].0 - 1, 1);
        ExceptionTable(self.value_lists.get(list)[0].0)
    }

    pub(crate) fn args_of(&self, data: &InstData) -> &[Value] {
        self.value_lists.get(args_list(data))
    }

    /// A mask for `shuffle`, lane 0 first.
    pub fn make_shuffle_mask(&mut self, mask: [u8; 16]) -> ShuffleMask {
        self.shuffle_masks.push(mask)
    }

    pub(crate) fn shuffle_mask(&self, mask: ShuffleMask) -> &[u8; 16] {
        &self.shuffle_masks[mask]
    }
}

/// Branches.
impl DataFlowGraph {
    /// A destination with arguments, for one of the functions that make branches.
    pub fn block_call(&mut self, block: Block, args: &[BlockArg]) -> BlockCall {
        BlockCall { block, args: self.block_args.list(args) }
    }

    /// A destination whose arguments are plain values.
    pub fn block_call_with_values(&mut self, block: Block, args: &[Value]) -> BlockCall {
        let args: SmallVec<[BlockArg; 8]> = args.iter().map(|&value| value.into()).collect();
        self.block_call(block, &args)
    }

    /// The arguments of a block call.
    pub fn block_args(&self, call: BlockCall) -> &[BlockArg] {
        self.block_args.get(call.args)
    }

    fn push_edges(&mut self, calls: &[BlockCall]) -> Edges {
        let start = self.block_calls.len() as u32;
        self.block_calls.extend_from_slice(calls);
        Edges { start, len: calls.len() as u32 }
    }

    /// `jump`.
    pub fn jump_data(&mut self, dest: BlockCall) -> InstData {
        let edges = self.push_edges(&[dest]);
        let words = [Value(edges.start), Value(0), Value(0)];
        InstData { opcode: Opcode::Jump, small: 0, ty: types::INVALID, words }
    }

    /// `brif`.
    pub fn brif_data(&mut self, cond: Value, then: BlockCall, otherwise: BlockCall) -> InstData {
        let edges = self.push_edges(&[then, otherwise]);
        let words = [cond, Value(edges.start), Value(0)];
        InstData { opcode: Opcode::Brif, small: 0, ty: types::INVALID, words }
    }

    /// `br_table`.
    pub fn br_table_data(&mut self, index: Value, table: JumpTable) -> InstData {
        let words = [index, Value(table.as_u32()), Value(0)];
        InstData { opcode: Opcode::BrTable, small: 0, ty: types::INVALID, words }
    }

    /// The jump table of one `br_table`.
    pub fn make_jump_table(&mut self, default: BlockCall, entries: &[BlockCall]) -> JumpTable {
        let mut edges = self.push_edges(&[default]);
        edges.len += self.push_edges(entries).len;
        self.jump_tables.push(edges)
    }

    /// The default destination and the entries of a jump table.
    pub fn jump_table(&self, table: JumpTable) -> (BlockCall, &[BlockCall]) {
        let calls = &self.block_calls[self.jump_tables[table].range()];
        (calls[0], &calls[1..])
    }

    /// The exception table of one `try_call`. `handlers` are the destinations of the `Tag` and
    /// `Default` items, in their order.
    pub fn make_exception_table(
        &mut self,
        sig: SigRef,
        normal: BlockCall,
        items: &[ExceptionItem],
        handlers: &[BlockCall],
    ) -> ExceptionTable {
        debug_assert_eq!(handlers.len(), items.iter().filter(|item| item.context().is_none()).count());
        let mut edges = self.push_edges(handlers);
        edges.len += self.push_edges(&[normal]).len;
        let items = self.exception_items.list(items);
        self.exception_tables.push(ExceptionTableData { sig, edges, items })
    }

    /// The contents of an exception table.
    pub fn exception_table(&self, table: ExceptionTable) -> ExceptionTableView<'_> {
        let ExceptionTableData { sig, edges, items } = self.exception_tables[table];
        let calls = &self.block_calls[edges.range()];
        let (handlers, normal) = calls.split_at(calls.len() - 1);
        ExceptionTableView { sig, normal: normal[0], handlers, items: self.exception_items.get(items) }
    }

    /// The exception table of a `try_call` or `try_call_indirect`.
    pub fn inst_exception_table(&self, inst: Inst) -> Option<ExceptionTable> {
        let data = &self.insts[inst];
        match data.opcode.format() {
            Format::TryCall => Some(self.try_call_table(data)),
            Format::TryCallIndirect => Some(ExceptionTable(data.words[0].0)),
            _ => None,
        }
    }

    fn edges(&self, inst: Inst) -> Edges {
        let data = &self.insts[inst];
        match data.opcode.format() {
            Format::Jump => Edges { start: data.words[0].0, len: 1 },
            Format::Brif => Edges { start: data.words[1].0, len: 2 },
            Format::BranchTable => self.jump_tables[JumpTable(data.words[1].0)],
            Format::TryCall => self.exception_tables[self.try_call_table(data)].edges,
            Format::TryCallIndirect => self.exception_tables[ExceptionTable(data.words[0].0)].edges,
            _ => Edges::default(),
        }
    }

    /// Where an instruction may go, in the order of successors (see the module's head); empty if it
    /// is no branch.
    pub fn branch_destinations(&self, inst: Inst) -> &[BlockCall] {
        &self.block_calls[self.edges(inst).range()]
    }

    /// Changes the block of an edge; the arguments stay.
    pub fn set_destination(&mut self, inst: Inst, edge: usize, block: Block) {
        let edges = self.edges(inst).range();
        self.block_calls[edges][edge].block = block;
    }

    /// Replaces an edge, block and arguments.
    pub fn set_block_call(&mut self, inst: Inst, edge: usize, call: BlockCall) {
        let edges = self.edges(inst).range();
        self.block_calls[edges][edge] = call;
    }

    /// Appends an argument to an edge.
    pub fn append_block_arg(&mut self, inst: Inst, edge: usize, arg: BlockArg) {
        let edges = self.edges(inst).range();
        self.block_args.push(&mut self.block_calls[edges][edge].args, arg);
    }

    /// Removes an argument of an edge.
    pub fn remove_block_arg(&mut self, inst: Inst, edge: usize, index: usize) {
        let edges = self.edges(inst).range();
        self.block_args.remove(&mut self.block_calls[edges][edge].args, index);
    }
}
