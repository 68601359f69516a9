//! The build that the other stages use.

use crate::session::Session;
use anyhow::Result;

pub(crate) fn run(session: &mut Session) -> Result<()> {
    let built = session.build()?;
    let (programs, tests) = (built.programs.len() as u64, built.tests.len() as u64);
    session.count("programs", programs);
    session.count("programs with tests", tests);
    Ok(())
}
