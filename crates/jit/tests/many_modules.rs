//! Checks that dropped modules leave no memory in use, and that live modules share mappings.
#![allow(unsafe_code, reason = "compiled functions are called")]
#![cfg(target_os = "linux")]

use kingpost_codegen::module::{DataDescription, DataKind, Linkage, Module};
use kingpost_codegen::{Compiler, Settings};
use kingpost_jit::JitModule;

/// Returns the number of modules to load: `KINGPOST_MODULES`, or a small number.
fn count() -> i64 {
    std::env::var("KINGPOST_MODULES").ok().and_then(|n| n.parse().ok()).unwrap_or(2_000)
}

/// Returns the number of mappings of the process, and of its pages in memory.
fn used() -> (usize, usize) {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    (maps.lines().count(), pages.split(' ').nth(1).unwrap().parse().unwrap())
}

/// Returns a module with a function that adds a number to data, after one call of the function.
fn module(number: i64) -> JitModule {
    let text = format!(
        "function u0:0() -> i64 system_v {{
            gv0 = symbol colocated u1:0
        block0:
            v0 = symbol_value.i64 gv0
            v1 = load.i64 v0
            v2 = iconst.i64 {number}
            v3 = iadd v1, v2
            store v3, v0
            return v3
        }}"
    );
    let mut function = kingpost_reader::parse_functions(&text).unwrap().remove(0);
    let mut module = JitModule::new(Compiler::host(Settings::default()).unwrap());
    let id = module.declare_function("f", Linkage::Export, &function.signature).unwrap();
    let data = module.declare_data("d", Linkage::Local, DataKind::Writable).unwrap();
    module.define_function(id, &mut function).unwrap();
    module.define_data(data, &DataDescription::bytes(7_i64.to_le_bytes())).unwrap();
    module.finalize_definitions().unwrap();
    // SAFETY: the function was compiled with this type.
    let f = unsafe { module.get::<extern "C" fn() -> i64>(id) }.unwrap();
    assert_eq!(f(), number + 7);
    module
}

#[test]
fn memory_is_bounded() {
    (0..100).for_each(|number| drop(module(number)));
    let (mappings, pages) = used();
    (0..count()).for_each(|number| drop(module(number)));
    let (more_mappings, more_pages) = used();
    assert!(more_mappings <= mappings + 8, "{mappings} mappings became {more_mappings}");
    assert!(more_pages <= pages + 1_000, "{pages} pages became {more_pages}");

    // Every other module is dropped, which leaves holes. There are few, because libgcc 12 searches a list for each.
    let mut modules: Vec<JitModule> = (0..count().min(10_000)).map(module).collect();
    let mut number = 0;
    modules.retain(|_| {
        number += 1;
        number % 2 == 0
    });
    let (more_mappings, _) = used();
    assert!(more_mappings <= mappings + 100, "{mappings} mappings became {more_mappings}");
}
