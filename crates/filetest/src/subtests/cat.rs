//! `test cat` and `test safepoint`: the printed function, filecheck.

use crate::report::Findings;
use crate::subtests::Job;

pub(crate) fn run(job: &Job, findings: &mut Findings) {
    job.check_each(findings, |function| function.function.to_string());
}
