//! Machines and systems to compile for, and calls of their tools.

use anyhow::{Context, Result, ensure};
use std::process::Command;

/// A machine to compile for, with its tools and the runner of its programs.
#[derive(Clone)]
pub(crate) struct Machine {
    pub(crate) target: &'static str,
    /// Processor features that the programs use: all processors of the last fifteen years have them.
    pub(crate) flags: &'static [&'static str],
    pub(crate) cc: &'static str,
    /// Linker options. Programs for an emulator are static, because it would have to find shared libraries.
    pub(crate) link: &'static [&'static str],
    pub(crate) size: &'static str,
    pub(crate) emulator: Option<&'static str>,
    /// The system, if it is not Linux, and its calling convention.
    pub(crate) system: Option<(System, &'static str)>,
}

/// A system that is not Linux.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum System {
    /// Windows, by MinGW's C compiler and Wine.
    Mingw,
    /// Windows, as an image.
    Pe,
    /// macOS, as an image for this architecture by its name.
    MachO(&'static str),
}

/// Returns `true` if a tool is installed.
pub(crate) fn is_there(tool: &str) -> bool {
    Command::new(tool).arg("--version").output().is_ok()
}

/// Runs a tool that must succeed.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let output = command.output().with_context(|| format!("cannot start {command:?}"))?;
    ensure!(output.status.success(), "{command:?}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    Ok(())
}
