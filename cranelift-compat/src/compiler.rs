//! Compilation of a function of Cranelift by our compiler.

use crate::compiled_code::Publisher;
use crate::pool::{Key, Pool};
use crate::{settings, translate};
use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::{CodegenError, CodegenResult, CompiledCode, Context, ir, isa};
use cranelift_module::{FuncId, ModuleReloc};
use kingpost_codegen::{CompileError, DumpReceiver, Options, Settings, Stage};
use kingpost_ir::extfunc::ExternalName;
use kingpost_ir::preamble::GlobalValueData;
use kingpost_mach::ModuleBuffer;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Our compiler for the target and settings of a [`TargetIsa`](isa::TargetIsa).
///
/// [`Compiler::compile`] corresponds to `Context::compile` upstream. The client's `TargetIsa` gives target, settings
/// and conventions. Its own compiler compiles a single empty function, which determines the form of [`CompiledCode`].
pub struct Compiler {
    isa: OwnedTargetIsa,
    key: Key,
    /// `None` once the compiler is dropped.
    parts: Option<Box<Parts>>,
}

/// Parts of a compiler other than the client's `TargetIsa`. They serve one compiler after the other.
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
    fn new(isa: &dyn isa::TargetIsa, settings: Settings, listing: &Arc<Listing>) -> CodegenResult<BackEnd> {
        let unsupported = |error: kingpost_codegen::TargetError| CodegenError::Unsupported(error.to_string());
        let options = Options::default().with(|options| options.dump = Some(listing.clone()));
        let flags = settings::cpu_flags(isa);
        let compiler = kingpost_codegen::Compiler::new(isa.triple(), settings, &flags).map_err(unsupported)?;
        let compiler = compiler.with_options(options);
        Ok(BackEnd { context: compiler.context(), compiler })
    }
}

impl Parts {
    fn new(isa: &dyn isa::TargetIsa, regalloc: Option<&str>) -> CodegenResult<Parts> {
        let settings = settings::shared(isa, regalloc)?;
        let listing = Arc::new(Listing::default());
        let back_end = BackEnd::new(isa, settings, &listing)?;
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
        f.debug_struct("Compiler").field("target", &self.isa.triple()).finish_non_exhaustive()
    }
}

impl Compiler {
    /// Returns a compiler for the target and settings of `isa`, with the allocator that `isa` or the environment
    /// selects.
    ///
    /// # Errors
    /// [`CodegenError::Unsupported`] with the target, setting or CPU flag that is not supported.
    pub fn new(isa: OwnedTargetIsa) -> CodegenResult<Compiler> {
        Compiler::with_regalloc(isa, None)
    }

    /// Returns a compiler with one of our allocators by name.
    ///
    /// # Errors
    /// See [`Compiler::new`]. Also fails if there is no such allocator.
    pub fn with_regalloc(isa: OwnedTargetIsa, regalloc: Option<&str>) -> CodegenResult<Compiler> {
        let key = Key::new(&*isa, regalloc);
        let parts = match DROPPED.take(&key) {
            Some(parts) => parts,
            None => Box::new(Parts::new(&*isa, regalloc)?),
        };
        Ok(Compiler { isa, key, parts: Some(parts) })
    }

    /// Returns the description of the target that the compiler was created for.
    pub fn isa(&self) -> &dyn isa::TargetIsa {
        &*self.isa
    }

    /// Returns the name of the allocator in [`kingpost_codegen::ALLOCATORS`].
    pub fn regalloc(&self) -> &str {
        let parts = self.parts.as_ref().expect("it is not dropped");
        &parts.back_end.compiler.settings().regalloc_algorithm
    }

    /// Compiles `ctx.func` without changing it. Returns the code, which [`Context::compiled_code`] returns from then
    /// on.
    ///
    /// # Errors
    /// [`CodegenError::Verifier`] if the function breaks rules and the client's `enable_verifier` is on.
    /// [`CodegenError::Unsupported`] with opcode, type and target if we have no code for it, or with a report if the
    /// checker rejects an allocation. Errors of limits. The compiler may be used again.
    pub fn compile<'a>(&mut self, ctx: &'a mut Context) -> CodegenResult<&'a CompiledCode> {
        self.compile_among(ctx, |_| false)
    }

    /// Compiles like [`Compiler::compile`]. `is_preemptible` returns `true` for symbols whose definition another
    /// module may replace.
    fn compile_among<'a>(
        &mut self,
        ctx: &'a mut Context,
        is_preemptible: impl Fn(&ir::UserExternalName) -> bool,
    ) -> CodegenResult<&'a CompiledCode> {
        if self.isa.flags().enable_verifier() {
            ctx.compute_cfg();
            ctx.compute_domtree();
            ctx.verify(&*self.isa)?;
        }
        let parts = self.parts.as_mut().expect("it is not dropped");
        translate(&ctx.func, &mut parts.func)?;
        if self.isa.flags().is_pic() {
            unlocate(&mut parts.func, &ctx.func, is_preemptible);
        }
        parts.module.clear();
        // A function that failed may have left its listing.
        parts.listing.take();
        parts.listing.wanted.store(ctx.want_disasm, Ordering::Relaxed);
        let has_labels = ctx.func.dfg.values_labels.as_ref().is_some_and(|labels| !labels.is_empty());
        if has_labels && parts.labelling.is_none() {
            let settings = parts.back_end.compiler.settings().clone().with(|settings| settings.debug_values = true);
            parts.labelling = Some(BackEnd::new(&*self.isa, settings, &parts.listing)?);
        }
        let labelling = parts.labelling.as_mut().filter(|_| has_labels);
        let BackEnd { compiler, context } = labelling.unwrap_or(&mut parts.back_end);
        compiler.compile(context, &mut parts.func, &mut parts.module).map_err(codegen_error)?;
        parts.publisher.publish(&*self.isa, &parts.module.function(0), parts.listing.take(), ctx)
    }

    /// Compiles `ctx.func` as a module's function `id`, and returns its code and its relocations in the form of
    /// modules. `is_preemptible` returns `true` for symbols whose definition another module may replace.
    ///
    /// # Errors
    /// See [`Compiler::compile`].
    pub(crate) fn define<'a>(
        &mut self,
        id: FuncId,
        ctx: &'a mut Context,
        is_preemptible: impl Fn(&ir::UserExternalName) -> bool,
    ) -> CodegenResult<(&'a CompiledCode, Vec<ModuleReloc>)> {
        self.compile_among(ctx, is_preemptible)?;
        let ctx: &'a Context = ctx;
        let code = ctx.compiled_code().expect("it was just compiled");
        let relocs = code.buffer.relocs().iter().map(|reloc| ModuleReloc::from_mach_reloc(reloc, &ctx.func, id));
        Ok((code, relocs.collect()))
    }
}

/// Marks preemptible symbols as not colocated, because linkers of shared objects refuse code that contains the
/// distance to such a symbol. Upstream loads all addresses from the global offset table.
fn unlocate(
    func: &mut kingpost_ir::Function,
    from: &ir::Function,
    is_preemptible: impl Fn(&ir::UserExternalName) -> bool,
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
