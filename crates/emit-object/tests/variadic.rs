//! Checks that compiled code can call `printf`, with variadic arguments in registers and on the stack.

use kingpost_codegen::{ALLOCATORS, Compiler, Settings};
use kingpost_emit_object::{ObjectOptions, write};
use std::process::Command;
use target_lexicon::{Triple, triple};

const TEXT: &str = "
function %ours(i64, i64) -> i32 system_v {
    fn0 = %printf(i64, ..., i32, i64) -> i32 system_v
    fn1 = %printf(i64, ..., f64, i32, f64, i64, f64, i64, i64, f64, f64, f64, i32, f64, f64, f64) -> i32 system_v
block0(v0: i64, v1: i64):
    v2 = iconst.i32 -7
    v3 = iconst.i64 0x1234567890
    v4 = call fn0(v0, v2, v3)
    v5 = f64const 0x1.8p0
    v6 = f64const -0x1.0p-2
    v7 = call fn1(v1, v5, v2, v6, v3, v5, v3, v3, v6, v5, v6, v2, v5, v6, v5)
    v8 = iadd v4, v7
    return v8
}";

const MAIN: &str = r#"
#include <stdio.h>
int ours(const char *, const char *);
int main(void) {
    int written = ours("%d %lx\n", "%g %d %g %lx %g %lx %lx %g %g %g %d %g %g %g\n");
    printf("%d\n", written);
    return 0;
}
"#;

const PRINTED: &str =
    "-7 1234567890\n1.5 -7 -0.25 1234567890 1.5 1234567890 1234567890 -0.25 1.5 -0.25 -7 1.5 -0.25 1.5\n97\n";

fn check(target: &Triple, cc: &[&str], emulator: Option<&str>) {
    let mut tools = [Some(cc[0]), emulator].into_iter().flatten();
    if let Some(tool) = tools.find(|tool| Command::new(tool).arg("--version").output().is_err()) {
        assert!(std::env::var_os("CI").is_none(), "CI has {tool}");
        eprintln!("SKIPPED: variadic calls on {target}: no {tool}");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    std::fs::write(at("main.c"), MAIN).unwrap();
    for (allocator, _) in ALLOCATORS {
        let settings = Settings::default().with(|settings| {
            settings.regalloc_algorithm = (*allocator).into();
            settings.is_pic = true;
        });
        let compiler = Compiler::new(target, settings, &[]).unwrap();
        let batch = compiler.compile_batch(&mut kingpost_reader::parse_functions(TEXT).unwrap(), 1);
        assert!(batch.errors.is_empty(), "{:?}", batch.errors);
        std::fs::write(at("a.o"), write(target, &batch.module, &[], ObjectOptions::default()).unwrap()).unwrap();
        let link = Command::new(cc[0]).args(&cc[1..]).args([at("main.c"), at("a.o")]).arg("-o").arg(at("a")).output();
        let link = link.unwrap();
        assert!(link.status.success(), "{}", String::from_utf8_lossy(&link.stderr));
        let output = match emulator {
            None => Command::new(at("a")).output().unwrap(),
            Some(emulator) => Command::new(emulator).arg(at("a")).output().unwrap(),
        };
        assert_eq!(String::from_utf8_lossy(&output.stdout), PRINTED, "{allocator}: {:?}", output.status);
    }
}

#[test]
fn arguments_are_printed() {
    if cfg!(target_arch = "x86_64") {
        check(&triple!("x86_64-unknown-linux-gnu"), &["cc"], None);
    }
}

#[test]
fn arguments_are_printed_under_the_emulator() {
    check(&triple!("aarch64-unknown-linux-gnu"), &["aarch64-linux-gnu-gcc", "-static"], Some("qemu-aarch64"));
}
