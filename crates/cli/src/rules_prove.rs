//! `rules prove`, `list`, `explain` and `generate`: rules on CLIF, the ledger of their proofs, and the matcher
//! generated from them.
//!
//! The ledger has one line per rule: its name, a hash of its proof obligations, the number of cases, and the number
//! of formulas that z3 and cvc5 refuted. A case has two formulas. Simplification or the other solver decided the
//! other formulas. The hash covers the rule and the meanings of its opcodes, so a line is valid only until one of
//! them changes. The ledger is a cache: `prove --all` proves everything again.

use crate::exit_status::{Outcome, Stop, Verdict};
use crate::input::utf8;
use crate::judging::{in_order, seconds, threads};
use crate::output::ListFormat;
use crate::{input, output};
use clap::Args;
use kingpost_ir::near::near_suffix;
use kingpost_rule_verify::{Backend, Obligations, Options, Prover, Verdict as RuleVerdict, check_clif, obligations};
use kingpost_rules::clif::{self, ClifRule, Dependency, parse, typings};
use kingpost_testgen::Shard;
use serde_json::json;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[derive(Args, Debug)]
pub(crate) struct ProveArgs {
    #[command(flatten)]
    rules: ListArgs,
    /// Prove again the rules that are in the ledger.
    #[arg(long)]
    all: bool,
    /// Time limit per rule in seconds.
    #[arg(long, value_name = "S", default_value_t = 60.0, value_parser = seconds)]
    timeout: f64,
    /// Prove only part I of N of the rules, and leave the lines of the others in the ledger as they are.
    #[arg(long, value_name = "I/N", default_value_t, hide_default_value = true)]
    shard: Shard,
    /// Number of threads; by default the number of processors.
    #[arg(short, value_name = "N", default_value_t = 0, hide_default_value = true)]
    jobs: usize,
}

#[derive(Args, Debug)]
pub(crate) struct ListArgs {
    /// The ledger; by default `ledger.tsv` in the folder of the first file.
    #[arg(long, value_name = "FILE")]
    ledger: Option<PathBuf>,
    /// Files of rules.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct ExplainArgs {
    /// The rule.
    name: String,
    #[command(flatten)]
    rules: ListArgs,
}

#[derive(Args, Debug)]
pub(crate) struct GenerateArgs {
    #[command(flatten)]
    rules: ListArgs,
    /// The output file.
    #[arg(short, value_name = "OUT")]
    output: PathBuf,
}

impl ListArgs {
    fn ledger(&self) -> PathBuf {
        self.ledger.clone().unwrap_or_else(|| self.files[0].with_file_name("ledger.tsv"))
    }
}

/// A rule, its text and its position.
struct Entry {
    rule: ClifRule,
    text: String,
    place: String,
    obligations: Obligations,
}

/// Lines of the ledger by rule name.
type Ledger = BTreeMap<String, String>;

const HEAD: &str = "rule\tobligations\tcases\tz3\tcvc5\n";

impl Entry {
    /// Returns the line of the ledger without the numbers of the solvers.
    fn line(&self) -> String {
        format!("{}\t{:016x}\t{}\t", self.rule.name, self.obligations.hash, self.obligations.cases)
    }

    fn is_proved(&self, ledger: &Ledger) -> bool {
        ledger.get(&self.rule.name).is_some_and(|line| line.starts_with(&self.line()))
    }
}

fn read(args: &ListArgs) -> Result<(Vec<Entry>, Ledger), Stop> {
    let mut entries: Vec<Entry> = Vec::new();
    for path in &args.files {
        let input = input::read(path)?;
        for parsed in parse(utf8(&input)?) {
            let fail = |error| Stop::Failure(format!("{}:{error}", input.name));
            let rule = parsed.rule.map_err(fail)?;
            let place = format!("{}:{}:{}", input.name, rule.at.line, rule.at.column);
            if let Some(other) = entries.iter().find(|entry| entry.rule.name == rule.name) {
                let message = format!("{place}: rule {} is also at {}", rule.name, other.place);
                return Err(Stop::Failure(message));
            }
            let obligations = obligations(&rule).map_err(fail)?;
            entries.push(Entry { rule, text: parsed.text, place, obligations });
        }
    }
    Ok((entries, read_ledger(&args.ledger())))
}

/// Reads a ledger. A missing file is an empty ledger.
fn read_ledger(path: &Path) -> Ledger {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let name = |line: &str| line.split('\t').next().unwrap_or_default().to_string();
    text.lines().skip(1).map(|line| (name(line), line.to_string())).collect()
}

pub(crate) fn prove(args: &ProveArgs) -> Outcome {
    let (entries, known) = read(&args.rules)?;
    let options = Options::default().with(|options| options.timeout = Duration::from_secs_f64(args.timeout));
    let backends = [Backend::Z3, Backend::Cvc5];
    if let Some(missing) = backends.iter().find(|backend| !backend.is_installed()) {
        return Err(Stop::Failure(format!("rules prove: {} is not installed (make deps)", missing.program())));
    }
    let (mut ledger, mut open) = (Ledger::new(), Vec::new());
    for (index, entry) in entries.iter().enumerate() {
        let is_ours = args.shard.takes(index);
        match known.get(&entry.rule.name) {
            Some(line) if entry.is_proved(&known) && !(args.all && is_ours) => {
                drop(ledger.insert(entry.rule.name.clone(), line.clone()))
            }
            _ if is_ours => open.push(entry),
            _ => {}
        }
    }
    let mut out = output::stdout();
    let mut failed = 0;
    let judge = |entry: &&Entry, provers: &mut [Prover; 2]| {
        provers.each_mut().map(|prover| (check_clif(&entry.rule, &options, prover), prover.refuted_by_solver()))
    };
    let provers = || backends.map(Prover::alone);
    in_order(&open, provers, threads(args.jobs), judge, |entry, [(first, by_first), (second, by_second)]| {
        let name = &entry.rule.name;
        // One solver may prove a rule that the other cannot decide, but neither may refute it.
        let verdict = worse(first, second);
        let verdict = match verdict {
            RuleVerdict::Correct => {
                ledger.insert(name.clone(), format!("{}{by_first}\t{by_second}", entry.line()));
                "correct".to_string()
            }
            RuleVerdict::Wrong(counterexample) => format!("wrong: {}\n{counterexample}", counterexample.kind.name()),
            RuleVerdict::Unknown(reason) => format!("unknown: {reason}"),
            RuleVerdict::Error(error) => format!("error: {error}"),
        };
        failed += usize::from(!ledger.contains_key(name));
        writeln!(out, "{name}: {verdict}")?;
        Ok(out.flush()?)
    })?;
    let lines: Vec<&str> = ledger.values().map(String::as_str).collect();
    output::write_whole(&args.rules.ledger(), format!("{HEAD}{}\n", lines.join("\n")).as_bytes())?;
    writeln!(out, "{} of {} rules proved", ledger.len(), entries.len())?;
    out.flush()?;
    Ok(if failed == 0 { Verdict::Good } else { Verdict::Bad })
}

/// Returns the combined verdict of two solvers: one may prove a rule that the other cannot decide, but neither may
/// refute it.
fn worse(first: RuleVerdict, second: RuleVerdict) -> RuleVerdict {
    match (first, second) {
        (RuleVerdict::Correct, RuleVerdict::Unknown(_)) => RuleVerdict::Correct,
        (RuleVerdict::Correct | RuleVerdict::Unknown(_), second) => second,
        (first, _) => first,
    }
}

pub(crate) fn list(args: &ListArgs, format: ListFormat) -> Outcome {
    let (entries, ledger) = read(args)?;
    let mut out = output::stdout();
    let all = entries.iter().all(|entry| entry.is_proved(&ledger));
    let verdict = if all { Verdict::Good } else { Verdict::Bad };
    if format == ListFormat::Json {
        let row = |entry: &Entry| {
            let (name, place, cases) = (&entry.rule.name, &entry.place, entry.obligations.cases);
            json!({ "name": name, "place": place, "cases": cases, "proved": entry.is_proved(&ledger) })
        };
        output::json_rows(&mut out, entries.iter().map(row))?;
        return Ok(verdict);
    }
    for entry in &entries {
        let state = if entry.is_proved(&ledger) { "proved" } else { "not proved" };
        writeln!(out, "{}\t{}\t{} cases\t{state}", entry.rule.name, entry.place, entry.obligations.cases)?;
    }
    out.flush()?;
    Ok(verdict)
}

pub(crate) fn explain(args: &ExplainArgs) -> Outcome {
    let (entries, ledger) = read(&args.rules)?;
    let entry = entries.iter().find(|entry| entry.rule.name == args.name);
    let entry = entry.ok_or_else(|| {
        let hint = near_suffix(&args.name, entries.iter().map(|entry| entry.rule.name.as_str()));
        Stop::Usage(format!("there is no rule `{}`{hint}", args.name))
    })?;
    let mut out = output::stdout();
    let text = entry.text.lines().take_while(|line| !line.trim().is_empty() && !line.starts_with(';'));
    writeln!(out, "{}\n{}", entry.place, text.collect::<Vec<_>>().join("\n"))?;
    let fail = |error| Stop::Failure(format!("{}: {error}", entry.place));
    let mut types: Vec<String> =
        typings(&entry.rule).map_err(fail)?.iter().map(|typing| typing.of(&entry.rule.source).to_string()).collect();
    types.sort_unstable();
    types.dedup();
    writeln!(out, "types: {}", types.join(" "))?;
    let state = if entry.is_proved(&ledger) { "proved" } else { "not proved" };
    writeln!(out, "{} cases, {state}", entry.obligations.cases)?;
    out.flush()?;
    Ok(Verdict::Good)
}

pub(crate) fn generate(args: &GenerateArgs) -> Outcome {
    let (entries, ledger) = read(&args.rules)?;
    if let Some(entry) = entries.iter().find(|entry| !entry.is_proved(&ledger)) {
        return Err(Stop::Failure(format!("{}: rule {} is not proved: rules prove", entry.place, entry.rule.name)));
    }
    let mut files = Vec::new();
    for path in args.rules.files.iter().chain([&args.rules.ledger()]) {
        files.push((path_from(&args.output, path)?, input::read(path)?.text().to_vec()));
    }
    let dependency = |(path, bytes): &'_ (String, Vec<u8>)| Dependency { path: path.clone(), bytes: bytes.clone() };
    let files: Vec<Dependency> = files.iter().map(dependency).collect();
    let rules: Vec<clif::Entry<'_>> =
        entries.iter().map(|entry| clif::Entry { rule: &entry.rule, text: &entry.text }).collect();
    let place =
        |name: &str| entries.iter().find(|entry| entry.rule.name == name).map_or("rules", |entry| entry.place.as_str());
    let text = clif::generate(&rules, &files)
        .map_err(|error| Stop::Failure(format!("{}: {}", place(&error.rule), error.error.message)))?;
    output::write_whole(&args.output, text.as_bytes())?;
    let mut out = output::stdout();
    writeln!(out, "{} rules in {}", rules.len(), args.output.display())?;
    out.flush()?;
    Ok(Verdict::Good)
}

/// Returns the path of `file` relative to the written file.
fn path_from(output: &Path, file: &Path) -> Result<String, Stop> {
    let folder = std::path::absolute(output)?;
    let (folder, file) = (folder.parent().unwrap_or(&folder), std::path::absolute(file)?);
    let common = folder.components().zip(file.components()).take_while(|(a, b)| a == b).count();
    let up = folder.components().skip(common).map(|_| "..".to_string());
    let down = file.components().skip(common).map(|part| part.as_os_str().to_string_lossy().into_owned());
    Ok(up.chain(down).collect::<Vec<_>>().join("/"))
}
