//! Tests of the phases of an allocator: problems in the folder of a phase, each followed by the text of the phase's
//! result as comments. In the folder `events` the comments are the events that an observer receives.
//! `KINGPOST_BLESS=1` rewrites the comments.
//!
//! ```text
//! kingpost_testgen::phases! { "../../filetests/regalloc/ssa"; SsaAllocator::default(); liveness, spilling, events }
//! ```

use crate::solve::solve;
use kingpost_regalloc::{Allocation, Allocator, Diagnostics, Event, MachineEnv, Observer, Problem, text};
use std::fs;
use std::path::Path;

/// Separator before the result of a phase.
const MARK: &str = "; ---\n";

/// Defines tests of phases, given a folder relative to the crate, an expression that creates an allocator, and the
/// phases' names. Each phase has a folder of its name in the folder.
#[macro_export]
macro_rules! phases {
    ($folder:literal; $allocator:expr; $($phase:ident),+) => {
        $(#[test]
        fn $phase() {
            let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/", $folder);
            $crate::phases::check(&mut $allocator, folder.as_ref(), stringify!($phase));
        })+
    };
}

/// Compares the results of a phase for the problems in its folder with the expected ones.
///
/// # Panics
/// If they differ.
#[track_caller]
pub fn check(allocator: &mut dyn Allocator, folder: &Path, phase: &str) {
    let mut files: Vec<_> = fs::read_dir(folder.join(phase)).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty(), "no problems for {phase}");
    let is_blessed = std::env::var_os("KINGPOST_BLESS").is_some();
    for path in files {
        let name = path.display();
        let source = fs::read_to_string(&path).unwrap();
        let (source, expected) = match source.split_once(MARK) {
            None if is_blessed => (source.as_str(), ""),
            parts => parts.unwrap_or_else(|| panic!("{name}: no expectation")),
        };
        let file = text::parse(source).unwrap_or_else(|error| panic!("{name}:{error}"));
        let env = file.env.expect("the text begins with a machine");
        let got = result(allocator, &file.cases[0].problem, &env, phase);
        let got: String = got.lines().map(|line| format!("; {line}\n")).collect();
        if is_blessed {
            fs::write(&path, format!("{source}{MARK}{got}")).unwrap();
        } else {
            assert_eq!(got, expected, "{name}");
        }
    }
}

/// Returns the text of a phase's result, with all phases verified.
///
/// # Panics
/// If the answer or a phase is invalid.
pub fn result(allocator: &mut dyn Allocator, problem: &Problem, env: &MachineEnv, phase: &str) -> String {
    solve(allocator, problem, env);
    let (mut story, mut texts) = (Story::default(), Vec::new());
    let mut diagnostics = Diagnostics::verified();
    diagnostics.observer = Some(&mut story);
    diagnostics.texts = Some(&mut texts);
    let solved = allocator.allocate_with(problem, env, &mut Allocation::default(), &mut diagnostics);
    solved.unwrap_or_else(|error| panic!("{error}"));
    match texts.into_iter().find(|(name, _)| *name == phase) {
        Some((_, text)) => text,
        None if phase == "events" => story.0,
        None => panic!("no phase {phase}"),
    }
}

/// Collects the events as lines.
#[derive(Default)]
struct Story(String);

impl Observer for Story {
    fn event(&mut self, event: Event<'_>) {
        self.0 += &format!("{event}\n");
    }
}
