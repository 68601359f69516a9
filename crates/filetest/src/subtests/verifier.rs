//! `test verifier`: the `error:` comments list the verifier's errors.

use kingpost_ir::AnyEntity;
use kingpost_ir::verifier::Verifier;
use kingpost_reader::Position;

use crate::expect::directive;
use crate::job::Job;
use crate::report::Findings;

pub(crate) fn run(job: &Job, findings: &mut Findings) {
    let mut verifier = Verifier::default();
    // Without directives a function is expected to be valid.
    findings.expectations += job.file.functions.len();
    for function in &job.file.functions {
        let mut expected: Vec<(AnyEntity, &str, Position)> = function
            .comments
            .iter()
            .filter_map(|comment| Some((comment.entity, directive(comment, "error:")?, comment.position())))
            .collect();
        let errors = verifier.verify(&function.function, job.info).err().map(|errors| errors.0).unwrap_or_default();
        for error in errors {
            let is_it = |(entity, text, _): &(AnyEntity, &str, Position)| {
                *entity == error.location && error.message.contains(text)
            };
            match expected.iter().position(is_it) {
                Some(index) => drop(expected.remove(index)),
                None => findings.fail(format_args!(
                    "{}: unexpected error at {}: {}",
                    job.place(function),
                    function.function.describe(error.location),
                    error.message
                )),
            }
        }
        for (entity, text, position) in expected {
            let place = function.function.describe(entity);
            findings.fail(format_args!("{}:{position}: no error `{text}` at {place}", job.name));
        }
    }
}
