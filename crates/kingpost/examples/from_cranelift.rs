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

/// Names that are not the compiler's.
#[cfg(test)]
const RUST: [&str; 8] = ["Box", "Error", "Ok", "Result", "C", "SAFETY", "map", "push"];

/// Returns the names in a line of code: what follows a point, and what begins with a capital letter. An opcode's method is
/// none.
#[cfg(test)]
fn names(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let code = line.split("//").next().unwrap_or_default();
    let mut rest = code;
    while let Some(start) = rest.find(|c: char| c.is_alphabetic()) {
        let before = &code[..code.len() - rest.len() + start];
        let end = rest[start..].find(|c: char| !c.is_alphanumeric() && c != '_').map_or(rest.len(), |end| start + end);
        let word = &rest[start..end];
        let is_used = before.ends_with('.') && !before.ends_with("ins().") || before.ends_with("::");
        if (is_used || word.starts_with(|c: char| c.is_uppercase())) && !RUST.contains(&word) {
            found.push(word);
        }
        rest = &rest[end..];
    }
    found
}

#[test]
fn the_table_has_every_name() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let book = std::fs::read_to_string(folder.join("../../docs/coming-from.md")).unwrap();
    let table: Vec<&str> =
        book.lines().take_while(|line| *line != "## LLVM").filter(|line| line.starts_with('|')).collect();
    let table = table.join("\n");
    let known: Vec<&str> = table.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    let source = std::fs::read_to_string(folder.join("examples/from_cranelift.rs")).unwrap();
    let code = source.lines().skip_while(|line| !line.starts_with("fn minimal")).take_while(|line| *line != "#[test]");
    let used: std::collections::BTreeSet<&str> = code.flat_map(names).collect();
    assert!(used.len() > 20, "{used:?}");
    let missing: Vec<_> = used.iter().filter(|name| !known.contains(name)).collect();
    assert!(missing.is_empty(), "docs/coming-from.md has no row for {missing:?}");
}
