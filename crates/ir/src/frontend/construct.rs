//! The construction of SSA form.
//!
//! Algorithm: Braun, Buchwald, Hack, Leißa, Mallon, Zwinkau, "Simple and Efficient Construction of Static Single
//! Assignment Form" (2013). A use of a variable looks for a definition in its block, then in the predecessors, and
//! creates a block parameter where several definitions meet. A block must be *sealed* once all branches to it exist.
//! Until then, each use in the block creates a parameter whose arguments are added at sealing. A parameter with one
//! possible value is removed when its arguments are known, and becomes an alias. A work list replaces recursion. Each
//! parameter visits its predecessors once.
//!
//! Limits: a parameter is kept if it becomes redundant only because one of its arguments becomes redundant later.
//! This does not happen if loops are sealed from the innermost outwards.

use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntitySet, PrimaryMap, SecondaryMap};
use std::collections::HashMap;

use super::variable::{Variable, VariableError};
use crate::branch_weights::BranchWeights;
use crate::constants::ConstantData;
use crate::entities::{Block, Inst, Value, ValueLabel};
use crate::function::{Function, Labeled};
use crate::instruction::{BlockArg, InstData};
use crate::opcodes::Opcode;
use crate::types::{self, Type};
use kingpost_meter::heap_bytes;

#[derive(Clone, Default, Debug)]
struct BlockState {
    /// Branches to the block: source block, terminator and edge index.
    preds: Vec<(Block, Inst, u32)>,
    sealed: bool,
    /// Parameters whose arguments are missing until the block is sealed.
    incomplete: Vec<(Variable, Value)>,
}

/// Memory for building functions. One context serves one function after the other.
#[derive(Clone, Default, Debug)]
pub struct FrontendContext {
    variables: PrimaryMap<Variable, Type>,
    blocks: SecondaryMap<Block, BlockState>,
    /// The value of a variable at the end of a block. Only looked up, never iterated, because the order of a hash map
    /// is arbitrary.
    defs: HashMap<(Variable, Block), Value>,
    /// Variables that were assigned or used.
    touched: EntitySet<Variable>,
    /// Variables whose values must be in stack maps.
    needing_stack_map: EntitySet<Variable>,
    /// Labels of variables that have names.
    pub(super) labels: SecondaryMap<Variable, PackedOption<ValueLabel>>,
    /// Values of variables that have names.
    pub(super) labeled: Vec<(Value, Labeled)>,
    /// Weights of branches.
    pub(super) branch_weights: BranchWeights,
    /// Values that must be in stack maps.
    pub(super) in_stack_maps: Vec<Value>,
    tasks: Vec<Task>,
    results: Vec<Value>,
}

heap_bytes!(FrontendContext {
    variables,
    blocks,
    defs,
    touched,
    needing_stack_map,
    labels,
    labeled,
    branch_weights,
    in_stack_maps,
    tasks,
    results
});

/// A step in the lookup of a variable. Steps push their results on a stack.
#[derive(Copy, Clone, Debug)]
enum Task {
    /// Find the value at the end of a block.
    Lookup(Block),
    /// Record the result as the value at the end of this block, too.
    Remember(Block),
    /// Pop the last results and add them as the arguments of the block's parameter.
    Finish(Block, Value),
}

impl FrontendContext {
    /// Clears everything and keeps the memory.
    pub fn clear(&mut self) {
        self.variables.clear();
        self.blocks.clear();
        self.defs.clear();
        self.touched.clear();
        self.needing_stack_map.clear();
        self.in_stack_maps.clear();
        self.labels.clear();
        self.labeled.clear();
        self.branch_weights.clear();
        self.tasks.clear();
        self.results.clear();
    }

    /// Declares a variable. Variables are numbered in the order of declaration.
    pub fn declare(&mut self, ty: Type) -> Variable {
        self.variables.push(ty)
    }

    pub(super) fn type_of(&self, variable: Variable) -> Result<Type, VariableError> {
        self.variables.get(variable).copied().ok_or(VariableError::Undeclared(variable))
    }

    /// Sets the value of the variable from the current point to the end of the block.
    pub fn define(&mut self, variable: Variable, block: Block, value: Value) {
        self.defs.insert((variable, block), value);
        self.touched.insert(variable);
        if self.needing_stack_map.contains(variable) {
            self.in_stack_maps.push(value);
        }
    }

    /// Labels a value of the variable, if the variable has a name. `assigned` is the block of a later assignment.
    pub(super) fn label(&mut self, variable: Variable, value: Value, assigned: Option<Block>) {
        if let Some(label) = self.labels[variable].expand() {
            self.labeled.push((value, Labeled { label, assigned }));
        }
    }

    /// Records that values of the variable must be in stack maps.
    pub(super) fn need_stack_map(&mut self, variable: Variable) {
        self.needing_stack_map.insert(variable);
    }

    /// Returns `true` if the variable was assigned or used.
    pub(super) fn is_touched(&self, variable: Variable) -> bool {
        self.touched.contains(variable)
    }

    /// Returns the current value of the variable at the end of the block.
    pub fn value_at_end(&mut self, func: &mut Function, variable: Variable, ty: Type, block: Block) -> Value {
        self.tasks.push(Task::Lookup(block));
        self.look_up(func, variable, ty)
    }

    /// Records an edge from `block`, by its terminator and its index.
    pub fn add_branch(&mut self, block: Block, inst: Inst, edge: u32, to: Block) {
        debug_assert!(!self.blocks[to].sealed, "{to} is sealed");
        self.blocks[to].preds.push((block, inst, edge));
    }

    /// Returns `true` if the block is the destination of a branch.
    pub(super) fn is_destination(&self, block: Block) -> bool {
        !self.blocks[block].preds.is_empty()
    }

    pub(super) fn is_sealed(&self, block: Block) -> bool {
        self.blocks[block].sealed
    }

    /// Seals the block: all branches to it are known.
    pub fn seal(&mut self, func: &mut Function, block: Block) {
        self.blocks[block].sealed = true;
        let incomplete = std::mem::take(&mut self.blocks[block].incomplete);
        for &(variable, param) in &incomplete {
            let ty = self.variables[variable];
            self.push_operands(block, param);
            self.look_up(func, variable, ty);
        }
        if !incomplete.is_empty() {
            func.dfg.drop_aliased_params(block);
        }
    }

    /// Processes all tasks and returns the last result.
    fn look_up(&mut self, func: &mut Function, variable: Variable, ty: Type) -> Value {
        while let Some(task) = self.tasks.pop() {
            match task {
                Task::Lookup(block) => self.look_up_at_end(func, variable, ty, block),
                Task::Remember(block) => {
                    if let Some(&value) = self.results.last() {
                        self.defs.insert((variable, block), value);
                    }
                }
                Task::Finish(block, param) => self.finish_param(func, block, param),
            }
        }
        let value = self.results.pop();
        self.results.clear();
        let value = value.unwrap_or_else(|| zero(func, ty));
        func.dfg.resolve_aliases(value)
    }

    /// Finds the variable's value at the end of a block, or pushes tasks that find it. Walks along single
    /// predecessors, with at most one step per block.
    fn look_up_at_end(&mut self, func: &mut Function, variable: Variable, ty: Type, block: Block) {
        let mut block = block;
        // A longer walk along single predecessors would follow a cycle that is not reachable.
        for _ in 0..=func.dfg.num_blocks() {
            if let Some(&value) = self.defs.get(&(variable, block)) {
                let value = func.dfg.resolve_aliases(value);
                return self.results.push(value);
            }
            let state = &self.blocks[block];
            match (state.sealed, &state.preds[..]) {
                (false, _) => {
                    let param = self.new_param(func, variable, ty, block);
                    self.blocks[block].incomplete.push((variable, param));
                    return self.results.push(param);
                }
                (true, []) => break,
                (true, &[(pred, ..)]) => {
                    self.tasks.push(Task::Remember(block));
                    block = pred;
                }
                (true, _) => {
                    let param = self.new_param(func, variable, ty, block);
                    self.push_operands(block, param);
                    return;
                }
            }
        }
        let zero = zero(func, ty);
        self.define(variable, block, zero);
        self.label(variable, zero, None);
        self.results.push(zero);
    }

    fn new_param(&mut self, func: &mut Function, variable: Variable, ty: Type, block: Block) -> Value {
        let param = func.dfg.append_block_param(block, ty);
        self.define(variable, block, param);
        self.label(variable, param, None);
        param
    }

    /// Pushes tasks that look up the variable in all predecessors.
    fn push_operands(&mut self, block: Block, param: Value) {
        self.tasks.push(Task::Finish(block, param));
        for &(pred, ..) in self.blocks[block].preds.iter().rev() {
            self.tasks.push(Task::Lookup(pred));
        }
    }

    /// Adds the arguments for a parameter, or removes it if it has only one possible value.
    fn finish_param(&mut self, func: &mut Function, block: Block, param: Value) {
        let preds = std::mem::take(&mut self.blocks[block].preds);
        let first = self.results.len() - preds.len();
        let mut only = None;
        let mut trivial = true;
        for index in first..self.results.len() {
            let operand = func.dfg.resolve_aliases(self.results[index]);
            if operand != param && only != Some(operand) {
                trivial &= only.is_none();
                only = Some(operand);
            }
        }
        if trivial {
            replace_param(func, param, only);
            // The parameters of a block that is being sealed are removed together at the end.
            func.dfg.pop_aliased_params(block);
        } else {
            for (&(_, inst, edge), &operand) in preds.iter().zip(&self.results[first..]) {
                func.dfg.append_block_arg(inst, edge as usize, BlockArg::from(operand));
            }
        }
        self.blocks[block].preds = preds;
        self.results.truncate(first);
        self.results.push(func.dfg.resolve_aliases(param));
    }
}

/// Replaces a parameter by an alias of its only value.
fn replace_param(func: &mut Function, param: Value, only: Option<Value>) {
    let ty = func.dfg.value_type(param);
    let value = only.unwrap_or_else(|| zero(func, ty));
    let cycle = func.dfg.change_to_alias(param, value);
    debug_assert!(cycle.is_ok(), "{param} has no value but itself");
}

/// Inserts a zero at the start of the entry block and returns it. It is the value of variables that are used before
/// they are assigned.
fn zero(func: &mut Function, ty: Type) -> Value {
    let Some(entry) = func.layout.entry_block() else { return func.dfg.make_undefined_value() };
    match ty {
        types::I128 => {
            let half = prepend(func, entry, InstData::iconst(types::I64, 0), types::I64, None);
            let value = func.dfg.inst_results(half)[0];
            let data = InstData::unary(Opcode::Uextend, types::I128, value);
            let inst = prepend(func, entry, data, types::I128, Some(half));
            func.dfg.inst_results(inst)[0]
        }
        _ => {
            let data = zero_data(func, ty);
            let inst = prepend(func, entry, data, ty, None);
            func.dfg.inst_results(inst)[0]
        }
    }
}

fn zero_data(func: &mut Function, ty: Type) -> InstData {
    match ty {
        types::F16 => InstData::f16const(Default::default()),
        types::F32 => InstData::f32const(Default::default()),
        types::F64 => InstData::f64const(Default::default()),
        types::F128 => zero_constant(func, Opcode::F128const, ty),
        _ if ty.is_vector() => zero_constant(func, Opcode::Vconst, ty),
        _ => InstData::iconst(ty, 0),
    }
}

fn zero_constant(func: &mut Function, opcode: Opcode, ty: Type) -> InstData {
    let constant = func.dfg.constants.insert(ConstantData::new(&vec![0; ty.bytes() as usize]));
    InstData::unary_const(opcode, ty, constant)
}

/// Inserts an instruction after `after`, or at the start of a block if `after` is `None`.
fn prepend(func: &mut Function, block: Block, data: InstData, ctrl: Type, after: Option<Inst>) -> Inst {
    let inst = func.dfg.make_inst(data);
    func.dfg.make_results(inst, ctrl);
    let layout = &mut func.layout;
    match (after, layout.first_inst(block)) {
        (Some(after), _) => layout.insert_inst_after(inst, after),
        (None, Some(first)) => layout.insert_inst(inst, first),
        (None, None) => layout.append_inst(inst, block),
    }
    inst
}
