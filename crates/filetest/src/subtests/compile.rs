//! `test compile`: the emitted machine code, filecheck; with `precise-output` line by line; with
//! `expect-fail` a function that must not compile, and filecheck on the error.

use std::sync::{Arc, Mutex, PoisonError};

use kingpost_codegen::{DumpSink, Options, Stage};
use kingpost_mach::ModuleBuffer;

use crate::job::Job;
use crate::precise;
use crate::report::Findings;

/// Keeps the text of the last stage.
#[derive(Default, Debug)]
struct Emitted(Mutex<String>);

impl DumpSink for Emitted {
    fn wants(&self, stage: Stage, _: &str) -> bool {
        stage == Stage::Emit
    }

    fn take(&self, _: Stage, _: &str, text: String) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = text;
    }
}

pub(crate) fn run(job: &Job, findings: &mut Findings) {
    let Some(compiler) = job.compiler(findings) else { return };
    let emitted = Arc::new(Emitted::default());
    let compiler = compiler.with_options(Options { dump: Some(emitted.clone()), ..Options::default() });
    let expect_fail = job.unit.command.options.iter().any(|option| option == "expect-fail");
    let precise = job.unit.command.options.iter().any(|option| option == "precise-output");
    let mut cx = compiler.context();
    let mut outputs = Vec::new();
    for test in &job.file.functions {
        let result = compiler.compile(&mut cx, &mut test.function.clone(), &mut ModuleBuffer::default());
        match result {
            Ok(()) if expect_fail => findings.fail(format_args!("{} compiles", job.place(test))),
            Err(error) if expect_fail => {
                if let Err(text) = crate::expect::filecheck(job.file, test, &format!("{error}\n")) {
                    findings.fail(format_args!("{}: {text}", job.name));
                }
            }
            Err(error) if error.is_unsupported() => findings.skip(error),
            Err(error) => findings.fail(format_args!("{}: {error}", job.place(test))),
            Ok(()) => {
                let text = std::mem::take(&mut *emitted.0.lock().unwrap_or_else(PoisonError::into_inner));
                if precise {
                    outputs.push((test, text));
                } else if let Err(text) = crate::expect::filecheck(job.file, test, &text) {
                    findings.fail(format_args!("{}: {text}", job.name));
                }
            }
        }
    }
    precise::check(job, &outputs, findings);
}
