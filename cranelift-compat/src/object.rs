//! A module that becomes an object file.

use crate::compiler::Compiler;
use crate::library;
use crate::relocation::relocation;
use crate::section;
use crate::unwind::Frames;
use anyhow::anyhow;
use cranelift_codegen::binemit::Reloc;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::entity::SecondaryMap;
use cranelift_codegen::isa::{OwnedTargetIsa, TargetIsa};
use cranelift_codegen::kingpost::alignment;
use cranelift_codegen::{Context, ir};
use cranelift_module::{
    DataDescription, DataId, FuncId, Init, Linkage, Module, ModuleDeclarations, ModuleError, ModuleReloc,
    ModuleRelocTarget, ModuleResult,
};
use object::write::{Object, Relocation, SectionId, StandardSection, Symbol, SymbolId, SymbolSection};
use object::{
    Architecture, BinaryFormat, Endianness, RelocationFlags, SectionKind, SymbolFlags, SymbolKind, SymbolScope,
};
use std::collections::HashMap;
use std::fmt;

type LibCallNames = Box<dyn Fn(ir::LibCall) -> String + Send + Sync>;

/// Builder of an [`ObjectModule`].
pub struct ObjectBuilder {
    compiler: Compiler,
    isa: OwnedTargetIsa,
    architecture: Architecture,
    format: BinaryFormat,
    name: Vec<u8>,
    libcall_names: LibCallNames,
    per_function_section: bool,
    per_data_object_section: bool,
    unwind_info: bool,
}

impl fmt::Debug for ObjectBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObjectBuilder").field("compiler", &self.compiler).finish_non_exhaustive()
    }
}

impl ObjectBuilder {
    /// Returns a builder of an object for the target of `isa`, with a file symbol `name`. `libcall_names` returns the
    /// symbols of library routines.
    ///
    /// # Errors
    /// If a target, setting or CPU flag is not supported; the error has its name.
    pub fn new<V: Into<Vec<u8>>>(
        isa: OwnedTargetIsa,
        name: V,
        libcall_names: LibCallNames,
    ) -> ModuleResult<ObjectBuilder> {
        let compiler = Compiler::new(isa.clone(), None)?;
        let unknown = || ModuleError::Backend(anyhow!("no object format for target {}", isa.triple()));
        let architecture = match isa.triple().architecture {
            target_lexicon::Architecture::X86_64 => Architecture::X86_64,
            target_lexicon::Architecture::Aarch64(_) => Architecture::Aarch64,
            _ => return Err(unknown()),
        };
        let format = match isa.triple().binary_format {
            target_lexicon::BinaryFormat::Elf => BinaryFormat::Elf,
            target_lexicon::BinaryFormat::Coff => BinaryFormat::Coff,
            target_lexicon::BinaryFormat::Macho => BinaryFormat::MachO,
            _ => return Err(unknown()),
        };
        Ok(ObjectBuilder {
            compiler,
            isa,
            architecture,
            format,
            name: name.into(),
            libcall_names,
            per_function_section: false,
            per_data_object_section: false,
            unwind_info: false,
        })
    }

    /// Sets one of our allocators by name.
    ///
    /// # Errors
    /// If there is no allocator with this name.
    pub fn regalloc(&mut self, name: &str) -> ModuleResult<&mut ObjectBuilder> {
        self.compiler = Compiler::new(self.isa.clone(), Some(name))?;
        Ok(self)
    }

    /// Sets whether each function gets a separate section.
    pub fn per_function_section(&mut self, yes: bool) -> &mut ObjectBuilder {
        self.per_function_section = yes;
        self
    }

    /// Sets whether each data object gets a separate section.
    pub fn per_data_object_section(&mut self, yes: bool) -> &mut ObjectBuilder {
        self.per_data_object_section = yes;
        self
    }

    /// Sets whether compiled functions get an `.eh_frame` section. It has no effect for functions of the convention
    /// `windows_fastcall`, which Cranelift describes in no section.
    pub fn unwind_info(&mut self, yes: bool) -> &mut ObjectBuilder {
        self.unwind_info = yes;
        self
    }
}

/// A module whose definitions become an object file.
pub struct ObjectModule {
    compiler: Compiler,
    architecture: Architecture,
    object: Object<'static>,
    declarations: ModuleDeclarations,
    functions: SecondaryMap<FuncId, Option<(SymbolId, bool)>>,
    data_objects: SecondaryMap<DataId, Option<(SymbolId, bool)>>,
    /// Relocations with their section and the position in the section that offsets count from.
    relocs: Vec<(SectionId, u64, ModuleReloc)>,
    libcall_names: LibCallNames,
    libcalls: HashMap<ir::LibCall, SymbolId>,
    known_symbols: HashMap<ir::KnownSymbol, SymbolId>,
    labels: HashMap<(FuncId, u32), SymbolId>,
    /// Pointers to symbols of other objects, in a format without a global offset table.
    pointers: HashMap<SymbolId, SymbolId>,
    per_function_section: bool,
    per_data_object_section: bool,
    frames: Option<Frames>,
}

impl fmt::Debug for ObjectModule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObjectModule").field("declarations", &self.declarations).finish_non_exhaustive()
    }
}

impl ObjectModule {
    /// Returns a module without declarations.
    pub fn new(builder: ObjectBuilder) -> ObjectModule {
        let mut object = Object::new(builder.format, builder.architecture, Endianness::Little);
        object.add_file_symbol(builder.name);
        if builder.format == BinaryFormat::MachO {
            section::begin_macho(&mut object, builder.isa.triple());
        }
        ObjectModule {
            compiler: builder.compiler,
            architecture: builder.architecture,
            object,
            declarations: ModuleDeclarations::default(),
            functions: SecondaryMap::new(),
            data_objects: SecondaryMap::new(),
            relocs: Vec::new(),
            libcall_names: builder.libcall_names,
            libcalls: HashMap::new(),
            known_symbols: HashMap::new(),
            labels: HashMap::new(),
            pointers: HashMap::new(),
            per_function_section: builder.per_function_section,
            per_data_object_section: builder.per_data_object_section,
            frames: builder.unwind_info.then(Frames::default),
        }
    }

    /// Returns the object. Everything that it must define should be defined before.
    ///
    /// # Panics
    /// In debug builds, if something is declared to be defined here and is not.
    pub fn finish(mut self) -> ObjectProduct {
        if cfg!(debug_assertions) {
            self.check_defined();
        }
        for (section, start, reloc) in std::mem::take(&mut self.relocs) {
            let mut symbol = self.target(&reloc.name);
            if self.object.format() == BinaryFormat::Coff && is_indirect(reloc.kind) {
                symbol = self.pointer(symbol);
            }
            let flags = self.flags(reloc.kind).expect("checked by the definition");
            let (offset, addend) = (start + u64::from(reloc.offset), reloc.addend);
            let relocation = Relocation { offset, symbol, addend, flags };
            self.object.add_relocation(section, relocation).expect("a relocation of the format");
        }
        if let Some(frames) = self.frames {
            frames.write(&mut self.object).expect("addresses of functions are all it mentions");
        }
        if self.object.format() == BinaryFormat::Elf {
            // Without this note, linkers assume that the object needs an executable stack.
            self.object.add_section(Vec::new(), b".note.GNU-stack".to_vec(), SectionKind::Linker);
        }
        ObjectProduct { object: self.object, functions: self.functions, data_objects: self.data_objects }
    }

    fn check_defined(&self) {
        for (id, declared) in self.declarations.get_functions().filter(|(_, f)| f.linkage.requires_definition()) {
            let defined = self.functions[id].is_some_and(|(_, defined)| defined);
            assert!(defined, "the function `{}` must be defined but is not", declared.linkage_name(id));
        }
        for (id, declared) in self.declarations.get_data_objects().filter(|(_, d)| d.linkage.requires_definition()) {
            let defined = self.data_objects[id].is_some_and(|(_, defined)| defined);
            assert!(defined, "the data object `{}` must be defined but is not", declared.linkage_name(id));
        }
    }
}

/// Symbols.
impl ObjectModule {
    fn add_symbol(&mut self, name: &str, kind: SymbolKind, linkage: Linkage) -> SymbolId {
        let (scope, weak) = scope(linkage);
        self.object.add_symbol(Symbol {
            name: name.into(),
            value: 0,
            size: 0,
            kind,
            scope,
            weak,
            section: SymbolSection::Undefined,
            flags: SymbolFlags::None,
        })
    }

    /// Adapts a symbol to an additional declaration.
    fn redeclare(&mut self, symbol: SymbolId, linkage: Linkage) {
        let symbol = self.object.symbol_mut(symbol);
        (symbol.scope, symbol.weak) = scope(linkage);
    }

    /// Returns a symbol of this object with the address of another symbol, which linkers fill in. GCC's pointers have such names,
    /// which MinGW's linker knows.
    fn pointer(&mut self, target: SymbolId) -> SymbolId {
        if let Some(&pointer) = self.pointers.get(&target) {
            return pointer;
        }
        let name = [b".refptr.", &self.object.symbol(target).name[..]].concat();
        let section = self.object.add_section(Vec::new(), b".rdata$.refptr".to_vec(), SectionKind::ReadOnlyData);
        let pointer = self.add_symbol(&String::from_utf8_lossy(&name), SymbolKind::Data, Linkage::Local);
        let offset = self.object.add_symbol_data(pointer, section, &[0; 8], 8);
        let flags = self.flags(Reloc::Abs8).expect("all formats have addresses");
        let relocation = Relocation { offset, symbol: target, addend: 0, flags };
        self.object.add_relocation(section, relocation).expect("a relocation of the format");
        self.pointers.insert(target, pointer);
        pointer
    }

    /// Returns the symbol of the target of a relocation. Creates symbols of library routines on demand.
    fn target(&mut self, name: &ModuleRelocTarget) -> SymbolId {
        const DECLARED: &str = "an id of this module";
        if let Some(routine) = library::symbol(name, self.compiler.isa().triple()) {
            let known = self.object.symbol_id(routine.as_bytes());
            return known.unwrap_or_else(|| self.add_symbol(routine, SymbolKind::Text, Linkage::Import));
        }
        match *name {
            ModuleRelocTarget::User { .. } if ModuleDeclarations::is_function(name) => {
                self.functions[FuncId::from_name(name)].expect(DECLARED).0
            }
            ModuleRelocTarget::User { .. } => self.data_objects[DataId::from_name(name)].expect(DECLARED).0,
            ModuleRelocTarget::LibCall(libcall) => {
                if let Some(&symbol) = self.libcalls.get(&libcall) {
                    return symbol;
                }
                let name = (self.libcall_names)(libcall);
                let known = self.object.symbol_id(name.as_bytes());
                let symbol = known.unwrap_or_else(|| self.add_symbol(&name, SymbolKind::Text, Linkage::Import));
                self.libcalls.insert(libcall, symbol);
                symbol
            }
            ModuleRelocTarget::KnownSymbol(known) => {
                if let Some(&symbol) = self.known_symbols.get(&known) {
                    return symbol;
                }
                let (name, kind) = match known {
                    ir::KnownSymbol::ElfGlobalOffsetTable => ("_GLOBAL_OFFSET_TABLE_", SymbolKind::Data),
                    ir::KnownSymbol::CoffTlsIndex => ("_tls_index", SymbolKind::Tls),
                };
                let symbol = self.add_symbol(name, kind, Linkage::Import);
                self.known_symbols.insert(known, symbol);
                symbol
            }
            ModuleRelocTarget::FunctionOffset(function, offset) => {
                if let Some(&symbol) = self.labels.get(&(function, offset)) {
                    return symbol;
                }
                let name = format!(".L{}_{offset}", function.as_u32());
                let symbol = self.add_symbol(&name, SymbolKind::Label, Linkage::Local);
                let function_symbol = self.object.symbol(self.functions[function].expect(DECLARED).0);
                let (start, section) = (function_symbol.value, function_symbol.section);
                let label = self.object.symbol_mut(symbol);
                (label.value, label.section) = (start + u64::from(offset), section);
                self.labels.insert((function, offset), symbol);
                symbol
            }
        }
    }
}

fn scope(linkage: Linkage) -> (SymbolScope, bool) {
    let scope = match linkage {
        Linkage::Import => SymbolScope::Unknown,
        Linkage::Local => SymbolScope::Compilation,
        Linkage::Hidden => SymbolScope::Linkage,
        Linkage::Preemptible | Linkage::Export => SymbolScope::Dynamic,
    };
    (scope, linkage == Linkage::Preemptible)
}

/// Returns `true` for relocations of an address that is read from a global offset table.
fn is_indirect(kind: Reloc) -> bool {
    matches!(kind, Reloc::X86GOTPCRel4 | Reloc::Aarch64AdrGotPage21 | Reloc::Aarch64Ld64GotLo12Nc)
}

/// Returns `true` if the linker may use another module's definition of the symbol.
fn is_preemptible(declarations: &ModuleDeclarations, name: &ir::UserExternalName) -> bool {
    let target = ModuleRelocTarget::user(name.namespace, name.index);
    let linkage = match name.namespace {
        0 | 1 if ModuleDeclarations::is_function(&target) => {
            declarations.get_function_decl(FuncId::from_name(&target)).linkage
        }
        0 | 1 => declarations.get_data_decl(DataId::from_name(&target)).linkage,
        _ => return false,
    };
    !matches!(linkage, Linkage::Local | Linkage::Hidden)
}

/// Checks that a name contains no zero byte, because names in ELF files end with one.
fn check_name(name: &str) -> ModuleResult<()> {
    match name.contains('\0') {
        true => Err(ModuleError::Backend(anyhow!("{name:?} is no name for a symbol: it has a null byte"))),
        false => Ok(()),
    }
}

/// Definitions.
impl ObjectModule {
    /// Checks that the function may be defined.
    fn check_function(&self, id: FuncId) -> ModuleResult<()> {
        let declared = self.declarations.get_function_decl(id);
        let defined = self.functions[id].is_some_and(|(_, defined)| defined);
        definable(declared.linkage, defined, || declared.linkage_name(id).into_owned())
    }

    fn place_function(
        &mut self,
        id: FuncId,
        align: u64,
        code: &[u8],
        relocs: Vec<ModuleReloc>,
    ) -> ModuleResult<SymbolId> {
        self.check_relocs(&relocs)?;
        let (symbol, defined) = self.functions[id].as_mut().expect("an id of this module");
        *defined = true;
        let section = if self.per_function_section {
            // A name is needed here, because the name of the section would otherwise end with a dot.
            self.object.add_subsection(StandardSection::Text, b"subsection")
        } else {
            self.object.section_id(StandardSection::Text)
        };
        let align = align.max(self.compiler.isa().symbol_alignment());
        let start = self.object.add_symbol_data(*symbol, section, code, align);
        let symbol = *symbol;
        self.relocs.extend(relocs.into_iter().map(|reloc| (section, start, reloc)));
        Ok(symbol)
    }

    fn check_relocs(&self, relocs: &[ModuleReloc]) -> ModuleResult<()> {
        let has_addends = self.object.format() != BinaryFormat::Coff || self.architecture == Architecture::X86_64;
        relocs.iter().try_for_each(|reloc| match reloc.kind {
            Reloc::Abs8 => Ok(()),
            kind if has_addends || reloc.addend == 0 => self.flags(kind).map(drop),
            kind => Err(ModuleError::Backend(anyhow!("no relocation {kind} with an offset in COFF files"))),
        })
    }

    /// Returns a relocation in the object's format.
    fn flags(&self, kind: Reloc) -> ModuleResult<RelocationFlags> {
        relocation(kind, self.architecture, self.object.format())
    }

    /// Returns the section of a data object.
    fn data_section(&mut self, id: DataId, data: &DataDescription, has_relocs: bool) -> ModuleResult<SectionId> {
        let declared = self.declarations.get_data_decl(id);
        let Some(name) = &data.custom_section else {
            let section = match (&data.init, declared.tls, declared.writable, has_relocs) {
                (Init::Zeros { .. }, true, ..) => StandardSection::UninitializedTls,
                (Init::Zeros { .. }, false, ..) => StandardSection::UninitializedData,
                (_, true, ..) => StandardSection::Tls,
                (_, _, true, _) => StandardSection::Data,
                (_, _, _, false) => StandardSection::ReadOnlyData,
                (_, _, _, true) => StandardSection::ReadOnlyDataWithRel,
            };
            // Data that is retained must not retain other data of its section.
            return Ok(if self.per_data_object_section || data.used {
                self.object.add_subsection(section, b"subsection")
            } else {
                self.object.section_id(section)
            });
        };
        if declared.tls {
            return Err(ModuleError::Backend(anyhow!("thread-local data cannot be in the custom section `{name}`")));
        }
        let kind = match (declared.writable, has_relocs) {
            (true, _) => SectionKind::Data,
            (false, false) => SectionKind::ReadOnlyData,
            (false, true) => SectionKind::ReadOnlyDataWithRel,
        };
        section::add_custom(&mut self.object, name, kind)
    }
}

/// Checks that something may be defined.
pub(crate) fn definable(linkage: Linkage, defined: bool, name: impl FnOnce() -> String) -> ModuleResult<()> {
    if !linkage.is_definable() {
        Err(ModuleError::InvalidImportDefinition(name()))
    } else if defined {
        Err(ModuleError::DuplicateDefinition(name()))
    } else {
        Ok(())
    }
}

impl Module for ObjectModule {
    fn isa(&self) -> &dyn TargetIsa {
        self.compiler.isa()
    }

    fn declarations(&self) -> &ModuleDeclarations {
        &self.declarations
    }

    fn declare_function(&mut self, name: &str, linkage: Linkage, signature: &ir::Signature) -> ModuleResult<FuncId> {
        check_name(name)?;
        let (id, linkage) = self.declarations.declare_function(name, linkage, signature)?;
        match self.functions[id] {
            Some((symbol, _)) => self.redeclare(symbol, linkage),
            None => self.functions[id] = Some((self.add_symbol(name, SymbolKind::Text, linkage), false)),
        }
        Ok(id)
    }

    fn declare_anonymous_function(&mut self, signature: &ir::Signature) -> ModuleResult<FuncId> {
        let id = self.declarations.declare_anonymous_function(signature)?;
        let name = self.declarations.get_function_decl(id).linkage_name(id).into_owned();
        self.functions[id] = Some((self.add_symbol(&name, SymbolKind::Text, Linkage::Local), false));
        Ok(id)
    }

    fn declare_data(&mut self, name: &str, linkage: Linkage, writable: bool, tls: bool) -> ModuleResult<DataId> {
        check_name(name)?;
        let (id, linkage) = self.declarations.declare_data(name, linkage, writable, tls)?;
        match self.data_objects[id] {
            Some((symbol, _)) => self.redeclare(symbol, linkage),
            None => self.data_objects[id] = Some((self.add_symbol(name, data_kind(tls), linkage), false)),
        }
        Ok(id)
    }

    fn declare_anonymous_data(&mut self, writable: bool, tls: bool) -> ModuleResult<DataId> {
        let id = self.declarations.declare_anonymous_data(writable, tls)?;
        let name = self.declarations.get_data_decl(id).linkage_name(id).into_owned();
        self.data_objects[id] = Some((self.add_symbol(&name, data_kind(tls), Linkage::Local), false));
        Ok(id)
    }

    fn define_function_with_control_plane(
        &mut self,
        id: FuncId,
        ctx: &mut Context,
        _ctrl_plane: &mut ControlPlane,
    ) -> ModuleResult<()> {
        self.check_function(id)?;
        let declarations = &self.declarations;
        let (code, relocs) = self.compiler.define(id, ctx, |name| is_preemptible(declarations, name))?;
        let symbol = self.place_function(id, alignment(code).into(), code.code_buffer(), relocs)?;
        if let Some(frames) = &mut self.frames {
            frames.add_symbol(self.compiler.isa(), code, symbol)?;
        }
        Ok(())
    }

    fn define_function_bytes(
        &mut self,
        id: FuncId,
        alignment: u64,
        bytes: &[u8],
        relocs: &[ModuleReloc],
    ) -> ModuleResult<()> {
        self.check_function(id)?;
        self.place_function(id, alignment, bytes, relocs.to_vec()).map(drop)
    }

    fn define_data(&mut self, id: DataId, data: &DataDescription) -> ModuleResult<()> {
        let declared = self.declarations.get_data_decl(id);
        let (symbol, defined) = self.data_objects[id].expect("an id of this module");
        definable(declared.linkage, defined, || declared.linkage_name(id).into_owned())?;
        let relocs: Vec<ModuleReloc> = data.all_relocs(Reloc::Abs8).collect();
        let section = self.data_section(id, data, !relocs.is_empty())?;
        if data.used {
            section::keep(&mut self.object, section, symbol);
        }
        let align = data.align.unwrap_or(1).max(self.compiler.isa().symbol_alignment());
        let start = match &data.init {
            Init::Uninitialized => return Err(ModuleError::Backend(anyhow!("a data object without contents"))),
            Init::Zeros { size } => self.object.add_symbol_bss(symbol, section, *size as u64, align),
            Init::Bytes { contents } => self.object.add_symbol_data(symbol, section, contents, align),
        };
        self.data_objects[id] = Some((symbol, true));
        self.relocs.extend(relocs.into_iter().map(|reloc| (section, start, reloc)));
        Ok(())
    }
}

fn data_kind(tls: bool) -> SymbolKind {
    if tls { SymbolKind::Tls } else { SymbolKind::Data }
}

/// Result of a module.
#[derive(Debug)]
pub struct ObjectProduct {
    /// The object with everything that was defined.
    pub object: Object<'static>,
    /// Symbols of functions, and whether they are defined.
    pub functions: SecondaryMap<FuncId, Option<(SymbolId, bool)>>,
    /// Symbols of data objects, and whether they are defined.
    pub data_objects: SecondaryMap<DataId, Option<(SymbolId, bool)>>,
}

impl ObjectProduct {
    /// Returns the symbol of a function.
    ///
    /// # Panics
    /// If it belongs to another module.
    pub fn function_symbol(&self, id: FuncId) -> SymbolId {
        self.functions[id].expect("a function of the module").0
    }

    /// Returns the symbol of a data object.
    ///
    /// # Panics
    /// If it belongs to another module.
    pub fn data_symbol(&self, id: DataId) -> SymbolId {
        self.data_objects[id].expect("a data object of the module").0
    }

    /// Returns the bytes of the file.
    ///
    /// # Errors
    /// If the format cannot represent the object.
    pub fn emit(self) -> Result<Vec<u8>, object::write::Error> {
        self.object.write()
    }
}
