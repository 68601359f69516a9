//! The programs that call all versions of all kernels in turns.
//!
//! The place of a loop within the lines of the processor's caches changes its time by up to a half. So there is a program for each of
//! four places: each object begins 0, 16, 32 or 48 bytes after a multiple of 64.

use super::kernel::Kernel;
use super::suite::Suite;
use super::versions::Version;
use crate::measure::geometric_mean;
use anyhow::{Context, Result, ensure};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Time of one version of a kernel, in nanoseconds of CPU time, or in processor cycles where they can be counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    /// Geometric mean of the least times of all rounds at each place.
    pub(crate) least: f64,
    /// Geometric mean of the median times of all rounds at each place.
    pub(crate) median: f64,
    /// Ratio of the greatest to the smallest of the least times, over all places.
    pub(crate) placement: f64,
}

impl Sample {
    /// Returns the ratio of the median to the least time.
    pub(crate) fn spread(&self) -> f64 {
        self.median / self.least
    }
}

const MAIN: &str = r#"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(void) {
    static double times[COUNT][ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < COUNT; i++) {
            prepare();
            double start = now();
            uint64_t result = calls[i].function(calls[i].argument);
            times[i][round] = now() - start;
            result ^= digest();
            if (result != calls[i].result) {
                fprintf(stderr, "%s(%llu) returned %llu\n", calls[i].name, (unsigned long long)calls[i].argument, (unsigned long long)result);
                return 1;
            }
        }
    }
    for (int i = 0; i < COUNT; i++) {
        qsort(times[i], ROUNDS, sizeof(double), compare);
        printf("%f %f\n", times[i][0], times[i][ROUNDS / 2]);
    }
    return 0;
}
"#;

/// Distances of objects from a multiple of [`LINE`], in bytes.
const PLACES: [usize; 4] = [0, 16, 32, 48];

/// Size of a line of the processor's caches in bytes.
const LINE: usize = 64;

/// Builds and runs the programs. Returns the samples of the first version first, in the order of the kernels.
///
/// # Errors
/// If a kernel's result differs from the expectation in its file, or there is no `cc`.
pub(super) fn run(suite: &Suite, versions: &[Version], rounds: usize, folder: &Path) -> Result<Vec<Sample>> {
    let Suite { kernels, surroundings } = suite;
    // The versions of one kernel run one after the other, so that a slowdown of the machine affects all of them.
    let calls = || kernels.iter().flat_map(|kernel| versions.iter().map(move |version| (kernel, version)));
    let mut text = format!("{surroundings}\n#include <stdint.h>\n");
    for (kernel, version) in calls() {
        writeln!(text, "uint64_t {}(uint64_t);", version.symbol(kernel))?;
    }
    text += "static const struct { const char *name; uint64_t (*function)(uint64_t); uint64_t argument, result; } calls[] = {\n";
    for (kernel, version) in calls() {
        let (symbol, Kernel { argument, result, .. }) = (version.symbol(kernel), kernel);
        writeln!(text, "    {{\"{symbol}\", {symbol}, {argument}ul, {result}ul}},")?;
    }
    writeln!(text, "}};\n#define COUNT {}\n#define ROUNDS {rounds}", kernels.len() * versions.len())?;
    text += MAIN;
    let source = folder.join("main.c");
    std::fs::write(&source, text)?;
    let objects: Vec<PathBuf> = calls().map(|(kernel, version)| version.object(kernel, folder)).collect();
    let mut places = Vec::new();
    for place in PLACES {
        let program = folder.join(format!("main{place}"));
        let pad = folder.join(format!("pad{place}.s"));
        let note = ".section .note.GNU-stack, \"\", @progbits";
        std::fs::write(&pad, format!(".text\n.balign {LINE}\n.skip {}\n{note}\n", LINE + place))?;
        let object = pad.with_extension("o");
        run_tool(Command::new("as").arg(&pad).arg("-o").arg(&object))?;
        let inputs = objects.iter().flat_map(|each| [&object, each]);
        run_tool(Command::new("cc").arg("-O1").arg(&source).args(inputs).arg("-o").arg(&program))?;
        let times = times(&program)?;
        ensure!(times.len() == objects.len(), "the program has not said all");
        places.push(times);
    }
    let samples: Vec<Sample> = (0..objects.len())
        .map(|index| {
            let of = |part: fn(&(f64, f64)) -> f64| places.iter().map(move |times| part(&times[index]));
            let [low, high] = [f64::min, f64::max].map(|pick| of(|times| times.0).reduce(pick).unwrap_or(f64::NAN));
            let [least, median] = [geometric_mean(of(|times| times.0)), geometric_mean(of(|times| times.1))];
            Sample { least, median, placement: high / low }
        })
        .collect();
    let order = |number: usize| samples[number % kernels.len() * versions.len() + number / kernels.len()];
    Ok((0..samples.len()).map(order).collect())
}

pub(super) fn run_tool(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {}", command.get_program().display()))?;
    ensure!(status.success(), "{command:?} failed");
    Ok(())
}

/// Runs a program. Returns the least and the median time of each call.
fn times(program: &Path) -> Result<Vec<(f64, f64)>> {
    let output = Command::new(program).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr).trim());
    let text = String::from_utf8(output.stdout)?;
    let line = |line: &str| {
        let (least, median) = line.split_once(' ').context("no two numbers")?;
        Ok((least.parse()?, median.parse()?))
    };
    text.lines().map(line).collect()
}
