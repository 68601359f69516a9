//! `test interpret`: the interpreter runs the directives.

use kingpost_interpreter::{DataValue, Environment, Interpreter, Limits, Stop};

use crate::data::{DataFault, data_blocks};
use crate::directives::{Call, Directive, Judge, directives};
use crate::job::Job;
use crate::outcome::Ending;
use crate::report::Findings;
use crate::target::{self, NoCompiler};

/// Fuel of the interpreter as oracle, which decides whether code or expectation is wrong.
const ORACLE_FUEL: u64 = 10_000_000;

pub(crate) fn run(job: &Job, findings: &mut Findings) {
    if !job.has_valid_data(findings) {
        return;
    }
    let (environment, canonical_nans) = match environment(job) {
        Ok(environment) => environment,
        Err(NoCompiler::Skip(reason)) => return findings.skip(reason),
        Err(NoCompiler::Fail { key, text }) => return findings.fail(job.describe_word(&key, &text)),
    };
    let mut interpreter = machine(&environment, canonical_nans);
    let fuel = job.limit.map(|millions| u64::from(millions) * 1_000_000);
    let mut limits = Limits::default().with(|limits| limits.fuel = fuel.unwrap_or(limits.fuel));
    for directive in directives(job, findings) {
        let test = &job.file.functions[directive.function];
        let call = Call::of(&directive.command);
        // The name decides here; without a name the function itself is called.
        let id = call.name.map_or(environment.by_index(directive.function), |name| environment.by_word(name));
        let ending = match id {
            Some(_) if limits.fuel == 0 => Ending::Wrong("was not run: earlier calls used up the instructions".into()),
            Some(id) => {
                // All calls of a file share the fuel of one.
                interpreter.set_limits(limits);
                let result = interpreter.call_id(id, &call.arguments);
                limits.fuel = interpreter.fuel_left();
                ending(result)
            }
            None => Ending::Wrong("there is no such function".into()),
        };
        Judge::new(job, test, &directive).judge(ending, findings);
    }
}

/// Returns the ending of one directive's call in the interpreter, called as compiled code is called.
pub(crate) fn ending_of(job: &Job, directive: &Directive) -> Ending {
    let (environment, canonical_nans) = match environment(job) {
        Ok(environment) => environment,
        Err(NoCompiler::Skip(reason) | NoCompiler::Fail { text: reason, .. }) => return Ending::NotSupported(reason),
    };
    let Some(id) = environment.by_index(directive.function) else { return Ending::Wrong("has no body".into()) };
    let mut interpreter = machine(&environment, canonical_nans);
    interpreter.set_limits(Limits::default().with(|limits| limits.fuel = ORACLE_FUEL));
    ending(interpreter.call_id(id, &Call::of(&directive.command).arguments))
}

/// Returns the functions and data of a file, and whether its settings request canonical NaNs.
fn environment<'a>(job: &Job<'a>) -> Result<(Environment<'a>, bool), NoCompiler> {
    let wrong = |fault: DataFault| NoCompiler::Fail { key: String::new(), text: fault.text };
    let blocks = data_blocks(&job.file.data).map_err(wrong)?;
    let environment = Environment::new(job.file.functions.iter().map(|test| &test.function));
    let environment = environment.with_data(&blocks).map_err(|error| NoCompiler::Skip(error.to_string()))?;
    Ok((environment, target::last_settings(&job.file.header)?.enable_nan_canonicalization))
}

fn machine<'a>(environment: &'a Environment<'a>, has_canonical_nans: bool) -> Interpreter<'a> {
    let machine = Interpreter::new(environment);
    if has_canonical_nans { machine.with_canonical_nans() } else { machine }
}

fn ending(result: Result<Vec<DataValue>, Stop>) -> Ending {
    match result {
        Ok(values) => Ending::Returned(values),
        Err(Stop::Trap(code)) => Ending::Trapped(Some(code)),
        Err(stop @ (Stop::NotSupported { .. } | Stop::UnknownSymbol { .. })) => Ending::NotSupported(stop.to_string()),
        Err(stop) => Ending::Wrong(stop.to_string()),
    }
}
