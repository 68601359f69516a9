//! The copy of one body to one call.

use super::declarations::{Slots, flags, function, signature, slot, symbol};
use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;
use kingpost_ir::cfg::ControlFlowGraph;
use kingpost_ir::dominators::DominatorTree;
use kingpost_ir::exception_table::ExceptionItem;
use kingpost_ir::frequencies::Frequencies;
use kingpost_ir::function::{DebugTag, SourceLoc, UserStackMapEntry};
use kingpost_ir::instruction::BlockArgKind;
use kingpost_ir::{Block, BlockArg, BlockCall, ExceptionTable, Function, Inst, InstData, InstView, Opcode, Value};
use smallvec::SmallVec;

/// Blocks of an inlined body, which are adjacent in the layout.
#[derive(Clone, std::marker::Copy, PartialEq, Eq, Debug)]
pub struct Inlined {
    /// The first block.
    pub first: Block,
    /// The last block. The next one has the instructions after a `call`.
    pub last: Block,
}

/// Destination of the returns of the copy.
enum Exit {
    /// The block after a `call`, whose parameters are the results.
    Block(Block),
    /// The block call on the normal edge of a `try_call`.
    Edge(Block, SmallVec<[BlockArg; 8]>),
    /// The caller of the function, because the call is a tail call.
    Caller,
}

/// The copy of a body.
pub(super) struct Copy<'a> {
    func: &'a mut Function,
    callee: &'a Function,
    call: Inst,
    exit: Exit,
    /// By value of the callee: its copy.
    values: SecondaryMap<Value, PackedOption<Value>>,
    /// By block of the callee: its copy.
    blocks: SecondaryMap<Block, PackedOption<Block>>,
    slots: Slots,
    /// Stack map of the call. Its references are live at all calls in the copy.
    stack_map: SmallVec<[UserStackMapEntry; 4]>,
    /// Debug tags of the call, which precede the tags of the callee's instructions.
    tags: SmallVec<[DebugTag; 4]>,
    location: SourceLoc,
    /// Frequency that the client has given to the block of the call.
    frequency: Option<u32>,
}

impl<'a> Copy<'a> {
    /// Prepares the copy of the body of `callee` to `call`, an instruction of `func`.
    pub(super) fn new(func: &'a mut Function, call: Inst, callee: &'a Function) -> Copy<'a> {
        let block = func.layout.inst_block(call).expect("the call is in the layout");
        let exit = match func.dfg.view(call) {
            InstView::TryCall { table, .. } => {
                let normal = func.dfg.exception_table(table).normal;
                Exit::Edge(normal.block, SmallVec::from_slice(func.dfg.block_args(normal)))
            }
            _ if func.dfg.opcode(call) == Opcode::ReturnCall => Exit::Caller,
            _ => Exit::Block(func.dfg.make_block()),
        };
        Copy {
            call,
            exit,
            values: SecondaryMap::with_capacity(callee.dfg.num_values()),
            blocks: SecondaryMap::with_capacity(callee.dfg.num_blocks()),
            slots: Slots::new(),
            stack_map: func.stack_maps.remove(&call).unwrap_or_default(),
            tags: func.debug_tags.remove(&call).unwrap_or_default(),
            location: func.srcloc(call),
            frequency: func.layout.frequency(block),
            func,
            callee,
        }
    }

    pub(super) fn run(mut self) -> Inlined {
        let cfg = ControlFlowGraph::new(self.callee);
        let dominators = DominatorTree::new(self.callee, &cfg);
        let block = self.func.layout.inst_block(self.call).expect("the call is in the layout");
        if let Exit::Block(after) = self.exit {
            self.split(block, after);
        }
        let inlined = self.make_blocks(block, &dominators);
        self.enter(inlined.first);
        // A definition precedes its uses in this order.
        for from in dominators.reverse_postorder() {
            let to = self.blocks[from].expect("all reachable blocks have copies");
            let insts: SmallVec<[Inst; 16]> = self.callee.layout.block_insts(from).collect();
            insts.into_iter().for_each(|inst| self.copy(inst, to));
        }
        inlined
    }

    /// Moves the instructions after the call to the block `after`, whose parameters become the results of the call.
    fn split(&mut self, block: Block, after: Block) {
        let next = self.func.layout.next_inst(self.call).expect("a call does not end its block");
        self.func.layout.insert_block_after(after, block);
        self.func.layout.split_block(after, next);
        if let Some(frequency) = self.frequency {
            self.func.layout.set_frequency(after, frequency);
        }
        let dfg = &mut self.func.dfg;
        let results: SmallVec<[Value; 4]> = SmallVec::from_slice(dfg.inst_results(self.call));
        let types: SmallVec<[_; 4]> = results.iter().map(|&result| dfg.value_type(result)).collect();
        dfg.clear_results(self.call);
        for (result, ty) in results.into_iter().zip(types) {
            dfg.append_block_param_as(after, result, ty);
        }
    }

    /// Makes copies of the reachable blocks, without instructions, after `block`.
    fn make_blocks(&mut self, block: Block, dominators: &DominatorTree) -> Inlined {
        let (mut first, mut last) = (None, block);
        for from in self.callee.layout.blocks().filter(|&from| dominators.is_reachable(from)) {
            let to = self.func.dfg.make_block();
            self.blocks[from] = to.into();
            self.func.layout.insert_block_after(to, last);
            if let Some(frequency) = self.frequency_of(from) {
                self.func.layout.set_frequency(to, frequency);
            }
            for &param in self.callee.dfg.block_params(from) {
                let copied = self.func.dfg.append_block_param(to, self.callee.dfg.value_type(param));
                self.values[param] = copied.into();
            }
            first = first.or(Some(to));
            last = to;
        }
        Inlined { first: first.expect("the entry block is reachable"), last }
    }

    /// Returns the frequency of the copy of a block, unless it is to be estimated. Cold blocks, and blocks of a cold call, are
    /// cold.
    fn frequency_of(&self, from: Block) -> Option<u32> {
        let own = match self.callee.layout.entry_block() == Some(from) {
            true => Some(Frequencies::ENTRY),
            false => self.callee.layout.frequency(from),
        };
        let is_cold = |frequency: &Option<u32>| frequency.is_some_and(|frequency| frequency <= Frequencies::RARE);
        if let Some(cold) = [own, self.frequency].into_iter().find(is_cold) {
            return cold;
        }
        let scaled = u64::from(own?) * u64::from(self.frequency?) / u64::from(Frequencies::ENTRY);
        Some(scaled.min(Frequencies::MAX.into()) as u32)
    }

    /// Replaces the call by a jump to the copy of the entry block.
    fn enter(&mut self, first: Block) {
        let dfg = &mut self.func.dfg;
        let args: SmallVec<[Value; 8]> = SmallVec::from_slice(dfg.inst_args(self.call));
        let entry = dfg.block_call_with_values(first, &args);
        let jump = dfg.jump_data(entry);
        dfg.replace_inst(self.call, jump);
    }

    /// Appends the copy of `inst` to the block `to`.
    fn copy(&mut self, inst: Inst, to: Block) {
        match self.callee.dfg.view(inst) {
            InstView::MultiAry { args } => {
                let args = self.values(args);
                self.leave(&args, to);
            }
            InstView::Call { .. } | InstView::CallIndirect { .. }
                if self.callee.dfg.opcode(inst).is_terminator() && !matches!(self.exit, Exit::Caller) =>
            {
                let results = self.copy_tail_call(inst, to);
                self.leave(&results, to);
            }
            _ => {
                let data = self.data(inst);
                let copied = self.append(data, to);
                for &result in self.callee.dfg.inst_results(inst) {
                    let value = self.func.dfg.append_result(copied, self.callee.dfg.value_type(result));
                    self.values[result] = value.into();
                }
                self.annotate(inst, copied);
            }
        }
    }

    fn append(&mut self, data: InstData, to: Block) -> Inst {
        let copied = self.func.dfg.make_inst(data);
        self.func.layout.append_inst(copied, to);
        if !self.location.is_none() {
            self.func.set_srcloc(copied, self.location);
        }
        copied
    }

    /// Ends the block `to` as a return of `results` does.
    fn leave(&mut self, results: &[Value], to: Block) {
        let data = match &self.exit {
            Exit::Caller => self.func.dfg.return_data(results),
            Exit::Block(after) => {
                let dest = self.func.dfg.block_call_with_values(*after, results);
                self.func.dfg.jump_data(dest)
            }
            Exit::Edge(block, args) => {
                let args: SmallVec<[BlockArg; 8]> = args
                    .iter()
                    .map(|arg| match arg.kind() {
                        BlockArgKind::TryCallRet(number) => results[number as usize].into(),
                        BlockArgKind::Value(_) | BlockArgKind::TryCallExn(_) => *arg,
                    })
                    .collect();
                let dest = self.func.dfg.block_call(*block, &args);
                self.func.dfg.jump_data(dest)
            }
        };
        self.append(data, to);
    }

    /// Appends a call like the tail call `inst`, and returns its results.
    fn copy_tail_call(&mut self, inst: Inst, to: Block) -> SmallVec<[Value; 4]> {
        let data = match self.callee.dfg.view(inst) {
            InstView::Call { func, args } => {
                let (func, args) = (function(self.func, self.callee, func), self.values(args));
                self.func.dfg.call_data(Opcode::Call, func, &args)
            }
            InstView::CallIndirect { sig, callee, args } => {
                let (sig, args) = (signature(self.func, self.callee, sig), self.values(args));
                self.func.dfg.call_indirect_data(Opcode::CallIndirect, sig, self.value(callee), &args)
            }
            _ => unreachable!("only these two formats have tail calls"),
        };
        let call = self.append(data, to);
        self.func.dfg.make_results(call, kingpost_ir::types::INVALID);
        self.annotate(inst, call);
        SmallVec::from_slice(self.func.dfg.inst_results(call))
    }

    /// Copies the stack map and the debug tags of an instruction.
    fn annotate(&mut self, inst: Inst, copied: Inst) {
        let opcode = self.func.dfg.opcode(copied);
        if opcode.is_call() && !matches!(opcode, Opcode::ReturnCall | Opcode::ReturnCallIndirect) {
            let own = self.callee.stack_maps.get(&inst).map_or(&[][..], |map| map);
            let mut map = self.stack_map.clone();
            for entry in own {
                let slot = slot(self.func, self.callee, &mut self.slots, entry.slot);
                map.push(UserStackMapEntry { slot, ..*entry });
            }
            if !map.is_empty() {
                self.func.stack_maps.insert(copied, map);
            }
        }
        if let Some(own) = self.callee.debug_tags.get(&inst) {
            let mut tags = self.tags.clone();
            for &tag in own {
                tags.push(match tag {
                    DebugTag::StackSlot(own) => DebugTag::StackSlot(slot(self.func, self.callee, &mut self.slots, own)),
                    DebugTag::User(_) => tag,
                });
            }
            self.func.debug_tags.insert(copied, tags);
        }
    }

    /// Returns the copy of an instruction that is no return.
    fn data(&mut self, inst: Inst) -> InstData {
        let callee = self.callee;
        let stored = *callee.dfg.inst(inst);
        let (opcode, ty) = (stored.opcode(), stored.controlling_type());
        match callee.dfg.view(inst) {
            InstView::StackAddr { slot: own, offset } => {
                InstData::stack_addr(ty, slot(self.func, callee, &mut self.slots, own), offset)
            }
            InstView::UnaryGlobalValue { global } => {
                InstData::unary_global(opcode, ty, symbol(self.func, callee, global))
            }
            InstView::FuncAddr { func } => InstData::func_addr(ty, function(self.func, callee, func)),
            InstView::UnaryConst { constant } => {
                let bytes = callee.dfg.constants.get(constant).expect("a declared constant").clone();
                InstData::unary_const(opcode, ty, self.func.dfg.constants.insert(bytes))
            }
            InstView::Shuffle { args, mask } => {
                let mask = self.func.dfg.make_shuffle_mask(*mask);
                InstData::shuffle(args.map(|arg| self.value(arg)), mask)
            }
            InstView::Jump { dest } => {
                let dest = self.block_call(dest);
                self.func.dfg.jump_data(dest)
            }
            InstView::Brif { cond, then_dest, else_dest } => {
                let (then, otherwise) = (self.block_call(then_dest), self.block_call(else_dest));
                self.func.dfg.brif_data(self.value(cond), then, otherwise)
            }
            InstView::BranchTable { index, table } => {
                let (default, entries) = callee.dfg.jump_table(table);
                let default = self.block_call(default);
                let entries: Vec<BlockCall> = entries.iter().map(|&entry| self.block_call(entry)).collect();
                let table = self.func.dfg.make_jump_table(default, &entries);
                self.func.dfg.br_table_data(self.value(index), table)
            }
            InstView::Call { func, args } => {
                let (func, args) = (function(self.func, callee, func), self.values(args));
                self.func.dfg.call_data(opcode, func, &args)
            }
            InstView::CallIndirect { sig, callee: address, args } => {
                let (sig, args) = (signature(self.func, callee, sig), self.values(args));
                self.func.dfg.call_indirect_data(opcode, sig, self.value(address), &args)
            }
            InstView::TryCall { func, args, table } => {
                let table = self.exception_table(table);
                let (func, args) = (function(self.func, callee, func), self.values(args));
                self.func.dfg.try_call_data(func, &args, table)
            }
            InstView::TryCallIndirect { callee: address, args, table } => {
                let (table, args) = (self.exception_table(table), self.values(args));
                self.func.dfg.try_call_indirect_data(self.value(address), &args, table)
            }
            _ => {
                let mut data = stored;
                data.args_mut().iter_mut().for_each(|arg| *arg = self.value(*arg));
                if let Some(own) = data.memflags() {
                    data.set_memflags(flags(self.func, callee, own));
                }
                data
            }
        }
    }

    fn exception_table(&mut self, table: ExceptionTable) -> ExceptionTable {
        let table = self.callee.dfg.exception_table(table);
        let sig = signature(self.func, self.callee, table.sig);
        let normal = self.block_call(table.normal);
        let handlers: Vec<BlockCall> = table.handlers.iter().map(|&handler| self.block_call(handler)).collect();
        let copied = |&item: &ExceptionItem| match item {
            ExceptionItem::Context(value) => ExceptionItem::Context(self.value(value)),
            ExceptionItem::Tag(_) | ExceptionItem::Default => item,
        };
        let items: Vec<ExceptionItem> = table.items.iter().map(copied).collect();
        self.func.dfg.make_exception_table(sig, normal, &items, &handlers)
    }

    fn block_call(&mut self, call: BlockCall) -> BlockCall {
        let args = self.callee.dfg.block_args(call).iter().map(|arg| match arg.value() {
            Some(value) => self.value(value).into(),
            None => *arg,
        });
        let args: SmallVec<[BlockArg; 8]> = args.collect();
        let block = self.blocks[call.block].expect("a reachable block leads to reachable blocks");
        self.func.dfg.block_call(block, &args)
    }

    fn value(&self, value: Value) -> Value {
        let resolved = self.callee.dfg.resolve_aliases(value);
        self.values[resolved].expect("a definition is copied before its uses")
    }

    fn values(&self, values: &[Value]) -> SmallVec<[Value; 8]> {
        values.iter().map(|&value| self.value(value)).collect()
    }
}
