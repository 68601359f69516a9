//! Printer of the text form of machine code.

use crate::code::{Annotation, CallExits, Code, LimitStep, SymbolRef};
use crate::compiled::{DebugTag, SymbolName};
use crate::inst::{AddrKind, IndexExtend, MInst, NO_BLOCK};
use crate::row::{Row, RowKind};
use cranelift_entity::EntityRef;
use kingpost_ir::extfunc::FuncName;
use kingpost_regalloc::{Allocation, Inst, text::display_allocation};
use std::fmt::{self, Write};

/// Columns of the problem's text before the machine instructions.
const WIDTH: usize = 48;

/// Returns the text form of `code` of the function `name`, followed by its allocation if there is one.
pub fn display<'a>(
    name: &'a FuncName,
    code: &'a Code,
    allocation: Option<&'a Allocation>,
    rows: &'a [Row],
) -> impl fmt::Display + 'a {
    CodeText { name, code, allocation, rows }
}

struct CodeText<'a> {
    name: &'a FuncName,
    code: &'a Code,
    allocation: Option<&'a Allocation>,
    rows: &'a [Row],
}

impl fmt::Display for CodeText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut problem = self.code.problem.clone();
        problem.name = problem_name(self.name);
        let text = problem.to_string();
        let mut inst = 0;
        let mut facts = Some(self.facts());
        for line in text.lines() {
            let trimmed = line.trim_start();
            if trimmed.starts_with("b0")
                && let Some(facts) = facts.take()
            {
                f.write_str(&facts)?;
            }
            if trimmed.starts_with('i') && line.starts_with("    ") {
                writeln!(f, "{line:<WIDTH$} ;; {}", self.inst(Inst::new(inst)))?;
                inst += 1;
            } else {
                writeln!(f, "{line}")?;
            }
        }
        match self.allocation {
            Some(allocation) => display_allocation(&problem, allocation).fmt(f),
            None => Ok(()),
        }
    }
}

/// Returns the name of a problem for a function. Names of problems have only one form.
pub fn problem_name(name: &FuncName) -> String {
    match name {
        FuncName::Named(name) => name.clone(),
        FuncName::User(namespace, index) => format!("u_{namespace}_{index}"),
    }
}

impl CodeText<'_> {
    fn facts(&self) -> String {
        let code = self.code;
        let mut lines = Vec::new();
        let mut words = String::new();
        for (is_so, word) in [(code.has_calls, " calls"), (code.moves_stack_pointer, " moves_stack_pointer")] {
            words.push_str(if is_so { word } else { "" });
        }
        lines.push(words.trim_start().into());
        lines.extend(code.names.iter().enumerate().map(|(i, name)| format!("name {i} {}", symbol_name(name))));
        lines.extend(code.symbols.iter().enumerate().map(|(i, symbol)| format!("symbol {i} {}", symbol_ref(symbol))));
        lines.push(self.frame());
        lines.push(self.tables());
        lines.extend(code.exits.iter().enumerate().map(|(i, exits)| self.exits(i, exits)));
        if !code.extra_callee_saved.is_empty() {
            lines.push(format!("preserves {}", code.extra_callee_saved));
        }
        for (word, vregs) in [("zero_extended", &code.zero_extended), ("declared_zeros", &code.declared_zeros)] {
            lines.push(if vregs.is_empty() { String::new() } else { format!("{word} {}", list(vregs)) });
        }
        lines.extend(code.annotations.iter().enumerate().map(|(i, a)| format!("annotation {i}{}", annotation(a))));
        lines.extend(code.value_types.iter().map(|(label, ty)| format!("value {label} {ty}")));
        lines.extend(code.constants.iter().map(|c| format!("constant {} {} {:#x}", c.value, c.ty, c.bits)));
        lines.extend(code.variables.iter().map(|name| format!("variable \"{}\"", name.escape_default())));
        let slots = code.keyed_slots.iter();
        lines.extend(slots.map(|slot| format!("keyed_slot {} at {} bytes {}", slot.key, slot.offset, slot.bytes)));
        lines.extend(code.probestack.map(|symbol| format!("probestack {}", symbol_ref(&symbol))));
        lines.extend(self.stack_limit());
        if !code.layout.iter().copied().eq(code.problem.blocks()) {
            lines.push(format!("layout {}", list(&code.layout)));
        }
        lines.iter().filter(|line| !line.is_empty()).map(|line| format!("  ;; {line}\n")).collect()
    }

    fn frame(&self) -> String {
        let code = self.code;
        let fields = [
            ("slots", code.slots_bytes, 0),
            ("align", code.slots_align.into(), 1),
            ("outgoing", code.outgoing_bytes, 0),
            ("incoming", code.incoming_bytes, 0),
            ("pops", code.popped_bytes, 0),
        ];
        let unusual = fields.iter().filter(|(_, bytes, usual)| bytes != usual);
        let words: String = unusual.map(|(word, bytes, _)| format!(" {word} {bytes}")).collect();
        if words.is_empty() { words } else { format!("frame{words}") }
    }

    fn tables(&self) -> String {
        let tables = &self.code.tables;
        if tables.targets.is_empty() {
            return String::new();
        }
        let targets = tables.targets.iter().map(|target| format!(" {target}"));
        let ranges = tables.tables.iter().map(|table| format!(" table {}..{}", table.start, table.start + table.len));
        targets.chain(ranges).fold("targets".into(), |line, word| line + &word)
    }

    fn exits(&self, index: usize, exits: &CallExits) -> String {
        let mut line = format!("exits {index} to {}", exits.normal.as_u32());
        for handler in &self.code.handlers[exits.handlers.start as usize..exits.handlers.end as usize] {
            line.push_str(&handler.tag.map_or(" default".into(), |tag| format!(" tag {tag}")));
            line.push_str(&format!(" to {}", handler.block.as_u32()));
            line.extend(handler.context.map(|operand| format!(" context {operand}")));
        }
        line
    }

    fn stack_limit(&self) -> Option<String> {
        let limit = self.code.stack_limit.as_ref()?;
        let mut line = format!("stack_limit {}", limit.base);
        for step in &limit.steps {
            match *step {
                LimitStep::Add(bytes) => line.push_str(&format!(" add {bytes}")),
                LimitStep::Load { offset, trap } => {
                    line.push_str(&format!(" load {offset}"));
                    line.extend(trap.map(|code| format!(" traps {code}")));
                }
            }
        }
        Some(line)
    }

    /// Returns the text of one machine instruction.
    fn inst(&self, inst: Inst) -> String {
        let minst = &self.code.insts[inst];
        let row = &self.rows[usize::from(minst.row.0)];
        let mut out = row.name.to_string();
        let written = address(minst, &mut out).and_then(|()| match row.kind {
            RowKind::Branch => branch(minst, &mut out),
            RowKind::Call | RowKind::SequencePoint => annotated(minst, &mut out),
            RowKind::TryCall => write!(out, " exits {}", minst.imm).and_then(|()| annotation_number(minst, &mut out)),
            _ => plain(minst, &mut out),
        });
        debug_assert!(written.is_ok(), "a string takes everything");
        out.extend(minst.trap().map(|code| format!(" traps {code}")));
        out.extend(self.code.srclocs.get(inst).map(|srcloc| format!(" @{srcloc:x}")));
        out
    }
}

fn address(inst: &MInst, out: &mut String) -> fmt::Result {
    let disp = inst.aux as i32;
    let name = match inst.mode.kind() {
        AddrKind::None => return Ok(()),
        AddrKind::Base => "base",
        AddrKind::Index => "base index",
        AddrKind::Symbol => "symbol",
        AddrKind::Slot => "slot",
        AddrKind::SlotIndex => "slot index",
        AddrKind::Incoming => "incoming",
        AddrKind::Outgoing => "outgoing",
        AddrKind::Table => "table",
    };
    write!(out, " [{name}")?;
    if inst.mode.shift() != 0 {
        write!(out, "<<{}", inst.mode.shift())?;
    }
    out.write_str(match inst.mode.extend() {
        IndexExtend::None => "",
        IndexExtend::Zero32 => " zero32",
        IndexExtend::Sign32 => " sign32",
    })?;
    match inst.mode.kind() {
        AddrKind::Base | AddrKind::Index if disp == 0 => out.write_str("]"),
        AddrKind::Base | AddrKind::Index => write!(out, " {disp:+}]"),
        AddrKind::Incoming => write!(out, " {disp}]"),
        _ => write!(out, " {}]", inst.aux),
    }
}

fn branch(inst: &MInst, out: &mut String) -> fmt::Result {
    if inst.imm != 0 {
        write!(out, " #{:#x}", inst.imm as u32)?;
    }
    write!(out, " to {}", inst.aux)?;
    if inst.extra == NO_BLOCK { Ok(()) } else { write!(out, " else {}", inst.extra) }
}

fn annotated(inst: &MInst, out: &mut String) -> fmt::Result {
    let mut bare = *inst;
    bare.set_annotation(None);
    plain(&bare, out)?;
    annotation_number(inst, out)
}

fn annotation_number(inst: &MInst, out: &mut String) -> fmt::Result {
    inst.annotation().map_or(Ok(()), |index| write!(out, " annotation {index}"))
}

fn plain(inst: &MInst, out: &mut String) -> fmt::Result {
    if inst.imm64() != 0 {
        write!(out, " #{:#x}", inst.imm64())?;
    }
    if inst.mode.kind() == AddrKind::None && inst.aux != 0 { write!(out, " aux {}", inst.aux) } else { Ok(()) }
}

fn annotation(annotation: &Annotation) -> String {
    let mut words = String::from(if annotation.patchable { " patchable" } else { "" });
    annotation.stack_map.iter().for_each(|(ty, offset)| words.push_str(&format!(" map {ty} {offset}")));
    for tag in &annotation.tags {
        words.push_str(&match tag {
            DebugTag::User(number) => format!(" tag {number}"),
            DebugTag::StackSlot(offset) => format!(" tag slot {offset}"),
        });
    }
    words
}

fn list<T: ToString>(entities: &[T]) -> String {
    entities.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn symbol_name(name: &SymbolName) -> String {
    match name {
        SymbolName::Named(word) => format!("%\"{}\"", word.escape_default()),
        SymbolName::User(..) => name.to_string(),
        SymbolName::LibCall(_) => format!("libcall {name}"),
        SymbolName::KnownSymbol(_) => format!("known {name}"),
        SymbolName::Literal(literal) => format!("literal {literal}"),
    }
}

fn symbol_ref(symbol: &SymbolRef) -> String {
    let near = if symbol.colocated { " near" } else { "" };
    let offset = if symbol.offset == 0 { String::new() } else { format!(" {:+}", symbol.offset) };
    format!("name {}{near}{offset}", symbol.name)
}
