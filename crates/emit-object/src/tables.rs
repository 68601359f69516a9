//! Sections about the code: unwinding, source lines, tables by function.
//!
//! Tables refer to functions by their positions in `.text` and not by symbols, because linking may change the meaning
//! of a symbol.

use crate::debug::Source;
use crate::eh_frame::registers;
use crate::elf::Writer;
use crate::error::ObjectError;
use crate::except_table::ExceptTable;
use crate::function_tables::FunctionTable;
use crate::names::symbol_name;
use crate::relocated::Relocated;
use crate::{debug, eh_frame, property_note};
use gimli::constants::DW_EH_PE_pcrel;
use gimli::write::RelocationTarget;
use kingpost_mach::{ModuleBuffer, SymbolName};
use object::write::{Relocation, SectionId, StandardSection, SymbolId};
use object::{Architecture, RelocationFlags, SectionFlags, SectionKind, elf};
use std::collections::HashMap;

/// Flags of a read-only section of the program.
const READ_ONLY: SectionFlags = SectionFlags::Elf { sh_flags: elf::SHF_ALLOC as u64 };

/// Kind of an address in a table: size of the field in bytes, and whether it is relative to itself.
#[derive(Clone, Copy)]
enum Field {
    Absolute8,
    Absolute4,
    Relative4,
}

impl Writer<'_> {
    /// Adds `.eh_frame`, and `.gcc_except_table` if there is a personality routine and a function with handlers for
    /// it.
    pub(crate) fn eh_frame(&mut self, module: &ModuleBuffer, personality: Option<&str>) -> Result<(), ObjectError> {
        if module.is_empty() {
            return Ok(());
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
        let section = self.object.add_section(Vec::new(), b".eh_frame".to_vec(), SectionKind::ReadOnlyData);
        self.object.section_mut(section).flags = READ_ONLY;
        self.fill(section, frame, &HashMap::new())
    }

    /// Adds `.gcc_except_table`, and a pointer to the personality routine, which may be in a shared library.
    fn except_table(&mut self, table: &ExceptTable, personality: &str) -> Result<(), ObjectError> {
        let section = self.object.add_section(Vec::new(), b".gcc_except_table".to_vec(), SectionKind::ReadOnlyData);
        self.object.section_mut(section).flags = READ_ONLY;
        self.object.append_section_data(section, &table.bytes, 4);
        self.handlers.table = Some(self.object.section_symbol(section));
        let data = self.object.section_id(StandardSection::Data);
        let offset = self.object.append_section_data(data, &[0; 8], 8);
        let routine = self.symbol(&SymbolName::named(personality))?;
        self.relocate(data, offset, routine, 0, Field::Absolute8)?;
        self.handlers.personality = Some((self.object.section_symbol(data), offset as i64));
        Ok(())
    }

    /// Adds `.debug_line` and the sections that belong to it, if there are source locations.
    pub(crate) fn debug(&mut self, module: &ModuleBuffer, source: Source) -> Result<(), ObjectError> {
        if !debug::is_wanted(module) {
            return Ok(());
        }
        for name in [source.file, source.folder] {
            if name.is_empty() || name.contains('\0') {
                return Err(ObjectError::Name(name.into()));
            }
        }
        let names: Vec<String> = module.functions().map(|f| symbol_name(&f.function.head.name, self.triple)).collect();
        let written = debug::write(module, &names, source, registers(self.architecture));
        let mut written = written.map_err(ObjectError::format)?;
        let mut sections = HashMap::new();
        let mut contents = Vec::new();
        written.for_each_mut(|id, relocated| -> Result<(), ObjectError> {
            if !relocated.bytes.slice().is_empty() {
                let kind = if id == gimli::SectionId::DebugStr { SectionKind::DebugString } else { SectionKind::Debug };
                let section = self.object.add_section(Vec::new(), id.name().into(), kind);
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

    /// Adds a section with a table by function.
    pub(crate) fn function_table(&mut self, table: &FunctionTable) -> Result<(), ObjectError> {
        let section = self.object.add_section(Vec::new(), table.name.into(), SectionKind::ReadOnlyData);
        self.object.section_mut(section).flags = READ_ONLY;
        self.object.append_section_data(section, &table.bytes, 8);
        let text = self.text_symbol();
        for (i, &function) in table.functions.iter().enumerate() {
            let start = self.starts[function] as i64;
            self.relocate(section, FunctionTable::address_field(i), text, start, Field::Relative4)?;
        }
        Ok(())
    }

    /// Adds the note about guards that all code has, if there are any.
    pub(crate) fn property_note(&mut self, module: &ModuleBuffer) {
        if let Some(note) = property_note::contents(module, self.architecture) {
            let section = self.object.add_section(Vec::new(), b".note.gnu.property".to_vec(), SectionKind::Note);
            self.object.section_mut(section).flags = READ_ONLY;
            self.object.append_section_data(section, &note, 8);
        }
    }

    fn text_symbol(&mut self) -> SymbolId {
        let text = self.object.section_id(StandardSection::Text);
        self.object.section_symbol(text)
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
        self.object.append_section_data(section, contents.bytes.slice(), align);
        let text = self.text_symbol();
        for reloc in &contents.relocs {
            let field = match (reloc.size, reloc.eh_pe) {
                (4, Some(encoding)) if encoding.application() == DW_EH_PE_pcrel => Field::Relative4,
                (8, None) => Field::Absolute8,
                (4, None) => Field::Absolute4,
                (size, _) => return Err(ObjectError::Format(format!("a relocation of {size} bytes"))),
            };
            let (symbol, addend) = match reloc.target {
                RelocationTarget::Symbol(symbol) => match (symbol, self.handlers.table, self.handlers.personality) {
                    (eh_frame::EXCEPT_TABLE, Some(table), _) => (table, reloc.addend),
                    (eh_frame::PERSONALITY, _, Some((data, offset))) => (data, reloc.addend + offset),
                    _ => (text, reloc.addend + self.starts[symbol] as i64),
                },
                RelocationTarget::Section(id) => (sections[&id], reloc.addend),
            };
            self.relocate(section, reloc.offset as u64, symbol, addend, field)?;
        }
        Ok(())
    }

    fn relocate(
        &mut self,
        section: SectionId,
        offset: u64,
        symbol: SymbolId,
        addend: i64,
        field: Field,
    ) -> Result<(), ObjectError> {
        let r_type = match (self.architecture, field) {
            (Architecture::X86_64, Field::Absolute8) => elf::R_X86_64_64,
            (Architecture::X86_64, Field::Absolute4) => elf::R_X86_64_32,
            (Architecture::X86_64, Field::Relative4) => elf::R_X86_64_PC32,
            (_, Field::Absolute8) => elf::R_AARCH64_ABS64,
            (_, Field::Absolute4) => elf::R_AARCH64_ABS32,
            (_, Field::Relative4) => elf::R_AARCH64_PREL32,
        };
        let flags = RelocationFlags::Elf { r_type };
        let relocation = Relocation { offset, symbol, addend, flags };
        self.object.add_relocation(section, relocation).map_err(ObjectError::format)
    }
}
