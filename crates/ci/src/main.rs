//! Runs the tests of the project by tier: `kingpost-ci quick|test|deep [STAGE...]`.
//!
//! | tier | use |
//! |---|---|
//! | `quick` | Before a commit: two minutes once everything is built |
//! | `test` | In CI: about fifteen minutes on two cores of a clean clone, builds included |
//! | `deep` | Everything |
//!
//! A tier has the stages of the tiers before it, some of them with more cases. Each stage builds what it runs, in the folder and
//! profile that all stages share, and takes the paths of programs from Cargo's own messages: no stale program is tested.
//! No stage has a time limit: the programs under test bound their own CPU time.
//!
//! | file | holds |
//! |---|---|
//! | `main.rs` | the verbs |
//! | `tier.rs` | the tiers |
//! | `lanes.rs` | stages side by side |
//! | `session.rs` | what stages share: the build, commands, counts, skips |
//! | `cargo.rs` | commands of Cargo, and the programs of a build |
//! | `output.rs` | counts and first failures in the output of programs |
//! | `tools.rs` | system tools |
//! | `report.rs` | the table of stages and the last lines |
//! | `stages/` | one file per stage, and the list of them |
//! | `faults.rs` | planted faults, and the tier that finds each |

mod cargo;
mod faults;
mod lanes;
mod output;
mod report;
mod session;
mod stages;
mod tier;
mod tools;

use anyhow::{Context, Result, bail};
use report::Report;
use stages::{STAGES, Stage};
use std::path::Path;
use std::process::ExitCode;
use std::thread;
use std::time::Instant;
use tier::Tier;

const USAGE: &str = "usage: kingpost-ci quick|test|deep [STAGE...]\n       kingpost-ci faults [--list] [NAME...]\n       \
                     kingpost-ci tools";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match run(&words) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("kingpost-ci: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(words: &[String]) -> Result<ExitCode> {
    let Some((verb, rest)) = words.split_first() else { bail!(USAGE) };
    match (verb.as_str(), rest) {
        ("tools", _) => Ok(if tools::report_missing() { ExitCode::SUCCESS } else { ExitCode::FAILURE }),
        ("faults", _) => faults::run(rest),
        // Started by `lanes.rs`.
        ("stage", [tier, name, scratch]) => {
            lanes::run_here(Tier::of(tier).context(USAGE)?, name, Path::new(scratch)).map(|()| ExitCode::SUCCESS)
        }
        (name, names) => tests(Tier::of(name).context(USAGE)?, names),
    }
}

/// Runs the stages of a tier, or those with the given names, until one fails.
fn tests(tier: Tier, names: &[String]) -> Result<ExitCode> {
    if let Some(name) = names.iter().find(|name| STAGES.iter().all(|stage| stage.name != **name)) {
        let all: Vec<&str> = STAGES.iter().map(|stage| stage.name).collect();
        bail!("there is no stage `{name}`; stages: {}", all.join(", "));
    }
    let start = Instant::now();
    let scratch = tempfile::tempdir().context("a folder for files that stages make")?;
    let is_run = |stage: &&Stage| match names {
        [] => stage.first <= tier,
        names => names.iter().any(|name| name == stage.name),
    };
    let (first, others): (Vec<&Stage>, Vec<&Stage>) = STAGES.iter().filter(is_run).partition(|stage| stage.is_alone);
    let mut report = Report::default();
    lanes::run(tier, &first, 1, scratch.path(), &mut report)?;
    // One more than processors, as a stage often waits for its slowest part.
    let lanes = thread::available_parallelism().map_or(1, usize::from) + 1;
    lanes::run(tier, &others, lanes.min(lanes::MOST), scratch.path(), &mut report)?;
    print!("{}", report.end(tier, names.is_empty(), start.elapsed().as_secs_f64()));
    Ok(if report.is_failed() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
