//! Targets that judge compiled code: by the interpreter, by C, by proofs, and at the edges of memory.

use anyhow::{Result, anyhow};
use kingpost_difftest::{Failure, Report, abi, checked, graphs, ir, memory, validate};
use rayon::prelude::*;
use std::ops::Range;

/// A target.
pub(crate) struct Target {
    pub(crate) name: &'static str,
    /// Seeds per seed of `all`, in percent, as some cases are large; 0 if `all` leaves the target out.
    pub(crate) percent: u64,
    run: fn(Range<u64>) -> Result<Report, Box<Failure>>,
}

pub(crate) const TARGETS: &[Target] = &[
    Target { name: "ir", percent: 100, run: ir::run },
    Target { name: "ir-turns", percent: 0, run: ir::run_in_turns },
    Target { name: "accesses", percent: 50, run: ir::run_accesses },
    Target { name: "frequencies", percent: 10, run: ir::run_frequencies },
    Target { name: "checked", percent: 50, run: checked::run },
    Target { name: "validate", percent: 1, run: validate::run },
    Target { name: "graphs", percent: 20, run: graphs::run },
    Target { name: "vectors", percent: 100, run: ir::run_vectors },
    Target { name: "abi", percent: 10, run: abi::run },
    Target { name: "memory", percent: 1, run: memory::run },
];

/// Runs a target on chunks of seeds.
pub(crate) fn run(target: &Target, chunks: Vec<Range<u64>>) -> Result<Report> {
    let reports = chunks.into_par_iter().map(|seeds| (target.run)(seeds).map_err(|failure| anyhow!("{failure}")));
    reports.try_reduce(Report::default, |mut a, b| {
        a.add(&b);
        Ok(a)
    })
}
