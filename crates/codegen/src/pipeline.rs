//! The whole compiler. Each line is a stage; a stage is implemented in a file with its name.

use crate::compiler::{Compiler, StageMemory};
use crate::select::{self, Selected};
use crate::{allocate, emit, error::CompileError, expand, stage::Stage, stages::Stages, validate};
use kingpost_ir::{Function, extfunc::FuncName, verifier::verify_links};
use kingpost_mach::{ModuleBuffer, check_limit, settings::OptLevel, text, verify};
use kingpost_meter::HeapBytes;
use kingpost_opt::Pass;

/// Compiles `func` and adds the code to `module`.
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
    // Keep the function as it was read, if its code must be proved.
    validate::begin(compiler, cx, func);

    // Check the rules of the language. Later stages may panic on invalid input, but they must terminate in any case.
    let size = func.dfg.num_insts() + func.dfg.num_blocks();
    if settings.enable_verifier {
        s.reserve(3 * size)?;
        s.run(Stage::Verify, || cx.verifier.verify(func, Some(target)))?;
        s.dump(|| func.to_string());
    } else {
        s.reserve(size)?;
        verify_links(func)?;
    }

    cx.hold(|| func.heap_bytes())?;

    // Replace global values, and arithmetic that no machine supports, by plain instructions and calls.
    s.run(Stage::Expand, || expand::run(func, compiler))?;
    s.reserve(2 * (func.dfg.num_insts() - clif_insts as usize))?;
    s.made(func, &mut cx.verifier, target)?;
    cx.hold(|| func.heap_bytes())?;

    // Optimize. Without the optimizer, remove only code that costs less to remove than to compile.
    if settings.opt_level == OptLevel::None {
        s.change(Stage::Cleanup, || cx.optimizer.cleanup(func, &mut cx.analyses))?;
        s.made(func, &mut cx.verifier, target)?;
    } else {
        cx.optimizer.start();
        for pass in Pass::ALL.into_iter().filter(|&pass| s.options.passes.contains(pass)) {
            s.change(Stage::of_pass(pass), || cx.optimizer.run(pass, func, &mut cx.analyses))?;
            s.made(func, &mut cx.verifier, target)?;
            cx.hold(|| func.heap_bytes())?;
        }
        cx.optimizer.finish(func);
    }

    // Select machine instructions over virtual registers or, with `fused`, over registers.
    let selected = select::run(compiler, cx, func, s)?;
    s.dump(|| text::display(&func.name, &cx.code, None, compiler.isa().rows()).to_string());

    cx.hold(|| func.heap_bytes())?;

    // Free the input, because allocation needs most memory and reads only the code.
    cx.release_input(func, compiler);
    if s.guard.meter.counts_bytes() {
        s.input_bytes = func.heap_bytes();
    }
    compile_code(compiler, cx, &func.name, selected, module, s)?;
    // Prove that the bytes mean what the function means.
    validate::run(compiler, cx, func, module, s)?;
    s.stats.clif_insts += clif_insts;
    Ok(())
}

/// Allocates and emits the selected machine code in `cx`, which belongs to the function `name`.
pub(crate) fn compile_code(
    compiler: &Compiler,
    cx: &mut StageMemory,
    name: &FuncName,
    selected: Selected,
    module: &mut ModuleBuffer,
    s: &mut Stages<'_>,
) -> Result<(), CompileError> {
    let size = cx.code.problem.size();
    s.verify(size, || verify::verify(&cx.code, compiler.isa().rows(), compiler.isa().features()))?;
    s.verify(2 * size, || cx.code.problem.verify_with(compiler.isa().env()).err().unwrap_or_default())?;

    // Give every operand a register or a slot, and check the allocation before any byte is emitted.
    allocate::run(compiler, cx, name, selected, s)?;
    cx.hold(|| s.input_bytes)?;
    if compiler.settings().regalloc_checker {
        allocate::check(compiler, cx, name, selected, s)?;
    }

    // Lay out the frame and encode the instructions.
    emit::run(compiler, cx, name, selected, module, s)?;
    cx.hold(|| s.input_bytes)
}
