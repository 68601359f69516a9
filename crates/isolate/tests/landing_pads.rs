//! AArch64: code whose functions all have landing pads is mapped so that the processor refuses indirect calls elsewhere.
#![cfg(all(target_arch = "aarch64", target_os = "linux"))]

use kingpost_codegen::{Compiler, Settings};
use kingpost_isolate::{Ending, IsolatedCall, run};
use kingpost_jit::Image;
use kingpost_mach::{Buffer, ControlFlowGuards, FunctionHead, JumpTables, ModuleBuffer, NoBranches, SymbolName};
use target_lexicon::Triple;

/// Calls the function `%f` of a module.
fn ending(module: &ModuleBuffer) -> Ending {
    let image = Image::load(module, &[], &mut |_| None).unwrap();
    let function = image.address(&SymbolName::named("f")).unwrap();
    run(&[&image], &[IsolatedCall { function, argument: 0 }], &mut [], 10).unwrap()[0]
}

/// Returns a function that begins with its return, whatever guards it is said to have.
fn bare(guards: ControlFlowGuards) -> ModuleBuffer {
    let (mut buffer, mut module) = (Buffer::default(), ModuleBuffer::default());
    buffer.start(0);
    buffer.put4(0xd65f_03c0); // ret
    let head = FunctionHead { guards, ..FunctionHead::of_bytes(SymbolName::named("f"), 4) };
    buffer.finish(head, &JumpTables::default(), &[], &NoBranches, &mut module).unwrap();
    module
}

#[test]
fn calls_past_landing_pads_trap() {
    let settings = Settings::default().with(|settings| settings.is_pic = false);
    let compiler = Compiler::new(&Triple::host(), settings, &["use_bti".into()]).unwrap();
    let mut module = ModuleBuffer::default();
    let text = "function %f(i64) system_v { block0(v0: i64): return }";
    let mut function = kingpost_reader::parse_functions(text).unwrap().remove(0);
    compiler.compile(&mut compiler.context(), &mut function, &mut module).unwrap();
    let without = bare(ControlFlowGuards::default());
    assert_eq!([ending(&module), ending(&without)], [Ending::Returned; 2]);
    if std::arch::is_aarch64_feature_detected!("bti") {
        let ending = ending(&bare(ControlFlowGuards { landing_pads: true, signed_returns: false }));
        assert!(matches!(ending, Ending::Fault { signal: 4, .. }), "{ending:?}");
    } else {
        println!("SKIPPED: the processor does not check landing pads");
    }
}
