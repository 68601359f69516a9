//! Checks that the system's unwinder delivers exceptions of C++ to handlers in compiled code.

use kingpost_codegen::{ALLOCATORS, Compiler, Settings};
use kingpost_emit_object::{ObjectOptions, write};
use std::process::{Command, Stdio};
use target_lexicon::{OperatingSystem, Triple};

/// Exceptions pass from functions of the convention `system_v` on every system. `OWN` is the convention of C++.
const FUNCTIONS: &str = "
function %invokes(i64, i64) -> i64 system_v {
    sig0 = (i64) -> i64 OWN
block0(v0: i64, v1: i64):
    v2 = call_indirect sig0, v0(v1)
    return v2
}

function %catches(i64, i64, f64) -> i64 OWN {
    sig0 = (i64, i64) -> i64 system_v
    fn0 = %__cxa_begin_catch(i64) -> i64 OWN
    fn1 = %__cxa_end_catch() OWN
    fn2 = %invokes sig0
block0(v0: i64, v1: i64, v2: f64):
    try_call fn2(v0, v1), sig0, block1(ret0), [ tag1: block3, default: block2(exn0, exn1) ]
block1(v3: i64):
    v13 = iconst.i64 0
    v14 = icmp sgt v1, v13
    brif v14, block4, block5
block4:
    return v13
block5:
    return v3
block2(v4: i64, v5: i64):
    v6 = call fn0(v4)
    v7 = load.i64 v6
    call fn1()
    v8 = fcvt_from_sint.f64 v1
    v9 = fmul v8, v2
    v10 = fcvt_to_sint.i64 v9
    v11 = iadd v7, v10
    return v11
block3:
    trap user1
}

function %ends(i64, i64) -> i64 OWN {
    fn0 = %thin(i64, i64) -> i64 system_v
block0(v0: i64, v1: i64):
    v2 = call fn0(v0, v1)
    return v2
}

function %thin(i64, i64) -> i64 system_v {
    sig0 = (i64, i64) -> i64 system_v
    fn0 = %invokes sig0
block0(v0: i64, v1: i64):
    try_call fn0(v0, v1), sig0, block1(ret0), [ default: block2(exn0, exn1) ]
block1(v2: i64):
    return v2
block2(v3: i64, v4: i64):
    return v4
}

function %passes(i64, i64) -> i64 OWN {
    sig0 = (i64, i64) -> i64 system_v
    fn0 = %invokes sig0
block0(v0: i64, v1: i64):
    v3 = func_addr.i64 fn0
    try_call_indirect v3(v0, v1), sig0, block1(ret0), [ tag1: block2 ]
block1(v2: i64):
    return v2
block2:
    trap user1
}
";

#[test]
fn cpp_exceptions_land_in_handlers() {
    run("x86_64-unknown-linux-gnu", "g++", &["-no-pie"], None);
    run("x86_64-unknown-linux-gnu", "g++", &["-pie", "-fPIE"], None);
    run("aarch64-unknown-linux-gnu", "aarch64-linux-gnu-g++", &["-static", "-no-pie"], Some("qemu-aarch64"));
    run("x86_64-pc-windows-gnu", "x86_64-w64-mingw32-g++", &["-static"], Some("wine"));
}

fn run(triple: &str, cxx: &str, options: &[&str], emulator: Option<&str>) {
    for tool in [Some(cxx), emulator].into_iter().flatten() {
        if Command::new(tool).arg("--version").output().is_err() {
            assert!(std::env::var_os("CI").is_none(), "CI has {tool}");
            eprintln!("SKIPPED: cpp_exceptions_land_in_handlers: no {tool}");
            return;
        }
    }
    if emulator.is_none() && !cfg!(target_arch = "x86_64") {
        eprintln!("SKIPPED: cpp_exceptions_land_in_handlers: not an x86-64 machine");
        return;
    }
    for &(name, _) in ALLOCATORS {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("handlers.o"), object(triple, name, |_| ())).unwrap();
        // Numbers of this type have 64 bits on every system.
        let program = include_str!("exceptions.cpp").replace("long", "long long");
        std::fs::write(at("main.cpp"), program).unwrap();
        let mut compile = Command::new(cxx);
        compile.args(options).args([at("main.cpp"), at("handlers.o")]).arg("-o").arg(at("main.exe"));
        let output = compile.output().unwrap();
        assert!(output.status.success(), "{cxx}: {}", String::from_utf8_lossy(&output.stderr));
        let mut program = emulator.map_or(Command::new(at("main.exe")), Command::new);
        if emulator.is_some() {
            program.arg(at("main.exe")).env("WINEDEBUG", "-all");
        }
        let status = program.stdin(Stdio::null()).stderr(Stdio::null()).status().unwrap();
        assert_eq!(status.code(), Some(0), "{triple} {name}");
    }
}

/// Returns an object of the functions. `change` changes the settings.
pub(crate) fn object(triple: &str, allocator: &str, change: impl FnOnce(&mut Settings)) -> Vec<u8> {
    let triple: Triple = triple.parse().unwrap();
    let settings = Settings::default().with(|settings| {
        settings.regalloc_algorithm = allocator.into();
        settings.verify_each = true;
        settings.is_pic = true;
        change(settings);
    });
    let compiler = Compiler::new(&triple, settings, &[]).unwrap();
    let text = FUNCTIONS.replace("OWN", &compiler.call_conv().to_string());
    let batch = compiler.compile_batch(&mut kingpost_reader::parse_functions(text).unwrap(), 1);
    assert!(batch.errors.is_empty(), "{:?}", batch.errors);
    let is_windows = triple.operating_system == OperatingSystem::Windows;
    let routine = if is_windows { "__gxx_personality_seh0" } else { "__gxx_personality_v0" };
    let options = ObjectOptions::default().with(|options| options.personality = Some(routine.into()));
    write(&triple, &batch.module, &[], options).unwrap()
}
