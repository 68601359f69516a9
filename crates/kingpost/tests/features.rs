//! Checks that the default settings compile and run with any set of built targets and allocators. `make test-deep`
//! builds some sets.
#![cfg(all(
    feature = "jit",
    feature = "reader",
    any(all(target_arch = "x86_64", feature = "x64"), all(target_arch = "aarch64", feature = "aarch64")),
    any(feature = "ssa", feature = "linear", feature = "backtracking")
))]
#![allow(unsafe_code, reason = "the compiled function is called")]

use kingpost::prelude::*;

#[test]
fn default_settings_run() {
    let text = "function %triple(i64) -> i64 { block0(v0: i64): v1 = iadd v0, v0 v2 = iadd v1, v0 return v2 }";
    let mut function = kingpost::reader::parse_functions(text).expect("a function").remove(0);
    let mut module = JitModule::new(Compiler::host(Settings::default()).expect("a compiler"));
    let id = module.declare_function("triple", Linkage::Export, &function.signature).expect("a name");
    module.define_function(id, &mut function).expect("code");
    module.finalize_definitions().expect("memory");
    // SAFETY: the function has this type, and only adds.
    let triple = unsafe { module.get::<extern "C" fn(i64) -> i64>(id) }.expect("a function");
    assert_eq!(triple(14), 42);
}
