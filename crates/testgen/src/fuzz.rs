//! Fuzzing of allocators with generated problems, and of the checker with planted faults. Tests call these
//! functions for a second, `make fuzz` for long.

use crate::faults::FAULTS;
use crate::problem::{Shape, generate, generate_shape};
use crate::rng::Rng;
use crate::shrink::shrink;
use crate::simulate::{Effort, Wrong, simulate};
use kingpost_checker::{CheckError, Checker};
use kingpost_regalloc::text::display_allocation;
use kingpost_regalloc::{AllocError, Allocation, Allocator, MachineEnv, Problem, VerifyError};
use std::fmt;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Results of [`allocator`].
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Report {
    /// Problems solved.
    pub problems: u64,
    /// Their instructions.
    pub insts: u64,
    /// Edits made for them.
    pub edits: u64,
    /// The greatest number of steps per operand, instruction, edge and value of a problem.
    pub worst_steps: u64,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report { problems, insts, edits, worst_steps } = self;
        write!(f, "{problems} problems, {insts} instructions, {edits} edits, at most {worst_steps} steps per item")
    }
}

/// Fault in an allocator's work on one problem.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FailureKind {
    /// The generated problem breaks a rule: a bug of the generator.
    BadProblem(String),
    /// The allocator panicked.
    Panic,
    /// It found no solution although there is one.
    Unsolved(AllocError),
    /// A second run gave another answer.
    NotRepeatable,
    /// The checker rejects the answer.
    Rejected(Vec<CheckError>),
    /// The checker accepts the answer and the simulator does not.
    Wrong(Wrong),
    /// The checker accepts a mutant that the simulator rejects.
    Missed(&'static str, Wrong),
}

/// A shrunken problem that fails.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Seed of the original problem.
    pub seed: u64,
    /// Fault of the shrunken problem.
    pub kind: FailureKind,
    /// Machine, problem and, if there is one, answer as `.ra` text.
    pub text: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "; seed {}", self.seed)?;
        match &self.kind {
            FailureKind::Rejected(errors) => errors.iter().try_for_each(|error| writeln!(f, "; {error}"))?,
            other => writeln!(f, "; {other:?}")?,
        }
        f.write_str(&self.text)
    }
}

/// Solves the problems of `seeds` with `allocator`. Checker and simulator must accept every answer.
///
/// # Errors
/// The first problem with another outcome, shrunken.
pub fn allocator(allocator: &mut dyn Allocator, seeds: Range<u64>) -> Result<Report, Box<Failure>> {
    let mut report = Report::default();
    let mut judge = Judge::default();
    for seed in seeds {
        let (problem, env) = generate(seed);
        match judge.judge(allocator, &problem, &env) {
            Ok(()) => report.count(&problem, &judge.answer),
            Err(_) => return Err(judge.shrunken(allocator, seed, &problem, &env)),
        }
    }
    Ok(report)
}

/// Solves the problem that `bytes` determine, for fuzzers that mutate bytes; see [`allocator`].
///
/// # Errors
/// The failure of [`allocator`]; its seed is the number of bytes.
pub fn allocator_on(allocator: &mut dyn Allocator, bytes: &[u8]) -> Result<(), Box<Failure>> {
    let (problem, env) = from_bytes(bytes).1;
    let mut judge = Judge::default();
    match judge.judge(allocator, &problem, &env) {
        Ok(()) => Ok(()),
        Err(_) => Err(judge.shrunken(allocator, bytes.len() as u64, &problem, &env)),
    }
}

fn from_bytes(bytes: &[u8]) -> (Rng, (Problem, MachineEnv)) {
    let mut rng = Rng::from_bytes(bytes);
    let shape = Shape::random(&mut rng);
    let case = generate_shape(&mut rng, shape, "bytes");
    (rng, case)
}

impl Report {
    /// Adds the results of another run.
    pub fn add(&mut self, other: &Report) {
        self.problems += other.problems;
        self.insts += other.insts;
        self.edits += other.edits;
        self.worst_steps = self.worst_steps.max(other.worst_steps);
    }

    fn count(&mut self, problem: &Problem, answer: &Allocation) {
        let items = problem.num_insts() + problem.num_operands() + problem.num_edges() + problem.vregs.len();
        self.problems += 1;
        self.insts += problem.num_insts() as u64;
        self.edits += answer.edits.len() as u64;
        self.worst_steps = self.worst_steps.max(answer.stats.steps / items as u64);
    }
}

/// Returns the problem of a seed and its machine as `.ra` text.
pub fn show(seed: u64) -> String {
    let (problem, env) = generate(seed);
    text(&problem, &env, None)
}

/// An allocator's answer and its checkers.
#[derive(Default)]
struct Judge {
    checker: Checker,
    answer: Allocation,
    again: Allocation,
}

const EFFORT: Effort = Effort { paths: 4, steps: 200 };

impl Judge {
    fn judge(&mut self, allocator: &mut dyn Allocator, problem: &Problem, env: &MachineEnv) -> Result<(), FailureKind> {
        verified(problem, env)?;
        let answer = &mut self.answer;
        match catch_unwind(AssertUnwindSafe(|| allocator.allocate(problem, env, answer))) {
            Err(_) => return Err(FailureKind::Panic),
            Ok(Err(error)) => return Err(FailureKind::Unsolved(error)),
            Ok(Ok(())) => {}
        }
        self.checker.check(problem, env, &self.answer).map_err(FailureKind::Rejected)?;
        simulate(problem, env, &self.answer, &mut Rng::new(1), EFFORT).map_err(FailureKind::Wrong)?;
        let same = allocator.allocate(problem, env, &mut self.again).is_ok()
            && (&self.again.locs, &self.again.edits) == (&self.answer.locs, &self.answer.edits)
            && (&self.again.stack_maps, &self.again.labels) == (&self.answer.stack_maps, &self.answer.labels);
        if same { Ok(()) } else { Err(FailureKind::NotRepeatable) }
    }

    fn shrunken(
        &mut self,
        allocator: &mut dyn Allocator,
        seed: u64,
        problem: &Problem,
        env: &MachineEnv,
    ) -> Box<Failure> {
        let first = self.judge(allocator, problem, env).err();
        let small = shrink(problem, |candidate| {
            let kind = self.judge(allocator, candidate, env).err();
            kind.as_ref().map(std::mem::discriminant) == first.as_ref().map(std::mem::discriminant)
        });
        let kind = self.judge(allocator, &small, env).err().or(first).unwrap_or(FailureKind::NotRepeatable);
        let shown = !matches!(kind, FailureKind::Panic | FailureKind::Unsolved(_) | FailureKind::BadProblem(_));
        let text = text(&small, env, shown.then_some(&self.answer));
        Box::new(Failure { seed, kind, text })
    }
}

fn verified(problem: &Problem, env: &MachineEnv) -> Result<(), FailureKind> {
    let joined = |errors: Vec<VerifyError>| errors.iter().map(|error| format!("{error}; ")).collect();
    problem.verify_with(env).map_err(|errors| FailureKind::BadProblem(joined(errors)))
}

fn text(problem: &Problem, env: &MachineEnv, answer: Option<&Allocation>) -> String {
    let mut text = format!("{env}\n{problem}\n");
    if let Some(answer) = answer {
        text += &display_allocation(problem, answer).to_string();
    }
    text
}

/// Results for the mutants of one operator.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Count {
    /// Mutants made.
    pub mutants: u64,
    /// Faults found by both the simulator and the checker.
    pub caught: u64,
    /// Faults found by the simulator but not by the checker. This must be 0.
    pub missed: u64,
    /// Mutants without a fault found.
    pub harmless: u64,
    /// Mutants that the checker rejects although the simulator found no fault on its paths: a fault on another
    /// path, a broken rule without effect, or a false alarm.
    pub undecided: u64,
}

/// Counts per operator, in the order of [`FAULTS`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FaultReport {
    /// Operator and count.
    pub rows: Vec<(&'static str, Count)>,
}

impl fmt::Display for FaultReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:44} {:>8} {:>8} {:>8} {:>8} {:>9}",
            "fault", "mutants", "caught", "missed", "harmless", "undecided"
        )?;
        for (name, c) in &self.rows {
            let Count { mutants, caught, missed, harmless, undecided } = c;
            writeln!(f, "{name:44} {mutants:8} {caught:8} {missed:8} {harmless:8} {undecided:9}")?;
        }
        let least = |of: fn(&Count) -> u64| self.rows.iter().map(|row| of(&row.1)).min().unwrap_or(0);
        writeln!(f, "{:44} {:8} {:8}", "least", least(|c| c.mutants), least(|c| c.caught))
    }
}

/// Plants each kind of fault into the answers of `allocator` to the problems of `seeds`.
///
/// # Errors
/// The first mutant that the simulator rejects and the checker accepts, or the first unchanged answer that is
/// wrong.
pub fn faults(allocator: &mut dyn Allocator, seeds: Range<u64>) -> Result<FaultReport, Box<Failure>> {
    let mut rows: Vec<(&'static str, Count)> = FAULTS.iter().map(|fault| (fault.name, Count::default())).collect();
    let mut judge = Judge::default();
    let mut mutant = Allocation::default();
    for seed in seeds {
        let (problem, env) = generate(seed);
        if judge.judge(allocator, &problem, &env).is_err() {
            return Err(judge.shrunken(allocator, seed, &problem, &env));
        }
        for (n, fault) in FAULTS.iter().enumerate() {
            let rng = &mut Rng::new(seed ^ (n as u64) << 48);
            mutant.clone_from(&judge.answer);
            if !(fault.mutate)(&problem, &env, &mut mutant, rng) {
                continue;
            }
            let wrong = judge_mutant(&mut judge.checker, &problem, &env, &mutant, rng, &mut rows[n].1);
            if let Err(wrong) = wrong {
                let text = text(&problem, &env, Some(&mutant));
                return Err(Box::new(Failure { seed, kind: FailureKind::Missed(fault.name, wrong), text }));
            }
        }
    }
    Ok(FaultReport { rows })
}

/// Plants one fault into the answer to one problem, both determined by `bytes`; see [`faults`].
///
/// # Errors
/// The failure of [`faults`]; its seed is the number of bytes.
pub fn fault_on(allocator: &mut dyn Allocator, bytes: &[u8]) -> Result<(), Box<Failure>> {
    let (mut rng, (problem, env)) = from_bytes(bytes);
    let seed = bytes.len() as u64;
    let mut judge = Judge::default();
    if judge.judge(allocator, &problem, &env).is_err() {
        return Err(judge.shrunken(allocator, seed, &problem, &env));
    }
    let fault = FAULTS[rng.range(0..FAULTS.len())];
    let mut mutant = judge.answer.clone();
    if !(fault.mutate)(&problem, &env, &mut mutant, &mut rng) {
        return Ok(());
    }
    judge_mutant(&mut judge.checker, &problem, &env, &mutant, &mut rng, &mut Count::default()).map_err(|wrong| {
        let text = text(&problem, &env, Some(&mutant));
        Box::new(Failure { seed, kind: FailureKind::Missed(fault.name, wrong), text })
    })
}

impl Count {
    /// Adds the counts of another run.
    pub fn add(&mut self, other: &Count) {
        self.mutants += other.mutants;
        self.caught += other.caught;
        self.missed += other.missed;
        self.harmless += other.harmless;
        self.undecided += other.undecided;
    }
}

impl FaultReport {
    /// Adds the counts of another run.
    pub fn add(&mut self, other: &FaultReport) {
        for ((_, sum), (_, count)) in self.rows.iter_mut().zip(&other.rows) {
            sum.add(count);
        }
    }
}

/// Many more paths, to decide about a mutant that the checker rejects.
const MORE: Effort = Effort { paths: 120, steps: 800 };

fn judge_mutant(
    checker: &mut Checker,
    problem: &Problem,
    env: &MachineEnv,
    mutant: &Allocation,
    rng: &mut Rng,
    count: &mut Count,
) -> Result<(), Wrong> {
    count.mutants += 1;
    let rejected = checker.check(problem, env, mutant).is_err();
    let run = simulate(problem, env, mutant, rng, if rejected { MORE } else { EFFORT });
    match (run, rejected) {
        (Err(_), true) => count.caught += 1,
        (Ok(()), true) => count.undecided += 1,
        (Ok(()), false) => count.harmless += 1,
        (Err(wrong), false) => {
            count.missed += 1;
            return Err(wrong);
        }
    }
    Ok(())
}
