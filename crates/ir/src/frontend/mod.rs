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
//! | `insert.rs` | one instruction at the end of the current block, and the checks of its use |
//! | `safepoints.rs` | slots and stack maps for values that a collector may move |
//! | `switch.rs` | a branch to one of many blocks, selected by any integers |
//! | `routines.rs` | calls of library routines that copy, fill and compare memory |
//! | `memory.rs` | copies, fills and comparisons of constant size, without a call if they are small |
//! | `error.rs` | errors about incomplete blocks |

mod construct;
mod error;
mod insert;
mod memory;
#[cfg(test)]
mod moving_tests;
mod routines;
mod safepoints;
mod switch;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod use_tests;
mod variable;

pub use construct::FrontendContext;
pub use error::BuildError;
pub use insert::FrontendInserter;
pub use memory::Overlap;
pub use switch::Switch;
pub use variable::{Variable, VariableError};

use cranelift_entity::EntityRef;

use crate::entities::{
    Block, DynamicStackSlot, DynamicType, FuncRef, GlobalValue, Inst, JumpTable, SigRef, StackSlot, Value, ValueLabel,
};
use crate::extfunc::ExtFuncData;
use crate::function::{Function, Labeled, SourceLoc};
use crate::preamble::{DynamicStackSlotData, DynamicTypeData, GlobalValueData, StackSlotData};
use crate::replace::Replacer;
use crate::signature::Signature;
use crate::types::Type;
use crate::value_data::ValueDef;

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

    /// Appends a parameter for each result of the function's signature to a block.
    pub fn append_function_returns(&mut self, block: Block) {
        for index in 0..self.func.signature.returns.len() {
            let ty = self.func.signature.returns[index].value_type;
            self.func.dfg.append_block_param(block, ty);
        }
    }

    /// Inserts a block that is not in the layout after one that is. Other blocks enter the layout at its end.
    ///
    /// # Panics
    /// If `block` is in the layout, or `after` is not.
    pub fn insert_block_after(&mut self, block: Block, after: Block) {
        let is_inserted = |block| self.func.layout.is_block_inserted(block);
        assert!(!is_inserted(block), "{block} is in the layout already: insert it before the first switch to it");
        assert!(is_inserted(after), "{after} is not in the layout: switch to it, or insert it, first");
        self.func.layout.insert_block_after(block, after);
    }

    /// Marks a block as rarely executed. Its code is placed after the code of other blocks.
    ///
    /// # Panics
    /// If it is the entry block.
    pub fn set_cold_block(&mut self, block: Block) {
        assert!(self.func.layout.entry_block() != Some(block), "{block} is the entry block, which cannot be cold");
        self.func.layout.set_cold(block);
    }

    /// Sets the frequency of a block, for example from a profile; see [`Function::set_block_frequency`].
    pub fn set_block_frequency(&mut self, block: Block, runs: f64) {
        self.func.set_block_frequency(block, runs);
    }

    /// Sets how often a `brif` or `br_table` takes each of its destinations, in proportion to the others. The default of a
    /// `br_table` is the first one. [`FunctionBuilder::finalize`] computes frequencies of blocks from them, for blocks that have
    /// none: see [`crate::branch_weights`].
    ///
    /// ```
    /// # use kingpost_ir::Function;
    /// # use kingpost_ir::builder::{ControlBuilder, ImmediateBuilder, InstBuilder};
    /// # use kingpost_ir::frontend::{FrontendContext, FunctionBuilder};
    /// # use kingpost_ir::types::I64;
    /// # let (mut func, mut scratch) = (Function::default(), FrontendContext::default());
    /// # let mut b = FunctionBuilder::new(&mut func, &mut scratch);
    /// # let [entry, often, seldom] = [(); 3].map(|()| b.create_block());
    /// # b.switch_to_block(entry);
    /// # let condition = b.ins().iconst(I64, 1);
    /// let branch = b.ins().brif(condition, often, &[], seldom, &[]);
    /// b.set_branch_weights(branch, &[3, 1]);
    /// # for block in [often, seldom] {
    /// #     b.switch_to_block(block);
    /// #     b.ins().return_(&[]);
    /// # }
    /// # b.seal_all_blocks();
    /// b.finalize().unwrap();
    /// assert_eq!(func.layout.frequency(seldom), Some(256), "in units of 1/1024");
    /// ```
    ///
    /// # Panics
    /// If the instruction is another one, or has another number of destinations.
    pub fn set_branch_weights(&mut self, branch: Inst, weights: &[u32]) {
        self.cx.branch_weights.set(self.func, branch, weights);
    }

    /// Returns `true` if no code reaches the current block: it is sealed, has no predecessors, and is not the entry.
    /// A front end can skip statements there.
    pub fn is_unreachable(&self) -> bool {
        self.current.is_some_and(|block| {
            let is_entry = self.func.layout.entry_block() == Some(block);
            !is_entry && self.cx.is_sealed(block) && !self.cx.is_destination(block)
        })
    }

    /// Returns a builder whose instruction replaces `inst`; see [`Function::replace`].
    pub fn replace(&mut self, inst: Inst) -> Replacer<'_> {
        self.func.replace(inst)
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

    /// Declares a global value: an address, or a value that is computed from one.
    pub fn create_global_value(&mut self, data: GlobalValueData) -> GlobalValue {
        self.func.global_values.push(data)
    }

    /// Declares a dynamic type: the vector type `base` times a scale. The text of `base` with `xN` is its name.
    pub fn create_dynamic_type(&mut self, base: Type, scale: GlobalValue) -> DynamicType {
        self.func.dynamic_types.push(DynamicTypeData { base, scale })
    }

    /// Creates a stack slot for a value of a dynamic type.
    pub fn create_dynamic_stack_slot(&mut self, ty: DynamicType) -> DynamicStackSlot {
        self.func.dynamic_stack_slots.push(DynamicStackSlotData { ty })
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

    /// Makes every value of the variable appear in the stack maps of the calls during which it is live; see
    /// [`FunctionBuilder::declare_value_needs_stack_map`].
    ///
    /// # Panics
    /// If the variable is not declared, was assigned or used already, or has a type that stack maps cannot have.
    pub fn declare_var_needs_stack_map(&mut self, variable: Variable) {
        let ty = self.cx.type_of(variable).unwrap_or_else(|error| panic!("{error}"));
        safepoints::check_type(&variable, ty);
        let is_new = !self.cx.is_touched(variable);
        self.cx.need_stack_map(variable);
        assert!(is_new, "{variable} has a value already: declare that it needs a stack map before");
    }

    /// Makes the value appear in the stack maps of the calls during which it is live. [`FunctionBuilder::finalize`]
    /// gives it a stack slot, stores it there after its definition, and loads it again after each call, so that a
    /// collector can find it and move what it refers to. Values computed from it, such as addresses of fields, are not
    /// updated by themselves.
    ///
    /// # Panics
    /// If the value has a type that stack maps cannot have: more than 16 bytes, or no whole number of bytes.
    pub fn declare_value_needs_stack_map(&mut self, value: Value) {
        safepoints::check_type(&value, self.func.dfg.value_type(value));
        self.cx.in_stack_maps.push(value);
    }

    /// Creates a variable of the source program, which debuggers show by its name.
    pub fn create_value_label(&mut self, name: &str) -> ValueLabel {
        self.func.variables.push(name.into())
    }

    /// Records that the value is the value of a variable of the source program, from its definition to the definition
    /// of the next value with the label. With the setting `debug_values`, debuggers show it. A function with labels
    /// has no other variables in debuggers; without labels, each value is one.
    ///
    /// # Panics
    /// If the label was not created by this builder.
    pub fn set_val_label(&mut self, value: Value, label: ValueLabel) {
        assert!(self.func.variables.is_valid(label), "{label} is no label of this function: create it first");
        self.add_label(value, Labeled { label, assigned: None });
    }

    fn add_label(&mut self, value: Value, labeled: Labeled) {
        let labels = self.func.value_labels.entry(value).or_default();
        if !labels.contains(&labeled) {
            labels.push(labeled);
        }
    }

    /// Sets the name that a variable has in the source. All its values get a label with this name.
    ///
    /// # Panics
    /// If the variable is not declared, or was assigned or used already.
    pub fn set_var_name(&mut self, variable: Variable, name: &str) {
        let _declared = self.cx.type_of(variable).unwrap_or_else(|error| panic!("{error}"));
        assert!(!self.cx.is_touched(variable), "{variable} has a value already: name it before");
        self.cx.labels[variable] = self.create_value_label(name).into();
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
    /// If the variable is not declared or has another type, or there is no current block.
    pub fn try_def_var(&mut self, variable: Variable, value: Value) -> Result<(), VariableError> {
        let expected = self.cx.type_of(variable)?;
        let found = self.func.dfg.value_type(value);
        if expected != found {
            return Err(VariableError::Mismatch { variable, expected, found });
        }
        let block = self.current.ok_or(VariableError::NoBlock(variable))?;
        self.cx.define(variable, block, value);
        let assigned = (!self.is_just_defined(value, block)).then_some(block);
        self.cx.label(variable, value, assigned);
        Ok(())
    }

    /// Returns `true` if no instruction follows the definition of the value, which is in `block`.
    fn is_just_defined(&self, value: Value, block: Block) -> bool {
        let last = self.func.layout.last_inst(block);
        match self.func.dfg.value_def(value) {
            ValueDef::Result(inst, _) => last == Some(inst),
            ValueDef::Param(home, _) => home == block && last.is_none(),
            ValueDef::Undefined => false,
        }
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
        let Some(block) = self.current else { return Err(VariableError::NoBlock(variable)) };
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

    /// Ends building: replaces the aliases that removed parameters became, and makes the stack maps.
    ///
    /// # Errors
    /// If a block that was switched to or branched to has no terminator or is not sealed.
    pub fn finalize(mut self) -> Result<(), BuildError> {
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
        for (value, label) in std::mem::take(&mut self.cx.labeled) {
            self.add_label(value, label);
        }
        safepoints::run(self.func, &self.cx.in_stack_maps);
        if !self.cx.branch_weights.is_empty() {
            self.cx.branch_weights.apply(self.func);
        }
        Ok(())
    }

    /// Returns a builder that inserts one instruction at the end of the current block.
    ///
    /// # Panics
    /// The methods of the builder panic if no block was switched to, if the current block already ends in a
    /// terminator, if an operand has a wrong type, or if a destination is sealed. The message has the instruction and
    /// what was expected.
    pub fn ins(&mut self) -> FrontendInserter<'_, 'f> {
        FrontendInserter { builder: self }
    }
}
