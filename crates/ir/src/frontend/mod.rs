//! Builds functions for front ends: variables that are assigned many times become SSA values.
//!
//! ```text
//! x = 1                 block0: v0 = iconst.i32 1
//! while … { x = x + 1 }         jump block1(v0)
//!                       block1(v1: i32): …
//! ```
//!
//! Algorithm: Braun, Buchwald, Hack, Leißa, Mallon, Zwinkau, "Simple and Efficient Construction of
//! Static Single Assignment Form" (2013). A use of a variable looks for a definition in its block,
//! then in the predecessors, and makes a block parameter where several meet. A block must be
//! *sealed* once all branches to it exist; until then each use in it makes a parameter whose
//! arguments are added at sealing. Parameters that have one possible value when their arguments are
//! known are removed and become aliases. A work list takes the place of recursion; each parameter
//! visits its predecessors once.
//!
//! Limits: a parameter that becomes superfluous only because one of its arguments does so later is
//! kept. This does not happen if loops are sealed from the inside out.

use cranelift_entity::{EntityRef, SecondaryMap, entity_impl};
use std::collections::HashMap;
use std::fmt;

use crate::builder::InstBuilder;
use crate::constants::ConstantData;
use crate::entities::{Block, Inst, Value};
use crate::function::{Function, SourceLoc};
use crate::immediates::{Ieee16, Ieee128};
use crate::instruction::{BlockArg, InstData};
use crate::layout::Layout;
use crate::opcodes::Opcode;
use crate::types::{self, Type};

/// A variable of the front end.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Variable(u32);
entity_impl!(Variable, "var");

/// How a variable was misused.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum VariableError {
    /// It was declared twice.
    Redeclared(Variable),
    /// It was not declared.
    Undeclared(Variable),
    /// A value of another type was assigned.
    Mismatch {
        /// The variable.
        variable: Variable,
        /// Its type.
        expected: Type,
        /// The type of the value.
        found: Type,
    },
}

impl fmt::Display for VariableError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            VariableError::Redeclared(variable) => write!(f, "{variable} is declared twice"),
            VariableError::Undeclared(variable) => write!(f, "{variable} is not declared"),
            VariableError::Mismatch { variable, expected, found } => {
                write!(f, "{variable} has type {expected} and cannot hold a value of type {found}")
            }
        }
    }
}

impl std::error::Error for VariableError {}

#[derive(Clone, Default, Debug)]
struct BlockState {
    /// Branches to the block, by terminator and edge.
    preds: Vec<(Block, Inst, u32)>,
    sealed: bool,
    /// Parameters whose arguments are missing until the block is sealed.
    incomplete: Vec<(Variable, Value)>,
}

/// Memory for building functions, to be used for one after the other.
#[derive(Clone, Default, Debug)]
pub struct FrontendContext {
    variables: SecondaryMap<Variable, Type>,
    blocks: SecondaryMap<Block, BlockState>,
    /// The value of a variable at the end of a block. Only looked up, never walked.
    defs: HashMap<(Variable, Block), Value>,
    tasks: Vec<Task>,
    results: Vec<Value>,
}

impl FrontendContext {
    fn clear(&mut self) {
        self.variables.clear();
        self.blocks.clear();
        self.defs.clear();
        self.tasks.clear();
        self.results.clear();
    }
}

/// A step in looking up a variable. Steps push their results on a stack.
#[derive(Copy, Clone, Debug)]
enum Task {
    /// Find the value at the end of a block.
    Lookup(Block),
    /// Take the result as the value at the end of the block, too.
    Remember(Block),
    /// Take the last results as the arguments of the parameter in its block.
    Finish(Block, Value),
}

/// Builds a function block by block.
#[derive(Debug)]
pub struct FunctionBuilder<'f> {
    /// The function. Change terminators only by the builder's own methods.
    pub func: &'f mut Function,
    cx: &'f mut FrontendContext,
    current: Option<Block>,
    srcloc: SourceLoc,
}

impl<'f> FunctionBuilder<'f> {
    /// Builds a function that has no blocks yet.
    pub fn new(func: &'f mut Function, cx: &'f mut FrontendContext) -> FunctionBuilder<'f> {
        cx.clear();
        FunctionBuilder { func, cx, current: None, srcloc: SourceLoc::default() }
    }

    /// Makes a block. It gets its place in the function when it is switched to.
    pub fn create_block(&mut self) -> Block {
        self.func.dfg.make_block()
    }

    /// Gives a block the parameters of the function's signature.
    pub fn append_function_params(&mut self, block: Block) {
        for index in 0..self.func.signature.params.len() {
            let ty = self.func.signature.params[index].value_type;
            self.func.dfg.append_block_param(block, ty);
        }
    }

    /// Further instructions go to the end of this block.
    pub fn switch_to_block(&mut self, block: Block) {
        if !self.func.layout.is_block_inserted(block) {
            self.func.layout.append_block(block);
        }
        self.current = Some(block);
    }

    /// The block that was switched to.
    pub fn current_block(&self) -> Option<Block> {
        self.current
    }

    /// The source location of what is inserted from now on.
    pub fn set_srcloc(&mut self, srcloc: SourceLoc) {
        self.srcloc = srcloc;
    }

    /// Says that a variable has a type.
    ///
    /// # Errors
    /// If the variable was declared before.
    pub fn declare_var(&mut self, variable: Variable, ty: Type) -> Result<(), VariableError> {
        if !self.cx.variables[variable].is_invalid() {
            return Err(VariableError::Redeclared(variable));
        }
        self.cx.variables[variable] = ty;
        Ok(())
    }

    /// Assigns a value in the current block.
    ///
    /// # Errors
    /// If the variable is not declared or has another type.
    pub fn def_var(&mut self, variable: Variable, value: Value) -> Result<(), VariableError> {
        let expected = self.type_of(variable)?;
        let found = self.func.dfg.value_type(value);
        if expected != found {
            return Err(VariableError::Mismatch { variable, expected, found });
        }
        if let Some(block) = self.current {
            self.cx.defs.insert((variable, block), value);
        }
        Ok(())
    }

    /// The value of a variable in the current block; zero where nothing was assigned.
    ///
    /// # Errors
    /// If the variable is not declared.
    pub fn use_var(&mut self, variable: Variable) -> Result<Value, VariableError> {
        let ty = self.type_of(variable)?;
        let Some(block) = self.current else { return Err(VariableError::Undeclared(variable)) };
        self.cx.tasks.push(Task::Lookup(block));
        Ok(self.look_up(variable, ty))
    }

    fn type_of(&self, variable: Variable) -> Result<Type, VariableError> {
        let ty = self.cx.variables[variable];
        if ty.is_invalid() { Err(VariableError::Undeclared(variable)) } else { Ok(ty) }
    }

    /// Says that all branches to a block exist.
    pub fn seal_block(&mut self, block: Block) {
        self.cx.blocks[block].sealed = true;
        let incomplete = std::mem::take(&mut self.cx.blocks[block].incomplete);
        for &(variable, param) in &incomplete {
            let ty = self.cx.variables[variable];
            self.push_operands(block, param);
            self.look_up(variable, ty);
        }
        if !incomplete.is_empty() {
            self.func.dfg.drop_aliased_params(block);
        }
    }

    /// Seals all blocks that are not sealed.
    pub fn seal_all_blocks(&mut self) {
        for block in (0..self.func.dfg.num_blocks()).map(Block::new) {
            if !self.cx.blocks[block].sealed {
                self.seal_block(block);
            }
        }
    }

    /// Ends building: replaces the aliases that removed parameters became.
    pub fn finalize(self) {
        self.func.dfg.resolve_all_aliases();
    }

    /// Inserts an instruction by one of the builder's methods.
    pub fn ins(&mut self) -> FrontendInserter<'_, 'f> {
        FrontendInserter { builder: self }
    }
}

/// Looking up variables.
impl FunctionBuilder<'_> {
    /// Works off the tasks and returns the last result.
    fn look_up(&mut self, variable: Variable, ty: Type) -> Value {
        while let Some(task) = self.cx.tasks.pop() {
            match task {
                Task::Lookup(block) => self.look_up_at_end(variable, ty, block),
                Task::Remember(block) => {
                    if let Some(&value) = self.cx.results.last() {
                        self.cx.defs.insert((variable, block), value);
                    }
                }
                Task::Finish(block, param) => self.finish_param(block, param),
            }
        }
        let value = self.cx.results.pop();
        self.cx.results.clear();
        let value = value.unwrap_or_else(|| self.zero(ty));
        self.func.dfg.resolve_aliases(value)
    }

    fn look_up_at_end(&mut self, variable: Variable, ty: Type, block: Block) {
        let mut block = block;
        // Longer walks along single predecessors go around a cycle that is not reachable.
        for _ in 0..=self.func.dfg.num_blocks() {
            if let Some(&value) = self.cx.defs.get(&(variable, block)) {
                let value = self.func.dfg.resolve_aliases(value);
                return self.cx.results.push(value);
            }
            let state = &self.cx.blocks[block];
            match (state.sealed, &state.preds[..]) {
                (false, _) => {
                    let param = self.new_param(variable, ty, block);
                    self.cx.blocks[block].incomplete.push((variable, param));
                    return self.cx.results.push(param);
                }
                (true, []) => break,
                (true, &[(pred, ..)]) => {
                    self.cx.tasks.push(Task::Remember(block));
                    block = pred;
                }
                (true, _) => {
                    let param = self.new_param(variable, ty, block);
                    self.push_operands(block, param);
                    return;
                }
            }
        }
        let zero = self.zero(ty);
        self.cx.defs.insert((variable, block), zero);
        self.cx.results.push(zero);
    }

    fn new_param(&mut self, variable: Variable, ty: Type, block: Block) -> Value {
        let param = self.func.dfg.append_block_param(block, ty);
        self.cx.defs.insert((variable, block), param);
        param
    }

    /// Looks up the variable in all predecessors.
    fn push_operands(&mut self, block: Block, param: Value) {
        self.cx.tasks.push(Task::Finish(block, param));
        for &(pred, ..) in self.cx.blocks[block].preds.iter().rev() {
            self.cx.tasks.push(Task::Lookup(pred));
        }
    }

    /// Adds the arguments for a parameter, or removes it if it has only one possible value.
    fn finish_param(&mut self, block: Block, param: Value) {
        let preds = std::mem::take(&mut self.cx.blocks[block].preds);
        let first = self.cx.results.len() - preds.len();
        let mut only = None;
        let mut trivial = true;
        for index in first..self.cx.results.len() {
            let operand = self.func.dfg.resolve_aliases(self.cx.results[index]);
            if operand != param && only != Some(operand) {
                trivial &= only.is_none();
                only = Some(operand);
            }
        }
        if trivial {
            self.replace_param(param, only);
            // The parameters of a block that is being sealed are removed together at the end.
            self.func.dfg.pop_aliased_params(block);
        } else {
            for (&(_, inst, edge), &operand) in preds.iter().zip(&self.cx.results[first..]) {
                self.func.dfg.append_block_arg(inst, edge as usize, BlockArg::from(operand));
            }
        }
        self.cx.blocks[block].preds = preds;
        self.cx.results.truncate(first);
        self.cx.results.push(self.func.dfg.resolve_aliases(param));
    }

    /// Makes a parameter an alias of its only value.
    fn replace_param(&mut self, param: Value, only: Option<Value>) {
        let ty = self.func.dfg.value_type(param);
        let value = only.unwrap_or_else(|| self.zero(ty));
        let cycle = self.func.dfg.change_to_alias(param, value);
        debug_assert!(cycle.is_ok(), "{param} has no value but itself");
    }

    /// A zero at the start of the entry block, for variables that are used before they are
    /// assigned.
    fn zero(&mut self, ty: Type) -> Value {
        let first = self.func.layout.entry_block().or(self.current);
        let Some(entry) = first else { return self.func.dfg.make_undefined_value() };
        match ty {
            types::I128 => {
                let half = self.prepend(entry, InstData::iconst(types::I64, 0), types::I64, None);
                let value = self.func.dfg.inst_results(half)[0];
                let data = InstData::unary(Opcode::Uextend, types::I128, value);
                let inst = self.prepend(entry, data, types::I128, Some(half));
                self.func.dfg.inst_results(inst)[0]
            }
            _ => {
                let data = self.zero_data(ty);
                let inst = self.prepend(entry, data, ty, None);
                self.func.dfg.inst_results(inst)[0]
            }
        }
    }

    fn zero_data(&mut self, ty: Type) -> InstData {
        match ty {
            types::F16 => InstData::f16const(Ieee16::from_bits(0)),
            types::F32 => InstData::f32const(Default::default()),
            types::F64 => InstData::f64const(Default::default()),
            types::F128 => {
                let bytes = Ieee128::from_bits(0).bits().to_le_bytes();
                let constant = self.func.dfg.constants.insert(ConstantData::new(&bytes));
                InstData::unary_const(Opcode::F128const, ty, constant)
            }
            _ if ty.is_vector() => {
                let bytes = vec![0; ty.bytes() as usize];
                let constant = self.func.dfg.constants.insert(ConstantData::new(&bytes));
                InstData::unary_const(Opcode::Vconst, ty, constant)
            }
            _ => InstData::iconst(ty, 0),
        }
    }

    /// Inserts at the start of a block, or behind an instruction there.
    fn prepend(&mut self, block: Block, data: InstData, ctrl: Type, after: Option<Inst>) -> Inst {
        let inst = self.func.dfg.make_inst(data);
        self.func.dfg.make_results(inst, ctrl);
        let layout: &mut Layout = &mut self.func.layout;
        if !layout.is_block_inserted(block) {
            layout.append_block(block);
        }
        match (after, layout.first_inst(block)) {
            (Some(after), _) => layout.insert_inst_after(inst, after),
            (None, Some(first)) => layout.insert_inst(inst, first),
            (None, None) => layout.append_inst(inst, block),
        }
        inst
    }
}

/// Builds one instruction at the end of the current block.
#[derive(Debug)]
pub struct FrontendInserter<'b, 'f> {
    builder: &'b mut FunctionBuilder<'f>,
}

impl InstBuilder for FrontendInserter<'_, '_> {
    fn func(&self) -> &Function {
        self.builder.func
    }

    fn func_mut(&mut self) -> &mut Function {
        self.builder.func
    }

    fn insert(&mut self, data: InstData, ctrl: Type) -> Inst {
        let builder = &mut *self.builder;
        let inst = builder.func.dfg.make_inst(data);
        builder.func.dfg.make_results(inst, ctrl);
        let Some(block) = builder.current else {
            debug_assert!(false, "no block was switched to");
            return inst;
        };
        builder.func.layout.append_inst(inst, block);
        if !builder.srcloc.is_none() {
            builder.func.srclocs[inst] = builder.srcloc;
        }
        for (edge, call) in builder.func.dfg.branch_destinations(inst).iter().enumerate() {
            debug_assert!(!builder.cx.blocks[call.block].sealed, "{} is sealed", call.block);
            builder.cx.blocks[call.block].preds.push((block, inst, edge as u32));
        }
        inst
    }
}

#[cfg(test)]
mod tests;
