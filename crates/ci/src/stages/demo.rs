//! Real programs: compiled for every target with every allocator, linked, run, compared with system tools.

use crate::session::Session;
use anyhow::Result;

pub(crate) fn run(session: &mut Session) -> Result<()> {
    if !session.has_tools(&["cc", "sha256sum", "base64", "sort", "factor", "cmp", "awk"], "programs")? {
        return Ok(());
    }
    let kingpost = session.path("kingpost")?;
    let out = session.scratch.join("demo");
    let mut command = session.program("kingpost-demo")?;
    let text = session.run(command.arg(kingpost).arg(out))?;
    let answers = text.lines().last().and_then(|line| line.strip_prefix("demo: all ")?.split(' ').next()?.parse().ok());
    session.count("answers", answers.unwrap_or(0));
    Ok(())
}
