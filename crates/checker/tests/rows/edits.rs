//! Rules 13 to 18, 27 and 29: edits, emergency slots, callee-saved registers.

use super::case::*;
use kingpost_checker::Rule;
use kingpost_regalloc::*;

#[test]
fn rule_13_edit_order() {
    let swapped = spilled().with(|c| c.answer.edits.swap(0, 1));
    swapped.rejected(Rule::EditOrder);
    spilled().with(|c| c.answer.edits[1].at = i(3)).rejected(Rule::EditOrder);
}

#[test]
fn rules_14_and_15_what_edits_exist() {
    two(r(0), r(1)).edit(1, EditKind::Move { from: R0, to: F0, width: 8 }).rejected(Rule::EditRegisters);
    let exchanged = || two(r(0), r(1)).edit(2, EditKind::Exchange { a: R0, b: R1, width: 8 });
    exchanged().with(|c| c.answer.locs.swap(2, 3)).accepted();
    exchanged().rejected(Rule::UseHoldsValue);
    exchanged().with(|c| c.env.classes[0].exchange = false).rejected(Rule::EditAvailable);
    let slot_move = |ints| {
        let operand = Operand::any_use(v(0));
        case("i")
            .block(&[], vec![row(&[(def(0), r(0))]), ret(&[(operand, slot(1))])])
            .done(&[8, 8])
            .edit(1, spill(R0, 0))
            .edit(1, EditKind::SlotMove { from: s(0), to: s(1), width: 8 })
            .with(|c| (c.env.classes[0].slot_move, c.env.classes[1].slot_move) = (ints, true))
    };
    slot_move(true).accepted();
    slot_move(false).rejected(Rule::EditAvailable);
}

#[test]
fn rule_16_rematerialisation() {
    let again = |inst, to, drop| {
        let constant = flagged(InstFlags::REMAT, &[(def(0), if drop { Loc::NONE } else { r(0) })]);
        case("ii")
            .block(&[], vec![constant, row(&[(def(1), r(0))]), ret(&[(use_(0), r(1)), (use_(1), r(0))])])
            .done(&[])
            .edit(2, EditKind::Remat { inst: i(inst), to })
            .with(|c| {
                if drop {
                    c.answer.drop_inst(i(0))
                }
            })
    };
    again(0, R1, false).accepted();
    again(0, R1, true).accepted();
    again(1, R1, false).rejected(Rule::RematAllowed);
    again(7, R1, false).rejected(Rule::RematAllowed);
    again(0, F0, false).rejected(Rule::RematAllowed);
    again(0, R2, false).rejected(Rule::UseHoldsValue);
}

#[test]
fn rule_17_emergency_slots_are_private() {
    let parked = |private: bool| {
        let operand = Operand::any_use(v(0));
        case("i")
            .block(&[], vec![row(&[(def(0), r(0))]), ret(&[(operand, slot(0))])])
            .done(&[8])
            .edit(1, spill(R0, 0))
            .with(|c| c.answer.emergency[0] = private.then_some(s(0)))
    };
    parked(false).accepted();
    parked(true).rejected(Rule::EmergencyPrivate);
}

#[test]
fn scratch_and_emergency_carry_nothing_over_an_instruction() {
    spilled().with(|c| c.answer.emergency[0] = Some(s(0))).rejected(Rule::UseHoldsValue);
    let scratch = |back| {
        two(r(0), r(1))
            .edit(1, mov(R0, PReg::int(9)))
            .edit(back, mov(PReg::int(9), R0))
            .with(|c| c.env.classes[0].scratch = Some(PReg::int(9)))
    };
    scratch(1).accepted();
    scratch(2).rejected(Rule::UseHoldsValue);
}

#[test]
fn rule_18_callee_saved_registers_are_saved() {
    let kept = || two(r(0), r(1)).with(|c| c.env.classes[0].callee_saved = PRegSet::EMPTY.with(R1));
    kept().with(|c| c.answer.saved.insert(R1)).accepted();
    kept().rejected(Rule::CalleeSaved);
    let by_edit =
        || two(r(0), r(1)).edit(2, mov(R0, R2)).with(|c| c.env.classes[0].callee_saved = PRegSet::EMPTY.with(R2));
    by_edit().rejected(Rule::CalleeSaved);
}

#[test]
fn rule_29_nothing_else_is_saved() {
    let saved = |reg: PReg| {
        let with = |c: &mut Case| {
            c.env.classes[0].callee_saved = PRegSet::EMPTY.with(R2);
            c.answer.saved.insert(reg);
        };
        two(r(0), r(1)).with(with)
    };
    saved(R2).accepted();
    saved(R1).rejected(Rule::SavedSet);
    saved(PReg::int(9)).rejected(Rule::SavedSet);
}

#[test]
fn rule_27_an_edit_moves_what_one_instruction_can() {
    let moved = |width| two(r(0), r(1)).edit(2, EditKind::Move { from: R0, to: R2, width });
    moved(1).accepted();
    moved(8).accepted();
    for width in [0, 3, 16, 255] {
        moved(width).rejected(Rule::EditWidth);
    }
    let stored = |from, width| {
        two(r(0), r(1))
            .with(|c| assert_eq!(c.answer.slots.push(SlotData { size: 64, align: 64 }), s(0)))
            .edit(2, EditKind::Spill { from, to: s(0), width })
    };
    stored(F0, 4).accepted();
    stored(F0, 64).accepted();
    stored(F0, 2).rejected(Rule::EditWidth);
    stored(R0, 5).rejected(Rule::EditWidth);
    stored(R0, 16).rejected(Rule::EditWidth);
}
