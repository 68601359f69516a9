//! Comparison of allocators that take turns on the problems of one case.

use super::cases::Case;
use super::rival::{Function, Rival};
use cpu_time::ThreadTime;
use kingpost_checker::Checker;
use kingpost_regalloc::{Allocation, Allocator, Cost, MachineEnv, Problem};
use regalloc2::Algorithm;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

/// The rival that all allocators are compared with.
pub const ION: &str = "regalloc2 backtracking";
/// The rival that is compared with fast allocators.
pub const FASTALLOC: &str = "regalloc2 fastalloc";

const RIVALS: [(&str, Algorithm); 2] = [(ION, Algorithm::Ion), (FASTALLOC, Algorithm::Fastalloc)];

/// Returns the names of all contestants, rivals first.
pub fn names() -> Vec<&'static str> {
    let ours = kingpost_codegen::ALLOCATORS.iter().map(|&(name, _)| name);
    RIVALS.iter().map(|&(name, _)| name).chain(ours).collect()
}

/// The external allocator, which has its command as name.
static EXTERNAL: OnceLock<String> = OnceLock::new();

/// Adds the external allocator to the contestants, and returns its name. There is one in a process.
pub(super) fn external(command: &str) -> &'static str {
    EXTERNAL.get_or_init(|| command.to_string())
}

/// Returns `true` if this is the name of the external allocator.
pub(super) fn is_external(name: &str) -> bool {
    EXTERNAL.get().is_some_and(|command| command == name)
}

/// An allocator that takes part.
pub struct Contestant {
    /// Its name.
    pub name: &'static str,
    side: Side,
}

enum Side {
    Ours(Box<dyn Allocator>),
    External(Box<dyn Allocator>),
    Rival(Box<Rival>),
}

/// A problem, with its form for the rivals.
pub struct Entry<'a> {
    /// The problem.
    pub problem: &'a Problem,
    /// Its machine.
    pub env: &'a MachineEnv,
    function: Result<Function, &'static str>,
}

/// Prepares all problems of a case.
pub fn entries(case: &Case) -> Vec<Entry<'_>> {
    let entry = |problem| Entry { problem, env: &case.env, function: Function::new(problem, &case.env) };
    case.problems.iter().map(entry).collect()
}

impl Contestant {
    /// Returns the contestant with this name.
    pub fn new(name: &'static str, case: &Case) -> Option<Contestant> {
        let rival = RIVALS.iter().find(|(known, _)| *known == name);
        let ours = || kingpost_codegen::ALLOCATORS.iter().find(|(known, _)| *known == name);
        let side = match rival {
            Some(&(_, algorithm)) => Side::Rival(Box::new(Rival::new(algorithm, case))),
            None if is_external(name) => Side::External(kingpost_filetest::external_allocator(name)()),
            None => Side::Ours(ours()?.1()),
        };
        Some(Contestant { name, side })
    }

    fn is_ours(&self) -> bool {
        matches!(self.side, Side::Ours(_))
    }

    /// Returns `true` if the CPU time of this thread is the allocator's.
    pub(super) fn is_timed(&self) -> bool {
        !matches!(self.side, Side::External(_))
    }

    /// Solves one problem. Our allocators and an external one store the answer in `out`; a rival keeps it.
    ///
    /// # Errors
    /// The reason of the failure.
    pub fn run(&mut self, entry: &Entry<'_>, out: &mut Allocation) -> Result<(), String> {
        match &mut self.side {
            Side::Ours(allocator) | Side::External(allocator) => {
                allocator.allocate(entry.problem, entry.env, out).map_err(|e| e.to_string())
            }
            Side::Rival(rival) => rival.allocate(entry.function.as_ref().map_err(|what| (*what).to_string())?),
        }
    }

    /// Stores the answer to the last solved problem in `out`.
    fn fetch(&self, entry: &Entry<'_>, out: &mut Allocation) {
        if let (Side::Rival(rival), Ok(function)) = (&self.side, &entry.function) {
            rival.answer(function, entry.problem, entry.env, out);
        }
    }
}

/// Result of one allocator on a case.
#[derive(Clone, Default)]
pub struct Row {
    /// Its name.
    pub name: &'static str,
    /// Whether the allocator took too long and was left out.
    pub over: bool,
    /// CPU seconds for the problems that all allocators solved: the sum over units of the least time of all rounds.
    pub seconds: f64,
    /// CPU seconds of each round.
    pub rounds: Vec<f64>,
    /// CPU seconds of the checker on the answers, for our allocators.
    pub check_seconds: f64,
    /// Peak number of allocated bytes.
    pub bytes: Option<u64>,
    /// Sum of the costs of these problems.
    pub cost: Cost,
    /// Cost of each problem.
    pub costs: Vec<Cost>,
    /// Refusals by reason: their number, and the function of the first one.
    pub refused: BTreeMap<String, (usize, String)>,
}

/// Results of all allocators on a case.
pub struct Outcome {
    /// The case.
    pub name: String,
    /// Whether the problems are generated.
    pub is_shape: bool,
    /// Number of problems that all allocators solved.
    pub problems: usize,
    /// Number of instructions of these problems.
    pub insts: usize,
    /// Functions that could not be lowered.
    pub not_lowered: usize,
    /// Names of the functions of these problems.
    pub functions: Vec<String>,
    /// One per contestant.
    pub rows: Vec<Row>,
}

impl Outcome {
    /// Returns the row called `name`, if it was not left out.
    pub fn row(&self, name: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.name == name && !row.over)
    }
}

/// Number of instructions that are timed together, so that the cost of the clock does not matter.
const UNIT: usize = 2_000;

/// Returns the contestants with these names.
pub(super) fn contestants(case: &Case, names: &[&'static str]) -> Vec<Contestant> {
    names.iter().filter_map(|name| Contestant::new(name, case)).collect()
}

/// Compares the allocators on all problems that none of them refuses, in turns.
pub fn duel(case: &Case, names: &[&'static str], left_out: &[&'static str], rounds: usize) -> Outcome {
    let entries = entries(case);
    let taking_part: Vec<&str> = names.iter().copied().filter(|name| !left_out.contains(name)).collect();
    let mut contestants = contestants(case, &taking_part);
    let mut rows: Vec<Row> = contestants.iter().map(|c| Row { name: c.name, ..Row::default() }).collect();
    let taken = judge(&mut contestants, &entries, &mut rows);
    let mut outs: Vec<Allocation> = Vec::new();
    let mut checker = Checker::new();
    let mut start = 0;
    while start < taken.len() {
        let mut end = start;
        let mut insts = 0;
        while end < taken.len() && insts < UNIT {
            insts += entries[taken[end]].problem.num_insts();
            end += 1;
        }
        let unit: Vec<&Entry<'_>> = taken[start..end].iter().map(|&i| &entries[i]).collect();
        outs.resize_with(outs.len().max(unit.len()), Allocation::default);
        time(&mut contestants, &unit, &mut outs, &mut checker, rounds, &mut rows);
        start = end;
    }
    rows.extend(left_out.iter().map(|&name| Row { name, over: true, ..Row::default() }));
    rows.sort_by_key(|row| names.iter().position(|&name| name == row.name));
    Outcome {
        name: case.name.clone(),
        is_shape: case.is_shape,
        problems: taken.len(),
        insts: taken.iter().map(|&i| entries[i].problem.num_insts()).sum(),
        not_lowered: case.not_lowered,
        functions: taken.iter().map(|&i| entries[i].problem.name.clone()).collect(),
        rows,
    }
}

/// Checks every answer and computes its cost. Returns the problems that all contestants solved.
fn judge(contestants: &mut [Contestant], entries: &[Entry<'_>], rows: &mut [Row]) -> Vec<usize> {
    let mut taken = Vec::new();
    let mut checker = Checker::new();
    let mut out = Allocation::default();
    for (index, entry) in entries.iter().enumerate() {
        let mut costs = Vec::new();
        for (contestant, row) in contestants.iter_mut().zip(rows.iter_mut()) {
            match answer(contestant, entry, &mut checker, &mut out) {
                Ok(cost) => costs.push(cost),
                Err(reason) => {
                    row.refused.entry(reason).or_insert_with(|| (0, entry.problem.name.clone())).0 += 1;
                }
            }
        }
        if costs.len() == contestants.len() {
            taken.push(index);
            for (row, cost) in rows.iter_mut().zip(costs) {
                row.costs.push(cost);
                add(&mut row.cost, &cost);
            }
        }
    }
    taken
}

/// Solves a problem and returns the cost, if the checker accepts the answer.
///
/// # Errors
/// The reason of the failure.
pub(super) fn answer(
    contestant: &mut Contestant,
    entry: &Entry<'_>,
    checker: &mut Checker,
    out: &mut Allocation,
) -> Result<Cost, String> {
    contestant.run(entry, out)?;
    contestant.fetch(entry, out);
    let checked = catch_unwind(AssertUnwindSafe(|| checker.check(entry.problem, entry.env, out)));
    match checked {
        Ok(Ok(())) => Ok(Cost::of(entry.problem, entry.env, out)),
        Ok(Err(errors)) => Err(format!("rejected: {}", errors[0].rule.text())),
        Err(_) => {
            *checker = Checker::new();
            Err("rejected: the checker panicked".into())
        }
    }
}

fn add(sum: &mut Cost, cost: &Cost) {
    sum.weighted += cost.weighted;
    sum.spills += cost.spills;
    sum.fills += cost.fills;
    sum.moves += cost.moves;
    sum.exchanges += cost.exchanges;
    sum.remats += cost.remats;
    sum.slot_moves += cost.slot_moves;
    sum.edge_blocks += cost.edge_blocks;
    sum.callee_saved += cost.callee_saved;
}

fn time(
    contestants: &mut [Contestant],
    unit: &[&Entry<'_>],
    outs: &mut [Allocation],
    checker: &mut Checker,
    rounds: usize,
    rows: &mut [Row],
) {
    let mut best = vec![[f64::MAX; 2]; contestants.len()];
    rows.iter_mut().for_each(|row| row.rounds.resize(rounds, 0.0));
    for round in 0..rounds {
        for ((contestant, best), row) in contestants.iter_mut().zip(&mut best).zip(&mut *rows) {
            if !contestant.is_timed() {
                continue;
            }
            let start = ThreadTime::now();
            for (entry, out) in unit.iter().zip(&mut *outs) {
                let _solved_before = contestant.run(entry, out);
            }
            let seconds = start.elapsed().as_secs_f64();
            row.rounds[round] += seconds;
            best[0] = best[0].min(seconds);
            if contestant.is_ours() {
                let start = ThreadTime::now();
                for (entry, out) in unit.iter().zip(&mut *outs) {
                    let _accepted_before = checker.check(entry.problem, entry.env, out);
                }
                best[1] = best[1].min(start.elapsed().as_secs_f64());
            }
        }
    }
    for ((row, best), contestant) in rows.iter_mut().zip(best).zip(contestants) {
        row.seconds += if contestant.is_timed() { best[0] } else { f64::NAN };
        row.check_seconds += if contestant.is_ours() { best[1] } else { 0.0 };
    }
}
