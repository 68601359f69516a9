//! Code in memory on AArch64, by an emulator: the tests of `jit` and `isolate`, and whether each publication of code is announced to all
//! threads.

use crate::cargo::cargo;
use crate::output;
use crate::session::Session;
use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

pub(crate) const TARGET: &str = "aarch64-unknown-linux-gnu";

/// The compiler that links, and the emulator.
const TOOLS: [&str; 2] = ["aarch64-linux-gnu-gcc", "qemu-aarch64"];

/// Folder of the libraries of the other machine.
const LIBRARIES: &str = "/usr/aarch64-linux-gnu";

/// The command of `membarrier` that makes the processors of all threads fetch their next instructions anew.
const SYNCHRONIZE: &str = "membarrier(32,";

/// Names that versions of the emulator give the flag of pages whose landing pads the processor checks.
const LANDING_PADS: [&str; 2] = ["PROT_BTI", "|0x10)"];

/// Words that select tests of code in memory. A debugger of this machine does not run programs of the other one, and calls of two threads
/// would be in one list.
const TESTS: &[&str] = &[
    "--package",
    "kingpost-jit",
    "--package",
    "kingpost-isolate",
    "--lib",
    "--tests",
    "--",
    "--skip",
    "gdb",
    "--skip",
    "lldb",
    "--test-threads=1",
];

/// Returns `true` if programs for AArch64 can be built and run here. Otherwise `subject` is skipped.
pub(crate) fn is_available(session: &mut Session, subject: &str) -> Result<bool> {
    if !session.has_tools(&TOOLS, subject)? {
        return Ok(false);
    }
    has_standard_library(session, TARGET, subject)
}

/// Returns `true` if Rust's standard library for a target is here. Otherwise `subject` is skipped.
pub(crate) fn has_standard_library(session: &mut Session, target: &str, subject: &str) -> Result<bool> {
    let found = session.run(Command::new("rustc").args(["--print", "target-libdir", "--target", target]))?;
    let is_available = Path::new(found.trim()).is_dir();
    if !is_available {
        session.skip(format!("{subject}: no standard library (`rustup target add {target}` installs it)"));
    }
    Ok(is_available)
}

/// Makes Cargo link programs for [`TARGET`], and run them by the emulator with these options.
pub(crate) fn emulate(command: &mut Command, options: &str) {
    let [linker, emulator] = TOOLS;
    command.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", linker);
    let runner = format!("{emulator} -cpu max -L {LIBRARIES} {options}");
    command.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER", runner.trim_end());
}

pub(crate) fn run(session: &mut Session) -> Result<()> {
    if !is_available(session, "code in memory on AArch64")? {
        return Ok(());
    }
    let calls = session.scratch.join("calls");
    fs::create_dir_all(&calls).context("a folder for calls of the system")?;
    let log = calls.join("%d").display().to_string();
    let mut command = cargo(&["test", "--target", TARGET]);
    command.args(TESTS).env("KINGPOST_MODULES", "100");
    emulate(&mut command, &format!("-strace -D {log}"));
    let text = session.run(&mut command)?;
    session.count("tests", output::tests(&text).0);
    let mut all = Published::default();
    for entry in fs::read_dir(&calls)? {
        let text = fs::read(entry?.path())?;
        let published = published_by(&String::from_utf8_lossy(&text))?;
        all.all += published.all;
        all.with_landing_pads += published.with_landing_pads;
    }
    ensure!(all.all > 0, "no code was published");
    ensure!(all.with_landing_pads > 0, "no code was published with landing pads");
    session.count("publications of code", all.all);
    session.count("with landing pads", all.with_landing_pads);
    Ok(())
}

/// Numbers of calls that make code executable.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Published {
    all: u64,
    with_landing_pads: u64,
}

/// Returns how often processes make code executable, from a list of their calls. Each line begins with the number of the process.
///
/// # Errors
/// If a process publishes code and does not announce it to the processors of all threads before it publishes other code.
fn published_by(calls: &str) -> Result<Published> {
    let mut published = Published::default();
    let mut by_process: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for line in calls.lines().filter(|line| line.ends_with(" = 0")) {
        by_process.entry(line.split(' ').next().unwrap_or_default()).or_default().push(line);
    }
    for lines in by_process.values() {
        // Pages that are given back have no code: the call before it frees them.
        let mut freed = None;
        let mut unannounced = None;
        for line in lines {
            let changed = argument(line, "mprotect(").filter(|_| line.contains("PROT_EXEC"));
            if changed.is_some() && changed != freed {
                ensure!(unannounced.is_none(), "code is not announced to all threads: {}", unannounced.unwrap_or(""));
                unannounced = Some(*line);
                published.all += 1;
                published.with_landing_pads += u64::from(LANDING_PADS.iter().any(|name| line.contains(name)));
            } else if line.contains(SYNCHRONIZE) {
                unannounced = None;
            }
            freed = argument(line, "madvise(");
        }
        ensure!(unannounced.is_none(), "code is not announced to all threads: {}", unannounced.unwrap_or(""));
    }
    Ok(published)
}

/// Returns the first argument of a call of this kind.
fn argument<'a>(line: &'a str, call: &str) -> Option<&'a str> {
    line.split_once(call)?.1.split(',').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn announcements_follow_publications() {
        let publish = "7 mprotect(0x5502a30000,4096,PROT_EXEC|PROT_READ) = 0\n";
        let pads = "7 mprotect(0x5502a30000,4096,PROT_EXEC|PROT_READ|0x10) = 0\n";
        let barrier = "7 membarrier(32,0,0,1,1,1) = 0\n";
        let refused =
            "7 membarrier(32,0,0,1,1,1) = -1 errno=1 (Operation not permitted)\n7 membarrier(64,0,0,1,1,1) = 0\n";
        let free = "7 madvise(0x5502a30000,4096,4,0,0,0) = 0\n";
        let other = "7 madvise(0x5502a40000,4096,4,0,0,0) = 0\n";
        let child = "8 membarrier(32,0,0,1,1,1) = 0\n";
        let found = published_by(&[publish, refused, barrier, free, publish, pads, barrier].concat());
        assert_eq!(found.unwrap(), Published { all: 2, with_landing_pads: 1 });
        for calls in [
            &[publish, refused][..],
            &[publish],
            &[other, publish],
            &[publish, pads, barrier, barrier],
            &[publish, child],
        ] {
            assert!(published_by(&calls.concat()).is_err(), "{calls:?}");
        }
    }
}
