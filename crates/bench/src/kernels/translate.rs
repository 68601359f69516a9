//! A plain front end: a small part of C, translated to CLIF as it is read.
//!
//! It does what front ends do that leave all optimisation to the compiler behind them. A scalar variable is a variable of
//! the builder and becomes block parameters, an array is a stack slot, and each access computes its address: extension,
//! multiplication, sum. A constant is made where it is used. Loops test at the top and end with a jump back to the
//! test, `&&`, `||` and `?:` are branches, and a comparison is extended where its value is needed.
//!
//! ```text
//! unit       = { "static" type name "(" [ type name { "," type name } ] ")" block | the same without "static" }
//! type       = ( "void" | "u8" | "u16" | "u32" | "u64" | "i32" | "i64" | "f64" ) { "*" }
//! statement  = type name "=" expression ";" | type name "[" integer "]" [ "=" "{" expression { "," expression } "}" ] ";"
//!            | expression ";" | block | "return" [ expression ] ";" | "break" ";" | "continue" ";"
//!            | "if" "(" expression ")" statement [ "else" statement ] | "while" "(" expression ")" statement
//!            | "for" "(" statement expression ";" expression ")" statement
//!            | "switch" "(" expression ")" "{" { ( "case" integer | "default" ) ":" { statement } } "}"
//! ```
//!
//! Types, promotions and precedence are C's. Each `case` ends with `break`, `continue` or `return`. What else is not C's is refused.

use super::words::{Word, words};
use anyhow::{Context, Result, anyhow, bail, ensure};
use kingpost_ir::builder::{ControlBuilder, InstBuilder};
use kingpost_ir::condcodes::{FloatCC, IntCC};
use kingpost_ir::extfunc::{ExtFuncData, ExternalName, FuncName};
use kingpost_ir::frontend::{FrontendContext, FunctionBuilder, Switch, Variable};
use kingpost_ir::signature::{AbiParam, CallConv, Signature};
use kingpost_ir::types::{F64, I8, I16, I32, I64};
use kingpost_ir::{Block, Function, MemFlags, StackSlot, Type, Value};

/// The functions of a text.
///
/// # Errors
/// What is not of the language, with its line.
pub(super) fn translate(text: &str) -> Result<Vec<Function>> {
    let mut unit = Unit { words: words(text)?, at: 0, functions: Vec::new() };
    let mut translated = Vec::new();
    while unit.word() != Word::End {
        let line = unit.words[unit.at].1;
        translated.push(function(&mut unit).with_context(|| format!("in the function on line {line}"))?);
    }
    Ok(translated)
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Scalar {
    Void,
    /// What a comparison returns, before it is extended.
    Truth,
    Integer {
        bits: u8,
        is_signed: bool,
    },
    Float,
}

/// A type: a scalar behind some pointers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct CType {
    scalar: Scalar,
    pointers: u8,
}

const fn integer(bits: u8, is_signed: bool) -> CType {
    CType { scalar: Scalar::Integer { bits, is_signed }, pointers: 0 }
}

const INT: CType = integer(32, true);
const FLOAT: CType = CType { scalar: Scalar::Float, pointers: 0 };
const TRUTH: CType = CType { scalar: Scalar::Truth, pointers: 0 };
const VOID: CType = CType { scalar: Scalar::Void, pointers: 0 };

impl CType {
    fn named(name: &str) -> Option<CType> {
        Some(match name {
            "void" => VOID,
            "u8" => integer(8, false),
            "u16" => integer(16, false),
            "u32" => integer(32, false),
            "u64" => integer(64, false),
            "i32" => INT,
            "i64" => integer(64, true),
            "f64" => FLOAT,
            _ => return None,
        })
    }

    fn clif(self) -> Type {
        match self.scalar {
            _ if self.pointers > 0 => I64,
            Scalar::Integer { bits: 16, .. } => I16,
            Scalar::Integer { bits: 32, .. } => I32,
            Scalar::Integer { bits: 64, .. } => I64,
            Scalar::Integer { .. } | Scalar::Truth | Scalar::Void => I8,
            Scalar::Float => F64,
        }
    }

    fn is_float(self) -> bool {
        self == FLOAT
    }

    fn is_signed(self) -> bool {
        self.pointers == 0 && matches!(self.scalar, Scalar::Integer { is_signed: true, .. })
    }

    fn to_pointer(self) -> CType {
        CType { pointers: self.pointers + 1, ..self }
    }

    fn pointee(self) -> Result<CType> {
        ensure!(self.pointers > 0, "no pointer");
        Ok(CType { pointers: self.pointers - 1, ..self })
    }
}

/// What a name stands for.
#[derive(Clone, Copy, Debug)]
enum Binding {
    Variable(Variable, CType),
    Array(StackSlot, CType),
}

/// A value, or a place that has one.
#[derive(Clone, Copy, Debug)]
enum Place {
    Value(Value),
    Variable(Variable),
    Memory(Value),
}

type Operand = (Place, CType);
type Typed = (Value, CType);

/// The text, and the functions declared so far.
struct Unit<'a> {
    words: Vec<(Word<'a>, usize)>,
    at: usize,
    functions: Vec<(&'a str, Vec<CType>, CType)>,
}

impl<'a> Unit<'a> {
    fn word(&self) -> Word<'a> {
        self.words[self.at].0
    }

    fn advance(&mut self) -> Word<'a> {
        let word = self.word();
        self.at += usize::from(word != Word::End);
        word
    }

    fn is(&self, sign: &str) -> bool {
        self.word() == Word::Name(sign) || matches!(self.word(), Word::Sign(word) if word == sign)
    }

    fn take(&mut self, sign: &str) -> bool {
        let is_there = self.is(sign);
        self.at += usize::from(is_there);
        is_there
    }

    fn expect(&mut self, sign: &str) -> Result<()> {
        let found = self.words[self.at];
        ensure!(self.take(sign), "line {}: expected `{sign}`, found {:?}", found.1, found.0);
        Ok(())
    }

    fn name(&mut self) -> Result<&'a str> {
        match self.advance() {
            Word::Name(name) => Ok(name),
            word => bail!("expected a name, found {word:?}"),
        }
    }

    fn peek_type(&self) -> Option<CType> {
        match self.word() {
            Word::Name(name) => CType::named(name),
            _ => None,
        }
    }

    fn ctype(&mut self) -> Result<CType> {
        let mut ty = self.peek_type().ok_or_else(|| anyhow!("expected a type, found {:?}", self.word()))?;
        self.advance();
        while self.take("*") {
            ty = ty.to_pointer();
        }
        Ok(ty)
    }
}

fn signature(params: &[CType], result: CType) -> Signature {
    let mut signature = Signature::new(CallConv::SystemV);
    signature.params.extend(params.iter().map(|ty| AbiParam::new(ty.clif())));
    if result != VOID {
        signature.returns.push(AbiParam::new(result.clif()));
    }
    signature
}

fn function(unit: &mut Unit<'_>) -> Result<Function> {
    unit.take("static");
    let result = unit.ctype()?;
    let name = unit.name()?;
    unit.expect("(")?;
    let (mut names, mut params) = (Vec::new(), Vec::new());
    while !unit.take(")") {
        params.push(unit.ctype()?);
        names.push(unit.name()?);
        ensure!(unit.take(",") || unit.is(")"), "expected `,` or `)`");
    }
    unit.functions.push((name, params.clone(), result));
    let mut func = Function::new(FuncName::Named(name.into()), signature(&params, result));
    let mut cx = FrontendContext::default();
    let mut b = FunctionBuilder::new(&mut func, &mut cx);
    let entry = b.create_block();
    b.append_function_params(entry);
    b.switch_to_block(entry);
    b.seal_block(entry);
    let mut body =
        Body { unit, b, bindings: Vec::new(), result, leave: Vec::new(), repeat: Vec::new(), is_ended: false };
    for (index, (name, ty)) in names.into_iter().zip(params).enumerate() {
        let value = body.b.block_params(entry)[index];
        body.declare(name, ty, value);
    }
    let line = body.unit.words[body.unit.at].1;
    body.statement()
        .map_err(|error| error.context(format!("between lines {line} and {}", body.unit.words[body.unit.at].1)))?;
    if !body.is_ended {
        ensure!(result == VOID, "%{name} returns nothing");
        body.b.ins().return_(&[]);
    }
    body.b.seal_all_blocks();
    body.b.finalize()?;
    Ok(func)
}

/// The translation of a function's body.
struct Body<'u, 'a, 'f> {
    unit: &'u mut Unit<'a>,
    b: FunctionBuilder<'f>,
    bindings: Vec<(&'a str, Binding)>,
    result: CType,
    /// Where `break` and `continue` lead.
    leave: Vec<Block>,
    repeat: Vec<Block>,
    /// Whether the current block has its terminator.
    is_ended: bool,
}

impl<'a> Body<'_, 'a, '_> {
    fn declare(&mut self, name: &'a str, ty: CType, value: Value) {
        let variable = self.b.declare_var(ty.clif());
        self.b.def_var(variable, value);
        self.bindings.push((name, Binding::Variable(variable, ty)));
    }

    fn switch_to(&mut self, block: Block) {
        self.b.switch_to_block(block);
        self.is_ended = false;
    }

    /// Goes to a block unless the current one has ended.
    fn end_with_jump(&mut self, block: Block) {
        if !self.is_ended {
            self.b.ins().jump(block, &[]);
        }
        self.is_ended = true;
    }

    fn branch(&mut self, condition: Value, then: Block, otherwise: Block) {
        self.b.ins().brif(condition, then, &[], otherwise, &[]);
        self.is_ended = true;
    }

    fn block(&mut self) -> Result<()> {
        let scope = self.bindings.len();
        while !self.unit.take("}") {
            self.statement()?;
        }
        self.bindings.truncate(scope);
        Ok(())
    }

    fn statement(&mut self) -> Result<()> {
        if self.is_ended {
            bail!("line {}: this is never reached", self.unit.words[self.unit.at].1);
        }
        if self.unit.take("{") {
            return self.block();
        }
        if self.unit.peek_type().is_some() {
            return self.declaration();
        }
        let keyword = match self.unit.word() {
            Word::Name(name) => name,
            _ => "",
        };
        match keyword {
            "if" => self.conditional(),
            "while" => self.while_loop(),
            "for" => self.for_loop(),
            "switch" => self.switch(),
            "break" | "continue" => {
                self.unit.advance();
                self.unit.expect(";")?;
                let targets = if keyword == "break" { &self.leave } else { &self.repeat };
                let target = *targets.last().with_context(|| format!("`{keyword}` without a loop"))?;
                self.end_with_jump(target);
                Ok(())
            }
            "return" => {
                self.unit.advance();
                if self.unit.take(";") {
                    self.b.ins().return_(&[]);
                } else {
                    let value = self.expression()?;
                    let value = self.convert(value, self.result);
                    self.unit.expect(";")?;
                    self.b.ins().return_(&[value]);
                }
                self.is_ended = true;
                Ok(())
            }
            _ => {
                self.assignment()?;
                self.unit.expect(";")
            }
        }
    }

    fn declaration(&mut self) -> Result<()> {
        let ty = self.unit.ctype()?;
        let name = self.unit.name()?;
        if self.unit.take("[") {
            let Word::Integer { value: len, .. } = self.unit.advance() else { bail!("{name} needs a length") };
            self.unit.expect("]")?;
            let slot = self.b.create_stack_slot(len as u32 * ty.clif().bytes(), 16);
            if self.unit.take("=") {
                self.unit.expect("{")?;
                let mut offset = 0;
                while !self.unit.take("}") {
                    let value = self.expression()?;
                    let value = self.convert(value, ty);
                    let address = self.b.ins().stack_addr(I64, slot, 0);
                    self.b.ins().store(MemFlags::trusted(), value, address, offset);
                    offset += ty.clif().bytes() as i32;
                    ensure!(self.unit.take(",") || self.unit.is("}"), "expected `,` or `}}`");
                }
            }
            self.bindings.push((name, Binding::Array(slot, ty)));
        } else {
            self.unit.expect("=")?;
            let value = self.expression()?;
            let value = self.convert(value, ty);
            self.declare(name, ty, value);
        }
        self.unit.expect(";")
    }

    fn condition(&mut self) -> Result<Value> {
        self.unit.expect("(")?;
        let value = self.expression()?;
        self.unit.expect(")")?;
        self.truth(value)
    }

    fn conditional(&mut self) -> Result<()> {
        self.unit.expect("if")?;
        let condition = self.condition()?;
        let (then, otherwise, after) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
        self.branch(condition, then, otherwise);
        self.switch_to(then);
        self.statement()?;
        let then_ended = self.is_ended;
        self.end_with_jump(after);
        self.switch_to(otherwise);
        if self.unit.take("else") {
            self.statement()?;
        }
        let both_ended = then_ended && self.is_ended;
        self.end_with_jump(after);
        if !both_ended {
            self.switch_to(after);
        }
        Ok(())
    }

    fn while_loop(&mut self) -> Result<()> {
        self.unit.expect("while")?;
        let (test, body, after) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
        self.end_with_jump(test);
        self.switch_to(test);
        let condition = self.condition()?;
        self.branch(condition, body, after);
        self.switch_to(body);
        self.loop_body(after, test)?;
        self.end_with_jump(test);
        self.switch_to(after);
        Ok(())
    }

    fn loop_body(&mut self, leave: Block, repeat: Block) -> Result<()> {
        self.leave.push(leave);
        self.repeat.push(repeat);
        self.statement()?;
        self.leave.pop();
        self.repeat.pop();
        Ok(())
    }

    fn for_loop(&mut self) -> Result<()> {
        self.unit.expect("for")?;
        self.unit.expect("(")?;
        let scope = self.bindings.len();
        self.statement()?;
        let (test, body, after) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
        let step = self.b.create_block();
        self.end_with_jump(test);
        self.switch_to(test);
        let condition = self.expression()?;
        let condition = self.truth(condition)?;
        self.branch(condition, body, after);
        self.unit.expect(";")?;
        let step_at = self.unit.at;
        self.skip_step()?;
        self.switch_to(body);
        self.loop_body(after, step)?;
        self.end_with_jump(step);
        self.switch_to(step);
        let body_end = std::mem::replace(&mut self.unit.at, step_at);
        self.assignment()?;
        self.unit.at = body_end;
        self.end_with_jump(test);
        self.switch_to(after);
        self.bindings.truncate(scope);
        Ok(())
    }

    /// Skips the last part of the head of a `for`, which is read behind its body.
    fn skip_step(&mut self) -> Result<()> {
        let mut depth = 1;
        while depth > 0 {
            match self.unit.advance() {
                Word::Sign("(") => depth += 1,
                Word::Sign(")") => depth -= 1,
                Word::End => bail!("expected `)`"),
                _ => {}
            }
        }
        Ok(())
    }

    fn switch(&mut self) -> Result<()> {
        self.unit.expect("switch")?;
        self.unit.expect("(")?;
        let value = self.expression()?;
        let value = self.promote(value);
        self.unit.expect(")")?;
        self.unit.expect("{")?;
        let (after, head) = (self.b.create_block(), self.b.current_block());
        let (mut switch, mut otherwise) = (Switch::new(), after);
        self.is_ended = true;
        self.leave.push(after);
        while !self.unit.take("}") {
            let block = self.b.create_block();
            while self.unit.is("case") || self.unit.is("default") {
                if self.unit.advance() == Word::Name("default") {
                    otherwise = block;
                } else if let Word::Integer { value, .. } = self.unit.advance() {
                    switch.set_entry(value, block);
                }
                self.unit.expect(":")?;
            }
            self.switch_to(block);
            while !self.is_ended {
                self.statement()?;
            }
        }
        self.leave.pop();
        self.switch_to(head.context("no block")?);
        switch.emit(&mut self.b, value.0, otherwise);
        self.switch_to(after);
        Ok(())
    }

    /// An expression or an assignment, whose value is that of its left side.
    fn assignment(&mut self) -> Result<()> {
        let place = self.ternary()?;
        let Word::Sign(sign) = self.unit.word() else { return Ok(()) };
        if sign == "=" {
            self.unit.advance();
            let value = self.expression()?;
            return self.assign(place, value);
        }
        if let Some(operator) = sign.strip_suffix('=').filter(|operator| precedence(operator).is_some()) {
            self.unit.advance();
            let left = self.read(place);
            let right = self.expression()?;
            let value = self.binary(operator, left, right)?;
            return self.assign(place, value);
        }
        Ok(())
    }

    fn assign(&mut self, (place, ty): Operand, value: Typed) -> Result<()> {
        let value = self.convert(value, ty);
        match place {
            Place::Variable(variable) => self.b.def_var(variable, value),
            Place::Memory(address) => {
                self.b.ins().store(MemFlags::trusted(), value, address, 0);
            }
            Place::Value(_) => bail!("a value is no place"),
        }
        Ok(())
    }

    fn read(&mut self, (place, ty): Operand) -> Typed {
        let value = match place {
            Place::Value(value) => value,
            Place::Variable(variable) => self.b.use_var(variable),
            Place::Memory(address) => self.b.ins().load(ty.clif(), MemFlags::trusted(), address, 0),
        };
        (value, ty)
    }

    fn expression(&mut self) -> Result<Typed> {
        let operand = self.ternary()?;
        Ok(self.read(operand))
    }

    fn ternary(&mut self) -> Result<Operand> {
        let operand = self.operators(0)?;
        if !self.unit.take("?") {
            return Ok(operand);
        }
        let condition = self.read(operand);
        let condition = self.truth(condition)?;
        let (then, otherwise, after) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
        self.branch(condition, then, otherwise);
        self.switch_to(then);
        let value = self.expression()?;
        let (value, ty) = self.promote(value);
        let result = self.b.append_block_param(after, ty.clif());
        self.b.ins().jump(after, &[value]);
        self.unit.expect(":")?;
        self.switch_to(otherwise);
        let value = self.expression()?;
        let (value, other) = self.promote(value);
        ensure!(ty == other, "line {}: arms of types {ty:?} and {other:?}", self.unit.words[self.unit.at].1);
        self.b.ins().jump(after, &[value]);
        self.switch_to(after);
        Ok((Place::Value(result), ty))
    }

    /// Operators that bind stronger than `least`.
    fn operators(&mut self, least: u8) -> Result<Operand> {
        let mut left = self.unary()?;
        while let Word::Sign(operator) = self.unit.word()
            && let Some(strength) = precedence(operator).filter(|&strength| strength > least)
        {
            self.unit.advance();
            let value = self.read(left);
            let value = if operator == "&&" || operator == "||" {
                self.short_circuit(operator == "&&", value, strength)?
            } else {
                let right = self.operators(strength)?;
                let right = self.read(right);
                self.binary(operator, value, right)?
            };
            left = (Place::Value(value.0), value.1);
        }
        Ok(left)
    }

    fn short_circuit(&mut self, is_and: bool, left: Typed, strength: u8) -> Result<Typed> {
        let left = self.truth(left)?;
        let (rest, after) = (self.b.create_block(), self.b.create_block());
        let result = self.b.append_block_param(after, I8);
        let known = self.b.ins().iconst(I8, i64::from(!is_and));
        if is_and {
            self.b.ins().brif(left, rest, &[], after, &[known]);
        } else {
            self.b.ins().brif(left, after, &[known], rest, &[]);
        }
        self.switch_to(rest);
        let right = self.operators(strength)?;
        let right = self.read(right);
        let right = self.compare_with_zero(IntCC::NotEqual, right)?;
        self.b.ins().jump(after, &[right]);
        self.switch_to(after);
        Ok((result, TRUTH))
    }

    fn unary(&mut self) -> Result<Operand> {
        let word = self.unit.word();
        let is_cast = self.unit.is("(")
            && matches!(self.unit.words[self.unit.at + 1].0, Word::Name(name) if CType::named(name).is_some());
        if is_cast {
            self.unit.advance();
            let ty = self.unit.ctype()?;
            self.unit.expect(")")?;
            let value = self.unary()?;
            let value = self.read(value);
            return Ok((Place::Value(self.convert(value, ty)), ty));
        }
        let Word::Sign(sign @ ("-" | "~" | "!" | "*")) = word else { return self.postfix() };
        self.unit.advance();
        let operand = self.unary()?;
        let value = self.read(operand);
        if sign == "*" {
            return Ok((Place::Memory(value.0), value.1.pointee()?));
        }
        if sign == "!" {
            return Ok((Place::Value(self.compare_with_zero(IntCC::Equal, value)?), TRUTH));
        }
        let (value, ty) = self.promote(value);
        let value = match sign {
            "~" => self.b.ins().bnot(value),
            _ if ty.is_float() => self.b.ins().fneg(value),
            _ => self.b.ins().ineg(value),
        };
        Ok((Place::Value(value), ty))
    }

    fn postfix(&mut self) -> Result<Operand> {
        let mut operand = self.primary()?;
        loop {
            if self.unit.take("[") {
                let base = self.read(operand);
                let index = self.expression()?;
                self.unit.expect("]")?;
                let address = self.binary("+", base, index)?;
                operand = (Place::Memory(address.0), base.1.pointee()?);
            } else if self.unit.is("++") || self.unit.is("--") {
                let operator = if self.unit.advance() == Word::Sign("++") { "+" } else { "-" };
                let old = self.read(operand);
                let one = (self.b.ins().iconst(I32, 1), INT);
                let new = self.binary(operator, old, one)?;
                self.assign(operand, new)?;
                operand = (Place::Value(old.0), old.1);
            } else {
                return Ok(operand);
            }
        }
    }

    fn primary(&mut self) -> Result<Operand> {
        let line = self.unit.words[self.unit.at].1;
        match self.unit.advance() {
            Word::Integer { value, is_unsigned, is_long } => {
                let bits = if is_long || value > u64::from(u32::MAX) { 64 } else { 32 };
                let ty = integer(bits, !is_unsigned);
                Ok((Place::Value(self.b.ins().iconst(ty.clif(), value as i64)), ty))
            }
            Word::Float(value) => Ok((Place::Value(self.b.ins().f64const(value)), FLOAT)),
            Word::Sign("(") => {
                let operand = self.ternary()?;
                self.unit.expect(")")?;
                Ok(operand)
            }
            Word::Name(name) if self.unit.is("(") => self.call(name),
            Word::Name(name) => {
                let binding = self.bindings.iter().rev().find(|(bound, _)| *bound == name);
                match binding.with_context(|| format!("line {line}: no variable {name}"))?.1 {
                    Binding::Variable(variable, ty) => Ok((Place::Variable(variable), ty)),
                    Binding::Array(slot, ty) => {
                        Ok((Place::Value(self.b.ins().stack_addr(I64, slot, 0)), ty.to_pointer()))
                    }
                }
            }
            word => bail!("line {line}: {word:?} begins no expression"),
        }
    }

    fn call(&mut self, name: &str) -> Result<Operand> {
        self.unit.expect("(")?;
        let mut args = Vec::new();
        while !self.unit.take(")") {
            args.push(self.expression()?);
            ensure!(self.unit.take(",") || self.unit.is(")"), "expected `,` or `)`");
        }
        if let ("__builtin_sqrt", &[(value, FLOAT)]) = (name, &*args) {
            return Ok((Place::Value(self.b.ins().sqrt(value)), FLOAT));
        }
        let known = self.unit.functions.iter().find(|known| known.0 == name);
        let (_, params, result) = known.with_context(|| format!("no function {name}"))?.clone();
        ensure!(params.len() == args.len(), "{name} takes {} arguments", params.len());
        let args: Vec<Value> = args.into_iter().zip(&params).map(|(arg, &ty)| self.convert(arg, ty)).collect();
        let signature = self.b.import_signature(signature(&params, result));
        let name = ExternalName::Named(name.into());
        let callee = self.b.import_function(ExtFuncData { name, signature, colocated: true, patchable: false });
        let call = self.b.ins().call(callee, &args);
        let value = self.b.inst_results(call).first().copied();
        Ok((Place::Value(value.unwrap_or(Value::from_u32(0))), result))
    }

    /// A value that is not zero where the operand is not.
    fn truth(&mut self, (value, ty): Typed) -> Result<Value> {
        ensure!(!ty.is_float(), "a float is no condition");
        Ok(value)
    }

    /// Whether an operand is zero, or is not. What a comparison returned is itself the latter.
    fn compare_with_zero(&mut self, condition: IntCC, operand: Typed) -> Result<Value> {
        let value = self.truth(operand)?;
        if operand.1 == TRUTH && condition == IntCC::NotEqual {
            return Ok(value);
        }
        let zero = self.b.ins().iconst(operand.1.clif(), 0);
        Ok(self.b.ins().icmp(condition, value, zero))
    }

    /// C's promotion: what is smaller than `i32` becomes one.
    fn promote(&mut self, value: Typed) -> Typed {
        let is_small =
            value.1.pointers == 0 && matches!(value.1.scalar, Scalar::Truth | Scalar::Integer { bits: 8 | 16, .. });
        if is_small { (self.convert(value, INT), INT) } else { value }
    }

    fn convert(&mut self, (value, from): Typed, to: CType) -> Value {
        let (source, target) = (from.clif(), to.clif());
        match (from.is_float(), to.is_float()) {
            (true, true) => value,
            (false, true) if from.is_signed() => self.b.ins().fcvt_from_sint(F64, value),
            (false, true) => self.b.ins().fcvt_from_uint(F64, value),
            (true, false) if to.is_signed() => self.b.ins().fcvt_to_sint_sat(target, value),
            (true, false) => self.b.ins().fcvt_to_uint_sat(target, value),
            (false, false) if source.bits() > target.bits() => self.b.ins().ireduce(target, value),
            (false, false) if source == target => value,
            (false, false) if from.is_signed() => self.b.ins().sextend(target, value),
            (false, false) => self.b.ins().uextend(target, value),
        }
    }

    /// An operation of two operands, after C's conversions.
    fn binary(&mut self, operator: &str, left: Typed, right: Typed) -> Result<Typed> {
        if left.1.pointers > 0 && right.1.pointers == 0 && matches!(operator, "+" | "-") {
            let size = i64::from(left.1.pointee()?.clif().bytes());
            let offset = self.convert(right, integer(64, right.1.is_signed()));
            let size = self.b.ins().iconst(I64, size);
            let offset = self.b.ins().imul(offset, size);
            let sum =
                if operator == "+" { self.b.ins().iadd(left.0, offset) } else { self.b.ins().isub(left.0, offset) };
            return Ok((sum, left.1));
        }
        let (left, right) = (self.promote(left), self.promote(right));
        if operator == "<<" || operator == ">>" {
            let value = match operator {
                "<<" => self.b.ins().ishl(left.0, right.0),
                _ if left.1.is_signed() => self.b.ins().sshr(left.0, right.0),
                _ => self.b.ins().ushr(left.0, right.0),
            };
            return Ok((value, left.1));
        }
        let ty = common(left.1, right.1);
        let (x, y) = (self.convert(left, ty), self.convert(right, ty));
        if let Some((condition, float)) = comparison(operator, ty.is_signed()) {
            let b = self.b.ins();
            return Ok((if ty.is_float() { b.fcmp(float, x, y) } else { b.icmp(condition, x, y) }, TRUTH));
        }
        let b = self.b.ins();
        let value = match (operator, ty.is_float()) {
            ("+", true) => b.fadd(x, y),
            ("-", true) => b.fsub(x, y),
            ("*", true) => b.fmul(x, y),
            ("/", true) => b.fdiv(x, y),
            ("+", _) => b.iadd(x, y),
            ("-", _) => b.isub(x, y),
            ("*", _) => b.imul(x, y),
            ("/", _) if ty.is_signed() => b.sdiv(x, y),
            ("/", _) => b.udiv(x, y),
            ("%", false) if ty.is_signed() => b.srem(x, y),
            ("%", false) => b.urem(x, y),
            ("&", false) => b.band(x, y),
            ("|", false) => b.bor(x, y),
            ("^", false) => b.bxor(x, y),
            _ => bail!("no operator {operator} on {ty:?}"),
        };
        Ok((value, ty))
    }
}

/// How strongly an operator of two operands binds.
fn precedence(operator: &str) -> Option<u8> {
    Some(match operator {
        "||" => 1,
        "&&" => 2,
        "|" => 3,
        "^" => 4,
        "&" => 5,
        "==" | "!=" => 6,
        "<" | "<=" | ">" | ">=" => 7,
        "<<" | ">>" => 8,
        "+" | "-" => 9,
        "*" | "/" | "%" => 10,
        _ => return None,
    })
}

fn comparison(operator: &str, is_signed: bool) -> Option<(IntCC, FloatCC)> {
    Some(match (operator, is_signed) {
        ("==", _) => (IntCC::Equal, FloatCC::Equal),
        ("!=", _) => (IntCC::NotEqual, FloatCC::NotEqual),
        ("<", true) => (IntCC::SignedLessThan, FloatCC::LessThan),
        ("<", false) => (IntCC::UnsignedLessThan, FloatCC::LessThan),
        ("<=", true) => (IntCC::SignedLessThanOrEqual, FloatCC::LessThanOrEqual),
        ("<=", false) => (IntCC::UnsignedLessThanOrEqual, FloatCC::LessThanOrEqual),
        (">", true) => (IntCC::SignedGreaterThan, FloatCC::GreaterThan),
        (">", false) => (IntCC::UnsignedGreaterThan, FloatCC::GreaterThan),
        (">=", true) => (IntCC::SignedGreaterThanOrEqual, FloatCC::GreaterThanOrEqual),
        (">=", false) => (IntCC::UnsignedGreaterThanOrEqual, FloatCC::GreaterThanOrEqual),
        _ => return None,
    })
}

/// The type in which two promoted operands are computed with.
fn common(left: CType, right: CType) -> CType {
    if left.pointers > 0 || right.pointers > 0 {
        return integer(64, false);
    }
    if left.is_float() || right.is_float() {
        return FLOAT;
    }
    let bits = left.clif().bits().max(right.clif().bits()) as u8;
    // A type without sign wins among equals; of two sizes, the larger type.
    let is_unsigned = |ty: CType| ty.clif().bits() as u8 == bits && !ty.is_signed();
    integer(bits, !is_unsigned(left) && !is_unsigned(right))
}
