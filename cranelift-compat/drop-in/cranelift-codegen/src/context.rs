//! The context of a compilation, with the public fields and methods of Cranelift's.
//!
//! `compile_stencil` is missing: Cranelift has no public name for its result, and calls it public for tests only.

use crate::log;
use crate::select::{Selected, selected};
use cranelift_compat_core::{Compiler, Routines};
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use upstream::control::ControlPlane;
use upstream::dominator_tree::DominatorTree;
use upstream::flowgraph::ControlFlowGraph;
use upstream::incremental_cache::{CacheKvStore, compute_cache_key, try_finish_recompile};
use upstream::inline::Inline;
use upstream::ir::{Function, UserExternalName};
use upstream::isa::TargetIsa;
use upstream::isa::unwind::UnwindInfo;
use upstream::loop_analysis::LoopAnalysis;
use upstream::settings::FlagsOrIsa;
use upstream::verifier::{VerifierErrors, VerifierResult, verify_context};
use upstream::{CodegenResult, CompileError, CompiledCode, timing};

/// Result of a compilation. An error comes with the function.
type CompileResult<'a, T> = Result<T, CompileError<'a>>;

/// See [`compiled_functions`].
static COMPILED_FUNCTIONS: AtomicU64 = AtomicU64::new(0);

/// Returns how many functions our compiler has compiled in this process. Cranelift's compiler does not count.
pub fn compiled_functions() -> u64 {
    COMPILED_FUNCTIONS.load(Ordering::Relaxed)
}

/// A function, its analyses and its compiled code.
pub struct Context {
    /// The function to compile.
    pub func: Function,
    /// The control-flow graph of `func`.
    pub cfg: ControlFlowGraph,
    /// The dominator tree of `func`.
    pub domtree: DominatorTree,
    /// The loops of `func`.
    pub loop_analysis: LoopAnalysis,
    /// Whether compiled code gets a listing.
    pub want_disasm: bool,
    compiled_code: Option<CompiledCode>,
    compiler: Option<Compiler>,
    /// Cranelift's context, for its passes.
    upstream: Option<Box<upstream::Context>>,
}

impl Default for Context {
    fn default() -> Context {
        Context::new()
    }
}

impl Context {
    /// Returns a context for an empty function. A context should serve many functions.
    pub fn new() -> Context {
        Context::for_function(Function::new())
    }

    /// Returns a context for a function.
    pub fn for_function(func: Function) -> Context {
        Context {
            func,
            cfg: ControlFlowGraph::new(),
            domtree: DominatorTree::new(),
            loop_analysis: LoopAnalysis::new(),
            want_disasm: false,
            compiled_code: None,
            compiler: None,
            upstream: None,
        }
    }

    /// Removes function, analyses and compiled code, and keeps memory for the next function.
    pub fn clear(&mut self) {
        self.func.clear();
        self.cfg.clear();
        self.domtree.clear();
        self.loop_analysis.clear();
        self.compiled_code = None;
        self.want_disasm = false;
    }

    /// Returns the code of the last compilation.
    pub fn compiled_code(&self) -> Option<&CompiledCode> {
        self.compiled_code.as_ref()
    }

    /// Takes the code of the last compilation.
    pub fn take_compiled_code(&mut self) -> Option<CompiledCode> {
        self.compiled_code.take()
    }

    /// Sets whether compiled code gets a listing.
    pub fn set_disasm(&mut self, val: bool) {
        self.want_disasm = val;
    }

    /// Compiles the function and appends the code to `mem`.
    ///
    /// # Errors
    /// See [`Context::compile`].
    #[deprecated = "use Context::compile"]
    pub fn compile_and_emit(
        &mut self,
        isa: &dyn TargetIsa,
        mem: &mut Vec<u8>,
        ctrl_plane: &mut ControlPlane,
    ) -> CompileResult<'_, &CompiledCode> {
        let compiled_code = self.compile(isa, ctrl_plane)?;
        mem.extend_from_slice(compiled_code.code_buffer());
        Ok(compiled_code)
    }

    /// Compiles the function for the target and settings of `isa`. Our compiler does not change the function.
    ///
    /// # Errors
    /// [`CodegenError::Verifier`](crate::CodegenError::Verifier) if the function breaks rules and the setting
    /// `enable_verifier` is on. [`CodegenError::Unsupported`](crate::CodegenError::Unsupported) with opcode, type and
    /// target if we have no code for it, with a target, setting or CPU flag that we do not support, or with a report if
    /// the checker rejects an allocation. Errors of limits.
    pub fn compile(&mut self, isa: &dyn TargetIsa, ctrl_plane: &mut ControlPlane) -> CompileResult<'_, &CompiledCode> {
        let compiled = self.compile_by_selected(isa, ctrl_plane);
        self.set_compiled(compiled)
    }

    fn compile_by_selected(
        &mut self,
        isa: &dyn TargetIsa,
        ctrl_plane: &mut ControlPlane,
    ) -> CodegenResult<CompiledCode> {
        match selected(isa)? {
            Selected::Kingpost => self.with_compiler(isa, |context, compiler| context.run(isa, compiler, None)),
            Selected::Cranelift => {
                log::cranelift(isa);
                self.with_upstream(|context| {
                    context.compile(isa, ctrl_plane).map_err(|error| error.inner)?;
                    Ok(context.take_compiled_code().expect("it was just compiled"))
                })
            }
        }
    }

    /// Compiles the function with `compiler`, which must be for the target and settings of `isa`. `is_preemptible`
    /// returns `true` for symbols whose definition another module may replace; it is `None` if this is unknown.
    ///
    /// # Errors
    /// See [`Context::compile`].
    pub fn compile_with(
        &mut self,
        compiler: &mut Compiler,
        isa: &dyn TargetIsa,
        is_preemptible: Option<&dyn Fn(&UserExternalName) -> bool>,
    ) -> CompileResult<'_, &CompiledCode> {
        let compiled = self.run(isa, compiler, is_preemptible);
        self.set_compiled(compiled)
    }

    fn run(
        &mut self,
        isa: &dyn TargetIsa,
        compiler: &mut Compiler,
        is_preemptible: Option<&dyn Fn(&UserExternalName) -> bool>,
    ) -> CodegenResult<CompiledCode> {
        let _time = timing::compile();
        log::kingpost(isa, compiler);
        self.verify_if(isa)?;
        let compiled = compiler.compile(isa, &mut self.func, self.want_disasm, is_preemptible)?;
        COMPILED_FUNCTIONS.fetch_add(1, Ordering::Relaxed);
        Ok(compiled)
    }

    /// Calls `run` with the context's compiler for `isa`. Creates it if there is none.
    fn with_compiler<R>(
        &mut self,
        isa: &dyn TargetIsa,
        run: impl FnOnce(&mut Context, &mut Compiler) -> CodegenResult<R>,
    ) -> CodegenResult<R> {
        let mut compiler = match self.compiler.take().filter(|compiler| compiler.is_for(isa)) {
            Some(compiler) => compiler,
            None => Compiler::new(isa, None, Routines::OfCranelift)?,
        };
        let result = run(self, &mut compiler);
        self.compiler = Some(compiler);
        result
    }

    fn set_compiled(&mut self, compiled: CodegenResult<CompiledCode>) -> CompileResult<'_, &CompiledCode> {
        match compiled {
            Ok(code) => Ok(self.compiled_code.insert(code)),
            Err(inner) => Err(CompileError { inner, func: &self.func }),
        }
    }

    /// Compiles the function, or takes its code from the cache if it is there. The second result is `true` for code
    /// from the cache. Entries of our compiler and of Cranelift's have different keys.
    ///
    /// # Errors
    /// See [`Context::compile`].
    ///
    /// # Panics
    /// If the setting `enable_incremental_compilation_cache_checks` is on and the cached code differs.
    pub fn compile_with_cache(
        &mut self,
        isa: &dyn TargetIsa,
        cache_store: &mut dyn CacheKvStore,
        ctrl_plane: &mut ControlPlane,
    ) -> CompileResult<'_, (&CompiledCode, bool)> {
        let compiled = match selected(isa) {
            Ok(Selected::Kingpost) => {
                self.with_compiler(isa, |context, compiler| context.run_with_cache(isa, compiler, cache_store))
            }
            Ok(Selected::Cranelift) => {
                log::cranelift(isa);
                self.with_upstream(|context| {
                    let compiled = context.compile_with_cache(isa, cache_store, ctrl_plane);
                    let (_, is_cached) = compiled.map_err(|error| error.inner)?;
                    Ok((context.take_compiled_code().expect("it was just compiled"), is_cached))
                })
            }
            Err(error) => Err(error),
        };
        match compiled {
            Ok((code, is_cached)) => Ok((self.compiled_code.insert(code), is_cached)),
            Err(inner) => Err(CompileError { inner, func: &self.func }),
        }
    }

    fn run_with_cache(
        &mut self,
        isa: &dyn TargetIsa,
        compiler: &mut Compiler,
        cache_store: &mut dyn CacheKvStore,
    ) -> CodegenResult<(CompiledCode, bool)> {
        let mut key = HashBytes(Vec::new());
        compute_cache_key(isa, &self.func).hash(&mut key);
        key.0.extend(compiler.cache_key().bytes());
        let cached = cache_store.get(&key.0).and_then(|entry| try_finish_recompile(&self.func, &entry).ok());
        if let Some(cached) = cached {
            if isa.flags().enable_incremental_compilation_cache_checks() {
                let compiled = self.run(isa, compiler, None)?;
                assert_eq!(compiled, cached, "the cached code differs");
            }
            return Ok((cached, true));
        }
        let compiled = self.run(isa, compiler, None)?;
        cache_store.insert(&key.0, compiler.cache_entry().to_vec());
        Ok((compiled, false))
    }
}

/// A hasher that collects bytes.
struct HashBytes(Vec<u8>);

impl Hasher for HashBytes {
    fn finish(&self) -> u64 {
        0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }
}

/// Analyses and Cranelift's passes.
impl Context {
    /// Calls `run` with a context of Cranelift that has the public fields of this one.
    fn with_upstream<R>(&mut self, run: impl FnOnce(&mut upstream::Context) -> R) -> R {
        let mut context = self.upstream.take().unwrap_or_else(|| Box::new(upstream::Context::new()));
        self.swap(&mut context);
        let result = run(&mut context);
        self.swap(&mut context);
        self.upstream = Some(context);
        result
    }

    fn swap(&mut self, other: &mut upstream::Context) {
        std::mem::swap(&mut self.func, &mut other.func);
        std::mem::swap(&mut self.cfg, &mut other.cfg);
        std::mem::swap(&mut self.domtree, &mut other.domtree);
        std::mem::swap(&mut self.loop_analysis, &mut other.loop_analysis);
        std::mem::swap(&mut self.want_disasm, &mut other.want_disasm);
    }

    /// Runs all of Cranelift's passes before lowering. Our compiler does not need them.
    ///
    /// # Errors
    /// If a pass fails.
    pub fn optimize(&mut self, isa: &dyn TargetIsa, ctrl_plane: &mut ControlPlane) -> CodegenResult<()> {
        self.with_upstream(|context| context.optimize(isa, ctrl_plane))
    }

    /// Inlines calls that `inliner` selects. Returns `true` if there were any.
    ///
    /// # Errors
    /// If the resulting function exceeds limits.
    pub fn inline(&mut self, inliner: impl Inline) -> CodegenResult<bool> {
        self.with_upstream(|context| context.inline(inliner))
    }

    /// Returns the offsets in bytes of the blocks of the code, and the edges between them.
    #[deprecated = "use CompiledCode::get_code_bb_layout"]
    #[allow(clippy::type_complexity, reason = "the type of Cranelift's method")]
    pub fn get_code_bb_layout(&self) -> Option<(Vec<usize>, Vec<(usize, usize)>)> {
        self.compiled_code().map(CompiledCode::get_code_bb_layout)
    }

    /// Returns the unwind information of the code, if it has any.
    ///
    /// # Errors
    /// If a register has no number in the format.
    ///
    /// # Panics
    /// If there is no compiled code.
    #[deprecated = "use CompiledCode::create_unwind_info"]
    pub fn create_unwind_info(&self, isa: &dyn TargetIsa) -> CodegenResult<Option<UnwindInfo>> {
        self.compiled_code().expect("the function is compiled").create_unwind_info(isa)
    }

    /// Verifies the function, and its control-flow graph and dominator tree if they are computed.
    ///
    /// # Errors
    /// All broken rules.
    pub fn verify<'a, FOI: Into<FlagsOrIsa<'a>>>(&self, fisa: FOI) -> VerifierResult<()> {
        let mut errors = VerifierErrors::default();
        // The result only says whether the verifier stopped early.
        let _ = verify_context(&self.func, &self.cfg, &self.domtree, fisa, &mut errors);
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    /// Verifies the function if the setting `enable_verifier` is on.
    ///
    /// # Errors
    /// All broken rules.
    pub fn verify_if<'a, FOI: Into<FlagsOrIsa<'a>>>(&self, fisa: FOI) -> CodegenResult<()> {
        let fisa = fisa.into();
        if fisa.flags.enable_verifier() {
            self.verify(fisa)?;
        }
        Ok(())
    }

    /// Removes block parameters that always have one value.
    ///
    /// # Errors
    /// If verification is on and fails.
    pub fn remove_constant_phis<'a, FOI: Into<FlagsOrIsa<'a>>>(&mut self, fisa: FOI) -> CodegenResult<()> {
        self.with_upstream(|context| context.remove_constant_phis(fisa))
    }

    /// Inserts instructions that give every NaN result one bit pattern.
    ///
    /// # Errors
    /// If verification is on and fails.
    pub fn canonicalize_nans(&mut self, isa: &dyn TargetIsa) -> CodegenResult<()> {
        self.with_upstream(|context| context.canonicalize_nans(isa))
    }

    /// Computes the control-flow graph.
    pub fn compute_cfg(&mut self) {
        self.cfg.compute(&self.func);
    }

    /// Computes the dominator tree from the control-flow graph.
    pub fn compute_domtree(&mut self) {
        self.domtree.compute(&self.func, &self.cfg);
    }

    /// Computes the loops from the other analyses.
    pub fn compute_loop_analysis(&mut self) {
        self.loop_analysis.compute(&self.func, &self.cfg, &self.domtree);
    }

    /// Computes the control-flow graph and the dominator tree.
    pub fn flowgraph(&mut self) {
        self.compute_cfg();
        self.compute_domtree();
    }

    /// Removes unreachable blocks.
    ///
    /// # Errors
    /// If verification is on and fails.
    pub fn eliminate_unreachable_code<'a, FOI: Into<FlagsOrIsa<'a>>>(&mut self, fisa: FOI) -> CodegenResult<()> {
        self.with_upstream(|context| context.eliminate_unreachable_code(fisa))
    }

    /// Replaces loads of values that are known.
    pub fn replace_redundant_loads(&mut self) -> CodegenResult<()> {
        self.with_upstream(upstream::Context::replace_redundant_loads)
    }

    /// Sends candidates for superoptimization to `out`.
    #[cfg(feature = "souper-harvest")]
    pub fn souper_harvest(&mut self, out: &mut std::sync::mpsc::Sender<String>) -> CodegenResult<()> {
        self.with_upstream(|context| context.souper_harvest(out))
    }

    /// Runs Cranelift's optimizer on the function.
    ///
    /// # Errors
    /// If verification is on and fails.
    pub fn egraph_pass<'a, FOI: Into<FlagsOrIsa<'a>>>(
        &mut self,
        fisa: FOI,
        ctrl_plane: &mut ControlPlane,
    ) -> CodegenResult<()> {
        self.with_upstream(|context| context.egraph_pass(fisa, ctrl_plane))
    }
}
