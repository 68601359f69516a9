//! A module in memory, whose functions can be called.

use crate::compiler::Compiler;
use crate::memory::{Block, BranchProtection, JITMemoryKind, JITMemoryProvider, SystemMemoryProvider};
use crate::object::definable;
use crate::unwind::Frames;
use crate::{library, relocate};
use anyhow::anyhow;
use cranelift_codegen::binemit::Reloc;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::isa::{OwnedTargetIsa, TargetIsa};
use cranelift_codegen::kingpost::{alignment, lib_call};
use cranelift_codegen::settings::Configurable;
use cranelift_codegen::{Context, ir, settings};
use cranelift_module::{
    DataDescription, DataId, FuncId, Init, Linkage, Module, ModuleDeclarations, ModuleError, ModuleReloc,
    ModuleRelocTarget, ModuleResult,
};
use kingpost_codegen::module::default_libcall_name;
use kingpost_jit::{NamedCode, Registration, SymbolFile, add_to_perf_map, library_address};
use std::collections::HashMap;
use std::fmt;
use std::sync::LazyLock;

/// Whether the environment registers functions with debuggers. It is read once, because clients create many modules.
static FOR_DEBUGGER: LazyLock<bool> =
    LazyLock::new(|| std::env::var("KINGPOST_DEBUGGER").is_ok_and(|value| value == "1"));

/// Whether the profiler `perf` records this process. It is read once, see [`FOR_DEBUGGER`].
static FOR_PROFILER: LazyLock<bool> = LazyLock::new(|| std::env::var_os("PERF_BUILDID_DIR").is_some());

type LibCallNames = Box<dyn Fn(ir::LibCall) -> String + Send + Sync>;
type Lookup = Box<dyn Fn(&str) -> Option<*const u8> + Send>;

/// Builder of a [`JITModule`].
pub struct JITBuilder {
    isa: OwnedTargetIsa,
    regalloc: Option<String>,
    libcall_names: LibCallNames,
    symbols: HashMap<String, usize>,
    lookups: Vec<Lookup>,
    memory: Option<Box<dyn JITMemoryProvider + Send>>,
    registers_frames: bool,
    for_debugger: bool,
}

impl fmt::Debug for JITBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JITBuilder").field("symbols", &self.symbols).finish_non_exhaustive()
    }
}

impl JITBuilder {
    /// Returns a builder for this machine. `libcall_names` returns the symbols of library routines.
    ///
    /// # Errors
    /// If Cranelift does not support the machine.
    pub fn new(libcall_names: LibCallNames) -> ModuleResult<JITBuilder> {
        JITBuilder::with_flags(&[], libcall_names)
    }

    /// Returns a builder for this machine with settings.
    ///
    /// # Errors
    /// If Cranelift does not have a setting, or does not support the machine.
    pub fn with_flags(flags: &[(&str, &str)], libcall_names: LibCallNames) -> ModuleResult<JITBuilder> {
        let mut builder = settings::builder();
        for (name, value) in flags {
            builder.set(name, value)?;
        }
        // Addresses in memory are known, and may be far away.
        builder.set("use_colocated_libcalls", "false")?;
        builder.set("is_pic", "false")?;
        let isa = cranelift_native::builder().map_err(|message| ModuleError::Backend(anyhow!(message)))?;
        Ok(JITBuilder::with_isa(isa.finish(settings::Flags::new(builder))?, libcall_names))
    }

    /// Returns a builder for a target and settings that the caller selected.
    pub fn with_isa(isa: OwnedTargetIsa, libcall_names: LibCallNames) -> JITBuilder {
        JITBuilder {
            isa,
            regalloc: None,
            libcall_names,
            symbols: HashMap::new(),
            lookups: Vec::new(),
            memory: None,
            registers_frames: true,
            for_debugger: *FOR_DEBUGGER,
        }
    }

    /// Sets one of our allocators by name.
    pub fn regalloc(&mut self, name: &str) -> &mut JITBuilder {
        self.regalloc = Some(name.into());
        self
    }

    /// Sets whether functions are registered with the process's unwinder, so that exceptions and backtraces pass
    /// through them. By default they are, if the setting `unwind_info` is on.
    pub fn register_frames(&mut self, yes: bool) -> &mut JITBuilder {
        self.registers_frames = yes;
        self
    }

    /// Sets whether functions are registered with gdb and lldb: their names and, with `unwind_info`, their frames. By
    /// default they are only if `KINGPOST_DEBUGGER=1` is in the environment.
    pub fn debugger(&mut self, yes: bool) -> &mut JITBuilder {
        self.for_debugger = yes;
        self
    }

    /// Sets the address of a symbol.
    pub fn symbol<K: Into<String>>(&mut self, name: K, address: *const u8) -> &mut JITBuilder {
        self.symbols.insert(name.into(), address as usize);
        self
    }

    /// Sets the addresses of many symbols.
    pub fn symbols<It, K>(&mut self, symbols: It) -> &mut JITBuilder
    where
        It: IntoIterator<Item = (K, *const u8)>,
        K: Into<String>,
    {
        self.symbols.extend(symbols.into_iter().map(|(name, address)| (name.into(), address as usize)));
        self
    }

    /// Adds a function that returns addresses of symbols without a given address. The last added function is called
    /// first, and this process is searched last.
    pub fn symbol_lookup_fn(&mut self, lookup: Lookup) -> &mut JITBuilder {
        self.lookups.push(lookup);
        self
    }

    /// Sets the provider of memory for code and data. The default is [`SystemMemoryProvider`].
    pub fn memory_provider(&mut self, provider: Box<dyn JITMemoryProvider + Send>) -> &mut JITBuilder {
        self.memory = Some(provider);
        self
    }
}

/// Returns a compiler for code in memory.
fn compiler(isa: &OwnedTargetIsa, regalloc: Option<&str>) -> ModuleResult<Compiler> {
    if isa.flags().is_pic() {
        return Err(ModuleError::Backend(anyhow!("the setting `is_pic=true` is not supported in memory")));
    }
    Ok(Compiler::new(isa.clone(), regalloc)?)
}

/// A definition in memory.
struct Placed {
    block: Block,
    /// Size of the code or data in bytes.
    len: usize,
    relocs: Vec<ModuleReloc>,
}

impl Placed {
    /// Applies the relocations and removes them.
    fn relocate(&mut self, addresses: &[usize]) -> ModuleResult<()> {
        if !self.relocs.is_empty() {
            let address = self.block.address();
            relocate::apply(&self.relocs, addresses, self.block.contents(), self.len, address)?;
            self.relocs = Vec::new();
        }
        Ok(())
    }
}

/// A module in memory. Definitions can be called or read once they are finalized.
pub struct JITModule {
    isa: OwnedTargetIsa,
    regalloc: Option<String>,
    /// `None` if its creation failed. Every definition tries again and returns the error.
    compiler: Option<Compiler>,
    declarations: ModuleDeclarations,
    functions: HashMap<FuncId, Placed>,
    data_objects: HashMap<DataId, Placed>,
    /// Definitions that are not finalized.
    pending: (Vec<FuncId>, Vec<DataId>),
    libcall_names: LibCallNames,
    symbols: HashMap<String, usize>,
    lookups: Vec<Lookup>,
    pub(crate) memory: Box<dyn JITMemoryProvider + Send>,
    /// Frames of functions that are not finalized, if unwinders are enabled.
    frames: Option<Frames>,
    /// Registrations of finalized functions.
    pub(crate) registrations: Vec<Registration>,
    for_debugger: bool,
    pub(crate) symbol_files: Vec<SymbolFile>,
}

impl fmt::Debug for JITModule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JITModule").field("declarations", &self.declarations).finish_non_exhaustive()
    }
}

impl JITModule {
    /// Returns a module without declarations. If a target, setting, CPU flag or allocator is not supported, every
    /// definition of a function is an error with its name.
    pub fn new(builder: JITBuilder) -> JITModule {
        let registers_frames = builder.registers_frames && builder.isa.flags().unwind_info();
        let compiler = compiler(&builder.isa, builder.regalloc.as_deref()).ok();
        JITModule {
            isa: builder.isa,
            regalloc: builder.regalloc,
            compiler,
            declarations: ModuleDeclarations::default(),
            functions: HashMap::new(),
            data_objects: HashMap::new(),
            pending: (Vec::new(), Vec::new()),
            libcall_names: builder.libcall_names,
            symbols: builder.symbols,
            lookups: builder.lookups,
            memory: builder.memory.unwrap_or_else(|| Box::new(SystemMemoryProvider::new())),
            frames: registers_frames.then(Frames::default),
            registrations: Vec::new(),
            for_debugger: builder.for_debugger,
            symbol_files: Vec::new(),
        }
    }

    /// Returns a module without declarations.
    ///
    /// # Errors
    /// If a target, setting, CPU flag or allocator is not supported; the error has its name.
    pub fn try_new(builder: JITBuilder) -> ModuleResult<JITModule> {
        let mut module = JITModule::new(builder);
        module.compiler()?;
        Ok(module)
    }

    fn compiler(&mut self) -> ModuleResult<&mut Compiler> {
        match &mut self.compiler {
            Some(compiler) => Ok(compiler),
            none => Ok(none.insert(compiler(&self.isa, self.regalloc.as_deref())?)),
        }
    }

    /// Makes everything defined since the last call callable and readable.
    ///
    /// # Errors
    /// If a definition refers to a symbol that is neither defined nor found, if a relocation does not reach, or if
    /// the memory provider fails. The next call tries again to finalize these definitions.
    pub fn finalize_definitions(&mut self) -> ModuleResult<()> {
        for &id in &self.pending.0 {
            let addresses = self.addresses(self.functions.get(&id))?;
            self.functions.get_mut(&id).map_or(Ok(()), |placed| placed.relocate(&addresses))?;
        }
        for &id in &self.pending.1 {
            let addresses = self.addresses(self.data_objects.get(&id))?;
            self.data_objects.get_mut(&id).map_or(Ok(()), |placed| placed.relocate(&addresses))?;
        }
        let has_bti = self.isa().is_branch_protection_enabled();
        self.memory.finalize(if has_bti { BranchProtection::BTI } else { BranchProtection::None })?;
        let registration = self.frames.as_mut().map(Frames::register).transpose()?.flatten();
        self.announce(registration.as_ref().map_or(&[][..], Registration::section));
        self.pending = Default::default();
        self.registrations.extend(registration);
        Ok(())
    }

    /// Announces the pending functions, whose `.eh_frame` section is `unwind_info`, to debuggers if enabled, and to
    /// the profiler `perf` if it records code.
    fn announce(&mut self, unwind_info: &[u8]) {
        if self.pending.0.is_empty() || !self.for_debugger && !*FOR_PROFILER {
            return;
        }
        let placed = self.pending.0.iter().filter_map(|id| Some((id, self.functions.get(id)?)));
        let named = placed.map(|(&id, placed)| (placed, self.declarations.get_function_decl(id).linkage_name(id)));
        let named: Vec<_> = named.collect();
        let functions = named.iter().map(|(placed, name)| (placed.block.address(), placed.len, &**name));
        let functions: Vec<NamedCode<'_>> = functions.collect();
        if *FOR_PROFILER {
            add_to_perf_map(functions.iter().copied());
        }
        if self.for_debugger {
            self.symbol_files.push(SymbolFile::register(&functions, unwind_info));
        }
    }

    /// Returns the addresses of the symbols that the relocations of a definition refer to.
    fn addresses(&self, placed: Option<&Placed>) -> ModuleResult<Vec<usize>> {
        let relocs = placed.map_or(&[][..], |placed| &placed.relocs);
        let address = |reloc: &ModuleReloc| {
            self.address(&reloc.name).ok_or_else(|| ModuleError::Backend(anyhow!("cannot resolve {}", reloc.name)))
        };
        relocs.iter().map(address).collect()
    }

    /// Returns the address of the target of a relocation: a definition, or a symbol found in the module's symbols,
    /// its lookups or this process. An undefined preemptible symbol has address 0.
    ///
    /// # Panics
    /// If the symbol is not found.
    pub fn get_address(&self, name: &ModuleRelocTarget) -> *const u8 {
        self.address(name).unwrap_or_else(|| panic!("cannot resolve {name}")) as *const u8
    }

    fn address(&self, name: &ModuleRelocTarget) -> Option<usize> {
        if let Some(routine) = library::symbol(name, self.isa().triple()) {
            return self.lookup(routine);
        }
        let (symbol, linkage) = match name {
            ModuleRelocTarget::User { .. } if ModuleDeclarations::is_function(name) => {
                let id = FuncId::from_name(name);
                if let Some(placed) = self.functions.get(&id) {
                    return Some(placed.block.address());
                }
                let declared = self.declarations.get_function_decl(id);
                (declared.name.as_ref()?, declared.linkage)
            }
            ModuleRelocTarget::User { .. } => {
                let id = DataId::from_name(name);
                if let Some(placed) = self.data_objects.get(&id) {
                    return Some(placed.block.address());
                }
                let declared = self.declarations.get_data_decl(id);
                (declared.name.as_ref()?, declared.linkage)
            }
            ModuleRelocTarget::LibCall(libcall) => {
                // Routines that only compilers use have different names in our library.
                let ours = default_libcall_name(lib_call(*libcall), self.isa().triple());
                return self.lookup(&(self.libcall_names)(*libcall)).or_else(|| library_address(ours));
            }
            ModuleRelocTarget::FunctionOffset(id, offset) => {
                return self.functions.get(id).map(|placed| placed.block.address() + *offset as usize);
            }
            ModuleRelocTarget::KnownSymbol(_) => return None,
        };
        self.lookup(symbol).or((linkage == Linkage::Preemptible).then_some(0))
    }

    fn lookup(&self, name: &str) -> Option<usize> {
        let said = self.symbols.get(name).copied();
        let asked = || self.lookups.iter().rev().find_map(|lookup| lookup(name)).map(|address| address as usize);
        said.or_else(asked).or_else(|| library_address(name))
    }

    /// Returns the address of a function. It is valid until the memory is freed.
    ///
    /// # Panics
    /// If the function is not defined and finalized.
    pub fn get_finalized_function(&self, id: FuncId) -> *const u8 {
        assert!(!self.pending.0.contains(&id), "the function is not finalized");
        self.functions.get(&id).expect("the function is not defined").block.address() as *const u8
    }

    /// Returns the address of a data object, and its size in bytes. The address is valid until the memory is freed.
    ///
    /// # Panics
    /// If the object is not defined and finalized.
    pub fn get_finalized_data(&self, id: DataId) -> (*const u8, usize) {
        assert!(!self.pending.1.contains(&id), "the data object is not finalized");
        let placed = self.data_objects.get(&id).expect("the data object is not defined");
        (placed.block.address() as *const u8, placed.len)
    }

    fn check_function(&self, id: FuncId) -> ModuleResult<()> {
        let declared = self.declarations.get_function_decl(id);
        definable(declared.linkage, self.functions.contains_key(&id), || declared.linkage_name(id).into_owned())
    }

    /// Places a function in memory and returns its address.
    fn place_function(&mut self, id: FuncId, align: u64, code: &[u8], relocs: Vec<ModuleReloc>) -> ModuleResult<usize> {
        let isa = self.isa();
        let align = align.max(isa.function_alignment().minimum.into()).max(isa.symbol_alignment());
        let placed = self.place(code, code.len(), align, relocs, JITMemoryKind::Executable)?;
        let address = placed.block.address();
        self.functions.insert(id, placed);
        self.pending.0.push(id);
        Ok(address)
    }

    fn place(
        &mut self,
        bytes: &[u8],
        len: usize,
        align: u64,
        relocs: Vec<ModuleReloc>,
        kind: JITMemoryKind,
    ) -> ModuleResult<Placed> {
        let size = (len + relocate::detours(&relocs)).max(1);
        let mut block = Block::allocate(&mut *self.memory, size, align, kind)?;
        block.contents()[..bytes.len()].copy_from_slice(bytes);
        block.contents()[bytes.len()..].fill(0);
        Ok(Placed { block, len, relocs })
    }
}

impl Drop for JITModule {
    fn drop(&mut self) {
        // Finalized functions stay until `free_memory`, because pointers to them may be in use and functions may be
        // running. Unwinders forget their frames, which Cranelift never registers: all sections that are registered are a list,
        // which the first unwinding sorts.
        self.registrations.clear();
        std::mem::forget(std::mem::take(&mut self.symbol_files));
    }
}

impl Module for JITModule {
    fn isa(&self) -> &dyn TargetIsa {
        &*self.isa
    }

    fn declarations(&self) -> &ModuleDeclarations {
        &self.declarations
    }

    fn declare_function(&mut self, name: &str, linkage: Linkage, signature: &ir::Signature) -> ModuleResult<FuncId> {
        self.declarations.declare_function(name, linkage, signature).map(|(id, _)| id)
    }

    fn declare_anonymous_function(&mut self, signature: &ir::Signature) -> ModuleResult<FuncId> {
        self.declarations.declare_anonymous_function(signature)
    }

    fn declare_data(&mut self, name: &str, linkage: Linkage, writable: bool, tls: bool) -> ModuleResult<DataId> {
        check_tls(tls)?;
        self.declarations.declare_data(name, linkage, writable, tls).map(|(id, _)| id)
    }

    fn declare_anonymous_data(&mut self, writable: bool, tls: bool) -> ModuleResult<DataId> {
        check_tls(tls)?;
        self.declarations.declare_anonymous_data(writable, tls)
    }

    fn define_function_with_control_plane(
        &mut self,
        id: FuncId,
        ctx: &mut Context,
        _ctrl_plane: &mut ControlPlane,
    ) -> ModuleResult<()> {
        self.check_function(id)?;
        let (code, relocs) = self.compiler()?.define(id, ctx, |_| false)?;
        let address = self.place_function(id, alignment(code).into(), code.code_buffer(), relocs)?;
        if let Some(frames) = &mut self.frames {
            frames.add_address(&*self.isa, code, address)?;
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
        definable(declared.linkage, self.data_objects.contains_key(&id), || declared.linkage_name(id).into_owned())?;
        let kind = if declared.writable { JITMemoryKind::Writable } else { JITMemoryKind::ReadOnly };
        let align = data.align.unwrap_or(if declared.writable { 8 } else { 1 });
        let relocs = data.all_relocs(Reloc::Abs8).collect();
        let (bytes, len) = match &data.init {
            Init::Uninitialized => return Err(ModuleError::Backend(anyhow!("a data object without contents"))),
            Init::Zeros { size } => (&[][..], *size),
            Init::Bytes { contents } => (&contents[..], contents.len()),
        };
        let placed = self.place(bytes, len, align, relocs, kind)?;
        self.data_objects.insert(id, placed);
        self.pending.1.push(id);
        Ok(())
    }
}

fn check_tls(tls: bool) -> ModuleResult<()> {
    if tls { Err(ModuleError::Backend(anyhow!("thread-local data is not supported in memory"))) } else { Ok(()) }
}
