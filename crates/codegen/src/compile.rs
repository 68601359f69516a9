//! One function through the pipeline, and what becomes of the context if that fails.

use crate::compiler::{Compiler, Context};
use crate::error::CompileError;
use crate::pipeline;
use crate::stages::Stages;
use kingpost_ir::Function;
use kingpost_mach::ModuleBuffer;
use std::panic::{AssertUnwindSafe, catch_unwind};

impl Compiler {
    /// Compiles `func` and adds it to `module`. The function is changed on the way (aliases, global values).
    ///
    /// # Errors
    /// [`CompileError`]; the module is as before, and the context may be used again.
    pub fn compile(
        &self,
        cx: &mut Context,
        func: &mut Function,
        module: &mut ModuleBuffer,
    ) -> Result<(), CompileError> {
        let name = func.name.to_string();
        let mut stats = std::mem::take(&mut cx.stats);
        let mut stages = Stages::new(self.options(), self.settings().verify_each, &name, &mut stats);
        // A panic is a bug of ours. It must not take the caller's other functions with it.
        let caught = catch_unwind(AssertUnwindSafe(|| pipeline::compile(self, cx, func, module, &mut stages)));
        let stage = stages.current;
        let result = caught.unwrap_or_else(|panic| {
            let stats = std::mem::take(&mut cx.stats);
            *cx = self.context();
            cx.stats = stats;
            let text = panic.downcast_ref::<String>().cloned();
            let message = text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
            Err(CompileError::Bug { stage, message: message.unwrap_or_else(|| "panic".into()) })
        });
        cx.stats = stats;
        result.inspect_err(|_| module.discard_unfinished())
    }
}
