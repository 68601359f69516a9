//! All test files of the project: every subtest, target and register allocator must pass.

use std::path::{Path, PathBuf};

use kingpost_filetest::{Options, Outcome, Via, run, run_text};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../filetests")
}

#[test]
fn all_filetests_pass() {
    let report = run(&[folder()], &Options::default()).unwrap();
    assert!(report.passed() > 0 && report.failed() == 0, "{report}");
}

#[test]
fn run_tests_pass_as_objects() {
    let report = run(&[folder().join("run")], &Options { via: Via::Object, ..Options::default() }).unwrap();
    assert!(report.passed() > 0 && report.failed() == 0, "{report}");
}

#[test]
fn reports_do_not_depend_on_threads() {
    let jobs = |jobs| run(&[folder().join("verifier")], &Options { jobs, ..Options::default() }).unwrap();
    assert_eq!(jobs(1), jobs(4));
}

/// A function `%f(i32) -> i32` that adds one, with a header and comments behind it.
fn with(header: &str, comments: &str) -> String {
    format!(
        "{header}\nfunction %f(i32) -> i32 {{\nblock0(v0: i32):\n    v1 = iconst.i32 1\n    v2 = iadd v0, v1\n    \
         return v2\n}}\n{comments}\n"
    )
}

/// The outcomes of a text's units, with the linear allocator only, which do not depend on how code is run.
fn outcomes(text: &str) -> Vec<Outcome> {
    let options = |via| Options { allocators: vec!["linear".into()], via, ..Options::default() };
    let units = |via| run_text("t.clif", text.as_bytes(), None, &options(via)).units.into_iter();
    let outcomes: Vec<Outcome> = units(Via::Jit).map(|unit| unit.outcome).collect();
    assert_eq!(outcomes, units(Via::Object).map(|unit| unit.outcome).collect::<Vec<_>>());
    outcomes
}

#[test]
fn wrong_expectations_fail() {
    let fails = |header: &str, comments: &str, expected: &str| {
        let outcomes = outcomes(&with(header, comments));
        assert!(!outcomes.is_empty());
        for outcome in outcomes {
            let Outcome::Failed(texts) = outcome else { panic!("{header} {comments}: {outcome:?}") };
            assert!(texts[0].contains(expected), "{}", texts[0]);
        }
    };
    let both = "test interpret\ntest run\ntarget x86_64";
    fails(both, "; run: %f(1) == 3", "%f(1) returned 2, expected 3");
    fails(both, "; run: %f(1) != 2", "expected other than 2");
    fails(both, "; trap: %f(1) == int_ovf", "returned 2, expected a trap with int_ovf");
    fails(both, "; run: %f(1, 2) == 3", "has 1 arguments");
    fails(both, "; run: %f(1) = 2", "expected `==`");
    fails("test run", "", "needs a target line");
    fails("test walk", "", "no test command");
    fails("test cat", "; check: iconst.i64", "filecheck failed");
    fails("test verifier", "; error: nothing", "no error `nothing`");
    fails("test run\nset opt_level=most\ntarget x86_64", "", "opt_level");
    fails("test run\ntarget x86_64 has_wings", "", "has_wings");
    fails("test run\ntarget x86_65", "", "x86_65");
    fails("test compile precise-output\ntarget x86_64", "; nop", "expected\nnop");
    fails("test compile expect-fail\ntarget x86_64", "", "compiles");
}

#[test]
fn traps_and_skips_have_names() {
    let text = "test interpret\ntest run\ntarget x86_64\nfunction %g(i64) -> i64 {\nblock0(v0: i64):\n    \
                v1 = load.i64 user9 v0\n    return v1\n}\n; run: %g(0) == 1\n";
    for outcome in outcomes(text) {
        let Outcome::Failed(texts) = outcome else { panic!("{outcome:?}") };
        assert!(texts[0].contains("%g(0) trapped with user9, expected 1"), "{}", texts[0]);
    }
    let skips = |header: &str, expected: &str| {
        assert_eq!(outcomes(&with(header, "")), [Outcome::Skipped(expected.into())]);
    };
    skips("test run\ntarget riscv64", "target riscv64 is not supported");
    skips("test optimize\ntarget x86_64", "test optimize is not supported");
    skips("test cat\nfeature \"wings\"", "feature wings");
    skips("test run\nset enable_pinned_reg\ntarget x86_64", "test run with enable_pinned_reg");
}
