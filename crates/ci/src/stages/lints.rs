//! Formatting, lints, and packages.

use crate::cargo::cargo;
use crate::session::Session;
use anyhow::Result;

pub(crate) fn format(session: &mut Session) -> Result<()> {
    session.run(&mut cargo(&["fmt", "--all", "--check"])).map(drop)
}

pub(crate) fn lints(session: &mut Session) -> Result<()> {
    // Of the one target and the one allocator that embedders without need of others build.
    let least = ["clippy", "--package", "kingpost", "--no-default-features", "--features", "x64,linear"];
    let all = ["clippy", "--workspace", "--all-targets"];
    for words in [&all[..], &least] {
        session.run(cargo(words).args(["--quiet", "--", "-D", "warnings"]))?;
        session.count("builds", 1);
    }
    Ok(())
}

/// Builds the library with few features, and runs its default settings with one target and one allocator.
pub(crate) fn features(session: &mut Session) -> Result<()> {
    let least = ["--package", "kingpost", "--no-default-features", "--features"];
    for features in ["", "reader,interpreter", "jit,object", "x64", "aarch64,object"] {
        session.run(cargo(&["clippy", "--quiet"]).args(least).args([features, "--", "-D", "warnings"]))?;
        session.count("builds", 1);
    }
    let test = ["x64,linear,jit,reader", "--test", "features", "--quiet"];
    session.run(cargo(&["test"]).args(least).args(test)).map(drop)
}

/// Crates that are not published, because they test or measure this workspace.
const TOOLS: [&str; 5] = ["kingpost-ci", "kingpost-demo", "kingpost-difftest", "kingpost-fuzz", "kingpost-gate"];

pub(crate) fn packages(session: &mut Session) -> Result<()> {
    let words = ["package", "--workspace", "--no-verify", "--allow-dirty", "--quiet", "--offline"];
    let excluded = TOOLS.iter().flat_map(|tool| ["--exclude", *tool]);
    session.run(cargo(&words).args(excluded)).map(drop)
}
