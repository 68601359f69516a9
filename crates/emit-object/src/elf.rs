//! Symbols, code and data of an ELF object.
//!
//! Functions are placed in `.text`. Data objects are placed in `.rodata`, `.data` or `.bss`, thread-local ones in
//! `.tdata` or `.tbss`, and read-only ones with pointers in `.data.rel.ro`. Literals are placed in `.rodata.cst4`,
//! `.rodata.cst8` and `.rodata.cst16`, where linkers merge equal ones. If there are declarations, they determine the
//! visibility of symbols. Otherwise everything defined is global, and symbols without definition are undefined.

use crate::error::ObjectError;
use crate::names::symbol_name;
use kingpost_codegen::module::{Declarations, Linkage};
use kingpost_mach::{DataObject, Literal, ModuleBuffer, RelocKind, SymbolName};
use object::write::{Object, Relocation, SectionId, StandardSection, Symbol, SymbolId, SymbolSection};
use object::{
    Architecture, BinaryFormat, Endianness, RelocationFlags, SectionFlags, SectionKind, SymbolFlags, SymbolKind,
    SymbolScope, elf,
};
use std::collections::{HashMap, HashSet};
use target_lexicon::Triple;

/// Flags of a section whose entries linkers may merge.
const MERGEABLE: SectionFlags = SectionFlags::Elf { sh_flags: (elf::SHF_ALLOC | elf::SHF_MERGE) as u64 };

/// An object being written.
pub(crate) struct Writer<'a> {
    pub(crate) object: Object<'static>,
    pub(crate) architecture: Architecture,
    pub(crate) triple: &'a Triple,
    declarations: Option<&'a Declarations>,
    symbols: HashMap<SymbolName, SymbolId>,
    /// All symbols in order of their first reference.
    mentioned: Vec<(SymbolName, SymbolId)>,
    /// Names of global symbols in the form of the object, because two of our names may have one form.
    defined: HashSet<String>,
    /// The sections of literals of 4, 8 and 16 bytes, created on demand.
    literals: [Option<SectionId>; 3],
    /// The sections of data objects with a [`Placement`](kingpost_mach::Placement), by name and by whether linkers
    /// keep them.
    pub(crate) placed: HashMap<(String, bool), (StandardSection, SectionId)>,
    /// Offset of each function in `.text`.
    pub(crate) starts: Vec<u64>,
    pub(crate) handlers: Handlers,
}

/// Places of the tables for unwinders of other languages, if there are such tables.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Handlers {
    /// The section `.gcc_except_table`.
    pub(crate) table: Option<SymbolId>,
    /// A section, and the offset of the pointer to the personality routine in it.
    pub(crate) personality: Option<(SymbolId, i64)>,
}

impl<'a> Writer<'a> {
    /// Returns an object without sections.
    ///
    /// # Errors
    /// If the target has no ELF form.
    pub(crate) fn new(triple: &'a Triple, declarations: Option<&'a Declarations>) -> Result<Writer<'a>, ObjectError> {
        let architecture = architecture(triple)?;
        Ok(Writer {
            object: Object::new(BinaryFormat::Elf, architecture, Endianness::Little),
            architecture,
            triple,
            declarations,
            symbols: HashMap::new(),
            mentioned: Vec::new(),
            defined: HashSet::new(),
            literals: [None; 3],
            placed: HashMap::new(),
            starts: Vec::new(),
            handlers: Handlers::default(),
        })
    }

    /// Returns the symbol of a name. The symbol is undefined until it is defined.
    pub(crate) fn symbol(&mut self, name: &SymbolName) -> Result<SymbolId, ObjectError> {
        if let Some(&id) = self.symbols.get(name) {
            return Ok(id);
        }
        let text = symbol_name(name, self.triple);
        if text.is_empty() || text.contains('\0') {
            return Err(ObjectError::Name(text));
        }
        let mut symbol = Symbol {
            name: text.into_bytes(),
            value: 0,
            size: 0,
            kind: SymbolKind::Unknown,
            scope: SymbolScope::Unknown,
            weak: false,
            section: SymbolSection::Undefined,
            flags: SymbolFlags::None,
        };
        if let SymbolName::Literal(literal) = name {
            self.place_literal(literal, &mut symbol);
        }
        let id = self.object.add_symbol(symbol);
        self.symbols.insert(name.clone(), id);
        self.mentioned.push((name.clone(), id));
        Ok(id)
    }

    /// Adds the literal to its section and defines its symbol. References use this symbol and not the symbol of the
    /// section. A linker finds a merged entry by the address of a symbol, and an addend would lead to another entry.
    fn place_literal(&mut self, literal: &Literal, symbol: &mut Symbol) {
        let bytes = literal.bytes();
        let section = &mut self.literals[bytes.len().ilog2() as usize - 2];
        let section = *section.get_or_insert_with(|| {
            let name = format!(".rodata.cst{}", bytes.len());
            let section = self.object.add_section(Vec::new(), name.into(), SectionKind::ReadOnlyData);
            self.object.section_mut(section).flags = MERGEABLE;
            section
        });
        symbol.value = self.object.append_section_data(section, bytes, bytes.len() as u64);
        symbol.size = bytes.len() as u64;
        symbol.kind = SymbolKind::Data;
        symbol.scope = SymbolScope::Compilation;
        symbol.section = SymbolSection::Section(section);
    }

    fn linkage(&self, name: &SymbolName) -> Linkage {
        self.declarations.map_or(Linkage::Export, |declarations| declarations.linkage(name))
    }

    fn define(
        &mut self,
        name: &SymbolName,
        kind: SymbolKind,
        section: SectionId,
        value: u64,
        size: u64,
    ) -> Result<(), ObjectError> {
        let linkage = self.linkage(name);
        let text = symbol_name(name, self.triple);
        if linkage != Linkage::Local && !self.defined.insert(text.clone()) {
            return Err(ObjectError::Duplicate(text));
        }
        let id = self.symbol(name)?;
        let symbol = self.object.symbol_mut(id);
        symbol.kind = kind;
        symbol.scope = match linkage {
            Linkage::Local => SymbolScope::Compilation,
            Linkage::Hidden => SymbolScope::Linkage,
            Linkage::Import | Linkage::Preemptible | Linkage::Export => SymbolScope::Dynamic,
        };
        symbol.weak = linkage == Linkage::Preemptible;
        symbol.section = SymbolSection::Section(section);
        symbol.value = value;
        symbol.size = size;
        Ok(())
    }

    /// Checks that everything that is declared to be defined here and referred to is defined.
    pub(crate) fn check_undefined(&self) -> Result<(), ObjectError> {
        let Some(declarations) = self.declarations else { return Ok(()) };
        let missing = |(name, id): &&(SymbolName, SymbolId)| {
            let defined = self.object.symbol(*id).section != SymbolSection::Undefined;
            !defined && declarations.linkage(name).is_definable()
        };
        match self.mentioned.iter().find(missing) {
            Some((name, _)) => Err(ObjectError::Undefined(symbol_name(name, self.triple))),
            None => Ok(()),
        }
    }

    pub(crate) fn functions(&mut self, module: &ModuleBuffer) -> Result<(), ObjectError> {
        let text = self.object.section_id(StandardSection::Text);
        for f in module.functions() {
            let align = u64::from(f.function.head.align).max(16);
            let start = self.object.append_section_data(text, f.code, align);
            self.define(&f.function.head.name, SymbolKind::Text, text, start, f.code.len() as u64)?;
            self.starts.push(start);
        }
        if self.architecture == Architecture::Aarch64 {
            self.mapping_symbols(text, module);
        }
        for (index, f) in module.functions().enumerate() {
            let start = self.starts[index];
            for reloc in f.relocs {
                let symbol = self.symbol(&f.symbols[reloc.symbol as usize])?;
                if reloc.kind.is_thread_local() {
                    self.object.symbol_mut(symbol).kind = SymbolKind::Tls;
                }
                let flags = RelocationFlags::Elf { r_type: relocation_type(reloc.kind, self.architecture)? };
                let offset = start + u64::from(reloc.offset);
                let relocation = Relocation { offset, symbol, addend: reloc.addend, flags };
                self.object.add_relocation(text, relocation).map_err(ObjectError::format)?;
            }
        }
        Ok(())
    }

    /// Marks the starts of code and data in `.text` with `$x` and `$d` (ELF for the Arm 64-bit Architecture, section
    /// 5.8, mapping symbols).
    fn mapping_symbols(&mut self, text: SectionId, module: &ModuleBuffer) {
        let mut in_code = false;
        for (index, f) in module.functions().enumerate() {
            let (start, data) = (self.starts[index], u64::from(f.function.data_offset));
            if !in_code {
                self.mapping_symbol(b"$x", text, start);
            }
            in_code = data == f.code.len() as u64;
            if !in_code {
                self.mapping_symbol(b"$d", text, start + data);
            }
        }
    }

    fn mapping_symbol(&mut self, name: &[u8], section: SectionId, value: u64) {
        self.object.add_symbol(Symbol {
            name: name.into(),
            value,
            size: 0,
            kind: SymbolKind::Label,
            scope: SymbolScope::Compilation,
            weak: false,
            section: SymbolSection::Section(section),
            flags: SymbolFlags::None,
        });
    }

    pub(crate) fn data(&mut self, data: &[DataObject]) -> Result<(), ObjectError> {
        let mut starts = Vec::with_capacity(data.len());
        for object in data {
            object.check().map_err(|fault| ObjectError::Data(object.name.to_string(), fault))?;
            let section = self.data_section(object)?;
            let start = if self.object.section(section).is_bss() {
                self.object.append_section_bss(section, object.size, object.align)
            } else {
                let mut bytes = object.bytes.clone();
                bytes.resize(object.size as usize, 0);
                self.object.append_section_data(section, &bytes, object.align)
            };
            let kind = if object.tls { SymbolKind::Tls } else { SymbolKind::Data };
            self.define(&object.name, kind, section, start, object.size)?;
            starts.push((section, start));
        }
        let r_type = relocation_type(RelocKind::Abs8, self.architecture)?;
        for (object, (section, start)) in data.iter().zip(starts) {
            for pointer in &object.pointers {
                let symbol = self.symbol(&pointer.symbol)?;
                let offset = start + pointer.offset;
                let flags = RelocationFlags::Elf { r_type };
                let relocation = Relocation { offset, symbol, addend: pointer.addend, flags };
                self.object.add_relocation(section, relocation).map_err(ObjectError::format)?;
            }
        }
        Ok(())
    }
}

pub(crate) fn architecture(triple: &Triple) -> Result<Architecture, ObjectError> {
    use target_lexicon::BinaryFormat::{Elf, Unknown};
    match (triple.architecture, triple.binary_format) {
        (target_lexicon::Architecture::X86_64, Elf | Unknown) => Ok(Architecture::X86_64),
        (target_lexicon::Architecture::Aarch64(_), Elf | Unknown) => Ok(Architecture::Aarch64),
        _ => Err(ObjectError::Target(triple.to_string())),
    }
}

/// Returns the ELF relocation type (System V ABI supplements for AMD64, table 4.9, and for AArch64, section 5.7).
fn relocation_type(kind: RelocKind, architecture: Architecture) -> Result<u32, ObjectError> {
    let x86 = architecture == Architecture::X86_64;
    Ok(match kind {
        RelocKind::Abs8 if x86 => elf::R_X86_64_64,
        RelocKind::Abs8 => elf::R_AARCH64_ABS64,
        RelocKind::Abs4 if x86 => elf::R_X86_64_32,
        RelocKind::Abs4 => elf::R_AARCH64_ABS32,
        RelocKind::X86PcRel4 if x86 => elf::R_X86_64_PC32,
        RelocKind::X86CallPcRel4 | RelocKind::X86CallPltRel4 if x86 => elf::R_X86_64_PLT32,
        RelocKind::X86GotPcRel4 if x86 => elf::R_X86_64_GOTPCREL,
        RelocKind::Aarch64Call if !x86 => elf::R_AARCH64_CALL26,
        RelocKind::Aarch64AdrPage if !x86 => elf::R_AARCH64_ADR_PREL_PG_HI21,
        RelocKind::Aarch64AddLo12 if !x86 => elf::R_AARCH64_ADD_ABS_LO12_NC,
        RelocKind::Aarch64Ld32Lo12 if !x86 => elf::R_AARCH64_LDST32_ABS_LO12_NC,
        RelocKind::Aarch64Ld64Lo12 if !x86 => elf::R_AARCH64_LDST64_ABS_LO12_NC,
        RelocKind::Aarch64Ld128Lo12 if !x86 => elf::R_AARCH64_LDST128_ABS_LO12_NC,
        RelocKind::Aarch64MovwG0 if !x86 => elf::R_AARCH64_MOVW_UABS_G0_NC,
        RelocKind::Aarch64MovwG1 if !x86 => elf::R_AARCH64_MOVW_UABS_G1_NC,
        RelocKind::Aarch64MovwG2 if !x86 => elf::R_AARCH64_MOVW_UABS_G2_NC,
        RelocKind::Aarch64MovwG3 if !x86 => elf::R_AARCH64_MOVW_UABS_G3,
        RelocKind::Aarch64AdrGotPage if !x86 => elf::R_AARCH64_ADR_GOT_PAGE,
        RelocKind::Aarch64LdGotLo12 if !x86 => elf::R_AARCH64_LD64_GOT_LO12_NC,
        RelocKind::X86TlsGd if x86 => elf::R_X86_64_TLSGD,
        RelocKind::Aarch64TlsDescAdrPage if !x86 => elf::R_AARCH64_TLSDESC_ADR_PAGE21,
        RelocKind::Aarch64TlsDescLdLo12 if !x86 => elf::R_AARCH64_TLSDESC_LD64_LO12,
        RelocKind::Aarch64TlsDescAddLo12 if !x86 => elf::R_AARCH64_TLSDESC_ADD_LO12,
        RelocKind::Aarch64TlsDescCall if !x86 => elf::R_AARCH64_TLSDESC_CALL,
        _ => return Err(ObjectError::Relocation(kind)),
    })
}
