//! Real programs: compiled for every target with every allocator, linked, run, compared with system tools.

use crate::output;
use crate::session::Session;
use anyhow::Result;

pub(crate) fn run(session: &mut Session) -> Result<()> {
    if !session.has_tools(&["cc", "sha256sum", "base64", "sort", "factor", "cmp", "awk"], "programs")? {
        return Ok(());
    }
    programs(session, "demo", &[])
}

/// Runs the demo with these options, and a folder of this name for its files.
pub(crate) fn programs(session: &mut Session, folder: &str, options: &[&str]) -> Result<()> {
    let kingpost = session.path("kingpost")?;
    let out = session.scratch.join(folder);
    let mut command = session.program("kingpost-demo")?;
    let text = session.run(command.arg(kingpost).arg(out).args(options))?;
    let answers = text.lines().last().and_then(|line| line.strip_prefix("demo: all ")?.split(' ').next()?.parse().ok());
    session.count("answers", answers.unwrap_or(0));
    output::skipped(&text).into_iter().for_each(|what| session.skip(what));
    Ok(())
}
