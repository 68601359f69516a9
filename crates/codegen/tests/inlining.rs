//! Inlining between the functions of a module.

use kingpost_codegen::compiled::ModuleBuffer;
use kingpost_codegen::module::{Definitions, FuncId, Linkage, Module};
use kingpost_codegen::{Compiler, OptLevel, Settings};
use kingpost_ir::Function;

/// A module without a form of its own.
struct Plain(Definitions);

impl Module for Plain {
    fn definitions(&self) -> &Definitions {
        &self.0
    }

    fn definitions_mut(&mut self) -> &mut Definitions {
        &mut self.0
    }
}

/// The callee and its caller.
const TEXT: &str = "
function u0:0(i32) -> i32 system_v {
block0(v0: i32):
    v1 = imul v0, v0
    return v1
}
function u0:1(i32) -> i32 system_v {
    fn0 = u0:0(i32) -> i32 system_v
block0(v0: i32):
    v1 = call fn0(v0)
    v2 = call fn0(v1)
    return v2
}";

fn functions() -> Vec<Function> {
    kingpost_reader::parse_functions(TEXT).unwrap()
}

/// Returns a module that declares both functions, the callee with this linkage.
fn module(linkage: Linkage, change: impl FnOnce(&mut Settings)) -> (Plain, [FuncId; 2]) {
    let settings = Settings::default().with(|settings| settings.opt_level = OptLevel::Speed).with(change);
    let mut module = Plain(Definitions::new(Compiler::baseline(settings).unwrap()));
    let signature = functions()[0].signature.clone();
    let callee = module.declare_function("callee", linkage, &signature).unwrap();
    let caller = module.declare_function("caller", Linkage::Export, &signature).unwrap();
    (module, [callee, caller])
}

/// Defines the functions one by one.
fn defined(linkage: Linkage, change: impl FnOnce(&mut Settings)) -> ModuleBuffer {
    let (mut module, ids) = module(linkage, change);
    for (id, mut function) in ids.into_iter().zip(functions()) {
        module.define_function(id, &mut function).unwrap();
    }
    module.0.take().0
}

/// Returns `true` if the caller refers to the callee.
fn calls(module: &ModuleBuffer) -> bool {
    let mut functions = module.functions();
    let caller = functions.find(|function| function.function.head.name.to_string() == "%caller").unwrap();
    !caller.symbols.is_empty()
}

#[test]
fn only_final_definitions_are_inlined() {
    for linkage in [Linkage::Local, Linkage::Hidden, Linkage::Export] {
        assert!(!calls(&defined(linkage, |_| {})), "{linkage:?}");
    }
    assert!(calls(&defined(Linkage::Preemptible, |_| {})));
}

#[test]
fn settings_turn_it_off() {
    assert!(calls(&defined(Linkage::Local, |settings| settings.enable_inlining = false)));
    assert!(calls(&defined(Linkage::Local, |settings| settings.opt_level = OptLevel::None)));
}

#[test]
fn callers_in_a_batch_may_precede_their_callees() {
    let batch = |jobs| {
        let (mut module, [callee, caller]) = module(Linkage::Local, |_| {});
        let [first, second] = <[Function; 2]>::try_from(functions()).unwrap();
        assert!(module.define_functions(&mut [(caller, second), (callee, first)], jobs).is_empty());
        module.0.take().0
    };
    let one = batch(1);
    assert!(!calls(&one));
    let code = |module: &ModuleBuffer| module.functions().map(|function| function.code.to_vec()).collect::<Vec<_>>();
    assert_eq!(code(&one), code(&batch(3)));
}

#[test]
fn a_function_that_was_not_defined_is_not_inlined() {
    let (mut module, [callee, caller]) = module(Linkage::Local, |_| {});
    let [mut function, mut second] = <[Function; 2]>::try_from(functions()).unwrap();
    // The use of a value before its definition is an error.
    let inst = function.layout.first_inst(function.layout.entry_block().unwrap()).unwrap();
    let result = function.dfg.first_result(inst).unwrap();
    function.dfg.map_values(inst, |_| result);
    module.define_function(callee, &mut function).unwrap_err();
    module.define_function(caller, &mut second).unwrap();
    assert!(calls(&module.0.take().0));
}

#[test]
fn calls_that_hardly_ever_run_remain() {
    let with = |runs: f64| {
        let (mut module, [callee, caller]) = module(Linkage::Local, |_| {});
        let text = TEXT.replace("v2 = call fn0(v1)\n", "jump block1 block1: v2 = call fn0(v1)\n");
        let [mut first, mut second] =
            <[Function; 2]>::try_from(kingpost_reader::parse_functions(text).unwrap()).unwrap();
        let rare = second.layout.last_block().unwrap();
        second.set_block_frequency(rare, runs);
        module.define_function(callee, &mut first).unwrap();
        module.define_function(caller, &mut second).unwrap();
        module.0.take().0
    };
    assert!(calls(&with(0.0)));
    assert!(!calls(&with(0.5)));
}
