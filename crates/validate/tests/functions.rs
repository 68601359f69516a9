//! Small functions that are proved on every target and by every allocator.

use crate::compiled::{TARGETS, allocators, reports};
use kingpost_validate::Verdict;

const FUNCTIONS: &str = include_str!("functions.clif");
const RESULTS: &str = include_str!("results.clif");
const FLOATS: &str = include_str!("floats.clif");
const VECTORS: &str = include_str!("vectors.clif");
const EXCEPTIONS: &str = include_str!("exceptions.clif");
const SEARCHED: &str = include_str!("searched.clif");
const UNREAD: &str = include_str!("unread.clif");

#[test]
fn small_functions_are_proved() {
    let mut wrong = Vec::new();
    for target in TARGETS {
        for allocator in allocators() {
            for (name, report) in [FUNCTIONS, RESULTS, FLOATS, VECTORS, EXCEPTIONS, SEARCHED, UNREAD]
                .into_iter()
                .flat_map(|text| reports(text, target, allocator))
            {
                match report {
                    Ok(report) if report.verdict == Verdict::Proved => {}
                    Ok(report) => wrong.push(format!("{target} {allocator} {name}: {}", report.verdict)),
                    Err(error) => wrong.push(format!("{target} {allocator} {name}: {error}")),
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
