//! Compiles a syntax tree into functions of a module.
//!
//! A value of any type has 64 bits. Structures and closures are objects of the heap. References to them need stack
//! maps, which the builder makes, so that a collector may move the objects during any call.

use super::syntax::{Expression, Function, Kind, Program, Statement, Struct, Type};
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
        let entry = b.create_block();
        b.append_function_params(entry);
        b.switch_to_block(entry);
        let mut body = Body { compiler: self, b, locals: Vec::new(), function };

        body.at(function.line);
        let mut arguments = body.b.block_params(entry).to_vec();
        if let Some(captured) = captured {
            let closure = arguments.remove(0);
            body.b.declare_value_needs_stack_map(closure);
            for (index, (name, ty)) in captured.into_iter().enumerate() {
                // Field 0 of a closure is the address of its function.
                let value = body.b.ins().load(I64, MemFlags::trusted(), closure, field_offset(index + 1));
                body.declare(name, ty, value);
            }
        }
        for ((name, ty), value) in function.params.iter().zip(arguments) {
            body.declare(name.clone(), ty.clone(), value);
        }
        body.statements(&function.body)?;
        // A function that ends without `return` traps.
        body.b.ins().trap(TrapCode::user(1).expect("1 is a code of the user's"));
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

/// State of the compiled function.
struct Body<'c, 'p, 'f, M> {
    compiler: &'c mut Compiler<'p, M>,
    b: FunctionBuilder<'f>,
    locals: Vec<(String, Type, Variable)>,
    function: &'p Function,
}

impl<'p, M: Module> Body<'_, 'p, '_, M> {
    /// Sets the source line of the next instructions.
    fn at(&mut self, line: u32) {
        self.b.set_srcloc(SourceLoc(line));
    }

    /// Returns the value. If it is a reference, the builder keeps it where a collector can find and update it.
    fn keep(&mut self, ty: &Type, value: Value) -> Value {
        if is_reference(ty) {
            self.b.declare_value_needs_stack_map(value);
        }
        value
    }

    fn declare(&mut self, name: String, ty: Type, value: Value) {
        let variable = self.b.declare_var(I64);
        self.b.set_var_name(variable, &name);
        if is_reference(&ty) {
            self.b.declare_var_needs_stack_map(variable);
        }
        self.b.def_var(variable, value);
        self.locals.push((name, ty, variable));
    }

    fn local(&self, name: &str) -> Option<(Type, Variable)> {
        let (_, ty, variable) = self.locals.iter().rev().find(|(known, ..)| known == name)?;
        Some((ty.clone(), *variable))
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
                self.declare(name.clone(), ty, value);
            }
            Statement::Assign(line, to, value) => self.assign(*line, to, value)?,
            Statement::While(line, condition, body) => {
                let [head, inside, after] = [(); 3].map(|()| self.b.create_block());
                self.b.ins().jump(head, &[]);
                self.b.switch_to_block(head);
                self.at(*line);
                let condition = self.typed(condition, &Type::Int)?;
                self.b.ins().brif(condition, inside, &[], after, &[]);
                self.b.switch_to_block(inside);
                self.statements(body)?;
                self.b.ins().jump(head, &[]);
                self.b.switch_to_block(after);
            }
            Statement::If(line, condition, then, otherwise) => {
                self.at(*line);
                let condition = self.typed(condition, &Type::Int)?;
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
                let (ty, variable) = self.local(name).ok_or_else(|| format!("line {line}: no variable `{name}`"))?;
                let value = self.typed(value, &ty)?;
                self.b.def_var(variable, value);
            }
            Kind::Field(object, field) => {
                let (ty, object) = self.expression(object)?;
                let (index, ty) = self.compiler.field(&ty, field, line)?;
                let value = self.typed(value, &ty)?;
                self.b.ins().store(MemFlags::trusted(), value, object, field_offset(index));
            }
            _ => return Err(format!("line {line}: only variables and fields are assigned")),
        }
        Ok(())
    }

    /// Compiles an expression that must have the type `expected`.
    fn typed(&mut self, expression: &'p Expression, expected: &Type) -> Result<Value> {
        let (found, value) = self.expression(expression)?;
        match found == *expected {
            true => Ok(value),
            false => Err(format!("line {}: expected `{expected}`, found `{found}`", expression.line)),
        }
    }

    fn expression(&mut self, expression: &'p Expression) -> Result<(Type, Value)> {
        let line = expression.line;
        self.at(line);
        match &expression.kind {
            Kind::Int(number) => Ok((Type::Int, self.b.ins().iconst(I64, *number))),
            Kind::Str(text) => Ok((Type::Str, self.text(text))),
            Kind::Name(name) => {
                let (ty, variable) = self.local(name).ok_or_else(|| format!("line {line}: no variable `{name}`"))?;
                Ok((ty, self.b.use_var(variable)))
            }
            Kind::Binary(operator, operands) => {
                let left = self.typed(&operands.0, &Type::Int)?;
                let right = self.typed(&operands.1, &Type::Int)?;
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
                Ok((Type::Int, result))
            }
            Kind::Field(object, field) => {
                let (ty, object) = self.expression(object)?;
                let (index, ty) = self.compiler.field(&ty, field, line)?;
                let value = self.b.ins().load(I64, MemFlags::trusted(), object, field_offset(index));
                let value = self.keep(&ty, value);
                Ok((ty, value))
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
        let id = module.declare_anonymous_data(DataKind::ReadOnly);
        module.define_data(id, &DataDescription::bytes(bytes)).expect("a string is valid data");
        let text = module.declare_data_in_func(id, self.b.func);
        self.b.ins().symbol_value(I64, text)
    }

    /// Allocates an object and fills its fields. The flag of a field is `true` if it is a reference.
    fn object(&mut self, fields: &[(bool, Value)], line: u32) -> Result<Value> {
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
            self.b.ins().store(MemFlags::trusted(), field, object, field_offset(index));
        }
        Ok(self.keep(&Type::Struct(String::new()), object))
    }

    /// Creates a closure: an object with the address of its function and copies of the captured variables.
    fn closure(&mut self, function: &'p Function) -> Result<(Type, Value)> {
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
        let mut fields = vec![(false, address)];
        for (name, ty) in &captured {
            let (_, variable) = self.local(name).expect("it is in the list");
            fields.push((is_reference(ty), self.b.use_var(variable)));
        }
        self.compiler.closures.push((id, function, captured));
        let params = function.params.iter().map(|(_, ty)| ty.clone()).collect();
        let ty = Type::Fn(params, Box::new(function.result.clone()));
        Ok((ty, self.object(&fields, function.line)?))
    }

    fn call(&mut self, line: u32, callee: &'p Expression, arguments: &'p [Expression]) -> Result<(Type, Value)> {
        let name = if let Kind::Name(name) = &callee.kind { name.as_str() } else { "" };
        let is_variable = self.local(name).is_some();
        if name == "print" && !is_variable && arguments.len() == 1 {
            let (ty, value) = self.expression(&arguments[0])?;
            let routine = match ty {
                Type::Str => "sprig_print_text",
                Type::Int => "sprig_print_number",
                _ => return Err(format!("line {line}: only numbers and strings are printed")),
            };
            self.call_runtime(routine, &[value]);
            return Ok((Type::Int, self.b.ins().iconst(I64, 0)));
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
        let mut values = Vec::from_iter(closure);
        for (argument, ty) in arguments.iter().zip(&params) {
            values.push(self.typed(argument, ty)?);
        }
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
        let value = self.b.inst_results(call)[0];
        let value = self.keep(&result, value);
        Ok((result, value))
    }

    /// Calls a function of the runtime, and returns its result if it has one.
    fn call_runtime(&mut self, name: &str, arguments: &[Value]) -> Option<Value> {
        let id = self.compiler.module.declarations().function_named(name).expect("it is declared");
        let function: FuncRef = self.compiler.module.declare_func_in_func(id, self.b.func);
        let call = self.b.ins().call(function, arguments);
        self.b.inst_results(call).first().copied()
    }
}
