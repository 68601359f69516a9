//! Rules 26 to 30: the machine itself, and a problem on it.

use super::rule::{Entity, Errors, Rule};
use crate::env::MachineEnv;
use crate::operand::Constraint;
use crate::problem::Problem;
use crate::reg::{PRegSet, RegClass};

pub(super) fn check(problem: &Problem, env: &MachineEnv, errors: &mut Errors) {
    let (allocatable, callee_saved) = (env.allocatable(), env.callee_saved());
    for block in problem.blocks() {
        let exit = problem.insts(block).next_back().filter(|_| problem.succs(block).is_empty());
        for inst in problem.insts(block) {
            for (i, operand) in problem.operands(inst).iter().enumerate() {
                let named = match operand.constraint() {
                    Constraint::Fixed(reg) => PRegSet::EMPTY.with(reg),
                    Constraint::Within(set) => problem.all_reg_sets().get(set).copied().unwrap_or_default(),
                    _ => PRegSet::EMPTY,
                };
                let known = named.difference(allocatable).is_empty();
                errors.check(known, Rule::Allocatable, Entity::Operand(inst, i));
                let kept = Some(inst) != exit || named.intersection(callee_saved).is_empty();
                errors.check(kept, Rule::ExitRegisters, Entity::Operand(inst, i));
            }
        }
    }
    for class in RegClass::ALL {
        let data = env.class(class);
        let own = data.allocatable();
        let sound = own.of_class(class) == own && own.len() == data.order.len();
        errors.check(sound, Rule::RegisterOrder, Entity::Class(class));
        if let Some(scratch) = data.scratch {
            let apart = scratch.class() == class && !allocatable.contains(scratch);
            errors.check(apart, Rule::Scratch, Entity::Reg(scratch));
        }
        let saved = data.callee_saved.difference(own).is_empty();
        errors.check(saved, Rule::CalleeSaved, Entity::Class(class));
    }
}
