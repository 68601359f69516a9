//! What each phase finds out: problems in the folder of a phase, with its text behind them as comments. With
//! `KINGPOST_BLESS=1` the comments are written anew.

use kingpost_regalloc::{Allocation, Allocator, text};
use kingpost_regalloc_ssa::SsaAllocator;
use kingpost_testgen::conformance::{solve, solve_text};
use std::fs;
use std::path::Path;

/// Before what a phase found out.
const MARK: &str = "; ---\n";

#[track_caller]
fn check(phase: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/phases").join(phase);
    let mut files: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty(), "no problems for {phase}");
    for path in files {
        let source = fs::read_to_string(&path).unwrap();
        let (source, want) = source.split_once(MARK).unwrap_or_else(|| panic!("{}: no expectation", path.display()));
        let got = dump(source, phase);
        if std::env::var_os("KINGPOST_BLESS").is_some() {
            fs::write(&path, format!("{source}{MARK}{got}")).unwrap();
        } else {
            assert_eq!(got, want, "{}", path.display());
        }
    }
}

fn dump(source: &str, phase: &str) -> String {
    let file = text::parse(source).unwrap_or_else(|error| panic!("{error}"));
    let env = file.env.expect("the text begins with a machine");
    let problem = &file.cases[0].problem;
    let mut allocator = SsaAllocator::default();
    allocator.allocate_verified(problem, &env, &mut Allocation::default()).unwrap_or_else(|error| panic!("{error}"));
    solve(&mut allocator, problem, &env);
    let dumps = allocator.dump(problem, &env);
    let (_, text) = dumps.iter().find(|(name, _)| *name == phase).expect("a phase");
    text.lines().map(|line| format!("; {line}\n")).collect()
}

#[test]
fn liveness() {
    check("liveness");
}

#[test]
fn coalescing() {
    check("coalescing");
}

#[test]
fn spilling() {
    check("spilling");
}

#[test]
fn reload() {
    check("reload");
}

#[test]
fn register_hints() {
    check("register_hints");
}

#[test]
fn coloring() {
    check("coloring");
}

/// Of the values live through a loop the one that is used behind it goes to memory, not the one that is used in it.
#[test]
fn uses_behind_a_loop_are_far_away() {
    let source = include_str!("phases/spilling/used_behind_a_loop.ra");
    let (_, cost) = solve_text(&mut SsaAllocator::default(), source).remove(0);
    assert_eq!((cost.spills, cost.fills), (1, 1), "{cost}");
}

/// Values live one after another share a slot.
#[test]
fn slots_are_shared() {
    let mut source = String::from("env {\nint r0-r1\n}\nproblem %f {\nv0, v1, v2, v3, v4, v5: int 8\nb0:\n");
    for [a, b, c] in [[0, 1, 2], [3, 4, 5]] {
        source += &format!("def v{a}\ndef v{b}, def v{c}\nuse v{b}, use v{c}\nuse v{a}\n");
    }
    let (answer, cost) = solve_text(&mut SsaAllocator::default(), &(source + "branch\n}\n")).remove(0);
    assert_eq!((cost.spills, answer.slots.len()), (2, 1));
}
