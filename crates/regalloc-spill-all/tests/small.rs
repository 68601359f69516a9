//! The behavior of the allocator in single situations: a problem on four integer and two float registers, and the
//! solution.

use kingpost_checker::Checker;
use kingpost_regalloc::{AllocError, Allocation, Allocator, Inst, MachineEnv, PReg, RegClass, text};
use kingpost_regalloc_spill_all::SpillAll;

/// The declarations that all cases share; v0 to v3 are defined first.
const HEAD: &str = "\
v0, v1, v2, v3, v4, v5, v6, v7: int 8
v8: int 8 ref
b0:
i0: def v0 any, def v1 any, def v2 any, def v3 any
";

fn solve(body: &str, registers: u8) -> Result<String, AllocError> {
    let text = format!("problem %f {{\n{HEAD}{body}\n}}\n");
    let problem = text::parse(&text).unwrap_or_else(|error| panic!("{error}")).cases.remove(0).problem;
    let env = MachineEnv::simple(registers, 2);
    problem.verify_with(&env).unwrap_or_else(|errors| panic!("{errors:?}"));
    let mut allocation = Allocation::default();
    SpillAll::default().allocate(&problem, &env, &mut allocation)?;
    let printed = text::display_allocation(&problem, &allocation).to_string();
    Checker::new().check(&problem, &env, &allocation).unwrap_or_else(|errors| panic!("{errors:?}\n{printed}"));
    // Slots, the first instruction and the counters are the same in all cases.
    let hidden =
        |line: &&str| ["allocation", "  slots", "  i0:", "  stats", "}"].iter().all(|start| !line.starts_with(start));
    Ok(printed.lines().filter(hidden).map(|line| format!("{}\n", line.trim())).collect())
}

#[track_caller]
fn check(body: &str, want: &str) {
    assert_eq!(solve(body, 4).as_deref(), Ok(want), "\n{body}");
}

#[test]
fn uses_are_filled_and_defs_are_stored() {
    check(
        "i1: use v0, late use v1 = r0, def v4\ni2: branch",
        "before i1: fill s0 -> r1 8\nbefore i1: fill s1 -> r0 8\ni1: r1, r0, r1\nbefore i2: spill r1 -> s4 8\n",
    );
}

#[test]
fn one_value_is_filled_once() {
    check("i1: use v0, use v0, use v0 = r3\ni2: branch", "before i1: fill s0 -> r3 8\ni1: r3, r3, r3\n");
}

#[test]
fn operands_stay_in_memory_where_they_may() {
    check("i1: use v0 mem, use v1 any, use v2 stack, def v4 any\ni2: branch", "i1: s0, s1, s2, s4\n");
}

#[test]
fn memory_is_modified_in_the_slot_of_the_def() {
    check(
        "i1: use v0 mem, def v4 reuse 0 rmw\ni2: use v0 mem\ni3: branch",
        "before i1: fill s0 -> r0 8\nbefore i1: spill r0 -> s4 8\ni1: s4, s4\ni2: s0\n",
    );
    check(
        "i1: use v0 mem, def v4 reuse 0\ni2: branch",
        "before i1: fill s0 -> r0 8\ni1: r0, r0\nbefore i2: spill r0 -> s4 8\n",
    );
}

#[test]
fn a_move_in_place_is_dropped() {
    check(
        "i1: move use v0, def v4\ni2: branch",
        "before i1: fill s0 -> r0 8\ni1 dropped: r0, r0\nbefore i2: spill r0 -> s4 8\n",
    );
    check(
        "i1: move use v0, def v4 = r2\ni2: branch",
        "before i1: fill s0 -> r0 8\ni1: r0, r2\nbefore i2: spill r2 -> s4 8\n",
    );
}

#[test]
fn choosy_operands_get_their_registers() {
    // v0 comes first and would take r0; v2 would take r1.
    check(
        "i1: use v0, use v1 in {r0}, use v2 in {r0, r1, r2}, use v3 in {r1}\ni2: branch",
        "before i1: fill s0 -> r3 8\nbefore i1: fill s1 -> r0 8\nbefore i1: fill s2 -> r2 8\nbefore i1: fill s3 -> r1 8\n\
         i1: r3, r0, r2, r1\n",
    );
}

#[test]
fn clobbered_registers_take_uses_but_no_defs() {
    check(
        "i1: use v0, def v4, clobbers {r0, r1, r2}\ni2: branch",
        "before i1: fill s0 -> r0 8\ni1: r0, r3\nbefore i2: spill r3 -> s4 8\n",
    );
}

#[test]
fn arguments_go_from_slot_to_slot_at_once() {
    check(
        "i1: branch -> b1(v0, v1)\nb1(v4, v5):\ni2: branch -> b1(v5, v4)",
        "before i1: fill s1 -> r0 8\nbefore i1: spill r0 -> s5 8\nbefore i1: fill s0 -> r0 8\nbefore i1: spill r0 -> s4 8\n\
         before i2: fill s4 -> r0 8\nbefore i2: fill s5 -> r1 8\nbefore i2: spill r1 -> s4 8\nbefore i2: spill r0 -> s5 8\n",
    );
}

#[test]
fn defs_of_a_branch_are_stored_on_their_edges() {
    check(
        "i1: branch def v4 = r0, def v5 = r0, def v6 -> b1 defines (v4, v6), b2 defines (v5)\nb1:\ni2: branch\nb2:\ni3: branch",
        "i1: r0, r0, r1\nbefore i2: spill r0 -> s4 8\nbefore i2: spill r1 -> s5 8\nbefore i3: spill r0 -> s6 8\n",
    );
}

#[test]
fn stack_maps_name_references_live_across() {
    // In the loop v8 is live across both safepoints; after it, across none.
    check(
        "i1: def v8\ni2: branch -> b1\nb1:\ni3: safepoint\ni4: use v8\ni5: safepoint branch -> b2, b3\n\
         b2:\ni6: branch -> b1\nb3:\ni7: safepoint\ni8: branch",
        "i1: r0\nbefore i2: spill r0 -> s4 8\nbefore i4: fill s4 -> r0 8\ni4: r0\nmap i3: s4\nmap i5: s4\n",
    );
    let label = "i1: def v8 any\ni2: safepoint\ni3: safepoint\ni4: branch\nlabel 3 = v8 over i2..i4";
    check(label, "i1: s4\nmap i2: s4\nlabel 3 = s4 over i2..i4\n");
}

#[test]
fn what_cannot_be_placed_is_an_error() {
    let inst = Inst::from_u32(1);
    let too_few = Err(AllocError::TooFewRegisters { inst, class: RegClass::Int });
    assert_eq!(solve("i1: use v0, use v1, def v4, def v5\ni2: branch", 2).map(drop), Ok(()));
    assert_eq!(solve("i1: use v0, use v1, early def v4\ni2: branch", 2), too_few);
    assert_eq!(solve("i1: use v0, def v4, clobbers {r0, r1}\ni2: branch", 2), too_few);
    assert_eq!(solve("i1: branch -> b1(v0)\nb1(v4):\ni2: branch", 0), too_few);
    let conflict = Err(AllocError::FixedConflict { inst, reg: PReg::int(1) });
    assert_eq!(solve("i1: use v0 in {r1}, use v1 = r1\ni2: branch", 2), conflict);
}

#[test]
fn memory_is_reused_without_traces() {
    let file = |text: &str| text::parse(text).unwrap().cases.remove(0).problem;
    let first = file(
        "problem %a {\nv0, v1: int 8\nb0:\ndef v0, def v1\nbranch use v1 -> b1, b2\nb1:\nbranch use v0\nb2:\nbranch\n}",
    );
    let second = file("problem %b {\nv0: float 16\nv1: int 4\nb0:\ndef v0, def v1\nbranch use v1, use v0 stack\n}");
    let env = MachineEnv::simple(2, 1);
    let solution = |allocator: &mut SpillAll| {
        let mut allocation = Allocation::default();
        allocator.allocate(&second, &env, &mut allocation).unwrap();
        text::display_allocation(&second, &allocation).to_string()
    };
    let mut used = SpillAll::default();
    used.allocate(&first, &env, &mut Allocation::default()).unwrap();
    assert_eq!(solution(&mut used), solution(&mut SpillAll::default()));
}

#[test]
fn choices_that_overlap_share_a_register_only_if_they_must() {
    let apart = solve("i1: use v0 in {r0, r1}, use v0 in {r1, r2}, use v1 = r1\ni2: branch", 4).expect("r0, r2 and r1");
    assert!(apart.contains("i1: r0, r2, r1\n"), "{apart}");
    let shared = solve("i1: use v0 in {r0, r1}, use v0 in {r1, r2}, use v1 = r0, use v2 = r2\ni2: branch", 4);
    let shared = shared.expect("r1 for both");
    assert!(shared.contains("i1: r1, r1, r0, r2\n"), "{shared}");
}
