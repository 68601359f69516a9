//! Floats and vectors in variadic signatures of `windows_fastcall` on AArch64 become integers, because they are passed in
//! general-purpose registers, the ones of declared parameters too.
//!
//! Before: `call fn0(v0, v1)`, with `fn0 = %f(i64, ..., f64) windows_fastcall`.
//! After: `v2 = bitcast.i64 v1`, `call fn0(v0, v2)`, with `fn0 = %f(i64, ..., i64) windows_fastcall`.
//!
//! The definition of such a function receives integers, and the old parameters become aliases of their bits as floats.

use super::windows_results::bitcast;
use kingpost_ir::cursor::Cursor;
use kingpost_ir::signature::{CallConv, Signature};
use kingpost_ir::{Function, Inst, Type};

/// Returns `true` if the function is or declares a variadic function of this convention.
pub(super) fn occurs(func: &Function) -> bool {
    is_variadic(&func.signature) || func.dfg.signatures.values().any(is_variadic)
}

/// Changes the variadic signatures, the calls that use them, and the parameters of the function.
pub(super) fn run(func: &mut Function) {
    let mut next_block = func.layout.entry_block();
    while let Some(block) = next_block {
        let mut next_inst = func.layout.first_inst(block);
        while let Some(inst) = next_inst {
            next_inst = func.layout.next_inst(inst);
            pass_integers(func, inst);
        }
        next_block = func.layout.next_block(block);
    }
    if is_variadic(&func.signature) {
        receive_integers(func);
        change(&mut func.signature);
    }
    func.dfg.signatures.values_mut().filter(|signature| is_variadic(signature)).for_each(change);
}

fn is_variadic(signature: &Signature) -> bool {
    signature.variadic.is_some() && signature.call_conv == CallConv::WindowsFastcall
}

fn change(signature: &mut Signature) {
    for param in &mut signature.params {
        param.value_type = integer(param.value_type).unwrap_or(param.value_type);
    }
}

/// Converts the arguments of a call.
fn pass_integers(func: &mut Function, inst: Inst) {
    let Some(sig) = func.dfg.call_signature(inst) else { return };
    let signature = &func.dfg.signatures[sig];
    if !is_variadic(signature) {
        return;
    }
    // The first operand of an indirect call is its target.
    let (params, args) = (signature.params.len(), func.dfg.inst_args(inst).len());
    for index in args - params..args {
        let arg = func.dfg.inst_args(inst)[index];
        if let Some(ty) = integer(func.dfg.value_type(arg)) {
            let bits = bitcast(Cursor::new(func).before(inst), arg, ty);
            func.dfg.inst_args_mut(inst)[index] = bits;
        }
    }
}

/// Converts the parameters of the function.
fn receive_integers(func: &mut Function) {
    let Some(entry) = func.layout.entry_block() else { return };
    let params = func.dfg.block_params(entry).to_vec();
    if params.iter().all(|&param| integer(func.dfg.value_type(param)).is_none()) {
        return;
    }
    for index in (0..params.len()).rev() {
        func.dfg.remove_block_param(entry, index);
    }
    let types: Vec<Type> = func.signature.params.iter().map(|param| param.value_type).collect();
    for (param, ty) in params.into_iter().zip(types) {
        let Some(bits) = integer(ty) else {
            func.dfg.append_block_param_as(entry, param, ty);
            continue;
        };
        let bits = func.dfg.append_block_param(entry, bits);
        let value = bitcast(Cursor::new(func).start(entry), bits, ty);
        func.dfg.change_to_alias(param, value).expect("a new value cannot be an alias of the one it replaces");
    }
}

/// Returns the integer type of the size of a float or vector.
fn integer(ty: Type) -> Option<Type> {
    if ty.is_int() || ty.is_dynamic_vector() { None } else { Type::int(ty.bits()) }
}
