//! The machine: an explicit stack of frames, their values, memory and fuel.

use kingpost_ir::{Function, Inst, InstView, Opcode, TrapCode, Type, Value};

use crate::access::Address;
use crate::control::Flow;
use crate::dispatch;
use crate::environment::{Callable, Environment, FunctionId};
use crate::error::Stop;
use crate::memory::Memory;
use crate::value::{DataValue, mask};

/// What a call may use.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Executed instructions; more of them stop with [`Stop::Fuel`].
    pub fuel: u64,
    /// Active calls; more of them trap with `stk_ovf`.
    pub frames: usize,
    /// Bytes of stack slots in all active frames; more of them trap with `stk_ovf`.
    pub stack_bytes: u64,
    /// Values of all active frames together; more of them trap with `stk_ovf`.
    pub values: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { fuel: 100_000_000, frames: 1 << 16, stack_bytes: 1 << 26, values: 1 << 24 }
    }
}

/// An active call.
#[derive(Debug)]
struct Frame<'a> {
    callable: &'a Callable<'a>,
    /// Where the function's values start in the machine's.
    base: usize,
    /// Of the first stack slot, in the stack's region.
    offset: u64,
    /// Bytes of memory in use below this frame.
    memory_below: u64,
    /// The instruction that is executed now; a call, in all frames but the last.
    inst: Option<Inst>,
}

/// Runs functions of an environment.
#[derive(Debug)]
pub struct Interpreter<'a> {
    pub(crate) environment: &'a Environment<'a>,
    limits: Limits,
    fuel: u64,
    frames: Vec<Frame<'a>>,
    /// The values of all active frames, by frame and value number.
    values: Vec<u128>,
    pub(crate) memory: Memory,
    pub(crate) pinned: u64,
}

/// One execution of an instruction: what its meaning depends on besides values and memory.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Cx<'a> {
    pub(crate) callable: &'a Callable<'a>,
    pub(crate) inst: Inst,
    pub(crate) opcode: Opcode,
    /// The controlling type.
    pub(crate) ctrl: Type,
    /// Of the first stack slot, in the stack's region.
    pub(crate) frame_offset: u64,
    base: usize,
}

impl<'a> Cx<'a> {
    pub(crate) fn function(self) -> &'a Function {
        self.callable.function
    }

    pub(crate) fn view(self) -> InstView<'a> {
        self.function().dfg.view(self.inst)
    }

    pub(crate) fn args(self) -> &'a [Value] {
        self.function().dfg.inst_args(self.inst)
    }

    pub(crate) fn type_of(self, value: Value) -> Type {
        self.function().dfg.value_type(value)
    }

    pub(crate) fn not_supported(self) -> Stop {
        Stop::NotSupported { opcode: self.opcode, ty: self.ctrl }
    }

    pub(crate) fn malformed(self) -> Stop {
        malformed(self.function())
    }
}

fn malformed(function: &Function) -> Stop {
    Stop::Malformed { function: function.name.to_string() }
}

impl<'a> Interpreter<'a> {
    /// A machine that has not run yet.
    pub fn new(environment: &'a Environment<'a>) -> Interpreter<'a> {
        Interpreter::with_limits(environment, Limits::default())
    }

    /// A machine with other limits.
    pub fn with_limits(environment: &'a Environment<'a>, limits: Limits) -> Interpreter<'a> {
        Interpreter {
            environment,
            limits,
            fuel: 0,
            frames: Vec::new(),
            values: Vec::new(),
            memory: Memory::default(),
            pinned: 0,
        }
    }

    /// Calls the function `%word` (given without the sign), as [`Interpreter::call_id`] does.
    ///
    /// # Errors
    /// If there is no such function, and as [`Interpreter::call_id`].
    pub fn call(&mut self, word: &str, arguments: &[DataValue]) -> Result<Vec<DataValue>, Stop> {
        match self.environment.by_word(word) {
            Some(id) => self.call_id(id, arguments),
            None => Err(Stop::UnknownFunction { name: format!("%{word}") }),
        }
    }

    /// Calls a function with full fuel, an empty stack and data objects as they are at first.
    ///
    /// # Errors
    /// If the arguments do not fit the signature or the call stops without results.
    pub fn call_id(&mut self, id: FunctionId, arguments: &[DataValue]) -> Result<Vec<DataValue>, Stop> {
        let function = self.environment.function(id);
        let params = &function.signature.params;
        let fits = params.len() == arguments.len()
            && params.iter().zip(arguments).all(|(param, argument)| param.value_type == argument.ty());
        if !fits {
            return Err(Stop::Arguments { function: function.name.to_string() });
        }
        self.frames.clear();
        self.values.clear();
        self.memory.reset(&self.environment.data.bytes, self.environment.data.read_only);
        self.pinned = 0;
        self.fuel = self.limits.fuel;
        let arguments: Vec<u128> = arguments.iter().map(|argument| argument.bits()).collect();
        self.enter(id, &arguments)?;
        let results = self.run()?;
        let returns = function.signature.returns.iter();
        Ok(returns.zip(results).map(|(param, bits)| DataValue::new(param.value_type, bits)).collect())
    }

    /// Executes until the outermost function returns; gives its results.
    fn run(&mut self) -> Result<Vec<u128>, Stop> {
        loop {
            let cx = self.context()?;
            self.fuel = self.fuel.checked_sub(1).ok_or(Stop::Fuel)?;
            match dispatch::execute(self, cx)? {
                Flow::Next => self.advance(),
                Flow::Branch(call) => self.branch(cx, call)?,
                Flow::Call(callee, arguments) => self.enter(callee, &arguments)?,
                Flow::TailCall(callee, arguments) => {
                    self.leave();
                    self.enter(callee, &arguments)?;
                }
                Flow::Return(results) => {
                    self.leave();
                    if self.frames.is_empty() {
                        return Ok(results.into_vec());
                    }
                    let call = self.context()?;
                    self.set_results(call, &results);
                    self.advance();
                }
            }
        }
    }

    /// The instruction to be executed.
    fn context(&self) -> Result<Cx<'a>, Stop> {
        let frame = self.frames.last().ok_or(Stop::Fuel)?;
        let function = frame.callable.function;
        let inst = frame.inst.ok_or_else(|| malformed(function))?;
        Ok(Cx {
            callable: frame.callable,
            inst,
            opcode: function.dfg.opcode(inst),
            ctrl: function.dfg.ctrl_type(inst),
            frame_offset: frame.offset,
            base: frame.base,
        })
    }

    fn advance(&mut self) {
        if let Some(frame) = self.frames.last_mut() {
            frame.inst = frame.inst.and_then(|inst| frame.callable.function.layout.next_inst(inst));
        }
    }

    /// Makes a frame for a function and gives the entry block its parameters.
    fn enter(&mut self, id: FunctionId, arguments: &[u128]) -> Result<(), Stop> {
        let overflow = Stop::Trap(TrapCode::STACK_OVERFLOW);
        let callable = self.environment.callable(id);
        let function = callable.function;
        let (base, memory_below) = (self.values.len(), self.memory.stack_len());
        let end = base + function.dfg.num_values();
        if self.frames.len() >= self.limits.frames || end > self.limits.values {
            return Err(overflow);
        }
        let offset = self
            .memory
            .push_frame(callable.frame_size, callable.frame_align(), self.limits.stack_bytes)
            .ok_or(overflow)?;
        self.values.resize(end, 0);
        let entry = function.layout.entry_block().ok_or_else(|| malformed(function))?;
        for (&param, &argument) in function.dfg.block_params(entry).iter().zip(arguments) {
            self.values[base + param.as_u32() as usize] = argument & mask(function.dfg.value_type(param).bits());
        }
        let inst = function.layout.first_inst(entry);
        self.frames.push(Frame { callable, base, offset, memory_below, inst });
        Ok(())
    }

    fn leave(&mut self) {
        if let Some(frame) = self.frames.pop() {
            self.values.truncate(frame.base);
            self.memory.pop_frame(frame.memory_below);
        }
    }

    /// Goes on with the first instruction of a block.
    pub(crate) fn go_to(&mut self, block: kingpost_ir::Block) {
        if let Some(frame) = self.frames.last_mut() {
            frame.inst = frame.callable.function.layout.first_inst(block);
        }
    }

    /// The bits of a value, zero-extended.
    pub(crate) fn get(&self, cx: Cx<'_>, value: Value) -> u128 {
        let value = cx.function().dfg.resolve_aliases(value);
        self.values[cx.base + value.as_u32() as usize]
    }

    /// Defines a value; bits above its width are cut off.
    pub(crate) fn set(&mut self, cx: Cx<'_>, value: Value, bits: u128) {
        self.values[cx.base + value.as_u32() as usize] = bits & mask(cx.type_of(value).bits());
    }

    pub(crate) fn set_results(&mut self, cx: Cx<'_>, bits: &[u128]) {
        for (&result, &bits) in cx.function().dfg.inst_results(cx.inst).iter().zip(bits) {
            self.set(cx, result, bits);
        }
    }

    /// Defines the only result and goes on.
    pub(crate) fn finish(&mut self, cx: Cx<'_>, bits: u128) -> Flow {
        self.set_results(cx, &[bits]);
        Flow::Next
    }

    /// An address operand.
    pub(crate) fn address(&self, cx: Cx<'_>, value: Value, offset: i32) -> Address {
        Address { bits: cx.type_of(value).bits(), value: self.get(cx, value), offset }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kingpost_ir::InstData;
    use kingpost_ir::extfunc::{ExtFuncData, ExternalName, FuncName};
    use kingpost_ir::signature::{AbiParam, CallConv, Signature};
    use kingpost_ir::types::{I8, I64};

    fn empty_function(name: &str) -> Function {
        Function::new(FuncName::Named(name.into()), Signature::new(CallConv::Fast))
    }

    fn append(func: &mut Function, block: kingpost_ir::Block, data: InstData) {
        let inst = func.dfg.make_inst(data);
        let ctrl = func.dfg.ctrl_type(inst);
        func.dfg.make_results(inst, ctrl);
        func.layout.append_inst(inst, block);
    }

    /// Two blocks: the second one jumps to itself.
    fn endless_loop() -> Function {
        let mut func = empty_function("f");
        let [first, second] = [func.dfg.make_block(), func.dfg.make_block()];
        for block in [first, second] {
            func.layout.append_block(block);
            let dest = func.dfg.block_call_with_values(second, &[]);
            let jump = func.dfg.jump_data(dest);
            append(&mut func, block, jump);
        }
        func
    }

    fn endless_recursion() -> Function {
        let mut func = empty_function("f");
        let signature = func.dfg.signatures.push(func.signature.clone());
        let name = ExternalName::Named("f".into());
        let itself = func.dfg.ext_funcs.push(ExtFuncData { name, signature, colocated: false, patchable: false });
        let block = func.dfg.make_block();
        func.layout.append_block(block);
        let call = func.dfg.call_data(Opcode::Call, itself, &[]);
        append(&mut func, block, call);
        let ret = func.dfg.return_data(&[]);
        append(&mut func, block, ret);
        func
    }

    #[test]
    fn limits_have_names() {
        let stop = |func: &Function| Interpreter::new(&Environment::new([func])).call("f", &[]);
        assert_eq!(stop(&endless_recursion()), Err(Stop::Trap(TrapCode::STACK_OVERFLOW)));
        let limits = Limits { fuel: 1000, ..Limits::default() };
        let (func, no_blocks) = (endless_loop(), empty_function("f"));
        let environment = Environment::new([&func]);
        assert_eq!(Interpreter::with_limits(&environment, limits).call("f", &[]), Err(Stop::Fuel));
        assert_eq!(stop(&no_blocks), Err(Stop::Malformed { function: "%f".into() }));
    }

    #[test]
    fn arguments_fit_the_signature() {
        let mut func = empty_function("f");
        func.signature.params.push(AbiParam::new(I64));
        let environment = Environment::new([&func]);
        let mut interpreter = Interpreter::new(&environment);
        let wrong = Err(Stop::Arguments { function: "%f".into() });
        assert_eq!(interpreter.call("f", &[]), wrong);
        assert_eq!(interpreter.call("f", &[DataValue::new(I8, 0)]), wrong);
        assert_eq!(interpreter.call("g", &[]), Err(Stop::UnknownFunction { name: "%g".into() }));
    }
}
