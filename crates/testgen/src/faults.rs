//! Plants faults into right allocations, to see whether the checker notices.
//!
//! Each operator changes one thing, chosen at random, and says whether it found something to change. Many mutants are
//! still right, or wrong only on some paths: the simulator is the judge.

use crate::rng::Rng;
use cranelift_entity::{EntityRef, PrimaryMap};
use kingpost_regalloc::{
    Allocation, Constraint, EditKind, Inst, InstFlags, Loc, MachineEnv, Operand, PReg, Pos, Problem, RegClass, Slot,
    StackMapEntry,
};

/// Changes an allocation; `false` if there was nothing of the kind to change.
pub type Mutator = fn(&Problem, &MachineEnv, &mut Allocation, &mut Rng) -> bool;

/// One way to break an allocation.
#[derive(Clone, Copy)]
pub struct Fault {
    /// Its name in reports.
    pub name: &'static str,
    /// What it does.
    pub mutate: Mutator,
}

/// All operators.
pub const FAULTS: &[Fault] = &[
    Fault { name: "swap two locations of an instruction", mutate: swap_locations },
    Fault { name: "move an operand to another register", mutate: retarget_operand_register },
    Fault { name: "move an operand to another slot", mutate: retarget_operand_slot },
    Fault { name: "change a fixed location", mutate: change_fixed },
    Fault { name: "untie a reused location", mutate: untie_reuse },
    Fault { name: "share an early def with an input", mutate: share_early_def },
    Fault { name: "share a result with a late input", mutate: share_late_use },
    Fault { name: "share two results", mutate: share_defs },
    Fault { name: "put a result into a clobbered register", mutate: def_into_clobber },
    Fault { name: "change the class of a location", mutate: change_class },
    Fault { name: "use a register that is not allocatable", mutate: forbidden_register },
    Fault { name: "drop an edit", mutate: drop_edit },
    Fault { name: "omit a parameter move", mutate: omit_parameter_move },
    Fault { name: "exchange two edits", mutate: exchange_edits },
    Fault { name: "repeat an edit later", mutate: repeat_edit },
    Fault { name: "reverse an edit", mutate: reverse_edit },
    Fault { name: "retarget an edit by one slot", mutate: retarget_edit_slot },
    Fault { name: "retarget an edit by one register", mutate: retarget_edit_register },
    Fault { name: "move an edit one instruction on", mutate: delay_edit },
    Fault { name: "move an edit one instruction back", mutate: hasten_edit },
    Fault { name: "move an edit across a terminator", mutate: move_edit_across_terminator },
    Fault { name: "halve the width of an edit", mutate: narrow_edit },
    Fault { name: "rematerialise another value", mutate: wrong_remat },
    Fault { name: "give two values one slot", mutate: share_slot },
    Fault { name: "halve a slot", mutate: shrink_slot },
    Fault { name: "halve the alignment of a slot", mutate: misalign_slot },
    Fault { name: "make a slot the emergency slot", mutate: use_emergency },
    Fault { name: "leave out an instruction", mutate: drop_instruction },
    Fault { name: "drop a register from the saved set", mutate: unsave },
    Fault { name: "drop a stack map entry", mutate: unmap },
    Fault { name: "map another slot", mutate: remap },
    Fault { name: "stretch a label range", mutate: stretch_label },
    Fault { name: "move a label range elsewhere", mutate: relocate_label },
    Fault { name: "several edits and locations at once", mutate: several },
];

/// Operators that may cancel each other's effects.
const COMBINED: &[Mutator] = &[
    drop_edit,
    exchange_edits,
    repeat_edit,
    reverse_edit,
    retarget_edit_slot,
    retarget_edit_register,
    delay_edit,
    hasten_edit,
    move_edit_across_terminator,
    retarget_operand_register,
    retarget_operand_slot,
    share_slot,
    wrong_remat,
];

/// An operand of the answer: its index among all operands, its instruction, and itself.
type Place = (usize, Inst, Operand);

fn places(problem: &Problem, keep: impl Fn(Operand) -> bool) -> Vec<Place> {
    let insts = (0..problem.num_insts()).map(Inst::new);
    insts
        .flat_map(|inst| problem.operand_range(inst).map(move |index| (index, inst)))
        .map(|(index, inst)| (index, inst, problem.all_operands()[index]))
        .filter(|&(_, _, operand)| keep(operand))
        .collect()
}

/// Another register of the class, mostly an allocatable one.
fn other_register(env: &MachineEnv, reg: PReg, rng: &mut Rng) -> Option<PReg> {
    let others: Vec<PReg> = env.class(reg.class()).order.iter().copied().filter(|&other| other != reg).collect();
    rng.pick(&others)
}

fn other_slot(slots: &PrimaryMap<Slot, kingpost_regalloc::SlotData>, slot: Slot, rng: &mut Rng) -> Option<Slot> {
    let others: Vec<Slot> = slots.keys().filter(|&other| other != slot).collect();
    rng.pick(&others)
}

fn swap_locations(problem: &Problem, _: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
    let insts: Vec<Inst> = (0..problem.num_insts()).map(Inst::new).filter(|&i| problem.operands(i).len() > 1).collect();
    let Some(inst) = rng.pick(&insts) else { return false };
    let range = problem.operand_range(inst);
    let (a, b) = (rng.range(range.clone()), rng.range(range));
    answer.locs.swap(a, b);
    answer.locs[a] != answer.locs[b]
}

fn retarget_operand_register(problem: &Problem, env: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
    let Some((index, ..)) = rng.pick(&places(problem, |_| true)) else { return false };
    let Some(reg) = answer.locs[index].as_reg() else { return false };
    let Some(other) = other_register(env, reg, rng) else { return false };
    answer.locs[index] = Loc::reg(other);
    true
}

fn retarget_operand_slot(problem: &Problem, _: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
    let in_slot: Vec<usize> = places(problem, |_| true)
        .into_iter()
        .map(|(index, ..)| index)
        .filter(|&index| answer.locs[index].as_slot().is_some())
        .collect();
    let Some(index) = rng.pick(&in_slot) else { return false };
    let other = answer.locs[index].as_slot().and_then(|slot| other_slot(&answer.slots, slot, rng));
    let Some(other) = other else { return false };
    answer.locs[index] = Loc::slot(other);
    true
}

fn change_fixed(problem: &Problem, env: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
    let fixed = places(problem, |operand| operand.fixed_reg().is_some());
    let Some((index, _, operand)) = rng.pick(&fixed) else { return false };
    let Some(other) = operand.fixed_reg().and_then(|reg| other_register(env, reg, rng)) else { return false };
    answer.locs[index] = Loc::reg(other);
    true
}

fn untie_reuse(problem: &Problem, env: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
    let tied = places(problem, |operand| matches!(operand.constraint(), Constraint::Reuse(_)));
    let Some((index, ..)) = rng.pick(&tied) else { return false };
    let Some(other) = answer.locs[index].as_reg().and_then(|reg| other_register(env, reg, rng)) else { return false };
    answer.locs[index] = Loc::reg(other);
    true
}

/// Gives one operand of an instruction the location of another one.
fn share(
    problem: &Problem,
    answer: &mut Allocation,
    rng: &mut Rng,
    moved: impl Fn(Operand) -> bool,
    onto: impl Fn(Operand) -> bool,
) -> bool {
    let mut pairs = Vec::new();
    for (a, inst, _) in places(problem, moved) {
        let range = problem.operand_range(inst);
        let partners = range.filter(|&b| b != a && onto(problem.all_operands()[b]));
        pairs.extend(partners.filter(|&b| answer.locs[a] != answer.locs[b]).map(|b| (a, b)));
    }
    let Some((a, b)) = rng.pick(&pairs) else { return false };
    answer.locs[a] = answer.locs[b];
    true
}

fn share_early_def(problem: &Problem, _: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
    share(problem, answer, rng, |a| a.is_def() && a.pos() == Pos::Early, Operand::is_use)
}

fn share_late_use(problem: &Problem, _: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
    share(problem, answer, rng, Operand::is_def, |b| b.is_use() && b.pos() == Pos::Late)
}

fn share_defs(problem: &Problem, _: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
    share(problem, answer, rng, Operand::is_def, Operand::is_def)
}

fn def_into_clobber(problem: &Problem, _: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
    let late = places(problem, |operand| operand.is_def() || operand.pos() == Pos::Late);
    let mut choices = Vec::new();
    for (index, inst, operand) in late {
        let data = problem.vregs[operand.vreg()];
        let killed = problem.clobbers(inst).killed(data.width).of_class(data.class);
        choices.extend(killed.iter().map(|reg| (index, reg)));
    }
    let Some((index, reg)) = rng.pick(&choices) else { return false };
    answer.locs[index] = Loc::reg(reg);
    true
}

fn change_class(problem: &Problem, env: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
    let Some((index, _, operand)) = rng.pick(&places(problem, |_| true)) else { return false };
    if answer.locs[index].is_none() {
        return false;
    }
    let other = match problem.class(operand.vreg()) {
        RegClass::Int => RegClass::Float,
        RegClass::Float => RegClass::Int,
    };
    let Some(reg) = rng.pick(&env.class(other).order) else { return false };
    answer.locs[index] = Loc::reg(reg);
    true
}

fn forbidden_register(problem: &Problem, env: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
    let Some((index, _, operand)) = rng.pick(&places(problem, |_| true)) else { return false };
    if answer.locs[index].is_none() {
        return false;
    }
    let class = problem.class(operand.vreg());
    let reg = PReg::new(class, rng.range(0..PReg::PER_CLASS) as u8);
    answer.locs[index] = Loc::reg(reg);
    !env.allocatable().contains(reg)
}

fn drop_edit(_: &Problem, _: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
    if answer.edits.is_empty() {
        return false;
    }
    let n = rng.range(0..answer.edits.len());
    answer.edits.remove(n);
    true
}

/// Removes an edit at the end of a block that passes arguments.
fn omit_parameter_move(problem: &Problem, _: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
    let passes = |at: Inst| {
        let block = problem.block_of(at);
        at == problem.terminator(block) && problem.succs(block).iter().any(|&e| !problem.edge_args(e).is_empty())
    };
    let moves: Vec<usize> = (0..answer.edits.len()).filter(|&n| passes(answer.edits[n].at)).collect();
    let Some(n) = rng.pick(&moves) else { return false };
    answer.edits.remove(n);
    true
}

fn exchange_edits(_: &Problem, _: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
    let edits = &mut answer.edits;
    let pairs: Vec<usize> = (1..edits.len()).filter(|&n| edits[n - 1].kind != edits[n].kind).collect();
    let Some(n) = rng.pick(&pairs) else { return false };
    let kind = edits[n].kind;
    edits[n].kind = edits[n - 1].kind;
    edits[n - 1].kind = kind;
    true
}

fn repeat_edit(problem: &Problem, _: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
    if answer.edits.is_empty() {
        return false;
    }
    let mut edit = answer.edits[rng.range(0..answer.edits.len())];
    edit.at = Inst::new((edit.at.index() + rng.range(1..4)).min(problem.num_insts() - 1));
    answer.edits.push(edit);
    answer.edits.sort_by_key(|edit| edit.at);
    true
}

fn reverse_edit(_: &Problem, _: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
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

/// Picks an edit that `of` can change and puts the changed one in its place.
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

fn retarget_edit_slot(_: &Problem, _: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
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

fn retarget_edit_register(_: &Problem, env: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
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

fn delay_edit(problem: &Problem, _: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
    shift_edit(problem, answer, rng, true)
}

fn hasten_edit(problem: &Problem, _: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
    shift_edit(problem, answer, rng, false)
}

/// From before a terminator to the head of one of its successors, or back.
fn move_edit_across_terminator(problem: &Problem, _: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
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

fn narrow_edit(_: &Problem, _: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
    change_edit(answer, rng, |kind, _| {
        Some(match kind {
            EditKind::Move { from, to, width } => EditKind::Move { from, to, width: width / 2 },
            EditKind::Exchange { a, b, width } => EditKind::Exchange { a, b, width: width / 2 },
            EditKind::Spill { from, to, width } => EditKind::Spill { from, to, width: width / 2 },
            EditKind::Fill { from, to, width } => EditKind::Fill { from, to, width: width / 2 },
            EditKind::SlotMove { from, to, width } => EditKind::SlotMove { from, to, width: width / 2 },
            EditKind::Remat { .. } => return None,
        })
    })
}

fn wrong_remat(problem: &Problem, _: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
    change_edit(answer, rng, |kind, rng| {
        let EditKind::Remat { inst, to } = kind else { return None };
        let others: Vec<Inst> = (0..problem.num_insts()).map(Inst::new).filter(|&other| other != inst).collect();
        let constants: Vec<Inst> =
            others.iter().copied().filter(|&other| problem.flags(other).has(InstFlags::REMAT)).collect();
        let of = if rng.chance(80) { &constants } else { &others };
        Some(EditKind::Remat { inst: rng.pick(of)?, to })
    })
}

fn share_slot(_: &Problem, _: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
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

fn shrink_slot(_: &Problem, _: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
    let slots: Vec<Slot> = answer.slots.keys().collect();
    let Some(slot) = rng.pick(&slots) else { return false };
    answer.slots[slot].size /= 2;
    true
}

fn misalign_slot(_: &Problem, _: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
    let slots: Vec<Slot> = answer.slots.keys().filter(|&slot| answer.slots[slot].align > 1).collect();
    let Some(slot) = rng.pick(&slots) else { return false };
    answer.slots[slot].align /= 2;
    true
}

fn use_emergency(_: &Problem, _: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
    let slots: Vec<Slot> = answer.slots.keys().collect();
    let Some(slot) = rng.pick(&slots) else { return false };
    answer.emergency[rng.range(0..2)] = Some(slot);
    true
}

fn drop_instruction(problem: &Problem, _: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
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

fn unsave(_: &Problem, _: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
    let saved: Vec<PReg> = answer.saved.iter().collect();
    let Some(reg) = rng.pick(&saved) else { return false };
    answer.saved.remove(reg);
    true
}

fn unmap(_: &Problem, _: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
    if answer.stack_maps.is_empty() {
        return false;
    }
    let n = rng.range(0..answer.stack_maps.len());
    answer.stack_maps.remove(n);
    true
}

fn remap(_: &Problem, _: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
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

fn stretch_label(problem: &Problem, _: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
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

fn several(problem: &Problem, env: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
    let mut changed = false;
    for _ in 0..rng.range(2..6) {
        changed |= rng.pick(COMBINED).is_some_and(|mutate| mutate(problem, env, answer, rng));
    }
    changed
}

fn relocate_label(_: &Problem, env: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
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
