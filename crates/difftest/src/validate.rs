//! Generated programs whose emitted code is proved, for both machines, by every allocator, at the levels `none` and
//! `speed`: no code is called, and no operands are guessed.
//!
//! z3, if it is installed, decides the obligations that terms do not. A function that is refuted is a failure, and so is
//! one without a proof, unless the solver did not decide an obligation within its limit. Those are counted by the
//! obligation, and functions with features that the validator does not know by the feature. In each code that is proved,
//! one bit is changed: the proof must fail, unless the changed code means the same (see `flips.rs`).

use crate::execution::mixed;
use crate::failure::{Failure, Report};
use crate::flips::{self, Judgement};
use crate::native::{Compiled, Lane, NotLoaded, compile_test, settings};
use kingpost_codegen::settings::{ValidateCode, ValidateFailure};
use kingpost_codegen::{ALLOCATORS, OptLevel, Settings};
use kingpost_ir::Function;
use kingpost_smt::{Backend, Solver};
use kingpost_testgen::ir::{Program, generate, generate_accesses, generate_vectors, shrink};
use kingpost_validate::{Code, Verdict, prove};
use std::ops::Range;
use std::time::Duration;

/// Machine and optimization level of a seed, in turns.
const TURNS: [(&str, OptLevel); 4] = [
    ("x86_64", OptLevel::None),
    ("aarch64", OptLevel::None),
    ("x86_64", OptLevel::Speed),
    ("aarch64", OptLevel::Speed),
];
/// Generators, in turns of as many seeds as there are machines and levels.
const GENERATORS: [fn(u64) -> Program; 3] = [generate, generate_accesses, generate_vectors];

/// Words that tell the kinds of failures apart.
const KINDS: [&str; 3] = ["is refuted", "is not proved", "is accepted"];

/// Limit of the solver's processor time for one obligation.
const SOLVER_LIMIT: Duration = Duration::from_millis(200);

/// Compiles the programs of `seeds`, each for one machine at one level in turns, with every allocator, and proves the
/// code.
///
/// # Errors
/// The first program with a function whose code is refuted, or not proved although all its obligations are decided, or in
/// whose code a fault is accepted, or that does not compile although it is supported; shrunken.
pub fn run(seeds: Range<u64>) -> Result<Report, Box<Failure>> {
    let mut report = Report::default();
    let mut lanes: Vec<Vec<Lane>> = TURNS.iter().map(|&(machine, level)| all(machine, level)).collect();
    let mut prover = Prover::new();
    for seed in seeds {
        let turns = lanes.len() as u64;
        let program = GENERATORS[(seed / turns) as usize % GENERATORS.len()](seed);
        for lane in &mut lanes[(seed % turns) as usize] {
            if let Some(what) = prover.error(lane, &program.functions, &mut report) {
                return Err(prover.failure(seed, &program, lane, &what));
            }
        }
        report.cases += 1;
    }
    Ok(report)
}

/// Returns a compiler for every allocator. Its code is proved by terms.
fn all(machine: &str, opt_level: OptLevel) -> Vec<Lane> {
    let triple = format!("{machine}-unknown-linux-gnu").parse().expect("a known triple");
    let lanes = ALLOCATORS.iter().map(|&(allocator, _)| {
        let settings = settings(allocator).with(|settings| {
            settings.opt_level = opt_level;
            settings.verify_each = false;
            settings.validate_code = ValidateCode::Terms;
            settings.validate_failure = ValidateFailure::Report;
        });
        Lane::with_settings(&triple, allocator, settings, Vec::new())
    });
    lanes.collect()
}

/// The solver for what terms do not decide.
struct Prover {
    solver: Option<Solver>,
}

impl Prover {
    fn new() -> Prover {
        Prover { solver: Backend::Z3.is_installed().then(|| Solver::new(Backend::Z3)) }
    }

    /// Reports a failure to compile or prove these functions.
    fn error(&mut self, lane: &mut Lane, functions: &[Function], report: &mut Report) -> Option<String> {
        match lane.compile_each(functions, |compiled| self.judge(compiled, report)) {
            Ok(_) => None,
            Err(NotLoaded::Compile(_, error)) if error.is_unsupported() => {
                report.skip(error);
                None
            }
            Err(error) => Some(error.to_string()),
        }
    }

    /// Judges a compiled function by the report of its compilation, or else by the solver.
    fn judge(&mut self, compiled: &Compiled<'_>, report: &mut Report) -> Result<(), NotLoaded> {
        let Compiled { compiler, cx, func, module } = *compiled;
        let mut verdict = cx.proof().expect("proofs are on").verdict.clone();
        let view = module.function(module.len() - 1);
        let code = compiler.code_to_prove(cx, func, &view);
        if let (Verdict::NotProved(_), Some(solver)) = (&verdict, &mut self.solver) {
            verdict = prove(func, &code, Some((solver, SOLVER_LIMIT))).verdict;
        }
        match verdict {
            Verdict::Proved => {
                report.functions += 1;
                plant(func, &code, report)
            }
            Verdict::OutOfScope(feature) => {
                report.skip(format_args!("out of scope: {feature}"));
                Ok(())
            }
            Verdict::NotProved(finding) if finding.is_undecided || self.solver.is_none() => {
                report.skip(format_args!("undecided: {}", finding.fault));
                Ok(())
            }
            verdict @ (Verdict::NotProved(_) | Verdict::Refuted(_)) => {
                Err(NotLoaded::Proof(func.name.to_string(), format!("the emitted code is {verdict}")))
            }
        }
    }

    /// Returns the program, shrunken as far as an error of the same kind remains.
    fn failure(&mut self, seed: u64, program: &Program, lane: &mut Lane, what: &str) -> Box<Failure> {
        let kind = |what: &str| KINDS.iter().position(|kind| what.contains(kind));
        let mut again = |functions: &[Function]| {
            let error = self.error(lane, functions, &mut Report::default());
            error.filter(|error| kind(error) == kind(what))
        };
        let small = shrink(program, |candidate| again(&candidate.functions).is_some());
        let what = again(&small.functions).unwrap_or_else(|| what.into());
        let what = format!("{what}\nrepeat with: make fuzz TARGET=validate N=1 SEED={seed}");
        let Settings { regalloc_algorithm, opt_level, .. } = lane.compiler().settings();
        let settings = format!(
            "set is_pic=false\nset validate_code=solver\nset regalloc_algorithm={regalloc_algorithm}\nset opt_level={opt_level}\n"
        );
        let text = compile_test(&small.functions, &settings, lane.architecture);
        Box::new(Failure { seed, what, text })
    }
}

/// Changes one bit of a proved code, which the code itself chooses.
fn plant(func: &Function, code: &Code<'_>, report: &mut Report) -> Result<(), NotLoaded> {
    if code.end == 0 {
        return Ok(());
    }
    let hash = code.bytes.iter().fold(0, |hash, &byte| mixed([hash, byte.into(), 0]));
    let bit = (hash % (8 * u64::from(code.end))) as u32;
    match flips::judge(func, code, bit, flips::ROUNDS) {
        None => {}
        Some(Judgement::Refused | Judgement::SameInstruction | Judgement::SameEffects) => report.faults += 1,
        Some(Judgement::Accepted(what)) => {
            let what = format!("the fault in byte {:#x}, bit {} is accepted: {what}", bit / 8, bit % 8);
            return Err(NotLoaded::Proof(func.name.to_string(), what));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use kingpost_codegen::{AllocatorFactory, allocator};
    use kingpost_testgen::exchanging::Exchanging;
    use std::sync::Arc;

    #[test]
    fn smoke() {
        let report = run(0..24).unwrap_or_else(|failure| panic!("{failure}"));
        assert!(report.cases == 24 && report.functions > 100, "{report}");
    }

    /// Checks that faults of an allocator are found, and shrunken.
    #[test]
    fn planted_faults_are_found() {
        let ssa = allocator("ssa").expect("it exists");
        let factory: AllocatorFactory = Arc::new(move || Box::new(Exchanging(ssa())));
        let mut lane = all("aarch64", OptLevel::None).remove(0).with_allocator(&factory);
        let (mut prover, mut found) = (Prover::new(), Vec::new());
        for seed in 0..20 {
            let program = generate(seed);
            let error = prover.error(&mut lane, &program.functions, &mut Report::default());
            found.extend(error.map(|what| (seed, program, what)));
        }
        assert!(found.len() > 4, "{} of 20", found.len());
        let refuted = found.iter().find(|(.., what)| what.contains("is refuted"));
        let (seed, program, what) = refuted.expect("the proof of some has inputs that differ");
        let failure = prover.failure(*seed, program, &mut lane, what);
        assert!(failure.what.contains(&format!("repeat with: make fuzz TARGET=validate N=1 SEED={seed}")), "{failure}");
        let instructions = |functions: &[Function]| functions.iter().map(|func| func.dfg.num_insts()).sum::<usize>();
        let lines = failure.text.lines().count();
        assert!(2 * lines < instructions(&program.functions), "{lines} lines: {failure}");
    }
}
