//! Functions of random control flow, which mostly never return: compiling them must terminate, with every allocator
//! at every level for every machine. The verifiers and the checker must accept the results.

use crate::failure::{Failure, Report};
use crate::native::{Lane, NotLoaded, settings};
use crate::watch::watched;
use kingpost_codegen::{ALLOCATORS, OptLevel};
use kingpost_testgen::graphs::generate;
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::time::Duration;

const MACHINES: [&str; 2] = ["x86_64", "aarch64"];
const LEVELS: [OptLevel; 3] = [OptLevel::None, OptLevel::Speed, OptLevel::SpeedAndSize];

/// CPU time of the process within which all lanes compile one function, which takes some hundredths of a second.
/// The time of other threads counts too.
const LIMIT: Duration = Duration::from_secs(60);

/// Compiles the functions of `seeds`, each for all machines at all optimization levels with all allocators.
///
/// # Errors
/// The first function that is not compiled, or not within a minute of CPU time.
pub fn run(seeds: Range<u64>) -> Result<Report, Box<Failure>> {
    let work = watched(LIMIT, move |current| {
        let (mut report, mut lanes) = (Report::default(), lanes());
        for seed in seeds {
            current.store(seed, Ordering::Relaxed);
            compile(seed, &mut lanes, &mut report)?;
        }
        Ok(report)
    });
    work.unwrap_or_else(|seed| Err(failure(seed, "compiling it does not end")))
}

fn lanes() -> Vec<Lane> {
    let mut lanes = Vec::new();
    for machine in MACHINES {
        let triple = format!("{machine}-unknown-linux-gnu").parse().expect("a known triple");
        for opt_level in LEVELS {
            lanes.extend(ALLOCATORS.iter().map(|&(allocator, _)| {
                let settings = settings(allocator).with(|settings| {
                    settings.opt_level = opt_level;
                    settings.regalloc_checker = true;
                });
                Lane::with_settings(&triple, allocator, settings, Vec::new())
            }));
        }
    }
    lanes
}

fn compile(seed: u64, lanes: &mut [Lane], report: &mut Report) -> Result<(), Box<Failure>> {
    let functions = kingpost_reader::parse_functions(generate(seed));
    let functions = functions.map_err(|error| failure(seed, &error.to_string()))?;
    for lane in lanes {
        match lane.compile(&functions) {
            Ok(_) => report.functions += 1,
            Err(NotLoaded::Compile(_, error)) if error.is_unsupported() => report.skip(error),
            Err(error) => return Err(failure(seed, &format!("{lane}: {error}"))),
        }
    }
    report.cases += 1;
    Ok(())
}

fn failure(seed: u64, what: &str) -> Box<Failure> {
    let what = format!("{what}\nrepeat with: make fuzz TARGET=graphs N=1 SEED={seed}");
    Box::new(Failure { seed, what, text: generate(seed) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smoke() {
        let report = run(0..60).unwrap_or_else(|failure| panic!("{failure}"));
        assert!(report.cases == 60 && report.skipped.is_empty(), "{report}");
    }
}
