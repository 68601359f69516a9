//! `test cat` and `test safepoint`: the printed function, filecheck. Printed text must read again.

use kingpost_reader::{TestFunction, parse_functions};

use crate::job::Job;
use crate::report::Findings;

pub(crate) fn run(job: &Job, findings: &mut Findings) {
    job.check_each(findings, |function| format!("{:#}", function.function));
    for test in &job.file.functions {
        read_again(job, test, findings);
    }
}

/// Reads the printed function and prints it again.
fn read_again(job: &Job, test: &TestFunction, findings: &mut Findings) {
    findings.expectations += 1;
    let text = test.function.to_string();
    match parse_functions(&text).as_deref() {
        Ok([again]) if again.to_string() == text => {}
        Ok(others) => {
            let others: Vec<String> = others.iter().map(ToString::to_string).collect();
            findings.fail(format_args!("{}: printed\n{text}read again\n{}", job.place(test), others.join("\n")));
        }
        Err(error) => findings.fail(format_args!("{}: printed\n{text}not read again: {error}", job.place(test))),
    }
}
