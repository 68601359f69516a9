//! Rule 21: the location of a use holds its value on every path.

use super::case::*;
use kingpost_checker::Rule;
use kingpost_regalloc::*;

#[test]
fn rule_21_in_loops_the_value_of_the_last_round_is_not_this_rounds() {
    // b0: jump b1 | b1: v0 = ..; brif b2, b3 | b2: jump b1 | b3: use v0.
    let looping = |reload_first: bool| {
        let body = match reload_first {
            true => vec![row(&[(Operand::any_use(v(1)), slot(0))]), row(&[(def(0), r(0))]), jump()],
            false => vec![row(&[(def(0), r(0))]), row(&[(Operand::any_use(v(0)), slot(0))]), jump()],
        };
        case("ii")
            .block(&[], vec![row(&[(def(1), r(1))]), jump()])
            .block(&[], body)
            .block(&[], vec![jump()])
            .block(&[], vec![ret(&[(use_(0), r(0))])])
            .edge(0, 1, &[], &[])
            .edge(1, 2, &[], &[])
            .edge(1, 3, &[], &[])
            .edge(2, 1, &[], &[])
            .done(&[8])
    };
    looping(false).edit(3, spill(R0, 0)).accepted();
    // The spill is after the use: the slot holds the v0 of the last iteration.
    looping(false).edit(4, spill(R0, 0)).rejected(Rule::UseHoldsValue);
    looping(true).edit(1, spill(R1, 0)).accepted();
    looping(true).edit(1, spill(R1, 0)).edit(4, spill(R0, 0)).rejected(Rule::UseHoldsValue);
}

#[test]
fn rule_21_a_loops_parameter_may_share_with_what_it_was_passed_only_at_first() {
    // b0: v0 = ..; jump b1(v0) | b1(v1): brif b2, b3 | b2: v2 = ..; jump b1(v2) | b3: use v0, v1.
    let looping = |first: Option<EditKind>, v2_to: Option<EditKind>, v0_at, v1_at| {
        let mut built = case("iii")
            .block(&[], vec![row(&[(def(0), r(0))]), jump()])
            .block(&[v(1)], vec![jump()])
            .block(&[], vec![row(&[(def(2), r(2))]), jump()])
            .block(&[], vec![ret(&[(Operand::any_use(v(0)), v0_at), (Operand::any_use(v(1)), v1_at)])])
            .edge(0, 1, &[v(0)], &[])
            .edge(1, 2, &[], &[])
            .edge(1, 3, &[], &[])
            .edge(2, 1, &[v(2)], &[])
            .done(&[8]);
        for (at, kind) in [(1, first), (4, v2_to)] {
            if let Some(kind) = kind {
                built = built.edit(at, kind);
            }
        }
        built
    };
    // v0 stays in r0 and v1 gets a register or slot of its own.
    looping(Some(mov(R0, R1)), Some(mov(R2, R1)), r(0), r(1)).accepted();
    looping(Some(spill(R0, 0)), Some(spill(R2, 0)), r(0), slot(0)).accepted();
    // The slot or register in the second iteration holds the v1 of the first one.
    looping(Some(spill(R0, 0)), None, r(0), slot(0)).rejected(Rule::UseHoldsValue);
    looping(Some(mov(R0, R1)), None, r(0), r(1)).rejected(Rule::UseHoldsValue);
    // It is still v0, which either location may have kept.
    looping(Some(spill(R0, 0)), Some(mov(R2, R0)), slot(0), r(0)).accepted();
    looping(None, None, r(0), r(0)).rejected(Rule::UseHoldsValue);
}

#[test]
fn rule_21_a_parameter_that_is_always_passed_one_value_is_that_value() {
    // b0: v0 = ..; brif b1, b2 | b1: jump b3(v0) | b2: v1 = move v0; jump b3(v1) | b3(v2): brif b4, b5 | b4: jump b3(v2)
    // | b5: use v0, v2.
    let mv = flagged(InstFlags::MOVE, &[(use_(0), r(0)), (def(1), r(1))]);
    let case = case("iii")
        .block(&[], vec![row(&[(def(0), r(0))]), jump()])
        .block(&[], vec![jump()])
        .block(&[], vec![mv, jump()])
        .block(&[v(2)], vec![jump()])
        .block(&[], vec![jump()])
        .block(&[], vec![ret(&[(use_(0), r(0)), (use_(2), r(0))])])
        .edge(0, 1, &[], &[])
        .edge(0, 2, &[], &[])
        .edge(1, 3, &[v(0)], &[])
        .edge(2, 3, &[v(1)], &[])
        .edge(3, 4, &[], &[])
        .edge(3, 5, &[], &[])
        .edge(4, 3, &[v(2)], &[])
        .done(&[]);
    case.accepted();
}

#[test]
fn an_order_that_breaks_the_rules_of_problems_does_not_break_the_walk() {
    let mut looping = case("i")
        .block(&[], vec![row(&[(def(0), r(0))]), jump()])
        .block(&[], vec![jump()])
        .block(&[], vec![jump()])
        .block(&[], vec![ret(&[(use_(0), r(0))])])
        .edge(0, 1, &[], &[])
        .edge(1, 2, &[], &[])
        .edge(1, 3, &[], &[])
        .edge(2, 1, &[], &[])
        .done(&[]);
    for order in [vec![], vec![2, 2, 0, 9], vec![1, 0, 2, 3]] {
        looping.problem.order = order.into_iter().map(Block::from_u32).collect();
        looping.accepted();
    }
}

#[test]
fn rule_21_parameters_take_the_place_of_their_arguments() {
    // The example at the end of the checker's design: v3 is v2 on one path and v1 on the other.
    let diamond = |v2, v1_end: Option<EditKind>| {
        let built = case("iiii")
            .block(&[], vec![row(&[(def(0), r(3)), (def(1), r(0))]), ret(&[(use_(0), r(3))])])
            .block(&[], vec![row(&[(def(2), v2)]), jump()])
            .block(&[], vec![jump()])
            .block(&[v(3)], vec![ret(&[(use_(3), r(0))])])
            .edge(0, 1, &[], &[])
            .edge(0, 2, &[], &[])
            .edge(1, 3, &[v(2)], &[])
            .edge(2, 3, &[v(1)], &[])
            .done(&[]);
        match v1_end {
            Some(kind) => built.edit(3, kind),
            None => built,
        }
    };
    diamond(r(0), None).accepted();
    diamond(r(1), None).rejected(Rule::UseHoldsValue);
    diamond(r(1), Some(mov(R1, R0))).accepted();
}

#[test]
fn rule_21_swapped_parameters_need_an_exchange() {
    // b0: v0, v1; jump b1(v0, v1) | b1(v2, v3): brif b2, b3 | b2: jump b1(v3, v2) | b3: use v2, v3.
    let swap = || {
        case("iiii")
            .block(&[], vec![row(&[(def(0), r(0)), (def(1), r(1))]), jump()])
            .block(&[v(2), v(3)], vec![jump()])
            .block(&[], vec![jump()])
            .block(&[], vec![ret(&[(use_(2), r(0)), (use_(3), r(1))])])
            .edge(0, 1, &[v(0), v(1)], &[])
            .edge(1, 2, &[], &[])
            .edge(1, 3, &[], &[])
            .edge(2, 1, &[v(3), v(2)], &[])
            .done(&[])
    };
    swap().rejected(Rule::UseHoldsValue);
    swap().edit(3, EditKind::Exchange { a: R0, b: R1, width: 8 }).accepted();
    swap().edit(3, mov(R1, R0)).edit(3, mov(R0, R1)).rejected(Rule::UseHoldsValue);
}

#[test]
fn rule_21_widths() {
    let narrow = |width| two(r(0), r(1)).edit(2, EditKind::Move { from: R0, to: R0, width });
    narrow(8).accepted();
    narrow(4).rejected(Rule::UseHoldsValue);
    let clobber = |vreg, keep| {
        let clobbers = Clobbers { partial: PRegSet::EMPTY.with(F0), kept_bytes: keep, ..Clobbers::default() };
        case(vreg)
            .block(&[], vec![row(&[(def(0), f(0))]), clobbering(clobbers, &[]), ret(&[(use_(0), f(0))])])
            .done(&[])
    };
    clobber("f", 8).accepted();
    clobber("x", 8).rejected(Rule::UseHoldsValue);
    clobber("x", 16).accepted();
    clobber("f", 0).rejected(Rule::UseHoldsValue);
}

#[test]
fn rule_21_an_edit_of_an_unknown_location_makes_its_target_unknown() {
    two(r(0), r(1)).edit(2, mov(R2, R0)).rejected(Rule::UseHoldsValue);
    // Saving and restoring unknown contents is no error by itself.
    two(r(0), r(1)).edit(2, mov(R2, PReg::int(3))).edit(2, mov(PReg::int(3), R2)).accepted();
}

#[test]
fn rule_21_edits_before_a_terminator_that_reads_what_they_overwrite() {
    let jump_through = |at| {
        case("iii")
            .block(&[], vec![row(&[(def(0), r(0)), (def(1), r(1))]), ret(&[(use_(0), r(0))])])
            .block(&[v(2)], vec![ret(&[(use_(2), at)])])
            .edge(0, 1, &[v(1)], &[])
            .done(&[])
    };
    jump_through(r(2)).edit(1, mov(R1, R2)).accepted();
    jump_through(r(0)).edit(1, mov(R1, R0)).rejected(Rule::UseHoldsValue);
}

#[test]
fn rule_21_terminator_defs_exist_on_their_edge_only() {
    // b0: v0 = ..; call defines v1 on the edge to b1, v2 on the edge to b2, both in r0.
    let call = |first, second| {
        let fixed = |n| Operand::fixed_def(v(n), R0);
        case("iii")
            .block(&[], vec![row(&[(def(0), r(1))]), ret(&[(fixed(1), r(0)), (fixed(2), r(0))])])
            .block(&[], vec![ret(&[(use_(first), r(0)), (use_(0), r(1))])])
            .block(&[], vec![ret(&[(use_(second), r(0))])])
            .edge(0, 1, &[], &[v(1)])
            .edge(0, 2, &[], &[v(2)])
            .done(&[])
    };
    call(1, 2).accepted();
    call(2, 2).rejected(Rule::UseHoldsValue);
    call(1, 1).rejected(Rule::UseHoldsValue);
    let one_edge = call(1, 2).with(|c| {
        let mut other = case("iii");
        std::mem::swap(&mut other.problem.vregs, &mut c.problem.vregs);
        let fixed = |n| Operand::fixed_def(v(n), R0);
        *c = other
            .block(&[], vec![ret(&[(fixed(1), r(0)), (fixed(2), r(0))])])
            .block(&[], vec![ret(&[])])
            .edge(0, 1, &[], &[v(1), v(2)])
            .done(&[]);
    });
    one_edge.rejected(Rule::Overlap);
}

#[test]
fn an_integer_and_the_reference_it_was_made_of_part_at_a_safepoint() {
    // v0 = ref; v1 = copy of v0 as an integer, in the same register or dropped; spilled to both slots; safepoint with s0.
    let copied = |dropped: bool, used: u32, from: u32| {
        let copy = flagged(InstFlags::MOVE, &[(use_(0), r(0)), (def(1), r(0))]);
        let both = row(&[(use_(0), r(0)), (use_(1), r(0))]);
        let call = flagged(InstFlags::SAFEPOINT, &[]);
        case("ri")
            .block(&[], vec![row(&[(def(0), r(0))]), copy, both, call, ret(&[(use_(used), r(1))])])
            .done(&[8, 8])
            .edit(3, spill(R0, 0))
            .edit(3, spill(R0, 1))
            .edit(4, if from < 2 { fill(from, R1) } else { mov(R0, R1) })
            .with(|c| c.answer.stack_maps.push(StackMapEntry { inst: i(3), slot: s(0) }))
            .with(|c| {
                if dropped {
                    c.answer.drop_inst(i(1))
                }
            })
    };
    for dropped in [false, true] {
        // The collector updates only the mapped slot.
        copied(dropped, 0, 0).accepted();
        copied(dropped, 1, 1).accepted();
        copied(dropped, 1, 2).accepted();
        copied(dropped, 1, 0).rejected(Rule::UseHoldsValue);
        copied(dropped, 0, 1).rejected(Rule::UseHoldsValue);
        copied(dropped, 0, 2).rejected(Rule::UseHoldsValue);
    }
}

#[test]
fn a_copy_copies_all_names() {
    // b0: v0 = ..; jump b1(v0, v0) | b1(v1, v2): v3 = copy of v0; use v1, v3; brif b2, b3 | b2: jump b1(v2, v1) | b3: use v0.
    let copied = |of| {
        let copy = flagged(InstFlags::MOVE, &[(use_(of), r(0)), (def(3), r(1))]);
        case("iiii")
            .block(&[], vec![row(&[(def(0), r(0))]), jump()])
            .block(&[v(1), v(2)], vec![copy, row(&[(use_(1), r(1)), (use_(3), r(1))]), jump()])
            .block(&[], vec![jump()])
            .block(&[], vec![ret(&[(use_(0), r(0))])])
            .edge(0, 1, &[v(0), v(0)], &[])
            .edge(1, 2, &[], &[])
            .edge(1, 3, &[], &[])
            .edge(2, 1, &[v(2), v(1)], &[])
            .done(&[])
    };
    copied(0).accepted();
    copied(1).accepted();
    copied(0).with(|c| c.answer.locs[2] = r(2)).rejected(Rule::UseHoldsValue);
}
