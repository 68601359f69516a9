//! Compiles a syntax tree into functions of a module.
//!
//! A value of any type has 64 bits. Structures and closures are objects of the heap. References to them are in stack
//! slots, and every call has a stack map that lists these slots, so that a collector may move the objects.

use crate::syntax::{Expression, Function, Kind, Program, Statement, Struct, Type};
use kingpost::ir::function::{SourceLoc, UserStackMapEntry};
use kingpost::ir::{FuncRef, StackSlot};
use kingpost::prelude::{Function as IrFunction, *};
use std::collections::HashMap;

/// A message that begins with the line.
type Result<T> = std::result::Result<T, String>;

/// Functions of the runtime: name, number of parameters, and whether there is a result.
const RUNTIME: [(&str, usize, bool); 3] =
    [("sprig_allocate", 3, true), ("sprig_print_text", 1, false), ("sprig_print_number", 1, false)];

/// Compiles `program` into `module`: a function `sprig_NAME` for each function `NAME`.
pub(crate) fn compile<M: Module>(program: &Program, module: &mut M) -> Result<()> {
    let mut compiler = Compiler { structs: &program.structs, functions: HashMap::new(), closures: Vec::new(), module };
    for (name, params, has_result) in RUNTIME {
        let signature = compiler.signature(params, has_result);
        compiler.module.declare_function(name, Linkage::Import, &signature).map_err(|error| error.to_string())?;
    }
    for function in &program.functions {
        let signature = compiler.signature(function.params.len(), true);
        let name = format!("sprig_{}", function.name);
        let id = compiler.module.declare_function(&name, Linkage::Export, &signature);
        let id = id.map_err(|error| format!("line {}: {error}", function.line))?;
        compiler.functions.insert(&function.name, (id, function));
    }
    for function in &program.functions {
        let (id, _) = compiler.functions[function.name.as_str()];
        compiler.function(id, function, None)?;
    }
    // A closure may contain closures, which are added to the list while it is compiled.
    while let Some((id, function, captured)) = compiler.closures.pop() {
        compiler.function(id, function, Some(captured))?;
    }
    Ok(())
}

/// Variables that a closure captures, with their types, in the order of the object's fields.
type Captured = Vec<(String, Type)>;

struct Compiler<'p, M> {
    module: &'p mut M,
    structs: &'p [Struct],
    functions: HashMap<&'p str, (FuncId, &'p Function)>,
    /// Functions of closures that are declared and not compiled yet.
    closures: Vec<(FuncId, &'p Function, Captured)>,
}

impl<'p, M: Module> Compiler<'p, M> {
    fn signature(&self, params: usize, has_result: bool) -> Signature {
        let mut signature = self.module.signature();
        signature.params.extend((0..params).map(|_| AbiParam::new(I64)));
        signature.returns.extend(has_result.then(|| AbiParam::new(I64)));
        signature
    }

    /// Compiles `function` as the definition of `id`. The function of a closure has the closure itself as its first argument.
    fn function(&mut self, id: FuncId, function: &'p Function, captured: Option<Captured>) -> Result<()> {
        let signature = self.signature(function.params.len() + usize::from(captured.is_some()), true);
        let mut func = IrFunction::new(FuncName::default(), signature);
        let mut scratch = FrontendContext::default();
        let mut b = FunctionBuilder::new(&mut func, &mut scratch);
        let [entry, start] = [(); 2].map(|()| b.create_block());
        b.append_function_params(entry);
        // Blocks are ordered by the first switch to them, and the entry must be first. It is filled last.
        b.switch_to_block(entry);
        b.switch_to_block(start);
        let mut body = Body { compiler: self, b, locals: Vec::new(), slots: Vec::new(), calls: Vec::new(), function };

        body.at(function.line);
        let mut arguments = body.b.block_params(entry).to_vec();
        if let Some(captured) = captured {
            let closure = body.operand(&Type::Struct(String::new()), arguments.remove(0));
            for (index, (name, ty)) in captured.into_iter().enumerate() {
                // Field 0 of a closure is the address of its function.
                let object = body.value(closure);
                let value = body.b.ins().load(I64, MemFlags::trusted(), object, field_offset(index + 1));
                body.declare(name, ty, value);
            }
        }
        for ((name, ty), value) in function.params.iter().zip(arguments) {
            body.declare(name.clone(), ty.clone(), value);
        }
        body.statements(&function.body)?;
        // A function that ends without `return` traps.
        body.b.ins().trap(TrapCode::user(1).expect("1 is a code of the user's"));

        // All slots are cleared first, because a collector may read any of them during any call.
        body.b.switch_to_block(entry);
        let slots = std::mem::take(&mut body.slots);
        let zero = body.b.ins().iconst(I64, 0);
        for &slot in &slots {
            let address = body.b.ins().stack_addr(I64, slot, 0);
            body.b.ins().store(MemFlags::trusted(), zero, address, 0);
        }
        body.b.ins().jump(start, &[]);
        for call in std::mem::take(&mut body.calls) {
            let entries = slots.iter().map(|&slot| UserStackMapEntry { ty: I64, slot, offset: 0 });
            body.b.func.stack_maps.insert(call, entries.collect());
        }
        let mut b = body.b;
        b.seal_all_blocks();
        b.finalize().map_err(|error| error.to_string())?;
        self.module.define_function(id, &mut func).map_err(|error| format!("{}: {error}", function.name))
    }

    /// Returns the index and the type of a field.
    fn field(&self, ty: &Type, field: &str, line: u32) -> Result<(usize, Type)> {
        let of = self.structs.iter().find(|of| matches!(ty, Type::Struct(name) if *name == of.name));
        let fields = of.map_or(&[][..], |of| &of.fields);
        let found = fields.iter().enumerate().find(|(_, (name, _))| name == field);
        let (index, (_, ty)) = found.ok_or_else(|| format!("line {line}: no field `{field}`"))?;
        Ok((index, ty.clone()))
    }
}

/// Returns the offset of a field in an object, in bytes. The object begins with a header of one word.
fn field_offset(index: usize) -> i32 {
    8 * (index as i32 + 1)
}

/// Returns `true` if values of the type are references to objects of the heap.
fn is_reference(ty: &Type) -> bool {
    matches!(ty, Type::Struct(_) | Type::Fn(..))
}

/// A variable of the language.
#[derive(Clone, Copy)]
enum Local {
    Variable(Variable),
    Slot(StackSlot),
}

/// The result of an expression. A reference is in a slot, where a collector can find and update it.
#[derive(Clone, Copy)]
enum Operand {
    Value(Value),
    Slot(StackSlot),
}

/// State of the compiled function.
struct Body<'c, 'p, 'f, M> {
    compiler: &'c mut Compiler<'p, M>,
    b: FunctionBuilder<'f>,
    locals: Vec<(String, Type, Local)>,
    /// Slots that hold references.
    slots: Vec<StackSlot>,
    calls: Vec<Inst>,
    function: &'p Function,
}

impl<'p, M: Module> Body<'_, 'p, '_, M> {
    /// Sets the source line of the next instructions.
    fn at(&mut self, line: u32) {
        self.b.set_srcloc(SourceLoc(line));
    }

    fn slot(&mut self) -> StackSlot {
        let slot = self.b.create_stack_slot(8, 8);
        self.slots.push(slot);
        slot
    }

    fn store(&mut self, slot: StackSlot, value: Value) {
        let address = self.b.ins().stack_addr(I64, slot, 0);
        self.b.ins().store(MemFlags::trusted(), value, address, 0);
    }

    /// Returns the value as an operand: in a slot if it is a reference.
    fn operand(&mut self, ty: &Type, value: Value) -> Operand {
        if !is_reference(ty) {
            return Operand::Value(value);
        }
        let slot = self.slot();
        self.store(slot, value);
        Operand::Slot(slot)
    }

    /// Returns the value of an operand, which is valid until the next call.
    fn value(&mut self, operand: Operand) -> Value {
        match operand {
            Operand::Value(value) => value,
            Operand::Slot(slot) => {
                let address = self.b.ins().stack_addr(I64, slot, 0);
                self.b.ins().load(I64, MemFlags::trusted(), address, 0)
            }
        }
    }

    fn declare(&mut self, name: String, ty: Type, value: Value) {
        let local = if is_reference(&ty) {
            let slot = self.slot();
            self.store(slot, value);
            Local::Slot(slot)
        } else {
            let variable = self.b.declare_var(I64);
            self.b.def_var(variable, value);
            Local::Variable(variable)
        };
        self.locals.push((name, ty, local));
    }

    fn local(&self, name: &str) -> Option<(Type, Local)> {
        let (_, ty, local) = self.locals.iter().rev().find(|(known, ..)| known == name)?;
        Some((ty.clone(), *local))
    }

    fn statements(&mut self, statements: &'p [Statement]) -> Result<()> {
        let outer = self.locals.len();
        for statement in statements {
            self.statement(statement)?;
        }
        self.locals.truncate(outer);
        Ok(())
    }

    fn statement(&mut self, statement: &'p Statement) -> Result<()> {
        match statement {
            Statement::Let(line, name, value) => {
                self.at(*line);
                let (ty, value) = self.expression(value)?;
                let value = self.value(value);
                self.declare(name.clone(), ty, value);
            }
            Statement::Assign(line, to, value) => self.assign(*line, to, value)?,
            Statement::While(line, condition, body) => {
                let [head, inside, after] = [(); 3].map(|()| self.b.create_block());
                self.b.ins().jump(head, &[]);
                self.b.switch_to_block(head);
                self.at(*line);
                let condition = self.typed(condition, &Type::Int)?;
                let condition = self.value(condition);
                self.b.ins().brif(condition, inside, &[], after, &[]);
                self.b.switch_to_block(inside);
                self.statements(body)?;
                self.b.ins().jump(head, &[]);
                self.b.switch_to_block(after);
            }
            Statement::If(line, condition, then, otherwise) => {
                self.at(*line);
                let condition = self.typed(condition, &Type::Int)?;
                let condition = self.value(condition);
                let [yes, no, after] = [(); 3].map(|()| self.b.create_block());
                self.b.ins().brif(condition, yes, &[], no, &[]);
                for (block, statements) in [(yes, then), (no, otherwise)] {
                    self.b.switch_to_block(block);
                    self.statements(statements)?;
                    self.b.ins().jump(after, &[]);
                }
                self.b.switch_to_block(after);
            }
            Statement::Return(line, value) => {
                self.at(*line);
                let value = self.typed(value, &self.function.result)?;
                let value = self.value(value);
                self.b.ins().return_(&[value]);
                // Statements after `return` are in an unreachable block.
                let unreachable = self.b.create_block();
                self.b.switch_to_block(unreachable);
            }
            Statement::Expression(expression) => {
                self.expression(expression)?;
            }
        }
        Ok(())
    }

    fn assign(&mut self, line: u32, to: &'p Expression, value: &'p Expression) -> Result<()> {
        self.at(line);
        match &to.kind {
            Kind::Name(name) => {
                let (ty, local) = self.local(name).ok_or_else(|| format!("line {line}: no variable `{name}`"))?;
                let value = self.typed(value, &ty)?;
                let value = self.value(value);
                match local {
                    Local::Variable(variable) => self.b.def_var(variable, value),
                    Local::Slot(slot) => self.store(slot, value),
                }
            }
            Kind::Field(object, field) => {
                let (ty, object) = self.expression(object)?;
                let (index, ty) = self.compiler.field(&ty, field, line)?;
                let value = self.typed(value, &ty)?;
                let (value, object) = (self.value(value), self.value(object));
                self.b.ins().store(MemFlags::trusted(), value, object, field_offset(index));
            }
            _ => return Err(format!("line {line}: only variables and fields are assigned")),
        }
        Ok(())
    }

    /// Compiles an expression that must have the type `expected`.
    fn typed(&mut self, expression: &'p Expression, expected: &Type) -> Result<Operand> {
        let (found, operand) = self.expression(expression)?;
        match found == *expected {
            true => Ok(operand),
            false => Err(format!("line {}: expected {expected:?}, found {found:?}", expression.line)),
        }
    }

    fn expression(&mut self, expression: &'p Expression) -> Result<(Type, Operand)> {
        let line = expression.line;
        self.at(line);
        match &expression.kind {
            Kind::Int(number) => Ok((Type::Int, Operand::Value(self.b.ins().iconst(I64, *number)))),
            Kind::Str(text) => Ok((Type::Str, Operand::Value(self.text(text)))),
            Kind::Name(name) => {
                let (ty, local) = self.local(name).ok_or_else(|| format!("line {line}: no variable `{name}`"))?;
                let operand = match local {
                    Local::Variable(variable) => Operand::Value(self.b.use_var(variable)),
                    // A copy, because the variable may be assigned before the operand is used.
                    Local::Slot(slot) => {
                        let value = self.value(Operand::Slot(slot));
                        self.operand(&ty, value)
                    }
                };
                Ok((ty, operand))
            }
            Kind::Binary(operator, operands) => {
                let left = self.typed(&operands.0, &Type::Int)?;
                let right = self.typed(&operands.1, &Type::Int)?;
                let (left, right) = (self.value(left), self.value(right));
                let compare = |b: &mut FunctionBuilder<'_>, condition| {
                    let flag = b.ins().icmp(condition, left, right);
                    b.ins().uextend(I64, flag)
                };
                let result = match *operator {
                    "+" => self.b.ins().iadd(left, right),
                    "-" => self.b.ins().isub(left, right),
                    "*" => self.b.ins().imul(left, right),
                    "/" => self.b.ins().sdiv(left, right),
                    "<" => compare(&mut self.b, IntCC::SignedLessThan),
                    _ => compare(&mut self.b, IntCC::Equal),
                };
                Ok((Type::Int, Operand::Value(result)))
            }
            Kind::Field(object, field) => {
                let (ty, object) = self.expression(object)?;
                let (index, ty) = self.compiler.field(&ty, field, line)?;
                let object = self.value(object);
                let value = self.b.ins().load(I64, MemFlags::trusted(), object, field_offset(index));
                let operand = self.operand(&ty, value);
                Ok((ty, operand))
            }
            Kind::New(name, values) => {
                let of = self.compiler.structs.iter().find(|of| of.name == *name);
                let of = of.ok_or_else(|| format!("line {line}: no struct `{name}`"))?;
                if of.fields.len() != values.len() {
                    return Err(format!("line {line}: `{name}` has {} fields", of.fields.len()));
                }
                let mut fields = Vec::new();
                for (value, (_, ty)) in values.iter().zip(&of.fields) {
                    fields.push((is_reference(ty), self.typed(value, ty)?));
                }
                self.object(&fields, line).map(|object| (Type::Struct(name.clone()), object))
            }
            Kind::Closure(function) => self.closure(function),
            Kind::Call(callee, arguments) => self.call(line, callee, arguments),
        }
    }

    /// Returns the address of a string: its length in eight bytes, then its bytes.
    fn text(&mut self, text: &str) -> Value {
        let bytes = [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat();
        let module = &mut *self.compiler.module;
        let id = module.declare_anonymous_data(false, false);
        module.define_data(id, &DataDescription::bytes(bytes)).expect("a string is valid data");
        let text = module.declare_data_in_func(id, self.b.func);
        self.b.ins().symbol_value(I64, text)
    }

    /// Allocates an object and fills its fields. The flag of a field is `true` if it is a reference.
    fn object(&mut self, fields: &[(bool, Operand)], line: u32) -> Result<Operand> {
        if fields.len() > 31 {
            return Err(format!("line {line}: an object has at most 31 fields"));
        }
        let mask = fields.iter().enumerate().fold(0, |mask, (index, &(is_ref, _))| mask | u64::from(is_ref) << index);
        let header = (mask << 32 | (fields.len() as u64) << 1 | 1) as i64;
        let stack = self.b.ins().get_stack_pointer(I64);
        let frame = self.b.ins().get_frame_pointer(I64);
        let header = self.b.ins().iconst(I64, header);
        let object = self.call_runtime("sprig_allocate", &[stack, frame, header]).expect("it has a result");
        for (index, &(_, field)) in fields.iter().enumerate() {
            let field = self.value(field);
            self.b.ins().store(MemFlags::trusted(), field, object, field_offset(index));
        }
        Ok(self.operand(&Type::Struct(String::new()), object))
    }

    /// Creates a closure: an object with the address of its function and copies of the captured variables.
    fn closure(&mut self, function: &'p Function) -> Result<(Type, Operand)> {
        let mut captured: Captured = Vec::new();
        for (name, ty, _) in self.locals.iter().rev() {
            if function.mentioned.contains(name) && captured.iter().all(|(known, _)| known != name) {
                captured.push((name.clone(), ty.clone()));
            }
        }
        let signature = self.compiler.signature(function.params.len() + 1, true);
        let id = self.compiler.module.declare_anonymous_function(&signature);
        let code = self.compiler.module.declare_func_in_func(id, self.b.func);
        let address = self.b.ins().func_addr(I64, code);
        let mut fields = vec![(false, Operand::Value(address))];
        for (name, ty) in &captured {
            let (_, local) = self.local(name).expect("it is in the list");
            let operand = match local {
                Local::Variable(variable) => Operand::Value(self.b.use_var(variable)),
                Local::Slot(slot) => Operand::Slot(slot),
            };
            fields.push((is_reference(ty), operand));
        }
        self.compiler.closures.push((id, function, captured));
        let params = function.params.iter().map(|(_, ty)| ty.clone()).collect();
        let ty = Type::Fn(params, Box::new(function.result.clone()));
        Ok((ty, self.object(&fields, function.line)?))
    }

    fn call(&mut self, line: u32, callee: &'p Expression, arguments: &'p [Expression]) -> Result<(Type, Operand)> {
        let name = if let Kind::Name(name) = &callee.kind { name.as_str() } else { "" };
        let is_variable = self.local(name).is_some();
        if name == "print" && !is_variable && arguments.len() == 1 {
            let (ty, operand) = self.expression(&arguments[0])?;
            let value = self.value(operand);
            let routine = match ty {
                Type::Str => "sprig_print_text",
                Type::Int => "sprig_print_number",
                _ => return Err(format!("line {line}: only numbers and strings are printed")),
            };
            self.call_runtime(routine, &[value]);
            return Ok((Type::Int, Operand::Value(self.b.ins().iconst(I64, 0))));
        }
        let direct = self.compiler.functions.get(name).filter(|_| !is_variable).copied();
        let (params, result, closure) = match direct {
            Some((_, function)) => {
                (function.params.iter().map(|(_, ty)| ty.clone()).collect(), function.result.clone(), None)
            }
            None => match self.expression(callee)? {
                (Type::Fn(params, result), closure) => (params, *result, Some(closure)),
                _ => return Err(format!("line {line}: this is no function")),
            },
        };
        if params.len() != arguments.len() {
            return Err(format!("line {line}: {} arguments, expected {}", arguments.len(), params.len()));
        }
        let mut operands = Vec::from_iter(closure);
        for (argument, ty) in arguments.iter().zip(&params) {
            operands.push(self.typed(argument, ty)?);
        }
        // Evaluating an argument may run the collector, so values are read from their slots after all arguments are
        // evaluated.
        let values: Vec<Value> = operands.into_iter().map(|operand| self.value(operand)).collect();
        self.at(line);
        let call = match direct {
            Some((id, _)) => {
                let function = self.compiler.module.declare_func_in_func(id, self.b.func);
                self.b.ins().call(function, &values)
            }
            None => {
                let signature = self.compiler.signature(values.len(), true);
                let signature = self.b.import_signature(signature);
                let code = self.b.ins().load(I64, MemFlags::trusted(), values[0], field_offset(0));
                self.b.ins().call_indirect(signature, code, &values)
            }
        };
        self.calls.push(call);
        let value = self.b.inst_results(call)[0];
        let operand = self.operand(&result, value);
        Ok((result, operand))
    }

    /// Calls a function of the runtime, and returns its result if it has one.
    fn call_runtime(&mut self, name: &str, arguments: &[Value]) -> Option<Value> {
        let id = self.compiler.module.declarations().function_named(name).expect("it is declared");
        let function: FuncRef = self.compiler.module.declare_func_in_func(id, self.b.func);
        let call = self.b.ins().call(function, arguments);
        self.calls.push(call);
        self.b.inst_results(call).first().copied()
    }
}
