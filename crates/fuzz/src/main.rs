//! Seeded random tests: `kingpost-fuzz TARGET COUNT [SEED] [--shard I/N]`.
//!
//! A target is the name of a register allocator (generated problems, judged by checker and simulator), `faults`
//! (planted faults that the checker must catch), `clif` or `ra` (mutants of texts, which must read or fail cleanly),
//! `ir`, `vectors`, `accesses`, `frequencies`, `abi` or `memory` (compiled code against the interpreter, against C, and at the edges
//! of memory), `checked` (generated programs, judged by the checker alone), `validate` (generated programs whose emitted
//! code must be proved, and planted faults in it refused), `graphs` (random control flow that need not end,
//! compiled), or `all`. `ir-turns` is `ir` with allocators and levels in turns, one of each per program, for long runs;
//! `all` leaves it out. Seeds count up from SEED, so a failure is repeated by its seed and a count
//! of 1. A shard runs a part of each target's seeds: machines that run one part each have together run all. Each target
//! calls a function that a test calls too.
//!
//! The same functions under libFuzzer, which looks for inputs that reach new code, are in `libfuzzer` beside this
//! crate's sources, a workspace of its own: `cargo +nightly fuzz run --fuzz-dir crates/fuzz/libfuzzer TARGET`.

mod compiled;
mod repeat;
mod texts;

use anyhow::{Error, Result, bail, ensure};
use kingpost_codegen::ALLOCATORS;
use kingpost_testgen::Shard;
use kingpost_testgen::fuzz::{self, FaultReport, Report};
use rayon::prelude::*;
use repeat::repeat;
use std::ops::Range;
use std::time::Instant;

const USAGE: &str = "usage: kingpost-fuzz TARGET COUNT [SEED] [--shard I/N]";

/// Seeds that one task takes.
const CHUNK: u64 = 250;

/// Problems for each allocator per seed of `all`: one takes a tenth of a millisecond, and some orders of spills and
/// loops that an allocator has to be right about come up once in 50,000.
const PROBLEMS: u64 = 6;

fn main() -> Result<()> {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let shard: Shard = match args.iter().position(|arg| arg == "--shard") {
        Some(at) if at + 1 < args.len() => {
            args.drain(at..at + 2).nth(1).unwrap_or_default().parse().map_err(Error::msg)?
        }
        Some(_) => bail!(USAGE),
        None => Shard::default(),
    };
    let (target, count, seed) = match &args[..] {
        [target, count] => (target, count, None),
        [target, count, seed] => (target, count, Some(seed)),
        _ => bail!(USAGE),
    };
    let count: u64 = count.parse()?;
    let first: u64 = seed.map_or(Ok(0), |seed| seed.parse())?;
    // The shard's seeds of a target that runs `count` seeds.
    let seeds = |count: u64| shard.part(first..first.saturating_add(count));
    let names: Vec<&str> = ALLOCATORS.iter().map(|&(name, _)| name).collect();
    let all = target == "all";
    let mut kinds: Vec<&str> = texts::KINDS.iter().map(|kind| kind.name).collect();
    kinds.extend(compiled::TARGETS.iter().map(|target| target.name));
    ensure!(
        all || target == "faults" || names.contains(&target.as_str()) || kinds.contains(&target.as_str()),
        "targets: all, faults, {}, {}",
        names.join(", "),
        kinds.join(", ")
    );
    for kind in texts::KINDS.iter().filter(|kind| all || kind.name == *target) {
        let start = Instant::now();
        let report = texts::run(kind, chunks(seeds(count)))?;
        println!("{}: {report}, {:.1} s", kind.name, start.elapsed().as_secs_f64());
    }
    let is_run = |kind: &&compiled::Target| if all { kind.percent > 0 } else { kind.name == *target };
    for kind in compiled::TARGETS.iter().filter(is_run) {
        let start = Instant::now();
        let count = if all { (count * kind.percent).div_ceil(100) } else { count };
        let report = compiled::run(kind, chunks(seeds(count)))?;
        println!("{}: {report}, {:.1} s", kind.name, start.elapsed().as_secs_f64());
    }
    for &name in names.iter().filter(|name| all || *name == target) {
        let start = Instant::now();
        let count = if all { count * PROBLEMS } else { count };
        let report = allocator(name, seeds(count))?;
        println!("{name}: {report}, {:.1} s", start.elapsed().as_secs_f64());
    }
    if all || target == "faults" {
        // A mutant of each of dozens of kinds per problem.
        let count = if all { count.div_ceil(10) } else { count };
        let mut sum: Option<FaultReport> = None;
        for &name in &names {
            let report = faults(name, seeds(count))?;
            println!("faults in the answers of {name}:\n{report}");
            match &mut sum {
                Some(sum) => sum.add(&report),
                None => sum = Some(report),
            }
        }
        if let Some(sum) = sum {
            println!("faults in the answers of all:\n{sum}");
        }
    }
    Ok(())
}

fn chunks(seeds: Range<u64>) -> Vec<Range<u64>> {
    let end = seeds.end;
    seeds.step_by(CHUNK as usize).map(|start| start..end.min(start + CHUNK)).collect()
}

fn make(name: &str) -> Box<dyn kingpost_regalloc::Allocator> {
    let factory = kingpost_codegen::allocator(name).expect("the table's own name");
    factory()
}

fn allocator(name: &str, seeds: Range<u64>) -> Result<Report> {
    let reports = chunks(seeds).into_par_iter().map(|seeds| {
        fuzz::allocator(&mut *make(name), seeds).map_err(|failure| repeat(name, failure.seed, &failure.to_string()))
    });
    reports.try_reduce(Report::default, |mut a, b| {
        a.add(&b);
        Ok(a)
    })
}

fn faults(name: &str, seeds: Range<u64>) -> Result<FaultReport> {
    let reports: Result<Vec<FaultReport>> = chunks(seeds)
        .into_par_iter()
        .map(|seeds| {
            fuzz::faults(&mut *make(name), seeds)
                .map_err(|failure| repeat("faults", failure.seed, &failure.to_string()))
        })
        .collect();
    let mut reports = reports?.into_iter();
    let Some(mut sum) = reports.next() else { bail!("no seeds") };
    reports.for_each(|report| sum.add(&report));
    Ok(sum)
}
