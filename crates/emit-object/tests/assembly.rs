//! Text of a module whose symbols are declared: bindings and visibilities are in the text, and a text that does not belong to the object is
//! refused.

use kingpost_codegen::module::{DataDescription, DataKind, Linkage, Module};
use kingpost_codegen::{Compiler, Options, Settings};
use kingpost_emit_object::{Assembly, ObjectModule, ObjectOptions};
use kingpost_ir::Function;
use kingpost_mach::ModuleBuffer;
use target_lexicon::{Triple, triple};

const TEXT: &str = "
function %weak(i64) -> i64 system_v {
    fn0 = %hidden(i64) -> i64 system_v
    gv0 = symbol %words
block0(v0: i64):
    v1 = call fn0(v0)
    v2 = symbol_value.i64 gv0
    v3 = iadd v1, v2
    return v3
}
function %hidden(i64) -> i64 system_v {
    fn0 = colocated %local(i64) -> i64 system_v
block0(v0: i64):
    v1 = call fn0(v0)
    return v1
}
function %local(i64) -> i64 system_v { block0(v0: i64): return v0 }
";

fn functions() -> Vec<Function> {
    kingpost_reader::parse_functions(TEXT).unwrap()
}

fn compiler(triple: &Triple) -> Compiler {
    Compiler::new(triple, Settings::default().with(|settings| settings.is_pic = true), &[]).unwrap()
}

/// Returns an object in which the names have these linkages.
fn object(triple: &Triple, linkages: [Linkage; 4]) -> Vec<u8> {
    let mut module = ObjectModule::new(compiler(triple), ObjectOptions::default());
    let data = module.declare_data("words", linkages[3], DataKind::Writable).unwrap();
    module.define_data(data, &DataDescription::bytes([1; 24])).unwrap();
    let names = ["weak", "hidden", "local"];
    for ((mut func, name), linkage) in functions().into_iter().zip(names).zip(linkages) {
        let id = module.declare_function(name, linkage, &func.signature).unwrap();
        module.define_function(id, &mut func).unwrap();
    }
    module.finish().unwrap()
}

/// Returns the text of all functions but the last `without`.
fn assembly(triple: &Triple, without: usize) -> Assembly {
    let compiler = compiler(triple).with_options(Options::default().with(|options| options.list = true));
    let (mut cx, mut module) = (compiler.context(), ModuleBuffer::default());
    let mut assembly = Assembly::new(triple).unwrap();
    let functions = functions();
    let count = functions.len() - without;
    for mut func in functions.into_iter().take(count) {
        compiler.compile(&mut cx, &mut func, &mut module).unwrap();
        assembly.function(cx.listing(), module.functions().last().unwrap()).unwrap();
    }
    assembly
}

#[test]
fn bindings_are_text() {
    for triple in [triple!("x86_64-unknown-linux-gnu"), triple!("aarch64-unknown-linux-gnu")] {
        let object = object(&triple, [Linkage::Preemptible, Linkage::Hidden, Linkage::Local, Linkage::Local]);
        let text = assembly(&triple, 0).finish(&object).unwrap();
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| line.starts_with('.')).collect();
        for line in [".weak weak", ".globl hidden", ".hidden hidden", ".type local, %function", ".type words, %object"]
        {
            assert!(lines.contains(&line), "no {line}:\n{text}");
        }
        assert!(!lines.contains(&".globl local") && !lines.contains(&".globl words"), "{text}");
    }
}

#[test]
fn text_of_another_object_is_refused() {
    let triple = triple!("x86_64-unknown-linux-gnu");
    let refused = |assembly: Assembly, object: &[u8], words: &str| {
        let error = assembly.finish(object).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    };
    let whole = object(&triple, [Linkage::Export; 4]);
    refused(assembly(&triple, 1), &whole, "the text is of 2 functions, the object of 3");
    let mut other = ModuleBuffer::default();
    let compiler = compiler(&triple);
    for name in ["weak", "hidden", "local"] {
        let text = format!("function %{name}(i64) -> i64 system_v {{ block0(v0: i64): return v0 }}");
        let mut func = kingpost_reader::parse_functions(&text).unwrap().remove(0);
        compiler.compile(&mut compiler.context(), &mut func, &mut other).unwrap();
    }
    let other = kingpost_emit_object::write(&triple, &other, &[], ObjectOptions::default()).unwrap();
    refused(assembly(&triple, 0), &other, "the text mentions `words`, the object does not");
}
