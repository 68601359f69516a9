//! The cost of compiling, against the committed table: bytes and edits of the code in each run, and in the deepest tier the
//! instructions that compiling takes, for which the compiler is built as users run it.

use crate::session::Session;
use crate::tier::Tier;
use anyhow::{Context, Result};
use std::process::Command;

const TABLE: &str = "crates/gate/table.txt";

pub(crate) fn run(session: &mut Session) -> Result<()> {
    let mut command = session.program("kingpost-gate")?;
    let text = session.run(command.args(["code", TABLE]))?;
    count(session, &text);
    if session.tier < Tier::Deep || !session.has_tools(&["valgrind"], "counting instructions")? {
        return Ok(());
    }
    let built = session.build_of(&["--release", "--package", "kingpost-gate"])?;
    let gate = built.programs.get("kingpost-gate").context("the gate was not built")?;
    let text = session.run(Command::new(gate).args(["check", TABLE]))?;
    count(session, &text);
    Ok(())
}

/// Counts what the last line of the program says.
fn count(session: &mut Session, text: &str) {
    let last = text.lines().last().and_then(|line| line.strip_prefix("gate: ")?.split(' ').next()?.parse().ok());
    session.count("counts", last.unwrap_or(0));
}
