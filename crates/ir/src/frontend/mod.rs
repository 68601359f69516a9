//! Function builder for front ends. Variables that are assigned many times become SSA values.
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
//! | `variable.rs` | variables, and errors in their use |
//! | `construct.rs` | the construction of SSA form: algorithm, paper, limits |
//! | `switch.rs` | a branch to one of many blocks, selected by any integers |
//! | `routines.rs` | calls of library routines that copy, fill and compare memory |
//! | `error.rs` | errors about incomplete blocks |

mod construct;
mod error;
mod routines;
mod switch;
#[cfg(test)]
mod tests;
mod variable;

pub use construct::FrontendContext;
pub use error::BuildError;
pub use switch::Switch;
pub use variable::{Variable, VariableError};

use cranelift_entity::EntityRef;

use crate::builder::InstBuilder;
use crate::entities::{Block, FuncRef, Inst, JumpTable, SigRef, StackSlot, Value};
use crate::extfunc::ExtFuncData;
use crate::function::{Function, SourceLoc};
use crate::instruction::InstData;
use crate::preamble::StackSlotData;
use crate::signature::Signature;
use crate::types::Type;

/// Builds a function block by block.
///
/// ```
/// use kingpost_ir::Function;
/// use kingpost_ir::builder::{ControlBuilder, ImmediateBuilder, InstBuilder};
/// use kingpost_ir::frontend::{FrontendContext, FunctionBuilder};
/// use kingpost_ir::types::I64;
///
/// let (mut func, mut scratch) = (Function::default(), FrontendContext::default());
/// let mut b = FunctionBuilder::new(&mut func, &mut scratch);
/// let [entry, body, exit] = [(); 3].map(|()| b.create_block());
/// let n = b.declare_var(I64);
///
/// // n = 10; do { n = n - 1; } while (n);
/// b.switch_to_block(entry);
/// let ten = b.ins().iconst(I64, 10);
/// b.def_var(n, ten);
/// b.ins().jump(body, &[]);
/// b.switch_to_block(body);
/// let now = b.use_var(n);
/// let less = b.ins().iadd_imm(now, -1);
/// b.def_var(n, less);
/// b.ins().brif(less, body, &[], exit, &[]);
/// b.switch_to_block(exit);
/// b.ins().return_(&[]);
///
/// // All branches exist now, so that the blocks can be sealed.
/// b.seal_all_blocks();
/// b.finalize().unwrap();
/// assert_eq!(func.dfg.block_params(body).len(), 1, "the variable became a parameter of the loop");
/// ```
#[derive(Debug)]
pub struct FunctionBuilder<'f> {
    /// The function. Change terminators only with the builder's own methods.
    pub func: &'f mut Function,
    cx: &'f mut FrontendContext,
    current: Option<Block>,
    srcloc: SourceLoc,
}

/// The state of a suspended builder, besides the function and the context. See [`FunctionBuilder::suspend`].
#[derive(Copy, Clone, Default, Debug)]
pub struct Suspended {
    current: Option<Block>,
    srcloc: SourceLoc,
}

impl<'f> FunctionBuilder<'f> {
    /// Returns a builder for a function that has no blocks yet.
    pub fn new(func: &'f mut Function, cx: &'f mut FrontendContext) -> FunctionBuilder<'f> {
        cx.clear();
        FunctionBuilder::resume(func, cx, Suspended::default())
    }

    /// Ends the borrow of the function and the context, for front ends that own both and build in several calls.
    ///
    /// ```
    /// use kingpost_ir::Function;
    /// use kingpost_ir::builder::ControlBuilder;
    /// use kingpost_ir::frontend::{FrontendContext, FunctionBuilder};
    ///
    /// let (mut func, mut scratch) = (Function::default(), FrontendContext::default());
    /// let mut b = FunctionBuilder::new(&mut func, &mut scratch);
    /// let block = b.create_block();
    /// b.switch_to_block(block);
    /// let suspended = b.suspend();
    ///
    /// let mut b = FunctionBuilder::resume(&mut func, &mut scratch, suspended);
    /// assert_eq!(b.current_block(), Some(block));
    /// b.ins().return_(&[]);
    /// b.seal_all_blocks();
    /// b.finalize().unwrap();
    /// ```
    pub fn suspend(self) -> Suspended {
        Suspended { current: self.current, srcloc: self.srcloc }
    }

    /// Returns the builder that was suspended, with its function and its context.
    pub fn resume(func: &'f mut Function, cx: &'f mut FrontendContext, suspended: Suspended) -> FunctionBuilder<'f> {
        FunctionBuilder { func, cx, current: suspended.current, srcloc: suspended.srcloc }
    }

    /// Creates a block. The block enters the layout when the builder switches to it.
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

    /// Sets the insertion point to the end of `block`.
    pub fn switch_to_block(&mut self, block: Block) {
        if !self.func.layout.is_block_inserted(block) {
            self.func.layout.append_block(block);
        }
        self.current = Some(block);
    }

    /// Returns the block that was switched to last.
    pub fn current_block(&self) -> Option<Block> {
        self.current
    }

    /// Sets the source location of instructions inserted from now on.
    pub fn set_srcloc(&mut self, srcloc: SourceLoc) {
        self.srcloc = srcloc;
    }

    /// Appends a parameter to a block.
    pub fn append_block_param(&mut self, block: Block, ty: Type) -> Value {
        self.func.dfg.append_block_param(block, ty)
    }

    /// Returns the parameters of a block.
    pub fn block_params(&self, block: Block) -> &[Value] {
        self.func.dfg.block_params(block)
    }

    /// Returns the results of an instruction.
    pub fn inst_results(&self, inst: Inst) -> &[Value] {
        self.func.dfg.inst_results(inst)
    }

    /// Declares a signature and returns its reference for calls.
    pub fn import_signature(&mut self, signature: Signature) -> SigRef {
        self.func.dfg.signatures.push(signature)
    }

    /// Declares a function and returns its reference for calls.
    pub fn import_function(&mut self, function: ExtFuncData) -> FuncRef {
        self.func.dfg.ext_funcs.push(function)
    }

    /// Creates a stack slot of `bytes` bytes, aligned to a multiple of `align` bytes.
    ///
    /// # Panics
    /// If `align` is no power of two.
    pub fn create_stack_slot(&mut self, bytes: u32, align: u32) -> StackSlot {
        assert!(align.is_power_of_two(), "an alignment of {align} bytes");
        self.func.stack_slots.push(StackSlotData { size: bytes, align_shift: align.trailing_zeros() as u8, key: None })
    }

    /// Creates a jump table for [`br_table`](crate::builder::ControlBuilder::br_table), to blocks without parameters.
    pub fn create_jump_table(&mut self, otherwise: Block, blocks: &[Block]) -> JumpTable {
        let dfg = &mut self.func.dfg;
        let calls: Vec<_> = blocks.iter().map(|&block| dfg.block_call(block, &[])).collect();
        let otherwise = dfg.block_call(otherwise, &[]);
        dfg.make_jump_table(otherwise, &calls)
    }

    /// Declares a variable.
    pub fn declare_var(&mut self, ty: Type) -> Variable {
        self.cx.declare(ty)
    }

    /// Assigns a value in the current block.
    ///
    /// # Panics
    /// If [`FunctionBuilder::try_def_var`] fails.
    pub fn def_var(&mut self, variable: Variable, value: Value) {
        self.try_def_var(variable, value).unwrap_or_else(|error| panic!("{error}"));
    }

    /// Assigns a value in the current block.
    ///
    /// # Errors
    /// If the variable is not declared or has another type.
    pub fn try_def_var(&mut self, variable: Variable, value: Value) -> Result<(), VariableError> {
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

    /// Returns the value of a variable in the current block; zero if no value was assigned.
    ///
    /// # Panics
    /// If [`FunctionBuilder::try_use_var`] fails.
    pub fn use_var(&mut self, variable: Variable) -> Value {
        self.try_use_var(variable).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Returns the value of a variable in the current block; zero if no value was assigned.
    ///
    /// # Errors
    /// If the variable is not declared, or there is no current block.
    pub fn try_use_var(&mut self, variable: Variable) -> Result<Value, VariableError> {
        let ty = self.cx.type_of(variable)?;
        let Some(block) = self.current else { return Err(VariableError::Undeclared(variable)) };
        Ok(self.cx.value_at_end(self.func, variable, ty, block))
    }

    /// Seals a block: all branches to it exist.
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

    /// Ends building, and replaces the aliases that removed parameters became.
    ///
    /// # Errors
    /// If a block that was switched to or branched to has no terminator or is not sealed.
    pub fn finalize(self) -> Result<(), BuildError> {
        self.func.dfg.resolve_all_aliases();
        for block in (0..self.func.dfg.num_blocks()).map(Block::new) {
            let is_inserted = self.func.layout.is_block_inserted(block);
            if !is_inserted && !self.cx.is_destination(block) {
                continue;
            }
            let last = self.func.layout.last_inst(block).filter(|_| is_inserted);
            if !last.is_some_and(|last| self.func.dfg.opcode(last).is_terminator()) {
                return Err(BuildError::NotFilled(block));
            }
            if !self.cx.is_sealed(block) {
                return Err(BuildError::NotSealed(block));
            }
        }
        Ok(())
    }

    /// Returns a builder that inserts one instruction at the end of the current block.
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
            builder.func.set_srcloc(inst, builder.srcloc);
        }
        for (edge, call) in builder.func.dfg.branch_destinations(inst).iter().enumerate() {
            builder.cx.add_branch(block, inst, edge as u32, call.block);
        }
        inst
    }
}
