//! Results of type i128 in `windows_fastcall` become vectors, because the convention returns them in a vector
//! register.
//!
//! Before: `v1 = call fn0()`, with `fn0 = %f() -> i128 windows_fastcall`.
//! After: `v2 = call fn0()`, `v3 = bitcast.i128 v2`, with `fn0 = %f() -> i8x16 windows_fastcall`; `v1` is an alias of
//! `v3`.
//!
//! C compilers interpret the convention like this. It is an extension of LLVM.

use crate::compiler::Compiler;
use kingpost_ir::builder::InstBuilder;
use kingpost_ir::cursor::Cursor;
use kingpost_ir::memflags::Endianness;
use kingpost_ir::signature::{CallConv, Signature};
use kingpost_ir::types::{I8X16, I128};
use kingpost_ir::{Function, Inst, InstData, MemFlags, Opcode, Type, Value};
use target_lexicon::Architecture;

/// Returns `true` if `windows_fastcall` passes values of 128 bits by address and returns them as vectors, as on x86-64.
pub(super) fn passes_by_address(compiler: &Compiler) -> bool {
    compiler.triple().architecture == Architecture::X86_64
}

/// Changes the signatures, and the calls and returns that use them.
pub(super) fn run(func: &mut Function) {
    let returns_vectors = change(&mut func.signature);
    let changed: Vec<bool> = func.dfg.signatures.values_mut().map(change).collect();
    if !returns_vectors && !changed.contains(&true) {
        return;
    }
    let mut next_block = func.layout.entry_block();
    while let Some(block) = next_block {
        let mut next_inst = func.layout.first_inst(block);
        while let Some(inst) = next_inst {
            next_inst = func.layout.next_inst(inst);
            if returns_vectors && func.dfg.opcode(inst) == Opcode::Return {
                pass_vectors(func, inst);
            } else if func.dfg.call_signature(inst).is_some_and(|sig| changed[sig.as_u32() as usize]) {
                take_vectors(func, inst);
            }
        }
        next_block = func.layout.next_block(block);
    }
}

fn change(signature: &mut Signature) -> bool {
    if signature.call_conv != CallConv::WindowsFastcall {
        return false;
    }
    let mut any = false;
    for result in signature.returns.iter_mut().filter(|result| result.value_type == I128) {
        result.value_type = I8X16;
        any = true;
    }
    any
}

/// Converts operands of a `return` to vectors.
fn pass_vectors(func: &mut Function, inst: Inst) {
    for index in 0..func.dfg.inst_args(inst).len() {
        let arg = func.dfg.inst_args(inst)[index];
        if func.dfg.value_type(arg) == I128 {
            let vector = bitcast(Cursor::new(func).before(inst), arg, I8X16);
            func.dfg.inst_args_mut(inst)[index] = vector;
        }
    }
}

/// Converts results of a call to integers.
fn take_vectors(func: &mut Function, inst: Inst) {
    let results = func.dfg.inst_results(inst).to_vec();
    let types: Vec<Type> = results.iter().map(|&result| func.dfg.value_type(result)).collect();
    func.dfg.clear_results(inst);
    let mut cursor = Cursor::new(func);
    cursor.after(inst);
    for (old, ty) in results.into_iter().zip(types) {
        let vector_or_same = if ty == I128 { I8X16 } else { ty };
        let mut new = cursor.func.dfg.append_result(inst, vector_or_same);
        if ty == I128 {
            new = bitcast(&mut cursor, new, I128);
        }
        cursor.func.dfg.change_to_alias(old, new).expect("a new value cannot be an alias of the one it replaces");
    }
}

/// Returns the bits of `value` as another type.
pub(super) fn bitcast(cursor: &mut Cursor<'_>, value: Value, ty: Type) -> Value {
    let flags = MemFlags::new().with_endianness(Endianness::Little);
    cursor.ins().insert_with_result(InstData::load_no_offset(Opcode::Bitcast, ty, flags, value), ty)
}
