//! Functions and data as text for GNU `as`, which makes of it the sections, symbols and relocations that `elf.rs` writes.
//!
//! ```text
//!     .globl f
//!     .type f, %function
//! f:
//! .L0_b0:
//!     lea rax, [rdi + rsi]
//!     ret
//!     .size f, 5
//! ```
//! x86-64 is in Intel syntax, as in listings. An instruction that the assembler would not take as we write it becomes its
//! bytes with `.reloc` directives and its text as a comment: one that names a symbol called as a register or an operator is
//! (`call and`), and one that was lengthened to reach its target on AArch64.
//!
//! Unwind operations become `.cfi` directives. Line tables, variables, and tables of traps, stack maps and tags are in objects
//! only.

use crate::elf::{architecture, data_section};
use crate::error::ObjectError;
use crate::{eh_frame, names};
use kingpost_mach::{
    DataObject, FunctionView, ListedInst, ListedLabel, Listing, Literal, Mention, Reloc, RelocKind, SymbolName,
    UnwindOp,
};
use object::Architecture;
use object::write::StandardSection;
use std::collections::HashSet;
use std::fmt::{Display, Write};
use target_lexicon::Triple;

/// The text of an object, function by function.
#[derive(Debug)]
pub struct Assembly {
    triple: Triple,
    architecture: Architecture,
    unwind_info: bool,
    text: String,
    functions: usize,
    /// Those mentioned, in order of first mention.
    literals: Vec<Literal>,
    known_literals: HashSet<Literal>,
}

impl Assembly {
    /// A text without functions, for a target. `unwind_info` adds `.cfi` directives.
    ///
    /// # Errors
    /// A target without ELF form.
    pub fn new(triple: &Triple, unwind_info: bool) -> Result<Assembly, ObjectError> {
        let architecture = architecture(triple)?;
        let mut text = String::new();
        if architecture == Architecture::X86_64 {
            text += "    .intel_syntax noprefix\n";
        }
        text += "    .text\n";
        let (functions, literals, known_literals) = (0, Vec::new(), HashSet::new());
        Ok(Assembly { triple: triple.clone(), architecture, unwind_info, text, functions, literals, known_literals })
    }

    /// Adds a function, and its listing.
    ///
    /// # Errors
    /// A relocation that the target has not.
    pub fn function(&mut self, listing: &Listing, f: FunctionView<'_>) -> Result<(), ObjectError> {
        for reloc in f.relocs {
            if let SymbolName::Literal(literal) = f.symbols[reloc.symbol as usize]
                && self.known_literals.insert(literal)
            {
                self.literals.push(literal);
            }
        }
        let name = quoted(&names::symbol_name(&f.function.head.name, &self.triple));
        let align = f.function.head.align.max(16);
        self.line(format_args!(".balign {align}, 0"));
        self.head(&name, "function");
        if self.unwind_info {
            self.line(".cfi_startproc");
        }
        Body { number: self.functions, listing, f, to: self }.write()?;
        if self.unwind_info {
            self.line(".cfi_endproc");
        }
        self.line(format_args!(".size {name}, {}", f.code.len()));
        self.functions += 1;
        Ok(())
    }

    /// Adds data objects and the literals of the functions, and returns the text.
    pub fn finish(mut self, data: &[DataObject]) -> String {
        // Names of symbols may be those of registers, which only the syntax of AT&T distinguishes.
        if self.architecture == Architecture::X86_64 {
            self.line(".att_syntax prefix");
        }
        for literal in std::mem::take(&mut self.literals) {
            let bytes = literal.bytes();
            self.line(format_args!(".section .rodata.cst{0}, \"aM\", %progbits, {0}", bytes.len()));
            self.line(format_args!(".balign {}", bytes.len()));
            let _ = writeln!(self.text, "{}:", SymbolName::Literal(literal));
            self.bytes(bytes);
        }
        data.iter().for_each(|object| self.data(object));
        self.line(".section .note.GNU-stack, \"\", %progbits");
        self.text
    }

    fn data(&mut self, object: &DataObject) {
        let name = quoted(&names::symbol_name(&object.name, &self.triple));
        self.line(format_args!(".section {}", section(data_section(object))));
        self.line(format_args!(".balign {}", object.align));
        self.head(&name, if object.tls { "tls_object" } else { "object" });
        let mut from = 0;
        for pointer in &object.pointers {
            let at = pointer.offset as usize;
            self.bytes(&object.bytes[from..at]);
            let symbol = quoted(&names::symbol_name(&pointer.symbol, &self.triple));
            self.line(format_args!(".8byte {symbol}{:+}", pointer.addend));
            from = at + 8;
        }
        self.bytes(&object.bytes[from..]);
        self.line(format_args!(".zero {}", object.size - object.bytes.len() as u64));
        self.line(format_args!(".size {name}, {}", object.size));
    }

    /// Declares and defines a symbol.
    fn head(&mut self, name: &str, kind: &str) {
        self.line(format_args!(".globl {name}"));
        self.line(format_args!(".type {name}, %{kind}"));
        let _ = writeln!(self.text, "{name}:");
    }

    fn line(&mut self, words: impl Display) {
        let _ = writeln!(self.text, "    {words}");
    }

    fn bytes(&mut self, bytes: &[u8]) {
        for row in bytes.chunks(16) {
            let row: Vec<String> = row.iter().map(|byte| format!("{byte:#04x}")).collect();
            self.line(format_args!(".byte {}", row.join(", ")));
        }
    }
}

/// One function being written.
struct Body<'a> {
    /// Of the function, in the names of its labels.
    number: usize,
    listing: &'a Listing,
    f: FunctionView<'a>,
    to: &'a mut Assembly,
}

impl Body<'_> {
    fn write(&mut self) -> Result<(), ObjectError> {
        let (number, triple) = (self.number, self.to.triple.clone());
        let insts = self.listing.insts(|mention| match mention {
            Mention::Symbol(symbol) => quoted(&names::symbol_name(symbol, &triple)),
            Mention::Table(table) => format!(".L{number}_t{table}"),
        });
        let mut labels = self.listing.labels().peekable();
        let (mut unwind, mut relocs) = (self.f.unwind, self.f.relocs);
        for inst in insts {
            let start = inst.range.start;
            // Unwind operations hold from the end of the instruction before.
            self.unwind(&mut unwind, start);
            while let Some((label, _)) = labels.next_if(|(_, offset)| *offset <= start) {
                let _ = writeln!(self.to.text, "{}:", self.label(label));
            }
            let within = relocs.partition_point(|reloc| reloc.offset < inst.range.end);
            let (own, rest) = relocs.split_at(within);
            relocs = rest;
            self.inst(&inst, own)?;
        }
        self.unwind(&mut unwind, u32::MAX);
        for (label, _) in labels {
            let _ = writeln!(self.to.text, "{}:", self.label(label));
        }
        self.tables();
        Ok(())
    }

    fn label(&self, label: ListedLabel) -> String {
        match label {
            ListedLabel::Block(block) => format!(".L{}_{block}", self.number),
            ListedLabel::Local(local) => format!(".L{}_{local}", self.number),
        }
    }

    fn inst(&mut self, inst: &ListedInst, relocs: &[Reloc]) -> Result<(), ObjectError> {
        let mut text = inst.label.map_or(inst.text.clone(), |label| inst.text_to(self.label(label)));
        // Without this the assembler resolves calls within the text, which then cannot be interposed.
        if relocs.iter().any(|reloc| reloc.kind == RelocKind::X86CallPcRel4) {
            text += "@PLT";
        }
        if self.is_text(inst, relocs) {
            self.to.line(text);
            return Ok(());
        }
        let is_x64 = self.to.architecture == Architecture::X86_64;
        if is_x64 && !relocs.is_empty() {
            self.to.line(".att_syntax prefix");
        }
        for reloc in relocs {
            let at = reloc.offset - inst.range.start;
            let kind = relocation_name(reloc.kind)?;
            let symbol = quoted(&names::symbol_name(&self.f.symbols[reloc.symbol as usize], &self.to.triple));
            self.to.line(format_args!(".reloc .+{at}, {kind}, {symbol}{:+}", reloc.addend));
        }
        if is_x64 && !relocs.is_empty() {
            self.to.line(".intel_syntax noprefix");
        }
        let comment = if is_x64 { "#" } else { "//" };
        self.to.line(format_args!("{comment} {text}"));
        self.to.bytes(&self.f.code[inst.range.start as usize..inst.range.end as usize]);
        Ok(())
    }

    /// Does the assembler make the same of the text?
    fn is_text(&self, inst: &ListedInst, relocs: &[Reloc]) -> bool {
        let bytes = inst.range.len();
        match self.to.architecture {
            Architecture::X86_64 => {
                let name = |reloc: &Reloc| names::symbol_name(&self.f.symbols[reloc.symbol as usize], &self.to.triple);
                (inst.text != "nop" || bytes == 1) && !relocs.iter().any(|reloc| is_reserved(&name(reloc)))
            }
            _ => inst.text.contains(';') || bytes == 4,
        }
    }

    /// The operations in force from `offset` on, or before.
    fn unwind(&mut self, sites: &mut &[kingpost_mach::UnwindSite], offset: u32) {
        let count = sites.partition_point(|site| site.offset <= offset);
        let (now, rest) = sites.split_at(count);
        *sites = rest;
        if !self.to.unwind_info {
            return;
        }
        let registers = eh_frame::registers(self.to.architecture);
        let (sp, fp) = (registers.stack_pointer, registers.frame_pointer);
        for site in now {
            let operation = match site.op {
                UnwindOp::CfaStackPointer(bytes) => format!(".cfi_def_cfa {sp}, {bytes}"),
                UnwindOp::CfaPopped(bytes) => format!(".cfi_def_cfa {sp}, -{bytes}"),
                UnwindOp::CfaFramePointer(bytes) => format!(".cfi_def_cfa {fp}, {bytes}"),
                UnwindOp::Saved(reg, below) => format!(".cfi_offset {}, -{below}", registers.number(reg)),
                UnwindOp::Restored(reg) => format!(".cfi_restore {}", registers.number(reg)),
                UnwindOp::SignedReturnToggled => ".cfi_negate_ra_state".into(),
                UnwindOp::EpilogueBegin => ".cfi_remember_state".into(),
                UnwindOp::EpilogueEnd => ".cfi_restore_state".into(),
            };
            self.to.line(operation);
        }
    }

    /// Jump tables, behind what aligns them.
    fn tables(&mut self) {
        let listing = self.listing;
        let mut from = listing.code_bytes() as usize;
        for (number, (offset, labels)) in listing.tables().enumerate() {
            self.to.bytes(&self.f.code[from..offset as usize]);
            let name = format!(".L{}_t{number}", self.number);
            let _ = writeln!(self.to.text, "{name}:");
            from = offset as usize;
            for label in labels {
                let label = self.label(label);
                self.to.line(format_args!(".4byte {label} - {name}"));
                from += 4;
            }
        }
    }
}

/// A symbol's name as the assembler reads it.
fn quoted(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    let is_word = !name.starts_with(|c: char| c.is_ascii_digit()) && name.chars().all(is_plain);
    if is_word && !is_reserved(name) {
        name.into()
    } else {
        format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""))
    }
}

/// Letters that make the name of a register with a number behind them, on one machine or the other.
const NUMBERED: [&str; 20] = [
    "r", "st", "mm", "xmm", "ymm", "zmm", "tmm", "k", "cr", "dr", "db", "tr", "bnd", "x", "w", "b", "h", "s", "d", "q",
];

/// Registers and operators that have no number.
const RESERVED: [&str; 80] = [
    "ah", "al", "and", "ax", "bcst", "bh", "bl", "bp", "bpl", "bx", "byte", "ch", "cl", "cs", "cx", "dh", "di", "dil",
    "dl", "ds", "dword", "dx", "eax", "ebp", "ebx", "ecx", "edi", "edx", "eip", "eiz", "eq", "es", "esi", "esp", "far",
    "flat", "fp", "fs", "fword", "ge", "gs", "gt", "le", "lr", "lt", "mmword", "mod", "ne", "near", "not", "offset",
    "or", "oword", "ptr", "qword", "rax", "rbp", "rbx", "rcx", "rdi", "rdx", "rip", "riz", "rsi", "rsp", "shl",
    "short", "shr", "si", "sil", "sp", "spl", "ss", "st", "tbyte", "word", "wsp", "wzr", "xor", "xzr",
];

/// Does a name mean something else to an assembler, in letters of either case?
fn is_reserved(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let letters = name.find(|c: char| c.is_ascii_digit()).unwrap_or(name.len());
    let is_register = NUMBERED.contains(&&name[..letters]) && (1..=3).contains(&(name.len() - letters));
    is_register || RESERVED.contains(&&*name) || name.ends_with("mmword")
}

/// The relocation as `.reloc` names it. Only x86-64 has instructions with relocations that are spelled out.
fn relocation_name(kind: RelocKind) -> Result<&'static str, ObjectError> {
    Ok(match kind {
        RelocKind::Abs8 => "R_X86_64_64",
        RelocKind::X86PcRel4 => "R_X86_64_PC32",
        RelocKind::X86CallPcRel4 | RelocKind::X86CallPltRel4 => "R_X86_64_PLT32",
        RelocKind::X86GotPcRel4 => "R_X86_64_GOTPCREL",
        RelocKind::X86TlsGd => "R_X86_64_TLSGD",
        _ => return Err(ObjectError::Relocation(kind)),
    })
}

/// A section with its flags.
fn section(section: StandardSection) -> &'static str {
    match section {
        StandardSection::UninitializedTls => ".tbss, \"awT\", %nobits",
        StandardSection::Tls => ".tdata, \"awT\", %progbits",
        StandardSection::UninitializedData => ".bss, \"aw\", %nobits",
        StandardSection::Data => ".data, \"aw\", %progbits",
        StandardSection::ReadOnlyDataWithRel => ".data.rel.ro, \"aw\", %progbits",
        _ => ".rodata, \"a\", %progbits",
    }
}
