//! Definitions of a module: the part that all kinds of modules share.

use super::data::{DataContents, DataDescription};
use super::declarations::{DATA, DataId, Declarations, FUNCTIONS, FuncId, Linkage};
use super::error::ModuleError;
use super::inlining::Inliner;
use super::libcalls::{LibCallNames, default_libcall_name};
use super::unused;
use crate::compiler::{Compiler, Context};
use crate::error::CompileError;
use cranelift_entity::EntitySet;
use kingpost_ir::Function;
use kingpost_ir::extfunc::FuncName;
use kingpost_mach::{
    Buffer, DataObject, DataPointer, FunctionHead, FunctionView, JumpTables, ModuleBuffer, RelocKind, SymbolName,
};
use kingpost_regalloc::sort::sort_by_key;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// Maximum size of a data object in bytes.
const MAX_DATA_BYTES: u64 = 1 << 30;
/// Maximum alignment of a function or data object in bytes.
const MAX_ALIGN: u64 = 1 << 16;
/// Size of a pointer in bytes.
const POINTER_BYTES: u64 = 8;

/// A relocation in machine code that a client supplies.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ModuleReloc {
    /// Offset from the start of the code, in bytes.
    pub offset: u32,
    /// Kind of the value that is written there.
    pub kind: RelocKind,
    /// The symbol that it refers to. `u0:N` is a function of the module, `u1:N` a data object.
    pub name: SymbolName,
    /// Addend in bytes.
    pub addend: i64,
}

/// A second symbol for a definition of the module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Alias {
    /// The symbol.
    pub name: SymbolName,
    /// The symbol of the function or data object, which is no alias.
    pub target: SymbolName,
}

/// Declarations of a module, and its definitions in the order in which they were added.
pub struct Definitions {
    compiler: Compiler,
    context: Context,
    declarations: Declarations,
    libcall_names: LibCallNames,
    defined_functions: EntitySet<FuncId>,
    defined_data: EntitySet<DataId>,
    functions: ModuleBuffer,
    data: Vec<(DataId, DataObject)>,
    aliases: Vec<Alias>,
    /// Indices into `aliases`, by name.
    alias_index: HashMap<SymbolName, usize>,
    inliner: Inliner,
    /// The function compiled last, until its symbols are resolved.
    scratch: ModuleBuffer,
}

impl fmt::Debug for Definitions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = f.debug_struct("Definitions");
        f.field("declarations", &self.declarations).field("data", &self.data).finish_non_exhaustive()
    }
}

/// Queries.
impl Definitions {
    /// Returns definitions without entries. `compiler` will compile the functions.
    pub fn new(compiler: Compiler) -> Definitions {
        let triple = compiler.triple().clone();
        Definitions {
            context: compiler.context(),
            declarations: Declarations::default(),
            libcall_names: Arc::new(move |libcall| default_libcall_name(libcall, &triple).into()),
            defined_functions: EntitySet::new(),
            defined_data: EntitySet::new(),
            functions: ModuleBuffer::default(),
            data: Vec::new(),
            aliases: Vec::new(),
            alias_index: HashMap::new(),
            inliner: Inliner::default(),
            scratch: ModuleBuffer::default(),
            compiler,
        }
    }

    /// Sets the function that names library routines, for all later definitions.
    pub fn set_libcall_names(&mut self, names: LibCallNames) {
        self.libcall_names = names;
    }

    /// Returns the compiler.
    pub fn compiler(&self) -> &Compiler {
        &self.compiler
    }

    /// Returns the context that compiles single functions, with its counters and its last result.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Returns all declarations.
    pub fn declarations(&self) -> &Declarations {
        &self.declarations
    }

    /// Returns all declarations for additions.
    pub(crate) fn declarations_mut(&mut self) -> &mut Declarations {
        &mut self.declarations
    }

    /// Returns `true` if the function is defined.
    pub fn is_function_defined(&self, id: FuncId) -> bool {
        self.defined_functions.contains(id)
    }

    /// Returns `true` if the data object is defined.
    pub fn is_data_defined(&self, id: DataId) -> bool {
        self.defined_data.contains(id)
    }

    /// Returns all aliases in order of definition.
    pub fn aliases(&self) -> &[Alias] {
        &self.aliases
    }

    /// Returns the alias with this name.
    pub fn alias(&self, name: &SymbolName) -> Option<&Alias> {
        Some(&self.aliases[*self.alias_index.get(name)?])
    }

    /// Removes local functions to which nothing refers because all their calls have been inlined, and local functions
    /// to which only such functions refer. Nothing can be defined that refers to them afterwards.
    pub fn remove_unused(&mut self) {
        if self.inliner.inlined().is_empty() {
            return;
        }
        let pointers = self.data.iter().flat_map(|(_, object)| object.pointers.iter().map(|pointer| &pointer.symbol));
        let others = pointers.chain(self.aliases.iter().map(|alias| &alias.target));
        let is_local = |name: &SymbolName| self.declarations.linkage(name) == Linkage::Local;
        let unused = unused::find(&self.functions, others, is_local, self.inliner.inlined());
        if unused.contains(&true) {
            let mut used = ModuleBuffer::default();
            let views = self.functions.functions().zip(unused).filter(|(_, unused)| !unused);
            views.for_each(|(view, _)| used.append_function(&view));
            self.functions = used;
        }
    }

    /// Takes everything that was defined since the last call, except aliases. The functions and objects remain defined.
    pub fn take(&mut self) -> (ModuleBuffer, Vec<DataObject>) {
        let data = std::mem::take(&mut self.data).into_iter().map(|(id, mut object)| {
            // A later declaration may have made it writable.
            object.writable = self.declarations.data_object(id).is_some_and(|d| d.kind.is_writable());
            object
        });
        let data = data.collect();
        (std::mem::take(&mut self.functions), data)
    }
}

/// Functions.
impl Definitions {
    pub(crate) fn define_function(&mut self, id: FuncId, func: &mut Function) -> Result<(), ModuleError> {
        let symbol = self.check_function(id, func)?;
        self.scratch.clear();
        let name = std::mem::replace(&mut func.name, func_name(&symbol));
        self.inline(&mut [func]);
        let result = self.compiler.compile(&mut self.context, func, &mut self.scratch);
        func.name = name;
        result.map_err(|error| self.not_compiled(symbol, error))?;
        let scratch = std::mem::take(&mut self.scratch);
        let result = self.accept_function(id, &scratch.function(0));
        self.scratch = scratch;
        result
    }

    pub(crate) fn define_functions(
        &mut self,
        funcs: &mut [(FuncId, Function)],
        jobs: usize,
    ) -> Vec<(usize, ModuleError)> {
        let mut errors = Vec::new();
        let mut ids = Vec::with_capacity(funcs.len());
        let mut names = Vec::with_capacity(funcs.len());
        let mut accepted = Vec::with_capacity(funcs.len());
        for (index, (id, func)) in funcs.iter_mut().enumerate() {
            match self.check_function(*id, func) {
                Ok(symbol) => {
                    names.push(std::mem::replace(&mut func.name, func_name(&symbol)));
                    ids.push((index, *id, symbol));
                    accepted.push(func);
                }
                Err(error) => errors.push((index, error)),
            }
        }
        self.inline(&mut accepted);
        let batch = self.compiler.compile_all(&mut accepted, jobs);
        self.context.stats += &batch.stats;
        for (func, name) in accepted.into_iter().zip(names) {
            func.name = name;
        }
        let mut failed = batch.errors.into_iter().peekable();
        let mut compiled = batch.module.functions();
        for (position, (index, id, symbol)) in ids.into_iter().enumerate() {
            if let Some((_, error)) = failed.next_if(|(at, _)| *at == position) {
                errors.push((index, self.not_compiled(symbol, error)));
                continue;
            }
            let view = compiled.next().expect("a batch has a function for whatever it has no error for");
            if let Err(error) = self.accept_function(id, &view) {
                errors.push((index, error));
            }
        }
        sort_by_key(&mut errors, |&(index, _)| index);
        errors
    }

    /// Inlines calls of the module's functions in functions that are named by their symbols.
    fn inline(&mut self, funcs: &mut [&mut Function]) {
        let declarations = &self.declarations;
        self.inliner.run_all(&self.compiler, funcs, &|name, _| {
            let symbol = declarations.resolve(&name).ok()?;
            declarations.linkage(&symbol).is_final().then_some(symbol)
        });
    }

    /// Returns the error of a definition. Another function may be defined in its place.
    fn not_compiled(&mut self, name: SymbolName, error: CompileError) -> ModuleError {
        self.inliner.forget(&name);
        ModuleError::Compilation { name, error: Box::new(error) }
    }

    /// Checks that `func` may be the definition of `id`. Returns the symbol.
    fn check_function(&self, id: FuncId, func: &Function) -> Result<SymbolName, ModuleError> {
        let symbol = self.check_function_id(id)?;
        let declared = &self.declarations.function(id).expect("checked to be declared").signature;
        if *declared != func.signature {
            return Err(ModuleError::IncompatibleSignature {
                name: symbol,
                declared: Box::new(declared.clone()),
                given: Box::new(func.signature.clone()),
            });
        }
        Ok(symbol)
    }

    fn check_function_id(&self, id: FuncId) -> Result<SymbolName, ModuleError> {
        let symbol = self.declarations.function_symbol(id).ok_or(undeclared(FUNCTIONS, id.as_u32()))?;
        check_definable(symbol, &self.declarations, self.is_function_defined(id))
    }

    /// Adds a compiled function, with its symbols resolved.
    fn accept_function(&mut self, id: FuncId, view: &FunctionView<'_>) -> Result<(), ModuleError> {
        // Checked again, because a function may occur twice in one batch.
        self.check_function_id(id)?;
        let symbols = view.symbols.iter().map(|name| self.resolve(name)).collect::<Result<Vec<_>, _>>()?;
        self.functions.append_function(&FunctionView { symbols: &symbols, ..*view });
        self.defined_functions.insert(id);
        Ok(())
    }

    fn resolve(&self, name: &SymbolName) -> Result<SymbolName, ModuleError> {
        match name {
            SymbolName::LibCall(libcall) => Ok(SymbolName::named(&(self.libcall_names)(*libcall))),
            _ => self.declarations.resolve(name),
        }
    }

    pub(crate) fn define_function_bytes(
        &mut self,
        id: FuncId,
        align: u32,
        bytes: &[u8],
        relocs: &[ModuleReloc],
    ) -> Result<(), ModuleError> {
        let name = self.check_function_id(id)?;
        check_align(&name, align.into())?;
        let mut relocs: Vec<&ModuleReloc> = relocs.iter().collect();
        relocs.sort_by_key(|reloc| reloc.offset);
        let mut buffer = Buffer::default();
        let mut symbols = Vec::new();
        let mut at = 0;
        for reloc in relocs {
            let start = reloc.offset as usize;
            if start + reloc.kind.field_bytes() > bytes.len() {
                return Err(ModuleError::OutOfBounds { name, offset: reloc.offset.into() });
            }
            buffer.put(&bytes[at..start]);
            buffer.reloc(reloc.kind, symbols.len() as u32, reloc.addend);
            symbols.push(self.resolve(&reloc.name)?);
            at = start;
        }
        buffer.put(&bytes[at..]);
        let limit = self.compiler.options().limits.clamped().code_bytes;
        let head = FunctionHead::of_bytes(name.clone(), align);
        let forms = self.compiler.isa().branches();
        if buffer.len() as u64 > limit
            || buffer.finish(head, &JumpTables::default(), &symbols, forms, &mut self.functions).is_err()
        {
            return Err(ModuleError::TooLarge { name, limit });
        }
        self.defined_functions.insert(id);
        Ok(())
    }
}

/// Aliases.
impl Definitions {
    pub(crate) fn define_function_alias(&mut self, id: FuncId, target: FuncId) -> Result<(), ModuleError> {
        let name = self.check_function_id(id)?;
        let known = |id| self.declarations.function(id).ok_or(undeclared(FUNCTIONS, id.as_u32()));
        let (declared, given) = (&known(id)?.signature, &known(target)?.signature);
        if declared != given {
            let (declared, given) = (Box::new(declared.clone()), Box::new(given.clone()));
            return Err(ModuleError::IncompatibleSignature { name, declared, given });
        }
        let is_defined = self.is_function_defined(target);
        self.add_alias(name, self.declarations.function_symbol(target).expect("it is declared"), is_defined)?;
        self.defined_functions.insert(id);
        Ok(())
    }

    pub(crate) fn define_data_alias(&mut self, id: DataId, target: DataId) -> Result<(), ModuleError> {
        let known = |id| self.declarations.data_object(id).ok_or(undeclared(DATA, id.as_u32()));
        let (declared, given) = (known(id)?.kind, known(target)?.kind);
        let name = self.declarations.data_symbol(id).expect("it is declared");
        let name = check_definable(name, &self.declarations, self.is_data_defined(id))?;
        if declared != given {
            return Err(ModuleError::IncompatibleDeclaration(name.to_string()));
        }
        let is_defined = self.is_data_defined(target);
        self.add_alias(name, self.declarations.data_symbol(target).expect("it is declared"), is_defined)?;
        self.defined_data.insert(id);
        Ok(())
    }

    /// Adds an alias of `target`, or of what `target` is an alias of.
    fn add_alias(&mut self, name: SymbolName, target: SymbolName, is_defined: bool) -> Result<(), ModuleError> {
        if !is_defined {
            return Err(ModuleError::UndefinedTarget { name, target });
        }
        let target = self.alias(&target).map_or(target, |alias| alias.target.clone());
        self.alias_index.insert(name.clone(), self.aliases.len());
        self.aliases.push(Alias { name, target });
        Ok(())
    }
}

/// Data.
impl Definitions {
    pub(crate) fn define_data(&mut self, id: DataId, data: &DataDescription) -> Result<(), ModuleError> {
        let declared = self.declarations.data_object(id).ok_or(undeclared(DATA, id.as_u32()))?;
        let name = self.declarations.data_symbol(id).expect("it is declared");
        let name = check_definable(name, &self.declarations, self.is_data_defined(id))?;
        check_align(&name, data.align)?;
        if data.size() > MAX_DATA_BYTES {
            return Err(ModuleError::TooLarge { name, limit: MAX_DATA_BYTES });
        }
        let pointers = self.check_pointers(&name, data)?;
        let mut bytes = match &data.contents {
            DataContents::Zeros(_) => Vec::new(),
            DataContents::Bytes(bytes) => bytes.clone(),
        };
        let end = pointers.last().map_or(0, |pointer| (pointer.offset + POINTER_BYTES) as usize);
        bytes.resize(bytes.len().max(end), 0);
        let (writable, tls) = (declared.kind.is_writable(), !declared.kind.is_shared());
        let (align, size, placement) = (data.align, data.size(), data.placement.clone());
        self.data.push((id, DataObject { name, align, writable, tls, bytes, size, pointers, placement }));
        self.defined_data.insert(id);
        Ok(())
    }

    /// Returns the pointers of a data object, sorted and with their names resolved.
    fn check_pointers(&self, name: &SymbolName, data: &DataDescription) -> Result<Vec<DataPointer>, ModuleError> {
        let mut pointers = data.pointers.clone();
        sort_by_key(&mut pointers, |pointer| pointer.offset);
        let mut free = 0;
        for pointer in &mut pointers {
            let offset = pointer.offset;
            let fits = offset.checked_add(POINTER_BYTES).is_some_and(|end| end <= data.size());
            if !fits || offset < free {
                return Err(ModuleError::OutOfBounds { name: name.clone(), offset });
            }
            free = offset + POINTER_BYTES;
            pointer.symbol = self.resolve(&pointer.symbol)?;
        }
        Ok(pointers)
    }
}

fn undeclared(namespace: u32, index: u32) -> ModuleError {
    ModuleError::Undeclared(SymbolName::User(namespace, index))
}

/// Checks that `symbol` may be defined, and returns it.
fn check_definable(symbol: SymbolName, declarations: &Declarations, defined: bool) -> Result<SymbolName, ModuleError> {
    if declarations.linkage(&symbol) == Linkage::Import {
        Err(ModuleError::InvalidImportDefinition(symbol))
    } else if defined {
        Err(ModuleError::DuplicateDefinition(symbol))
    } else {
        Ok(symbol)
    }
}

fn check_align(name: &SymbolName, align: u64) -> Result<(), ModuleError> {
    if align.is_power_of_two() && align <= MAX_ALIGN {
        Ok(())
    } else {
        Err(ModuleError::Alignment { name: name.clone(), align })
    }
}

/// Returns the name under which a function is compiled, from its symbol.
fn func_name(symbol: &SymbolName) -> FuncName {
    match symbol {
        SymbolName::User(namespace, index) => FuncName::User(*namespace, *index),
        SymbolName::Named(word) => FuncName::Named(word.to_string()),
        SymbolName::LibCall(_) | SymbolName::KnownSymbol(_) | SymbolName::Literal(_) => {
            unreachable!("no declaration has such a symbol")
        }
    }
}
