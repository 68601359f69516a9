//! Checks that panics and stack walks pass through loaded functions.
#![allow(unsafe_code, reason = "compiled functions are called")]
#![cfg(all(any(target_os = "linux", windows), panic = "unwind"))]

mod common;

use kingpost_codegen::module::{Linkage, Module};
use kingpost_codegen::{ALLOCATORS, Compiler, Settings};
use kingpost_jit::JitModule;
use std::panic::{catch_unwind, panic_any};
use target_lexicon::Triple;

extern "C-unwind" fn hook(x: i64) -> i64 {
    if x < 0 {
        panic_any(x);
    }
    x + 1
}

/// Functions that keep values in callee-saved registers during a call of `hook`, and call themselves first. The other
/// convention pops arguments.
const FUNCTIONS: [(&str, &str); 2] = [
    (
        "recurse",
        "function %recurse(i64, i64) -> i64 system_v {
            ss0 = explicit_slot 200
            fn0 = %recurse(i64, i64) -> i64 system_v
            fn1 = %hook(i64) -> i64 system_v
            fn2 = %pops(i64, i64, i64, i64, i64, i64, i64, i64) -> i64 tail
        block0(v0: i64, v1: i64):
            v2 = iadd v0, v1
            v3 = imul v0, v1
            brif v1, block1, block2
        block1:
            v4 = iconst.i64 1
            v5 = isub v1, v4
            v6 = call fn0(v0, v5)
            v7 = iadd v6, v2
            v8 = iadd v7, v3
            return v8
        block2:
            v9 = call fn2(v0, v0, v0, v0, v0, v0, v0, v0)
            v10 = iadd v9, v2
            return v10
        }",
    ),
    (
        "pops",
        "function %pops(i64, i64, i64, i64, i64, i64, i64, i64) -> i64 tail {
            fn0 = %hook(i64) -> i64 system_v
        block0(v0: i64, v1: i64, v2: i64, v3: i64, v4: i64, v5: i64, v6: i64, v7: i64):
            v8 = call fn0(v7)
            v9 = iadd v8, v6
            return v9
        }",
    ),
];

fn module(allocator: &str) -> (JitModule, *const u8) {
    let settings = Settings::default().with(|settings| settings.regalloc_algorithm = allocator.into());
    let mut m = JitModule::new(Compiler::new(&Triple::host(), settings, &[]).unwrap());
    m.symbol("hook", hook as *const u8);
    let mut first = None;
    for (name, text) in FUNCTIONS {
        let mut func = common::parse(text);
        let id = m.declare_function(name, Linkage::Export, &func.signature).unwrap();
        m.define_function(id, &mut func).unwrap();
        first = first.or(Some(id));
    }
    m.finalize_definitions().unwrap();
    let address = m.function_address(first.unwrap()).unwrap();
    (m, address)
}

fn call(address: *const u8, x: i64, depth: i64) -> i64 {
    // SAFETY: the function of this test takes and returns integers in the C convention; it may unwind.
    let function = unsafe { std::mem::transmute::<*const u8, extern "C-unwind" fn(i64, i64) -> i64>(address) };
    function(x, depth)
}

#[test]
fn panics_pass_through() {
    std::panic::set_hook(Box::new(|_| {}));
    for (allocator, _) in ALLOCATORS {
        let (m, address) = module(allocator);
        let (other, other_address) = module(allocator);
        for depth in [0, 1, 50] {
            let panic = catch_unwind(|| call(address, -7, depth)).unwrap_err();
            assert_eq!(panic.downcast_ref(), Some(&-7i64), "{allocator}");
            assert_eq!(catch_unwind(|| call(address, 7, 0)).ok(), Some(22));
        }
        // Dropping one module does not affect others, and the memory may be reused.
        drop(m);
        assert!(catch_unwind(|| call(other_address, -7, 3)).is_err());
        drop(other);
    }
}
