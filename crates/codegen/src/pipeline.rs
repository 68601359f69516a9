//! The whole compiler. Each line is a stage; a stage has one file of its name in the crate that does it.

use crate::compiler::{Compiler, StageMemory};
use crate::error::CompileError;
use crate::select::{self, Selected};
use crate::{allocate, emit, expand, stage::Stage, stages::Stages};
use kingpost_ir::{Function, extfunc::FuncName, verifier::verify_links};
use kingpost_mach::{ModuleBuffer, check_limit, settings::OptLevel, text, verify};
use kingpost_opt::Pass;

/// Compiles `func` into `module`.
pub(crate) fn compile(
    compiler: &Compiler,
    cx: &mut StageMemory,
    func: &mut Function,
    module: &mut ModuleBuffer,
    s: &mut Stages<'_>,
) -> Result<(), CompileError> {
    let (settings, target, clif_insts) = (compiler.settings(), compiler.target_info(), func.dfg.num_insts() as u64);
    check_limit("instructions", clif_insts, s.guard.limits.instructions)?;
    cx.analyses.invalidate();

    // The input keeps the rules of the language; the stages below may panic if it does not, and must end in any case.
    if settings.enable_verifier {
        s.run(Stage::Verify, || cx.verifier.verify(func, Some(target)))?;
        s.dump(|| func.to_string());
    } else {
        verify_links(func)?;
    }

    // Global values, and arithmetic that no machine has, become plain instructions and calls.
    s.run(Stage::Expand, || expand::run(func, compiler))?;
    s.made(func, &mut cx.verifier, target)?;

    // The function computes the same with less work. Without an optimizer, what costs less to remove than to compile goes.
    if settings.opt_level == OptLevel::None {
        s.change(Stage::Cleanup, || cx.optimizer.cleanup(func, &mut cx.analyses))?;
        s.made(func, &mut cx.verifier, target)?;
    } else {
        cx.optimizer.start();
        for pass in Pass::ALL.into_iter().filter(|&pass| s.options.passes.contains(pass)) {
            s.change(Stage::of_pass(pass), || cx.optimizer.run(pass, func, &mut cx.analyses))?;
            s.made(func, &mut cx.verifier, target)?;
        }
        cx.optimizer.finish(func);
    }

    // Opcodes become machine instructions, SSA values become virtual registers or, with `fused`, registers.
    let selected = select::run(compiler, cx, func, s)?;
    s.dump(|| text::display(&func.name, &cx.code, None, compiler.isa().rows()).to_string());

    // Allocation takes more memory than all stages before it, of which it reads the code alone.
    cx.release_input(func, s.options);
    compile_code(compiler, cx, &func.name, selected, module, s)?;
    s.stats.clif_insts += clif_insts;
    Ok(())
}

/// Compiles the machine code in `cx`, the function `name`, that selection left.
pub(crate) fn compile_code(
    compiler: &Compiler,
    cx: &mut StageMemory,
    name: &FuncName,
    selected: Selected,
    module: &mut ModuleBuffer,
    s: &mut Stages<'_>,
) -> Result<(), CompileError> {
    s.verify(|| verify::verify(&cx.code, compiler.isa().rows(), compiler.isa().features()))?;
    s.verify(|| cx.code.problem.verify_with(compiler.isa().env()).err().unwrap_or_default())?;

    // Every operand gets a register or a slot. The checker is a second opinion, before a byte is emitted.
    allocate::run(compiler, cx, name, selected, s)?;
    if compiler.settings().regalloc_checker {
        allocate::check(compiler, cx, name, selected, s)?;
    }

    // The frame is laid out, and instructions become bytes.
    emit::run(compiler, cx, name, selected, module, s)
}
