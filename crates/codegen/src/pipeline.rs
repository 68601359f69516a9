//! The whole compiler. Each line is a stage; a stage has one file of its name in the crate that does it.

use crate::allocators::FUSED;
use crate::compiler::{Compiler, StageMemory};
use crate::error::{CompileError, rejected};
use crate::stage::Stage;
use crate::stages::{Log, Stages, phases_text, solution_text};
use crate::{expand, fused};
use kingpost_ir::Function;
use kingpost_ir::extfunc::FuncName;
use kingpost_ir::verifier::verify_links;
use kingpost_mach::settings::OptLevel;
use kingpost_mach::{ModuleBuffer, check_limit, text, verify};
use kingpost_opt::Pass;
use kingpost_regalloc::{Allocation, Diagnostics, cost::Cost};

/// Compiles `func` into `module`.
pub(crate) fn compile(
    compiler: &Compiler,
    cx: &mut StageMemory,
    func: &mut Function,
    module: &mut ModuleBuffer,
    s: &mut Stages<'_>,
) -> Result<(), CompileError> {
    let (isa, settings, target) = (compiler.isa(), compiler.settings(), Some(compiler.target_info()));
    let StageMemory { verifier, analyses, optimizer, .. } = cx;
    analyses.invalidate();

    check_limit("instructions", func.dfg.num_insts() as u64, s.guard.limits.instructions)?;

    // The input keeps the rules of the language; the rest need not be able to cope if it does not.
    if settings.enable_verifier {
        s.run(Stage::Verify, || verifier.verify(func, target))?;
        s.dump(|| func.to_string());
    } else {
        // Walks would not end.
        verify_links(func)?;
    }

    // Global values, aliases and arithmetic that no machine has become plain instructions and calls.
    s.run(Stage::Expand, || expand::run(func, compiler))?;
    s.dump(|| func.to_string());
    s.verify(|| verifier.verify(func, target).err())?;

    // The same with less work.
    if settings.opt_level != OptLevel::None {
        optimizer.start();
        for pass in Pass::ALL.into_iter().filter(|&pass| s.options.passes.contains(pass)) {
            s.run(Stage::of_pass(pass), || {
                optimizer.run(pass, func, analyses);
                Ok::<(), CompileError>(())
            })?;
            s.dump(|| func.to_string());
            s.verify(|| verifier.verify(func, target).err())?;
        }
        optimizer.finish(func);
    }

    // Without an optimiser, what costs less to remove than to compile.
    if settings.opt_level == OptLevel::None {
        s.run(Stage::Cleanup, || {
            optimizer.cleanup(func, analyses);
            Ok::<(), CompileError>(())
        })?;
        s.dump(|| func.to_string());
        s.verify(|| verifier.verify(func, target).err())?;
    }

    // SSA values become virtual registers, opcodes become machine instructions; these get their registers at once where the
    // setting says so and the function has nothing that is beyond that.
    let fused = compiler.is_fused() && fused::lower(compiler, cx, func, s)?;
    let StageMemory { analyses, lowering, code, fused: walk, .. } = cx;
    if !fused {
        s.run(Stage::Lower, || lowering.run(func, analyses, isa, settings, code))?;
    }
    let answer = if fused { walk.take_log(code, lowering, isa.env()) } else { None };
    s.dump(|| text::display(&func.name, code, None, isa.rows()).to_string());

    // Allocation takes more memory than all before it, and reads nothing of that but the code.
    let clif_insts = func.dfg.num_insts() as u64;
    cx.release_input(func, s.options);

    // Registers for the values, and bytes for the instructions.
    match answer {
        None if fused => fused::emit(compiler, cx, &func.name, module, s)?,
        answer => compile_code(compiler, cx, &func.name, answer, fused, module, s)?,
    }
    s.stats.clif_insts += clif_insts;
    Ok(())
}

/// Compiles the machine code in `cx`, which is that of the function `name`, with an allocation or the allocator's. If it is
/// `fused`, what is emitted are the steps made with it.
pub(crate) fn compile_code(
    compiler: &Compiler,
    cx: &mut StageMemory,
    name: &FuncName,
    answer: Option<Allocation>,
    fused: bool,
    module: &mut ModuleBuffer,
    s: &mut Stages<'_>,
) -> Result<(), CompileError> {
    let (isa, settings) = (compiler.isa(), compiler.settings());
    let StageMemory { code, allocator, allocation, checker, emitter, fused: walk, .. } = cx;

    let allocator = allocator.get_mut();

    // It keeps the rules of machine code and of allocation problems.
    s.verify(|| verify::verify(code, isa.rows(), isa.features()))?;
    s.verify(|| code.problem.verify_with(isa.env()).err().unwrap_or_default())?;

    // Any allocator answers the problem.
    let (mut log, mut phases) = (Log, Vec::new());
    let mut diagnostics = Diagnostics {
        observer: log::log_enabled!(log::Level::Trace).then_some(&mut log as _),
        verifies: settings.verify_each,
        texts: s.takes(Stage::Regalloc).then_some(&mut phases),
    };
    s.run(Stage::Regalloc, || match answer {
        Some(answer) => {
            *allocation = answer;
            Ok(())
        }
        None => allocator.allocate_with(&code.problem, isa.env(), allocation, &mut diagnostics),
    })?;
    s.dump(|| phases_text(&phases) + &solution_text(name, &code.problem, allocation));
    if settings.regalloc_verbose_logs {
        log::info!("{}", text::display(name, code, Some(allocation), isa.rows()));
    }

    // The checker is a second opinion on the answer, before a byte is emitted.
    if settings.regalloc_checker {
        let author = if fused { FUSED } else { allocator.name() };
        s.run(Stage::Check, || {
            checker.check(&code.problem, isa.env(), allocation).map_err(|errors| rejected(author, &errors))
        })?;
        s.dump(|| text::display(name, code, Some(allocation), isa.rows()).to_string());
    }

    // The frame is laid out and everything becomes bytes.
    let code_bytes = module.code_bytes();
    let (options, is_listed) = (compiler.emit_options(), s.options.list || s.takes(Stage::Emit));
    emitter.set_listing(is_listed);
    s.run(Stage::Emit, || match fused && !is_listed {
        true => emitter.emit_steps(isa, code, walk.steps(), &options, name.into(), module),
        false => emitter.emit(isa, code, allocation, &options, name.into(), module),
    })?;
    s.dump(|| emitter.listing().display(module.function(module.len() - 1)).to_string());

    s.count(module.code_bytes() - code_bytes, || Cost::of(&code.problem, isa.env(), allocation));
    Ok(())
}
