//! Checks that machine code before and after allocation prints and parses again, and that compilation continues from
//! the text with the emitted bytes unchanged.

use kingpost_codegen::{Compiler, DumpReceiver, Options, Settings, Stage, allocator};
use kingpost_ir::extfunc::FuncName;
use kingpost_mach::text::{Parsed, display, parse};
use kingpost_mach::{Body, EmitOptions, Emitter, ModuleBuffer, SymbolName};
use std::path::Path;
use std::sync::{Arc, Mutex};
use target_lexicon::triple;

/// Texts of the stages `lower` and `check`.
#[derive(Default)]
struct Collected(Mutex<Vec<String>>);

impl DumpReceiver for Collected {
    fn takes(&self, stage: Stage, _: &str) -> bool {
        matches!(stage, Stage::Lower | Stage::Check)
    }

    fn take(&self, _: Stage, _: &str, text: String) {
        self.0.lock().unwrap().push(text);
    }
}

fn read(compiler: &Compiler, text: &str) -> Parsed {
    let mut parsed = parse(text, compiler.isa().rows()).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(parsed.len(), 1);
    let function = parsed.remove(0);
    let name = FuncName::Named(function.code.problem.name.clone());
    let again = display(&name, &function.code, function.allocation.as_ref(), compiler.isa().rows()).to_string();
    assert_eq!(again, text);
    function
}

/// Compiles every function of `folder` that the target supports, once directly and once from its text. Returns the
/// number of functions.
fn compile_from_text(compiler: &Compiler, collected: &Collected, folder: &Path) -> usize {
    let entries =
        |folder: &Path| std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    let rooms = entries(folder).into_iter().filter(|path| path.is_dir());
    let mut files: Vec<_> = rooms.flat_map(|room| entries(&room)).collect();
    files.sort();
    let (mut cx, mut count) = (compiler.context(), 0);
    for file in files {
        let source = std::fs::read_to_string(&file).unwrap();
        for mut func in kingpost_reader::parse_functions(&source).unwrap() {
            collected.0.lock().unwrap().clear();
            let mut module = ModuleBuffer::default();
            if compiler.compile(&mut cx, &mut func, &mut module).is_err() {
                continue;
            }
            let texts = std::mem::take(&mut *collected.0.lock().unwrap());
            let [lowered, allocated] = &texts[..] else { panic!("{} texts", texts.len()) };
            let from_lowered = {
                let mut function = read(compiler, lowered);
                let mut answer = function.allocation.take().unwrap_or_default();
                let mut allocator = allocator("linear").unwrap()();
                allocator.allocate(&function.code.problem, compiler.isa().env(), &mut answer).unwrap();
                emit(compiler, function, answer)
            };
            let from_allocated = {
                let mut function = read(compiler, allocated);
                let answer = function.allocation.take().unwrap();
                emit(compiler, function, answer)
            };
            for emitted in [from_lowered, from_allocated] {
                let (given, expected) = (emitted.function(0), module.function(0));
                assert_eq!(given.code, expected.code, "{}\n{allocated}", file.display());
                assert_eq!((given.relocs, given.symbols), (expected.relocs, expected.symbols), "{}", file.display());
                assert_eq!((given.traps, given.srclocs), (expected.traps, expected.srclocs), "{}", file.display());
            }
            count += 1;
        }
    }
    count
}

fn emit(compiler: &Compiler, function: Parsed, answer: kingpost_regalloc::Allocation) -> ModuleBuffer {
    let (mut code, mut module) = (function.code, ModuleBuffer::default());
    let name = SymbolName::named(&code.problem.name);
    let options = EmitOptions::default();
    Emitter::default().emit(compiler.isa(), &mut code, Body::Allocated(&answer), &options, name, &mut module).unwrap();
    module
}

#[test]
fn compilation_goes_on_from_the_text_of_machine_code() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../filetests/run");
    for triple in [triple!("x86_64-unknown-linux-gnu"), triple!("aarch64-unknown-linux-gnu")] {
        let collected = Arc::new(Collected::default());
        let options = Options::default().with(|options| options.dump = Some(collected.clone()));
        let settings = Settings::default().with(|settings| settings.regalloc_checker = true);
        let compiler = Compiler::new(&triple, settings, &[]).unwrap();
        let compiler = compiler.with_allocator(allocator("linear").unwrap()).with_options(options);
        let count = compile_from_text(&compiler, &collected, &folder);
        assert!(count > 500, "{count} functions for {triple}");
    }
}

fn check_error(text: &str, expected: &str) {
    let compiler = Compiler::new(&triple!("x86_64-unknown-linux-gnu"), Settings::default(), &[]).unwrap();
    let error = parse(text, compiler.isa().rows()).unwrap_err();
    assert_eq!(error.to_string(), expected);
}

#[test]
fn errors_say_where() {
    check_error("problem %f {\n  b0:\n    branch use v0 ;; ret\n}\n", "3:16: unknown v0");
    check_error("problem %f {\n  b0:\n    branch ;; retire\n}\n", "3:15: expected a row");
    check_error("problem %f {\n  b0:\n    branch ;; ret soon\n}\n", "3:19: `soon` is not expected here");
    check_error(
        "problem %f {\n  b0:\n    branch ;; mov64_rm [symbol 0]\n}\n",
        "3:32: expected the number of a preceding entry",
    );
    check_error("problem %f {\n  b0:\n    branch ;; jmp to 7\n}\n", "3:22: expected a block's number");
    check_error(
        "problem %f {\n  ;; slots 8\n  b0:\n    branch ;; ret\n}\n",
        "2:11: `slots` is not a property of a function",
    );
    check_error(
        "problem %f {\n  ;; name 0 literal 3ff\n  b0:\n    branch ;; ret\n}\n",
        "2:21: expected 8, 16 or 32 digits",
    );
    check_error("problem %f {\n  b0:\n    nop ;; call_sym\n}\n", "3:20: expected another address");
    check_error(
        "problem %f {\n  v0: int 8\n  b0:\n    def v0 ;; lea64_block #0x5\n}\n",
        "4:31: expected the number of a preceding entry",
    );
    check_error(
        "problem %f {\n  b0:\n    nop ;; nop\n    branch\n}\n",
        "5:1: of 2 instructions 1 have a machine instruction behind `;;`, and 0 a source location",
    );
}
