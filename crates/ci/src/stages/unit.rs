//! Tests of the crates, and the examples in their documentation.
//!
//! Programs with tests run side by side, as many as there are processors: Cargo would run one after the other, and wait for the
//! slowest test of each.

use crate::cargo::{TestProgram, cargo};
use crate::output;
use crate::session::{Ended, Session, in_ci};
use crate::tier::Tier;
use anyhow::{Result, anyhow, bail};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Packages and modules of tests that take longer than twelve seconds of CPU time: `quick` leaves them out.
const SLOW: &[(&str, &str)] = &[("kingpost-cli", "assembly::"), ("kingpost-opt", "known_bits::")];

/// Returns the modules of tests of a package that `quick` leaves out.
pub(crate) fn slow_modules(package: &str) -> impl Iterator<Item = &'static str> {
    SLOW.iter().filter(move |(slow, _)| *slow == package).map(|(_, module)| *module)
}

pub(crate) fn run(session: &mut Session) -> Result<()> {
    let programs = session.build()?.tests.clone();
    let (next, ended) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some(program) = programs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let outcome = session.end_of(&mut command(session, program));
            ended.lock().expect("no thread panics").push((program, outcome));
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let mut ended = ended.into_inner().expect("no thread panics");
    ended.sort_by_key(|&(program, _)| program);
    let mut failures = Vec::new();
    for (program, outcome) in ended {
        failures.extend(count(session, program, outcome?));
    }
    match &failures[..] {
        [] => Ok(()),
        [failure] => bail!("{failure}"),
        [first, others @ ..] => {
            let repeats: Vec<&str> = others.iter().filter_map(|failure| failure.lines().last()).collect();
            bail!("{first}\n{} programs more failed\n{}", others.len(), repeats.join("\n"))
        }
    }
}

/// Returns a command that runs the tests of a program, as Cargo would.
fn command(session: &Session, program: &TestProgram) -> Command {
    let mut command = session.limited(&program.path);
    // What passed may say that something was skipped.
    command.arg("--show-output").current_dir(&program.folder).env("CARGO_MANIFEST_DIR", &program.folder);
    if session.tier == Tier::Quick {
        command.args(slow_modules(&program.package).flat_map(|module| ["--skip", module]));
    }
    if session.tier == Tier::Deep {
        command.env("KINGPOST_EVERY", "1");
    }
    if !in_ci() {
        command.env("KINGPOST_WITHOUT_TOOLS", "1");
    }
    command
}

/// Counts the tests of a program. Returns its first failure, and how to repeat it.
fn count(session: &mut Session, program: &TestProgram, ended: Ended) -> Option<String> {
    let (passed, failed) = output::tests(&ended.text);
    session.count("tests", passed);
    if ended.status.success() {
        output::skipped(&ended.text).into_iter().for_each(|what| session.skip(format!("{}: {what}", program.package)));
        return None;
    }
    let TestProgram { package, target, .. } = program;
    let first = output::first_failure(&ended.text);
    let name = failed.map(|name| format!(" -- --exact {name}")).unwrap_or_default();
    let target = target.join(" ");
    Some(format!("{package}: {first}\n{}\nrepeat: cargo test --package {package} {target}{name}", ended.status))
}

/// Runs the examples of the documentation. In the deep tier it also builds the documentation, without a warning.
pub(crate) fn docs(session: &mut Session) -> Result<()> {
    let text = session.run(&mut cargo(&["test", "--workspace", "--doc"]))?;
    let (passed, _) = output::tests(&text);
    if passed == 0 {
        return Err(anyhow!("no example ran"));
    }
    session.count("examples", passed);
    // This builds the metadata of every crate again, for two minutes of CPU time.
    if session.tier == Tier::Deep {
        let words = ["doc", "--workspace", "--no-deps", "--lib", "--quiet"];
        session.run(cargo(&words).env("RUSTDOCFLAGS", "-D warnings"))?;
        session.count("builds", 1);
    }
    Ok(())
}
