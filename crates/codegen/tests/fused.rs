//! Registers allocated while instructions are selected: what is emitted is what judges were shown.

use kingpost_codegen::{Compiler, Options, Settings, Stats};
use kingpost_mach::ModuleBuffer;

/// Loops, calls, parameters on edges, more values than there are registers.
const SERVED: &str = "
function %nest(i64, i64) -> i64 {
    fn0 = %next(i64) -> i64
block0(v0: i64, v1: i64):
    v2 = iconst.i64 7
    jump block1(v2, v0)
block1(v3: i64, v4: i64):
    v5 = iadd v3, v1
    jump block2(v5, v4)
block2(v6: i64, v7: i64):
    v8 = call fn0(v6)
    v9 = imul v8, v0
    v10 = isub v7, v1
    brif v9, block2(v9, v10), block3
block3:
    v11 = bxor v10, v5
    brif v11, block1(v11, v9), block4
block4:
    v12 = iadd v11, v0
    return v12
}
function %wide(i64) -> i64 {
block0(v0: i64):
    v1 = load.i64 v0
    v2 = load.i64 v0+8
    v3 = load.i64 v0+16
    v4 = load.i64 v0+24
    v5 = load.i64 v0+32
    v6 = load.i64 v0+40
    v7 = load.i64 v0+48
    v8 = load.i64 v0+56
    v9 = load.i64 v0+64
    v10 = load.i64 v0+72
    v11 = load.i64 v0+80
    v12 = load.i64 v0+88
    v13 = load.i64 v0+96
    v14 = load.i64 v0+104
    v15 = load.i64 v0+112
    v16 = load.i64 v0+120
    v17 = udiv v15, v16
    v18 = ishl v17, v14
    v19 = imul v18, v13
    v20 = imul v19, v12
    v21 = imul v20, v11
    v22 = imul v21, v10
    v23 = imul v22, v9
    v24 = imul v23, v8
    v25 = imul v24, v7
    v26 = imul v25, v6
    v27 = imul v26, v5
    v28 = imul v27, v4
    v29 = imul v28, v3
    v30 = imul v29, v2
    v31 = imul v30, v1
    return v31
}
function %catch(i64, i64) -> i64 tail {
    sig0 = (i64) -> i64 tail
    fn0 = %may_throw(i64) -> i64 tail
block0(v0: i64, v1: i64):
    jump block1(v0)
block1(v2: i64):
    try_call fn0(v2), sig0, block2(ret0), [ default: block3(exn0, v1) ]
block2(v3: i64):
    v4 = iadd v3, v1
    brif v4, block1(v4), block4
block3(v5: i64, v6: i64):
    v7 = isub v5, v6
    return v7
block4:
    return v3
}";

/// What is left to another allocator.
const LEFT: &str = "
function %catch(i64) -> i64 tail {
    sig0 = (i64) -> i64 tail
    fn0 = %may_throw(i64) -> i64 tail
block0(v0: i64):
    try_call fn0(v0), sig0, block1(ret0), [ context v0, default: block2(exn0) ]
block1(v1: i64):
    return v1
block2(v2: i64):
    return v2
}";

/// Returns the code of all functions, one behind the other, and what was counted.
fn compile(text: &str, target: &str, setting: Option<&str>, options: Options) -> (Vec<u8>, Stats) {
    let mut settings = Settings::default();
    settings.set("regalloc_algorithm", "fused").expect("a setting");
    if let Some(name) = setting {
        settings.set(name, "true").expect("a setting");
    }
    let triple = format!("{target}-unknown-linux-gnu").parse().expect("a triple");
    let compiler = Compiler::new(&triple, settings, &[]).expect("a target").with_options(options);
    let (mut cx, mut module) = (compiler.context(), ModuleBuffer::default());
    for func in &mut kingpost_reader::parse_functions(text).expect("well-formed") {
        compiler.compile(&mut cx, func, &mut module).expect("it compiles");
    }
    let code = (0..module.len()).flat_map(|index| module.function(index).code.to_vec());
    (code.collect(), *cx.stats())
}

#[test]
fn judges_see_the_code_that_is_emitted() {
    for target in ["x86_64", "aarch64"] {
        let (steps, stats) = compile(SERVED, target, None, Options::default());
        assert_eq!((stats.functions, stats.unfused), (3, 0), "{target}");
        assert_eq!(compile(SERVED, target, Some("verify_each"), Options::default()).0, steps, "{target}");
        // Listed code is made of the allocation that was logged.
        let listed = Options { list: true, ..Options::default() };
        assert_eq!(compile(SERVED, target, None, listed).0, steps, "{target}");
    }
}

#[test]
fn what_is_beyond_it_is_counted() {
    for target in ["x86_64", "aarch64"] {
        assert_eq!(compile(LEFT, target, Some("verify_each"), Options::default()).1.unfused, 1, "{target}");
        assert_eq!(compile(SERVED, target, Some("debug_values"), Options::default()).1.unfused, 3, "{target}");
    }
}
