//! Functions compiled from text, and their verdicts.

use kingpost_codegen::compiled::ModuleBuffer;
use kingpost_codegen::settings::ValidateCode;
use kingpost_codegen::{CHOICES, Compiler, Context, Settings};
use kingpost_ir::Function;
use kingpost_validate::Report;
use std::str::FromStr;
use target_lexicon::Triple;

/// Both targets.
pub(crate) const TARGETS: [&str; 2] = ["aarch64", "x86_64"];

/// Returns the names of all allocators.
pub(crate) fn allocators() -> impl Iterator<Item = &'static str> {
    CHOICES.iter().map(|&(name, _)| name)
}

/// Returns a compiler whose functions are proved by terms.
pub(crate) fn compiler(target: &str, allocator: &str) -> Compiler {
    compiler_with(target, allocator, ValidateCode::Terms)
}

fn compiler_with(target: &str, allocator: &str, mode: ValidateCode) -> Compiler {
    let settings = Settings::default().with(|settings| {
        settings.validate_code = mode;
        settings.regalloc_algorithm = allocator.into();
        settings.enable_llvm_abi_extensions = true;
        settings.enable_multi_ret_implicit_sret = true;
    });
    with_settings(target, settings)
}

/// Returns a compiler with these settings.
pub(crate) fn with_settings(target: &str, settings: Settings) -> Compiler {
    let triple = Triple::from_str(&format!("{target}-unknown-linux-gnu")).unwrap();
    Compiler::new(&triple, settings, &[]).unwrap()
}

/// Returns the report on each function of a text.
pub(crate) fn reports(text: &str, target: &str, allocator: &str) -> Vec<(String, Result<Report, String>)> {
    let compiler = compiler_with(target, allocator, ValidateCode::Solver);
    let mut cx = compiler.context();
    let functions = kingpost_reader::parse_functions(text).unwrap();
    functions.into_iter().map(|mut func| (func.name.to_string(), report(&compiler, &mut cx, &mut func))).collect()
}

/// Compiles a function and returns the report on it, with the help of a solver.
pub(crate) fn report(compiler: &Compiler, cx: &mut Context, func: &mut Function) -> Result<Report, String> {
    let mut module = ModuleBuffer::default();
    let result = compiler.compile(cx, func, &mut module);
    match cx.proof() {
        Some(report) => Ok(report.clone()),
        None => Err(result.err().map_or_else(String::new, |error| error.to_string())),
    }
}
