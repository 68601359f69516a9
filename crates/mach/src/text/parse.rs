//! Parser of the text form of machine code.
//!
//! The problem and its allocation are parsed as `.ra` text, in which the parts after `;;` are comments. Then these
//! parts are parsed, line by line.

use crate::buffer::JumpTable;
use crate::code::{Annotation, CallExits, Code, Handler, LimitStep, StackLimit, SymbolRef};
use crate::compiled::{DebugTag, KeyedSlot, SymbolName, ValueConstant};
use crate::inst::{AddrKind, AddrMode, IndexExtend, MInst, NO_BLOCK};
use crate::literal::Literal;
use crate::row::{ListIndex, Row, RowId, RowKind};
use kingpost_ir::libcall::{KnownSymbol, LibCall};
use kingpost_ir::{TrapCode, Type};
use kingpost_regalloc::text::{self, Case};
use kingpost_regalloc::{Allocation, Block, PReg, PRegSet, RegClass, VReg};
use smallvec::SmallVec;
use std::collections::HashMap;
use std::fmt;

/// Function in machine code, as parsed.
#[derive(Debug, Default)]
pub struct Parsed {
    /// Code of the function. The name of the function is the name of its problem.
    pub code: Code,
    /// Allocation of the function, if the text has one.
    pub allocation: Option<Allocation>,
    /// Start of the function, as a byte offset into the text.
    pub start: usize,
}

/// Error in a text of machine code.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct TextError {
    /// Line number, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub col: u32,
    /// Message without the position.
    pub message: String,
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.col, self.message)
    }
}

impl std::error::Error for TextError {}

type Result<T> = std::result::Result<T, TextError>;

/// Parses machine code of the instruction set with `rows`.
///
/// # Errors
/// The first violation of the text form. The code is not verified; see [`verify`](crate::verify).
pub fn parse(source: &str, rows: &[Row]) -> Result<Vec<Parsed>> {
    let file = text::parse(source).map_err(|error| {
        let message = error.to_string();
        let place = format!("{}:{}: ", error.line, error.col);
        TextError { line: error.line, col: error.col, message: message.strip_prefix(&place).unwrap_or(&message).into() }
    })?;
    let names = rows.iter().zip(0..).map(|(row, id)| (row.name, RowId(id))).collect();
    let mut functions: Vec<Parsed> = file.cases.into_iter().map(started).collect();
    let mut function = None;
    for (line, number) in source.lines().zip(1..) {
        if line.split_whitespace().next() == Some("problem") {
            finished(function.map(|index: usize| &functions[index]), number)?;
            function = Some(function.map_or(0, |index| index + 1));
        }
        let Some((before, part)) = line.split_once(";;") else { continue };
        let mut part = Part { line: number, start: before.chars().count() + 2, text: part, at: 0 };
        let Some(index) = function.filter(|_| !before.contains(';')) else { continue };
        let code = &mut functions[index].code;
        if before.trim().is_empty() {
            part.fact(code)?
        } else {
            part.inst(code, rows, &names)?
        }
        part.end()?;
    }
    finished(functions.last(), source.lines().count() as u32)?;
    Ok(functions)
}

/// Returns a function without machine instructions.
fn started(case: Case) -> Parsed {
    let mut code = Code::default();
    code.clear();
    code.layout = case.problem.blocks().collect();
    code.problem = case.problem;
    Parsed { code, allocation: case.allocation, start: case.positions.problem }
}

/// Checks that every instruction has been given.
fn finished(function: Option<&Parsed>, line: u32) -> Result<()> {
    let Some(Parsed { code, .. }) = function else { return Ok(()) };
    let (given, expected) = (code.insts.len(), code.problem.num_insts());
    if given == expected && (code.srclocs.is_empty() || code.srclocs.len() == expected) {
        return Ok(());
    }
    let message = format!(
        "of {expected} instructions {given} have a machine instruction behind `;;`, and {} a source location",
        code.srclocs.len()
    );
    Err(TextError { line, col: 1, message })
}

/// The part of one line after `;;`.
struct Part<'a> {
    line: u32,
    /// Number of characters before it.
    start: usize,
    text: &'a str,
    /// Number of bytes parsed.
    at: usize,
}

/// Words, numbers and the punctuation between them.
impl<'a> Part<'a> {
    fn error<T>(&self, message: impl Into<String>) -> Result<T> {
        let col = (self.start + self.text[..self.at].chars().count() + 1) as u32;
        Err(TextError { line: self.line, col, message: message.into() })
    }

    fn rest(&mut self) -> &'a str {
        let rest = self.text[self.at..].trim_start();
        self.at = self.text.len() - rest.len();
        rest
    }

    fn end(&mut self) -> Result<()> {
        match self.rest().split_whitespace().next() {
            None => Ok(()),
            Some(word) => self.error(format!("`{word}` is not expected here")),
        }
    }

    /// Returns the next word up to a blank or a punctuation mark, without consuming it.
    fn peek(&mut self) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c: char| c.is_whitespace() || "[]<,#@".contains(c)).unwrap_or(rest.len());
        &rest[..end]
    }

    fn word(&mut self) -> &'a str {
        let word = self.peek();
        self.at += word.len();
        word
    }

    fn eat(&mut self, what: &str) -> bool {
        let eaten = if what.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
            self.peek() == what
        } else {
            self.rest().starts_with(what)
        };
        self.at += if eaten { what.len() } else { 0 };
        eaten
    }

    fn expect(&mut self, what: &str) -> Result<()> {
        if self.eat(what) { Ok(()) } else { self.error(format!("expected `{what}`")) }
    }

    /// Parses a word that `read` accepts.
    fn read<T>(&mut self, what: &str, read: impl FnOnce(&'a str) -> Option<T>) -> Result<T> {
        let word = self.peek();
        match read(word) {
            Some(value) => {
                self.at += word.len();
                Ok(value)
            }
            None => self.error(format!("expected {what}")),
        }
    }

    fn ty(&mut self) -> Result<Type> {
        self.read("a type", |word| Type::from_name(word.as_bytes()))
    }

    fn number<T: std::str::FromStr>(&mut self) -> Result<T> {
        self.read("a number", |word| word.parse().ok())
    }

    /// Parses the number of an element of a numbered list, which must be the next number.
    fn index(&mut self, next: usize) -> Result<()> {
        self.read(&format!("the number {next}"), |word| (word.parse() == Ok(next)).then_some(()))
    }

    fn trap(&mut self) -> Result<Option<TrapCode>> {
        if self.eat("traps") {
            self.read("a trap code", |word| TrapCode::from_name(word.as_bytes())).map(Some)
        } else {
            Ok(None)
        }
    }

    fn reg(&mut self) -> Result<PReg> {
        self.read("a register", |word| {
            let (class, digits) = match word.as_bytes().first()? {
                b'r' => (RegClass::Int, &word[1..]),
                b'f' => (RegClass::Float, &word[1..]),
                _ => return None,
            };
            let enc: u8 = digits.parse().ok()?;
            (usize::from(enc) < PReg::PER_CLASS).then(|| PReg::new(class, enc))
        })
    }
}

/// Facts of a function.
impl Part<'_> {
    fn fact(&mut self, code: &mut Code) -> Result<()> {
        match self.word() {
            word @ ("calls" | "moves_stack_pointer") => self.flags(word, code),
            "name" => self.name(code),
            "symbol" => {
                self.index(code.symbols.len())?;
                let symbol = self.symbol_ref(code)?;
                code.symbols.push(symbol);
                Ok(())
            }
            "frame" => self.frame(code),
            "targets" => self.targets(code),
            "exits" => self.exits(code),
            "annotation" => self.annotation(code),
            "value" => {
                code.value_types.push((self.number()?, self.ty()?));
                Ok(())
            }
            "constant" => {
                let (value, ty) = (self.number()?, self.ty()?);
                let hex = |word: &str| u64::from_str_radix(word.strip_prefix("0x")?, 16).ok();
                let bits = self.read("a hexadecimal number", hex)?;
                code.constants.push(ValueConstant { value, ty, bits });
                Ok(())
            }
            "variable" => {
                self.expect("\"")?;
                code.variables.push(self.quoted()?.into());
                Ok(())
            }
            "keyed_slot" => self.keyed_slot(code),
            "preserves" => self.preserves(code),
            "probestack" => {
                code.probestack = Some(self.symbol_ref(code)?);
                Ok(())
            }
            "stack_limit" => self.stack_limit(code),
            "zero_extended" => {
                self.list('v', code.problem.vregs.len(), VReg::from_u32).map(|list| code.zero_extended = list)
            }
            "declared_zeros" => {
                self.list('v', code.problem.vregs.len(), VReg::from_u32).map(|list| code.declared_zeros = list)
            }
            "layout" => self.list('b', code.problem.num_blocks(), Block::from_u32).map(|list| code.layout = list),
            word => self.error(format!("`{word}` is not a property of a function")),
        }
    }

    fn flags(&mut self, first: &str, code: &mut Code) -> Result<()> {
        code.has_calls |= first == "calls";
        code.moves_stack_pointer |= first == "moves_stack_pointer" || self.eat("moves_stack_pointer");
        Ok(())
    }

    fn name(&mut self, code: &mut Code) -> Result<()> {
        self.index(code.names.len())?;
        let name = if self.eat("libcall") {
            SymbolName::LibCall(self.read("a routine", |word| LibCall::from_name(word.strip_prefix('%')?.as_bytes()))?)
        } else if self.eat("known") {
            let known = |word: &str| KnownSymbol::from_name(word.strip_prefix('%')?.as_bytes());
            SymbolName::KnownSymbol(self.read("a symbol of the linker", known)?)
        } else if self.eat("literal") {
            SymbolName::Literal(self.read("8, 16 or 32 digits", Literal::parse)?)
        } else if self.eat("%\"") {
            SymbolName::Named(self.quoted()?.into())
        } else {
            self.read("a name", |word| {
                let (namespace, index) = word.strip_prefix('u')?.split_once(':')?;
                Some(SymbolName::User(namespace.parse().ok()?, index.parse().ok()?))
            })?
        };
        code.names.push(name);
        Ok(())
    }

    /// Parses a quoted name after its first quote, with the escapes of [`str::escape_default`].
    fn quoted(&mut self) -> Result<String> {
        let mut name = String::new();
        loop {
            let mut chars = self.text[self.at..].chars();
            let (c, escape) = (chars.next(), chars.next());
            self.at += c.map_or(0, char::len_utf8);
            match (c, escape) {
                (None, _) => return self.error("expected `\"`"),
                (Some('"'), _) => return Ok(name),
                (Some('\\'), Some('u')) => {
                    let digits = self.text[self.at..].strip_prefix("u{").and_then(|rest| rest.split_once('}'));
                    let value = digits.and_then(|(digits, _)| u32::from_str_radix(digits, 16).ok());
                    match (digits, value.and_then(char::from_u32)) {
                        (Some((digits, _)), Some(c)) => {
                            self.at += "u{}".len() + digits.len();
                            name.push(c);
                        }
                        _ => return self.error("expected the number of a character in braces"),
                    }
                }
                (Some('\\'), Some(c)) => {
                    self.at += c.len_utf8();
                    name.push(match c {
                        't' => '\t',
                        'n' => '\n',
                        'r' => '\r',
                        other => other,
                    });
                }
                (Some(c), _) => name.push(c),
            }
        }
    }

    fn symbol_ref(&mut self, code: &Code) -> Result<SymbolRef> {
        self.expect("name")?;
        let name =
            self.read("a name's number", |word| word.parse().ok().filter(|&n: &u32| (n as usize) < code.names.len()))?;
        let colocated = self.eat("near");
        let offset = if self.peek().is_empty() { 0 } else { self.number()? };
        Ok(SymbolRef { name, colocated, offset })
    }

    fn frame(&mut self, code: &mut Code) -> Result<()> {
        loop {
            match self.word() {
                "slots" => code.slots_bytes = self.number()?,
                "align" => {
                    code.slots_align =
                        self.read("a power of two", |word| word.parse().ok().filter(|n: &u32| n.is_power_of_two()))?
                }
                "outgoing" => code.outgoing_bytes = self.number()?,
                "incoming" => code.incoming_bytes = self.number()?,
                "pops" => code.popped_bytes = self.number()?,
                "" => return Ok(()),
                word => return self.error(format!("`{word}` is not a property of a frame")),
            }
        }
    }

    fn targets(&mut self, code: &mut Code) -> Result<()> {
        let (tables, blocks) = (&mut code.tables, code.problem.num_blocks());
        while !matches!(self.peek(), "table" | "") {
            let is_block = |target: &u32| (*target as usize) < blocks;
            tables.targets.push(self.read("a block's number", |word| word.parse().ok().filter(is_block))?);
        }
        while self.eat("table") {
            tables.tables.push(self.read("a range of the targets", |word| {
                let (from, to) = word.split_once("..")?;
                let (start, end): (u32, u32) = (from.parse().ok()?, to.parse().ok()?);
                (start < end && end as usize <= tables.targets.len()).then(|| JumpTable { start, len: end - start })
            })?);
        }
        Ok(())
    }

    fn annotation(&mut self, code: &mut Code) -> Result<()> {
        self.index(code.annotations.len())?;
        let mut annotation = Annotation { patchable: self.eat("patchable"), ..Annotation::default() };
        while self.eat("map") {
            let ty = self.read("a type", |word| Type::from_name(word.as_bytes()))?;
            annotation.stack_map.push((ty, self.slot_offset(code)?));
        }
        while self.eat("tag") {
            annotation.tags.push(match self.eat("slot") {
                true => DebugTag::StackSlot(self.slot_offset(code)?),
                false => DebugTag::User(self.number()?),
            });
        }
        code.annotations.push(annotation);
        Ok(())
    }

    /// Parses an offset into the user's stack slots.
    fn slot_offset(&mut self, code: &Code) -> Result<u32> {
        let within = |offset: &u32| u64::from(*offset) <= code.slots_bytes;
        self.read("an offset into the stack slots", |word| word.parse().ok().filter(within))
    }

    fn keyed_slot(&mut self, code: &mut Code) -> Result<()> {
        let key = self.number()?;
        self.expect("at")?;
        let offset = self.slot_offset(code)?;
        self.expect("bytes")?;
        code.keyed_slots.push(KeyedSlot { key, offset, bytes: self.number()? });
        Ok(())
    }

    fn preserves(&mut self, code: &mut Code) -> Result<()> {
        let mut set = PRegSet::EMPTY;
        let rest = self.rest();
        let Some(inner) = rest.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) else {
            return self.error("expected registers in braces");
        };
        let end = self.at + rest.len();
        for word in inner.split(',') {
            let mut part = Part { text: word.trim(), at: 0, ..*self };
            set.insert(part.reg()?);
        }
        self.at = end;
        code.extra_callee_saved = set;
        Ok(())
    }

    fn stack_limit(&mut self, code: &mut Code) -> Result<()> {
        let (base, mut steps) = (self.reg()?, SmallVec::new());
        loop {
            steps.push(match self.word() {
                "add" => LimitStep::Add(self.number()?),
                "load" => LimitStep::Load { offset: self.number()?, trap: self.trap()? },
                "" => break,
                word => return self.error(format!("`{word}` is not a step of computing the stack limit")),
            });
        }
        code.stack_limit = Some(StackLimit { base, steps });
        Ok(())
    }

    /// Parses the continuations of a call with handlers.
    fn exits(&mut self, code: &mut Code) -> Result<()> {
        self.index(code.exits.len())?;
        let blocks = code.problem.num_blocks();
        let normal = self.exit(blocks)?;
        let first = code.handlers.len() as u32;
        loop {
            let tag = match self.word() {
                "" => break,
                "tag" => Some(self.number()?),
                "default" => None,
                word => return self.error(format!("`{word}` is not a handler")),
            };
            let block = self.exit(blocks)?;
            let context = if self.eat("context") { Some(self.number()?) } else { None };
            code.handlers.push(Handler { tag, block, context });
        }
        code.exits.push(CallExits { normal, handlers: first..code.handlers.len() as u32 });
        Ok(())
    }

    fn exit(&mut self, blocks: usize) -> Result<Block> {
        self.expect("to")?;
        let block = |word: &str| word.parse().ok().filter(|n: &u32| (*n as usize) < blocks);
        self.read("a block's number", block).map(Block::from_u32)
    }

    /// Parses entities separated by commas: `letter` and a number below `end`.
    fn list<T>(&mut self, letter: char, end: usize, make: impl Fn(u32) -> T) -> Result<Vec<T>> {
        let number = |word: &str| word.strip_prefix(letter)?.parse().ok().filter(|n: &u32| (*n as usize) < end);
        let mut entities = Vec::new();
        loop {
            entities.push(make(self.read("the name of an existing entity", number)?));
            if !self.eat(",") {
                return Ok(entities);
            }
        }
    }
}

/// Instructions.
impl Part<'_> {
    fn inst(&mut self, code: &mut Code, rows: &[Row], names: &HashMap<&str, RowId>) -> Result<()> {
        let row = self.read("a row", |word| names.get(word).copied())?;
        let kind = rows[usize::from(row.0)].kind;
        let mut inst = MInst::new(row);
        if self.eat("[") {
            self.address(code, &mut inst)?;
        }
        if self.eat("#") {
            let hexadecimal = |word: &str| u64::from_str_radix(word.strip_prefix("0x")?, 16).ok();
            inst.set_imm64(self.read("a number in hexadecimal", hexadecimal)?);
        }
        self.check_references(code, &rows[usize::from(row.0)], &inst)?;
        if kind == RowKind::Branch {
            let blocks = code.problem.num_blocks() as u32;
            let block = |word: &str| word.parse().ok().filter(|n: &u32| *n < blocks || *n == NO_BLOCK);
            self.expect("to")?;
            inst.aux = self.read("a block's number", block)?;
            inst.extra = if self.eat("else") { self.read("a block's number", block)? } else { NO_BLOCK };
        } else if kind == RowKind::TryCall {
            self.expect("exits")?;
            inst.imm = self.below(code.exits.len())? as i32;
        } else if self.eat("aux") {
            inst.aux = self.number()?;
        }
        if matches!(kind, RowKind::Call | RowKind::TryCall | RowKind::SequencePoint) && self.eat("annotation") {
            let index = self.below(code.annotations.len())?;
            inst.set_annotation(Some(index));
        }
        inst.set_trap(self.trap()?);
        if self.eat("@") {
            let srcloc = self.read("a source location", |word| u32::from_str_radix(word, 16).ok())?;
            code.srclocs.push(srcloc);
        }
        code.insts.push(inst);
        Ok(())
    }

    /// Checks that the entities exist that the instruction refers to: its memory, its symbol, the entity with the
    /// number in its immediate.
    fn check_references(&mut self, code: &Code, row: &Row, inst: &MInst) -> Result<()> {
        let names_symbol = row.asm.contains("{t}") && row.kind != RowKind::Branch && row.index != ListIndex::Targets(1);
        let holds = match inst.mode.kind() {
            AddrKind::Symbol => true,
            AddrKind::None => row.mem == 0 && !names_symbol,
            _ => !names_symbol,
        };
        if !holds {
            return self.error("expected another address");
        }
        let end = match row.index {
            ListIndex::None => return Ok(()),
            ListIndex::Name => code.names.len(),
            ListIndex::Targets(count) => (code.tables.targets.len() + 1).saturating_sub(count),
        };
        if inst.imm64() < end as u64 { Ok(()) } else { self.error("expected the number of a preceding entry") }
    }

    /// Parses the address between brackets.
    fn address(&mut self, code: &Code, inst: &mut MInst) -> Result<()> {
        let kind = match self.word() {
            "base" if self.eat("index") => AddrKind::Index,
            "base" => AddrKind::Base,
            "symbol" => AddrKind::Symbol,
            "slot" if self.eat("index") => AddrKind::SlotIndex,
            "slot" => AddrKind::Slot,
            "incoming" => AddrKind::Incoming,
            "outgoing" => AddrKind::Outgoing,
            "table" => AddrKind::Table,
            _ => return self.error("expected an address"),
        };
        inst.mode = AddrMode::new(kind);
        if kind == AddrKind::SlotIndex {
            inst.mode = AddrMode::slot_index(self.shift()?);
        }
        if kind == AddrKind::Index {
            let shift = self.shift()?;
            let extend = match self.peek() {
                "zero32" => IndexExtend::Zero32,
                "sign32" => IndexExtend::Sign32,
                _ => IndexExtend::None,
            };
            self.at += if extend == IndexExtend::None { 0 } else { "zero32".len() };
            inst.mode = AddrMode::index(shift, extend);
        }
        inst.aux = match kind {
            AddrKind::Base | AddrKind::Index if self.peek().is_empty() => 0,
            AddrKind::Base | AddrKind::Index | AddrKind::Incoming => self.number::<i32>()? as u32,
            AddrKind::Symbol => self.below(code.symbols.len())?,
            AddrKind::Table => self.below(code.tables.tables.len())?,
            _ => self.number()?,
        };
        self.expect("]")
    }

    /// Parses the shift of an index, which is 0 if it is left out.
    fn shift(&mut self) -> Result<u8> {
        let is_shift = |shift: &u8| *shift < 8;
        if self.eat("<<") { self.read("a shift", |word| word.parse().ok().filter(is_shift)) } else { Ok(0) }
    }

    /// Parses a number below `end`.
    fn below(&mut self, end: usize) -> Result<u32> {
        self.read("the number of a preceding entry", |word| word.parse().ok().filter(|&n: &u32| (n as usize) < end))
    }
}
