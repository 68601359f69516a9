//! Small problems, each about one thing, and the cost of their solutions: one file each in
//! `filetests/regalloc/linear/cost`, with a line `; cost: ` and the beginning of the cost. `any` only requires a
//! solution that the checker accepts. Tests of more than the cost are below.

use kingpost_checker::Checker;
use kingpost_regalloc::text::{display_allocation, parse};
use kingpost_regalloc::{AllocError, Allocation, Allocator, Cost, Inst, RegClass};
use kingpost_regalloc_linear::LinearScan;
use std::fs;
use std::path::Path;

const MACHINE: &str = "env {
  int r0-r5 saved {r4, r5} exchange
  float f0-f3
}
";

/// A machine without callee-saved registers.
const PLAIN: &str = "env {\n int r0-r3 exchange\n float f0-f3\n}\n";

fn solve(machine: &str, problem: &str) -> Result<(String, Allocation), AllocError> {
    solve_text(&format!("{machine}problem %case {{\n{problem}\n}}\n"))
}

/// Returns the cost and the allocation as text, and the allocation.
fn solve_text(text: &str) -> Result<(String, Allocation), AllocError> {
    let file = parse(text).unwrap_or_else(|error| panic!("{error}"));
    let env = file.env.expect("the text begins with a machine");
    let problem = &file.cases[0].problem;
    problem.verify_with(&env).unwrap_or_else(|errors| panic!("{}", errors[0]));
    let mut answer = Allocation::default();
    LinearScan::new().allocate(problem, &env, &mut answer)?;
    let shown = display_allocation(problem, &answer).to_string();
    Checker::new().check(problem, &env, &answer).unwrap_or_else(|errors| panic!("{}\n{shown}", errors[0]));
    Ok((format!("{}\n{shown}", Cost::of(problem, &env, &answer)), answer))
}

#[test]
fn solutions_cost_what_they_may() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../filetests/regalloc/linear/cost");
    let mut files: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty(), "no cases");
    for path in files {
        let text = fs::read_to_string(&path).unwrap();
        let cost = text.lines().find_map(|line| line.strip_prefix("; cost: "));
        let cost = cost.unwrap_or_else(|| panic!("{}: no cost is expected", path.display()));
        let (shown, _) = solve_text(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert!(cost == "any" || shown.starts_with(cost), "{}: wanted {cost}, got {shown}", path.display());
    }
}

#[test]
fn references_are_in_mapped_slots_at_safepoints() {
    let problem = "v0: int 8 ref
         v1: int 8
         b0:
           def v0
           safepoint def v1 = r0, clobbers {r1, r2, r3, f0, f1, f2, f3}
           branch use v0, use v1";
    let (_, answer) = solve(MACHINE, problem).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(answer.stack_maps.len(), 1);
    assert_eq!(answer.stack_maps[0].inst, Inst::from_u32(1));
}

#[test]
fn impossible_instructions_are_named() {
    let machine = "env {\n int r0, r1\n float f0\n}\n";
    let problem = "v0, v1, v2: int 8
         b0:
           def v0
           def v1
           def v2
           use v0, use v1, use v2
           branch";
    let inst = Inst::from_u32(3);
    let error = solve(machine, problem).map(|(shown, _)| shown);
    assert_eq!(error, Err(AllocError::TooFewRegisters { inst, class: RegClass::Int }));
}

#[test]
fn one_allocator_solves_one_problem_after_the_other() {
    let texts =
        ["v0: int 8\n b0:\n def v0\n branch use v0 = r3", "v0, v1: int 8\n b0:\n def v0, def v1\n branch use v1"];
    let file =
        |text| parse(&format!("{MACHINE}problem %case {{\n{text}\n}}\n")).unwrap_or_else(|error| panic!("{error}"));
    let mut shared = LinearScan::new();
    for text in [texts[0], texts[1], texts[0]] {
        let file = file(text);
        let (problem, env) = (&file.cases[0].problem, file.env.as_ref().expect("there is a machine"));
        let (mut fresh, mut reused) = (Allocation::default(), Allocation::default());
        LinearScan::new().allocate(problem, env, &mut fresh).expect("a solution");
        shared.allocate(problem, env, &mut reused).expect("a solution");
        assert_eq!((fresh.locs, fresh.edits), (reused.locs, reused.edits));
    }
}

#[test]
fn hopeless_searches_end() {
    // Thirteen values for twelve registers, each with a choice of most of them: a search fails in very many ways.
    let machine = "env {\n int r0-r11\n float f0\n}\n";
    let defs: String = (0..13).map(|i| format!("def v{i}\n")).collect();
    let uses: Vec<String> =
        (0..13).map(|i| format!("use v{i} in {{r0, r1, r2, r3, r4, r5, r6, r7, r8, r9, r10, r{}}}", i % 12)).collect();
    let values: Vec<String> = (0..13).map(|i| format!("v{i}")).collect();
    let problem = format!("{}: int 8\nb0:\n{defs}{}\nbranch", values.join(", "), uses.join(", "));
    let error = solve(machine, &problem).map(|(shown, _)| shown);
    let is_named = matches!(error, Err(AllocError::TooFewRegisters { .. } | AllocError::StepBudget { .. }));
    assert!(is_named, "{error:?}");
}

#[test]
fn values_passed_on_in_memory_stay_in_one_slot() {
    // v0 is live through both loops and is read after them only; the loops need all registers.
    let (shown, answer) = solve(
        PLAIN,
        "v0, v1, v2, v3, v4, v5, v6, v7: int 8
         b0:
           def v0
           def v1, def v2, def v3, def v4
           branch -> b1(v0)
         b1(v5) freq 10:
           branch -> b2(v5) freq 10
         b2(v6) freq 100:
           use v1, use v2, use v3, use v4
           branch -> b3 freq 90, b4 freq 10
         b3 freq 90:
           branch -> b2(v6) freq 90
         b4 freq 10:
           branch -> b5 freq 9, b6
         b5 freq 9:
           branch -> b1(v6) freq 9
         b6:
           branch use v6",
    )
    .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(answer.slots.len(), 1, "{shown}");
    assert!(shown.starts_with("2 loads (1 spills, 1 fills, 0 moves"), "{shown}");
}
