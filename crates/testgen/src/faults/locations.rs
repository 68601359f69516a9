//! Wrong locations of operands.

use super::pick::{operand_sites, other_register, other_slot};
use crate::rng::Rng;
use cranelift_entity::{EntityRef, EntitySet};
use kingpost_regalloc::{
    Allocation, Constraint, Inst, InstFlags, Loc, MachineEnv, Operand, PReg, Pos, Problem, RegClass,
};

pub(super) fn swap_locations(problem: &Problem, _: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
    let insts: Vec<Inst> = (0..problem.num_insts()).map(Inst::new).filter(|&i| problem.operands(i).len() > 1).collect();
    let Some(inst) = rng.pick(&insts) else { return false };
    let range = problem.operand_range(inst);
    let (a, b) = (rng.range(range.clone()), rng.range(range));
    answer.locs.swap(a, b);
    answer.locs[a] != answer.locs[b]
}

pub(super) fn retarget_operand_register(
    problem: &Problem,
    env: &MachineEnv,
    answer: &mut Allocation,
    rng: &mut Rng,
) -> bool {
    let Some((index, ..)) = rng.pick(&operand_sites(problem, |_| true)) else { return false };
    let Some(reg) = answer.locs[index].as_reg() else { return false };
    let Some(other) = other_register(env, reg, rng) else { return false };
    answer.locs[index] = Loc::reg(other);
    true
}

pub(super) fn retarget_operand_slot(problem: &Problem, _: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
    let in_slot: Vec<usize> = operand_sites(problem, |_| true)
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

pub(super) fn change_fixed(problem: &Problem, env: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
    let fixed = operand_sites(problem, |operand| operand.fixed_reg().is_some());
    let Some((index, _, operand)) = rng.pick(&fixed) else { return false };
    let Some(other) = operand.fixed_reg().and_then(|reg| other_register(env, reg, rng)) else { return false };
    answer.locs[index] = Loc::reg(other);
    true
}

pub(super) fn untie_reuse(problem: &Problem, env: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
    let tied = operand_sites(problem, |operand| matches!(operand.constraint(), Constraint::Reuse(_)));
    let Some((index, ..)) = rng.pick(&tied) else { return false };
    let Some(other) = answer.locs[index].as_reg().and_then(|reg| other_register(env, reg, rng)) else { return false };
    answer.locs[index] = Loc::reg(other);
    true
}

/// Assigns the location of one operand of an instruction to another one. Returns `false` if there is no such pair.
fn share(
    problem: &Problem,
    answer: &mut Allocation,
    rng: &mut Rng,
    moved: impl Fn(Operand) -> bool,
    onto: impl Fn(Operand) -> bool,
) -> bool {
    let mut pairs = Vec::new();
    for (a, inst, _) in operand_sites(problem, moved) {
        let range = problem.operand_range(inst);
        let partners = range.filter(|&b| b != a && onto(problem.all_operands()[b]));
        pairs.extend(partners.filter(|&b| answer.locs[a] != answer.locs[b]).map(|b| (a, b)));
    }
    let Some((a, b)) = rng.pick(&pairs) else { return false };
    answer.locs[a] = answer.locs[b];
    true
}

pub(super) fn share_early_def(problem: &Problem, _: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
    share(problem, answer, rng, |a| a.is_def() && a.pos() == Pos::Early, Operand::is_use)
}

pub(super) fn share_late_use(problem: &Problem, _: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
    share(problem, answer, rng, Operand::is_def, |b| b.is_use() && b.pos() == Pos::Late)
}

pub(super) fn share_defs(problem: &Problem, _: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
    share(problem, answer, rng, Operand::is_def, Operand::is_def)
}

/// Assigns a result of a terminator that no edge lists the location of another result. Returns `false` if there is
/// none.
pub(super) fn share_temporary(problem: &Problem, _: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
    let mut on_edges = EntitySet::new();
    problem.edges().flat_map(|edge| problem.edge_defs(edge)).for_each(|&vreg| _ = on_edges.insert(vreg));
    let is_temporary =
        |operand: Operand, inst| problem.flags(inst).has(InstFlags::BRANCH) && !on_edges.contains(operand.vreg());
    let mut pairs = Vec::new();
    for (a, inst, operand) in operand_sites(problem, Operand::is_def) {
        let others = problem.operand_range(inst).filter(|&b| b != a && problem.all_operands()[b].is_def());
        if is_temporary(operand, inst) {
            pairs.extend(others.filter(|&b| answer.locs[a] != answer.locs[b]).map(|b| (a, b)));
        }
    }
    let Some((a, b)) = rng.pick(&pairs) else { return false };
    answer.locs[a] = answer.locs[b];
    true
}

pub(super) fn def_into_clobber(problem: &Problem, _: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
    let late = operand_sites(problem, |operand| operand.is_def() || operand.pos() == Pos::Late);
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

pub(super) fn change_class(problem: &Problem, env: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
    let Some((index, _, operand)) = rng.pick(&operand_sites(problem, |_| true)) else { return false };
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

pub(super) fn forbidden_register(problem: &Problem, env: &MachineEnv, answer: &mut Allocation, rng: &mut Rng) -> bool {
    let Some((index, _, operand)) = rng.pick(&operand_sites(problem, |_| true)) else { return false };
    if answer.locs[index].is_none() {
        return false;
    }
    let class = problem.class(operand.vreg());
    let reg = PReg::new(class, rng.range(0..PReg::PER_CLASS) as u8);
    answer.locs[index] = Loc::reg(reg);
    !env.allocatable().contains(reg)
}
