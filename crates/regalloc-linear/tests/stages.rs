//! What each stage finds out: problems in the folder of a stage, with its text behind them as comments. With
//! `KINGPOST_BLESS=1` the comments are written anew.

use kingpost_regalloc::text::parse;
use kingpost_regalloc::{Allocation, Allocator};
use kingpost_regalloc_linear::LinearScan;
use std::fs;
use std::path::Path;

/// Before what a stage found out.
const MARK: &str = "; ---\n";

#[track_caller]
fn check(stage: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stages").join(stage);
    let mut files: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty(), "no problems for {stage}");
    for path in files {
        let text = fs::read_to_string(&path).unwrap();
        let (source, want) = text.split_once(MARK).unwrap_or((&text, ""));
        let got = dump(source, stage);
        if std::env::var_os("KINGPOST_BLESS").is_some() {
            fs::write(&path, format!("{source}{MARK}{got}")).unwrap();
            continue;
        }
        assert!(!want.is_empty(), "{}: nothing is expected", path.display());
        assert_eq!(got, want, "{}", path.display());
    }
}

fn dump(source: &str, stage: &str) -> String {
    let file = parse(source).unwrap_or_else(|error| panic!("{error}"));
    let env = file.env.expect("the text begins with a machine");
    let (problem, mut answer) = (&file.cases[0].problem, Allocation::default());
    problem.verify_with(&env).unwrap_or_else(|errors| panic!("{}", errors[0]));
    let mut allocator = LinearScan::new();
    allocator.allocate(problem, &env, &mut answer).expect("a solution");
    let dumps = allocator.dump(problem, &answer);
    let (_, text) = dumps.iter().find(|(name, _)| *name == stage).expect("a stage");
    text.lines().map(|line| format!("; {line}\n")).collect()
}

#[test]
fn collect() {
    check("collect");
}

#[test]
fn scan() {
    check("scan");
}

#[test]
fn resolve() {
    check("resolve");
}

#[test]
fn slots() {
    check("slots");
}
