//! Instruction selection: opcodes become machine instructions, SSA values become virtual registers. With
//! `regalloc_algorithm=fused`, registers are allocated in the same walk, unless the function uses a feature that
//! `fused` does not support.

use crate::compiler::{Compiler, StageMemory};
use crate::error::CompileError;
use crate::stage::Stage;
use crate::stages::Stages;
use kingpost_ir::Function;

/// The form of a function after selection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Selected {
    /// Code over virtual registers that needs an allocator.
    VirtualRegisters,
    /// Code over virtual registers, with an allocation.
    Allocated,
    /// Items in registers. If [`Compiler::observes_code`] is `true`, there is also the code and its allocation
    /// problem, which the items solve.
    Registers,
}

/// Selects the instructions of `func`.
pub(crate) fn run(
    compiler: &Compiler,
    cx: &mut StageMemory,
    func: &Function,
    s: &mut Stages<'_>,
) -> Result<Selected, CompileError> {
    let (isa, settings) = (compiler.isa(), compiler.settings());
    let StageMemory { analyses, lowering, code, fused, .. } = cx;
    if compiler.is_fused() {
        let refusal = if func.dfg.has_handler_contexts() {
            Some("a context of handlers")
        } else {
            fused.begin(compiler.observes_code());
            s.run(Stage::Lower, || lowering.run_into(func, analyses, isa, settings, code, fused))?;
            fused.allocated_code().err()
        };
        let Some(what) = refusal else { return Ok(Selected::Registers) };
        log::debug!("left to another allocator: {what}");
        s.stats.unfused += 1;
    }
    s.run(Stage::Lower, || lowering.run(func, analyses, isa, settings, code))?;
    Ok(Selected::VirtualRegisters)
}
