//! Compilation of a module's functions.

use cranelift_codegen::isa::{OwnedTargetIsa, TargetIsa};
use cranelift_codegen::kingpost::{self, Routines};
use cranelift_codegen::{CodegenResult, CompiledCode, Context, ir};
use cranelift_module::{FuncId, ModuleReloc};
use std::fmt;

/// Our compiler for the target and settings of a [`TargetIsa`], for one module.
///
/// Clients without modules call [`Context::compile`], which compiles with our compiler, too. This compiler also calls
/// library routines that Cranelift does not have, because modules find them.
pub(crate) struct Compiler {
    isa: OwnedTargetIsa,
    compiler: kingpost::Compiler,
}

impl fmt::Debug for Compiler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compiler").field("target", &self.isa.triple()).finish_non_exhaustive()
    }
}

impl Compiler {
    /// Returns a compiler for the target and settings of `isa`, with one of our allocators by name. If `regalloc` is
    /// `None`, the environment or `isa` selects the allocator.
    ///
    /// # Errors
    /// [`CodegenError::Unsupported`](cranelift_codegen::CodegenError::Unsupported) with the target, setting, CPU flag
    /// or allocator that is not supported.
    pub(crate) fn new(isa: OwnedTargetIsa, regalloc: Option<&str>) -> CodegenResult<Compiler> {
        let compiler = kingpost::Compiler::new(&*isa, regalloc, Routines::All)?;
        Ok(Compiler { isa, compiler })
    }

    /// Returns the description of the target that the compiler was created for.
    pub(crate) fn isa(&self) -> &dyn TargetIsa {
        &*self.isa
    }

    /// Compiles `ctx.func` as a module's function `id`, and returns its code and its relocations in the form of
    /// modules. `is_preemptible` returns `true` for symbols whose definition another module may replace.
    ///
    /// # Errors
    /// See [`Context::compile`].
    pub(crate) fn define<'a>(
        &mut self,
        id: FuncId,
        ctx: &'a mut Context,
        is_preemptible: impl Fn(&ir::UserExternalName) -> bool,
    ) -> CodegenResult<(&'a CompiledCode, Vec<ModuleReloc>)> {
        ctx.compile_with(&mut self.compiler, &*self.isa, Some(&is_preemptible)).map_err(|error| error.inner)?;
        let ctx: &'a Context = ctx;
        let code = ctx.compiled_code().expect("it was just compiled");
        let relocs = code.buffer.relocs().iter().map(|reloc| ModuleReloc::from_mach_reloc(reloc, &ctx.func, id));
        Ok((code, relocs.collect()))
    }
}
