//! Register allocation: the stage that produces an allocation for the code, and the stage that checks it. The
//! allocation comes from an allocator, or is read from the steps that are emitted.

use crate::allocators::FUSED;
use crate::compiler::{Compiler, StageMemory};
use crate::error::{CompileError, rejected};
use crate::select::Selected;
use crate::stage::Stage;
use crate::stages::{Log, Stages, phases_text, solution_text};
use kingpost_ir::extfunc::FuncName;
use kingpost_mach::text;
use kingpost_meter::MeterRef;
use kingpost_regalloc::Diagnostics;

/// Allocates registers for the code in `cx`, which belongs to the function `name`.
pub(crate) fn run(
    compiler: &Compiler,
    cx: &mut StageMemory,
    name: &FuncName,
    selected: Selected,
    s: &mut Stages<'_>,
) -> Result<(), CompileError> {
    let (isa, settings) = (compiler.isa(), compiler.settings());
    let StageMemory { code, allocator, allocation, fused, .. } = cx;
    let allocator = allocator.get_mut();
    let (mut log, mut phases) = (Log, Vec::new());
    let mut diagnostics = Diagnostics::default();
    diagnostics.observer = log::log_enabled!(log::Level::Trace).then_some(&mut log as _);
    diagnostics.verifies = settings.verify_each;
    let meter = &*s.guard.meter;
    diagnostics.meter = MeterRef::from(meter);
    diagnostics.texts = s.takes(Stage::Regalloc).then_some(&mut phases);
    s.run(Stage::Regalloc, || match selected {
        Selected::VirtualRegisters => {
            let before = meter.spent();
            allocator.allocate_with(&code.problem, isa.env(), allocation, &mut diagnostics)?;
            // An allocator may leave the meter alone.
            let charged = meter.spent() - before;
            meter.spend(allocation.stats.steps.saturating_sub(charged)).map_err(CompileError::from)
        }
        Selected::Registers if compiler.observes_code() => fused
            .allocation(code, isa.rows(), isa.env(), allocation, MeterRef::from(meter))
            .map_err(|error| CompileError::Rejected { allocator: FUSED, report: error.to_string() }),
        Selected::Registers | Selected::Allocated => Ok(()),
    })?;
    s.dump(|| phases_text(&phases) + &solution_text(name, &code.problem, allocation));
    if settings.regalloc_verbose_logs {
        log::info!("{}", text::display(name, code, Some(allocation), isa.rows()));
    }
    Ok(())
}

/// Runs the checker on the allocation, before any byte is emitted.
pub(crate) fn check(
    compiler: &Compiler,
    cx: &mut StageMemory,
    name: &FuncName,
    selected: Selected,
    s: &mut Stages<'_>,
) -> Result<(), CompileError> {
    let isa = compiler.isa();
    let StageMemory { code, allocator, allocation, checker, .. } = cx;
    let author = if selected == Selected::Registers { FUSED } else { allocator.get_mut().name() };
    s.run(Stage::Check, || {
        checker.check(&code.problem, isa.env(), allocation).map_err(|errors| rejected(author, &errors))
    })?;
    s.dump(|| text::display(name, code, Some(allocation), isa.rows()).to_string());
    Ok(())
}
