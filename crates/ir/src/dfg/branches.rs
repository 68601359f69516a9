//! Block calls, jump tables, exception tables and the edges of terminators.

use smallvec::SmallVec;

use crate::dfg::DataFlowGraph;
use crate::entities::{Block, ExceptionTable, Inst, JumpTable, SigRef, Value};
use crate::exception_table::{ExceptionItem, ExceptionTableData, ExceptionTableView};
use crate::instruction::{BlockArg, BlockCall, Edges, InstData};
use crate::opcodes::{Format, Opcode};
use crate::types;

/// Branches.
impl DataFlowGraph {
    /// Returns a destination with arguments, to pass to a function that creates a branch.
    #[inline]
    pub fn block_call(&mut self, block: Block, args: &[BlockArg]) -> BlockCall {
        BlockCall { block, args: self.block_args.list(args) }
    }

    /// Returns a destination whose arguments are plain values.
    pub fn block_call_with_values(&mut self, block: Block, args: &[Value]) -> BlockCall {
        let args: SmallVec<[BlockArg; 8]> = args.iter().map(|&value| value.into()).collect();
        self.block_call(block, &args)
    }

    /// Returns the arguments of a block call.
    #[inline]
    pub fn block_args(&self, call: BlockCall) -> &[BlockArg] {
        self.block_args.get(call.args)
    }

    fn push_edges(&mut self, calls: &[BlockCall]) -> Edges {
        let start = self.block_calls.len() as u32;
        self.block_calls.extend_from_slice(calls);
        Edges { start, len: calls.len() as u32 }
    }

    /// Returns the data of `jump`.
    #[inline]
    pub fn jump_data(&mut self, dest: BlockCall) -> InstData {
        let edges = self.push_edges(&[dest]);
        let words = [Value(edges.start), Value(0), Value(0)];
        InstData { opcode: Opcode::Jump, small: 0, ty: types::INVALID, words }
    }

    /// Returns the data of `brif`.
    #[inline]
    pub fn brif_data(&mut self, cond: Value, then: BlockCall, otherwise: BlockCall) -> InstData {
        let edges = self.push_edges(&[then, otherwise]);
        let words = [cond, Value(edges.start), Value(0)];
        InstData { opcode: Opcode::Brif, small: 0, ty: types::INVALID, words }
    }

    /// Returns the data of `br_table`.
    pub fn br_table_data(&mut self, index: Value, table: JumpTable) -> InstData {
        let words = [index, Value(table.as_u32()), Value(0)];
        InstData { opcode: Opcode::BrTable, small: 0, ty: types::INVALID, words }
    }

    /// Returns a new jump table for one `br_table`.
    pub fn make_jump_table(&mut self, default: BlockCall, entries: &[BlockCall]) -> JumpTable {
        let mut edges = self.push_edges(&[default]);
        edges.len += self.push_edges(entries).len;
        self.jump_tables.push(edges)
    }

    /// Returns the default destination and the entries of a jump table.
    pub fn jump_table(&self, table: JumpTable) -> (BlockCall, &[BlockCall]) {
        let calls = &self.block_calls[self.jump_tables[table].range()];
        (calls[0], &calls[1..])
    }

    /// Returns a new exception table for one `try_call`. `handlers` are the destinations of the `Tag` and `Default`
    /// items, in their order.
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

    /// Returns the contents of an exception table.
    pub fn exception_table(&self, table: ExceptionTable) -> ExceptionTableView<'_> {
        let ExceptionTableData { sig, edges, items } = self.exception_tables[table];
        let calls = &self.block_calls[edges.range()];
        let (handlers, normal) = calls.split_at(calls.len() - 1);
        ExceptionTableView { sig, normal: normal[0], handlers, items: self.exception_items.get(items) }
    }

    /// Returns the exception table of a `try_call` or `try_call_indirect`.
    #[inline]
    pub fn inst_exception_table(&self, inst: Inst) -> Option<ExceptionTable> {
        let data = &self.insts[inst];
        match data.opcode.format() {
            Format::TryCall => Some(self.try_call_table(data)),
            Format::TryCallIndirect => Some(ExceptionTable(data.words[0].0)),
            _ => None,
        }
    }

    /// Returns the number of an instruction's destinations that are exception handlers. They are the first
    /// destinations.
    #[inline]
    pub fn num_handlers(&self, inst: Inst) -> usize {
        self.inst_exception_table(inst).map_or(0, |table| self.exception_tables[table].edges.len as usize - 1)
    }

    #[inline]
    pub(super) fn edges(&self, inst: Inst) -> Edges {
        let data = &self.insts[inst];
        match data.opcode.format() {
            Format::Jump => Edges { start: data.words[0].0, len: 1 },
            Format::Brif => Edges { start: data.words[1].0, len: 2 },
            Format::BranchTable | Format::TryCall | Format::TryCallIndirect => self.listed_edges(data),
            _ => Edges::default(),
        }
    }

    /// Returns the edges that a jump table or exception table of the instruction lists; none for other instructions.
    #[inline(never)]
    fn listed_edges(&self, data: &InstData) -> Edges {
        match data.opcode.format() {
            Format::BranchTable => self.jump_tables[JumpTable(data.words[1].0)],
            Format::TryCall => self.exception_tables[self.try_call_table(data)].edges,
            Format::TryCallIndirect => self.exception_tables[ExceptionTable(data.words[0].0)].edges,
            _ => Edges::default(),
        }
    }

    /// Returns the destinations of an instruction, in the order of successors (see the invariants in `dfg`); empty if
    /// it is no branch.
    #[inline]
    pub fn branch_destinations(&self, inst: Inst) -> &[BlockCall] {
        &self.block_calls[self.edges(inst).range()]
    }

    /// Changes the destination block of an edge and keeps the arguments.
    pub fn set_destination(&mut self, inst: Inst, edge: usize, block: Block) {
        let edges = self.edges(inst).range();
        self.block_calls[edges][edge].block = block;
    }

    /// Replaces the destination block and the arguments of an edge.
    pub fn set_block_call(&mut self, inst: Inst, edge: usize, call: BlockCall) {
        let edges = self.edges(inst).range();
        self.block_calls[edges][edge] = call;
    }

    /// Appends an argument to an edge.
    pub fn append_block_arg(&mut self, inst: Inst, edge: usize, arg: BlockArg) {
        let edges = self.edges(inst).range();
        self.block_args.push(&mut self.block_calls[edges][edge].args, arg);
    }

    /// Retains the arguments of an edge for whose index `keep` returns `true`.
    pub fn retain_block_args(&mut self, inst: Inst, edge: usize, mut keep: impl FnMut(usize) -> bool) {
        let edges = self.edges(inst).range();
        let list = &mut self.block_calls[edges][edge].args;
        // A new list, because edges may share a list.
        let args = self.block_args.get(*list).iter().enumerate();
        let kept: SmallVec<[BlockArg; 8]> = args.filter(|&(number, _)| keep(number)).map(|(_, &arg)| arg).collect();
        *list = self.block_args.list(&kept);
    }

    /// Returns `true` if an exception table was ever created.
    pub fn has_exception_tables(&self) -> bool {
        !self.exception_tables.is_empty()
    }

    /// Returns `true` if an exception table with a context for its handlers was ever created.
    pub fn has_handler_contexts(&self) -> bool {
        self.exception_items.items().iter().any(|item| item.context().is_some())
    }

    /// Removes an argument of an edge.
    pub fn remove_block_arg(&mut self, inst: Inst, edge: usize, index: usize) {
        let edges = self.edges(inst).range();
        self.block_args.remove(&mut self.block_calls[edges][edge].args, index);
    }
}
