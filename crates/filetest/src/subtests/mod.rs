//! The table of subtests.

mod cat;
mod domtree;
mod interpret;
mod print_cfg;
mod run;
mod stage;
mod verifier;

pub use print_cfg::cfg_text;

use crate::job::Job;
use crate::report::Findings;

/// Scope of one run of a subtest.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Per {
    File,
    Target,
    Allocator,
    /// Target, allocator and optimization level: for subtests that run the code.
    Code,
}

/// A `test` command.
#[derive(Debug)]
pub(crate) struct Subtest {
    pub(crate) name: &'static str,
    pub(crate) per: Per,
    /// Whether all functions must be valid before it runs.
    pub(crate) needs_verifier: bool,
    pub(crate) run: fn(&Job, &mut Findings),
}

/// Subtests in the order in which they run, beginning with those without the verifier.
static SUBTESTS: &[Subtest] = &[
    Subtest { name: "cat", per: Per::File, needs_verifier: false, run: cat::run },
    Subtest { name: "print-cfg", per: Per::File, needs_verifier: false, run: print_cfg::run },
    Subtest { name: "verifier", per: Per::File, needs_verifier: false, run: verifier::run },
    Subtest { name: "safepoint", per: Per::File, needs_verifier: true, run: cat::run },
    Subtest { name: "domtree", per: Per::File, needs_verifier: true, run: domtree::run },
    Subtest { name: "interpret", per: Per::File, needs_verifier: true, run: interpret::run },
    Subtest { name: "inlining", per: Per::Target, needs_verifier: true, run: stage::inlining },
    Subtest { name: "expand", per: Per::Target, needs_verifier: true, run: stage::expand },
    Subtest { name: "optimize", per: Per::Target, needs_verifier: true, run: stage::optimize },
    Subtest { name: "lower", per: Per::Target, needs_verifier: true, run: stage::lower },
    Subtest { name: "regalloc", per: Per::Allocator, needs_verifier: true, run: stage::regalloc },
    Subtest { name: "compile", per: Per::Allocator, needs_verifier: true, run: stage::compile },
    Subtest { name: "run", per: Per::Code, needs_verifier: true, run: run::run },
];

/// Commands that are known but whose stages do not exist.
const NOT_SUPPORTED: [&str; 3] = ["inline", "alias-analysis", "unwind"];

/// Request of a `test` line.
#[derive(Copy, Clone, Debug)]
pub(crate) enum What {
    Run(&'static Subtest),
    /// The command is known, but not supported.
    NotSupported,
    /// There is no such subtest.
    Unknown,
}

/// Returns the request of a `test` line, and its index in the order.
pub(crate) fn find(name: &str) -> (usize, What) {
    match SUBTESTS.iter().position(|subtest| subtest.name == name) {
        Some(place) => (place, What::Run(&SUBTESTS[place])),
        None if NOT_SUPPORTED.contains(&name) => (SUBTESTS.len(), What::NotSupported),
        None => (0, What::Unknown),
    }
}
