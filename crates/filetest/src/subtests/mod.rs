//! The table of subtests.

mod cat;
mod compile;
mod domtree;
mod interpret;
mod print_cfg;
mod run;
mod verifier;

pub use print_cfg::cfg_text;

use crate::job::Job;
use crate::report::Findings;

/// A `test` command.
#[derive(Debug)]
pub(crate) struct Subtest {
    pub(crate) name: &'static str,
    pub(crate) needs_target: bool,
    /// Whether all functions must be valid before it runs.
    pub(crate) needs_verifier: bool,
    pub(crate) run: fn(&Job, &mut Findings),
}

/// In the order in which they run: first those that do not need the verifier.
static SUBTESTS: &[Subtest] = &[
    Subtest { name: "cat", needs_target: false, needs_verifier: false, run: cat::run },
    Subtest { name: "print-cfg", needs_target: false, needs_verifier: false, run: print_cfg::run },
    Subtest { name: "verifier", needs_target: false, needs_verifier: false, run: verifier::run },
    Subtest { name: "safepoint", needs_target: false, needs_verifier: true, run: cat::run },
    Subtest { name: "domtree", needs_target: false, needs_verifier: true, run: domtree::run },
    Subtest { name: "interpret", needs_target: false, needs_verifier: true, run: interpret::run },
    Subtest { name: "compile", needs_target: true, needs_verifier: true, run: compile::run },
    Subtest { name: "run", needs_target: true, needs_verifier: true, run: run::run },
];

/// Commands that are known but whose stages do not exist yet.
const NOT_SUPPORTED: [&str; 4] = ["optimize", "inline", "alias-analysis", "unwind"];

/// What a `test` line asks for.
#[derive(Copy, Clone, Debug)]
pub(crate) enum What {
    Run(&'static Subtest),
    /// It exists, but not here yet.
    NotSupported,
    /// There is no such subtest.
    Unknown,
}

/// What a `test` line asks for, and its place in the order.
pub(crate) fn find(name: &str) -> (usize, What) {
    match SUBTESTS.iter().position(|subtest| subtest.name == name) {
        Some(place) => (place, What::Run(&SUBTESTS[place])),
        None if NOT_SUPPORTED.contains(&name) => (SUBTESTS.len(), What::NotSupported),
        None => (0, What::Unknown),
    }
}
