//! Symbols, code and data of an object, in the sections and with the relocations of its [`Format`].
//!
//! If there are declarations, they determine the visibility of symbols. Otherwise everything defined is global, and
//! symbols without definition are undefined.

use crate::error::ObjectError;
use crate::format::{Format, Shape, Table};
use crate::macho;
use crate::names::symbol_name;
use crate::target;
use kingpost_codegen::module::{Alias, Declarations, Linkage};
use kingpost_mach::{DataObject, FunctionView, Literal, ModuleBuffer, RelocKind, SymbolName};
use object::write::{
    Comdat, ComdatId, Mangling, Object, Relocation, SectionId, StandardSection, Symbol, SymbolId, SymbolSection,
};
use object::{Architecture, BinaryFormat, ComdatKind, Endianness, SectionFlags, SymbolFlags, SymbolKind, SymbolScope};
use std::collections::{HashMap, HashSet};
use target_lexicon::Triple;

/// Limit of the bytes of a section, because references within an object span 2 GiB at most.
const MAX_SECTION: u64 = i32::MAX as u64;

/// Largest distance in bytes from a symbol in a relocation of a Mach-O instruction, a field of 24 bits.
const MAX_ADDEND: i64 = (1 << 23) - 1;

/// Alignment in bytes that Windows and macOS give to the variables of a thread.
const MAX_TLS_ALIGN: u64 = 16;

/// An object being written.
pub(crate) struct Writer<'a> {
    pub(crate) object: Object<'static>,
    pub(crate) format: &'static dyn Format,
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
    /// Pointers to symbols, in objects without a global offset table.
    pointers: HashMap<SymbolId, SymbolId>,
    /// Local symbols for tables, by section and offset.
    pub(crate) labels: HashMap<(SectionId, u64), SymbolId>,
    /// The sections of data objects with a [`Placement`](kingpost_mach::Placement), by name and by whether linkers
    /// keep them.
    pub(crate) placed: HashMap<(String, bool), (StandardSection, SectionId)>,
    /// The sections that have contents.
    filled: HashSet<SectionId>,
    /// Bytes of all sections, with the largest possible padding.
    bytes: u64,
    /// Section and offset of each function.
    pub(crate) starts: Vec<(SectionId, u64)>,
    /// The functions that linkers keep once, with the groups of sections that linkers keep or discard together.
    once: Vec<(usize, ComdatId)>,
    /// The data objects that linkers keep once, with their sections.
    data_once: Vec<(usize, SectionId)>,
    /// The tables for unwinders of other languages, if there are any.
    pub(crate) handlers: Option<Handlers>,
}

/// The tables for unwinders of other languages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Handlers {
    /// The section `.gcc_except_table`.
    pub(crate) table: SectionId,
    /// The personality routine.
    pub(crate) routine: SymbolId,
    /// A section and the offset of the pointer to the routine in it, in formats whose linkers make no such pointer for
    /// tables.
    pub(crate) pointer: Option<(SymbolId, i64)>,
}

/// Functions whose tables are in the same sections.
#[derive(Default, Debug)]
pub(crate) struct TableGroup {
    /// Numbers of the functions.
    pub(crate) functions: Vec<usize>,
    /// The group of sections of the function, if linkers keep it once.
    pub(crate) comdat: Option<ComdatId>,
    /// Whether linkers discard the tables with the code.
    pub(crate) follows_code: bool,
}

impl<'a> Writer<'a> {
    /// Returns an object without sections.
    ///
    /// # Errors
    /// If the target has no supported format.
    pub(crate) fn new(triple: &'a Triple, declarations: Option<&'a Declarations>) -> Result<Writer<'a>, ObjectError> {
        let (format, architecture) = target::format(triple)?;
        let mut object = Object::new(format.binary_format(), architecture, Endianness::Little);
        // Names are complete, see `symbol_name`.
        object.set_mangling(Mangling::None);
        if format.binary_format() == BinaryFormat::MachO {
            macho::begin(&mut object);
        }
        Ok(Writer {
            object,
            format,
            architecture,
            triple,
            declarations,
            symbols: HashMap::new(),
            mentioned: Vec::new(),
            defined: HashSet::new(),
            literals: [None; 3],
            pointers: HashMap::new(),
            labels: HashMap::new(),
            placed: HashMap::new(),
            filled: HashSet::new(),
            bytes: 0,
            starts: Vec::new(),
            once: Vec::new(),
            data_once: Vec::new(),
            handlers: None,
        })
    }

    /// Returns the error of something that the target's objects do not support.
    pub(crate) fn unsupported(&self, what: impl Into<String>) -> ObjectError {
        ObjectError::Unsupported { what: what.into(), target: self.triple.to_string() }
    }

    /// Adds a section.
    pub(crate) fn add_section(&mut self, shape: Shape) -> SectionId {
        let id = self.object.add_section(shape.segment.into(), shape.name.into(), shape.kind);
        self.object.section_mut(id).flags = shape.flags;
        id
    }

    /// Adds the section of a table.
    pub(crate) fn add_table(&mut self, table: Table) -> SectionId {
        self.add_section(self.format.table(table))
    }

    /// Appends contents to a section and returns their offset.
    ///
    /// # Errors
    /// If they exceed a limit of the format.
    pub(crate) fn append(&mut self, section: SectionId, contents: &[u8], align: u64) -> Result<u64, ObjectError> {
        self.reserve(section, contents.len() as u64, align)?;
        Ok(self.object.append_section_data(section, contents, align))
    }

    /// Checks that a section may have `size` more bytes.
    fn reserve(&mut self, section: SectionId, size: u64, align: u64) -> Result<(), ObjectError> {
        let limits = self.format.limits();
        self.filled.insert(section);
        self.bytes = self.bytes.saturating_add(size).saturating_add(align - 1);
        let name = || self.object.section(section).name().unwrap_or_default().to_string();
        let (what, limit) = if self.filled.len() > limits.sections {
            ("number of sections".into(), limits.sections as u64)
        } else if align > limits.align {
            (format!("alignment of section `{}`", name()), limits.align)
        } else if self.bytes > limits.bytes {
            (format!("size of the sections up to `{}`", name()), limits.bytes)
        } else {
            return Ok(());
        };
        Err(ObjectError::TooLarge { what, limit })
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
        let mut symbol = undefined(text.into_bytes());
        if let SymbolName::Literal(literal) = name {
            self.place_literal(literal, &mut symbol)?;
        }
        let id = self.object.add_symbol(symbol);
        self.symbols.insert(name.clone(), id);
        self.mentioned.push((name.clone(), id));
        Ok(id)
    }

    /// Adds the literal to its section and defines its symbol. References use this symbol and not the symbol of the
    /// section. A linker finds a merged entry by the address of a symbol, and an addend would lead to another entry.
    fn place_literal(&mut self, literal: &Literal, symbol: &mut Symbol) -> Result<(), ObjectError> {
        let bytes = literal.bytes();
        let index = bytes.len().ilog2() as usize - 2;
        let section = self.literals[index].unwrap_or_else(|| self.add_table(Table::Literals(bytes.len())));
        self.literals[index] = Some(section);
        symbol.value = self.append(section, bytes, bytes.len() as u64)?;
        symbol.size = bytes.len() as u64;
        symbol.kind = SymbolKind::Data;
        symbol.scope = SymbolScope::Compilation;
        symbol.section = SymbolSection::Section(section);
        Ok(())
    }

    /// Returns the symbol `.refptr.NAME` at a pointer to a symbol, in formats whose linkers make no such pointers. Linkers
    /// keep one for all objects, as for pointers that GCC makes. A pointer to a local symbol belongs to this object.
    fn pointer(&mut self, name: &SymbolName, symbol: SymbolId) -> Result<SymbolId, ObjectError> {
        if let Some(&pointer) = self.pointers.get(&symbol) {
            return Ok(pointer);
        }
        let text = symbol_name(name, self.triple);
        let Some(shape) = self.format.pointer_section(&text) else { return Ok(symbol) };
        let is_local = self.linkage(name) == Linkage::Local;
        let section = self.add_section(shape);
        let offset = self.append(section, &[0; 8], 8)?;
        self.relocate(section, offset, symbol, 0, RelocKind::Abs8)?;
        // In COFF, the first symbol of the section after its own is the symbol of the group.
        self.object.section_symbol(section);
        let pointer = self.object.add_symbol(Symbol {
            value: offset,
            size: 8,
            kind: SymbolKind::Data,
            scope: if is_local { SymbolScope::Compilation } else { SymbolScope::Dynamic },
            section: SymbolSection::Section(section),
            ..undefined(format!(".refptr.{text}").into_bytes())
        });
        if !is_local {
            let group = Comdat { kind: ComdatKind::Any, symbol: pointer, sections: Vec::new() };
            let group = self.object.add_comdat(group);
            self.add_to_group(group, section);
        }
        self.pointers.insert(symbol, pointer);
        Ok(pointer)
    }

    /// Adds a relocation of an instruction or of a pointer in data.
    fn relocate(
        &mut self,
        section: SectionId,
        offset: u64,
        symbol: SymbolId,
        addend: i64,
        kind: RelocKind,
    ) -> Result<(), ObjectError> {
        let flags = self.format.relocation(kind, self.architecture).ok_or_else(|| match self.object.format() {
            BinaryFormat::Elf => ObjectError::Relocation(kind),
            _ => self.unsupported(format!("a relocation {kind:?}")),
        })?;
        let is_indirect = matches!(kind, RelocKind::Aarch64AdrGotPage | RelocKind::Aarch64LdGotLo12);
        let max_addend = if is_indirect { 0 } else { MAX_ADDEND };
        if self.object.format() == BinaryFormat::MachO && kind != RelocKind::Abs8 && addend.abs() > max_addend {
            return Err(self.unsupported(format!("the offset {addend} from a symbol in a relocation {kind:?}")));
        }
        let mut addend = addend;
        let is_word = self.architecture == Architecture::Aarch64 && kind != RelocKind::Abs8;
        if self.object.format() == BinaryFormat::Coff && is_word && addend != 0 {
            self.put_addend(section, offset, addend, kind)?;
            addend = 0;
        }
        let relocation = Relocation { offset, symbol, addend, flags };
        self.object.add_relocation(section, relocation).map_err(ObjectError::format)
    }

    fn linkage(&self, name: &SymbolName) -> Linkage {
        self.declarations.map_or(Linkage::Export, |declarations| declarations.linkage(name))
    }

    pub(crate) fn define(
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
        let is_coff = self.object.format() == BinaryFormat::Coff;
        let symbol = self.object.symbol_mut(id);
        symbol.kind = kind;
        symbol.scope = match linkage {
            Linkage::Local => SymbolScope::Compilation,
            Linkage::Hidden => SymbolScope::Linkage,
            Linkage::Import | Linkage::LinkOnce | Linkage::Preemptible | Linkage::Export => SymbolScope::Dynamic,
        };
        // In COFF, the section says that linkers keep one definition.
        let is_weak_once = linkage == Linkage::LinkOnce && !is_coff;
        symbol.weak = is_weak_once || linkage == Linkage::Preemptible;
        symbol.section = SymbolSection::Section(section);
        symbol.value = value;
        symbol.size = size;
        Ok(())
    }

    /// Defines a second symbol of a definition.
    pub(crate) fn alias(&mut self, alias: &Alias) -> Result<(), ObjectError> {
        let target = self.symbol(&alias.target)?;
        let target = self.object.symbol(target);
        let SymbolSection::Section(section) = target.section else {
            return Err(ObjectError::Undefined(symbol_name(&alias.target, self.triple)));
        };
        let (kind, value, size) = (target.kind, target.value, target.size);
        self.define(&alias.name, kind, section, value, size)
    }

    /// Makes a section the group of a symbol that linkers keep once. Mach-O has weak symbols in the place of groups.
    fn group(&mut self, name: &SymbolName, section: SectionId) -> Result<Option<ComdatId>, ObjectError> {
        if self.object.format() == BinaryFormat::MachO {
            return Ok(None);
        }
        // In COFF, the first symbol of the section after its own is the symbol of the group.
        self.object.section_symbol(section);
        let symbol = self.symbol(name)?;
        let group = self.object.add_comdat(Comdat { kind: ComdatKind::Any, symbol, sections: Vec::new() });
        self.add_to_group(group, section);
        Ok(Some(group))
    }

    /// Makes a section a member of a group (System V ABI, chapter 4, "Section Groups"; Microsoft, "PE Format", "COMDAT
    /// Sections").
    pub(crate) fn add_to_group(&mut self, group: ComdatId, section: SectionId) {
        // In COFF, symbols of sections have the fields of the group.
        self.object.section_symbol(section);
        if let SectionFlags::Elf { sh_flags } = self.object.section_flags_mut(section) {
            *sh_flags |= u64::from(object::elf::SHF_GROUP);
        }
        self.object.comdat_mut(group).sections.push(section);
    }

    /// Returns the group of a function.
    pub(crate) fn group_of(&self, function: usize) -> Option<ComdatId> {
        let index = self.once.binary_search_by_key(&function, |&(member, _)| member).ok()?;
        Some(self.once[index].1)
    }

    /// Returns the functions that have tables in common. Functions of a group have tables of their own, so that linkers
    /// discard both together, and in ELF all functions with sections of their own.
    pub(crate) fn table_groups(&mut self) -> Vec<TableGroup> {
        let text = self.object.section_id(StandardSection::Text);
        let is_elf = self.object.format() == BinaryFormat::Elf;
        let (mut shared, mut groups) = (TableGroup::default(), Vec::new());
        for (function, &(section, _)) in self.starts.iter().enumerate() {
            let comdat = self.group_of(function);
            if section == text || !is_elf && comdat.is_none() {
                shared.functions.push(function);
                continue;
            }
            groups.push(TableGroup { functions: vec![function], comdat, follows_code: true });
        }
        groups.insert(0, shared);
        groups
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

    /// Adds the sections of data that linkers keep once. Comes before references to the data, because these make symbols too.
    pub(crate) fn data_groups(&mut self, data: &[DataObject]) -> Result<(), ObjectError> {
        let is_macho = self.object.format() == BinaryFormat::MachO;
        for (index, object) in data.iter().enumerate() {
            if self.linkage(&object.name) == Linkage::LinkOnce && !is_macho {
                let section = self.own_data_section(object)?;
                self.group(&object.name, section)?;
                self.data_once.push((index, section));
            }
        }
        Ok(())
    }

    /// Adds the code of all functions, to one section or to a section for each.
    pub(crate) fn functions(&mut self, module: &ModuleBuffer, sections: bool) -> Result<(), ObjectError> {
        let text = self.object.section_id(StandardSection::Text);
        for (index, f) in module.functions().enumerate() {
            let name = &f.function.head.name;
            let is_once = self.linkage(name) == Linkage::LinkOnce;
            // A linker removes functions of Mach-O that share a section as well.
            let shares = !(sections || is_once) || self.object.format() == BinaryFormat::MachO;
            let section = if shares { text } else { self.function_section(&f) };
            if is_once && let Some(group) = self.group(name, section)? {
                self.once.push((index, group));
            }
            let align = u64::from(f.function.head.align).max(16);
            let start = self.append(section, f.code, align)?;
            self.define(name, SymbolKind::Text, section, start, f.code.len() as u64)?;
            self.starts.push((section, start));
        }
        if self.architecture == Architecture::Aarch64 && self.object.format() == BinaryFormat::Elf {
            self.mapping_symbols(module);
        }
        for (index, f) in module.functions().enumerate() {
            let (section, start) = self.starts[index];
            for reloc in f.relocs {
                let name = &f.symbols[reloc.symbol as usize];
                let mut symbol = self.symbol(name)?;
                if reloc.kind.is_thread_local() {
                    self.object.symbol_mut(symbol).kind = SymbolKind::Tls;
                }
                if matches!(
                    reloc.kind,
                    RelocKind::X86GotPcRel4 | RelocKind::Aarch64AdrGotPage | RelocKind::Aarch64LdGotLo12
                ) {
                    symbol = self.pointer(name, symbol)?;
                }
                self.relocate(section, start + u64::from(reloc.offset), symbol, reloc.addend, reloc.kind)?;
            }
        }
        Ok(())
    }

    /// Adds the section of one function.
    fn function_section(&mut self, f: &FunctionView<'_>) -> SectionId {
        let name = symbol_name(&f.function.head.name, self.triple);
        self.add_section(self.format.function_section(&name))
    }

    /// Marks the starts of code and data with `$x` and `$d` (ELF for the Arm 64-bit Architecture, section
    /// 5.8, mapping symbols).
    fn mapping_symbols(&mut self, module: &ModuleBuffer) {
        let mut code = None;
        for (index, f) in module.functions().enumerate() {
            let ((section, start), data) = (self.starts[index], u64::from(f.function.data_offset));
            if code != Some(section) {
                self.mapping_symbol(b"$x", section, start);
            }
            code = (data == f.code.len() as u64).then_some(section);
            if code.is_none() {
                self.mapping_symbol(b"$d", section, start + data);
            }
        }
    }

    fn mapping_symbol(&mut self, name: &[u8], section: SectionId, value: u64) {
        self.object.add_symbol(Symbol {
            value,
            kind: SymbolKind::Label,
            scope: SymbolScope::Compilation,
            section: SymbolSection::Section(section),
            ..undefined(name.into())
        });
    }

    pub(crate) fn data(&mut self, data: &[DataObject]) -> Result<(), ObjectError> {
        let mut starts = Vec::with_capacity(data.len());
        let mut once = std::mem::take(&mut self.data_once).into_iter().peekable();
        for (index, object) in data.iter().enumerate() {
            object.check().map_err(|fault| ObjectError::Data(object.name.to_string(), fault))?;
            let is_macho = self.object.format() == BinaryFormat::MachO;
            if self.object.format() != BinaryFormat::Elf && object.tls && object.align > MAX_TLS_ALIGN {
                let name = symbol_name(&object.name, self.triple);
                let what = format!("the alignment of the thread-local symbol `{name}` above {MAX_TLS_ALIGN} bytes");
                return Err(self.unsupported(what));
            }
            // Symbols at one address would be one part of the section.
            let size = if is_macho { object.size.max(1) } else { object.size };
            let section = match once.next_if(|&(of_group, _)| of_group == index) {
                Some((_, section)) => section,
                None => self.data_section(object)?,
            };
            let start = if self.object.section(section).is_bss() {
                self.reserve(section, size, object.align)?;
                self.object.append_section_bss(section, size, object.align)
            } else {
                let name = || symbol_name(&object.name, self.triple);
                if size > MAX_SECTION {
                    return Err(ObjectError::TooLarge {
                        what: format!("size of data `{}`", name()),
                        limit: MAX_SECTION,
                    });
                }
                let mut bytes = object.bytes.clone();
                bytes.resize(size as usize, 0);
                self.append(section, &bytes, object.align)?
            };
            let kind = if object.tls { SymbolKind::Tls } else { SymbolKind::Data };
            match is_macho && object.tls {
                true => self.define_variable(&object.name, section, start)?,
                false => self.define(&object.name, kind, section, start, object.size)?,
            }
            starts.push((section, start));
        }
        for (object, (section, start)) in data.iter().zip(starts) {
            for pointer in &object.pointers {
                let symbol = self.symbol(&pointer.symbol)?;
                self.relocate(section, start + pointer.offset, symbol, pointer.addend, RelocKind::Abs8)?;
            }
        }
        Ok(())
    }
}

/// Returns an undefined symbol.
pub(crate) fn undefined(name: Vec<u8>) -> Symbol {
    Symbol {
        name,
        value: 0,
        size: 0,
        kind: SymbolKind::Unknown,
        scope: SymbolScope::Unknown,
        weak: false,
        section: SymbolSection::Undefined,
        flags: SymbolFlags::None,
    }
}
