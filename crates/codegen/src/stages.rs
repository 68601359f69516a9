//! What each stage gets by being listed: a timing row, a dump, and a name in messages.

use crate::error::CompileError;
use crate::options::Options;
use crate::stage::Stage;
use cpu_time::ThreadTime;
use kingpost_mach::Guard;
use kingpost_regalloc::cost::Cost;
use std::ops::AddAssign;

/// Counters of everything compiled so far. Times are CPU seconds of the compiling threads.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Stats {
    /// Functions compiled.
    pub functions: u64,
    /// Their instructions before lowering.
    pub clif_insts: u64,
    /// Bytes of code made.
    pub code_bytes: u64,
    /// Register to slot edits.
    pub spills: u64,
    /// Slot to register edits.
    pub fills: u64,
    /// Register to register edits, and moves of the program that stayed.
    pub moves: u64,
    /// Price of all edits, weighted by frequency.
    pub weighted_cost: f64,
    /// CPU seconds per stage, indexed as [`Stage::ALL`].
    pub stage_seconds: [f64; Stage::ALL.len()],
}

impl AddAssign<&Stats> for Stats {
    fn add_assign(&mut self, other: &Stats) {
        self.functions += other.functions;
        self.clif_insts += other.clif_insts;
        self.code_bytes += other.code_bytes;
        self.spills += other.spills;
        self.fills += other.fills;
        self.moves += other.moves;
        self.weighted_cost += other.weighted_cost;
        for (sum, seconds) in self.stage_seconds.iter_mut().zip(other.stage_seconds) {
            *sum += seconds;
        }
    }
}

/// Runs the stages of one function: keeps time, knows which stage is running, hands dumps out.
pub(crate) struct Stages<'a> {
    pub(crate) options: &'a Options,
    pub(crate) current: Stage,
    pub(crate) guard: Guard,
    name: &'a str,
    stats: &'a mut Stats,
}

impl<'a> Stages<'a> {
    pub(crate) fn new(options: &'a Options, name: &'a str, stats: &'a mut Stats) -> Stages<'a> {
        Stages { options, current: Stage::ALL[0], guard: options.guard(), name, stats }
    }

    /// Runs one stage, unless somebody asked to stop.
    pub(crate) fn run<T, E: Into<CompileError>>(
        &mut self,
        stage: Stage,
        body: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, CompileError> {
        self.current = stage;
        if self.guard.is_cancelled() {
            return Err(CompileError::Cancelled);
        }
        if !self.options.time {
            return body().map_err(Into::into);
        }
        let start = ThreadTime::now();
        let result = body();
        self.stats.stage_seconds[stage as usize] += start.elapsed().as_secs_f64();
        result.map_err(Into::into)
    }

    /// Does anybody want the text of what `stage` makes?
    pub(crate) fn wants(&self, stage: Stage) -> bool {
        self.options.dump.as_ref().is_some_and(|sink| sink.wants(stage, self.name))
    }

    /// Hands out the text of what the current stage made, if somebody wants it.
    pub(crate) fn dump(&self, text: impl FnOnce() -> String) {
        if let Some(sink) = self.options.dump.as_ref().filter(|_| self.wants(self.current)) {
            sink.take(self.current, self.name, text());
        }
    }

    /// Counts a compiled function.
    pub(crate) fn count(&mut self, clif_insts: usize, code_bytes: usize, cost: impl FnOnce() -> Cost) {
        self.stats.functions += 1;
        self.stats.clif_insts += clif_insts as u64;
        self.stats.code_bytes += code_bytes as u64;
        if self.options.count {
            let cost = cost();
            self.stats.spills += cost.spills;
            self.stats.fills += cost.fills;
            self.stats.moves += cost.moves;
            self.stats.weighted_cost += cost.loads();
        }
    }
}
