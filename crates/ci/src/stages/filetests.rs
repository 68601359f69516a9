//! Our own tests, `filetests/`.

use crate::output;
use crate::session::Session;
use anyhow::{Context, Result, ensure};

/// Words of more runs of the tests of compiled code, by tier.
const WITH: [&[&[&str]]; 3] = [
    &[],
    &[&["--set", "regalloc_registers=few", "filetests/run"]],
    &[
        &["--set", "regalloc_registers=few", "filetests/run"],
        &["--via", "object", "filetests/run"],
        &["-O", "all", "filetests/run"],
    ],
];

pub(crate) fn run(session: &mut Session) -> Result<()> {
    test(session, &["--regalloc", "all", "filetests"])?;
    for words in WITH[session.tier as usize] {
        test(session, words)?;
    }
    Ok(())
}

/// Runs `kingpost test` with these words, and counts the units.
///
/// # Errors
/// If a unit fails, or none passed.
pub(crate) fn test<W: AsRef<std::ffi::OsStr>>(session: &mut Session, words: &[W]) -> Result<String> {
    let mut command = session.program("kingpost")?;
    let text = session.run(command.arg("test").args(words))?;
    let [passed, _, skipped] = output::units(&text).context("kingpost test does not count units")?;
    ensure!(passed > 0, "no unit passed");
    session.count("units passed", passed);
    session.count("skipped", skipped);
    Ok(text)
}
