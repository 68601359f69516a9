//! `rules check`: proofs and refutations of rewrite rules. The other subcommands are in `rules_prove.rs`.

use crate::cat_verify::{Search, any_header, each_function};
use crate::diagnostics::Diagnostic;
use crate::exit_status::{Outcome, Stop, Verdict};
use crate::input::{Input, utf8};
use crate::judging::{in_order, seconds, threads};
use crate::output::ListFormat;
use crate::{input, output, rules_prove};
use clap::{Args, Subcommand, ValueEnum};
use kingpost_ir::analyses::Analyses;
use kingpost_ir::verifier::Verifier;
use kingpost_opt::{Optimizer, rewrite};
use kingpost_rule_verify::{Options, Prover, SolverChoice, Verdict as RuleVerdict, check, check_clif};
use kingpost_rules::clif::{self, ClifRule};
use kingpost_rules::{Rule, RuleError, parse};
use std::cmp::Reverse;
use std::io::Write;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Args, Debug)]
pub(crate) struct RulesArgs {
    #[command(subcommand)]
    command: RulesCommand,
}

#[derive(Subcommand, Debug)]
enum RulesCommand {
    /// Prove rules, or refute them with a counterexample.
    Check(CheckArgs),
    /// Prove the rules on CLIF that are not in the ledger, and write the ledger.
    Prove(rules_prove::ProveArgs),
    /// List rules on CLIF, with the state of their proofs.
    List(ListCommandArgs),
    /// Show one rule on CLIF: its text, its types, its proof.
    Explain(rules_prove::ExplainArgs),
    /// Count how often the optimizer applies each rule.
    Count(CountArgs),
    /// Write the optimizer's matcher from proved rules.
    Generate(rules_prove::GenerateArgs),
}

#[derive(Args, Debug)]
struct ListCommandArgs {
    #[command(flatten)]
    rules: rules_prove::ListArgs,
    /// Format of the list.
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    format: ListFormat,
}

#[derive(Args, Debug)]
struct CountArgs {
    /// Functions in CLIF; `-` is standard input.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

#[derive(Args, Debug)]
struct CheckArgs {
    /// The language of the files; by default `clif` for a file whose first word is `rule`, otherwise `llvm`.
    #[arg(long, value_enum)]
    dialect: Option<Dialect>,
    /// Range of widths of integers without a stated width, inclusive.
    #[arg(long, value_name = "LOW..HIGH", default_value = "1..64", value_parser = widths)]
    widths: RangeInclusive<u32>,
    /// The solver; with `both`, cvc5 proves again each formula that z3 proves.
    #[arg(long, value_enum, default_value = "z3")]
    solver: SolverName,
    /// Time limit per rule in seconds.
    #[arg(long, value_name = "S", default_value_t = 60.0, value_parser = seconds)]
    timeout: f64,
    /// Number of threads; by default the number of processors.
    #[arg(short, value_name = "N", default_value_t = 0, hide_default_value = true)]
    jobs: usize,
    /// Files; `-` is standard input.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Dialect {
    /// Alive's language.
    Llvm,
    /// Rules on CLIF.
    Clif,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum SolverName {
    Z3,
    Cvc5,
    Both,
}

/// Parses a range of widths such as `1..64`.
fn widths(text: &str) -> Result<RangeInclusive<u32>, String> {
    let wrong = || format!("'{text}' is no range of widths within 1..64");
    let (low, high) = text.split_once("..").ok_or_else(wrong)?;
    let (low, high): (u32, u32) = (low.parse().map_err(|_| wrong())?, high.parse().map_err(|_| wrong())?);
    if 1 <= low && low <= high && high <= 64 { Ok(low..=high) } else { Err(wrong()) }
}

pub(crate) fn rules(args: &RulesArgs) -> Outcome {
    match &args.command {
        RulesCommand::Check(args) => check_files(args),
        RulesCommand::Prove(args) => rules_prove::prove(args),
        RulesCommand::List(args) => rules_prove::list(&args.rules, args.format),
        RulesCommand::Explain(args) => rules_prove::explain(args),
        RulesCommand::Count(args) => count(args),
        RulesCommand::Generate(args) => rules_prove::generate(args),
    }
}

/// A rule, and the index of its file for error messages.
struct Job {
    input: usize,
    name: String,
    rule: Parsed,
}

/// A rule of a dialect, or its error.
enum Parsed {
    Llvm(Result<Rule, RuleError>),
    Clif(Result<Box<ClifRule>, RuleError>),
}

impl Parsed {
    fn judge(&self, options: &Options, prover: &mut Prover) -> RuleVerdict {
        match self {
            Parsed::Llvm(Ok(rule)) => check(rule, options, prover),
            Parsed::Clif(Ok(rule)) => check_clif(rule, options, prover),
            Parsed::Llvm(Err(error)) | Parsed::Clif(Err(error)) => RuleVerdict::Error(error.clone()),
        }
    }
}

/// Number of rules per verdict.
#[derive(Default)]
struct Counts {
    correct: usize,
    wrong: usize,
    unknown: usize,
    errors: usize,
}

/// Prints the rules that were applied, the most frequent first.
fn count(args: &CountArgs) -> Outcome {
    let (mut optimizer, mut analyses, mut verifier) = <(Optimizer, Analyses, Verifier)>::default();
    let verdict = each_function(&args.files, Search::of(&[]), any_header, |place, (), func| {
        if let Err(errors) = verifier.verify(func, None) {
            place.report(func, errors.0);
            return Ok(Verdict::Bad);
        }
        func.dfg.resolve_all_aliases();
        optimizer.run_all(func, &mut analyses);
        Ok(Verdict::Good)
    })?;
    let mut counts: Vec<(rewrite::Rule, u64)> = optimizer.applications().counts().collect();
    counts.sort_by_key(|&(_, count)| Reverse(count));
    let mut out = output::stdout();
    for (rule, count) in &counts {
        writeln!(out, "{count:>8} {}", rule.name())?;
    }
    writeln!(out, "{} of {} rules applied", counts.len(), rewrite::Rule::ALL.len())?;
    let exhausted = optimizer.applications().exhausted();
    if exhausted > 0 {
        writeln!(out, "{exhausted} requests on which no rule was tried, because an instruction had made too many")?;
    }
    out.flush()?;
    Ok(verdict)
}

fn check_files(args: &CheckArgs) -> Outcome {
    let (inputs, jobs) = read(&args.files, args.dialect)?;
    let solver = match args.solver {
        SolverName::Z3 => SolverChoice::Z3,
        SolverName::Cvc5 => SolverChoice::Cvc5,
        SolverName::Both => SolverChoice::Both,
    };
    for backend in solver.backends() {
        if !backend.is_installed() {
            return Err(Stop::Failure(format!("rules check: {} is not installed (make deps)", backend.program())));
        }
    }
    let options = Options::default().with(|options| {
        options.widths = args.widths.clone();
        options.solver = solver;
        options.timeout = Duration::from_secs_f64(args.timeout);
    });
    let mut out = output::stdout();
    let mut counts = Counts::default();
    let judge = |job: &Job, prover: &mut Prover| job.rule.judge(&options, prover);
    in_order(
        &jobs,
        || Prover::new(solver),
        threads(args.jobs),
        judge,
        |job, verdict| {
            if let RuleVerdict::Error(error) = &verdict {
                report_error(&inputs[job.input], error);
            }
            write!(out, "{}", report(job, &verdict, &mut counts))?;
            Ok(out.flush()?)
        },
    )?;
    let Counts { correct, wrong, unknown, errors } = counts;
    writeln!(out, "{correct} correct, {wrong} wrong, {unknown} unknown, {errors} errors")?;
    out.flush()?;
    Ok(if correct == jobs.len() { Verdict::Good } else { Verdict::Bad })
}

/// Reads the rules of files. A rule without a name is named after its number among all rules.
fn read(files: &[PathBuf], dialect: Option<Dialect>) -> Result<(Vec<Input>, Vec<Job>), Stop> {
    let (mut inputs, mut jobs): (Vec<Input>, Vec<Job>) = Default::default();
    for path in files {
        let input = input::read(path)?;
        let text = utf8(&input)?;
        let rules: Vec<(Option<String>, Parsed)> = match dialect.unwrap_or_else(|| dialect_of(text)) {
            Dialect::Llvm => parse(text).into_iter().map(|parsed| (parsed.name, Parsed::Llvm(parsed.rule))).collect(),
            Dialect::Clif => clif::parse(text)
                .into_iter()
                .map(|parsed| (parsed.name, Parsed::Clif(parsed.rule.map(Box::new))))
                .collect(),
        };
        for (name, rule) in rules {
            let name = name.filter(|name| !name.is_empty()).unwrap_or_else(|| (jobs.len() + 1).to_string());
            jobs.push(Job { input: inputs.len(), name, rule });
        }
        inputs.push(input);
    }
    Ok((inputs, jobs))
}

/// Returns the language of a text by its first word after comments.
fn dialect_of(text: &str) -> Dialect {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with(';'));
    match first.and_then(|line| line.split_whitespace().next()) {
        Some("rule") => Dialect::Clif,
        _ => Dialect::Llvm,
    }
}

/// Shows an error at its position.
fn report_error(input: &Input, error: &RuleError) {
    let text = String::from_utf8_lossy(input.text());
    let line_start: usize = text.split_inclusive('\n').take(error.at.line as usize - 1).map(str::len).sum();
    let before = text[line_start..].chars().take(error.at.column as usize - 1).map(char::len_utf8).sum::<usize>();
    Diagnostic::at(input, line_start + before, error.message.clone()).report();
}

fn report(job: &Job, verdict: &RuleVerdict, counts: &mut Counts) -> String {
    let name = &job.name;
    match verdict {
        RuleVerdict::Correct => {
            counts.correct += 1;
            format!("{name}: correct\n")
        }
        RuleVerdict::Wrong(counterexample) => {
            counts.wrong += 1;
            let text = counterexample.to_string();
            let lines: String = text.lines().map(|line| format!("  {line}\n").replace("  \n", "\n")).collect();
            format!("{name}: wrong: {}\n{lines}", counterexample.kind.name())
        }
        RuleVerdict::Unknown(reason) => {
            counts.unknown += 1;
            format!("{name}: unknown: {reason}\n")
        }
        RuleVerdict::Error(error) => {
            counts.errors += 1;
            format!("{name}: error: {}\n", error.kind.name())
        }
    }
}
