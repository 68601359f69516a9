//! Outcomes of test files: failures, skips, reports. The stage `filetests` of `make test` runs the files of the
//! project.

use std::path::{Path, PathBuf};

use kingpost_filetest::native::can_run;
use kingpost_filetest::{Options, Outcome, Via, run, run_text};
use target_lexicon::Triple;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../filetests")
}

#[test]
fn reports_do_not_depend_on_threads() {
    let jobs = |jobs| {
        run(&[folder().join("verifier")], &Options::default().with(|options| options.jobs = jobs), |_, _| ()).unwrap()
    };
    assert_eq!(jobs(1), jobs(4));
}

/// Returns the text of a function `%f(i32) -> i32` that adds one, with a header before it and comments after it.
fn with(header: &str, comments: &str) -> String {
    format!(
        "{header}\nfunction %f(i32) -> i32 {{\nblock0(v0: i32):\n    v1 = iconst.i32 1\n    v2 = iadd v0, v1\n    \
         return v2\n}}\n{comments}\n"
    )
}

/// Returns the outcomes of a text's units, with the linear allocator only. Checks that they do not depend on the
/// variant of running code.
fn outcomes(text: &str) -> Vec<Outcome> {
    let options = |via| {
        Options::default().with(|options| {
            options.allocators = vec!["linear".into()];
            options.via = via;
        })
    };
    let units = |via| run_text("t.clif", text.as_bytes(), None, &options(via)).units.into_iter();
    let outcomes: Vec<Outcome> = units(Via::Jit).map(|unit| unit.outcome).collect();
    match can_run(&Triple::host()) {
        Ok(()) => assert_eq!(outcomes, units(Via::Object).map(|unit| unit.outcome).collect::<Vec<_>>()),
        Err(reason) => eprintln!("SKIPPED: outcomes of objects: {reason}"),
    }
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
    fails(both, "; run: %f(1, 2) == 3", "has 1 argument,");
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
    fails("test lower\ntarget x86_64", "; check: sub64_rr", "filecheck failed");
    fails("test regalloc\ntarget x86_64", "; check: i99", "filecheck failed");
    fails("test expand precise-output\ntarget x86_64", "; function %g", "expected\nfunction %g");
}

#[test]
fn files_expect_something() {
    for header in ["test compile\ntarget x86_64", "test print-cfg"] {
        let expected = Outcome::Failed(vec!["t.clif:1:6: the file expects nothing".into()]);
        assert_eq!(outcomes(&with(header, "")), [expected], "{header}");
    }
    assert_eq!(outcomes(&with("test cat", "")), [Outcome::Passed]);
    // Run directives may be missing, which is reported.
    for header in ["test interpret", "test run\ntarget x86_64"] {
        let report = run_text("t.clif", with(header, "").as_bytes(), None, &Options::default());
        let note = "note: t.clif: nothing ran: no function has a run directive";
        assert!(report.units.iter().all(|unit| unit.outcome == Outcome::Passed && unit.prints == [note]), "{header}");
    }
}

#[test]
fn allocations_get_the_verdict_they_expect() {
    let text = |expect: &str| {
        format!(
            "{expect}\nproblem %f {{\nv0: int 8\nb0:\ni0: def v0\ni1: branch use v0 = r0\n}}\nallocation {{\ni0: r0\ni1: r0\n}}\n"
        )
    };
    let outcomes = |expect: &str, reg: &str| {
        let report = run_text("t.ra", text(expect).replace("i0: r0", reg).as_bytes(), None, &Options::default());
        report.units.into_iter().map(|unit| unit.outcome == Outcome::Passed).collect::<Vec<bool>>()
    };
    assert_eq!(outcomes("; expect accept", "i0: r0"), [true]);
    assert_eq!(outcomes("; expect accept", "i0: r1"), [false]);
    assert_eq!(outcomes("; expect reject rule 21", "i0: r1"), [true]);
    assert_eq!(outcomes("; expect reject rule 1:", "i0: r1"), [false]);
    assert_eq!(outcomes("; expect reject", "i0: r0"), [false]);
    assert_eq!(outcomes("; expect solved", "i0: r1"), [true; 5]);
    assert_eq!(outcomes("; expect nothing", "i0: r0"), [false]);
    assert_eq!(outcomes("; nothing", "i0: r0"), [false]);
}

#[test]
fn endless_loops_share_one_limit() {
    let body =
        "function %f() {\nblock0:\n    jump block1\nblock1:\n    jump block1\n}\n; run: %f() == []\n; run: %f() != []";
    let report = run_text("t.clif", format!("test interpret\n{body}\n").as_bytes(), None, &Options::default());
    let Outcome::Failed(texts) = &report.units[0].outcome else { panic!("{report}") };
    assert!(texts[0].contains("limit of executed instructions") && texts[1].contains("was not run"), "{texts:?}");
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
    skips("test alias-analysis\ntarget x86_64", "test alias-analysis is not supported");
    skips("test cat\nfeature \"wings\"", "feature wings");
    skips("test run\nset enable_pinned_reg\ntarget x86_64", "test run with enable_pinned_reg");
}
