//! `prove`: proofs that the emitted code of functions means what the functions mean.

use crate::args::ProveArgs;
use crate::diagnostics::Diagnostic;
use crate::exit_status::{Outcome, Verdict};
use crate::output::ListFormat;
use crate::target::Choice;
use crate::{input, output, target};
use kingpost_codegen::compiled::ModuleBuffer;
use kingpost_codegen::settings::ValidateCode;
use kingpost_codegen::{CompileError, Compiler, Context, Reference};
use kingpost_ir::Function;
use kingpost_mach::SymbolName;
use kingpost_reader::Parser;
use kingpost_rule_verify::Backend;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write;

/// The verdicts of the summary, in order.
const VERDICTS: [&str; 5] = ["proved", "refuted", "not proved", "out of scope", "not compiled"];

/// Texts from which proofs begin, by [`Reference::name`].
const REFERENCES: [&str; 3] = ["read", "expanded", "optimized"];

/// Result of proving a function.
struct Line {
    function: String,
    /// One of [`VERDICTS`].
    verdict: &'static str,
    /// The verdict with its reason.
    text: String,
    /// Text from which the proof begins.
    reference: Option<Reference>,
    /// Verdict on the code that was replaced.
    replaced: Option<String>,
}

impl Line {
    fn not_compiled(function: String, text: &str) -> Line {
        Line { function, verdict: VERDICTS[4], text: text.into(), reference: None, replaced: None }
    }

    /// Returns the verdict and, of a proof, the text from which it begins unless it is the function as it was read.
    fn described(&self) -> String {
        let text = match &self.reference {
            Some(Reference::Expanded(verdict)) if self.verdict == VERDICTS[0] => {
                format!("{} from the expanded function; from the function as read: {verdict}", self.text)
            }
            Some(Reference::Optimized) if self.verdict == VERDICTS[0] => {
                format!("{} from the optimized function", self.text)
            }
            _ => self.text.clone(),
        };
        match &self.replaced {
            Some(replaced) => format!("{text}; compiled again, because the first code was {replaced}"),
            None => text,
        }
    }
}

/// Compiles each function of each file and prints the verdict on its code. The exit code is 0 if every function is
/// proved or uses a feature that the validator does not know.
pub(crate) fn prove(args: &ProveArgs) -> Outcome {
    target::check(&args.target)?;
    let mut out = output::stdout();
    let mut outcome = Verdict::Good;
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut all: Vec<Value> = Vec::new();
    for path in &args.files {
        let input = input::read(path)?;
        let mut parser = match Parser::new(input.text(), kingpost_reader::Options::default()) {
            Ok(parser) => parser,
            Err(error) => {
                Diagnostic::of_text(&input, &error).report();
                outcome = Verdict::Bad;
                continue;
            }
        };
        let compiler = match compiler(args, &parser) {
            Ok(compiler) => compiler,
            Err(refused) => {
                Diagnostic::of_header(&input, parser.header(), refused).report();
                outcome = Verdict::Bad;
                continue;
            }
        };
        let mut cx = compiler.context();
        let mut func = Function::default();
        loop {
            match parser.next_function(&mut func) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    Diagnostic::of_text(&input, &error).report();
                    outcome = Verdict::Bad;
                    if !parser.skip_to_next_function() {
                        break;
                    }
                    continue;
                }
            }
            let name = func.name.to_string();
            if !args.function.is_empty() && !args.function.contains(&name) {
                continue;
            }
            let start = parser.function_start();
            let line = match line(&compiler, &mut cx, &mut func) {
                Ok(line) => line,
                Err(error) => {
                    Diagnostic::of_function(&input, start, &name, error.findings()).iter().for_each(Diagnostic::report);
                    Line::not_compiled(name, VERDICTS[4])
                }
            };
            *counts.entry(line.verdict).or_default() += 1;
            if let ("proved", Some(reference)) = (line.verdict, &line.reference) {
                *counts.entry(reference.name()).or_default() += 1;
            }
            if !matches!(line.verdict, "proved" | "out of scope") {
                outcome = Verdict::Bad;
            }
            if args.format == ListFormat::Json {
                let object = json!({
                    "file": input.name,
                    "function": line.function,
                    "verdict": line.verdict,
                    "text": line.text,
                    "replaced": line.replaced,
                    "reference": line.reference.as_ref().map(Reference::name),
                    "reference_reason": line.reference.as_ref().and_then(|reference| match reference {
                        Reference::Expanded(verdict) => Some(verdict.to_string()),
                        Reference::Read | Reference::Optimized => None,
                    }),
                });
                all.push(object);
            } else {
                writeln!(out, "{}: {}: {}", input.name, line.function, line.described())?;
            }
        }
    }
    let count = |verdict| counts.get(verdict).copied().unwrap_or(0);
    let total: usize = VERDICTS.iter().map(|&verdict| count(verdict)).sum();
    if args.format == ListFormat::Json {
        let counts: serde_json::Map<String, Value> =
            VERDICTS.iter().map(|&verdict| (verdict.to_string(), json!(count(verdict)))).collect();
        let references: serde_json::Map<String, Value> =
            REFERENCES.iter().map(|&reference| (reference.to_string(), json!(count(reference)))).collect();
        writeln!(out, "{}", json!({ "functions": all, "summary": counts, "proved_from": references }))?;
    } else {
        let parts: Vec<String> = VERDICTS.iter().map(|&verdict| format!("{} {verdict}", count(verdict))).collect();
        writeln!(out, "{total} functions: {}", parts.join(", "))?;
        let [read, expanded, optimized] = REFERENCES.map(count);
        writeln!(
            out,
            "proofs begin at the function as read: {read}, as expanded: {expanded}, as optimized: {optimized}"
        )?;
    }
    out.flush()?;
    Ok(outcome)
}

/// Returns the compiler for a file. Its setting `validate_code` is `solver` by default, or `terms` if there is no
/// solver.
fn compiler(args: &ProveArgs, parser: &Parser<'_>) -> Result<Compiler, crate::diagnostics::Refused> {
    let mode = if Backend::Z3.is_installed() { ValidateCode::Solver } else { ValidateCode::Terms };
    let defaults = target::defaults().with(|settings| settings.validate_code = mode);
    let choice = Choice::of(args.regalloc.as_deref(), None);
    target::with_header(defaults, &args.target, choice.as_ref(), parser.header())
}

/// Compiles a function and returns the verdict on its code.
fn line(compiler: &Compiler, cx: &mut Context, func: &mut Function) -> Result<Line, CompileError> {
    let mut module = ModuleBuffer::default();
    let result = compiler.compile(cx, func, &mut module);
    let function = SymbolName::from(&func.name).to_string();
    match (cx.proof(), result) {
        (Some(report), Ok(()) | Err(CompileError::Unproved { .. })) => {
            let verdict = report.verdict.name();
            let reference = cx.proof_reference().cloned();
            let replaced = cx.replaced_proof().map(|report| report.verdict.to_string());
            Ok(Line { function, verdict, text: report.verdict.to_string(), reference, replaced })
        }
        (_, Err(error)) => Err(error),
        (None, Ok(())) => Ok(Line::not_compiled(function, "not proved: validate_code is off")),
    }
}
