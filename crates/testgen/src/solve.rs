//! Solution of one problem, with the checker's approval.

use kingpost_checker::Checker;
use kingpost_regalloc::text::display_allocation;
use kingpost_regalloc::{Allocation, Allocator, Cost, MachineEnv, Problem};

/// Solves a problem that has a solution, which the checker must accept.
///
/// # Panics
/// If there is an error, with all texts.
#[track_caller]
pub fn solve(allocator: &mut dyn Allocator, problem: &Problem, env: &MachineEnv) -> (Allocation, Cost) {
    problem.verify_with(env).unwrap_or_else(|errors| panic!("{}: {errors:?}", problem.name));
    let mut answer = Allocation::default();
    allocator.allocate(problem, env, &mut answer).unwrap_or_else(|error| panic!("{}: {error}", problem.name));
    accept(problem, env, &answer);
    let cost = Cost::of(problem, env, &answer);
    (answer, cost)
}

/// Checks that the checker accepts the answer; panics with all texts if it does not.
#[track_caller]
pub(crate) fn accept(problem: &Problem, env: &MachineEnv, answer: &Allocation) {
    if let Err(errors) = Checker::new().check(problem, env, answer) {
        let errors: String = errors.iter().take(5).map(|error| format!("{error}\n")).collect();
        panic!("{errors}{problem}{}", display_allocation(problem, answer));
    }
}
