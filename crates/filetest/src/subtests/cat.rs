//! `test cat` and `test safepoint`: the printed function, filecheck.

use crate::job::Job;
use crate::report::Findings;

pub(crate) fn run(job: &Job, findings: &mut Findings) {
    job.check_each(findings, |function| format!("{:#}", function.function));
}
