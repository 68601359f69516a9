//! Builds functions for front ends: variables that are assigned many times become SSA values.
//!
//! ```text
//! x = 1                 block0: v0 = iconst.i32 1
//! while … { x = x + 1 }         jump block1(v0)
//!                       block1(v1: i32): …
//! ```
//!
//! A block must be *sealed* once all branches to it exist.
//!
//! | file | holds |
//! |---|---|
//! | `variable.rs` | variables, and how they are misused |
//! | `construct.rs` | the construction of SSA form: algorithm, paper, limits |

mod construct;
#[cfg(test)]
mod tests;
mod variable;

pub use construct::FrontendContext;
pub use variable::{Variable, VariableError};

use cranelift_entity::EntityRef;

use crate::builder::InstBuilder;
use crate::entities::{Block, Inst, Value};
use crate::function::{Function, SourceLoc};
use crate::instruction::InstData;
use crate::types::Type;

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

    /// Appends the parameters of the function's signature to a block.
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
        self.cx.declare(variable, ty)
    }

    /// Assigns a value in the current block.
    ///
    /// # Errors
    /// If the variable is not declared or has another type.
    pub fn def_var(&mut self, variable: Variable, value: Value) -> Result<(), VariableError> {
        let expected = self.cx.type_of(variable)?;
        let found = self.func.dfg.value_type(value);
        if expected != found {
            return Err(VariableError::Mismatch { variable, expected, found });
        }
        if let Some(block) = self.current {
            self.cx.define(variable, block, value);
        }
        Ok(())
    }

    /// The value of a variable in the current block; zero where nothing was assigned.
    ///
    /// # Errors
    /// If the variable is not declared.
    pub fn use_var(&mut self, variable: Variable) -> Result<Value, VariableError> {
        let ty = self.cx.type_of(variable)?;
        let Some(block) = self.current else { return Err(VariableError::Undeclared(variable)) };
        Ok(self.cx.value_at_end(self.func, variable, ty, block))
    }

    /// Says that all branches to a block exist.
    pub fn seal_block(&mut self, block: Block) {
        self.cx.seal(self.func, block);
    }

    /// Seals all blocks that are not sealed.
    pub fn seal_all_blocks(&mut self) {
        for block in (0..self.func.dfg.num_blocks()).map(Block::new) {
            if !self.cx.is_sealed(block) {
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
            builder.cx.add_branch(block, inst, edge as u32, call.block);
        }
        inst
    }
}
