//! A plain front end: a small part of C, translated to CLIF while it is read.
//!
//! It works like a front end that leaves all optimization to the compiler. A scalar variable is a variable of the
//! builder and becomes block parameters. An array is a stack slot, and each access computes its address: extension,
//! multiplication, sum. A constant is created where it is used. Loops test at the top and end with a jump back to the
//! test. `&&`, `||` and `?:` are branches, and a comparison is extended where its value is needed.
//!
//! ```text
//! unit       = { "typedef" type "(" "*" name ")" params ";" | [ "static" ] type name params ( block | ";" ) }
//! params     = "(" [ type name { "," type name } ] ")"
//! type       = ( "void" | "u8" | "u16" | "u32" | "u64" | "i32" | "i64" | "f64" | the name of a "typedef" ) { "*" }
//! statement  = type name "=" expression ";" | type name "[" integer "]" [ "=" "{" expression { "," expression } "}" ]
//! ";"
//!            | expression ";" | block | "return" [ expression ] ";" | "break" ";" | "continue" ";"
//!            | "if" "(" expression ")" statement [ "else" statement ] | "while" "(" expression ")" statement
//!            | "for" "(" statement expression ";" expression ")" statement
//!            | "switch" "(" expression ")" "{" { ( "case" integer | "default" ) ":" { statement } } "}"
//! ```
//!
//! Types, promotions and precedence follow C. Each `case` ends with `break`, `continue` or `return`. A `typedef` names
//! a pointer to a function: the name of a function is such a pointer, and a call of a variable is indirect. Anything
//! else that is not C is refused.

mod expressions;
mod types;

use super::words::{Word, words};
use anyhow::{Context, Result, anyhow, bail, ensure};
use kingpost_ir::builder::{ControlBuilder, InstBuilder};
use kingpost_ir::extfunc::FuncName;
use kingpost_ir::frontend::{FrontendContext, FunctionBuilder, Switch, Variable};
use kingpost_ir::signature::{AbiParam, CallConv, Signature};
use kingpost_ir::types::I64;
use kingpost_ir::{Block, Function, MemFlags, StackSlot, Value};
use types::{CType, VOID};

/// Returns the functions of a text.
///
/// # Errors
/// If the text is not in the language; the error has the line.
pub(super) fn translate(text: &str) -> Result<Vec<Function>> {
    let mut unit = Unit { words: words(text)?, at: 0, functions: Vec::new(), pointers: Vec::new() };
    let mut translated = Vec::new();
    while unit.word() != Word::End {
        let line = unit.words[unit.at].1;
        let item = if unit.take("typedef") { pointer_type(&mut unit).map(|()| None) } else { function(&mut unit) };
        translated.extend(item.with_context(|| format!("in the item on line {line}"))?);
    }
    Ok(translated)
}

/// Meaning of a name.
#[derive(Clone, Copy, Debug)]
enum Binding {
    Variable(Variable, CType),
    Array(StackSlot, CType),
}

/// A value, or a place that contains one.
#[derive(Clone, Copy, Debug)]
enum Entity {
    Value(Value),
    Variable(Variable),
    Memory(Value),
}

type Operand = (Entity, CType);
type Typed = (Value, CType);

/// A name, and the types of the parameters and of the result that belong to it.
type Signed<'a> = (&'a str, Vec<CType>, CType);

/// The text, and the functions and types of pointers to functions declared so far.
struct Unit<'a> {
    words: Vec<(Word<'a>, usize)>,
    at: usize,
    functions: Vec<Signed<'a>>,
    pointers: Vec<Signed<'a>>,
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
        self.type_of(self.word())
    }

    /// Returns the type that a word names.
    fn type_of(&self, word: Word<'_>) -> Option<CType> {
        let Word::Name(name) = word else { return None };
        let pointer = || self.pointers.iter().position(|known| known.0 == name);
        CType::named(name).or_else(|| Some(CType::function(pointer()? as u8)))
    }

    /// Returns the names and types of parameters.
    fn params(&mut self) -> Result<(Vec<&'a str>, Vec<CType>)> {
        self.expect("(")?;
        let (mut names, mut params) = (Vec::new(), Vec::new());
        while !self.take(")") {
            params.push(self.ctype()?);
            names.push(self.name()?);
            ensure!(self.take(",") || self.is(")"), "expected `,` or `)`");
        }
        Ok((names, params))
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

fn pointer_type(unit: &mut Unit<'_>) -> Result<()> {
    let result = unit.ctype()?;
    unit.expect("(")?;
    unit.expect("*")?;
    let name = unit.name()?;
    unit.expect(")")?;
    let (_, params) = unit.params()?;
    unit.pointers.push((name, params, result));
    unit.expect(";")
}

/// Translates a function. Returns `None` for a declaration.
fn function(unit: &mut Unit<'_>) -> Result<Option<Function>> {
    unit.take("static");
    let result = unit.ctype()?;
    let name = unit.name()?;
    let (names, params) = unit.params()?;
    unit.functions.push((name, params.clone(), result));
    if unit.take(";") {
        return Ok(None);
    }
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
    Ok(Some(func))
}

/// The translation of a function's body.
struct Body<'u, 'a, 'f> {
    unit: &'u mut Unit<'a>,
    b: FunctionBuilder<'f>,
    bindings: Vec<(&'a str, Binding)>,
    result: CType,
    /// Destinations of `break` and `continue`.
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

    /// Ends the current block with a jump, unless it has ended already.
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

    /// Skips the last part of the head of a `for`, which is read after its body.
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
}
