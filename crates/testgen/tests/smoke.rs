//! A second of the work that `make fuzz` does for long.

use kingpost_regalloc::{AllocError, Allocation, Allocator, MachineEnv, Problem};
use kingpost_regalloc_linear::LinearScan;
use kingpost_regalloc_spill_all::SpillAll;
use kingpost_testgen::fuzz::{self, FailureKind};

#[track_caller]
fn solves(allocator: &mut dyn Allocator) {
    match fuzz::allocator(allocator, 0..300) {
        Ok(report) => assert_eq!(report.problems, 300),
        Err(failure) => panic!("{failure}"),
    }
}

#[test]
fn spill_all_solves_generated_problems() {
    solves(&mut SpillAll::default());
}

#[test]
fn linear_solves_generated_problems() {
    solves(&mut LinearScan::default());
}

/// Checks that no fault is missed, and that every operator except those in `without` plants some that are caught.
#[track_caller]
fn notices(allocator: &mut dyn Allocator, without: &[&str]) {
    let report = match fuzz::faults(allocator, 0..60) {
        Ok(report) => report,
        Err(failure) => panic!("{failure}"),
    };
    let never: Vec<&str> = report.rows.iter().filter(|(_, count)| count.caught == 0).map(|(name, _)| *name).collect();
    assert_eq!(never, without, "{report}");
}

#[test]
fn faults_planted_into_spill_all_are_caught() {
    notices(&mut SpillAll::default(), &["rematerialize another value"]);
}

#[test]
fn faults_planted_into_linear_are_caught() {
    notices(&mut LinearScan::default(), &[]);
}

/// An allocator that drops the last edit.
struct DropsLastEdit(SpillAll);

impl Allocator for DropsLastEdit {
    fn name(&self) -> &'static str {
        "forgetful"
    }

    fn allocate(&mut self, problem: &Problem, env: &MachineEnv, out: &mut Allocation) -> Result<(), AllocError> {
        self.0.allocate(problem, env, out)?;
        out.edits.pop();
        Ok(())
    }
}

#[test]
fn a_wrong_allocator_is_found_and_its_failure_is_small() {
    let failure = fuzz::allocator(&mut DropsLastEdit(SpillAll::default()), 0..50).expect_err("it drops edits");
    assert!(matches!(failure.kind, FailureKind::Rejected(_)), "{failure}");
    let problem = failure.text.split("allocation {").next().unwrap_or("");
    let instructions = problem.lines().filter(|line| line.trim_start().starts_with('i') && line.contains(": ")).count();
    assert!(instructions <= 4, "{failure}");
}
