//! `test inlining`, `test expand`, `test optimize`, `test lower`, `test regalloc` and `test compile`: the text of a
//! stage's result, filecheck. With `precise-output` it is compared line by line, with `expect-fail` it is the error of a function
//! that must not compile.

use std::sync::{Arc, Mutex, PoisonError};

use kingpost_codegen::module::Inliner;
use kingpost_codegen::{CompileError, DumpReceiver, OptLevel, Options, Stage};
use kingpost_ir::Function;
use kingpost_ir::verifier::verify;
use kingpost_mach::ModuleBuffer;

use crate::job::Job;
use crate::precise;
use crate::report::Findings;

/// Receiver of the text of one stage.
#[derive(Debug)]
struct Kept {
    stage: Stage,
    text: Mutex<String>,
}

impl DumpReceiver for Kept {
    fn takes(&self, stage: Stage, _: &str) -> bool {
        stage == self.stage
    }

    fn take(&self, _: Stage, _: &str, text: String) {
        *self.text.lock().unwrap_or_else(PoisonError::into_inner) = text;
    }
}

/// Checks the functions of the file after inlining of one another.
pub(crate) fn inlining(job: &Job, findings: &mut Findings) {
    let Some(compiler) = job.compiler(findings) else { return };
    if !is_optimised(job) {
        return findings.fail(format_args!("{}: test inlining needs `set opt_level=speed`", job.name));
    }
    let mut functions: Vec<Function> = job.file.functions.iter().map(|test| test.function.clone()).collect();
    Inliner::default().run(&compiler, &mut functions);
    for (test, function) in job.file.functions.iter().zip(&functions) {
        if let Err(errors) = verify(function, Some(compiler.target_info())) {
            findings.fail(format_args!("{}: after inlining: {}", job.place(test), errors.pretty(function)));
        }
    }
    if job.unit.command.options.iter().any(|option| option == "precise-output") {
        let outputs = job.file.functions.iter().zip(&functions);
        let outputs: Vec<_> = outputs.map(|(test, function)| (test, function.to_string())).collect();
        precise::check(job, &outputs, findings);
    } else {
        let texts = job.file.functions.iter().zip(&functions);
        texts.for_each(|(test, function)| job.check(test, &function.to_string(), findings));
    }
}

/// Checks the result of expansion. Without an optimizer, the next stage resolves the aliases.
pub(crate) fn expand(job: &Job, findings: &mut Findings) {
    run(if is_optimised(job) { Stage::Expand } else { Stage::Cleanup }, job, findings);
}

pub(crate) fn optimize(job: &Job, findings: &mut Findings) {
    if !is_optimised(job) {
        return findings.fail(format_args!("{}: test optimize needs `set opt_level=speed`", job.name));
    }
    run(Stage::StrengthReduction, job, findings);
}

pub(crate) fn lower(job: &Job, findings: &mut Findings) {
    run(Stage::Lower, job, findings);
}

pub(crate) fn regalloc(job: &Job, findings: &mut Findings) {
    run(Stage::Regalloc, job, findings);
}

pub(crate) fn compile(job: &Job, findings: &mut Findings) {
    run(Stage::Emit, job, findings);
}

/// Returns `true` if the file's settings name an optimizer, or are invalid.
fn is_optimised(job: &Job) -> bool {
    let compiler = job.compiler(&mut Findings::default());
    compiler.is_none_or(|compiler| compiler.settings().opt_level != OptLevel::None)
}

/// Compiles each function up to `stage`, and compares its result with the expected one.
fn run(stage: Stage, job: &Job, findings: &mut Findings) {
    let Some(compiler) = job.compiler(findings) else { return };
    let kept = Arc::new(Kept { stage, text: Mutex::default() });
    let options = Options::default().with(|options| {
        options.dump = Some(kept.clone());
        options.stop_after = Some(stage);
    });
    let compiler = compiler.with_options(options);
    let has_option = |name: &str| job.unit.command.options.iter().any(|option| option == name);
    let (expect_fail, precise) = (has_option("expect-fail"), has_option("precise-output"));
    let mut cx = compiler.context();
    let mut outputs = Vec::new();
    for test in &job.file.functions {
        match compiler.compile(&mut cx, &mut test.function.clone(), &mut ModuleBuffer::default()) {
            Ok(()) | Err(CompileError::Stopped) if expect_fail => {
                findings.fail(format_args!("{} compiles", job.place(test)));
            }
            Ok(()) | Err(CompileError::Stopped) => {
                let text = std::mem::take(&mut *kept.text.lock().unwrap_or_else(PoisonError::into_inner));
                if precise {
                    outputs.push((test, text));
                } else {
                    job.check(test, &text, findings);
                }
            }
            Err(error) if expect_fail => {
                findings.expectations += 1;
                job.check(test, &format!("{error}\n"), findings);
            }
            Err(error) if error.is_unsupported() => findings.skip(error),
            Err(error) => error.findings().iter().for_each(|finding| findings.fail(job.describe(test, finding))),
        }
    }
    precise::check(job, &outputs, findings);
}
