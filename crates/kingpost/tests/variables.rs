//! Checks that gdb shows the variables of a source program by name, with their current values.
#![cfg(all(feature = "object", target_os = "linux", target_arch = "x86_64"))]

use kingpost::codegen::ALLOCATORS;
use kingpost::prelude::*;
use kingpost_testgen::squares;
use std::process::Command;

/// Returns an object with the function of [`squares`].
fn program(allocator: &str, opt_level: OptLevel) -> Vec<u8> {
    let settings = Settings::default().with(|settings| {
        settings.regalloc_algorithm = allocator.into();
        settings.opt_level = opt_level;
        settings.debug_values = true;
        settings.verify_each = true;
    });
    let options = ObjectOptions::default().with(|options| options.source = "squares.lang".into());
    let mut module = ObjectModule::new(Compiler::baseline(settings).unwrap(), options);
    let mut signature = module.signature();
    signature.params.push(AbiParam::new(I64));
    let step = module.declare_function("step", Linkage::Import, &signature).unwrap();
    signature.returns.push(AbiParam::new(I64));
    let id = module.declare_function("squares", Linkage::Export, &signature).unwrap();
    let (mut func, mut scratch) = (Function::new(FuncName::default(), signature), FrontendContext::default());
    let mut b = FunctionBuilder::new(&mut func, &mut scratch);
    squares::build(&mut b, |b, sum| {
        let step = module.declare_func_in_func(step, b.func);
        b.ins().call(step, &[sum]);
    });
    b.seal_all_blocks();
    b.finalize().unwrap();
    module.define_function(id, &mut func).unwrap();
    module.finish().unwrap()
}

const MAIN: &str = "long squares(long); void step(long total) {} int main(void) { return squares(4) != 304; }";

#[test]
fn gdb_shows_variables_by_name() {
    let has = |tool: &str| Command::new(tool).arg("--version").output().is_ok_and(|output| output.status.success());
    if !has("gdb") || !has("cc") {
        assert!(std::env::var_os("CI").is_none(), "CI has gdb and cc");
        println!("SKIPPED: gdb_shows_variables_by_name: no gdb or no cc");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("main.c"), MAIN).unwrap();
    for (allocator, _) in ALLOCATORS {
        for opt_level in [OptLevel::None, OptLevel::Speed] {
            std::fs::write(at("squares.o"), program(allocator, opt_level)).unwrap();
            let mut cc = Command::new("cc");
            let cc = cc.current_dir(folder.path()).args(["-g", "main.c", "squares.o", "-o", "squares"]);
            assert!(cc.status().unwrap().success());
            assert!(Command::new(at("squares")).status().unwrap().success(), "{allocator} {opt_level}");
            let mut gdb = Command::new("gdb");
            gdb.args(["-nx", "-batch", "-ex", "break squares.lang:5", "-ex", "run"]);
            for _ in 0..4 {
                gdb.args(["-ex", "info locals", "-ex", "continue"]);
            }
            let output = gdb.arg(at("squares")).output().unwrap();
            let text = String::from_utf8_lossy(&output.stdout);
            for (i, total) in [(1, 1), (2, 5), (3, 14), (4, 30)] {
                let locals = ["n = 4\n".to_string(), format!("total = {total}\n"), format!("i = {i}\n")];
                let shown = text.split("Breakpoint 1, ").nth(i).unwrap_or_default();
                let is_shown = locals.iter().all(|local| shown.contains(local));
                assert!(is_shown, "{allocator} {opt_level}: {locals:?} at stop {i} of\n{text}");
                assert!(!shown.contains("v0 ="), "only variables of the source: {text}");
                // It gets its next value after the stop.
                let last = [format!("last = {}\n", i - 1), "last = <optimized out>\n".into()];
                assert!(last.iter().any(|local| shown.contains(local)), "{allocator} {opt_level}: {text}");
            }
        }
    }
}
