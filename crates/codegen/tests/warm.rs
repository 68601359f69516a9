//! Checks that a context that has compiled other functions compiles like a new one.

use kingpost_codegen::{Compiler, Context, Settings};
use kingpost_ir::Function;
use kingpost_mach::ModuleBuffer;
use target_lexicon::triple;

/// Returns a function that returns the last of its parameters. Each number has a different signature.
fn function(number: usize) -> Function {
    let types: Vec<&str> = (0..12).map(|bit| if number >> bit & 1 == 0 { "i32" } else { "f64" }).collect();
    let params: Vec<String> = types.iter().enumerate().map(|(k, ty)| format!("v{k}: {ty}")).collect();
    let (last, signature) = (types[11], types.join(", "));
    let text = format!(
        "function %f{number}({signature}) -> {last} system_v {{\nblock0({}):\nreturn v11\n}}",
        params.join(", ")
    );
    kingpost_reader::parse_functions(&text).unwrap().remove(0)
}

fn code(compiler: &Compiler, cx: &mut Context, number: usize) -> Vec<u8> {
    let mut module = ModuleBuffer::default();
    compiler.compile(cx, &mut function(number), &mut module).unwrap();
    module.function(0).code.to_vec()
}

/// Checks that signatures are assigned correctly after more signatures than a context keeps.
#[test]
fn more_signatures_than_are_kept_are_assigned_as_by_a_new_context() {
    for triple in [triple!("x86_64-unknown-linux-gnu"), triple!("aarch64-unknown-linux-gnu")] {
        let compiler = Compiler::new(&triple, Settings::default(), &[]).unwrap();
        let mut warm = compiler.context();
        for number in (0..1100).chain(0..40) {
            let expected = code(&compiler, &mut compiler.context(), number);
            assert_eq!(code(&compiler, &mut warm, number), expected, "{triple}, signature {number}");
        }
    }
}
