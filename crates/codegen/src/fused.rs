//! The setting `regalloc_algorithm=fused`: registers are allocated while instructions are selected.

use crate::compiler::{Compiler, StageMemory};
use crate::error::CompileError;
use crate::stage::Stage;
use crate::stages::Stages;
use kingpost_ir::Function;
use kingpost_ir::extfunc::FuncName;
use kingpost_mach::ModuleBuffer;

/// Lowers `func` into steps, with a log of problem and allocation if anything reads them. False if the function has
/// something that is beyond this: another allocator serves it then.
pub(crate) fn lower(
    compiler: &Compiler,
    cx: &mut StageMemory,
    func: &Function,
    s: &mut Stages<'_>,
) -> Result<bool, CompileError> {
    let (isa, settings) = (compiler.isa(), compiler.settings());
    let StageMemory { analyses, lowering, code, fused, .. } = cx;
    let refusal = if settings.debug_values {
        Some("labels of values")
    } else if func.dfg.has_handler_contexts() {
        Some("a context of handlers")
    } else {
        fused.begin(is_logged(compiler, s));
        s.run(Stage::Lower, || lowering.run_into(func, analyses, isa, settings, code, fused))?;
        fused.finish(code).err()
    };
    if let Some(what) = refusal {
        log::debug!("left to another allocator: {what}");
        s.stats.unfused += 1;
    }
    Ok(refusal.is_none())
}

/// Does anything but emission look at the code?
fn is_logged(compiler: &Compiler, s: &Stages<'_>) -> bool {
    let (settings, options) = (compiler.settings(), s.options);
    settings.regalloc_checker
        || settings.regalloc_verbose_logs
        || settings.machine_code_cfg_info
        || options.count
        || options.list
        || options.dump.is_some()
        || options.stop_after.is_some()
}

/// Emits the steps.
pub(crate) fn emit(
    compiler: &Compiler,
    cx: &mut StageMemory,
    name: &FuncName,
    module: &mut ModuleBuffer,
    s: &mut Stages<'_>,
) -> Result<(), CompileError> {
    let StageMemory { code, emitter, fused, .. } = cx;
    let (isa, options, code_bytes) = (compiler.isa(), compiler.emit_options(), module.code_bytes());
    emitter.set_listing(false);
    s.run(Stage::Emit, || emitter.emit_steps(isa, code, fused.steps(), &options, name.into(), module))?;
    s.stats.functions += 1;
    s.stats.code_bytes += (module.code_bytes() - code_bytes) as u64;
    Ok(())
}
