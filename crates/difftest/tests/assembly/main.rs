//! Several results, and registers that are all preserved, against hand-written assembly in both directions.

use kingpost_codegen::{ALLOCATORS, Compiler, Settings};
use kingpost_emit_object::{ObjectOptions, write};
use std::process::Command;
use target_lexicon::triple;

const SETTINGS: &[(&str, &str)] = &[
    ("is_pic", "true"),
    ("verify_each", "true"),
    ("enable_multi_ret_implicit_sret", "true"),
    ("enable_llvm_abi_extensions", "true"),
    ("enable_probestack", "true"),
    ("probestack_strategy", "outline"),
];

#[test]
fn results_are_where_assembly_finds_and_puts_them() {
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) || Command::new("cc").arg("--version").output().is_err()
    {
        assert!(std::env::var_os("CI").is_none(), "CI has a C compiler for x86-64");
        eprintln!("SKIPPED: results_are_where_assembly_finds_and_puts_them: no C compiler for x86-64");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    std::fs::write(at("c.c"), include_str!("results.c")).unwrap();
    std::fs::write(at("s.s"), include_str!("results.s")).unwrap();
    let triple = triple!("x86_64-unknown-linux-gnu");
    for (allocator, _) in ALLOCATORS {
        let mut settings = Settings::default().with(|settings| settings.regalloc_algorithm = (*allocator).into());
        SETTINGS.iter().for_each(|(key, value)| settings.set(key, value).unwrap());
        let compiler = Compiler::new(&triple, settings, &[]).unwrap();
        let mut functions = kingpost_reader::parse_functions(include_str!("results.clif")).unwrap();
        let batch = compiler.compile_batch(&mut functions, 1);
        assert!(batch.errors.is_empty(), "{allocator}: {:?}", batch.errors);
        std::fs::write(at("k.o"), write(&triple, &batch.module, &[], ObjectOptions::default()).unwrap()).unwrap();
        let mut cc = Command::new("cc");
        let link =
            cc.current_dir(dir.path()).args(["-O1", "-no-pie", "-o", "a", "c.c", "s.s", "k.o"]).output().unwrap();
        assert!(link.status.success() && link.stderr.is_empty(), "{}", String::from_utf8_lossy(&link.stderr));
        let run = Command::new(at("a")).output().unwrap();
        assert!(run.status.success(), "{allocator}: {}: {}", run.status, String::from_utf8_lossy(&run.stdout));
    }
}
