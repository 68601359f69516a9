//! Formatting, lints, packages, and the compatibility of the library with its last release.

use crate::cargo::cargo;
use crate::session::Session;
use crate::tools;
use anyhow::Result;
use std::process::Command;

pub(crate) fn format(session: &mut Session) -> Result<()> {
    session.run(&mut cargo(&["fmt", "--all", "--check"])).map(drop)
}

pub(crate) fn lints(session: &mut Session) -> Result<()> {
    session.run(&mut cargo(&["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"]))?;
    // Every other build of this tier has both instruction sets and all allocators.
    with_features(session, "")
}

/// Sets of features with which the library is checked, beside none.
const FEATURES: [&str; 5] = ["reader,interpreter", "jit,object", "x64", "x64,linear", "aarch64,object"];

/// Words that select the library alone, for a list of features.
const LEAST: [&str; 4] = ["--package", "kingpost", "--no-default-features", "--features"];

/// Checks the library with these features.
fn with_features(session: &mut Session, features: &str) -> Result<()> {
    session.run(cargo(&["clippy", "--quiet"]).args(LEAST).args([features, "--", "-D", "warnings"])).map(drop)
}

/// Checks the library with few features, and runs its default settings with one target and one allocator.
pub(crate) fn features(session: &mut Session) -> Result<()> {
    for features in FEATURES {
        with_features(session, features)?;
        session.count("builds", 1);
    }
    let test = ["x64,linear,jit,reader", "--test", "features", "--quiet"];
    session.run(cargo(&["test"]).args(LEAST).args(test))?;
    redis(session)
}

/// Checks the cache on a Redis server.
fn redis(session: &mut Session) -> Result<()> {
    let lints = ["clippy", "--package", "kingpost-cli", "--package", "kingpost-codegen", "--all-targets", "--quiet"];
    session.run(cargo(&lints).args(["--features", "redis", "--", "-D", "warnings"]))?;
    if session.has_tools(&["redis-server"], "the cache on a server")? {
        let test = ["test", "--package", "kingpost-codegen", "--features", "redis", "--test", "all", "--quiet"];
        session.run(cargo(&test).args(["--", "redis_store::"]))?;
        session.count("servers", 1);
    }
    Ok(())
}

/// Crates that are not published, because they test or measure this workspace.
const TOOLS: [&str; 5] = ["kingpost-ci", "kingpost-demo", "kingpost-difftest", "kingpost-fuzz", "kingpost-gate"];

/// Creates the package of every published crate, and builds the packages apart from the workspace, as a client does.
pub(crate) fn packages(session: &mut Session) -> Result<()> {
    let words = ["package", "--workspace", "--allow-dirty", "--quiet", "--offline"];
    let excluded = TOOLS.iter().flat_map(|tool| ["--exclude", *tool]);
    session.run(cargo(&words).args(excluded)).map(drop)
}

/// Crates with names that the library exports.
const EXPORTED: [&str; 9] =
    ["checker", "codegen", "emit-object", "interpreter", "ir", "jit", "mach", "reader", "regalloc"];

/// Checks that the library is compatible with the last tag.
pub(crate) fn semver(session: &mut Session) -> Result<()> {
    if !tools::is_here("cargo-semver-checks") {
        session.skip("no cargo-semver-checks (`cargo install cargo-semver-checks` installs it)");
        return Ok(());
    }
    let tag = session.end_of(Command::new("git").args(["describe", "--tags", "--abbrev=0"]))?;
    if !tag.status.success() {
        session.skip("the compatibility with the last release: there is no tag");
        return Ok(());
    }
    let packages = EXPORTED.iter().flat_map(|name| ["--package".to_string(), format!("kingpost-{name}")]);
    let words = ["semver-checks", "--package", "kingpost", "--baseline-rev", tag.text.trim()];
    session.run(cargo(&words).args(packages))?;
    session.count("crates", 1 + EXPORTED.len() as u64);
    Ok(())
}
