//! Runs this program under callgrind, and reads the resulting profile.
//!
//! The format is described in the manual's chapter "Callgrind Format Specification". A name is written in full at its
//! first occurrence and as a number from then on. The line after `calls=` has the inclusive cost of the call.

use crate::stages::STAGES;
use crate::table::Row;
use crate::workload::{Case, Made};
use anyhow::{Context, Result, ensure};
use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

/// Setting with which the C library copies and fills memory by equal instructions on all processors.
const SAME_EVERYWHERE: &str = "glibc.cpu.hwcaps=-AVX2,-AVX_Fast_Unaligned_Load,-ERMS";
/// The function whose cost is the whole.
const WHOLE: &str = "workload::compile_warm";
/// The functions by which programs allocate memory.
const ALLOCATIONS: [&str; 3] = ["__rust_alloc", "__rust_alloc_zeroed", "__rust_realloc"];

/// Returns `true` if valgrind is installed.
pub(crate) fn is_here() -> bool {
    Command::new("valgrind").arg("--version").output().is_ok_and(|output| output.status.success())
}

/// Counts a case in a separate process.
///
/// # Errors
/// If the process fails, or the profile lacks a count.
pub(crate) fn count(case: &Case) -> Result<Row> {
    let directory = tempfile::tempdir()?;
    let profile = directory.path().join("profile");
    let output = Command::new("valgrind")
        .env("GLIBC_TUNABLES", SAME_EVERYWHERE)
        .args(["--tool=callgrind", "--collect-atstart=no", &format!("--toggle-collect=*{WHOLE}*")])
        .arg(format!("--callgrind-out-file={}", profile.display()))
        .arg(std::env::current_exe()?)
        .args(["compile", &case.target, &case.allocator, &case.opt_level])
        .output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let made: Made = String::from_utf8_lossy(&output.stdout).trim().parse()?;
    let costs = Costs::read(&profile)?;
    let per_inst = |count: u64| count as f64 / made.insts as f64;
    let whole = costs.inclusive(&[WHOLE]);
    ensure!(whole > 0, "the profile has nothing of {WHOLE}");
    for (stage, names) in STAGES {
        ensure!(costs.inclusive(names) > 0, "the profile has nothing of the stage {stage}: {}", names.join(", "));
    }
    let stages = STAGES.map(|(_, names)| per_inst(costs.inclusive(names)));
    Ok(Row { case: case.clone(), whole: per_inst(whole), stages, allocations: costs.allocations(), made })
}

/// Calls of each function while costs were collected: their number, and their inclusive cost.
struct Costs {
    calls: HashMap<String, (u64, u64)>,
}

impl Costs {
    fn read(profile: &Path) -> Result<Costs> {
        let text = std::fs::read_to_string(profile).with_context(|| format!("reading {}", profile.display()))?;
        let (mut names, mut calls) = (HashMap::new(), HashMap::new());
        let (mut caller, mut callee, mut count) = (String::new(), String::new(), None::<u64>);
        for line in text.lines() {
            if let Some(name) = line.strip_prefix("fn=") {
                caller = full_name(name, &mut names);
            } else if let Some(name) = line.strip_prefix("cfn=") {
                callee = full_name(name, &mut names);
            } else if let Some(numbers) = line.strip_prefix("calls=") {
                count = numbers.split_whitespace().next().and_then(|number| number.parse().ok());
            } else if let Some(count) = count.take() {
                let cost: u64 = line.split_whitespace().nth(1).and_then(|cost| cost.parse().ok()).unwrap_or(0);
                if caller != callee && cost > 0 {
                    let entry: &mut (u64, u64) = calls.entry(callee.clone()).or_default();
                    *entry = (entry.0 + count, entry.1 + cost);
                }
            }
        }
        Ok(Costs { calls })
    }

    /// Returns the inclusive cost of the functions whose names end with one of `ends`.
    fn inclusive(&self, ends: &[&str]) -> u64 {
        let is_one = |name: &str| ends.iter().any(|end| name.trim_end_matches("_with").ends_with(end));
        self.calls.iter().filter(|(name, _)| is_one(name)).map(|(_, &(_, cost))| cost).sum()
    }

    /// Returns the number of allocations of memory.
    fn allocations(&self) -> u64 {
        let allocates = |name: &str| ALLOCATIONS.iter().any(|&function| name.ends_with(function));
        self.calls.iter().filter(|(name, _)| allocates(name)).map(|(_, &(count, _))| count).sum()
    }
}

/// Returns the name in `(7) name`, or the recorded name of `(7)`.
fn full_name(text: &str, names: &mut HashMap<String, String>) -> String {
    let (number, name) = text.split_once(' ').unwrap_or((text, ""));
    if !name.is_empty() {
        names.insert(number.into(), name.into());
    }
    names.get(number).cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_is_read() {
        let text = "fn=(1) crate::compile_warm\n1 5\ncfn=(2) a::LowerState::run\ncalls=2 3\n7 40\n\
            cfn=(4) a::LowerState>::run_into\ncalls=1 3\n8 2\nfn=(2)\n1 30\ncfn=(3) __rustc::__rust_alloc\ncalls=4 1\n+1 10\ncfn=(2)\ncalls=1 1\n+1 30\n";
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let costs = Costs::read(file.path()).unwrap();
        assert_eq!(costs.inclusive(&["LowerState::run"]), 40);
        assert_eq!(costs.inclusive(&["LowerState::run", "LowerState>::run_into"]), 42);
        assert_eq!(costs.allocations(), 4);
    }
}
