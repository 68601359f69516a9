//! Miri over what it can run of `jit`, and the tests of the crates with `unsafe` under AddressSanitizer and ThreadSanitizer. These need
//! parts of Rust's nightly toolchain.

use crate::output;
use crate::session::Session;
use crate::stages::compat;
use anyhow::{Context, Result};
use std::path::PathBuf;
use std::process::Command;

/// Words that install what is needed.
const INSTALL: &str = "rustup toolchain install nightly --component miri,rust-src";

/// Options that leave the signals of processes to the tests, which see how processes end.
const SIGNALS: &str = "handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0:handle_abort=0";

/// Parts without system calls and machine code, which Miri does not know: which addresses are free, relocations, unwind sections.
const PURE: [&str; 3] = ["runs::", "relocate::", "unwind::"];

pub(crate) fn run(session: &mut Session) -> Result<()> {
    let target = session.root.join(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()));
    if session.end_of(&mut nightly(&["cargo", "miri", "--version"])).is_ok_and(|ended| ended.status.success()) {
        let mut miri = nightly(&["cargo", "miri", "test", "--package", "kingpost-jit", "--lib", "--target-dir"]);
        let text = session.run(miri.arg(target.join("miri")).arg("--").args(PURE))?;
        session.count("tests under Miri", output::tests(&text).0);
    } else {
        session.skip(format!("no Miri (`{INSTALL}` installs it)"));
    }
    let Some(host) = host(session) else {
        session.skip(format!("sanitizers: no source of the standard library (`{INSTALL}` installs it)"));
        return Ok(());
    };
    compat::prepare(session)?;
    for sanitizer in ["address", "thread"] {
        // Threads are seen only in code that has the sanitizer, so the standard library is built with it.
        let test = ["cargo", "test", "-Zbuild-std", "--target", &host, "--target-dir"];
        let run = |session: &mut Session, folder: &str, words: &[&str]| {
            let mut command = nightly(&test);
            // Both workspaces share the standard library and other dependencies.
            command.arg(target.join(sanitizer)).args(words).current_dir(session.root.join(folder));
            command.env("RUSTFLAGS", format!("-Zsanitizer={sanitizer}"));
            // What the unwinder knows of modules that were dropped stays on purpose. A test bounds the memory of the
            // process, which contains what was freed last.
            command.env("ASAN_OPTIONS", format!("detect_leaks=0:quarantine_size_mb=1:{SIGNALS}"));
            let text = session.run(command.env("TSAN_OPTIONS", SIGNALS))?;
            session.count(&format!("tests with the {sanitizer} sanitizer"), output::tests(&text).0);
            Ok::<(), anyhow::Error>(())
        };
        run(session, ".", &["--package", "kingpost-jit", "--lib", "--tests"])?;
        if sanitizer == "address" {
            run(session, ".", &["--package", "kingpost-isolate", "--lib", "--tests"])?;
        } else {
            session.skip("kingpost-isolate under ThreadSanitizer, which delays the signal that ends a loop at its limit of CPU time");
        }
        run(session, "cranelift-compat", &["--lib", "--test", "client"])?;
    }
    Ok(())
}

/// Returns a command of the nightly toolchain.
fn nightly(words: &[&str]) -> Command {
    let mut command = Command::new("rustup");
    command.args(["run", "nightly"]).args(words);
    command
}

/// Returns the name of this machine's target, if the nightly toolchain has the source of the standard library.
fn host(session: &Session) -> Option<String> {
    let printed = |words: &[&str]| -> Result<String> {
        let ended = session.end_of(&mut nightly(words)).context("the nightly toolchain")?;
        Ok(if ended.status.success() { ended.text } else { String::new() })
    };
    let root = printed(&["rustc", "--print", "sysroot"]).ok()?;
    let source = PathBuf::from(root.trim()).join("lib/rustlib/src/rust/library");
    let version = printed(&["rustc", "-vV"]).ok().filter(|_| source.is_dir())?;
    version.lines().find_map(|line| line.strip_prefix("host: ")).map(str::to_string)
}
