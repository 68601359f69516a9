//! Global values become plain instructions.
//!
//! Before: `gv1 = load.i64 notrap aligned gv0+8`, `v1 = symbol_value.i64 gv1`.
//! After: `v2 = load.i64 notrap aligned v0+8`, with `v0` the VM context parameter; `v1` is an alias of `v2`.
//!
//! Symbols remain `symbol_value`, because the target decides how to address them. Cost: linear in instructions, plus
//! the length of the chain of each used global value.

use kingpost_ir::preamble::GlobalValueData;
use kingpost_ir::signature::ArgumentPurpose;
use kingpost_ir::{Function, GlobalValue, Inst, InstData, InstView, Opcode, Value};
use kingpost_mach::{LowerError, Refusal};

/// Expands all global values of `func`.
///
/// # Errors
/// If a global value is of a kind that no target supports.
pub(super) fn run(func: &mut Function) -> Result<(), Refusal> {
    let mut next_block = func.layout.entry_block();
    while let Some(block) = next_block {
        let mut next_inst = func.layout.first_inst(block);
        while let Some(inst) = next_inst {
            next_inst = func.layout.next_inst(inst);
            if let InstView::UnaryGlobalValue { global } = func.dfg.view(inst)
                && func.dfg.opcode(inst) == Opcode::SymbolValue
            {
                expand_one(func, inst, global).map_err(Refusal::of(inst))?;
            }
        }
        next_block = func.layout.next_block(block);
    }
    Ok(())
}

/// Replaces one `symbol_value`, unless it refers to a symbol.
fn expand_one(func: &mut Function, inst: Inst, global: GlobalValue) -> Result<(), LowerError> {
    // The chain from this global value to its root. It ends, because `verify_links` has checked it.
    let mut chain = vec![global];
    while let GlobalValueData::Load { base, .. } | GlobalValueData::IAddImm { base, .. } =
        func.global_values[chain[chain.len() - 1]]
    {
        chain.push(base);
    }
    let Some(result) = func.dfg.first_result(inst) else { return Ok(()) };
    let ty = func.dfg.value_type(result);
    let root = chain[chain.len() - 1];
    let mut value = match &func.global_values[root] {
        GlobalValueData::VmContext => vmctx(func)?,
        GlobalValueData::Symbol { .. } if chain.len() == 1 => return Ok(()),
        GlobalValueData::Symbol { .. } => {
            let pointer = ty;
            insert(func, inst, InstData::unary_global(Opcode::SymbolValue, pointer, root), pointer)
        }
        // The scale of a dynamic vector, which consists of one fixed vector.
        _ => insert(func, inst, InstData::iconst(ty, 1), ty),
    };
    for &global in chain.iter().rev().skip(1) {
        value = match func.global_values[global] {
            GlobalValueData::Load { offset, ty, flags, .. } => {
                insert(func, inst, InstData::load(Opcode::Load, ty, flags, value, offset), ty)
            }
            GlobalValueData::IAddImm { offset, ty, .. } => {
                let constant = insert(func, inst, InstData::iconst(ty, offset), ty);
                insert(func, inst, InstData::binary(Opcode::Iadd, ty, [value, constant]), ty)
            }
            _ => value,
        };
    }
    func.layout.remove_inst(inst);
    func.dfg.clear_results(inst);
    func.dfg.change_to_alias(result, value).expect("a new value cannot be an alias of the one it replaces");
    Ok(())
}

fn vmctx(func: &Function) -> Result<Value, LowerError> {
    let missing = LowerError::Feature { what: "a VM context without parameter", target: "any target" };
    let index = func.signature.special_param_index(ArgumentPurpose::VmContext).ok_or(missing.clone())?;
    let entry = func.layout.entry_block().ok_or(missing.clone())?;
    func.dfg.block_params(entry).get(index).copied().ok_or(missing)
}

fn insert(func: &mut Function, before: Inst, data: InstData, ty: kingpost_ir::Type) -> Value {
    let inst = func.dfg.make_inst(data);
    func.layout.insert_inst(inst, before);
    func.srclocs[inst] = func.srclocs[before];
    func.dfg.append_result(inst, ty)
}
