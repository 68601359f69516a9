//! Checks that no page of this process is writable and executable at any time when functions of a module can be
//! called.
#![cfg(target_os = "linux")]

use kingpost_codegen::module::{Linkage, Module};
use kingpost_codegen::{Compiler, Settings};
use kingpost_jit::JitModule;

/// Fails if the system has a mapping of this process that is writable and executable.
fn check_mappings(when: &str) {
    let maps = std::fs::read_to_string("/proc/self/maps").expect("the system's list of mappings");
    let is_both = |line: &&str| line.split(' ').nth(1).is_some_and(|flags| flags.contains("wx"));
    let both: Vec<&str> = maps.lines().filter(is_both).collect();
    assert!(both.is_empty() && maps.contains("r-xp"), "{when}: {}", both.join("\n"));
}

#[test]
fn no_page_is_both() {
    let text = "function %first() -> i64 { block0: v0 = iconst.i64 1 return v0 }
        function %second() -> i64 { fn0 = %first() -> i64 block0: v0 = call fn0() return v0 }";
    let mut module = JitModule::new(Compiler::host(Settings::default()).unwrap());
    for mut function in kingpost_reader::parse_functions(text).unwrap() {
        let name = function.name.to_string();
        let id = module.declare_function(&name[1..], Linkage::Export, &function.signature).unwrap();
        module.define_function(id, &mut function).unwrap();
        check_mappings("defined");
        // The second function is placed next to a function that may already be called.
        module.finalize_definitions().unwrap();
        check_mappings("finalized");
    }
    drop(module);
    check_mappings("dropped");
}
