//! Compilation of a function of Cranelift by our compiler.

use crate::compiled_code::{Publisher, name_by_number};
use crate::pool::{Key, Pool};
use crate::{settings, translate};
use cranelift_codegen::{CodegenError, CodegenResult, CompiledCode, ir, isa};
use kingpost_codegen::{CompileError, DumpReceiver, Options, Settings, Stage};
use kingpost_ir::extfunc::{ExtFuncData, ExternalName};
use kingpost_ir::preamble::GlobalValueData;
use kingpost_ir::{InstData, InstView};
use kingpost_mach::ModuleBuffer;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Library routines that compiled code may call.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Routines {
    /// Routines that Cranelift has. Operations that need another one are refused.
    #[default]
    OfCranelift,
    /// All routines. Those that Cranelift does not have are user names, see [`routine`](crate::routine).
    All,
}

/// Our compiler for the target and settings of a [`TargetIsa`](isa::TargetIsa).
///
/// The client's `TargetIsa` gives target, settings and conventions. Its own compiler compiles a single empty function,
/// which determines the form of [`CompiledCode`].
pub struct Compiler {
    key: Key,
    /// `None` once the compiler is dropped.
    parts: Option<Box<Parts>>,
}

/// Memory of a compiler. It serves one compiler after the other.
struct Parts {
    back_end: BackEnd,
    /// Back end for functions with labeled values, created for the first one.
    labelling: Option<BackEnd>,
    func: kingpost_ir::Function,
    module: ModuleBuffer,
    listing: Arc<Listing>,
    publisher: Publisher,
}

struct BackEnd {
    compiler: kingpost_codegen::Compiler,
    context: kingpost_codegen::Context,
}

impl BackEnd {
    fn new(
        isa: &dyn isa::TargetIsa,
        settings: Settings,
        routines: Routines,
        listing: &Arc<Listing>,
    ) -> CodegenResult<BackEnd> {
        let unsupported = |error: kingpost_codegen::TargetError| CodegenError::Unsupported(error.to_string());
        let options = Options::default().with(|options| {
            options.dump = Some(listing.clone());
            options.no_compiler_routines = routines == Routines::OfCranelift;
        });
        let flags = settings::cpu_flags(isa);
        let compiler = kingpost_codegen::Compiler::new(isa.triple(), settings, &flags).map_err(unsupported)?;
        let compiler = compiler.with_options(options);
        Ok(BackEnd { context: compiler.context(), compiler })
    }
}

impl Parts {
    fn new(isa: &dyn isa::TargetIsa, regalloc: Option<&str>, routines: Routines) -> CodegenResult<Parts> {
        let settings = settings::shared(isa, regalloc)?;
        let listing = Arc::new(Listing::default());
        let back_end = BackEnd::new(isa, settings, routines, &listing)?;
        let publisher = Publisher::new(isa)?;
        let (func, module) = Default::default();
        Ok(Parts { back_end, labelling: None, func, module, listing, publisher })
    }
}

/// The parts of compilers that were dropped.
static DROPPED: Pool<Box<Parts>> = Pool::new();

impl Drop for Compiler {
    fn drop(&mut self) {
        // A panic may have left the parts in an inconsistent state.
        if let Some(parts) = self.parts.take().filter(|_| !std::thread::panicking()) {
            DROPPED.keep(std::mem::take(&mut self.key), parts);
        }
    }
}

impl fmt::Debug for Compiler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compiler").field("settings", self.settings()).finish_non_exhaustive()
    }
}

impl Compiler {
    /// Returns a compiler for the target and settings of `isa`, with one of our allocators by name. If `regalloc` is
    /// `None`, the environment or `isa` selects the allocator.
    ///
    /// # Errors
    /// [`CodegenError::Unsupported`] with the target, setting, CPU flag or allocator that is not supported.
    pub fn new(isa: &dyn isa::TargetIsa, regalloc: Option<&str>, routines: Routines) -> CodegenResult<Compiler> {
        let key = Key::new(isa, regalloc, routines);
        let parts = match DROPPED.take(&key) {
            Some(parts) => parts,
            None => Box::new(Parts::new(isa, regalloc, routines)?),
        };
        Ok(Compiler { key, parts: Some(parts) })
    }

    /// Returns `true` if the compiler is for the target and settings of `isa`.
    pub fn is_for(&self, isa: &dyn isa::TargetIsa) -> bool {
        self.key.is_for(isa)
    }

    /// Returns the settings, among them the name of the allocator in [`kingpost_codegen::ALLOCATORS`].
    pub fn settings(&self) -> &Settings {
        self.parts.as_ref().expect("it is not dropped").back_end.compiler.settings()
    }

    /// Compiles `func`, and returns its code. `isa` must have the target and settings of the compiler. `with_listing`
    /// requests the text of the code. `is_preemptible` returns `true` for symbols whose definition another module may
    /// replace; it is `None` if this is unknown.
    ///
    /// The only change of `func` is the addition of names of routines that Cranelift does not have, with
    /// [`Routines::All`].
    ///
    /// # Errors
    /// [`CodegenError::Unsupported`] with opcode, type and target if we have no code for a function, or with a report
    /// if the checker rejects an allocation. Errors of limits. The compiler may be used again.
    pub fn compile(
        &mut self,
        isa: &dyn isa::TargetIsa,
        func: &mut ir::Function,
        with_listing: bool,
        is_preemptible: Option<&dyn Fn(&ir::UserExternalName) -> bool>,
    ) -> CodegenResult<CompiledCode> {
        debug_assert!(self.is_for(isa), "a compiler for other settings");
        let parts = self.parts.as_mut().expect("it is not dropped");
        translate(func, &mut parts.func)?;
        name_by_number(&mut parts.func);
        if isa.flags().is_pic() {
            match is_preemptible {
                Some(is_preemptible) => unlocate(&mut parts.func, func, is_preemptible),
                None => unlocate_addresses(&mut parts.func),
            }
        }
        parts.module.clear();
        // A function that failed may have left its listing.
        parts.listing.take();
        parts.listing.wanted.store(with_listing, Ordering::Relaxed);
        let has_labels = func.dfg.values_labels.as_ref().is_some_and(|labels| !labels.is_empty());
        if has_labels && parts.labelling.is_none() {
            let settings = parts.back_end.compiler.settings().clone().with(|settings| settings.debug_values = true);
            let routines = self.key.routines();
            parts.labelling = Some(BackEnd::new(isa, settings, routines, &parts.listing)?);
        }
        let labelling = parts.labelling.as_mut().filter(|_| has_labels);
        let BackEnd { compiler, context } = labelling.unwrap_or(&mut parts.back_end);
        compiler.compile(context, &mut parts.func, &mut parts.module).map_err(codegen_error)?;
        parts.publisher.publish(&parts.module.function(0), parts.listing.take(), func)
    }

    /// Returns a text that differs for compilers whose code may differ for functions with one key of Cranelift's
    /// incremental cache.
    pub fn cache_key(&self) -> String {
        format!("kingpost {} {}", crate::VERSION, self.settings().regalloc_algorithm)
    }

    /// Returns the last compiled code as an entry of Cranelift's incremental cache. The entry is valid for all
    /// functions with the cache key of the compiled function.
    pub fn cache_entry(&self) -> &[u8] {
        self.parts.as_ref().expect("it is not dropped").publisher.entry()
    }
}

/// Marks preemptible symbols as not colocated, because linkers of shared objects refuse code that contains the
/// distance to such a symbol.
fn unlocate(
    func: &mut kingpost_ir::Function,
    from: &ir::Function,
    is_preemptible: &dyn Fn(&ir::UserExternalName) -> bool,
) {
    let names = from.params.user_named_funcs();
    let is_located = |name: &ExternalName| match *name {
        ExternalName::User(name) => !is_preemptible(&names[ir::UserExternalNameRef::from_u32(name.as_u32())]),
        _ => true,
    };
    func.dfg.ext_funcs.values_mut().for_each(|callee| callee.colocated &= is_located(&callee.name));
    for global in func.global_values.values_mut() {
        if let GlobalValueData::Symbol { name, colocated, tls: false, .. } = global {
            *colocated &= is_located(name);
        }
    }
}

/// Marks all symbols whose address is taken as not colocated, so that addresses come from the global offset table, like
/// upstream's. Calls remain as the function declares them.
fn unlocate_addresses(func: &mut kingpost_ir::Function) {
    for global in func.global_values.values_mut() {
        if let GlobalValueData::Symbol { colocated, tls: false, .. } = global {
            *colocated = false;
        }
    }
    if !func.dfg.ext_funcs.values().any(|callee| callee.colocated) {
        return;
    }
    let mut next_block = func.layout.entry_block();
    while let Some(block) = next_block {
        let mut next_inst = func.layout.first_inst(block);
        while let Some(inst) = next_inst {
            next_inst = func.layout.next_inst(inst);
            if let InstView::FuncAddr { func: callee } = func.dfg.view(inst)
                && func.dfg.ext_funcs[callee].colocated
            {
                let by_table = ExtFuncData { colocated: false, ..func.dfg.ext_funcs[callee].clone() };
                let by_table = func.dfg.ext_funcs.push(by_table);
                func.dfg.replace_inst(inst, InstData::func_addr(func.dfg.ctrl_type(inst), by_table));
            }
        }
        next_block = func.layout.next_block(block);
    }
}

/// The text of the emitted code, if it is requested.
#[derive(Default)]
struct Listing {
    wanted: AtomicBool,
    text: Mutex<Option<String>>,
}

impl Listing {
    fn take(&self) -> Option<String> {
        self.text.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl DumpReceiver for Listing {
    fn takes(&self, stage: Stage, _name: &str) -> bool {
        stage == Stage::Emit && self.wanted.load(Ordering::Relaxed)
    }

    fn take(&self, _stage: Stage, _name: &str, text: String) {
        *self.text.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
    }
}

fn codegen_error(error: CompileError) -> CodegenError {
    match error {
        CompileError::Limit { .. } => CodegenError::ImplLimitExceeded,
        error => CodegenError::Unsupported(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that clients may keep a compiler in memory that threads share.
    #[test]
    fn compilers_are_shared_by_threads() {
        fn check<T: Send + Sync>() {}
        check::<Compiler>();
    }
}
