//! Sections, symbols and relocations of an ELF object.
//!
//! Functions go to `.text`, data objects to `.rodata`, `.data`, `.bss`, or `.data.rel.ro` if they hold pointers and are not
//! written to. Everything defined is global; a symbol that is only mentioned is undefined.

use crate::eh_frame;
use crate::error::ObjectError;
use crate::names::symbol_name;
use kingpost_mach::{DataObject, ModuleBuffer, RelocKind, SymbolName};
use object::write::{Object, Relocation, SectionId, StandardSection, Symbol, SymbolId, SymbolSection};
use object::{
    Architecture, BinaryFormat, Endianness, RelocationFlags, SectionFlags, SectionKind, SymbolFlags, SymbolKind,
    SymbolScope, elf,
};
use std::collections::{HashMap, HashSet};
use target_lexicon::Triple;

/// What goes into an object besides code and data.
#[derive(Clone, Copy, Debug)]
pub struct ObjectOptions {
    /// Write `.eh_frame`.
    pub unwind_info: bool,
}

impl Default for ObjectOptions {
    fn default() -> ObjectOptions {
        ObjectOptions { unwind_info: true }
    }
}

/// Writes all functions and data objects as one relocatable ELF object.
///
/// # Errors
/// A target or relocation without ELF form, and names that are defined twice.
pub fn write(
    triple: &Triple,
    module: &ModuleBuffer,
    data: &[DataObject],
    options: ObjectOptions,
) -> Result<Vec<u8>, ObjectError> {
    let architecture = match (triple.architecture, triple.binary_format) {
        (
            target_lexicon::Architecture::X86_64,
            target_lexicon::BinaryFormat::Elf | target_lexicon::BinaryFormat::Unknown,
        ) => Architecture::X86_64,
        (
            target_lexicon::Architecture::Aarch64(_),
            target_lexicon::BinaryFormat::Elf | target_lexicon::BinaryFormat::Unknown,
        ) => Architecture::Aarch64,
        _ => return Err(ObjectError::Target(triple.to_string())),
    };
    let mut writer = Writer {
        object: Object::new(BinaryFormat::Elf, architecture, Endianness::Little),
        architecture,
        symbols: HashMap::new(),
        by_text: HashMap::new(),
        defined: HashSet::new(),
    };
    writer.functions(module)?;
    writer.data(data)?;
    if options.unwind_info {
        writer.eh_frame(module)?;
    }
    // Without this note linkers take the object to need an executable stack, and warn.
    writer.object.add_section(Vec::new(), b".note.GNU-stack".to_vec(), SectionKind::Other);
    Ok(writer.object.write()?)
}

struct Writer {
    object: Object<'static>,
    architecture: Architecture,
    symbols: HashMap<SymbolName, SymbolId>,
    /// The same symbols by their names in the object: two of ours may come out alike, as `%u_0_1` and `u0:1`.
    by_text: HashMap<String, SymbolId>,
    defined: HashSet<SymbolId>,
}

impl Writer {
    /// The symbol of a name, undefined so far unless it was defined.
    fn symbol(&mut self, name: &SymbolName) -> SymbolId {
        if let Some(&id) = self.symbols.get(name) {
            return id;
        }
        let text = symbol_name(name);
        if let Some(&id) = self.by_text.get(&text) {
            self.symbols.insert(name.clone(), id);
            return id;
        }
        let id = self.object.add_symbol(Symbol {
            name: text.clone().into_bytes(),
            value: 0,
            size: 0,
            kind: SymbolKind::Unknown,
            scope: SymbolScope::Unknown,
            weak: false,
            section: SymbolSection::Undefined,
            flags: SymbolFlags::None,
        });
        self.symbols.insert(name.clone(), id);
        self.by_text.insert(text, id);
        id
    }

    fn define(
        &mut self,
        name: &SymbolName,
        kind: SymbolKind,
        section: SectionId,
        value: u64,
        size: u64,
    ) -> Result<(), ObjectError> {
        let id = self.symbol(name);
        if !self.defined.insert(id) {
            return Err(ObjectError::Duplicate(symbol_name(name)));
        }
        let symbol = self.object.symbol_mut(id);
        symbol.kind = kind;
        symbol.scope = SymbolScope::Dynamic;
        symbol.section = SymbolSection::Section(section);
        symbol.value = value;
        symbol.size = size;
        Ok(())
    }

    fn functions(&mut self, module: &ModuleBuffer) -> Result<(), ObjectError> {
        let text = self.object.section_id(StandardSection::Text);
        let mut starts = Vec::with_capacity(module.len());
        for f in module.functions() {
            let align = u64::from(f.function.head.align).max(16);
            let start = self.object.append_section_data(text, f.code, align);
            self.define(&f.function.head.name, SymbolKind::Text, text, start, f.code.len() as u64)?;
            starts.push(start);
        }
        for (f, start) in module.functions().zip(starts) {
            for reloc in f.relocs {
                let symbol = self.symbol(&f.symbols[reloc.symbol as usize]);
                let flags = RelocationFlags::Elf { r_type: relocation_type(reloc.kind, self.architecture)? };
                let offset = start + u64::from(reloc.offset);
                self.object.add_relocation(text, Relocation { offset, symbol, addend: reloc.addend, flags })?;
            }
        }
        Ok(())
    }

    fn data(&mut self, data: &[DataObject]) -> Result<(), ObjectError> {
        let mut starts = Vec::with_capacity(data.len());
        for object in data {
            let section = self.object.section_id(data_section(object));
            let start = if object.bytes.is_empty() && object.writable {
                self.object.append_section_bss(section, object.size, object.align)
            } else {
                let mut bytes = object.bytes.clone();
                bytes.resize(object.size as usize, 0);
                self.object.append_section_data(section, &bytes, object.align)
            };
            self.define(&object.name, SymbolKind::Data, section, start, object.size)?;
            starts.push((section, start));
        }
        let r_type = relocation_type(RelocKind::Abs8, self.architecture)?;
        for (object, (section, start)) in data.iter().zip(starts) {
            for pointer in &object.pointers {
                let symbol = self.symbol(&pointer.symbol);
                let offset = start + pointer.offset;
                let flags = RelocationFlags::Elf { r_type };
                self.object.add_relocation(section, Relocation { offset, symbol, addend: pointer.addend, flags })?;
            }
        }
        Ok(())
    }

    fn eh_frame(&mut self, module: &ModuleBuffer) -> Result<(), ObjectError> {
        let symbols: Vec<SymbolId> = module.functions().map(|f| self.symbol(&f.function.head.name)).collect();
        let frame = eh_frame::write(module, self.architecture)?;
        if frame.bytes.is_empty() {
            return Ok(());
        }
        let section = self.object.add_section(Vec::new(), b".eh_frame".to_vec(), SectionKind::ReadOnlyData);
        self.object.section_mut(section).flags = SectionFlags::Elf { sh_flags: u64::from(elf::SHF_ALLOC) };
        let base = self.object.append_section_data(section, &frame.bytes, 8);
        let r_type = match self.architecture {
            Architecture::X86_64 => elf::R_X86_64_PC32,
            _ => elf::R_AARCH64_PREL32,
        };
        for (offset, function, addend) in frame.relocs {
            let flags = RelocationFlags::Elf { r_type };
            let relocation = Relocation { offset: base + offset, symbol: symbols[function], addend, flags };
            self.object.add_relocation(section, relocation)?;
        }
        Ok(())
    }
}

/// The section of a data object.
fn data_section(object: &DataObject) -> StandardSection {
    match (object.writable, object.pointers.is_empty(), object.bytes.is_empty()) {
        (true, true, true) => StandardSection::UninitializedData,
        (true, ..) => StandardSection::Data,
        (false, true, _) => StandardSection::ReadOnlyData,
        (false, false, _) => StandardSection::ReadOnlyDataWithRel,
    }
}

/// The ELF relocation type (System V ABI supplements for AMD64, table 4.9, and for AArch64, section 5.7).
fn relocation_type(kind: RelocKind, architecture: Architecture) -> Result<u32, ObjectError> {
    let x86 = architecture == Architecture::X86_64;
    Ok(match kind {
        RelocKind::Abs8 if x86 => elf::R_X86_64_64,
        RelocKind::Abs8 => elf::R_AARCH64_ABS64,
        RelocKind::Abs4 if x86 => elf::R_X86_64_32S,
        RelocKind::Abs4 => elf::R_AARCH64_ABS32,
        RelocKind::X86PcRel4 if x86 => elf::R_X86_64_PC32,
        RelocKind::X86CallPcRel4 | RelocKind::X86CallPltRel4 if x86 => elf::R_X86_64_PLT32,
        RelocKind::X86GotPcRel4 if x86 => elf::R_X86_64_GOTPCREL,
        RelocKind::Aarch64Call if !x86 => elf::R_AARCH64_CALL26,
        RelocKind::Aarch64AdrPage if !x86 => elf::R_AARCH64_ADR_PREL_PG_HI21,
        RelocKind::Aarch64AddLo12 if !x86 => elf::R_AARCH64_ADD_ABS_LO12_NC,
        RelocKind::Aarch64AdrGotPage if !x86 => elf::R_AARCH64_ADR_GOT_PAGE,
        RelocKind::Aarch64LdGotLo12 if !x86 => elf::R_AARCH64_LD64_GOT_LO12_NC,
        _ => return Err(ObjectError::Relocation(kind)),
    })
}
