//! Instructions that compiling takes: what users run is counted, so that this stage has a build of its own, of the compiler alone.

use crate::session::Session;
use anyhow::{Context, Result};
use std::process::Command;

pub(crate) fn run(session: &mut Session) -> Result<()> {
    if !session.has_tools(&["valgrind"], "counting instructions")? {
        return Ok(());
    }
    let built = session.build_of(&["--release", "--package", "kingpost-gate"])?;
    let gate = built.programs.get("kingpost-gate").context("the gate was not built")?;
    let text = session.run(Command::new(gate).args(["check", "crates/gate/table.txt"]))?;
    let last = text.lines().last().and_then(|line| line.strip_prefix("gate: ")?.split(' ').next()?.parse().ok());
    session.count("counts", last.unwrap_or(0));
    Ok(())
}
