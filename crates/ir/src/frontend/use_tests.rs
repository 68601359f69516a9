//! The use of the builder: messages about misuse, and methods that build several instructions.

use super::*;
use crate::builder::{ControlBuilder, ImmediateBuilder, InstBuilder, SlotBuilder};
use crate::condcodes::IntCC;
use crate::extfunc::ExternalName;
use crate::memflags::MemFlags;
use crate::signature::{AbiParam, CallConv};
use crate::types::{I16, I32, I64, I128};
use crate::verifier::verify;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Returns the lines of a function that `build` builds in its entry block, without the header of the block.
fn built(build: impl FnOnce(&mut FunctionBuilder<'_>, Block)) -> Vec<String> {
    let (mut func, mut cx) = (Function::default(), FrontendContext::default());
    func.signature.params.extend([I64, I64, I32].map(AbiParam::new));
    let mut b = FunctionBuilder::new(&mut func, &mut cx);
    let entry = b.create_block();
    b.append_function_params(entry);
    b.switch_to_block(entry);
    build(&mut b, entry);
    b.ins().return_(&[]);
    b.seal_all_blocks();
    b.finalize().unwrap();
    assert_eq!(verify(&func, None), Ok(()), "{func}");
    func.to_string().lines().map(|line| line.trim().to_string()).collect()
}

/// Returns the text of a function that `build` builds in its entry block, without a check of the whole function.
fn built_unverified(build: impl FnOnce(&mut FunctionBuilder<'_>)) -> String {
    let (mut func, mut cx) = (Function::default(), FrontendContext::default());
    let mut b = FunctionBuilder::new(&mut func, &mut cx);
    let entry = b.create_block();
    b.switch_to_block(entry);
    build(&mut b);
    b.ins().return_(&[]);
    func.to_string()
}

/// Returns the message of the panic that the misuse causes.
fn misused(misuse: impl FnOnce(&mut FunctionBuilder<'_>, Block)) -> String {
    let (mut func, mut cx) = (Function::default(), FrontendContext::default());
    func.signature.params.extend([I64, I64, I32].map(AbiParam::new));
    let mut b = FunctionBuilder::new(&mut func, &mut cx);
    let entry = b.create_block();
    b.append_function_params(entry);
    b.switch_to_block(entry);
    let panic = catch_unwind(AssertUnwindSafe(|| misuse(&mut b, entry))).expect_err("a misuse");
    panic.downcast_ref::<String>().cloned().or_else(|| panic.downcast_ref::<&str>().map(|s| s.to_string())).unwrap()
}

#[test]
fn misuse_stops_at_its_call() {
    let param = |b: &FunctionBuilder<'_>, n: usize| b.func.dfg.block_params(Block::new(0))[n];
    let after = misused(|b, _| {
        b.ins().return_(&[]);
        b.ins().iconst(I32, 1);
    });
    assert_eq!(after, "`iconst` after `return`, which ends block0: switch to another block first");
    let types = misused(|b, _| {
        let (x, y) = (param(b, 0), param(b, 2));
        b.ins().iadd(x, y);
    });
    assert_eq!(types, "%: block0: `v3 = iadd v0, v2`: arg 1 (v2) has type i32, expected i64");
    let sealed = misused(|b, _| {
        let next = b.create_block();
        b.seal_block(next);
        b.ins().jump(next, &[]);
    });
    assert_eq!(sealed, "`jump block1` leads to block1, which is sealed: seal a block after the last branch to it");
    let arguments = misused(|b, _| {
        let mut signature = Signature::new(CallConv::SystemV);
        signature.params.push(AbiParam::new(I32));
        let signature = b.import_signature(signature);
        let name = ExternalName::Named("f".into());
        let f = b.import_function(ExtFuncData { name, signature, colocated: false, patchable: false });
        b.ins().call(f, &[]);
    });
    assert!(arguments.ends_with("mismatched argument count for `call fn0()`: got 0, expected 1"), "{arguments}");
    let results = misused(|b, _| {
        let x = param(b, 0);
        b.ins().return_(&[x]);
    });
    assert!(results.contains("arguments of return must match function signature"), "{results}");
    let slot = misused(|b, _| {
        let slot = b.create_stack_slot(8, 8);
        b.ins().stack_load(I64, slot, 4);
    });
    assert_eq!(slot, "stack_load of i64 at byte 4 of ss0, which has 8 bytes");
    let negative = misused(|b, _| {
        let slot = b.create_stack_slot(8, 8);
        let x = param(b, 0);
        b.ins().stack_store(x, slot, -8);
    });
    assert_eq!(negative, "stack_store of i64 at byte -8 of ss0, which has 8 bytes");
    let late = misused(|b, _| {
        let variable = b.declare_var(I64);
        let x = param(b, 0);
        b.def_var(variable, x);
        b.declare_var_needs_stack_map(variable);
    });
    assert_eq!(late, "var0 has a value already: declare that it needs a stack map before");
    let cold = misused(|b, entry| b.set_cold_block(entry));
    assert_eq!(cold, "block0 is the entry block, which cannot be cold");
    let twice = misused(|b, entry| b.insert_block_after(entry, entry));
    assert_eq!(twice, "block0 is in the layout already: insert it before the first switch to it");
    let dynamic = misused(|b, _| {
        let value = b.ins().iconst(I64, 0);
        let vector = b.func.dfg.append_block_param(Block::new(0), crate::types::I32X4.vector_to_dynamic().unwrap());
        b.declare_value_needs_stack_map(value);
        b.declare_value_needs_stack_map(vector);
    });
    assert!(dynamic.starts_with("v4 has type i32x4xN, but a reference"), "{dynamic}");
    let signed = misused(|b, _| {
        let (x, y) = (param(b, 0), param(b, 1));
        b.compare_memory(CallConv::SystemV, IntCC::SignedLessThan, x, y, 8, MemFlags::new());
    });
    assert!(signed.starts_with("`slt` compares with sign"), "{signed}");
}

#[test]
fn a_builder_without_a_block_says_so() {
    let (mut func, mut cx) = (Function::default(), FrontendContext::default());
    let mut b = FunctionBuilder::new(&mut func, &mut cx);
    let variable = b.declare_var(I32);
    assert_eq!(b.try_use_var(variable), Err(VariableError::NoBlock(variable)));
    let message = "var0 is used without a block: switch to a block first";
    assert_eq!(b.try_use_var(variable).unwrap_err().to_string(), message);
    let panic = catch_unwind(AssertUnwindSafe(|| b.ins().iconst(I32, 1))).expect_err("a misuse");
    assert_eq!(panic.downcast_ref::<String>().unwrap(), "`iconst` without a block: switch to a block first");
}

/// Checks that opcodes which need a setting are left to the compiler, which knows the settings.
#[test]
fn settings_are_not_known_to_the_builder() {
    let text = built_unverified(|b| {
        b.ins().get_frame_pointer(I64);
        b.ins().get_pinned_reg(I64);
    });
    assert!(text.contains("get_frame_pointer") && text.contains("get_pinned_reg"), "{text}");
}

#[test]
fn slots_are_loaded_and_stored() {
    let text = built(|b, entry| {
        let x = b.block_params(entry)[0];
        let (slot, loose) = (b.create_stack_slot(16, 8), b.create_stack_slot(3, 1));
        b.ins().stack_store(x, slot, 8);
        b.ins().stack_load(I64, slot, 8);
        b.ins().stack_load(I128, slot, 0);
        b.ins().stack_load(I16, loose, 1);
    });
    for line in [
        "store notrap aligned v0, v3",
        "v5 = load.i64 notrap aligned v4",
        "v7 = load.i128 notrap v6",
        "v9 = load.i16 notrap v8",
    ] {
        assert!(text.iter().any(|known| known == line), "{line} in {text:#?}");
    }
}

#[test]
fn dynamic_slots_and_global_values() {
    let text = built(|b, _| {
        let context = b.create_global_value(GlobalValueData::DynScaleTargetConst { vector_type: crate::types::I32X4 });
        let ty = b.create_dynamic_type(crate::types::I32X4, context);
        let slot = b.create_dynamic_stack_slot(ty);
        let ty = b.func.dynamic_type(ty).unwrap();
        let vector = b.ins().dynamic_stack_load(ty, slot);
        b.ins().dynamic_stack_store(vector, slot);
    });
    assert!(text.iter().any(|line| line.starts_with("dss0 = explicit_dynamic_slot dt0")), "{text:#?}");
}

#[test]
fn blocks_are_placed_marked_and_known_to_be_unreachable() {
    let (mut func, mut cx) = (Function::default(), FrontendContext::default());
    func.signature.returns.push(AbiParam::new(I32));
    let mut b = FunctionBuilder::new(&mut func, &mut cx);
    let [entry, last, early, dead] = [(); 4].map(|()| b.create_block());
    b.append_function_returns(last);
    b.switch_to_block(entry);
    assert!(!b.is_unreachable());
    b.switch_to_block(last);
    b.insert_block_after(early, entry);
    b.set_cold_block(early);
    let result = b.block_params(last)[0];
    b.ins().return_(&[result]);
    b.switch_to_block(entry);
    b.ins().jump(early, &[]);
    b.switch_to_block(early);
    b.seal_block(early);
    assert!(!b.is_unreachable());
    let one = b.ins().iconst(I32, 1);
    b.ins().jump(last, &[one]);
    b.switch_to_block(dead);
    assert!(!b.is_unreachable(), "branches may follow until it is sealed");
    b.seal_block(dead);
    assert!(b.is_unreachable());
    b.ins().trap(crate::trapcode::TrapCode::user(1).unwrap());
    b.seal_all_blocks();
    b.finalize().unwrap();
    assert_eq!(func.layout.blocks().collect::<Vec<_>>(), [entry, early, last, dead]);
    assert!(func.to_string().contains("block2 cold:"), "{func}");
}

#[test]
fn an_instruction_is_replaced() {
    let text = built(|b, entry| {
        let (x, y) = (b.block_params(entry)[0], b.block_params(entry)[1]);
        let product = b.ins().imul(x, y);
        let inst = b.func.dfg.defining_inst(product).unwrap();
        assert_eq!(b.replace(inst).isub(y, x), product);
        b.ins().ineg(product);
    });
    assert!(text.contains(&"v3 = isub v1, v0".to_string()), "{text:#?}");
    let replaced = |replace: fn(&mut FunctionBuilder<'_>, Inst, Value)| {
        misused(|b, entry| {
            let x = b.block_params(entry)[0];
            let product = b.ins().imul(x, x);
            let inst = b.func.dfg.defining_inst(product).unwrap();
            replace(b, inst, x);
        })
    };
    let message = replaced(|b, inst, x| {
        b.replace(inst).ireduce(I32, x);
    });
    assert!(message.contains("types of the results of `v3 = imul v0, v0`, and of `ireduce`"), "{message}");
    let message = replaced(|b, inst, _| {
        b.replace(inst).return_(&[]);
    });
    assert!(message.contains("an instruction that ends a block cannot be replaced"), "{message}");
    let message = replaced(|b, inst, x| {
        b.replace(inst).iadd_imm(x, 1);
    });
    assert!(message.contains("which uses the result: build its operands first"), "{message}");
}

/// Counts accesses. The bytes that they copy are compared where there is an interpreter.
#[test]
fn small_areas_need_no_call() {
    for bytes in 0..40 {
        let text = built(|b, entry| {
            let (to, from) = (b.block_params(entry)[0], b.block_params(entry)[1]);
            b.copy_memory(CallConv::SystemV, to, from, bytes, Overlap::Possible, MemFlags::trusted());
        });
        let count = |word: &str| text.iter().filter(|line| line.contains(word)).count();
        let is_small = bytes <= 32;
        assert_eq!(count("call"), usize::from(!is_small), "{bytes}: {text:#?}");
        assert_eq!(count("%Memmove"), usize::from(!is_small), "{bytes}: {text:#?}");
        assert!(count("load") <= 4 && count("load") == count("store"), "{bytes}: {text:#?}");
    }
}
