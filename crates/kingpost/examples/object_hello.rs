//! Writes an object file for the system's linker:
//! `cargo run --example object_hello hello.o && cc hello.o -o hello && ./hello`.

use kingpost::prelude::*;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).unwrap_or("hello.o".into());
    std::fs::write(&path, hello()?)?;
    println!("wrote {path}: cc {path} -o hello && ./hello");
    Ok(())
}

/// Compiles `int main() { puts("Hello"); return 0; }` and returns the object file.
fn hello() -> Result<Vec<u8>, Box<dyn Error>> {
    // Code for every processor of the architecture.
    let mut module = ObjectModule::new(Compiler::baseline(Settings::default())?, ObjectOptions::default());

    let text = module.declare_data("text", Linkage::Local, DataKind::ReadOnly)?;
    module.define_data(text, &DataDescription::bytes(*b"Hello from Kingpost\0"))?;
    let mut signature = module.signature();
    signature.returns.push(AbiParam::new(I32));
    let main = module.declare_function("main", Linkage::Export, &signature)?;
    let mut puts = signature.clone();
    puts.params.push(AbiParam::new(I64));
    let puts = module.declare_function("puts", Linkage::Import, &puts)?;

    let mut func = Function::new(FuncName::default(), signature);
    let mut scratch = FrontendContext::default();
    let mut b = FunctionBuilder::new(&mut func, &mut scratch);
    let block = b.create_block();
    b.switch_to_block(block);
    let (text, puts) = (module.declare_data_in_func(text, b.func), module.declare_func_in_func(puts, b.func));
    let address = b.ins().symbol_value(I64, text);
    b.ins().call(puts, &[address]);
    let zero = b.ins().iconst(I32, 0);
    b.ins().return_(&[zero]);
    b.seal_all_blocks();
    b.finalize()?;

    module.define_function(main, &mut func)?;
    Ok(module.finish()?)
}

#[test]
fn it_links_and_runs() {
    let folder = tempfile::tempdir().unwrap();
    let (object, program) = (folder.path().join("hello.o"), folder.path().join("hello"));
    std::fs::write(&object, hello().unwrap()).unwrap();
    let linked = std::process::Command::new("cc").arg(&object).arg("-o").arg(&program).status().unwrap();
    assert!(linked.success());
    let output = std::process::Command::new(&program).output().unwrap();
    assert_eq!(output.stdout, b"Hello from Kingpost\n");
}
