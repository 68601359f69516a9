//! Loads that their users take in read just the bytes of the load: at both ends of a page with nothing around it they
//! succeed, one byte further they trap with the load's own code.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

use kingpost_codegen::module::default_libcall_name;
use kingpost_codegen::{ALLOCATORS, Compiler, Settings};
use kingpost_ir::TrapCode;
use kingpost_isolate::{Ending, IsolatedCall, SharedMemory, run};
use kingpost_jit::{Image, library_address};
use kingpost_mach::{ModuleBuffer, SymbolName};
use target_lexicon::triple;

/// A load of `bytes` bytes into `v1`, and what is done with it.
struct Case {
    load: String,
    bytes: usize,
    body: String,
}

fn case(load: &str, bytes: u32, body: &str) -> Case {
    Case { load: load.into(), bytes: bytes as usize, body: body.into() }
}

/// Returns every operation that takes a load in, and its neighbors. `v0` is the address, `v2` another value of the
/// type.
fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for bits in [8, 16, 32, 64] {
        let mut add = |body: &str| {
            // Not zero, as it is also a divisor.
            let low = if bits == 64 { "v8 = bnot v0".into() } else { format!("v8 = ireduce.i{bits} v0") };
            let other = format!("{low} v9 = iconst.i{bits} 3 v2 = bor v8, v9");
            cases.push(case(&format!("load.i{bits}"), bits / 8, &format!("{other} {body}")));
        };
        for op in ["iadd", "isub", "band", "bor", "bxor", "imul", "udiv", "urem", "smin", "ishl", "sshr", "umulhi"] {
            add(&format!("v3 = {op} v2, v1 store v3, v4"));
            add(&format!("v3 = {op} v1, v2 store v3, v4"));
        }
        for op in ["uadd_overflow", "ssub_overflow", "smul_overflow"] {
            add(&format!("v3, v5 = {op} v2, v1 store v5, v4"));
        }
        for op in ["ineg", "bnot", "popcnt", "clz", "ctz", "cls"] {
            add(&format!("v3 = {op} v1 store v3, v4"));
        }
        for (x, y) in [("v1", "v2"), ("v2", "v1"), ("v1", "v6"), ("v1", "v7")] {
            let constants = format!("v6 = iconst.i{bits} 0 v7 = iconst.i{bits} 100");
            add(&format!("{constants} v3 = icmp slt {x}, {y} store v3, v4"));
            add(&format!("{constants} v3 = icmp ult {x}, {y} v5 = select v3, v0, v4 store v5, v4"));
        }
        add("v3 = select v1, v0, v4 store v3, v4");
        add("brif v1, block1, block2 block1: return block2:");
        if bits < 64 {
            add("v3 = sextend.i64 v1 store v3, v4");
            add("v3 = uextend.i64 v1 v5 = iadd v0, v3 store v5, v4");
        }
        if bits >= 32 {
            let float = if bits == 32 { "f64" } else { "f32" };
            add(&format!("v3 = fcvt_from_sint.{float} v1 store v3, v4"));
            add(&format!("v3 = bitcast.f{bits} v1 store v3, v4"));
        }
    }
    for bits in [32, 64] {
        let mut add = |body: &str| {
            let other = format!("v2 = f{bits}const 0x1.8");
            cases.push(case(&format!("load.f{bits}"), bits / 8, &format!("{other} {body}")));
        };
        for op in ["fadd", "fsub", "fmul", "fdiv", "fmin", "fcopysign"] {
            add(&format!("v3 = {op} v2, v1 store v3, v4"));
            add(&format!("v3 = {op} v1, v2 store v3, v4"));
        }
        for op in ["sqrt", "floor", "fneg", "fabs"] {
            add(&format!("v3 = {op} v1 store v3, v4"));
        }
        add("v3 = fma v2, v2, v1 store v3, v4");
        add("v3 = fcmp lt v1, v2 store v3, v4");
        add("v3 = fcmp lt v2, v1 v5 = select v3, v0, v4 store v5, v4");
        add("v3 = fcvt_to_sint_sat.i64 v1 store v3, v4");
        add("v3 = fcvt_to_uint_sat.i32 v1 store v3, v4");
        add(&format!("v3 = bitcast.i{bits} v1 store v3, v4"));
        add(if bits == 32 { "v3 = fpromote.f64 v1 store v3, v4" } else { "v3 = fdemote.f32 v1 store v3, v4" });
    }
    for (load, bytes) in [("uload8.i64", 1), ("sload16.i32", 2), ("uload32", 4), ("sload32", 4)] {
        cases.push(case(load, bytes, "store v1, v4"));
    }
    cases
}

fn image(cases: &[Case], allocator: &str, flags: &[&str]) -> Image {
    let settings = Settings::default().with(|settings| {
        settings.is_pic = false;
        settings.regalloc_algorithm = allocator.into();
        settings.verify_each = true;
    });
    let flags: Vec<String> = flags.iter().map(|&flag| flag.into()).collect();
    let compiler = Compiler::new(&triple!("x86_64-unknown-linux-gnu"), settings, &flags).unwrap();
    let (mut cx, mut module) = (compiler.context(), ModuleBuffer::default());
    for (n, Case { load, body, .. }) in cases.iter().enumerate() {
        let text = format!(
            "function %f{n}(i64) system_v {{ ss0 = explicit_slot 16
             block0(v0: i64): v4 = stack_addr.i64 ss0 v1 = {load} v0 {body} return }}"
        );
        let mut function = kingpost_reader::parse_functions(&text).unwrap_or_else(|e| panic!("{text}: {e}")).remove(0);
        compiler.compile(&mut cx, &mut function, &mut module).unwrap_or_else(|e| panic!("{text}: {e}"));
    }
    let mut routine = |name: &SymbolName| match name {
        SymbolName::LibCall(routine) => library_address(default_libcall_name(*routine, compiler.triple())),
        _ => None,
    };
    Image::load(&module, &[], &mut routine).unwrap()
}

#[test]
fn folded_loads_stay_within_their_bytes() {
    let cases = cases();
    let newer: &[&str] = if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi2") {
        &["sse42", "has_avx", "has_bmi1", "has_bmi2", "has_popcnt", "has_lzcnt", "has_fma"]
    } else {
        &[]
    };
    for (allocator, _) in ALLOCATORS {
        for flags in [&[], newer] {
            check(&cases, allocator, flags);
        }
    }
}

fn check(cases: &[Case], allocator: &str, flags: &[&str]) {
    let image = image(cases, allocator, flags);
    let mut memory = SharedMemory::new(1).unwrap();
    memory.bytes_mut().fill(0x41);
    let (start, end) = (memory.address(), memory.address() + memory.bytes().len());
    let mut calls = Vec::new();
    for (n, case) in cases.iter().enumerate() {
        let function = image.address(&SymbolName::named(&format!("f{n}"))).unwrap();
        for argument in [start, end - case.bytes, start - 1, end - case.bytes + 1] {
            calls.push(IsolatedCall { function, argument });
        }
    }
    let endings = run(&[&image], &calls, &mut [&mut memory], 10).unwrap();
    for (n, case) in cases.iter().enumerate() {
        let what = format!("{allocator} {flags:?}: {} {}", case.load, case.body);
        assert_eq!(endings[4 * n..4 * n + 2], [Ending::Returned; 2], "{what}");
        for ending in &endings[4 * n + 2..4 * n + 4] {
            let Ending::Fault { pc, .. } = *ending else { panic!("{what}: {ending:?}") };
            assert_eq!(image.trap_at(pc), Some(TrapCode::HEAP_OUT_OF_BOUNDS), "{what}");
        }
    }
}
