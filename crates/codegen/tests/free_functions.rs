//! Checks that the option `free_functions` changes no code, and that only the name of a large function remains.

use kingpost_codegen::{Compiler, Options, Settings};
use kingpost_ir::Function;
use kingpost_mach::ModuleBuffer;
use std::fmt::Write;
use target_lexicon::triple;

/// Number of instructions of a large function: more than the limit up to which any stage keeps its memory.
const LARGE: usize = 1 << 18;

fn chain(length: usize) -> Function {
    let mut text = String::from("function %chain(i64) -> i64 system_v {\nblock0(v0: i64):\n");
    for i in 0..length {
        let _ = writeln!(text, "v{} = iadd v{i}, v0", i + 1);
    }
    let _ = writeln!(text, "return v{length}\n}}");
    kingpost_reader::parse_functions(text).unwrap().remove(0)
}

#[test]
fn large_functions_alone_are_freed() {
    let functions = [chain(8), chain(LARGE), chain(8)];
    let compile = |free_functions| {
        let triple = triple!("x86_64-unknown-linux-gnu");
        let compiler = Compiler::new(&triple, Settings::default(), &[]).unwrap();
        let compiler =
            compiler.with_options(Options::default().with(|options| options.free_functions = free_functions));
        let (mut cx, mut module) = (compiler.context(), ModuleBuffer::default());
        let mut left = functions.clone();
        for func in &mut left {
            compiler.compile(&mut cx, func, &mut module).unwrap();
            assert_eq!(func.name, functions[0].name);
        }
        let code: Vec<Vec<u8>> = (0..module.len()).map(|i| module.function(i).code.to_vec()).collect();
        (code, left.map(|func| func.dfg.num_insts()), cx.stats().clif_insts)
    };
    let (kept, freed) = (compile(false), compile(true));
    assert_eq!(kept.1, [9, LARGE + 1, 9]);
    assert_eq!(freed.1, [9, 0, 9]);
    assert_eq!((kept.0, kept.2), (freed.0, freed.2));
}
