//! Instructions whose operands are lists, and shuffle masks.

use smallvec::SmallVec;

use crate::dfg::{DataFlowGraph, args_list};
use crate::entities::{ExceptionTable, FuncRef, ShuffleMask, SigRef, Value};
use crate::instruction::InstData;
use crate::opcodes::{Format, Opcode};
use crate::pool::List;
use crate::types;

/// Instructions with lists of operands.
impl DataFlowGraph {
    fn list_data(&mut self, opcode: Opcode, first: u32, args: List<Value>) -> InstData {
        let (start, len) = args.words();
        let words = [Value(first), Value(start), Value(len)];
        InstData { opcode, small: 0, ty: types::INVALID, words }
    }

    /// Returns the data of `return`.
    pub fn return_data(&mut self, args: &[Value]) -> InstData {
        let args = self.value_lists.list(args);
        self.list_data(Opcode::Return, 0, args)
    }

    /// Returns the data of `call` or `return_call`.
    pub fn call_data(&mut self, opcode: Opcode, func: FuncRef, args: &[Value]) -> InstData {
        debug_assert_eq!(opcode.format(), Format::Call);
        let args = self.value_lists.list(args);
        self.list_data(opcode, func.as_u32(), args)
    }

    /// Returns the data of `call_indirect` or `return_call_indirect`.
    pub fn call_indirect_data(&mut self, opcode: Opcode, sig: SigRef, callee: Value, args: &[Value]) -> InstData {
        debug_assert_eq!(opcode.format(), Format::CallIndirect);
        let args = self.callee_list(callee, args);
        self.list_data(opcode, sig.as_u32(), args)
    }

    /// Returns the data of `try_call`.
    pub fn try_call_data(&mut self, func: FuncRef, args: &[Value], table: ExceptionTable) -> InstData {
        let mut list: SmallVec<[Value; 8]> = SmallVec::with_capacity(args.len() + 1);
        list.push(Value(table.as_u32()));
        list.extend_from_slice(args);
        let (start, len) = self.value_lists.list(&list).words();
        self.list_data(Opcode::TryCall, func.as_u32(), List::from_words(start + 1, len - 1))
    }

    /// Returns the data of `try_call_indirect`.
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

    /// Returns the exception table of a `try_call`, which is stored in the word before the operands.
    pub(crate) fn try_call_table(&self, data: &InstData) -> ExceptionTable {
        let list = List::from_words(data.words[1].0 - 1, 1);
        ExceptionTable(self.value_lists.get(list)[0].0)
    }

    pub(crate) fn args_of(&self, data: &InstData) -> &[Value] {
        self.value_lists.get(args_list(data))
    }

    /// Returns a mask for `shuffle`, lane 0 first.
    pub fn make_shuffle_mask(&mut self, mask: [u8; 16]) -> ShuffleMask {
        self.shuffle_masks.push(mask)
    }

    pub(crate) fn shuffle_mask(&self, mask: ShuffleMask) -> &[u8; 16] {
        &self.shuffle_masks[mask]
    }
}
