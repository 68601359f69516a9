//! Sections about the code: unwinding, source lines, tables by function.
//!
//! Tables refer to functions by their positions in `.text` and not by symbols, because linking may change the meaning
//! of a symbol.

use crate::eh_frame::registers;
use crate::error::ObjectError;
use crate::except_table::ExceptTable;
use crate::format::{Field, Table};
use crate::function_tables::FunctionTable;
use crate::names::plain_name;
use crate::relocated::Relocated;
use crate::writer::{Handlers, TableGroup, Writer, undefined};
use crate::{eh_frame, elf, property_note};
use gimli::constants::DW_EH_PE_pcrel;
use gimli::write::{Address, RelocationTarget, Sections};
use kingpost_debug_info::{Source, describe, is_wanted};
use kingpost_mach::{ModuleBuffer, SymbolName};
use object::write::{Relocation, SectionId, StandardSection, Symbol, SymbolId, SymbolSection};
use object::{BinaryFormat, SectionFlags, SectionKind, SymbolKind, SymbolScope};
use std::collections::HashMap;

impl Writer<'_> {
    /// Adds the unwind tables of the target.
    pub(crate) fn unwind(&mut self, module: &ModuleBuffer, personality: Option<&str>) -> Result<(), ObjectError> {
        match self.object.format() {
            BinaryFormat::Coff => self.pdata(module, personality),
            BinaryFormat::MachO if !module.is_empty() => {
                let handlers = self.eh_frame(module, personality)?;
                self.compact_unwind(module, &handlers)
            }
            _ => self.eh_frame(module, personality).map(|_| ()),
        }
    }

    /// Adds `.eh_frame`, and `.gcc_except_table` if there is a personality routine and a function with handlers for
    /// it. Returns the offset of the handlers of each function in that table.
    fn eh_frame(&mut self, module: &ModuleBuffer, personality: Option<&str>) -> Result<Vec<Option<u64>>, ObjectError> {
        if module.is_empty() {
            return Ok(Vec::new());
        }
        let mut handlers = Vec::new();
        if let Some(personality) = personality {
            let table = ExceptTable::new(module).map_err(ObjectError::format)?;
            if !table.bytes.is_empty() {
                self.except_table(&table, personality)?;
            }
            handlers = table.starts;
        }
        let frame = eh_frame::write(module, self.architecture, &handlers).map_err(ObjectError::format)?;
        let section = self.add_table(Table::EhFrame);
        self.fill(section, frame, &HashMap::new())?;
        Ok(handlers)
    }

    /// Adds `.gcc_except_table`, and a pointer to the personality routine, which may be in a shared library. Linkers of
    /// Mach-O make the pointer.
    fn except_table(&mut self, table: &ExceptTable, personality: &str) -> Result<(), ObjectError> {
        let section = self.add_table(Table::Handlers);
        self.append(section, &table.bytes, 4)?;
        self.place_of(section, 0);
        let routine = self.symbol(&SymbolName::named(personality))?;
        let mut pointer = None;
        if self.format.field(Field::Pointer4, self.architecture).is_none() {
            let data = self.object.section_id(StandardSection::Data);
            let offset = self.append(data, &[0; 8], 8)?;
            self.address(data, offset, routine, 0, Field::Absolute8)?;
            pointer = Some((self.object.section_symbol(data), offset as i64));
        }
        self.handlers = Some(Handlers { table: section, routine, pointer });
        Ok(())
    }

    /// Adds `.debug_line` and the sections that belong to it, if there are source locations. `file` is the source, and
    /// its name is relative to `folder`.
    pub(crate) fn debug(&mut self, module: &ModuleBuffer, file: &str, folder: &str) -> Result<(), ObjectError> {
        if !is_wanted(module) {
            return Ok(());
        }
        let source = Source::new(file, folder).map_err(|invalid| ObjectError::Name(invalid.0))?;
        let functions: Vec<(String, Address)> = module
            .functions()
            .enumerate()
            .map(|(symbol, f)| (plain_name(&f.function.head.name, self.triple), Address::Symbol { symbol, addend: 0 }))
            .collect();
        let mut written = Sections::new(Relocated::new());
        let mut described = describe(module, &functions, source, registers(self.architecture));
        described.write(&mut written).map_err(ObjectError::format)?;
        let mut sections = HashMap::new();
        let mut contents = Vec::new();
        written.for_each_mut(|id, relocated| -> Result<(), ObjectError> {
            if !relocated.bytes.slice().is_empty() {
                let section = self.add_table(Table::Debug(id));
                sections.insert(id, self.object.section_symbol(section));
                contents.push((section, std::mem::replace(relocated, Relocated::new())));
            }
            Ok(())
        })?;
        for (section, relocated) in contents {
            self.fill(section, relocated, &sections)?;
        }
        Ok(())
    }

    /// Adds a section with a table of the functions of a group, unless it has none.
    pub(crate) fn function_table(&mut self, table: &FunctionTable, group: &TableGroup) -> Result<(), ObjectError> {
        if group.functions.is_empty() {
            return Ok(());
        }
        let section = self.add_table(Table::Functions(table.name));
        if let Some(comdat) = group.comdat {
            self.add_to_group(comdat, section);
        }
        if group.follows_code {
            elf::discard_with_code(&mut self.object, section);
        }
        self.append(section, &table.bytes, 8)?;
        for (i, &function) in table.functions.iter().enumerate() {
            let (symbol, start) = self.place(function);
            self.address(section, FunctionTable::address_field(i), symbol, start, Field::Relative4)?;
        }
        Ok(())
    }

    /// Adds the note about guards that all code has, if there are any.
    pub(crate) fn property_note(&mut self, module: &ModuleBuffer) -> Result<(), ObjectError> {
        if self.object.format() == BinaryFormat::Elf
            && let Some(note) = property_note::contents(module, self.architecture)
        {
            let section = self.object.add_section(Vec::new(), b".note.gnu.property".to_vec(), SectionKind::Note);
            self.object.section_mut(section).flags = SectionFlags::Elf { sh_flags: object::elf::SHF_ALLOC.into() };
            self.append(section, &note, 8)?;
        }
        Ok(())
    }

    /// Returns the place of a function: a symbol and an offset from it.
    pub(crate) fn place(&mut self, function: usize) -> (SymbolId, i64) {
        let (section, start) = self.starts[function];
        self.place_of(section, start)
    }

    /// Returns the place of a function in its section. Debug information of Mach-O has such places, because `dsymutil`
    /// finds functions by their addresses in the object; the code has the address zero, because its section is the
    /// first.
    fn place_in_section(&mut self, function: usize) -> (SymbolId, i64) {
        let (section, start) = self.starts[function];
        (self.object.section_symbol(section), start as i64)
    }

    /// Returns a place in a section: a symbol and an offset from it.
    pub(crate) fn place_of(&mut self, section: SectionId, offset: u64) -> (SymbolId, i64) {
        match self.object.format() {
            BinaryFormat::MachO => (self.label(section, offset), 0),
            _ => (self.object.section_symbol(section), offset as i64),
        }
    }

    /// Returns a local symbol at a place, for formats whose relocations do not refer to sections.
    fn label(&mut self, section: SectionId, value: u64) -> SymbolId {
        if let Some(&label) = self.labels.get(&(section, value)) {
            return label;
        }
        let name = format!("l_kp{}", self.labels.len());
        let label = self.object.add_symbol(Symbol {
            value,
            kind: SymbolKind::Data,
            scope: SymbolScope::Compilation,
            section: SymbolSection::Section(section),
            ..undefined(name.into())
        });
        self.labels.insert((section, value), label);
        label
    }

    /// Adds contents and relocations to a section. `sections` are the symbols of the sections that it refers to.
    fn fill(
        &mut self,
        section: SectionId,
        contents: Relocated,
        sections: &HashMap<gimli::SectionId, SymbolId>,
    ) -> Result<(), ObjectError> {
        // Unwind tables are aligned to words. All other tables are byte streams.
        let align = if sections.is_empty() { 8 } else { 1 };
        let mut bytes = contents.bytes.into_vec();
        let in_place = self.format.field(Field::Absolute4, self.architecture).is_none();
        for reloc in contents.relocs.iter().filter(|reloc| in_place && reloc.size == 4 && reloc.eh_pe.is_none()) {
            bytes[reloc.offset..reloc.offset + 4].copy_from_slice(&(reloc.addend as u32).to_le_bytes());
        }
        self.append(section, &bytes, align)?;
        for reloc in &contents.relocs {
            let field = match (reloc.size, reloc.eh_pe) {
                (4, Some(encoding)) if encoding.application() == DW_EH_PE_pcrel => Field::Relative4,
                (8, None) => Field::Absolute8,
                (4, None) if in_place => continue,
                (4, None) => Field::Absolute4,
                (size, _) => return Err(ObjectError::Format(format!("a relocation of {size} bytes"))),
            };
            let (symbol, addend, field) = match (reloc.target, self.handlers) {
                (RelocationTarget::Symbol(eh_frame::EXCEPT_TABLE), Some(Handlers { table, .. })) => {
                    let (symbol, start) = self.place_of(table, reloc.addend as u64);
                    (symbol, start, field)
                }
                (RelocationTarget::Symbol(eh_frame::PERSONALITY), Some(handlers)) => match handlers.pointer {
                    Some((data, offset)) => (data, reloc.addend + offset, field),
                    None => (handlers.routine, reloc.addend, Field::Pointer4),
                },
                (RelocationTarget::Symbol(function), _) => {
                    let is_debug = !sections.is_empty();
                    let (symbol, start) = if is_debug { self.place_in_section(function) } else { self.place(function) };
                    (symbol, reloc.addend + start, field)
                }
                (RelocationTarget::Section(id), _) => (sections[&id], reloc.addend, field),
            };
            self.address(section, reloc.offset as u64, symbol, addend, field)?;
        }
        Ok(())
    }

    /// Adds the relocation of an address in a table.
    pub(crate) fn address(
        &mut self,
        section: SectionId,
        offset: u64,
        symbol: SymbolId,
        addend: i64,
        field: Field,
    ) -> Result<(), ObjectError> {
        let is_macho = self.object.format() == BinaryFormat::MachO;
        let flags = self.format.field(field, self.architecture);
        let flags = flags.ok_or_else(|| self.unsupported(format!("an address of the kind {field:?} in a table")))?;
        if is_macho && field == Field::Relative4 {
            // A difference of two symbols: the address, and the start of the section.
            let start = self.label(section, 0);
            let relocation = Relocation { offset, symbol, addend: addend - offset as i64, flags };
            let added = self.object.add_relocation_with_subtractor(section, relocation, Some(start));
            return added.map_err(ObjectError::format);
        }
        let relocation = Relocation { offset, symbol, addend, flags };
        self.object.add_relocation(section, relocation).map_err(ObjectError::format)
    }
}
