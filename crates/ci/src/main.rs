//! Runs the tests of the project by tier: `kingpost-ci quick|test|deep [STAGE...]`.
//!
//! | tier | use |
//! |---|---|
//! | `quick` | Before a commit: two minutes once everything is built |
//! | `test` | In CI: fifteen minutes on two cores of a clean clone, builds included |
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
//! | `session.rs` | what stages share: commands, counts, skips |
//! | `cargo.rs` | builds, and the programs that come of them |
//! | `output.rs` | counts and first failures in the output of programs |
//! | `tools.rs` | system tools |
//! | `report.rs` | the table of stages and the last lines |
//! | `stages/` | one file per stage, and the list of them |
//! | `faults.rs` | planted faults, and the tier that finds each |

mod cargo;
mod faults;
mod output;
mod report;
mod session;
mod stages;
mod tier;
mod tools;

use anyhow::{Result, bail};
use report::Report;
use session::Session;
use stages::STAGES;
use std::process::ExitCode;
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
    match verb.as_str() {
        "tools" => Ok(if tools::report_missing() { ExitCode::SUCCESS } else { ExitCode::FAILURE }),
        "faults" => faults::run(rest),
        name => match Tier::of(name) {
            Some(tier) => tests(tier, rest),
            None => bail!(USAGE),
        },
    }
}

/// Runs the stages of a tier, or those with the given names, until one fails.
fn tests(tier: Tier, names: &[String]) -> Result<ExitCode> {
    if let Some(name) = names.iter().find(|name| STAGES.iter().all(|stage| stage.name != **name)) {
        let all: Vec<&str> = STAGES.iter().map(|stage| stage.name).collect();
        bail!("there is no stage `{name}`; stages: {}", all.join(", "));
    }
    let mut session = Session::new(tier)?;
    let mut report = Report::default();
    let is_run =
        |name: &str, first: Tier| if names.is_empty() { first <= tier } else { names.iter().any(|n| n == name) };
    for stage in STAGES.iter().filter(|stage| is_run(stage.name, stage.first)) {
        let done = session.stage(stage);
        println!("{done}");
        let failed = done.is_failed();
        report.add(done);
        if failed {
            break;
        }
    }
    print!("{}", report.end(tier, names.is_empty()));
    Ok(if report.is_failed() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
