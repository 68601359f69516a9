//! Stack maps: at each safepoint the slots of the references that live across it. Spilling has evicted all of them.

use crate::class_slots::ClassSlots;
use crate::color_input::ColorInput;
use kingpost_regalloc::meter::HeapBytes;
use kingpost_regalloc::{AllocError, Allocation, Inst, InstFlags, StackMapEntry, VReg};
use kingpost_regalloc_common::answer;
use kingpost_regalloc_common::order::BlockIndex;

/// Adds the entries of all safepoints, if there are references.
///
/// # Errors
/// If the meter refuses.
pub(crate) fn add(input: &ColorInput, slots: &mut ClassSlots, out: &mut Allocation) -> Result<(), AllocError> {
    if !input.constraints.has_refs {
        return Ok(());
    }
    let (mut steps, mut paid) = (0, 0);
    for index in input.order.indices() {
        add_block(input, index, slots, out, (&mut steps, &mut paid))?;
    }
    input.meter.spend_rest(steps, &mut paid)?;
    answer::sort_stack_maps(out);
    Ok(())
}

/// Adds the entries of a block. `steps` are the steps so far, and `paid` the steps that the meter has counted.
fn add_block(
    input: &ColorInput,
    index: BlockIndex,
    slots: &mut ClassSlots,
    out: &mut Allocation,
    (steps, paid): (&mut u64, &mut u64),
) -> Result<(), AllocError> {
    let problem = input.problem;
    let is_ref = |vreg: VReg| problem.vregs[vreg].is_ref;
    let entries = input.live.entries(index).iter().filter(|entry| !entry.next.is_dead());
    let mut live: Vec<VReg> = entries.map(|entry| entry.vreg).filter(|&vreg| is_ref(vreg)).collect();
    *steps += input.live.entries(index).len() as u64;
    for inst in problem.insts(input.order.block(index).block) {
        input.meter.spend_growing(*steps, paid, || out.stack_maps.heap_bytes())?;
        *steps += 1;
        let range = problem.operand_range(inst);
        let operands = problem.operands(inst).iter().zip(&input.live.after[range]);
        for (operand, _) in operands.clone().filter(|(operand, next)| operand.is_use() && next.is_dead()) {
            live.retain(|&vreg| vreg != operand.vreg());
            *steps += live.len() as u64;
        }
        if problem.flags(inst).has(InstFlags::SAFEPOINT) {
            add_safepoint(input, inst, &live, slots, out);
            *steps += 4 * live.len() as u64;
        }
        let defs = operands.filter(|(operand, next)| operand.is_def() && !next.is_dead());
        live.extend(defs.map(|(operand, _)| operand.vreg()).filter(|&vreg| is_ref(vreg)));
    }
    Ok(())
}

fn add_safepoint(input: &ColorInput, inst: Inst, live: &[VReg], slots: &mut ClassSlots, out: &mut Allocation) {
    for &vreg in live.iter().filter(|&&vreg| input.constraints.remat(vreg).is_none()) {
        let slot = slots.place(input.problem, input.classes, vreg, out);
        out.stack_maps.push(StackMapEntry { inst, slot });
    }
}
