//! Compiles CLIF files with Cranelift's published code generator and our register allocators, and runs them.
//!
//! Each function is compiled for x86-64 and AArch64 with Cranelift's checker of allocations. Commands as `; run:
//! %f(1) == 2` are executed on this machine, if the function calls nothing.

mod run;

use cranelift_codegen::Context;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::Function;
use cranelift_codegen::isa::{self, OwnedTargetIsa};
use cranelift_codegen::settings::{self, Configurable};
use cranelift_reader::{ParseOptions, parse_run_command, parse_test};
use run::run;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

/// Counts of one run of the program.
#[derive(Default)]
struct Counts {
    compiled: u64,
    bytes: usize,
    refused: u64,
    passed: u64,
    failed: u64,
}

fn main() -> ExitCode {
    let mut counts = Counts::default();
    let targets = ["x86_64", "aarch64"].map(|name| target(isa::lookup_by_name(name).expect("a target")));
    let host = target(cranelift_native::builder().expect("a host"));
    let files: Vec<String> = std::env::args().skip(1).collect();
    for file in &files {
        let Ok(text) = std::fs::read_to_string(file) else {
            eprintln!("{file}: cannot be read");
            counts.failed += 1;
            continue;
        };
        // Files of other formats and dialects are skipped.
        let Ok(test) = parse_test(&text, ParseOptions::default()) else { continue };
        for (func, details) in &test.functions {
            for isa in &targets {
                compile(func, isa, file, &mut counts);
            }
            for comment in &details.comments {
                let Ok(Some(command)) = parse_run_command(comment.text, &func.signature) else { continue };
                if !func.dfg.ext_funcs.is_empty() || !func.global_values.is_empty() {
                    continue;
                }
                let ran = catch_unwind(AssertUnwindSafe(|| {
                    command.run(|_, args| run(func, &host, args).map_err(|error| format!("not compiled: {error}")))
                }));
                match ran {
                    Ok(Ok(())) => counts.passed += 1,
                    Ok(Err(error)) if error.starts_with("not compiled") => counts.refused += 1,
                    Ok(Err(error)) => fail(&mut counts, file, func, &error),
                    Err(panic) => stopped(&mut counts, file, func, &*panic),
                }
            }
        }
    }
    println!(
        "compiled {} functions to {} bytes, refused {}; {} commands passed, {} failures",
        counts.compiled, counts.bytes, counts.refused, counts.passed, counts.failed
    );
    if counts.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn target(builder: isa::Builder) -> OwnedTargetIsa {
    let mut flags = settings::builder();
    for (name, value) in [("opt_level", "speed"), ("regalloc_checker", "true"), ("unwind_info", "false")] {
        flags.set(name, value).expect("a setting");
    }
    builder.finish(settings::Flags::new(flags)).expect("a target")
}

fn compile(func: &Function, isa: &OwnedTargetIsa, file: &str, counts: &mut Counts) {
    let compiled = catch_unwind(AssertUnwindSafe(|| {
        let mut context = Context::for_function(func.clone());
        let code = context.compile(&**isa, &mut ControlPlane::default());
        code.map(|code| code.code_buffer().len()).map_err(|error| error.inner.to_string())
    }));
    match compiled {
        Ok(Ok(bytes)) => {
            counts.compiled += 1;
            counts.bytes += bytes;
        }
        Ok(Err(_)) => counts.refused += 1,
        Err(panic) => stopped(counts, file, func, &*panic),
    }
}

/// Counts a panic of Cranelift: a failure if its register allocation or the checker stopped.
fn stopped(counts: &mut Counts, file: &str, func: &Function, panic: &(dyn std::any::Any + Send)) {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or_default();
    match text.contains("register allocation") {
        true => fail(counts, file, func, text),
        false => counts.refused += 1,
    }
}

fn fail(counts: &mut Counts, file: &str, func: &Function, error: &str) {
    counts.failed += 1;
    println!("{file}: {}: {error}", func.name);
}
