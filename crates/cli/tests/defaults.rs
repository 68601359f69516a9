//! Checks that the library and the tool make equal code by default: for every processor of the architecture, and
//! position-independent.

use kingpost_codegen::compiled::ModuleBuffer;
use kingpost_codegen::{Compiler, Settings};
use kingpost_emit_object::{ObjectOptions, write};
use object::{Object, ObjectSection};
use std::process::Command;

/// A shift by a variable is another instruction with BMI2, and a call of an undeclared function another one in code
/// that is position-independent.
const TEXT: &str = "
function %shifted(i64, i64) -> i64 system_v {
    fn0 = %elsewhere(i64) -> i64 system_v
block0(v0: i64, v1: i64):
    v2 = ishl v0, v1
    v3 = popcnt v2
    v4 = call fn0(v3)
    return v4
}
";

fn code(object: &[u8]) -> (Vec<u8>, usize) {
    let file = object::File::parse(object).unwrap();
    let text = file.section_by_name(".text").unwrap();
    (text.data().unwrap().into(), text.relocations().count())
}

fn of_library(compiler: &Compiler) -> (Vec<u8>, usize) {
    let (mut context, mut module) = (compiler.context(), ModuleBuffer::default());
    for mut func in kingpost_reader::parse_functions(TEXT).unwrap() {
        compiler.compile(&mut context, &mut func, &mut module).unwrap();
    }
    code(&write(compiler.triple(), &module, &[], ObjectOptions::default()).unwrap())
}

fn of_tool(options: &[&str]) -> (Vec<u8>, usize) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.clif"), TEXT).unwrap();
    let mut tool = Command::new(env!("CARGO_BIN_EXE_kingpost"));
    tool.current_dir(folder.path()).args(["compile", "a.clif", "-o", "a.o"]).args(options);
    assert!(tool.status().unwrap().success());
    code(&std::fs::read(folder.path().join("a.o")).unwrap())
}

#[test]
fn the_library_and_the_tool_agree() {
    let baseline = of_library(&Compiler::baseline(Settings::default()).unwrap());
    assert_eq!(baseline, of_tool(&[]));
    let fixed = Settings::default().with(|settings| settings.is_pic = false);
    let fixed = of_library(&Compiler::baseline(fixed).unwrap());
    assert_eq!(fixed, of_tool(&["--set", "is_pic=false"]));
    assert_ne!(fixed, baseline);
}

#[test]
fn only_the_compiler_of_the_host_uses_its_processor() {
    let host = Compiler::host(Settings::default()).unwrap();
    let baseline = of_library(&Compiler::baseline(Settings::default()).unwrap());
    let has_more = cfg!(target_arch = "x86_64")
        && kingpost_codegen::CpuFlags::host().is_some_and(|flags| flags.words().contains(&"has_bmi2".to_string()));
    if has_more {
        assert_ne!(of_library(&host), baseline);
    }
}
