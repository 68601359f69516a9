//! The stage `validate` of a build without the feature: it does nothing, because [`Compiler::new`] refuses the setting.

use crate::compiler::{Compiler, StageMemory};
use crate::error::CompileError;
use crate::stages::Stages;
use kingpost_ir::Function;
use kingpost_mach::ModuleBuffer;

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
