//! Vectors of dynamic types become vectors of fixed types. Vector registers have one size on every supported machine,
//! so the scale is 1.
//!
//! Before: `gv0 = dyn_scale_target_const.i32x4`, `dt0 = i32x4*gv0`, `v1 = splat.dt0 v0`, `v2 = extract_vector v1, 0`.
//! After: `v1 = splat.i32x4 v0`; `v2` is an alias of `v1`.
//!
//! Cost: linear in instructions.

use cranelift_entity::SecondaryMap;
use kingpost_ir::preamble::StackSlotData;
use kingpost_ir::{DynamicStackSlot, Function, Inst, InstData, InstView, Opcode, StackSlot, Type};
use kingpost_mach::{LowerError, Refusal};

/// Returns `true` if the function has values or slots of dynamic types.
pub(super) fn occurs(func: &Function) -> bool {
    func.dfg.has_dynamic_vectors() || !func.dynamic_stack_slots.is_empty()
}

/// Replaces dynamic types by fixed ones.
///
/// # Errors
/// If the function accesses a part of a vector other than the first, because there is only one.
pub(super) fn run(func: &mut Function) -> Result<(), Refusal> {
    let signatures = func.dfg.signatures.values_mut().chain([&mut func.signature]);
    for param in signatures.flat_map(|signature| signature.params.iter_mut().chain(&mut signature.returns)) {
        param.value_type = fixed(param.value_type);
    }
    let slots = fixed_slots(func);
    let mut next_block = func.layout.entry_block();
    while let Some(block) = next_block {
        for index in 0..func.dfg.block_params(block).len() {
            let param = func.dfg.block_params(block)[index];
            func.dfg.set_value_type(param, fixed(func.dfg.value_type(param)));
        }
        let mut next_inst = func.layout.first_inst(block);
        while let Some(inst) = next_inst {
            next_inst = func.layout.next_inst(inst);
            change(func, inst, &slots).map_err(Refusal::of(inst))?;
        }
        next_block = func.layout.next_block(block);
    }
    Ok(())
}

fn fixed(ty: Type) -> Type {
    ty.dynamic_to_vector().unwrap_or(ty)
}

/// Returns a stack slot of fixed size for each dynamic one, aligned to its size.
fn fixed_slots(func: &mut Function) -> SecondaryMap<DynamicStackSlot, StackSlot> {
    let mut slots = SecondaryMap::with_default(StackSlot::from_u32(0));
    for (slot, data) in func.dynamic_stack_slots.iter() {
        let size = func.dynamic_types[data.ty].base.bytes();
        let fixed = StackSlotData { size, align_shift: size.trailing_zeros() as u8, key: None };
        slots[slot] = func.stack_slots.push(fixed);
    }
    slots
}

/// Replaces the dynamic types of an instruction and its results.
fn change(
    func: &mut Function,
    inst: Inst,
    slots: &SecondaryMap<DynamicStackSlot, StackSlot>,
) -> Result<(), LowerError> {
    for index in 0..func.dfg.inst_results(inst).len() {
        let result = func.dfg.inst_results(inst)[index];
        func.dfg.set_value_type(result, fixed(func.dfg.value_type(result)));
    }
    let data = *func.dfg.inst(inst);
    match func.dfg.view(inst) {
        InstView::DynamicStackAddr { slot } => {
            func.dfg.replace_inst(inst, InstData::stack_addr(data.controlling_type(), slots[slot], 0));
        }
        InstView::BinaryImm8 { arg, imm } if data.opcode() == Opcode::ExtractVector => {
            if imm != 0 {
                let what = "a part of a dynamic vector behind its first";
                return Err(LowerError::Feature { what, target: "any target" });
            }
            let result = func.dfg.inst_results(inst)[0];
            func.layout.remove_inst(inst);
            func.dfg.clear_results(inst);
            func.dfg.change_to_alias(result, arg).expect("a definition is no alias of what it uses");
        }
        _ if data.controlling_type().is_dynamic_vector() => {
            func.dfg.replace_inst(inst, data.with_type(fixed(data.controlling_type())));
        }
        _ => {}
    }
    Ok(())
}
