//! What each phase makes, and what the observer hears: problems in the folder of a phase, with its text behind them as
//! comments. With `KINGPOST_BLESS=1` the comments are written anew.

use kingpost_regalloc::{Allocation, Allocator, Event, Observer, text};
use kingpost_regalloc_backtracking::Backtracking;
use kingpost_testgen::conformance::solve;
use std::fs;
use std::path::Path;

/// Before what a phase made.
const MARK: &str = "; ---\n";

#[track_caller]
fn check(phase: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/phases").join(phase);
    let mut files: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty(), "no problems for {phase}");
    let is_blessed = std::env::var_os("KINGPOST_BLESS").is_some();
    for path in files {
        let source = fs::read_to_string(&path).unwrap();
        let (source, expected) = match source.split_once(MARK) {
            Some(parts) => parts,
            None if is_blessed => (source.as_str(), ""),
            None => panic!("{} has no expectation", path.display()),
        };
        let got: String = made(source, phase).lines().map(|line| format!("; {line}\n")).collect();
        assert!(!got.is_empty(), "{} shows nothing", path.display());
        if is_blessed {
            fs::write(&path, format!("{source}{MARK}{got}")).unwrap();
        } else {
            assert_eq!(got, expected, "{}", path.display());
        }
    }
}

/// Writes down each event.
struct Story(String);

impl Observer for Story {
    fn event(&mut self, event: Event<'_>) {
        self.0 += &match event {
            Event::Stage(name) => format!("{name}\n"),
            Event::Assign { vreg, loc, from, to } => format!("  assign {vreg} {loc} {from}..{to}\n"),
            Event::Split { vreg, at } => format!("  split {vreg} {at}\n"),
            Event::Evict { vreg, winner, at } => format!("  evict {vreg} for {winner} {at}\n"),
            Event::Spill { vreg, at } => format!("  spill {vreg} {at}\n"),
            Event::Coalesce { a, b } => format!("  coalesce {a} {b}\n"),
            other => format!("  {other:?}\n"),
        };
    }
}

fn made(source: &str, phase: &str) -> String {
    let file = text::parse(source).unwrap_or_else(|error| panic!("{error}"));
    let env = file.env.expect("the text begins with a machine");
    let problem = &file.cases[0].problem;
    let mut allocator = Backtracking::default();
    solve(&mut allocator, problem, &env);
    if phase == "events" {
        let mut story = Story(String::new());
        allocator
            .allocate_observed(problem, &env, &mut Allocation::default(), &mut story)
            .expect("it was solved before");
        return story.0;
    }
    allocator.allocate_verified(problem, &env, &mut Allocation::default()).expect("each phase is as it should be");
    let dumps = allocator.dump(problem);
    let (_, text) = dumps.into_iter().find(|(name, _)| *name == phase).expect("a phase");
    text
}

#[test]
fn liveness() {
    check("liveness");
}

#[test]
fn search() {
    check("search");
}

#[test]
fn locations() {
    check("locations");
}

#[test]
fn events() {
    check("events");
}
