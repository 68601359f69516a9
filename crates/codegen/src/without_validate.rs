//! The stage `validate` of a build without the feature: it does nothing, because [`Compiler::new`] refuses the setting.

use crate::compiler::{Compiler, Context, StageMemory};
use crate::error::CompileError;
use crate::stages::Stages;
use kingpost_ir::Function;
use kingpost_mach::ModuleBuffer;

/// Keeps nothing.
pub(crate) fn begin(_compiler: &Compiler, _cx: &mut StageMemory, _func: &Function) {}

/// Returns `None`.
pub(crate) fn take_input(_cx: &mut Context) -> Option<Box<Function>> {
    None
}

/// Returns `true`.
pub(crate) fn may_be_cached(_cx: &Context) -> bool {
    true
}

/// Returns `Ok`.
pub(crate) fn run(
    _compiler: &Compiler,
    _cx: &mut StageMemory,
    _func: &Function,
    _module: &mut ModuleBuffer,
    _s: &mut Stages<'_>,
) -> Result<(), CompileError> {
    Ok(())
}
