//! All test files of the project: every subtest, target and register allocator must pass.

use std::path::{Path, PathBuf};

use kingpost_filetest::{Options, run};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../filetests")
}

#[test]
fn all_filetests_pass() {
    let report = run(&[folder()], &Options::default()).unwrap();
    assert!(report.passed() > 0 && report.failed() == 0, "{report}");
}

#[test]
fn reports_do_not_depend_on_threads() {
    let jobs = |jobs| run(&[folder().join("verifier")], &Options { jobs, ..Options::default() }).unwrap();
    assert_eq!(jobs(1), jobs(4));
}
