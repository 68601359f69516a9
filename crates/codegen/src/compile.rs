//! Compilation of one function through the pipeline, and recovery of the context after a failure.

use crate::compiler::{Compiler, Context, StageMemory};
use crate::error::CompileError;
use crate::pipeline;
use crate::recompile;
use crate::select::Selected;
use crate::stage::Stage;
use crate::stages::Stages;
use kingpost_ir::Function;
use kingpost_ir::extfunc::FuncName;
use kingpost_mach::ModuleBuffer;
use kingpost_mach::text::Parsed;
use std::panic::{AssertUnwindSafe, catch_unwind};

impl Compiler {
    /// Compiles `func` and adds it to `module`. Changes the function on the way (aliases, global values). With a cache
    /// that has the compiled function, changes neither `func` nor the results of stages in `cx`.
    ///
    /// # Errors
    /// [`CompileError`]. The module is unchanged then, and the context may be used again.
    pub fn compile(
        &self,
        cx: &mut Context,
        func: &mut Function,
        module: &mut ModuleBuffer,
    ) -> Result<(), CompileError> {
        match self.usable_cache() {
            Some(cache) => self.compile_cached(cache, cx, func, module),
            None => self.compile_anew(cx, func, module),
        }
    }

    /// Compiles `func` like [`Compiler::compile`], without the cache.
    pub(crate) fn compile_anew(
        &self,
        cx: &mut Context,
        func: &mut Function,
        module: &mut ModuleBuffer,
    ) -> Result<(), CompileError> {
        self.begin(cx);
        // Only dumps use names.
        let name = self.options().dump.as_ref().map(|_| func.name.to_string()).unwrap_or_default();
        let result = self.guarded(cx, &name, module, |cx, module, s| pipeline::compile(self, cx, func, module, s));
        recompile::run(self, cx, func, module, result)
    }

    /// Compiles machine code in the form that [`kingpost_mach::text`] reads, and adds it to `module`. Uses the
    /// allocation of the text if it has one, otherwise an allocator. With the setting `verify_each`, the code may
    /// break every rule.
    ///
    /// # Errors
    /// See [`Compiler::compile`].
    pub fn compile_code(&self, cx: &mut Context, text: Parsed, module: &mut ModuleBuffer) -> Result<(), CompileError> {
        let name = FuncName::Named(text.code.problem.name.clone());
        self.begin(cx);
        let memory = cx.stages.get_mut();
        memory.code = text.code;
        let selected = match text.allocation {
            Some(allocation) => {
                memory.allocation = allocation;
                Selected::Allocated
            }
            None => Selected::VirtualRegisters,
        };
        self.guarded(cx, &name.to_string(), module, |cx, module, stages| {
            stages.current = Stage::Lower;
            pipeline::compile_code(self, cx, &name, selected, module, stages)
        })
    }

    /// Runs stages on the function `name`. Catches panics, because a bug in the compiler must not lose the caller's
    /// other functions.
    fn guarded(
        &self,
        cx: &mut Context,
        name: &str,
        module: &mut ModuleBuffer,
        body: impl FnOnce(&mut StageMemory, &mut ModuleBuffer, &mut Stages<'_>) -> Result<(), CompileError>,
    ) -> Result<(), CompileError> {
        let guard = cx.stages.get().guard.clone();
        guard.meter.begin();
        let mut stages = Stages::new((self.options(), &guard), self.settings().verify_each, name, &mut cx.stats);
        let caught = catch_unwind(AssertUnwindSafe(|| body(cx.stages.get_mut(), module, &mut stages)));
        let stage = stages.current;
        let result = caught.unwrap_or_else(|panic| {
            cx.stages = self.stage_memory();
            let text = panic.downcast_ref::<String>().cloned();
            let message = text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
            Err(CompileError::Bug { stage, message: message.unwrap_or_else(|| "panic".into()) })
        });
        cx.stats.work += guard.meter.spent();
        cx.stats.peak_bytes = cx.stats.peak_bytes.max(guard.meter.peak_bytes());
        if guard.meter.status().is_err() {
            // Stages that end early leave their memory in any state, and it may be large.
            cx.stages = self.stage_memory();
        }
        result.inspect_err(|_| module.discard_unfinished())
    }
}
