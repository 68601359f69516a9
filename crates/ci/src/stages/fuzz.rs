//! Generated programs, problems and texts.

use crate::session::Session;
use anyhow::Result;

pub(crate) fn run(session: &mut Session) -> Result<()> {
    let seeds = session.tier.choose(50, 300, 10_000);
    let mut command = session.program("kingpost-fuzz")?;
    session.run(command.args(["all", &seeds.to_string()]))?;
    session.count("seeds of every target", seeds);
    Ok(())
}
