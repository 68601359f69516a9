//! `.ra` files: allocation problems, with an allocation for the checker, or to be solved by allocators.
//!
//! The first line states the expectation:
//!
//! ```text
//! ; expect accept
//! ; expect reject rule 12
//! ; expect solved
//! ```
//! A rejection names a text that every reason contains. A file without a machine is for the machine of x86-64.

use std::fmt::Write;

use kingpost_checker::Checker;
use kingpost_checker::text::check_text;
use kingpost_codegen::{ALLOCATORS, Compiler, Settings};
use kingpost_regalloc::{Allocation, Allocator, Diagnostics, MachineEnv, text};
use target_lexicon::triple;

use crate::options::Options;
use crate::program;
use crate::report::{Findings, UnitReport};
use crate::shell::{file_word, quoted};
use crate::watch::Progress;

/// Runs one text under a name.
pub(crate) fn run(name: &str, text: &str, options: &Options, step: &Progress) -> Vec<UnitReport> {
    let first = text.lines().next().unwrap_or_default();
    let unit = |unit: &str, findings: &mut Findings, regalloc: &str| UnitReport {
        file: name.to_string(),
        unit: unit.to_string(),
        outcome: findings.outcome(),
        prints: Vec::new(),
        command: format!("kingpost test{regalloc} {}", file_word(name)),
    };
    let Some(expected) = first.strip_prefix("; expect ") else {
        let mut findings = Findings::default();
        findings.fail(format_args!("{name}:1:1: the file expects nothing: no `; expect`"));
        return vec![unit("the file", &mut findings, "")];
    };
    if expected.split_whitespace().next() == Some("solved") {
        if let Some(program) = &options.program {
            let mut findings = Findings::default();
            if options.list {
                return vec![unit(&format!("solved, allocator `{program}`"), &mut findings, "")];
            }
            solve(name, text, program::factory(program)(), &mut findings);
            let words = format!(" --regalloc-command {}", quoted(program));
            return vec![unit(&format!("solved, allocator `{program}`"), &mut findings, &words)];
        }
        let is_wanted =
            |name: &str| options.allocators.is_empty() || options.allocators.iter().any(|other| other == name);
        return ALLOCATORS
            .iter()
            .filter(|(name, _)| is_wanted(name))
            .map(|(allocator, make)| {
                let mut findings = Findings::default();
                let (solved, words) = (format!("solved, allocator {allocator}"), format!(" --regalloc {allocator}"));
                step.begin(solved.clone(), format!("kingpost test{words} {name}"));
                if !options.list {
                    solve(name, text, make(), &mut findings);
                }
                unit(&solved, &mut findings, &words)
            })
            .collect();
    }
    let mut findings = Findings::default();
    if !options.list {
        judge(name, text, expected, &mut findings);
    }
    vec![unit("judged", &mut findings, "")]
}

/// Returns the machine of files that describe none.
fn default_env() -> MachineEnv {
    let compiler = Compiler::new(&triple!("x86_64-unknown-linux-gnu"), Settings::default(), &[]);
    compiler.map(|compiler| compiler.isa().env().clone()).unwrap_or_default()
}

/// Compares the checker's result with the expected one.
fn judge(name: &str, text: &str, expected: &str, findings: &mut Findings) {
    let verdicts = match check_text(text, &default_env()) {
        Ok(verdicts) => verdicts,
        Err(error) => return findings.fail(format_args!("{name}:{error}")),
    };
    let (word, reason) = expected.split_once(' ').unwrap_or((expected, ""));
    for verdict in verdicts {
        let mut reasons = String::new();
        for finding in &verdict.findings {
            // Writing to a string does not fail.
            let _ = writeln!(reasons, "{name}:{finding}");
        }
        match word {
            "accept" if verdict.findings.is_empty() => {}
            "accept" => findings.fail(format_args!("%{} is rejected:\n{reasons}", verdict.name)),
            "reject" if verdict.findings.is_empty() => findings.fail(format_args!("%{} is accepted", verdict.name)),
            "reject" if reasons.lines().all(|line| line.contains(reason)) => {}
            "reject" => findings.fail(format_args!("%{} is not rejected for `{reason}`:\n{reasons}", verdict.name)),
            _ => findings.fail(format_args!("{name}:1: expected `accept`, `reject` or `solved`, found `{word}`")),
        }
    }
}

/// Solves every problem with an allocator; the checker must accept the answers.
fn solve(name: &str, text: &str, mut allocator: Box<dyn Allocator>, findings: &mut Findings) {
    let file = match text::parse(text) {
        Ok(file) => file,
        Err(error) => return findings.fail(format_args!("{name}:{error}")),
    };
    let env = file.env.unwrap_or_else(default_env);
    let (mut checker, mut answer) = (Checker::new(), Allocation::default());
    for case in &file.cases {
        let problem = &case.problem;
        if let Err(errors) = problem.verify_with(&env) {
            errors.iter().for_each(|error| findings.fail(format_args!("{name}: %{}: {error}", problem.name)));
        } else if let Err(error) = allocator.allocate_with(problem, &env, &mut answer, &mut Diagnostics::verified()) {
            findings.fail(format_args!("{name}: %{}: {error}", problem.name));
        } else if let Err(errors) = checker.check(problem, &env, &answer) {
            let answer = text::display_allocation(problem, &answer);
            findings.fail(format_args!("%{}: the answer is not right:\n{answer}", problem.name));
            errors.iter().for_each(|error| findings.fail(error));
        }
    }
}
