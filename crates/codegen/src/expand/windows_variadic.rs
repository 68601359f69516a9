//! Variadic floats in `windows_fastcall` become integers, because the callee reads them from general-purpose registers. On
//! AArch64, all floats of a variadic signature do.
//!
//! Before: `call fn0(v0, v1)`, with `fn0 = %f(i64, ..., f64) windows_fastcall`.
//! After: `v2 = bitcast.i64 v1`, `call fn0(v0, v2)`, with `fn0 = %f(i64, ..., i64) windows_fastcall`.

use super::windows_results::bitcast;
use kingpost_ir::cursor::Cursor;
use kingpost_ir::signature::{CallConv, Signature};
use kingpost_ir::types::{F32, F64, I32, I64};
use kingpost_ir::{Function, Inst, Type};

/// Returns `true` if the function declares a variadic function of this convention.
pub(super) fn occurs(func: &Function) -> bool {
    func.dfg.signatures.values().any(is_variadic)
}

/// Changes the variadic signatures, and the calls that use them. The named parameters change as well if `all_floats`.
pub(super) fn run(func: &mut Function, all_floats: bool) {
    let mut next_block = func.layout.entry_block();
    while let Some(block) = next_block {
        let mut next_inst = func.layout.first_inst(block);
        while let Some(inst) = next_inst {
            next_inst = func.layout.next_inst(inst);
            pass_integers(func, inst, all_floats);
        }
        next_block = func.layout.next_block(block);
    }
    for signature in func.dfg.signatures.values_mut().filter(|signature| is_variadic(signature)) {
        let fixed = unchanged(signature, all_floats);
        for param in signature.params.iter_mut().skip(fixed) {
            param.value_type = integer(param.value_type).unwrap_or(param.value_type);
        }
    }
}

fn is_variadic(signature: &Signature) -> bool {
    signature.variadic.is_some() && signature.call_conv == CallConv::WindowsFastcall
}

/// Returns the number of parameters that keep their types.
fn unchanged(signature: &Signature, all_floats: bool) -> usize {
    match signature.variadic {
        Some(_) if all_floats => 0,
        Some(fixed) => fixed as usize,
        None => signature.params.len(),
    }
}

/// Converts the variadic arguments of a call.
fn pass_integers(func: &mut Function, inst: Inst, all_floats: bool) {
    let Some(sig) = func.dfg.call_signature(inst) else { return };
    let signature = &func.dfg.signatures[sig];
    if !is_variadic(signature) {
        return;
    }
    // The first operand of an indirect call is its target.
    let params = signature.params.len();
    let fixed = unchanged(signature, all_floats);
    let first = func.dfg.inst_args(inst).len() - params;
    for index in first + fixed..first + params {
        let arg = func.dfg.inst_args(inst)[index];
        if let Some(ty) = integer(func.dfg.value_type(arg)) {
            let bits = bitcast(Cursor::new(func).before(inst), arg, ty);
            func.dfg.inst_args_mut(inst)[index] = bits;
        }
    }
}

/// Returns the integer type of a float's size.
fn integer(ty: Type) -> Option<Type> {
    match ty {
        F32 => Some(I32),
        F64 => Some(I64),
        _ => None,
    }
}
