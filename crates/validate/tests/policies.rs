//! The setting `validate_failure`, on code with a real fault: an allocator exchanges the operands of a subtraction.

use kingpost_codegen::compiled::ModuleBuffer;
use kingpost_codegen::settings::{ValidateCode, ValidateFailure};
use kingpost_codegen::{CompileError, Compiler, Context, Options, ProofCounts, Settings, allocator};
use kingpost_testgen::exchanging::Exchanging;
use kingpost_validate::Verdict;
use std::sync::Arc;
use target_lexicon::triple;

const DIFFERENCE: &str =
    "function %difference(i64, i64) -> i64 { block0(v0: i64, v1: i64): v2 = isub v0, v1 return v2 }";
const IDENTITY: &str = "function %identity(i64) -> i64 { block0(v0: i64): return v0 }";

/// Returns a compiler with a policy, for code that terms prove.
fn compiler(policy: ValidateFailure) -> Compiler {
    let settings = Settings::default().with(|settings| {
        settings.validate_code = ValidateCode::Terms;
        settings.validate_failure = policy;
    });
    Compiler::new(&triple!("aarch64-unknown-linux-gnu"), settings, &[]).unwrap()
}

/// Returns a compiler with a policy and a fault.
fn faulty(policy: ValidateFailure) -> Compiler {
    let ssa = allocator("ssa").expect("it exists");
    compiler(policy).with_allocator(Arc::new(move || Box::new(Exchanging(ssa()))))
}

/// Compiles both functions. Returns the result for the first one, its code, and the context after it.
fn compile(compiler: &Compiler) -> (Result<(), CompileError>, Option<Vec<u8>>, Context) {
    let (mut cx, mut module) = (compiler.context(), ModuleBuffer::default());
    let mut identity = kingpost_reader::parse_functions(IDENTITY).unwrap().remove(0);
    let mut func = kingpost_reader::parse_functions(DIFFERENCE).unwrap().remove(0);
    compiler.compile(&mut cx, &mut identity, &mut module).unwrap();
    assert!(cx.replaced_proof().is_none());
    let result = compiler.compile(&mut cx, &mut func, &mut module);
    let code = (module.len() == 2).then(|| module.function(1).code.to_vec());
    (result, code, cx)
}

/// Returns counts with the identity, which is proved, and these.
fn counts(refuted: u64, recompiled: u64) -> ProofCounts {
    let mut counts = ProofCounts::default();
    (counts.proved, counts.refuted, counts.recompiled) = (1, refuted, recompiled);
    counts
}

#[test]
fn faults_are_refused() {
    let (result, code, cx) = compile(&faulty(ValidateFailure::Refuse));
    let error = result.unwrap_err().to_string();
    assert!(error.starts_with("the emitted code is refuted: ") && error.contains("result 0 differs"), "{error}");
    assert_eq!((code, cx.stats().functions, cx.stats().proofs), (None, 1, counts(1, 0)));
}

#[test]
fn faults_are_reported() {
    let (result, code, cx) = compile(&faulty(ValidateFailure::Report));
    let right = compile(&compiler(ValidateFailure::Report)).1;
    assert!(result.is_ok() && code.is_some() && code != right, "{result:?}");
    assert!(matches!(cx.proof().unwrap().verdict, Verdict::Refuted(_)));
    assert_eq!((cx.stats().functions, cx.stats().proofs), (2, counts(1, 0)));
}

#[test]
fn faults_are_compiled_again() {
    let compiler = faulty(ValidateFailure::Recompile);
    let (result, code, mut cx) = compile(&compiler);
    let baseline = Settings::default().with(|settings| settings.regalloc_algorithm = "spill_all".into());
    let baseline = Compiler::new(&triple!("aarch64-unknown-linux-gnu"), baseline, &[]).unwrap();
    let mut module = ModuleBuffer::default();
    let mut func = kingpost_reader::parse_functions(DIFFERENCE).unwrap().remove(0);
    baseline.compile(&mut baseline.context(), &mut func, &mut module).unwrap();
    assert_eq!((result, code.as_deref()), (Ok(()), Some(module.function(0).code)));
    assert_eq!(cx.proof().unwrap().verdict, Verdict::Proved);
    assert!(matches!(cx.replaced_proof().unwrap().verdict, Verdict::Refuted(_)));
    assert_eq!((cx.stats().functions, cx.stats().proofs), (2, counts(1, 1)));
    // The next function is compiled by the allocator of the settings.
    let mut identity = kingpost_reader::parse_functions(IDENTITY).unwrap().remove(0);
    compiler.compile(&mut cx, &mut identity, &mut module).unwrap();
    assert!(cx.replaced_proof().is_none() && cx.allocation().slots.is_empty());
}

/// Checks the error where the baseline needs a frame, which a limit forbids.
#[test]
fn the_error_of_the_baseline_is_told() {
    let options = Options::default().with(|options| options.limits.frame_bytes = 1);
    let (result, code, cx) = compile(&faulty(ValidateFailure::Recompile).with_options(options));
    let error = result.unwrap_err().to_string();
    assert!(
        error.contains("result 0 differs") && error.contains("; compiled again by `spill_all`: more than"),
        "{error}"
    );
    assert_eq!((code, cx.stats().functions, cx.stats().proofs), (None, 1, counts(1, 0)));
}
