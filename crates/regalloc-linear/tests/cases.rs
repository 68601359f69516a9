//! Small problems, each about one thing, and what their solutions may cost.

use kingpost_checker::Checker;
use kingpost_regalloc::text::{display_allocation, parse};
use kingpost_regalloc::{AllocError, Allocation, Allocator, Cost, Inst, RegClass};
use kingpost_regalloc_linear::LinearScan;

const MACHINE: &str = "env {
  int r0-r5 saved {r4, r5} exchange
  float f0-f3
}
";

/// Without callee-saved registers.
const PLAIN: &str = "env {\n int r0-r3 exchange\n float f0-f3\n}\n";

fn solve(machine: &str, problem: &str) -> Result<(String, Allocation), AllocError> {
    let text = format!("{machine}problem %case {{\n{problem}\n}}\n");
    let file = parse(&text).unwrap_or_else(|error| panic!("{error}"));
    let env = file.env.expect("the text begins with a machine");
    let problem = &file.cases[0].problem;
    problem.verify_with(&env).unwrap_or_else(|errors| panic!("{}", errors[0]));
    let mut answer = Allocation::default();
    LinearScan::new().allocate(problem, &env, &mut answer)?;
    let shown = display_allocation(problem, &answer).to_string();
    Checker::new().check(problem, &env, &answer).unwrap_or_else(|errors| panic!("{}\n{shown}", errors[0]));
    Ok((format!("{}\n{shown}", Cost::of(problem, &env, &answer)), answer))
}

/// The cost of the solution begins with `want`.
#[track_caller]
fn check(problem: &str, want: &str) {
    check_on(MACHINE, problem, want);
}

#[track_caller]
fn check_on(machine: &str, problem: &str, want: &str) {
    match solve(machine, problem) {
        Ok((shown, _)) => assert!(shown.starts_with(want), "wanted {want}, got {shown}"),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_tied_pair_whose_input_dies_needs_no_copy() {
    check(
        "v0, v1, v2: int 8
         b0:
           def v0, def v1
           use v0, use v1, def v2 reuse 0
           branch use v2",
        "0 loads (0 spills, 0 fills, 0 moves",
    );
}

#[test]
fn a_tied_pair_whose_input_lives_on_needs_one_copy() {
    check(
        "v0, v1, v2: int 8
         b0:
           def v0, def v1
           use v0, use v1, def v2 reuse 0
           branch use v0, use v2",
        "0.5 loads (0 spills, 0 fills, 1 moves",
    );
}

#[test]
fn a_value_is_defined_where_a_fixed_operand_wants_it() {
    check(
        "v0, v1, v2: int 8
         b0:
           def v0
           def v1
           use v1, use v0 = r1, def v2 reuse 0
           branch use v2 = r0",
        "0 loads",
    );
}

#[test]
fn one_value_in_two_fixed_registers_is_copied_once() {
    check(
        "v0: int 8
         b0:
           def v0
           use v0 = r0, use v0 = r1, clobbers {r0, r1, r2, r3}
           branch",
        "0.5 loads (0 spills, 0 fills, 1 moves",
    );
}

#[test]
fn values_change_places_by_one_exchange() {
    check(
        "v0, v1: int 8
         b0:
           def v0 = r0, def v1 = r1
           branch use v0 = r1, use v1 = r0",
        "1 loads (0 spills, 0 fills, 0 moves, 1 exchanges",
    );
}

#[test]
fn a_value_used_once_after_a_call_is_spilled() {
    // A callee-saved register would cost two loads, as much as store and load; ties go to memory.
    check(
        "v0, v1: int 8
         b0:
           def v0
           def v1 = r0, clobbers {r1, r2, r3, f0, f1, f2, f3}
           branch use v0, use v1",
        "2 loads",
    );
}

#[test]
fn a_value_live_across_calls_in_a_loop_is_kept_in_a_saved_register() {
    check(
        "v0, v1, v2: int 8
         b0:
           def v0
           branch -> b1
         b1 freq 10:
           def v1 = r0, clobbers {r1, r2, r3, f0, f1, f2, f3}
           use v0, use v1, def v2
           branch use v2 -> b2 freq 9, b3 freq 1
         b2 freq 9:
           branch -> b1 freq 9
         b3:
           branch",
        "2 loads (0 spills, 0 fills, 0 moves, 0 exchanges, 0 remats, 0 slot moves, 0 edge blocks, 1 saved)",
    );
}

#[test]
fn a_value_used_across_calls_in_a_loop_takes_the_saved_register_of_one_that_waits() {
    // Both saved registers hold values that are read behind the loop only; one of them makes room.
    check(
        "v0, v1, v2, v3, v4: int 8
         b0:
           def v0, def v1
           clobbers {r0, r1, r2, r3}
           def v2
           branch -> b1
         b1 freq 10:
           def v3 = r0, clobbers {r1, r2, r3, f0, f1, f2, f3}
           use v2, use v3, def v4
           branch use v4 -> b2 freq 9, b3 freq 1
         b2 freq 9:
           branch -> b1 freq 9
         b3:
           branch use v0, use v1",
        "6.5 loads (1 spills, 1 fills, 1 moves, 0 exchanges, 0 remats, 0 slot moves, 0 edge blocks, 2 saved)",
    );
}

#[test]
fn a_value_used_behind_a_loop_is_spilled_before_it() {
    // Six registers, six values at work in the loop, and one that waits: one store, one load, neither in the loop.
    check(
        "v0, v1, v2, v3, v4, v5, v6, v7: int 8
         b0:
           def v0
           def v1, def v2, def v3
           def v4, def v5
           branch -> b1
         b1 freq 10:
           use v1, use v2, use v3, use v4, use v5, def v6
           use v1, use v2, use v3, use v4, use v5, use v6, def v7
           branch use v7 -> b2 freq 9, b3 freq 1
         b2 freq 9:
           branch -> b1 freq 9
         b3:
           branch use v0",
        "6 loads (1 spills, 1 fills, 0 moves, 0 exchanges, 0 remats, 0 slot moves, 0 edge blocks, 2 saved)",
    );
}

#[test]
fn a_value_spilled_on_a_cold_path_is_stored_there() {
    check_on(
        PLAIN,
        "v0, v1: int 8
         b0:
           nop
           branch -> b1
         b1 freq 10:
           def v0
           branch -> b2 freq 9.5, b3 freq 0.5
         b2 freq 9.5:
           branch use v0 -> b4 freq 8.5, b5 freq 1
         b3 freq 0.5:
           def v1 = r0, clobbers {r1, r2, r3, f0, f1, f2, f3}
           branch use v0, use v1
         b4 freq 8.5:
           branch -> b1 freq 8.5
         b5:
           branch",
        "1 loads (1 spills, 1 fills",
    );
}

#[test]
fn constants_are_computed_again_and_not_where_nobody_reads_them() {
    check_on(
        PLAIN,
        "v0, v1: int 8
         b0:
           remat def v0
           def v1 = r0, clobbers {r1, r2, r3, f0, f1, f2, f3}
           branch use v0, use v1",
        "0.5 loads (0 spills, 0 fills, 0 moves, 0 exchanges, 1 remats",
    );
}

#[test]
fn a_copy_is_dropped_where_its_source_dies() {
    check(
        "v0, v1: int 8
         b0:
           def v0
           move use v0, def v1
           branch use v1 = r3",
        "0 loads",
    );
}

#[test]
fn parameters_take_their_arguments_registers() {
    // The rotation of a Fibonacci loop: two moves a round, or one exchange, in a block of their own.
    check(
        "v0, v1, v2, v3, v4: int 8
         b0:
           def v0, def v1
           branch -> b1(v0, v1)
         b1(v2, v3) freq 10:
           use v2, use v3, def v4
           branch use v4 -> b2 freq 9, b3 freq 1
         b2 freq 9:
           branch -> b1(v3, v4) freq 9
         b3:
           branch use v4",
        "18 loads (0 spills, 0 fills",
    );
}

#[test]
fn more_parameters_than_registers_share_the_slots_of_their_arguments() {
    let machine = "env {\n int r0, r1 exchange\n float f0\n}\n";
    check_on(
        machine,
        "v0, v1, v2, v3, v4, v5, v6, v7: int 8
         b0:
           def v0
           def v1
           def v2
           def v3
           branch -> b1(v0, v1, v2, v3)
         b1(v4, v5, v6, v7):
           use v4
           use v5
           use v6
           branch use v7",
        "4 loads (2 spills, 2 fills, 0 moves",
    );
}

#[test]
fn a_memory_operand_is_left_in_memory() {
    check_on(
        PLAIN,
        "v0, v1, v2: int 8
         b0:
           def v0
           def v1 = r0, clobbers {r1, r2, r3, f0, f1, f2, f3}
           use v1, use v0 mem, def v2 reuse 0
           branch use v2",
        "1 loads (1 spills, 0 fills",
    );
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
fn results_of_a_branch_begin_on_their_edges() {
    check(
        "v0, v1, v2: int 8
         b0:
           def v0
           branch use v0 = r1, def v1 = r0, def v2 = r2, clobbers {r1, r3, f0, f1, f2, f3} -> b1 freq 1 defines (v1), b2 freq 0 defines (v2)
         b1:
           branch use v1 = r0
         b2 freq 0:
           branch use v2 = r2",
        "0 loads",
    );
}

#[test]
fn subsets_may_leave_a_single_answer() {
    check(
        "v0, v1, v2: int 8
         b0:
           def v0 = r0
           def v1 = r1
           def v2 = r2
           use v0, use v1 in {r0, r1}, use v2 in {r0}
           branch",
        "",
    );
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
fn a_loop_parameter_makes_room_for_the_next_rounds_value() {
    // v1 is used behind the loop: one move a round, in the loop's block, since the edge back has none but a jump.
    check(
        "v0, v1, v2: int 8
         b0:
           def v0
           branch -> b1(v0)
         b1(v1) freq 10:
           use v1, def v2
           branch use v2 -> b2 freq 9, b3 freq 1
         b2 freq 9:
           branch -> b1(v2) freq 9
         b3:
           branch use v1",
        "5 loads (0 spills, 0 fills, 1 moves, 0 exchanges, 0 remats, 0 slot moves, 0 edge blocks",
    );
}

#[test]
fn one_saved_register_serves_many_calls() {
    check(
        "v0, v1, v2, v3: int 8
         b0:
           def v0
           def v1 = r0, clobbers {r1, r2, r3, f0, f1, f2, f3}
           use v0, def v2
           def v3 = r0, clobbers {r1, r2, r3, f0, f1, f2, f3}
           branch use v2, use v3",
        "2 loads (0 spills, 0 fills, 0 moves, 0 exchanges, 0 remats, 0 slot moves, 0 edge blocks, 1 saved)",
    );
}

#[test]
fn hopeless_searches_end() {
    // Thirteen values for twelve registers, each with a choice of most of them: very many ways to see that it fails.
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
fn results_on_different_edges_share_a_register() {
    check_on(
        "env {\n int r0\n float f0, f1 saved {f1}\n}\n",
        "v0, v1: float 8
         b0:
           branch def v0, def v1, clobbers {f0} -> b1 freq 0.5 defines (v0), b2 freq 0.5 defines (v1)
         b1 freq 0.5:
           branch
         b2 freq 0.5:
           branch",
        "2 loads (0 spills, 0 fills, 0 moves, 0 exchanges",
    );
}

#[test]
fn values_handed_on_in_memory_stay_in_one_slot() {
    // v0 goes round both loops and is read after them only; the loops need all registers.
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

#[test]
fn a_parameter_in_memory_is_not_loaded_where_it_begins() {
    // The use in b2 comes before the definition in the order, and asks for a register at the head of the loop.
    check_on(
        "env {\n int r0\n float f5-f7\n}\n",
        "v0, v1: float 8
         b0:
           def v0
           branch -> b1(v0)
         b1(v1) freq 16:
           late use v1
           branch -> b2 freq 16
         b2 freq 16:
           use v1
           clobbers {r0, f5, f6, f7}
           branch -> b3 freq 16
         b3 freq 16:
           clobbers {r0, f5, f6, f7}
           branch -> b5 freq 8, b4 freq 8
         b4 freq 16:
           branch -> b1(v1) freq 16
         b5 freq 4:
           branch -> b1(v1) freq 4
         order b0, b4, b2, b1, b3, b5",
        "",
    );
}
