//! Services for every stage: a timing row, a verifier, a dump, and a name in messages.

use crate::error::CompileError;
use crate::options::Options;
use crate::stage::Stage;
use cpu_time::ThreadTime;
use kingpost_ir::Function;
use kingpost_ir::extfunc::FuncName;
use kingpost_ir::verifier::{TargetInfo, Verifier};
use kingpost_mach::Guard;
use kingpost_mach::text::problem_name;
use kingpost_mach::tiles::TileCounts;
use kingpost_regalloc::{Allocation, Event, Observer, Problem, cost::Cost, text};
use std::fmt;
use std::ops::AddAssign;

/// Counters of everything compiled so far. Times are CPU seconds of the compiling threads.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
#[non_exhaustive]
pub struct Stats {
    /// Functions compiled.
    pub functions: u64,
    /// Functions that the cache had.
    pub cache_hits: u64,
    /// Functions that `fused` left to `linear`.
    pub unfused: u64,
    /// Counts of the setting `validate_code`.
    pub proofs: ProofCounts,
    /// Number of instructions of the functions before lowering.
    pub clif_insts: u64,
    /// Bytes of emitted code.
    pub code_bytes: u64,
    /// Work units of all stages, of functions that failed as well; see [`Limits::work`](crate::Limits::work).
    pub work: u64,
    /// Greatest number of bytes that one function took; see [`Limits::bytes`](crate::Limits::bytes). 0 without that
    /// limit, because the bytes are not counted then.
    pub peak_bytes: u64,
    /// Number of register-to-slot edits.
    pub spills: u64,
    /// Number of slot-to-register edits.
    pub fills: u64,
    /// Number of register-to-register edits, and of moves of the program that were kept.
    pub moves: u64,
    /// Cost of all edits, weighted by frequency.
    pub weighted_cost: f64,
    /// Number of uses of each tile of the target, indexed like [`Isa::tiles`](kingpost_mach::Isa::tiles).
    pub tiles: TileCounts,
    /// CPU seconds per stage, indexed like [`Stage::ALL`].
    pub stage_seconds: [f64; Stage::ALL.len()],
}

/// Numbers of functions by the verdict on their code, functions that failed as well. Each compiled function has one
/// verdict: on its code, or, where the setting `validate_failure=recompile` replaced the code, on the replaced code.
/// Functions of a cache have none.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct ProofCounts {
    /// Functions whose code means what they mean.
    pub proved: u64,
    /// Functions whose code differs from them for known inputs.
    pub refuted: u64,
    /// Functions without a proof and without such inputs.
    pub not_proved: u64,
    /// Functions with a feature that the validator does not know.
    pub out_of_scope: u64,
    /// Refuted functions, and functions without a proof, whose code was replaced by proved code of the baseline
    /// allocator.
    pub recompiled: u64,
}

impl ProofCounts {
    /// Returns the counts with their names.
    pub fn rows(&self) -> [(&'static str, u64); 5] {
        [
            ("proved", self.proved),
            ("refuted", self.refuted),
            ("not_proved", self.not_proved),
            ("out_of_scope", self.out_of_scope),
            ("recompiled", self.recompiled),
        ]
    }
}

impl AddAssign for ProofCounts {
    fn add_assign(&mut self, other: ProofCounts) {
        self.proved += other.proved;
        self.refuted += other.refuted;
        self.not_proved += other.not_proved;
        self.out_of_scope += other.out_of_scope;
        self.recompiled += other.recompiled;
    }
}

impl AddAssign<&Stats> for Stats {
    fn add_assign(&mut self, other: &Stats) {
        self.functions += other.functions;
        self.cache_hits += other.cache_hits;
        self.unfused += other.unfused;
        self.proofs += other.proofs;
        self.clif_insts += other.clif_insts;
        self.code_bytes += other.code_bytes;
        self.work += other.work;
        self.peak_bytes = self.peak_bytes.max(other.peak_bytes);
        self.spills += other.spills;
        self.fills += other.fills;
        self.moves += other.moves;
        self.weighted_cost += other.weighted_cost;
        for (sum, count) in self.tiles.iter_mut().zip(other.tiles) {
            *sum += count;
        }
        for (sum, seconds) in self.stage_seconds.iter_mut().zip(other.stage_seconds) {
            *sum += seconds;
        }
    }
}

/// Runs the stages of one function. Measures time, records the running stage, and verifies and dumps results.
pub(crate) struct Stages<'a> {
    pub(crate) options: &'a Options,
    pub(crate) current: Stage,
    pub(crate) guard: &'a Guard,
    /// Whether the setting `verify_each` is on.
    verify_each: bool,
    name: &'a str,
    /// Bytes of the function, once it changes no more.
    pub(crate) input_bytes: u64,
    pub(crate) stats: &'a mut Stats,
}

impl<'a> Stages<'a> {
    pub(crate) fn new(
        (options, guard): (&'a Options, &'a Guard),
        verify_each: bool,
        name: &'a str,
        stats: &'a mut Stats,
    ) -> Stages<'a> {
        Stages { options, current: Stage::ALL[0], guard, verify_each, name, input_bytes: 0, stats }
    }

    /// Runs one stage. Fails instead if compilation is canceled, or if the stage is after the last one to run.
    #[inline]
    pub(crate) fn run<T, E: Into<CompileError>>(
        &mut self,
        stage: Stage,
        body: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, CompileError> {
        if self.options.stop_after.is_some_and(|last| stage as usize > last as usize) {
            return Err(CompileError::Stopped);
        }
        self.current = stage;
        self.guard.meter.check()?;
        let result = self.timed(stage, body);
        // Stages without errors of their own end early if the meter refuses.
        self.guard.meter.status()?;
        result.map_err(Into::into)
    }

    /// Counts work that the next stage is going to do.
    pub(crate) fn reserve(&self, work: usize) -> Result<(), CompileError> {
        Ok(self.guard.meter.reserve(work as u64)?)
    }

    /// Runs a stage that always succeeds, like [`Stages::run`].
    pub(crate) fn change(&mut self, stage: Stage, body: impl FnOnce()) -> Result<(), CompileError> {
        self.run(stage, || {
            body();
            Ok::<(), CompileError>(())
        })
    }

    /// Dumps and verifies the function after the current stage.
    pub(crate) fn made(
        &mut self,
        func: &Function,
        verifier: &mut Verifier,
        target: TargetInfo,
    ) -> Result<(), CompileError> {
        self.dump(|| func.to_string());
        let size = func.dfg.num_insts() + func.dfg.num_blocks();
        self.verify(3 * size as u64, || verifier.verify(func, Some(target)).err())
    }

    /// Verifies the result of the current stage if `verify_each` is on. `errors` returns the broken rules, and takes `work`
    /// units.
    pub(crate) fn verify<E: IntoIterator<Item: fmt::Display>>(
        &mut self,
        work: u64,
        errors: impl FnOnce() -> E,
    ) -> Result<(), CompileError> {
        if !self.verify_each {
            return Ok(());
        }
        self.guard.meter.reserve(work)?;
        let errors = self.timed(Stage::Verify, errors);
        let report: Vec<String> = errors.into_iter().map(|error| error.to_string()).collect();
        if report.is_empty() {
            return Ok(());
        }
        Err(CompileError::Broken { stage: self.current, report: report.join("\n") })
    }

    fn timed<T>(&mut self, stage: Stage, body: impl FnOnce() -> T) -> T {
        if !self.options.time {
            return body();
        }
        let start = ThreadTime::now();
        let result = body();
        self.stats.stage_seconds[stage as usize] += start.elapsed().as_secs_f64();
        result
    }

    /// Returns `true` if the dump receiver takes the text of `stage`.
    pub(crate) fn takes(&self, stage: Stage) -> bool {
        self.options.dump.as_ref().is_some_and(|receiver| receiver.takes(stage, self.name))
    }

    /// Sends the text of the current stage to the dump receiver, if the receiver takes it.
    pub(crate) fn dump(&self, text: impl FnOnce() -> String) {
        if let Some(receiver) = self.options.dump.as_ref().filter(|_| self.takes(self.current)) {
            receiver.take(self.current, self.name, text());
        }
    }

    /// Counts a compiled function.
    pub(crate) fn count(&mut self, code_bytes: usize, cost: impl FnOnce() -> Cost) {
        self.stats.functions += 1;
        self.stats.code_bytes += code_bytes as u64;
        if self.options.count {
            let cost = cost();
            self.stats.spills += cost.spills;
            self.stats.fills += cost.fills;
            self.stats.moves += cost.moves;
            self.stats.weighted_cost += cost.loads();
        }
    }

    /// Removes a function from the counts, because its code is not kept. Takes what [`Stages::count`] took.
    #[cfg(feature = "validate")]
    pub(crate) fn uncount(&mut self, code_bytes: usize, cost: impl FnOnce() -> Cost) {
        self.stats.functions -= 1;
        self.stats.code_bytes -= code_bytes as u64;
        if self.options.count {
            let cost = cost();
            self.stats.spills -= cost.spills;
            self.stats.fills -= cost.fills;
            self.stats.moves -= cost.moves;
            self.stats.weighted_cost -= cost.loads();
        }
    }
}

/// Observer that logs the decisions of an allocator.
pub(crate) struct Log;

impl Observer for Log {
    fn event(&mut self, event: Event<'_>) {
        log::trace!("{event}");
    }
}

/// Returns the findings of an allocator's phases, as comments of a `.ra` file.
pub(crate) fn phases_text(phases: &[(&str, String)]) -> String {
    let mut out = String::new();
    for (phase, text) in phases {
        out += &format!("; phase {phase}\n");
        text.lines().for_each(|line| out += &format!(";   {line}\n"));
    }
    out
}

/// Returns the allocation problem of the function `name` and its solution, in the form of a `.ra` file.
pub fn solution_text(name: &FuncName, problem: &Problem, allocation: &Allocation) -> String {
    let mut problem = problem.clone();
    problem.name = problem_name(name);
    format!("{problem}{}", text::display_allocation(&problem, allocation))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verify(verify_each: bool) -> Result<(), CompileError> {
        let (options, mut stats) = (Options::default(), Stats::default());
        let guard = options.guard();
        let mut s = Stages::new((&options, &guard), verify_each, "%f", &mut stats);
        s.run(Stage::Lower, || Ok::<(), CompileError>(()))?;
        s.verify(2, || ["i3: no such row", "i4: no such row"])
    }

    #[test]
    fn broken_rules_name_their_stage() {
        let error = verify(true).unwrap_err();
        assert_eq!(error.to_string(), "stage `lower` produced an invalid result:\ni3: no such row\ni4: no such row");
        assert_eq!(verify(false), Ok(()));
    }
}
