//! Checks values of 128 bits between C and compiled code: in pairs of registers, and in memory when no registers are
//! left.

use kingpost_codegen::{ALLOCATORS, Compiler, Settings};
use kingpost_emit_object::{ObjectOptions, write};
use std::process::Command;
use target_lexicon::{Triple, triple};

const TEXT: &str = "
function %ours(i8, i128, f32, i64, f128, i128, i64, i128, i64) -> i128 system_v {
block0(v0: i8, v1: i128, v2: f32, v3: i64, v4: f128, v5: i128, v6: i64, v7: i128, v8: i64):
    v9 = iadd v1, v5
    v10 = iadd v9, v7
    v11 = uextend.i128 v3
    v12 = iadd v10, v11
    v13 = uextend.i128 v6
    v14 = iadd v12, v13
    v15 = uextend.i128 v8
    v16 = iadd v14, v15
    v17 = bitcast.i128 v4
    v18 = bxor v16, v17
    return v18
}
function %call_theirs(i64, f128) -> i128 system_v {
    fn0 = %theirs(i8, i128, f32, i64, f128, i128, i64, i128, i64) -> i128 system_v
block0(v0: i64, v1: f128):
    v2 = ireduce.i8 v0
    v3 = iconcat v0, v0
    v4 = bnot v3
    v5 = f32const 0x1.8p0
    v6 = bnot v0
    v7 = call fn0(v2, v3, v5, v0, v1, v4, v6, v3, v0)
    return v7
}";

fn check(target: &Triple, cc: &[&str], emulator: Option<&str>) {
    let missing = [Some(cc[0]), emulator].into_iter().flatten();
    let missing = missing.into_iter().find(|tool| Command::new(tool).arg("--version").output().is_err());
    if let Some(tool) = missing {
        assert!(std::env::var_os("CI").is_none(), "CI has {tool}");
        eprintln!("SKIPPED: values of 128 bits on {target}: no {tool}");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    std::fs::write(at("main.c"), include_str!("wide.c")).unwrap();
    for (allocator, _) in ALLOCATORS {
        let settings = Settings::default().with(|settings| {
            settings.regalloc_algorithm = (*allocator).into();
            settings.enable_llvm_abi_extensions = true;
            settings.is_pic = true;
        });
        let compiler = Compiler::new(target, settings, &[]).unwrap();
        let batch = compiler.compile_batch(&mut kingpost_reader::parse_functions(TEXT).unwrap(), 1);
        assert!(batch.errors.is_empty(), "{:?}", batch.errors);
        std::fs::write(at("a.o"), write(target, &batch.module, &[], ObjectOptions::default()).unwrap()).unwrap();
        let mut link = Command::new(cc[0]);
        let link = link.args(&cc[1..]).args([at("main.c"), at("a.o")]).arg("-O1").arg("-o").arg(at("a")).output();
        let link = link.unwrap();
        assert!(link.status.success(), "{}", String::from_utf8_lossy(&link.stderr));
        let run = match emulator {
            None => Command::new(at("a")).output().unwrap(),
            Some(emulator) => Command::new(emulator).arg(at("a")).output().unwrap(),
        };
        assert!(run.status.success(), "{target}, {allocator}: {}", run.status);
    }
}

#[test]
fn wide_values_pass_between_c_and_compiled_code() {
    if cfg!(target_arch = "x86_64") {
        check(&triple!("x86_64-unknown-linux-gnu"), &["cc"], None);
    }
    check(&triple!("aarch64-unknown-linux-gnu"), &["aarch64-linux-gnu-gcc", "-static"], Some("qemu-aarch64"));
}
