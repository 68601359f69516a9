//! Rules 19, 20, 22 to 24 and 28: stack maps and labels.

use super::case::*;
use kingpost_checker::Rule;
use kingpost_regalloc::*;

/// Returns `v0 = ref (r0); call; use v0`, spilled to slot 0 around the call and mapped there.
fn safepoint() -> Case {
    case("r")
        .block(&[], vec![row(&[(def(0), r(0))]), flagged(InstFlags::SAFEPOINT, &[]), ret(&[(use_(0), r(0))])])
        .done(&[8, 8])
        .edit(1, spill(R0, 0))
        .edit(2, fill(0, R0))
        .with(|c| c.answer.stack_maps.push(StackMapEntry { inst: i(1), slot: s(0) }))
}

#[test]
fn rules_19_20_and_22_stack_maps() {
    safepoint().accepted();
    safepoint().with(|c| c.answer.stack_maps[0].inst = i(0)).rejected(Rule::MapOrder);
    safepoint().with(|c| c.answer.stack_maps.push(c.answer.stack_maps[0])).rejected(Rule::MapOrder);
    safepoint().with(|c| c.answer.stack_maps[0].slot = s(1)).rejected(Rule::MapNeverWritten);
    safepoint().with(|c| c.answer.stack_maps[0].slot = s(2)).rejected(Rule::SlotExists);
    safepoint().with(|c| c.answer.stack_maps.clear()).rejected(Rule::UseHoldsValue);
    safepoint().with(|c| c.answer.emergency[0] = Some(s(0))).rejected(Rule::EmergencyPrivate);
    // The collector moves the object: the copy in the register is stale although no instruction overwrote it.
    safepoint().with(|c| assert!(c.answer.edits.pop().is_some())).rejected(Rule::UseHoldsValue);
    // Written, but not yet at the safepoint.
    let late = safepoint().with(|c| c.answer.edits[0].at = i(2)).with(|c| assert!(c.answer.edits.pop().is_some()));
    assert_eq!(late.first_rule(), Rule::MapHoldsReference);
    // Half a reference is none.
    let half = safepoint().with(|c| c.answer.edits[0].kind = EditKind::Spill { from: R0, to: s(0), width: 4 });
    assert_eq!(half.first_rule(), Rule::MapHoldsReference);
    // An integer is no reference.
    let integer = safepoint().with(|c| c.problem.vregs[v(0)].is_ref = false);
    assert_eq!(integer.first_rule(), Rule::MapHoldsReference);
}

#[test]
fn rules_23_and_24_labels() {
    let labelled = |loc, from, to| {
        let mut case = two(r(0), r(1)).edit(2, mov(R0, R2));
        case.problem.labels.push(LabelUse { label: 5, vreg: v(0), from: i(1), to: i(3) });
        case.answer.labels.push(LabelRange { label: 5, loc, from: i(from), to: i(to) });
        case
    };
    labelled(r(0), 1, 3).accepted();
    labelled(r(2), 2, 3).accepted();
    labelled(r(2), 1, 3).rejected(Rule::LabelHoldsValue);
    labelled(r(0), 0, 3).rejected(Rule::LabelRequested);
    labelled(r(0), 2, 2).rejected(Rule::LabelRequested);
    // The request ends within the range; another begins there, for another value.
    labelled(r(0), 1, 3).with(|c| c.problem.labels[0].to = i(2)).rejected(Rule::LabelRequested);
    let then = |vreg| LabelUse { label: 5, vreg: v(vreg), from: i(2), to: i(3) };
    let two_requests = |vreg| {
        let case = labelled(r(0), 1, 3).with(|c| c.problem.labels[0].to = i(2));
        case.with(|c| c.problem.labels.push(then(vreg)))
    };
    two_requests(0).accepted();
    two_requests(1).rejected(Rule::LabelHoldsValue);
    // Overwritten within the range.
    labelled(r(0), 1, 3).with(|c| c.answer.locs[2] = r(2)).edit(2, mov(R1, R0)).first_rule_is(Rule::LabelHoldsValue);
    labelled(r(9), 1, 2).rejected(Rule::Allocatable);
}

#[test]
fn rule_28_label_ranges_are_in_order_and_apart() {
    let labelled = |ranges: &[(u32, Loc, u32, u32)]| {
        let mut case = two(r(0), r(1)).edit(2, mov(R0, R2));
        for label in [5, 6] {
            case.problem.labels.push(LabelUse { label, vreg: v(0), from: i(1), to: i(3) });
        }
        let range = |&(label, loc, from, to)| LabelRange { label, loc, from: i(from), to: i(to) };
        case.answer.labels.extend(ranges.iter().map(range));
        case
    };
    labelled(&[(5, r(0), 1, 2), (5, r(2), 2, 3), (6, r(0), 1, 3)]).accepted();
    labelled(&[(5, r(0), 2, 3), (5, r(0), 1, 2)]).rejected(Rule::LabelOrder);
    labelled(&[(6, r(0), 1, 3), (5, r(0), 1, 3)]).rejected(Rule::LabelOrder);
    let twice = || labelled(&[(5, r(0), 1, 3), (5, r(2), 2, 3)]);
    twice().rejected(Rule::LabelOrder);
    // Two requests at one point may have a range each.
    twice().with(|c| c.problem.labels[1].label = 5).accepted();
}
