//! Runs of one allocator on one case in a separate process, with a time limit and a measurement of memory.
//!
//! A process can be ended, and has separate counters. `kingpost-bench-peak` calls [`run`] with an allocator that
//! counts bytes. The measuring program does not count, so that timing is not affected.

use super::cases::Case;
use super::duel::{Contestant, entries, is_external, names};
use anyhow::{Context, Result};
use cpu_time::ProcessTime;
use kingpost_regalloc::Allocation;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, park_timeout, spawn};
use std::time::Duration;

/// CPU seconds that a contestant may take for a case.
pub const LIMIT: u64 = 60;

/// Outcome of one probe.
#[derive(Clone, Copy, Debug)]
pub enum Probe {
    /// Peak number of allocated bytes, including the answer, and the number of steps.
    Done {
        /// Bytes.
        bytes: u64,
        /// Steps.
        steps: u64,
    },
    /// The run took more than [`LIMIT`].
    Over,
    /// The other program does not exist or failed.
    Unknown,
}

/// Runs the other program with each of `names` on a case.
pub fn probe(spec: &str, names: &[&'static str]) -> Vec<Probe> {
    let mut probes = Vec::new();
    while probes.len() < names.len() {
        let before = probes.len();
        // The other program has no external allocator, whose bytes would be in a third one.
        if is_external(names[before]) {
            probes.push(Probe::Unknown);
            continue;
        }
        let own: Vec<&str> = names[before..].iter().copied().take_while(|name| !is_external(name)).collect();
        let text = ask(spec, &own).unwrap_or_default();
        for line in text.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            match words[..] {
                ["done", bytes, steps] => {
                    let number = |word: &str| word.parse().unwrap_or(0);
                    probes.push(Probe::Done { bytes: number(bytes), steps: number(steps) });
                }
                _ => probes.push(Probe::Over),
            }
        }
        if probes.len() == before {
            probes.push(Probe::Unknown);
        }
    }
    probes
}

fn ask(spec: &str, names: &[&str]) -> Option<String> {
    let program = std::env::current_exe().ok()?.with_file_name("kingpost-bench-peak");
    let output = Command::new(program).arg(spec).args(names).output().ok()?;
    String::from_utf8(output.stdout).ok()
}

/// Functions that count bytes.
pub struct Meter {
    /// Resets the peak and returns the current number of bytes.
    pub reset: fn() -> usize,
    /// Returns the peak since the last reset.
    pub peak: fn() -> usize,
}

/// Runs `kingpost-bench-peak`: solves a case with each of the named allocators and prints one line for each.
///
/// # Errors
/// If the case cannot be loaded, or a name is unknown.
pub fn run(args: &[String], meter: &Meter) -> Result<()> {
    let (spec, wanted) = args.split_first().context("usage: kingpost-bench-peak CASE NAME...")?;
    be_quiet();
    let case = Case::load(spec)?;
    let entries = entries(&case);
    for name in wanted {
        let name = names().into_iter().find(|known| known == name).context("no such allocator")?;
        let start = ProcessTime::now();
        let done = Arc::new(AtomicBool::new(false));
        let watch = watch(start, Arc::clone(&done));
        let before = (meter.reset)();
        let mut contestant = Contestant::new(name, &case).context("no such allocator")?;
        let mut out = Allocation::default();
        let mut steps = 0;
        for entry in &entries {
            out.stats.steps = 0;
            let _refused = contestant.run(entry, &mut out);
            steps += out.stats.steps;
        }
        let bytes = (meter.peak)().saturating_sub(before);
        done.store(true, Ordering::Relaxed);
        watch.thread().unpark();
        let _ended = watch.join();
        println!("done {bytes} {steps}");
    }
    Ok(())
}

/// Ends the process with a message when the time limit is exceeded.
fn watch(start: ProcessTime, done: Arc<AtomicBool>) -> JoinHandle<()> {
    spawn(move || {
        while !done.load(Ordering::Relaxed) {
            if start.elapsed() >= Duration::from_secs(LIMIT) {
                println!("over");
                std::process::exit(0);
            }
            park_timeout(Duration::from_millis(100));
        }
    })
}

/// Disables messages of panics, because a panic of a rival counts as a refusal.
pub(super) fn be_quiet() {
    std::panic::set_hook(Box::new(|_| {}));
}
