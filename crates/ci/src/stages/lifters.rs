//! The meanings of machine instructions, compared with two that others wrote: Ghidra's P-code and Valgrind's VEX.

use crate::cargo::TestProgram;
use crate::session::{Session, in_ci};
use crate::tools;
use anyhow::{Context, Result, ensure};
use std::process::Command;

/// The package whose tests write the meanings, and the programs that compare them.
const PACKAGE: &str = "kingpost-machine-semantics";
const PROGRAM: &str = "crates/machine-semantics/lifters/compare.py";

/// Tools that assemble the instructions, and that decide.
const TOOLS: [&str; 4] = ["gcc", "aarch64-linux-gnu-gcc", "z3", "python3"];

/// Packages of Python that translate machine code.
const LIFTERS: &str = "import pypcode, pyvex, archinfo";

pub(crate) fn run(session: &mut Session) -> Result<()> {
    if !session.has_tools(&TOOLS, "lifters")? || !has_lifters(session)? {
        return Ok(());
    }
    let is_wanted =
        |program: &&TestProgram| program.package == PACKAGE && program.target.iter().any(|word| word == "all");
    let program = session.build()?.tests.iter().find(is_wanted).context("no tests of meanings")?.clone();
    let file = session.scratch.join("meanings.txt");
    let mut command = session.limited(&program.path);
    command.arg("meanings::").current_dir(&program.folder).env("CARGO_MANIFEST_DIR", &program.folder);
    session.run(command.env("KINGPOST_MEANINGS", &file))?;
    let mut python = Command::new("python3");
    let text = session.run(python.arg(PROGRAM).arg(&file).env("PYTHONDONTWRITEBYTECODE", "1"))?;
    for (what, number) in text.lines().flat_map(counts) {
        session.count(&what, number);
    }
    Ok(())
}

/// Returns `true` if the packages are there; otherwise the stage is skipped.
fn has_lifters(session: &mut Session) -> Result<bool> {
    if session.end_of(Command::new("python3").args(["-c", LIFTERS]))?.status.success() {
        return Ok(true);
    }
    ensure!(!in_ci(), "pypcode or pyvex is missing: `{}` installs it", tools::INSTALL);
    session.skip(format!("lifters: no pypcode or no pyvex (`{}` installs them)", tools::INSTALL));
    Ok(false)
}

/// Returns the counts of a line such as `pcode x86_64: 3 equal, 1 explained`.
fn counts(line: &str) -> Vec<(String, u64)> {
    let Some((subject, rest)) = line.split_once(": ") else { return Vec::new() };
    let Some((lifter, _machine)) = subject.split_once(' ') else { return Vec::new() };
    let part = |part: &str| {
        let (number, kind) = part.split_once(' ')?;
        Some((format!("{kind} by {lifter}"), number.parse().ok()?))
    };
    rest.split(", ").filter_map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_a_line() {
        let expected = [("equal by pcode".to_string(), 12), ("no meaning by pcode".to_string(), 3)];
        assert_eq!(counts("pcode x86_64: 12 equal, 3 no meaning"), expected);
        assert!(counts("pcode aarch64 `add`: differs: r0").is_empty() && counts("").is_empty());
    }
}
