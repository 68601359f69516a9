//! A module whose functions can be called.

use crate::debug_info::debug_sections;
use crate::debugger::SymbolFile;
use crate::entry::EntryPoint;
use crate::error::{LoadError, MissingFunction};
use crate::image::{Extras, Handler, Image, StackMap};
use crate::libcalls::library_address;
use crate::profiler::add_to_perf_map;
use crate::symbol_file::{DebugSection, NamedCode, symbol_text};
use crate::unwind::Registration;
use kingpost_codegen::Compiler;
use kingpost_codegen::module::{DataId, Declarations, Definitions, FuncId, Linkage, Module, default_libcall_name};
use kingpost_ir::TrapCode;
use kingpost_mach::{DataObject, ModuleBuffer, SymbolName};
use std::collections::HashMap;
use std::fmt;
use target_lexicon::{BinaryFormat, Triple};

/// Function that returns the address of an imported symbol.
pub type Lookup = Box<dyn Fn(&str) -> Option<*const u8> + Send + Sync>;

/// A module in executable memory.
///
/// [`JitModule::finalize_definitions`] makes definitions callable. Each call loads the definitions since the last
/// one. Dropping the module frees its memory; addresses are dangling then. With the setting `unwind_info`, exceptions
/// and backtraces pass through its functions.
///
/// ```
/// use kingpost_codegen::module::{Linkage, Module};
/// use kingpost_codegen::{Compiler, Settings};
/// use kingpost_jit::JitModule;
///
/// extern "C" fn next(number: i64) -> i64 {
///     number + 1
/// }
///
/// let text = "function u0:0(i64) -> i64 system_v { fn0 = %next(i64) -> i64 system_v
///     block0(v0: i64): v1 = call fn0(v0) v2 = call fn0(v1) return v2 }";
/// let mut func = kingpost_reader::parse_functions(text).unwrap().remove(0);
/// let mut module = JitModule::new(Compiler::host(Settings::default()).unwrap());
/// module.symbol("next", next as *const u8);
/// let id = module.declare_function("after_next", Linkage::Export, &func.signature).unwrap();
/// module.define_function(id, &mut func).unwrap();
/// module.finalize_definitions().unwrap();
/// // SAFETY: the function was compiled with this type, and calls a function with the type that it declares.
/// let after_next = unsafe { module.get::<extern "C" fn(i64) -> i64>(id) }.unwrap();
/// assert_eq!(after_next(40), 42);
/// ```
pub struct JitModule {
    definitions: Definitions,
    imports: Imports,
    images: Vec<Image>,
    /// Number of aliases that were defined when the last image was loaded.
    loaded_aliases: usize,
    /// Registrations of the functions in `images`, if they have unwind information.
    unwind_info: Vec<Registration>,
    /// Symbol files of the functions in `images`, if debuggers are enabled.
    symbol_files: Vec<SymbolFile>,
    for_debugger: bool,
    /// The source file of debug information, and the folder that its name is relative to, if it is enabled.
    source: Option<(String, String)>,
    for_profiler: bool,
    /// Functions and data that are defined but not loaded.
    pending: (ModuleBuffer, Vec<DataObject>),
}

/// Sources of imported symbols.
#[derive(Default)]
struct Imports {
    symbols: HashMap<String, usize>,
    /// Lookups in the order of addition. The last one is tried first.
    lookups: Vec<Lookup>,
}

impl Imports {
    fn address(&self, name: &str) -> Option<usize> {
        let known = self.symbols.get(name).copied();
        let asked = || self.lookups.iter().rev().find_map(|lookup| lookup(name)).map(|address| address as usize);
        known.or_else(asked).or_else(|| library_address(name))
    }
}

impl fmt::Debug for JitModule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JitModule").field("images", &self.images).finish_non_exhaustive()
    }
}

impl JitModule {
    /// Returns a module without declarations.
    pub fn new(compiler: Compiler) -> JitModule {
        JitModule {
            definitions: Definitions::new(compiler),
            imports: Imports::default(),
            images: Vec::new(),
            loaded_aliases: 0,
            unwind_info: Vec::new(),
            symbol_files: Vec::new(),
            for_debugger: false,
            source: None,
            for_profiler: false,
            pending: Default::default(),
        }
    }

    /// Sets the address of an imported symbol.
    pub fn symbol(&mut self, name: &str, address: *const u8) {
        self.imports.symbols.insert(name.into(), address as usize);
    }

    /// Adds a lookup for imported symbols. It precedes lookups added earlier and the symbols of this process. Symbols
    /// set by [`JitModule::symbol`] precede it.
    pub fn symbol_lookup(&mut self, lookup: Lookup) {
        self.imports.lookups.push(lookup);
    }

    /// Registers functions that are loaded from now on with debuggers, with their names and unwind information.
    pub fn enable_debugger(&mut self) {
        self.for_debugger = true;
    }

    /// Registers functions like [`JitModule::enable_debugger`], with their lines and variables. Source locations are
    /// lines of `source`, whose name is relative to `folder`. The setting `debug_values` records the places of
    /// variables. The code does not depend on this choice.
    pub fn enable_debug_info(&mut self, source: &str, folder: &str) {
        self.for_debugger = true;
        self.source = Some((source.into(), folder.into()));
    }

    /// Lists functions that are loaded from now on for the profiler `perf`, in the file `/tmp/perf-PID.map`.
    pub fn enable_profiler(&mut self) {
        self.for_profiler = true;
    }

    /// Loads everything defined since the last call. Afterwards addresses are known and functions can be called.
    ///
    /// # Errors
    /// If the compiler's target is not this machine, a symbol is undefined, a relocation does not reach, the system
    /// refuses memory, debug information cannot have the name of the source, or the unwind information of this system does
    /// not describe a function. Nothing is loaded then. The next call tries again, with all later definitions.
    pub fn finalize_definitions(&mut self) -> Result<(), LoadError> {
        let triple = self.definitions.compiler().triple();
        let host = Triple::host();
        let is_of_system = [host.binary_format, BinaryFormat::Unknown].contains(&triple.binary_format);
        if triple.architecture != host.architecture || !is_of_system {
            return Err(LoadError::Target(triple.to_string()));
        }
        let (functions, data) = self.definitions.take();
        self.pending.0.append(&functions);
        self.pending.1.extend(data);
        let (functions, data) = &self.pending;
        if functions.is_empty() && data.is_empty() {
            return Ok(());
        }
        let mut resolve = |name: &SymbolName| self.resolve(name);
        // Targets of earlier aliases are in earlier images.
        let aliases = &self.definitions.aliases()[self.loaded_aliases..];
        let has_unwind_info = self.definitions.compiler().settings().unwind_info;
        let image = Image::load_with(functions, data, Extras { aliases, has_unwind_info }, &mut resolve)?;
        let debug_info = match &self.source {
            Some((file, folder)) => debug_sections(functions, &image, file, folder)?,
            None => Vec::new(),
        };
        if has_unwind_info {
            // SAFETY: a module drops registrations before images.
            self.unwind_info.push(unsafe { Registration::new(functions, &image) });
        }
        self.announce(&image, &debug_info);
        self.images.push(image);
        self.loaded_aliases = self.definitions.aliases().len();
        self.pending = Default::default();
        Ok(())
    }

    /// Announces the functions of an image to debuggers and profilers, if enabled. The last element of `unwind_info`
    /// belongs to the image.
    fn announce(&mut self, image: &Image, debug_info: &[DebugSection]) {
        if !self.for_debugger && !self.for_profiler {
            return;
        }
        let names: Vec<String> = image.functions().map(|(.., name)| symbol_text(name)).collect();
        let functions =
            image.functions().zip(&names).map(|((address, bytes, _), name)| (address, bytes, name.as_str()));
        let functions: Vec<NamedCode<'_>> = functions.collect();
        if self.for_debugger {
            let has_unwind_info = self.definitions.compiler().settings().unwind_info;
            let unwind_info =
                self.unwind_info.last().filter(|_| has_unwind_info).map_or(&[][..], Registration::section);
            self.symbol_files.push(SymbolFile::with_debug_info(&functions, unwind_info, debug_info));
        }
        if self.for_profiler {
            add_to_perf_map(functions);
        }
    }

    /// Returns the address of a symbol that the definitions refer to and do not define.
    fn resolve(&self, name: &SymbolName) -> Option<usize> {
        if let Some(address) = self.loaded(name) {
            return Some(address);
        }
        let declarations: &Declarations = self.definitions.declarations();
        match name {
            // A symbol that the module itself must define is not resolved elsewhere.
            SymbolName::Named(_) if declarations.linkage(name) != Linkage::Import => None,
            SymbolName::Named(word) => self.imports.address(word),
            SymbolName::LibCall(libcall) => {
                self.imports.address(default_libcall_name(*libcall, self.definitions.compiler().triple()))
            }
            SymbolName::User(..) | SymbolName::KnownSymbol(_) | SymbolName::Literal(_) => None,
        }
    }

    /// Returns the address of a loaded function or data object. An alias may be defined after its target is loaded.
    fn loaded(&self, name: &SymbolName) -> Option<usize> {
        let address = |name| self.images.iter().rev().find_map(|image| image.address(name));
        address(name).or_else(|| address(&self.definitions.alias(name)?.target))
    }

    /// Returns the address of a function; `None` if it is not loaded.
    pub fn function_address(&self, id: FuncId) -> Option<*const u8> {
        Some(self.loaded(&self.definitions.declarations().function_symbol(id)?)? as *const u8)
    }

    /// Returns a function for calls.
    ///
    /// ```no_run
    /// # use kingpost_jit::{JitModule, MissingFunction};
    /// # fn example(module: &JitModule, id: kingpost_codegen::module::FuncId) -> Result<i64, MissingFunction> {
    /// // SAFETY: the function was compiled with this type and does what its author says.
    /// let double = unsafe { module.get::<extern "C" fn(i64) -> i64>(id) }?;
    /// Ok(double(21))
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the function is not loaded, with the reason.
    ///
    /// # Safety
    /// `F` must be the type that the function was compiled with: its arguments, result and calling convention. The
    /// pointer must not be called after the module is dropped, and no thread may be in a call at that time. The
    /// effects of the function must be sound.
    pub unsafe fn get<F: EntryPoint>(&self, id: FuncId) -> Result<F, MissingFunction> {
        let address = self.function_address(id).ok_or_else(|| self.missing(id))?;
        // SAFETY: the address belongs to the function, which is mapped executable while `self` lives; the caller
        // promises everything else.
        Ok(unsafe { F::at(address as usize) })
    }

    /// Returns the reason why a function is not loaded.
    fn missing(&self, id: FuncId) -> MissingFunction {
        let declarations = self.definitions.declarations();
        let Some(name) = declarations.function_symbol(id) else { return MissingFunction::Undeclared(id) };
        if self.definitions.is_function_defined(id) {
            MissingFunction::NotFinalized(name)
        } else if declarations.linkage(&name) == Linkage::Import {
            MissingFunction::Imported(name)
        } else {
            MissingFunction::NotDefined(name)
        }
    }

    /// Returns the address of a data object; `None` if it is not loaded.
    pub fn data_address(&self, id: DataId) -> Option<*mut u8> {
        Some(self.loaded(&self.definitions.declarations().data_symbol(id)?)? as *mut u8)
    }

    /// Returns the address of a loaded function or data object by its name.
    pub fn address(&self, name: &str) -> Option<*const u8> {
        Some(self.loaded(&SymbolName::named(name))? as *const u8)
    }

    /// Returns the trap code of the instruction at `address`, if it is a known trap.
    pub fn trap_at(&self, address: usize) -> Option<TrapCode> {
        self.images.iter().find_map(|image| image.trap_at(address))
    }

    /// Returns the references that are live during the call that returns to `return_address`; `None` if there are
    /// none.
    ///
    /// With the setting `preserve_frame_pointers`, a collector finds the frames so: the word at the frame pointer of a
    /// function is the caller's frame pointer, and the next word the return address into the caller. A reference is at
    /// the caller's frame pointer minus [`StackMap::body_offset`] plus its own offset. The example `sprig` of the crate
    /// `kingpost` has a collector that does this.
    pub fn stack_map_at(&self, return_address: usize) -> Option<StackMap<'_>> {
        self.images.iter().find_map(|image| image.stack_map_at(return_address))
    }

    /// Returns the handlers of exceptions from the call that returns to `address`, in the order of its exception
    /// table. Each has this address as its first element.
    pub fn handlers_at(&self, address: usize) -> &[(usize, Handler)] {
        let mut handlers = self.images.iter().map(|image| image.handlers_at(address));
        handlers.find(|handlers| !handlers.is_empty()).unwrap_or_default()
    }

    /// Returns the function whose code contains `address`, and the offset in the function.
    pub fn function_at(&self, address: usize) -> Option<(&SymbolName, usize)> {
        self.images.iter().find_map(|image| image.function_at(address))
    }
}

impl Drop for JitModule {
    fn drop(&mut self) {
        // Unregistered first, because unwinders and debuggers must not find functions in freed memory.
        self.unwind_info.clear();
        self.symbol_files.clear();
    }
}

impl Module for JitModule {
    fn definitions(&self) -> &Definitions {
        &self.definitions
    }

    fn definitions_mut(&mut self) -> &mut Definitions {
        &mut self.definitions
    }
}
