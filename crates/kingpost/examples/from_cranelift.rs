//! Two examples of Cranelift's front end with this builder: `jit-minimal` of `cranelift-jit`, and the function with a
//! loop of the documentation of `cranelift-frontend`. The calls are in the same order; only names differ, as the table
//! of `docs/coming-from.md` says. `cargo run --example from_cranelift`.
#![allow(unsafe_code, reason = "the compiled function is called")]

use kingpost::prelude::*;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    println!("b() = {}", minimal()?);
    println!("sample(1) = {}", sample(1)?);
    Ok(())
}

/// Compiles a function that calls another one, and calls it.
fn minimal() -> Result<i32, Box<dyn Error>> {
    let mut module = JitModule::new(Compiler::host(Settings::default())?);
    let mut scratch = FrontendContext::default();

    let mut sig_a = module.signature();
    sig_a.params.push(AbiParam::new(I32));
    sig_a.returns.push(AbiParam::new(I32));
    let mut sig_b = module.signature();
    sig_b.returns.push(AbiParam::new(I32));
    let func_a = module.declare_function("a", Linkage::Local, &sig_a)?;
    let func_b = module.declare_function("b", Linkage::Local, &sig_b)?;

    let mut func = Function::new(FuncName::default(), sig_a);
    let mut b = FunctionBuilder::new(&mut func, &mut scratch);
    let block = b.create_block();
    b.switch_to_block(block);
    b.append_function_params(block);
    let param = b.block_params(block)[0];
    let constant = b.ins().iconst(I32, 37);
    let sum = b.ins().iadd(constant, param);
    b.ins().return_(&[sum]);
    b.seal_all_blocks();
    b.finalize()?;
    module.define_function(func_a, &mut func)?;

    let mut func = Function::new(FuncName::default(), sig_b);
    let mut b = FunctionBuilder::new(&mut func, &mut scratch);
    let block = b.create_block();
    b.switch_to_block(block);
    let local_func = module.declare_func_in_func(func_a, b.func);
    let argument = b.ins().iconst(I32, 5);
    let call = b.ins().call(local_func, &[argument]);
    let value = b.inst_results(call)[0];
    b.ins().return_(&[value]);
    b.seal_all_blocks();
    b.finalize()?;
    module.define_function(func_b, &mut func)?;

    module.finalize_definitions()?;
    // SAFETY: the function was built with this type.
    let code_b = unsafe { module.get::<extern "C" fn() -> i32>(func_b) }?;
    Ok(code_b())
}

/// Compiles a function with three variables and a loop, and calls it.
fn sample(argument: i32) -> Result<i32, Box<dyn Error>> {
    let mut module = JitModule::new(Compiler::host(Settings::default())?);
    let mut signature = module.signature();
    signature.returns.push(AbiParam::new(I32));
    signature.params.push(AbiParam::new(I32));
    let id = module.declare_function("sample", Linkage::Local, &signature)?;
    let (mut func, mut scratch) = (Function::new(FuncName::default(), signature), FrontendContext::default());
    let mut b = FunctionBuilder::new(&mut func, &mut scratch);

    let [block0, block1, block2, block3] = [(); 4].map(|()| b.create_block());
    let [x, y, z] = [(); 3].map(|()| b.declare_var(I32));
    b.append_function_params(block0);

    b.switch_to_block(block0);
    b.seal_block(block0);
    let param = b.block_params(block0)[0];
    b.def_var(x, param);
    let two = b.ins().iconst(I32, 2);
    b.def_var(y, two);
    let (left, right) = (b.use_var(x), b.use_var(y));
    let sum = b.ins().iadd(left, right);
    b.def_var(z, sum);
    b.ins().jump(block1, &[]);

    b.switch_to_block(block1);
    let (left, right) = (b.use_var(y), b.use_var(z));
    let sum = b.ins().iadd(left, right);
    b.def_var(z, sum);
    let condition = b.use_var(y);
    b.ins().brif(condition, block3, &[], block2, &[]);

    b.switch_to_block(block2);
    b.seal_block(block2);
    let (left, right) = (b.use_var(z), b.use_var(x));
    let difference = b.ins().isub(left, right);
    b.def_var(z, difference);
    let result = b.use_var(y);
    b.ins().return_(&[result]);

    b.switch_to_block(block3);
    b.seal_block(block3);
    let (left, right) = (b.use_var(y), b.use_var(x));
    let difference = b.ins().isub(left, right);
    b.def_var(y, difference);
    b.ins().jump(block1, &[]);
    b.seal_block(block1);

    b.finalize()?;
    module.define_function(id, &mut func)?;
    module.finalize_definitions()?;
    // SAFETY: the function was built with this type. It ends, because every argument here divides 2.
    let sample = unsafe { module.get::<extern "C" fn(i32) -> i32>(id) }?;
    Ok(sample(argument))
}

#[test]
fn examples_of_cranelift_give_their_results() {
    assert_eq!(minimal().unwrap(), 42);
    // The loop subtracts the argument from 2 until 0 is left.
    assert_eq!((sample(1).unwrap(), sample(2).unwrap()), (0, 0));
}
