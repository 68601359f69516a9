//! Checks that a debugger finds functions in memory: breakpoints by their names, and their callers.
#![cfg(target_os = "linux")]

use kingpost_codegen::module::{Linkage, Module};
use kingpost_codegen::{Compiler, Settings};
use kingpost_jit::JitModule;
use std::process::Command;
use target_lexicon::Triple;

const FUNCTIONS: [(&str, &str); 2] = [
    (
        "inner_of_test",
        "function %inner_of_test(i64) -> i64 system_v {
            fn0 = %host_checks(i64) -> i64 system_v
        block0(v0: i64):
            v1 = call fn0(v0)
            v2 = iadd v1, v0
            return v2
        }",
    ),
    (
        "outer_of_test",
        "function %outer_of_test(i64) -> i64 system_v {
            ss0 = explicit_slot 4000
            fn0 = %inner_of_test(i64) -> i64 system_v
        block0(v0: i64):
            v1 = stack_addr.i64 ss0
            store v0, v1
            v2 = call fn0(v0)
            v3 = load.i64 v1
            v4 = iadd v2, v3
            return v4
        }",
    ),
];

extern "C" fn host_checks(x: i64) -> i64 {
    x * 2
}

/// Environment variable of the process that runs under the debugger.
const CHILD: &str = "KINGPOST_TEST_DEBUGGER";

/// Runs the functions in which the debugger stops.
#[test]
fn functions_run() {
    let settings = Settings::default().with(|settings| settings.unwind_info = true);
    let mut module = JitModule::new(Compiler::new(&Triple::host(), settings, &[]).unwrap());
    if std::env::var_os(CHILD).is_some() {
        module.enable_debugger();
    }
    module.symbol("host_checks", host_checks as *const u8);
    for (name, text) in FUNCTIONS {
        let mut func = kingpost_reader::parse_functions(text).unwrap().remove(0);
        let id = module.declare_function(name, Linkage::Export, &func.signature).unwrap();
        module.define_function(id, &mut func).unwrap();
        module.finalize_definitions().unwrap();
    }
    let address = module.address("outer_of_test").unwrap();
    // SAFETY: the function has this type.
    let outer = unsafe { std::mem::transmute::<*const u8, extern "C" fn(i64) -> i64>(address) };
    assert_eq!(outer(5), 20);
}

#[test]
fn gdb_knows_functions_and_their_callers() {
    let test = std::env::current_exe().unwrap();
    let interface = b"__jit_debug_register_code\0";
    if !std::fs::read(&test).unwrap().windows(interface.len()).any(|bytes| bytes == interface) {
        println!(
            "SKIPPED: the test is stripped, so that debuggers do not find the interface: set CARGO_PROFILE_DEV_STRIP=none"
        );
        return;
    }
    let arguments = ["--args", test.to_str().unwrap(), "--exact", "functions_run", "--test-threads=1"];
    let commands =
        ["set confirm off", "set breakpoint pending on", "break inner_of_test", "run", "backtrace 3", "kill"];
    let mut gdb = Command::new("gdb");
    gdb.args(["-nx", "-batch"]).args(commands.iter().flat_map(|command| ["-ex", command])).args(arguments);
    let Ok(output) = gdb.env(CHILD, "1").output() else {
        println!("SKIPPED: there is no gdb");
        return;
    };
    let text = String::from_utf8_lossy(&output.stdout);
    let frames: Vec<&str> = text.lines().filter(|line| line.starts_with('#')).collect();
    assert!(frames.len() >= 3, "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(frames[0].contains("inner_of_test"), "{frames:#?}");
    assert!(frames[1].contains("outer_of_test"), "{frames:#?}");
    assert!(!frames[2].contains("??"), "{frames:#?}");
}
