//! Calls: executes a function, instruction by instruction, until it returns or stops.

use crate::dispatch;
use crate::environment::FunctionId;
use crate::error::Stop;
use crate::interpreter::{Flow, Interpreter};
use crate::value::DataValue;

impl Interpreter<'_> {
    /// Calls the function `%word`, whose name is written without the percent sign. See [`Interpreter::call_id`].
    ///
    /// # Errors
    /// If there is no such function, and in the cases of [`Interpreter::call_id`].
    pub fn call(&mut self, word: &str, arguments: &[DataValue]) -> Result<Vec<DataValue>, Stop> {
        match self.environment.by_word(word) {
            Some(id) => self.call_id(id, arguments),
            None => Err(Stop::UnknownFunction { name: format!("%{word}") }),
        }
    }

    /// Calls a function with full fuel, an empty stack, and data objects with their initial contents.
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
        self.reset();
        let arguments: Vec<u128> = arguments.iter().map(|argument| argument.bits()).collect();
        self.enter(id, &arguments)?;
        let results = self.run()?;
        let returns = function.signature.returns.iter();
        Ok(returns.zip(results).map(|(param, bits)| DataValue::new(param.value_type, bits)).collect())
    }

    /// Executes instructions until the outermost function returns, and returns its results.
    fn run(&mut self) -> Result<Vec<u128>, Stop> {
        loop {
            let cx = self.context()?;
            self.burn_fuel(1)?;
            match dispatch::execute(self, cx)? {
                Flow::Next => self.advance(),
                Flow::Branch(call) => self.branch(cx, call, &[])?,
                Flow::Call(callee, arguments) => self.enter(callee, &arguments)?,
                Flow::TailCall(callee, arguments) => {
                    self.leave();
                    self.enter(callee, &arguments)?;
                }
                Flow::Return(results) => {
                    self.leave();
                    if self.is_idle() {
                        return Ok(results.into_vec());
                    }
                    let call = self.context()?;
                    self.returned(call, &results)?;
                }
                Flow::Returned(results) => self.returned(cx, &results)?,
                Flow::Throw(exception) => self.throw(&exception)?,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::Environment;
    use crate::interpreter::Limits;
    use kingpost_ir::builder::{ControlBuilder, InstBuilder};
    use kingpost_ir::cursor::Cursor;
    use kingpost_ir::extfunc::{ExtFuncData, ExternalName, FuncName};
    use kingpost_ir::libcall::LibCall;
    use kingpost_ir::preamble::StackSlotData;
    use kingpost_ir::signature::{AbiParam, CallConv, Signature};
    use kingpost_ir::types::{I8, I32, I64};
    use kingpost_ir::{Block, Function, InstData, Opcode, TrapCode};

    fn empty_function(name: &str) -> Function {
        Function::new(FuncName::Named(name.into()), Signature::new(CallConv::Fast))
    }

    fn append(func: &mut Function, block: Block, data: InstData) {
        let inst = func.dfg.make_inst(data);
        let ctrl = func.dfg.ctrl_type(inst);
        func.dfg.make_results(inst, ctrl);
        func.layout.append_inst(inst, block);
    }

    /// Returns a function of two blocks; the second jumps to itself.
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

    /// Fills a stack slot by a library call.
    fn fills(slot: StackSlotData) -> Function {
        let mut func = empty_function("f");
        let mut signature = Signature::new(CallConv::Fast);
        signature.params.extend([I64, I32, I64].map(AbiParam::new));
        signature.returns.push(AbiParam::new(I64));
        let signature = func.dfg.signatures.push(signature);
        let name = ExternalName::LibCall(LibCall::Memset);
        let memset = func.dfg.ext_funcs.push(ExtFuncData { name, signature, colocated: false, patchable: false });
        let size = i64::from(slot.size);
        let slot = func.stack_slots.push(slot);
        let block = func.dfg.make_block();
        func.layout.append_block(block);
        let mut cursor = Cursor::new(&mut func);
        cursor.end(block);
        let address = cursor.ins().stack_addr(I64, slot, 0);
        let (byte, size) = (cursor.ins().iconst(I32, 7), cursor.ins().iconst(I64, size));
        cursor.ins().call(memset, &[address, byte, size]);
        cursor.ins().return_(&[]);
        func
    }

    #[test]
    fn filling_memory_costs_fuel() {
        let func = fills(StackSlotData { size: 1 << 20, align_shift: 0, key: None });
        let environment = Environment::new([&func]);
        let with_fuel = |fuel| {
            let limits = Limits { fuel, ..Limits::default() };
            Interpreter::with_limits(&environment, limits).call("f", &[])
        };
        // Fuel is charged once for the frame, and once for the library routine.
        let price = 2 * (1 << 20) / 64;
        assert_eq!(with_fuel(price), Err(Stop::Fuel));
        assert_eq!(with_fuel(price + 10), Ok(vec![]));
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
