//! The program that calls all versions of all kernels in turns.

use super::kernel::Kernel;
use super::versions::Version;
use anyhow::{Context, Result, ensure};
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

/// Time of one version of a kernel, in nanoseconds of CPU time, or in processor cycles where they can be counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub(crate) least: f64,
    pub(crate) median: f64,
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
            double start = now();
            uint64_t result = calls[i].function(calls[i].argument);
            times[i][round] = now() - start;
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

/// Builds and runs the program. Returns the samples of the first version first, in the order of the kernels.
///
/// # Errors
/// If a kernel's result differs from the expectation in its file, or there is no `cc`.
pub(super) fn run(kernels: &[Kernel], versions: &[Version], rounds: usize, folder: &Path) -> Result<Vec<Sample>> {
    // The versions of one kernel run one after the other, so that a slowdown of the machine affects all of them.
    let calls = || kernels.iter().flat_map(|kernel| versions.iter().map(move |version| (kernel, version)));
    let mut text = String::from("#include <stdint.h>\n");
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
    let (source, program) = (folder.join("main.c"), folder.join("main"));
    std::fs::write(&source, text)?;
    let mut command = Command::new("cc");
    command.arg("-O1").arg(&source).arg("-o").arg(&program);
    command.args(calls().map(|(kernel, version)| version.object(kernel, folder)));
    ensure!(command.status().context("cannot start cc")?.success(), "cannot link {}", program.display());
    let output = Command::new(&program).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr).trim());
    let text = String::from_utf8(output.stdout)?;
    let mut samples = Vec::new();
    for line in text.lines() {
        let (least, median) = line.split_once(' ').context("no two numbers")?;
        samples.push(Sample { least: least.parse()?, median: median.parse()? });
    }
    ensure!(samples.len() == kernels.len() * versions.len(), "the program has not said all");
    let order = |number: usize| samples[number % kernels.len() * versions.len() + number / kernels.len()];
    Ok((0..samples.len()).map(order).collect())
}
