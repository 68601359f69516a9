//! Stages side by side, each in a process of its own, which knows the CPU time of the programs that it ran.
//!
//! Most stages have parts that use one processor, so that three stages at a time keep two busy. A process writes its outcome into
//! the folder that the stages of a run share.

use crate::report::{Done, Report};
use crate::session::Session;
use crate::stages::{STAGES, Stage};
use crate::tier::Tier;
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Maximum number of stages that run at a time: their programs use several processors each.
pub(crate) const MOST: usize = 3;

/// This program, also if a build has replaced its file.
const THIS: &str = "/proc/self/exe";

/// Runs stages in this order, `lanes` at a time, until one fails or `report` has a failure.
///
/// # Errors
/// If a process cannot be started, or ends without an outcome.
pub(crate) fn run(tier: Tier, stages: &[&Stage], lanes: usize, scratch: &Path, report: &mut Report) -> Result<()> {
    let (stages, failed) = (Mutex::new(stages.iter()), AtomicBool::new(report.is_failed()));
    let next = || stages.lock().expect("no thread panics").next().filter(|_| !failed.load(Ordering::Relaxed));
    let work = || {
        let mut all = Vec::new();
        while let Some(stage) = next() {
            println!("{}: {}", stage.name, stage.about);
            let done = in_process(tier, stage, scratch);
            failed.fetch_or(done.as_ref().map_or(true, Done::is_failed), Ordering::Relaxed);
            if let Ok(done) = &done {
                println!("{done}");
            }
            all.push(done);
        }
        all
    };
    let all = thread::scope(|scope| {
        let threads: Vec<_> = (0..lanes).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no thread panics")).collect::<Vec<_>>()
    });
    all.into_iter().try_for_each(|done| done.map(|done| report.add(done)))
}

/// Runs a stage in a process of its own.
fn in_process(tier: Tier, stage: &Stage, scratch: &Path) -> Result<Done> {
    let status = Command::new(THIS).args(["stage", tier.name(), stage.name]).arg(scratch).status();
    let status = status.with_context(|| format!("cannot start the stage {}", stage.name))?;
    let outcome = fs::read(path_of_outcome(scratch, stage.name));
    let outcome = outcome.with_context(|| format!("the stage {} ended without an outcome: {status}", stage.name))?;
    Ok(Done::of_json(stage.name, &serde_json::from_slice(&outcome).context("the outcome of a stage")?))
}

/// Runs a stage in this process, and writes its outcome.
///
/// # Errors
/// If there is no such stage, or the outcome cannot be written.
pub(crate) fn run_here(tier: Tier, name: &str, scratch: &Path) -> Result<()> {
    let stage =
        STAGES.iter().find(|stage| stage.name == name).with_context(|| format!("there is no stage `{name}`"))?;
    let done = Session::new(tier, scratch)?.stage(stage.name, stage.run);
    fs::write(path_of_outcome(scratch, name), done.json().to_string()).context("the outcome of a stage")
}

fn path_of_outcome(scratch: &Path, name: &str) -> PathBuf {
    scratch.join(format!("{name}.json"))
}
