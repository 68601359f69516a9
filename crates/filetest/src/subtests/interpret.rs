//! `test interpret`: the interpreter obeys the run directives.

use kingpost_interpreter::{DataValue, Environment, Interpreter, Limits, Stop};
use kingpost_reader::RunCommand;

use crate::data::data_blocks;
use crate::directives::{Call, Judge};
use crate::job::Job;
use crate::outcome::Ending;
use crate::report::Findings;
use crate::target::{self, NoCompiler};

pub(crate) fn run(job: &Job, findings: &mut Findings) {
    let environment = Environment::new(job.file.functions.iter().map(|test| &test.function));
    let environment = match data_blocks(&job.file.data).map(|blocks| environment.with_data(&blocks)) {
        Ok(Ok(environment)) => environment,
        Ok(Err(error)) => return findings.skip(error),
        Err(text) => return findings.fail(text),
    };
    let settings = match target::last_settings(&job.file.header) {
        Ok(settings) => settings,
        Err(NoCompiler::Skip(reason)) => return findings.skip(reason),
        Err(NoCompiler::Fail { key, text }) => return findings.fail(job.describe_word(&key, &text)),
    };
    let interpreter = Interpreter::new(&environment);
    let mut interpreter = interpreter.with_canonical_nans(settings.enable_nan_canonicalization);
    let mut limits = Limits::default();
    for (index, test) in job.file.functions.iter().enumerate() {
        let itself = environment.by_index(index);
        for comment in &test.comments {
            let command = match RunCommand::parse(comment, &test.function.signature) {
                Ok(Some(command)) => command,
                Ok(None) => continue,
                Err(error) => {
                    findings.fail(error.in_file(job.name));
                    continue;
                }
            };
            let call = Call::of(&command);
            // The name counts here; without a name the function itself is called.
            let id = call.name.map_or(itself, |name| environment.by_word(name));
            let ending = match id {
                Some(_) if limits.fuel == 0 => {
                    Ending::Wrong("was not run: earlier calls used up the instructions".into())
                }
                Some(id) => {
                    // All calls of a file share the fuel of one.
                    interpreter.set_limits(limits);
                    let result = interpreter.call_id(id, &call.arguments);
                    limits.fuel = interpreter.fuel_left();
                    ending(result)
                }
                None => Ending::Wrong("there is no such function".into()),
            };
            Judge { file: job.name, test, line: comment.line, command: &command }.judge(ending, findings);
        }
    }
}

fn ending(result: Result<Vec<DataValue>, Stop>) -> Ending {
    match result {
        Ok(values) => Ending::Returned(values),
        Err(Stop::Trap(code)) => Ending::Trapped(Some(code)),
        Err(stop @ (Stop::NotSupported { .. } | Stop::UnknownSymbol { .. })) => Ending::NotSupported(stop.to_string()),
        // The one function that the host of such tests provides.
        Err(Stop::UnknownFunction { name }) if name == "%__cranelift_throw" => {
            Ending::NotSupported("exceptions are not supported by the interpreter".into())
        }
        Err(stop) => Ending::Wrong(stop.to_string()),
    }
}
