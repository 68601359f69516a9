//! Emission: allocated machine code becomes bytes of a module.

use crate::compiler::{Compiler, StageMemory};
use crate::error::CompileError;
use crate::select::Selected;
use crate::stage::Stage;
use crate::stages::Stages;
use kingpost_ir::extfunc::FuncName;
use kingpost_mach::{Body, ModuleBuffer};
use kingpost_regalloc::cost::Cost;

/// Emits the code in `cx`, which belongs to the function `name`, into `module`.
pub(crate) fn run(
    compiler: &Compiler,
    cx: &mut StageMemory,
    name: &FuncName,
    selected: Selected,
    module: &mut ModuleBuffer,
    s: &mut Stages<'_>,
) -> Result<(), CompileError> {
    let (isa, options, before) = (compiler.isa(), compiler.emit_options(), module.code_bytes());
    let StageMemory { code, allocation, emitter, fused, .. } = cx;
    let body = match (selected, fused.allocated_code()) {
        (Selected::Registers, Ok(allocated)) => {
            Body::InRegisters(allocated, compiler.observes_code().then_some(allocation))
        }
        _ => Body::Allocated(allocation),
    };
    emitter.set_listing(s.options.list || s.takes(Stage::Emit));
    s.run(Stage::Emit, || emitter.emit(isa, code, body, &options, name.into(), module))?;
    s.dump(|| emitter.listing().display(module.function(module.len() - 1)).to_string());
    s.count(module.code_bytes() - before, || Cost::of(&code.problem, isa.env(), allocation));
    Ok(())
}
