//! Wrong, missing and misplaced edits.

use super::pick::{other_register, other_slot};
use crate::rng::Rng;
use cranelift_entity::EntityRef;
use kingpost_regalloc::{Allocation, Edit, EditKind, Inst, InstFlags, MachineEnv, Problem, RegClass, SlotData};

pub(super) fn drop_edit(_: &Problem, _: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
    if answer.edits.is_empty() {
        return false;
    }
    let n = rng.range(0..answer.edits.len());
    answer.edits.remove(n);
    true
}

/// Removes an edit at the end of a block that passes arguments. Returns `false` if there is none.
pub(super) fn omit_parameter_move(problem: &Problem, _: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
    let passes = |at: Inst| {
        let block = problem.block_of(at);
        at == problem.terminator(block) && problem.succs(block).iter().any(|&e| !problem.edge_args(e).is_empty())
    };
    let moves: Vec<usize> = (0..answer.edits.len()).filter(|&n| passes(answer.edits[n].at)).collect();
    let Some(n) = rng.pick(&moves) else { return false };
    answer.edits.remove(n);
    true
}

pub(super) fn exchange_edits(_: &Problem, _: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
    let edits = &mut answer.edits;
    let pairs: Vec<usize> = (1..edits.len()).filter(|&n| edits[n - 1].kind != edits[n].kind).collect();
    let Some(n) = rng.pick(&pairs) else { return false };
    let kind = edits[n].kind;
    edits[n].kind = edits[n - 1].kind;
    edits[n - 1].kind = kind;
    true
}

pub(super) fn repeat_edit(problem: &Problem, _: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
    if answer.edits.is_empty() {
        return false;
    }
    let mut edit = answer.edits[rng.range(0..answer.edits.len())];
    edit.at = Inst::new((edit.at.index() + rng.range(1..4)).min(problem.num_insts() - 1));
    answer.edits.push(edit);
    answer.edits.sort_by_key(|edit| edit.at);
    true
}

pub(super) fn reverse_edit(_: &Problem, _: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
    if answer.edits.is_empty() {
        return false;
    }
    let n = rng.range(0..answer.edits.len());
    let kind = &mut answer.edits[n].kind;
    *kind = match *kind {
        EditKind::Move { from, to, width } => EditKind::Move { from: to, to: from, width },
        EditKind::Spill { from, to, width } => EditKind::Fill { from: to, to: from, width },
        EditKind::Fill { from, to, width } => EditKind::Spill { from: to, to: from, width },
        EditKind::SlotMove { from, to, width } => EditKind::SlotMove { from: to, to: from, width },
        EditKind::Exchange { .. } | EditKind::Remat { .. } => return false,
    };
    true
}

/// Picks an edit that `of` can change and replaces it by the changed one. Returns `false` if there is none.
fn change_edit(answer: &mut Allocation, rng: &mut Rng, of: impl Fn(EditKind, &mut Rng) -> Option<EditKind>) -> bool {
    let changeable: Vec<usize> =
        (0..answer.edits.len()).filter(|&n| of(answer.edits[n].kind, &mut rng.clone()).is_some()).collect();
    let Some(n) = rng.pick(&changeable) else { return false };
    match of(answer.edits[n].kind, rng) {
        Some(kind) => answer.edits[n].kind = kind,
        None => return false,
    }
    true
}

pub(super) fn retarget_edit_slot(_: &Problem, _: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
    let slots = answer.slots.clone();
    change_edit(answer, rng, |kind, rng| {
        Some(match kind {
            EditKind::Spill { from, to, width } => EditKind::Spill { from, to: other_slot(&slots, to, rng)?, width },
            EditKind::Fill { from, to, width } => EditKind::Fill { from: other_slot(&slots, from, rng)?, to, width },
            EditKind::SlotMove { from, to, width } => {
                EditKind::SlotMove { from, to: other_slot(&slots, to, rng)?, width }
            }
            EditKind::Move { .. } | EditKind::Exchange { .. } | EditKind::Remat { .. } => return None,
        })
    })
}

pub(super) fn retarget_edit_register(_: &Problem, env: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
    change_edit(answer, rng, |kind, rng| {
        let source = rng.chance(50);
        Some(match kind {
            EditKind::Move { from, to, width } if source => {
                EditKind::Move { from: other_register(env, from, rng)?, to, width }
            }
            EditKind::Move { from, to, width } => EditKind::Move { from, to: other_register(env, to, rng)?, width },
            EditKind::Exchange { a, b, width } => EditKind::Exchange { a, b: other_register(env, b, rng)?, width },
            EditKind::Spill { from, to, width } => EditKind::Spill { from: other_register(env, from, rng)?, to, width },
            EditKind::Fill { from, to, width } => EditKind::Fill { from, to: other_register(env, to, rng)?, width },
            EditKind::Remat { inst, to } => EditKind::Remat { inst, to: other_register(env, to, rng)? },
            EditKind::SlotMove { .. } => return None,
        })
    })
}

fn shift_edit(problem: &Problem, answer: &mut Allocation, rng: &mut Rng, later: bool) -> bool {
    let movable = |n: &usize| {
        let at = answer.edits[*n].at.index();
        if later { at + 1 < problem.num_insts() } else { at > 0 }
    };
    let movable: Vec<usize> = (0..answer.edits.len()).filter(movable).collect();
    let Some(n) = rng.pick(&movable) else { return false };
    let at = answer.edits[n].at.index();
    answer.edits[n].at = Inst::new(if later { at + 1 } else { at - 1 });
    answer.edits.sort_by_key(|edit| edit.at);
    true
}

pub(super) fn delay_edit(problem: &Problem, _: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
    shift_edit(problem, answer, rng, true)
}

pub(super) fn hasten_edit(problem: &Problem, _: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
    shift_edit(problem, answer, rng, false)
}

/// Moves an edit from before a terminator to the head of a successor, or back. Returns `false` if there is none.
pub(super) fn move_edit_across_terminator(
    problem: &Problem,
    _: &MachineEnv,
    answer: &mut Allocation,
    rng: &mut Rng,
) -> bool {
    let mut moves = Vec::new();
    for (n, edit) in answer.edits.iter().enumerate() {
        let block = problem.block_of(edit.at);
        if edit.at == problem.terminator(block) {
            moves.extend(problem.succs(block).iter().map(|&e| (n, problem.first_inst(problem.edge(e).to))));
        }
        if edit.at == problem.first_inst(block) {
            moves.extend(problem.preds(block).iter().map(|&e| (n, problem.terminator(problem.edge(e).from))));
        }
    }
    let Some((n, at)) = rng.pick(&moves) else { return false };
    answer.edits[n].at = at;
    answer.edits.sort_by_key(|edit| edit.at);
    true
}

pub(super) fn narrow_edit(_: &Problem, _: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
    change_edit(answer, rng, |kind, _| {
        let width = match kind {
            EditKind::Move { width, .. } | EditKind::Exchange { width, .. } | EditKind::SlotMove { width, .. } => width,
            EditKind::Spill { width, .. } | EditKind::Fill { width, .. } => width,
            EditKind::Remat { .. } => return None,
        };
        with_width(kind, width / 2)
    })
}

fn with_width(kind: EditKind, width: u8) -> Option<EditKind> {
    Some(match kind {
        EditKind::Move { from, to, .. } => EditKind::Move { from, to, width },
        EditKind::Exchange { a, b, .. } => EditKind::Exchange { a, b, width },
        EditKind::Spill { from, to, .. } => EditKind::Spill { from, to, width },
        EditKind::Fill { from, to, .. } => EditKind::Fill { from, to, width },
        EditKind::SlotMove { from, to, .. } => EditKind::SlotMove { from, to, width },
        EditKind::Remat { .. } => return None,
    })
}

/// Changes the width of an edit. All slots grow with it, so that only the width is wrong. Returns `false` if there
/// is no such edit.
pub(super) fn odd_width(_: &Problem, _: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
    let width = if rng.chance(50) { rng.range(1..24) } else { rng.range(0..256) } as u8;
    for slot in answer.slots.values_mut() {
        let size = slot.size.max(u32::from(width));
        *slot = SlotData { size, align: size.next_power_of_two() };
    }
    change_edit(answer, rng, |kind, _| with_width(kind, width).filter(|&new| new != kind))
}

/// Passes the contents of a slot through a register of the other class before the slot is read. Returns `false` if
/// no slot is read.
pub(super) fn other_class(_: &Problem, env: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
    let fills: Vec<usize> =
        (0..answer.edits.len()).filter(|&n| matches!(answer.edits[n].kind, EditKind::Fill { .. })).collect();
    let Some(n) = rng.pick(&fills) else { return false };
    let EditKind::Fill { from: slot, to, width } = answer.edits[n].kind else { return false };
    let other = RegClass::ALL[1 - to.class().index()];
    let Some(reg) = rng.pick(&env.class(other).order) else { return false };
    let at = answer.edits[n].at;
    let kinds = [EditKind::Fill { from: slot, to: reg, width }, EditKind::Spill { from: reg, to: slot, width }];
    answer.edits.splice(n..n, kinds.map(|kind| Edit { at, kind }));
    true
}

pub(super) fn wrong_remat(problem: &Problem, _: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
    change_edit(answer, rng, |kind, rng| {
        let EditKind::Remat { inst, to } = kind else { return None };
        let others: Vec<Inst> = (0..problem.num_insts()).map(Inst::new).filter(|&other| other != inst).collect();
        let constants: Vec<Inst> =
            others.iter().copied().filter(|&other| problem.flags(other).has(InstFlags::REMAT)).collect();
        let of = if rng.chance(80) { &constants } else { &others };
        Some(EditKind::Remat { inst: rng.pick(of)?, to })
    })
}
