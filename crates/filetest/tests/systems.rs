//! Runs files of the project compiled for Windows and macOS: for Windows on x86-64 in programs that MinGW's linker makes,
//! under Wine; for the other systems in images that LLVM's linkers make, as data of programs for Linux.

use std::fs;
use std::path::{Path, PathBuf};

use kingpost_filetest::native::can_run;
use kingpost_filetest::{Options, Outcome, Via, run_text};

/// Files of every test run. With `KINGPOST_CASES`, all files of the folder `run` are tested.
const SAMPLE: &[&str] = &[
    "abi/calls.clif",
    "abi/several-results.clif",
    "opcodes/data.clif",
    "opcodes/divide-wide.clif",
    "opcodes/traps.clif",
    "vectors/vector-calls.clif",
];

/// Words of files that do not run on other systems, each with the reason.
const LEFT_OUT: &[(&str, &str)] = &[
    ("__cranelift_throw", "the driver finds handlers by a section of ELF"),
    ("tls_model", "thread-local storage has another model on each system"),
    ("probestack", "the driver has the routines of Linux, and each system has its own"),
    ("is_pic=false", "code for these systems is position-independent"),
    ("libcall_call_conv", "the libraries are the ones of Linux"),
    ("x86_64-", "the file names its system"),
];

/// MinGW's library rounds `fma` twice, so that the instruction is used on its system in files with this word.
const FUSED: (&str, &str, &str) =
    ("fma", "x86_64-pc-windows-gnu", " has_sse3 has_ssse3 has_sse41 has_sse42 has_avx has_fma");

/// Returns the files of the project that are run.
fn files() -> Vec<PathBuf> {
    fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
        let mut entries: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        entries.sort();
        for entry in entries {
            match entry.is_dir() {
                true => collect(&entry, files),
                false => files.push(entry),
            }
        }
    }
    let run = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../filetests/run");
    let mut files = Vec::new();
    match std::env::var_os("KINGPOST_CASES") {
        Some(_) => collect(&run, &mut files),
        None => files.extend(SAMPLE.iter().map(|name| run.join(name))),
    }
    files.retain(|file| file.extension().is_some_and(|extension| extension == "clif"));
    files
}

/// Runs the files with a target of a machine for another triple.
fn run_files(machine: &str, triple: &str) {
    if let Err(reason) = can_run(&triple.parse().unwrap()) {
        return eprintln!("SKIPPED: files that run on {triple}: {reason}");
    }
    let other = if machine == "x86_64" { "target aarch64" } else { "target x86_64" };
    let target = format!("target {machine}");
    let options = Options::default().with(|options| options.via = Via::Object);
    let (mut ran, mut failures) = (0, Vec::new());
    for file in files() {
        let text = fs::read_to_string(&file).unwrap();
        if !text.contains(&format!("\n{target}")) {
            continue;
        }
        if LEFT_OUT.iter().any(|(word, _)| text.contains(word)) {
            continue;
        }
        let lines = text.lines().filter(|line| !line.starts_with(other) && *line != "test interpret");
        let flags = if text.contains(FUSED.0) && triple == FUSED.1 { FUSED.2 } else { "" };
        let text: String = lines
            .map(|line| line.replacen(&target, &format!("set is_pic\ntarget {triple}{flags}"), 1) + "\n")
            .collect();
        for unit in run_text(&file.display().to_string(), text.as_bytes(), None, &options).units {
            match unit.outcome {
                Outcome::Failed(texts) => failures.push(format!("{}: {}", unit.command, texts.join("\n"))),
                Outcome::Passed => ran += 1,
                Outcome::Skipped(_) => {}
            }
        }
    }
    assert!(failures.is_empty(), "{} of {ran} failed:\n{}", failures.len(), failures.join("\n"));
    assert!(ran > 0, "a file is compiled for {triple}");
    if std::env::var_os("KINGPOST_CASES").is_some() {
        println!("{triple}: {ran} units");
    }
}

#[test]
fn files_run_on_windows() {
    run_files("x86_64", "x86_64-pc-windows-gnu");
}

#[test]
fn files_run_on_windows_on_aarch64() {
    run_files("aarch64", "aarch64-pc-windows-msvc");
}

#[test]
fn files_run_on_macos() {
    run_files("x86_64", "x86_64-apple-darwin");
}

#[test]
fn files_run_on_apple_silicon() {
    run_files("aarch64", "aarch64-apple-darwin");
}
