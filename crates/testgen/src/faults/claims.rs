//! Wrong slots, dropped instructions, saved registers, stack maps and labels.

use super::pick::{other_register, other_slot};
use crate::rng::Rng;
use cranelift_entity::EntityRef;
use kingpost_regalloc::{Allocation, EditKind, Inst, InstFlags, Loc, MachineEnv, PReg, Problem, Slot, StackMapEntry};

pub(super) fn share_slot(_: &Problem, _: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
    let slots: Vec<Slot> = answer.slots.keys().collect();
    let Some(old) = rng.pick(&slots) else { return false };
    let large = |&new: &Slot| new != old && answer.slots[new].size >= answer.slots[old].size;
    let others: Vec<Slot> = slots.iter().copied().filter(large).collect();
    let Some(new) = rng.pick(&others) else { return false };
    let replaced = |slot: Slot| if slot == old { new } else { slot };
    for loc in &mut answer.locs {
        if *loc == Loc::slot(old) {
            *loc = Loc::slot(new);
        }
    }
    for edit in &mut answer.edits {
        match &mut edit.kind {
            EditKind::Spill { to, .. } => *to = replaced(*to),
            EditKind::Fill { from, .. } => *from = replaced(*from),
            EditKind::SlotMove { from, to, .. } => (*from, *to) = (replaced(*from), replaced(*to)),
            EditKind::Move { .. } | EditKind::Exchange { .. } | EditKind::Remat { .. } => {}
        }
    }
    answer.stack_maps.iter_mut().for_each(|entry| entry.slot = replaced(entry.slot));
    answer.stack_maps.sort_unstable();
    answer.stack_maps.dedup();
    true
}

pub(super) fn shrink_slot(_: &Problem, _: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
    let slots: Vec<Slot> = answer.slots.keys().collect();
    let Some(slot) = rng.pick(&slots) else { return false };
    answer.slots[slot].size /= 2;
    true
}

pub(super) fn misalign_slot(_: &Problem, _: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
    let slots: Vec<Slot> = answer.slots.keys().filter(|&slot| answer.slots[slot].align > 1).collect();
    let Some(slot) = rng.pick(&slots) else { return false };
    answer.slots[slot].align /= 2;
    true
}

pub(super) fn use_emergency(_: &Problem, _: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
    let slots: Vec<Slot> = answer.slots.keys().collect();
    let Some(slot) = rng.pick(&slots) else { return false };
    answer.emergency[rng.range(0..2)] = Some(slot);
    true
}

pub(super) fn drop_instruction(problem: &Problem, _: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
    let kept: Vec<Inst> = (0..problem.num_insts()).map(Inst::new).filter(|&inst| !answer.is_dropped(inst)).collect();
    let moves: Vec<Inst> = kept
        .iter()
        .copied()
        .filter(|&i| problem.flags(i).has(InstFlags::MOVE) || problem.flags(i).has(InstFlags::REMAT))
        .collect();
    let of = if rng.chance(90) { &moves } else { &kept };
    let Some(inst) = rng.pick(of) else { return false };
    answer.drop_inst(inst);
    true
}

pub(super) fn unsave(_: &Problem, _: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
    let saved: Vec<PReg> = answer.saved.iter().collect();
    let Some(reg) = rng.pick(&saved) else { return false };
    answer.saved.remove(reg);
    true
}

pub(super) fn unmap(_: &Problem, _: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
    if answer.stack_maps.is_empty() {
        return false;
    }
    let n = rng.range(0..answer.stack_maps.len());
    answer.stack_maps.remove(n);
    true
}

pub(super) fn remap(_: &Problem, _: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
    let Some(entry) = rng.pick(&answer.stack_maps) else { return false };
    let Some(slot) = other_slot(&answer.slots, entry.slot, rng) else { return false };
    if rng.chance(50) {
        answer.stack_maps.retain(|other| *other != entry);
    }
    answer.stack_maps.push(StackMapEntry { inst: entry.inst, slot });
    answer.stack_maps.sort_unstable();
    answer.stack_maps.dedup();
    true
}

pub(super) fn stretch_label(problem: &Problem, _: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
    if answer.labels.is_empty() {
        return false;
    }
    let n = rng.range(0..answer.labels.len());
    let range = &mut answer.labels[n];
    if rng.chance(50) && range.from.index() > 0 {
        range.from = Inst::new(range.from.index() - 1);
    } else {
        range.to = Inst::new((range.to.index() + 1).min(problem.num_insts()));
    }
    true
}

pub(super) fn relocate_label(_: &Problem, env: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
    if answer.labels.is_empty() {
        return false;
    }
    let n = rng.range(0..answer.labels.len());
    let loc = answer.labels[n].loc;
    let other = match (loc.as_reg(), loc.as_slot()) {
        (Some(reg), _) => other_register(env, reg, rng).map(Loc::reg),
        (_, Some(slot)) => other_slot(&answer.slots, slot, rng).map(Loc::slot),
        _ => None,
    };
    let Some(other) = other else { return false };
    answer.labels[n].loc = other;
    true
}

/// Adds a register to the saved set, mostly one that an exit reads. Returns `false` if there is none.
pub(super) fn save_other(problem: &Problem, env: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
    let exits = problem.blocks().filter(|&block| problem.succs(block).is_empty());
    let results = exits.flat_map(|block| answer.operand_locs(problem, problem.terminator(block)));
    let mut regs: Vec<PReg> = results.filter_map(|loc| loc.as_reg()).collect();
    if regs.is_empty() || rng.chance(30) {
        regs = (0..PReg::COUNT).map(PReg::from_index).collect();
    }
    regs.retain(|&reg| !answer.saved.contains(reg) && !env.callee_saved().contains(reg));
    let Some(reg) = rng.pick(&regs) else { return false };
    answer.saved.insert(reg);
    true
}

pub(super) fn exchange_labels(_: &Problem, _: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
    if answer.labels.len() < 2 {
        return false;
    }
    let n = rng.range(1..answer.labels.len());
    answer.labels.swap(n - 1, n);
    true
}

/// Adds another range of a label over a part of its instructions, mostly in another location. Returns `false` if
/// there are no labels.
pub(super) fn repeat_label(_: &Problem, env: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
    if answer.labels.is_empty() {
        return false;
    }
    let n = rng.range(0..answer.labels.len());
    let mut range = answer.labels[n];
    range.from = Inst::new(rng.range(range.from.index()..range.to.index().max(range.from.index() + 1)));
    if let (Some(reg), true) = (range.loc.as_reg(), rng.chance(70)) {
        range.loc = other_register(env, reg, rng).map_or(range.loc, Loc::reg);
    }
    answer.labels.push(range);
    answer.labels.sort_by_key(|range| (range.label, range.from));
    true
}
