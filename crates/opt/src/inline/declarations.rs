//! The declarations that a body needs, in the caller. Equal ones among the last declarations are shared, except for
//! stack slots: each copy of a body has its own.

use cranelift_entity::{EntityRef, PrimaryMap};
use kingpost_ir::extfunc::{ExtFuncData, ExternalName};
use kingpost_ir::preamble::{GlobalValueData, StackSlotData};
use kingpost_ir::{AliasRegion, FuncRef, Function, GlobalValue, MemFlags, SigRef, StackSlot};
use std::collections::BTreeMap;

/// Number of declarations of the caller that are compared with one of the callee.
const SEARCHED: usize = 32;

/// Stack slots of a body, with their copies in the caller.
pub(super) type Slots = BTreeMap<StackSlot, StackSlot>;

/// Returns the copy of a stack slot of `callee`.
pub(super) fn slot(func: &mut Function, callee: &Function, slots: &mut Slots, slot: StackSlot) -> StackSlot {
    // The number of the front end belongs to a slot of another function.
    let copied = StackSlotData { key: None, ..callee.stack_slots[slot] };
    *slots.entry(slot).or_insert_with(|| func.stack_slots.push(copied))
}

/// Returns the function of `func` that is declared like a function of `callee`.
pub(super) fn function(func: &mut Function, callee: &Function, function: FuncRef) -> FuncRef {
    let declared = &callee.dfg.ext_funcs[function];
    let name = name(func, callee, &declared.name);
    let signature = signature(func, callee, declared.signature);
    shared(&mut func.dfg.ext_funcs, ExtFuncData { name, signature, ..*declared })
}

/// Returns the signature of `func` that is equal to a signature of `callee`.
pub(super) fn signature(func: &mut Function, callee: &Function, signature: SigRef) -> SigRef {
    shared(&mut func.dfg.signatures, callee.dfg.signatures[signature].clone())
}

/// Returns the symbol of `func` that is declared like a symbol of `callee`.
pub(super) fn symbol(func: &mut Function, callee: &Function, global: GlobalValue) -> GlobalValue {
    let mut copied = callee.global_values[global].clone();
    if let GlobalValueData::Symbol { name: own, .. } = &mut copied {
        *own = name(func, callee, own);
    }
    shared(&mut func.global_values, copied)
}

/// Returns the flags of an access of `callee` for its copy. The functions declare equal regions. Drops the promises
/// about memory that does not change in `callee`, and about addresses that are valid in all of `callee`.
pub(super) fn flags(func: &Function, callee: &Function, flags: MemFlags) -> MemFlags {
    let mut copied = MemFlags::new().with_trap_code(flags.trap_code());
    if flags.aligned() {
        copied = copied.with_aligned();
    }
    if let Some(order) = flags.endianness() {
        copied = copied.with_endianness(order);
    }
    let region = flags.alias_region().and_then(|region| own_region(func, callee, region));
    copied.with_alias_region(region).unwrap_or(copied)
}

fn own_region(func: &Function, callee: &Function, region: AliasRegion) -> Option<AliasRegion> {
    let number = callee.alias_regions[region].user_id;
    func.alias_regions.iter().find(|(_, own)| own.user_id == number).map(|(own, _)| own)
}

fn name(func: &mut Function, callee: &Function, name: &ExternalName) -> ExternalName {
    match *name {
        ExternalName::User(user) => ExternalName::User(shared(&mut func.user_names, callee.user_names[user])),
        ExternalName::Named(_) | ExternalName::LibCall(_) | ExternalName::KnownSymbol(_) => name.clone(),
    }
}

/// Returns an entry of `map` that is equal to `data`, or adds one.
fn shared<K: EntityRef, V: PartialEq>(map: &mut PrimaryMap<K, V>, data: V) -> K {
    let known = map.iter().rev().take(SEARCHED).find(|(_, known)| **known == data).map(|(known, _)| known);
    known.unwrap_or_else(|| map.push(data))
}
