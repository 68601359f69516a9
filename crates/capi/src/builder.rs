//! Functions that are built instruction by instruction: blocks, variables, and what functions refer to.

use crate::buffer::Buffer;
use crate::entry::entries;
use crate::error::{Error, Failure, Status};
use crate::foreign::{Array, Out, Text};
use crate::handles::{Handle, Object, Table};
use crate::items::{
    self, BlockItem, CalleeItem, DataItem, FunctionItem, SignatureItem, SlotItem, ValueItem, VariableItem,
};
use crate::module::Module;
use crate::tables;
use kingpost::codegen::module::FuncId;
use kingpost::ir::cranelift_entity::EntityRef;
use kingpost::ir::extfunc::FuncName;
use kingpost::ir::frontend::{FrontendContext, FunctionBuilder, Suspended, Variable};
use kingpost::ir::{Block, FuncRef, Function, GlobalValue, Inst, Opcode, SigRef, StackSlot, Type, Value, ValueLabel};
use kingpost::reader::parse_signature;
use std::collections::HashMap;

/// A function of a module that is being built.
pub struct Builder {
    func: Function,
    cx: FrontendContext,
    suspended: Suspended,
    module: Handle<Module>,
    function: FuncId,
    /// Number by which handles of values, blocks and so on refer to this builder.
    tag: u32,
    state: State,
    failure: Option<Failure>,
}

/// Facts about the function that the builder of the library does not keep.
#[derive(Default)]
struct State {
    /// Whether each block is sealed, as far as it was asked for.
    sealed: Vec<bool>,
    variables: Vec<Declared>,
    globals: HashMap<u64, GlobalValue>,
    /// Labels of values by name.
    labels: HashMap<String, ValueLabel>,
    /// Results of the last instruction.
    results: Vec<Value>,
}

/// A declared variable.
struct Declared {
    ty: Type,
    /// Whether the variable was assigned or read. Its name and its stack maps are fixed then.
    is_touched: bool,
}

static BUILDERS: Table<Builder> = Table::new();

impl Object for Builder {
    const KIND: u8 = 4;
    const NAME: &'static str = "builder";

    fn table() -> &'static Table<Builder> {
        &BUILDERS
    }
}

/// A builder during a call.
pub(crate) struct Building<'a> {
    pub(crate) builder: FunctionBuilder<'a>,
    module: Handle<Module>,
    tag: u32,
    state: &'a mut State,
}

/// Runs the body of the function `name` of the interface. Returns the default if it fails, or if an earlier call did.
pub(crate) fn building<T: Default>(
    handle: Handle<Builder>,
    name: &str,
    body: impl FnOnce(&mut Building<'_>) -> Result<T, Failure>,
) -> T {
    let result = handle.with(|own| {
        if own.failure.is_some() {
            return Ok(T::default());
        }
        let builder = FunctionBuilder::resume(&mut own.func, &mut own.cx, own.suspended);
        let mut building = Building { builder, module: own.module, tag: own.tag, state: &mut own.state };
        let result = body(&mut building);
        own.suspended = building.builder.suspend();
        result.or_else(|failure| {
            own.failure = Some(Failure { message: format!("{name}: {}", failure.message), ..failure });
            Ok(T::default())
        })
    });
    // The function that ends building reports a handle that is no builder.
    result.unwrap_or_default()
}

impl Building<'_> {
    pub(crate) fn value(&self, value: Handle<ValueItem>) -> Result<Value, Failure> {
        let value = Value::new(items::index(value, self.tag)?);
        match self.builder.func.dfg.is_value_valid(value) {
            true => Ok(value),
            false => Err(items::foreign::<ValueItem>()),
        }
    }

    pub(crate) fn values(&self, values: &[Handle<ValueItem>]) -> Result<Vec<Value>, Failure> {
        values.iter().map(|&value| self.value(value)).collect()
    }

    pub(crate) fn block(&self, block: Handle<BlockItem>) -> Result<Block, Failure> {
        let block = Block::new(items::index(block, self.tag)?);
        match self.builder.func.dfg.is_block_valid(block) {
            true => Ok(block),
            false => Err(items::foreign::<BlockItem>()),
        }
    }

    fn variable(&mut self, variable: Handle<VariableItem>) -> Result<(Variable, &mut Declared), Failure> {
        let index = items::index(variable, self.tag)?;
        let declared = self.state.variables.get_mut(index).ok_or_else(items::foreign::<VariableItem>)?;
        Ok((Variable::new(index), declared))
    }

    /// Returns a variable that has no value yet.
    pub(crate) fn untouched(&mut self, variable: Handle<VariableItem>) -> Result<Variable, Failure> {
        match self.variable(variable)? {
            (variable, Declared { is_touched: false, .. }) => Ok(variable),
            (variable, _) => Err(invalid(format!("{variable} has a value already"))),
        }
    }

    /// Returns a variable that is assigned or read.
    fn touched(&mut self, variable: Handle<VariableItem>) -> Result<Variable, Failure> {
        let (variable, declared) = self.variable(variable)?;
        declared.is_touched = true;
        Ok(variable)
    }

    pub(crate) fn variable_type(&self, variable: Variable) -> Type {
        self.state.variables[variable.index()].ty
    }

    /// Returns the label of values with this name.
    pub(crate) fn label(&mut self, name: &str) -> ValueLabel {
        match self.state.labels.get(name) {
            Some(&label) => label,
            None => *self.state.labels.entry(name.into()).or_insert(self.builder.create_value_label(name)),
        }
    }

    pub(crate) fn slot(&self, slot: Handle<SlotItem>) -> Result<StackSlot, Failure> {
        let slot = StackSlot::new(items::index(slot, self.tag)?);
        self.builder.func.stack_slots.get(slot).map(|_| slot).ok_or_else(items::foreign::<SlotItem>)
    }

    pub(crate) fn callee(&self, callee: Handle<CalleeItem>) -> Result<FuncRef, Failure> {
        let callee = FuncRef::new(items::index(callee, self.tag)?);
        self.builder.func.dfg.ext_funcs.get(callee).map(|_| callee).ok_or_else(items::foreign::<CalleeItem>)
    }

    pub(crate) fn signature(&self, signature: Handle<SignatureItem>) -> Result<SigRef, Failure> {
        let signature = SigRef::new(items::index(signature, self.tag)?);
        self.builder.func.dfg.signatures.get(signature).map(|_| signature).ok_or_else(items::foreign::<SignatureItem>)
    }

    /// Returns the handle of a part of the function.
    pub(crate) fn handle<T>(&self, index: impl EntityRef) -> Handle<T> {
        items::handle(self.tag, index.index())
    }

    pub(crate) fn type_of(&self, value: Value) -> Type {
        self.builder.func.dfg.value_type(value)
    }

    /// Returns the global value of a data object, and whether the object is thread-local.
    pub(crate) fn global(&mut self, data: Handle<DataItem>) -> Result<(GlobalValue, bool), Failure> {
        let func = &mut *self.builder.func;
        let globals = &mut self.state.globals;
        self.module.with(|module| {
            let id = module.data(data)?;
            let module = module.open()?;
            let is_tls = module.declarations().data_object(id).is_some_and(|declared| !declared.kind.is_shared());
            let global = globals.entry(data.bits()).or_insert_with(|| module.declare_data_in_func(id, func));
            Ok((*global, is_tls))
        })
    }

    /// Returns `true` if the block ends in a terminator.
    fn is_filled(&self, block: Block) -> bool {
        let func = &self.builder.func;
        func.layout.is_block_inserted(block)
            && func.layout.last_inst(block).is_some_and(|last| func.dfg.opcode(last).is_terminator())
    }

    fn is_sealed(&self, block: Block) -> bool {
        self.state.sealed.get(block.index()).copied().unwrap_or(false)
    }

    /// Returns the current block if instructions may be added to it.
    pub(crate) fn open_block(&self) -> Result<Block, Failure> {
        let Some(block) = self.builder.current_block() else {
            return Err(invalid("no block was switched to"));
        };
        if self.is_filled(block) { Err(invalid(format!("{block} ends in a terminator already"))) } else { Ok(block) }
    }

    /// Checks that a branch to the block may be added.
    pub(crate) fn check_destination(&self, block: Block) -> Result<(), Failure> {
        match self.is_sealed(block) {
            true => Err(invalid(format!("{block} is sealed, so no other branch to it may be added"))),
            false if self.builder.func.layout.entry_block() == Some(block) => {
                Err(invalid(format!("{block} is the first block, to which no branch may go")))
            }
            false => Ok(()),
        }
    }

    pub(crate) fn set_results(&mut self, results: &[Value]) {
        self.state.results.clear();
        self.state.results.extend_from_slice(results);
    }
}

/// Returns the failure for a wrong way of building.
pub(crate) fn invalid(message: impl Into<String>) -> Failure {
    Failure::new(Status::Invalid, message)
}

impl Builder {
    /// Compiles the function, and adds it to its module.
    fn finish(&mut self) -> Result<(), Failure> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        let builder = FunctionBuilder::resume(&mut self.func, &mut self.cx, self.suspended);
        builder.finalize().map_err(|error| invalid(error.to_string()))?;
        self.module.with(|module| Ok(module.open()?.define_function(self.function, &mut self.func)?))
    }
}

entries! {
    /// Starts the definition of a declared function. The functions below, from `kp_create_block` on, build it. If one
    /// of them fails, it returns null, the builder keeps the error, and later calls do nothing and return null, so
    /// that a program need not check each call: `kp_builder_error` and `kp_builder_finish` report the first error.
    ///
    /// Ownership: the builder is freed by `kp_builder_finish` or `kp_builder_free`, and belongs to no module.
    fn kp_builder_new(module: Handle<Module>, function: Handle<FunctionItem>, builder: Out<'_, Handle<Builder>>; error) {
        let builder = builder.required("builder")?;
        let (id, signature) = module.with(|module| {
            let id = module.function(function)?;
            let declared = module.open()?.declarations().function(id);
            Ok((id, declared.map(|declared| declared.signature.clone()).ok_or_else(items::foreign::<FunctionItem>)?))
        })?;
        builder.put(Handle::create(Builder {
            func: Function::new(FuncName::default(), signature),
            cx: FrontendContext::default(),
            suspended: Suspended::default(),
            module,
            function: id,
            tag: items::new_tag(),
            state: State::default(),
            failure: None,
        })?);
        Ok(())
    }

    /// Returns the first error of building so far, or `KP_OK`.
    fn kp_builder_error(builder: Handle<Builder>; error) {
        builder.with(|builder| builder.failure.clone().map_or(Ok(()), Err))
    }

    /// Stores the function so far as CLIF text. Names of functions and data are numbers of the module.
    ///
    /// Ownership: the caller frees the buffer with `kp_buffer_free`.
    fn kp_builder_text(builder: Handle<Builder>, text: Out<'_, Handle<Buffer>>; error) {
        let text = text.required("text")?;
        builder.with(|builder| {
            text.put(Buffer::create(builder.func.to_string().into_bytes())?);
            Ok(())
        })
    }

    /// Ends building, compiles the function, and adds it to its module. Reports the first error of building.
    ///
    /// Ownership: frees the builder, also after an error, unless the builder or its module is in use
    /// (`KP_ERROR_BUSY`).
    fn kp_builder_finish(builder: Handle<Builder>; error) {
        let result = builder.with(|builder| builder.finish());
        match result {
            Err(failure) if failure.status == Status::Busy => Err(failure),
            result => {
                builder.take().map(drop).ok();
                result
            }
        }
    }

    /// Frees a builder without a definition.
    fn kp_builder_free(builder: Handle<Builder>; error) {
        builder.take().map(drop)
    }

    /// Creates a block. The first block that is switched to is the entry of the function.
    fn kp_create_block[b]() -> Handle<BlockItem> {
        let block = b.builder.create_block();
        Ok(b.handle(block))
    }

    /// Appends a parameter to a block, and returns its value.
    fn kp_append_block_param[b](block: Handle<BlockItem>, ty: u32) -> Handle<ValueItem> {
        let (block, ty) = (b.block(block)?, tables::type_of(ty)?);
        let value = b.builder.append_block_param(block, ty);
        Ok(b.handle(value))
    }

    /// Appends the parameters of the function to a block, its first.
    fn kp_append_function_params[b](block: Handle<BlockItem>) {
        let block = b.block(block)?;
        b.builder.append_function_params(block);
        Ok(())
    }

    /// Returns the value of a parameter of a block. `index` counts from 0.
    fn kp_block_param[b](block: Handle<BlockItem>, index: u32) -> Handle<ValueItem> {
        let block = b.block(block)?;
        let params = b.builder.block_params(block);
        match params.get(index as usize) {
            Some(&value) => Ok(b.handle(value)),
            None => Err(Failure::argument(format!("{block} has {} parameters, and none with index {index}", params.len()))),
        }
    }

    /// Adds instructions to the end of this block from now on.
    fn kp_switch_to_block[b](block: Handle<BlockItem>) {
        let block = b.block(block)?;
        b.builder.switch_to_block(block);
        Ok(())
    }

    /// Seals a block: all branches to it exist. Values of variables are known then.
    fn kp_seal_block[b](block: Handle<BlockItem>) {
        let block = b.block(block)?;
        if b.is_sealed(block) {
            return Err(invalid(format!("{block} is sealed already")));
        }
        b.builder.seal_block(block);
        let length = b.state.sealed.len().max(block.index() + 1);
        b.state.sealed.resize(length, false);
        b.state.sealed[block.index()] = true;
        Ok(())
    }

    /// Seals all blocks that are not sealed.
    fn kp_seal_all_blocks[b]() {
        b.builder.seal_all_blocks();
        b.state.sealed.clear();
        b.state.sealed.resize(b.builder.func.dfg.num_blocks(), true);
        Ok(())
    }

    /// Marks a block that is rarely executed. Its code is placed at the end.
    fn kp_set_cold_block[b](block: Handle<BlockItem>) {
        let block = b.block(block)?;
        b.builder.func.layout.set_cold(block);
        Ok(())
    }

    /// Sets how often a block runs, on average, for each call of the function. Below 1/512 it is cold. Registers, the order of
    /// code and inlining depend on it, but no result.
    fn kp_set_block_frequency[b](block: Handle<BlockItem>, runs: f64) {
        let block = b.block(block)?;
        b.builder.set_block_frequency(block, runs);
        Ok(())
    }

    /// Sets how often the branch that ends the current block takes each of its destinations, in proportion to the others: two
    /// weights for `kp_ins_brif`, and for `kp_ins_br_table` the one of `otherwise` first. Frequencies of blocks without one
    /// are computed from these. Call it before switching to another block.
    fn kp_set_branch_weights[b](weights: Array<'_, u32>, count: usize) {
        let weights = weights.get(count, "weights")?;
        let last = b.builder.current_block().and_then(|block| b.builder.func.layout.last_inst(block));
        let is_branch = |&last: &Inst| matches!(b.builder.func.dfg.opcode(last), Opcode::Brif | Opcode::BrTable);
        let branch = last.filter(is_branch).ok_or_else(|| invalid("the current block does not end with a branch"))?;
        let expected = b.builder.func.dfg.branch_destinations(branch).len();
        if count != expected {
            return Err(invalid(format!("{count} weights are given for {expected} destinations")));
        }
        b.builder.set_branch_weights(branch, weights);
        Ok(())
    }

    /// Declares a variable, which may be assigned many times.
    fn kp_declare_variable[b](ty: u32) -> Handle<VariableItem> {
        let ty = tables::type_of(ty)?;
        let variable = b.builder.declare_var(ty);
        b.state.variables.push(Declared { ty, is_touched: false });
        Ok(b.handle(variable))
    }

    /// Assigns a value to a variable in the current block.
    fn kp_define_variable[b](variable: Handle<VariableItem>, value: Handle<ValueItem>) {
        let (value, variable) = (b.value(value)?, b.touched(variable)?);
        if b.builder.current_block().is_none() {
            return Err(invalid("no block was switched to"));
        }
        b.builder.try_def_var(variable, value).map_err(|error| invalid(error.to_string()))
    }

    /// Returns the value of a variable in the current block; zero if none was assigned.
    fn kp_use_variable[b](variable: Handle<VariableItem>) -> Handle<ValueItem> {
        let variable = b.touched(variable)?;
        if b.builder.current_block().is_none() {
            return Err(invalid("no block was switched to"));
        }
        let value = b.builder.try_use_var(variable).map_err(|error| invalid(error.to_string()))?;
        Ok(b.handle(value))
    }

    /// Creates a stack slot of `bytes` bytes, aligned to `align` bytes, a power of two.
    fn kp_create_stack_slot[b](bytes: u32, align: u32) -> Handle<SlotItem> {
        if !align.is_power_of_two() {
            return Err(Failure::argument(format!("`align` is {align}, not a power of two")));
        }
        let slot = b.builder.create_stack_slot(bytes, align);
        Ok(b.handle(slot))
    }

    /// Returns a callee for calls of a function of the module.
    fn kp_import_function[b](function: Handle<FunctionItem>) -> Handle<CalleeItem> {
        let func = &mut *b.builder.func;
        let callee = b.module.with(|module| {
            let id = module.function(function)?;
            Ok(module.open()?.declare_func_in_func(id, func))
        })?;
        Ok(b.handle(callee))
    }

    /// Returns a signature for calls through addresses. Its text is as for `kp_module_declare_function`.
    fn kp_import_signature[b](text: Text<'_>) -> Handle<SignatureItem> {
        let text = text.required("text")?;
        let convention = b.module.with(|module| Ok(module.open()?.compiler().call_conv()))?;
        let signature = b.builder.import_signature(parse_signature(text, convention)?);
        Ok(b.handle(signature))
    }

    /// Returns the type of a value.
    fn kp_value_type[b](value: Handle<ValueItem>) -> u32 {
        let value = b.value(value)?;
        Ok(b.type_of(value).code().into())
    }

    /// Returns a result of the last instruction; for calls with several results. `index` counts from 0.
    fn kp_result[b](index: u32) -> Handle<ValueItem> {
        match b.state.results.get(index as usize) {
            Some(&value) => Ok(b.handle(value)),
            None => {
                let count = b.state.results.len();
                Err(Failure::argument(format!("the last instruction has {count} results, and none with index {index}")))
            }
        }
    }
}
