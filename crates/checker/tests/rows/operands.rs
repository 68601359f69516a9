//! Rules 1 to 12: each location, by itself and among the locations of its instruction.

use super::case::*;
use kingpost_checker::Rule;
use kingpost_regalloc::*;

#[test]
fn rule_1_shape() {
    two(r(0), r(1)).accepted();
    two(r(0), r(1)).with(|c| assert!(c.answer.locs.pop().is_some())).rejected(Rule::Lengths);
}

#[test]
fn rule_2_every_operand_has_a_location() {
    two(r(0), r(1)).with(|c| c.answer.locs[1] = Loc::NONE).rejected(Rule::HasLocation);
}

#[test]
fn rule_3_register_class() {
    two(r(0), f(1)).rejected(Rule::RegisterClass);
}

#[test]
fn rule_4_allocatable() {
    two(r(0), r(9)).rejected(Rule::Allocatable);
    let through = |reg| two(r(0), r(1)).edit(1, mov(R0, reg));
    through(PReg::int(9)).rejected(Rule::Allocatable);
    through(PReg::int(9)).with(|c| c.env.classes[0].scratch = Some(PReg::int(9))).accepted();
    two(r(0), r(9)).with(|c| c.env.classes[0].scratch = Some(PReg::int(9))).rejected(Rule::Allocatable);
}

#[test]
fn rules_5_and_6_slots_exist_and_fit() {
    spilled().accepted();
    spilled().with(|c| c.answer.slots.clear()).rejected(Rule::SlotExists);
    spilled().with(|c| c.answer.slots[s(0)].size = 4).rejected(Rule::SlotFits);
    spilled().with(|c| c.answer.slots[s(0)].align = 4).rejected(Rule::SlotFits);
    spilled().with(|c| c.answer.emergency[1] = Some(s(7))).rejected(Rule::SlotExists);
    let operand = Operand::any_use(v(0));
    let stays = |width| {
        case("i")
            .block(&[], vec![row(&[(def(0), r(0))]), ret(&[(operand, slot(0))])])
            .done(&[width])
            .edit(1, spill(R0, 0))
    };
    stays(8).accepted();
    stays(4).rejected(Rule::SlotFits);
}

/// Returns `v0 = .. (r0); use v0 with the constraint at loc`, with `v0` moved to `loc`.
fn constrained(constraint: Constraint, loc: Loc) -> Case {
    let operand = Operand::new(v(0), Kind::Use, Pos::Early, constraint);
    let built = case("i").block(&[], vec![row(&[(def(0), r(0))]), ret(&[(operand, loc)])]).done(&[8]);
    match loc.as_reg() {
        Some(R0) => built,
        Some(reg) => built.edit(1, mov(R0, reg)),
        None => built.edit(1, spill(R0, 0)),
    }
}

#[test]
fn rule_7_constraints() {
    constrained(Constraint::Reg, r(1)).accepted();
    constrained(Constraint::Reg, slot(0)).rejected(Rule::Constraint);
    constrained(Constraint::Fixed(R2), r(2)).accepted();
    constrained(Constraint::Fixed(R2), r(1)).rejected(Rule::Constraint);
    constrained(Constraint::Stack, slot(0)).accepted();
    constrained(Constraint::Stack, r(0)).rejected(Rule::Constraint);
    constrained(Constraint::Any, slot(0)).accepted();
    constrained(Constraint::MemOk, slot(0)).accepted();
    let within = |loc| {
        let mut built = case("i");
        let set = built.problem.intern_reg_set(PRegSet::EMPTY.with(R1));
        let operand = Operand::new(v(0), Kind::Def, Pos::Late, Constraint::Within(set));
        built = built.block(&[], vec![row(&[(operand, loc)]), ret(&[(use_(0), loc)])]);
        built.done(&[])
    };
    within(r(1)).accepted();
    within(r(0)).rejected(Rule::Constraint);
}

#[test]
fn rule_8_one_operand_in_memory() {
    let both = |b| {
        let operands = [(Operand::mem_ok_use(v(0)), slot(0)), (Operand::mem_ok_use(v(1)), b)];
        case("ii")
            .block(&[], vec![row(&[(def(0), r(0))]), row(&[(def(1), r(1))]), ret(&operands)])
            .done(&[8, 8])
            .edit(2, spill(R0, 0))
            .edit(2, spill(R1, 1))
    };
    both(r(1)).accepted();
    both(slot(1)).rejected(Rule::OneMemory);
}

#[test]
fn rule_9_reuse() {
    let add = |to, rmw| {
        let reuse = if rmw { Operand::reuse_def(v(1), 1).with_rmw() } else { Operand::reuse_def(v(1), 1) };
        let from = if rmw { slot(0) } else { r(0) };
        case("ii")
            .block(
                &[],
                vec![
                    row(&[(def(0), r(0))]),
                    row(&[(reuse, to), (Operand::mem_ok_use(v(0)), from)]),
                    ret(&[(Operand::any_use(v(1)), to)]),
                ],
            )
            .done(&[8, 8])
            .edit(1, spill(R0, 0))
    };
    add(r(0), false).accepted();
    add(r(1), false).rejected(Rule::ReuseSame);
    add(slot(0), true).accepted();
    add(slot(1), true).rejected(Rule::ReuseSame);
    let no_twin = add(slot(0), true).with(|c| {
        let mut plain = add(slot(0), false).with(|c| c.answer.locs[2] = slot(0));
        std::mem::swap(&mut c.problem, &mut plain.problem);
    });
    no_twin.rejected(Rule::ReuseSame);
}

/// Returns `v0 = .. (r0); op; use v1`, for the operands that meet at `op`.
fn meeting(first: Operand, a: Loc, second: Operand, b: Loc) -> Case {
    let op = row(&[(first, a), (second, b)]);
    case("iii").block(&[], vec![row(&[(def(0), r(0))]), op, ret(&[])]).done(&[])
}

#[test]
fn rule_10_operands_at_one_point_do_not_share() {
    meeting(use_(0), r(0), def(1), r(0)).accepted();
    meeting(use_(0), r(0), Operand::early_def(v(1)), r(1)).accepted();
    meeting(use_(0), r(0), Operand::early_def(v(1)), r(0)).rejected(Rule::Overlap);
    meeting(Operand::late_use(v(0)), r(0), def(1), r(1)).accepted();
    meeting(Operand::late_use(v(0)), r(0), def(1), r(0)).rejected(Rule::Overlap);
    meeting(def(1), r(1), def(2), r(2)).accepted();
    meeting(def(1), r(1), def(2), r(1)).rejected(Rule::Overlap);
    meeting(def(1), r(1), Operand::early_def(v(2)), r(1)).rejected(Rule::Overlap);
}

#[test]
fn rule_10_temporaries_of_a_terminator_are_on_all_its_edges() {
    let exit = |operand: fn(VReg) -> Operand, to| {
        let branch = flagged(InstFlags::BRANCH, &[(use_(0), r(0)), (operand(v(1)), r(1)), (operand(v(2)), to)]);
        case("iii").block(&[], vec![row(&[(def(0), r(0))]), branch]).done(&[])
    };
    for operand in [Operand::early_def, Operand::reg_def] {
        exit(operand, r(2)).accepted();
        exit(operand, r(1)).rejected(Rule::Overlap);
    }
    let call = |temporary| {
        let branch = flagged(InstFlags::BRANCH, &[(def(0), r(0)), (def(1), r(0)), (def(2), temporary)]);
        case("iii")
            .block(&[], vec![branch])
            .block(&[], vec![ret(&[(use_(0), r(0))])])
            .block(&[], vec![ret(&[(use_(1), r(0))])])
            .edge(0, 1, &[], &[v(0)])
            .edge(0, 2, &[], &[v(1)])
            .done(&[])
    };
    call(r(1)).accepted();
    call(r(0)).rejected(Rule::Overlap);
}

#[test]
fn a_late_use_is_checked_beside_a_reuse() {
    let op = |late| {
        let operands = [(Operand::reuse_def(v(2), 1), r(0)), (use_(0), r(0)), (Operand::late_use(v(1)), late)];
        case("iii")
            .block(&[], vec![row(&[(def(0), r(0))]), row(&[(def(1), r(1))]), row(&operands), ret(&[(use_(2), r(0))])])
            .done(&[])
    };
    op(r(1)).accepted();
    op(r(0)).edit(2, mov(R1, R0)).rejected(Rule::Overlap);
    op(r(2)).rejected(Rule::UseHoldsValue);
}

#[test]
fn rule_11_clobbers_meet_defs_and_late_uses() {
    let lost = Clobbers::lost(PRegSet::EMPTY.with(R0));
    let op = |operand, loc| {
        case("ii").block(&[], vec![row(&[(def(0), r(1))]), clobbering(lost, &[(operand, loc)]), ret(&[])]).done(&[])
    };
    op(def(1), r(2)).accepted();
    op(def(1), r(0)).rejected(Rule::ClobberedOperand);
    op(Operand::early_def(v(1)), r(0)).rejected(Rule::ClobberedOperand);
    op(use_(0), r(0)).edit(1, mov(R1, R0)).accepted();
    op(Operand::late_use(v(0)), r(0)).edit(1, mov(R1, R0)).rejected(Rule::ClobberedOperand);
}

#[test]
fn rule_12_what_may_be_dropped() {
    let copy = |to| {
        let copy = flagged(InstFlags::MOVE, &[(def(1), to), (use_(0), r(0))]);
        case("ii").block(&[], vec![row(&[(def(0), r(0))]), copy, ret(&[(use_(0), r(0)), (use_(1), to)])]).done(&[])
    };
    copy(r(1)).accepted();
    copy(r(0)).accepted();
    copy(r(0)).with(|c| c.answer.drop_inst(i(1))).accepted();
    copy(r(1)).with(|c| c.answer.drop_inst(i(1))).rejected(Rule::DropAllowed);
    copy(r(0)).with(|c| c.answer.drop_inst(i(0))).rejected(Rule::DropAllowed);
}

#[test]
fn a_dropped_move_reads_its_source() {
    let copy = flagged(InstFlags::MOVE, &[(def(1), r(1)), (use_(0), r(1))]);
    let case = case("ii")
        .block(&[], vec![row(&[(def(0), r(0))]), copy, ret(&[])])
        .done(&[])
        .with(|c| c.answer.drop_inst(i(1)));
    case.rejected(Rule::UseHoldsValue);
}
