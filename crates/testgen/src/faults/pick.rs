//! Choices of operands, registers and slots.

use crate::rng::Rng;
use cranelift_entity::{EntityRef, PrimaryMap};
use kingpost_regalloc::{Inst, MachineEnv, Operand, PReg, Problem, Slot, SlotData};

/// An operand of the answer: its index among all operands, its instruction, and the operand.
pub(super) type OperandSite = (usize, Inst, Operand);

pub(super) fn operand_sites(problem: &Problem, keep: impl Fn(Operand) -> bool) -> Vec<OperandSite> {
    let insts = (0..problem.num_insts()).map(Inst::new);
    insts
        .flat_map(|inst| problem.operand_range(inst).map(move |index| (index, inst)))
        .map(|(index, inst)| (index, inst, problem.all_operands()[index]))
        .filter(|&(_, _, operand)| keep(operand))
        .collect()
}

/// Returns another register of the class, mostly an allocatable one.
pub(super) fn other_register(env: &MachineEnv, reg: PReg, rng: &mut Rng) -> Option<PReg> {
    let others: Vec<PReg> = env.class(reg.class()).order.iter().copied().filter(|&other| other != reg).collect();
    rng.pick(&others)
}

pub(super) fn other_slot(slots: &PrimaryMap<Slot, SlotData>, slot: Slot, rng: &mut Rng) -> Option<Slot> {
    let others: Vec<Slot> = slots.keys().filter(|&other| other != slot).collect();
    rng.pick(&others)
}
