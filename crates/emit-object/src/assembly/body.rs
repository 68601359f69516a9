//! The instructions of a function.
//!
//! x86-64 text is in Intel syntax, like listings. Some instructions are written as their bytes with `.reloc`
//! directives, and their text as a comment, because the assembler would encode the text differently: instructions
//! with a symbol named like a register or an operator (`call and`), and instructions that were lengthened to reach
//! their target on AArch64.

use super::text::Text;
use super::words::{is_reserved, quoted, relocation_name};
use crate::error::ObjectError;
use crate::names;
use kingpost_mach::{FunctionView, ListedInst, ListedLabel, Listing, Mention, Reloc, RelocKind};
use object::Architecture;
use target_lexicon::Triple;

/// One function, and the target that determines names and syntax.
pub(super) struct Body<'a> {
    /// Number of the function, which is part of the names of its labels.
    pub(super) number: usize,
    pub(super) listing: &'a Listing,
    pub(super) f: FunctionView<'a>,
    pub(super) triple: &'a Triple,
    pub(super) architecture: Architecture,
}

impl Body<'_> {
    /// Returns the instructions and jump tables as text.
    pub(super) fn text(&self) -> Result<Text, ObjectError> {
        let mut text = Text::default();
        let insts = self.listing.insts(|mention| match mention {
            Mention::Symbol(symbol) => quoted(&names::symbol_name(symbol, self.triple)),
            Mention::Table(table) => self.table_label(table as usize),
        });
        let mut labels = self.listing.labels().peekable();
        let mut relocs = self.f.relocs;
        for inst in insts {
            while let Some((label, _)) = labels.next_if(|(_, offset)| *offset <= inst.range.start) {
                text.label(self.label(label));
            }
            let within = relocs.partition_point(|reloc| reloc.offset < inst.range.end);
            let (own, rest) = relocs.split_at(within);
            relocs = rest;
            self.inst(&inst, own, &mut text)?;
        }
        labels.for_each(|(label, _)| text.label(self.label(label)));
        self.tables(&mut text);
        Ok(text)
    }

    fn label(&self, label: ListedLabel) -> String {
        match label {
            ListedLabel::Block(block) => format!(".L{}_{block}", self.number),
            ListedLabel::Local(local) => format!(".L{}_{local}", self.number),
        }
    }

    fn table_label(&self, table: usize) -> String {
        format!(".L{}_t{table}", self.number)
    }

    fn symbol_name(&self, reloc: &Reloc) -> String {
        names::symbol_name(&self.f.symbols[reloc.symbol as usize], self.triple)
    }

    fn inst(&self, inst: &ListedInst, relocs: &[Reloc], to: &mut Text) -> Result<(), ObjectError> {
        let mut text = inst.label.map_or(inst.text.clone(), |label| inst.text_to(self.label(label)));
        // Otherwise the assembler resolves calls within the text, and they cannot be interposed.
        if relocs.iter().any(|reloc| reloc.kind == RelocKind::X86CallPcRel4) {
            text += "@PLT";
        }
        if self.is_text(inst, relocs) {
            to.line(text);
            return Ok(());
        }
        let is_x64 = self.architecture == Architecture::X86_64;
        if is_x64 && !relocs.is_empty() {
            to.line(".att_syntax prefix");
        }
        for reloc in relocs {
            let at = reloc.offset - inst.range.start;
            let kind = relocation_name(reloc.kind)?;
            let symbol = quoted(&self.symbol_name(reloc));
            to.line(format_args!(".reloc .+{at}, {kind}, {symbol}{:+}", reloc.addend));
        }
        if is_x64 && !relocs.is_empty() {
            to.line(".intel_syntax noprefix");
        }
        let comment = if is_x64 { "#" } else { "//" };
        to.line(format_args!("{comment} {text}"));
        to.bytes(&self.f.code[inst.range.start as usize..inst.range.end as usize]);
        Ok(())
    }

    /// Returns `true` if the assembler encodes the text of the instruction as its bytes.
    fn is_text(&self, inst: &ListedInst, relocs: &[Reloc]) -> bool {
        let bytes = inst.range.len();
        match self.architecture {
            Architecture::X86_64 => {
                let is_word = |reloc: &Reloc| is_reserved(&self.symbol_name(reloc));
                (inst.text != "nop" || bytes == 1) && !relocs.iter().any(is_word)
            }
            _ => inst.text.contains(';') || bytes == 4,
        }
    }

    /// Writes the jump tables, after their alignment.
    fn tables(&self, text: &mut Text) {
        let mut from = self.listing.code_bytes() as usize;
        for (number, (offset, labels)) in self.listing.tables().enumerate() {
            text.bytes(&self.f.code[from..offset as usize]);
            let name = self.table_label(number);
            text.label(&name);
            from = offset as usize;
            for label in labels {
                text.line(format_args!(".4byte {} - {name}", self.label(label)));
                from += 4;
            }
        }
    }
}
