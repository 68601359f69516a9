//! Checks aliases, definitions that linkers keep once, tables that linkers discard with their code, and the section
//! `.comment`.

use kingpost_codegen::module::{DataDescription, DataKind, Linkage, Module};
use kingpost_codegen::{Compiler, OptLevel, Settings};
use kingpost_emit_object::{ObjectError, ObjectModule, ObjectOptions};
use object::{Object, ObjectComdat, ObjectSection, ObjectSymbol};
use std::process::Command;
use target_lexicon::{Triple, triple};

/// Returns an object with the function `shared`, the data `step`, and functions that are named after `name`.
fn object(triple: &Triple, name: &str, has_aliases: bool) -> Result<Vec<u8>, ObjectError> {
    object_with(ObjectOptions::default().with(|options| options.trap_table = true), triple, name, has_aliases)
}

fn object_with(options: ObjectOptions, triple: &Triple, name: &str, has_aliases: bool) -> Result<Vec<u8>, ObjectError> {
    let compiler = Compiler::new(triple, Settings::default(), &[]).unwrap();
    let mut module = ObjectModule::new(compiler, options);
    let text = format!(
        "function %shared(i64) -> i64 system_v {{
            gv0 = symbol %step
        block0(v0: i64):
            v1 = symbol_value.i64 gv0
            v2 = load.i64 v1
            v3 = sdiv v0, v2
            return v3
        }}
        function %{name}(i64) -> i64 system_v {{
            fn0 = %shared(i64) -> i64 system_v
        block0(v0: i64):
            v3 = iconst.i64 20
            v1 = imul v0, v3
            v2 = call fn0(v1)
            trapz v2, user1
            return v2
        }}
        function %shared_in_{name}() -> i64 system_v {{
            fn0 = %shared(i64) -> i64 system_v
        block0:
            v0 = func_addr.i64 fn0
            return v0
        }}"
    );
    let text = text.replace("system_v", &module.compiler().call_conv().to_string());
    for func in &mut kingpost_reader::parse_functions(&text).unwrap() {
        let name = func.name.to_string();
        let linkage = if name == "%shared" { Linkage::LinkOnce } else { Linkage::Export };
        let id = module.declare_function(&name[1..], linkage, &func.signature).unwrap();
        module.define_function(id, func).unwrap();
    }
    let step = module.declare_data("step", Linkage::LinkOnce, DataKind::ReadOnly).unwrap();
    module.define_data(step, &DataDescription::bytes(2u64.to_le_bytes())).unwrap();
    if has_aliases {
        let target = module.declarations().function_named(name).unwrap();
        let signature = module.declarations().function(target).unwrap().signature.clone();
        let alias = module.declare_function(&format!("also_{name}"), Linkage::Export, &signature).unwrap();
        module.define_function_alias(alias, target).unwrap();
        let alias = module.declare_data("also_step", Linkage::Export, DataKind::ReadOnly).unwrap();
        module.define_data_alias(alias, step).unwrap();
    }
    module.finish()
}

/// C compilers with a flag, and the linker that they use.
const LINKERS: [(&[&str], &str); 3] =
    [(&["cc", "-pie"], "ld"), (&["cc", "-no-pie"], "ld"), (&["cc", "-fuse-ld=lld"], "ld.lld")];

/// Returns the output of a program of C and of objects, linked by a C compiler with flags. Returns `None` if `tools` are
/// missing.
fn output(cc: &[&str], tools: &[&str], program: &str, objects: &[Vec<u8>], emulator: Option<&str>) -> Option<String> {
    let mut needed = cc[..1].iter().chain(tools).chain(&emulator);
    if let Some(tool) = needed.find(|tool| Command::new(tool).arg("--version").output().is_err()) {
        assert!(std::env::var_os("CI").is_none(), "CI has {tool}");
        eprintln!("SKIPPED: a program with symbols: no {tool}");
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("main.c"), program).unwrap();
    let mut link = Command::new(cc[0]);
    link.args(&cc[1..])
        .args(["-Wall", "-Werror", "-Wl,--fatal-warnings"])
        .arg(at("main.c"))
        .arg("-o")
        .arg(at("program.exe"));
    for (index, object) in objects.iter().enumerate() {
        let path = at(&format!("{index}.o"));
        std::fs::write(&path, object).unwrap();
        link.arg(path);
    }
    let linked = link.output().unwrap();
    assert!(linked.status.success(), "{}", String::from_utf8_lossy(&linked.stderr));
    let mut run = Command::new(emulator.map_or(at("program.exe"), Into::into));
    let ran = run.args(emulator.map(|_| at("program.exe"))).env("WINEDEBUG", "-all").output().unwrap();
    Some(String::from_utf8(ran.stdout).unwrap())
}

/// Checks a program of two objects that have definitions in common.
fn check(triple: &Triple, cc: &[&str], linker: &str, emulator: Option<&str>) {
    let objects = [object(triple, "first", true).unwrap(), object(triple, "second", false).unwrap()];
    if let Some(text) = output(cc, &[linker], include_str!("symbols.c"), &objects, emulator) {
        assert_eq!(text, "10 20 30\n1 1\n1 1\n2 1\n");
    }
}

#[test]
fn linkers_keep_one_definition() {
    if cfg!(target_arch = "x86_64") {
        for (cc, linker) in LINKERS {
            check(&triple!("x86_64-unknown-linux-gnu"), cc, linker, None);
        }
    }
}

/// Checks the tables of functions that have sections of their own. GNU's linker keeps all sections of a table that the
/// program refers to, LLVM's those whose code it keeps.
#[test]
fn tables_are_discarded_with_their_code() {
    let triple = triple!("x86_64-unknown-linux-gnu");
    let options = ObjectOptions::default().with(|options| {
        options.trap_table = true;
        options.function_sections = true;
    });
    let objects = [object_with(options, &triple, "first", true).unwrap()];
    for (cc, linker) in LINKERS.into_iter().filter(|_| cfg!(target_arch = "x86_64")) {
        let cc = [cc, &["-Wl,--gc-sections"]].concat();
        if let Some(text) = output(&cc, &[linker], include_str!("collected.c"), &objects, None) {
            assert_eq!(text, if linker == "ld" { "10 3\n" } else { "10 2\n" });
        }
    }
}

#[test]
fn linkers_for_aarch64_keep_one_definition() {
    check(
        &triple!("aarch64-unknown-linux-gnu"),
        &["aarch64-linux-gnu-gcc", "-static"],
        "aarch64-linux-gnu-ld",
        Some("qemu-aarch64"),
    );
}

#[test]
fn formats_have_their_own_form_of_definitions_that_are_kept_once() {
    let bytes = object(&triple!("aarch64-apple-darwin"), "first", true).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let symbol = |name| file.symbol_by_name(name).unwrap();
    assert!(symbol("_shared").is_weak() && !symbol("_first").is_weak());
    assert_eq!(symbol("_also_first").address(), symbol("_first").address());
}

/// Calls functions of two objects for Windows that have one definition in common.
const WINDOWS: &str = "
#include <stdio.h>
long long first(long long), second(long long), also_first(long long), shared(long long);
void *shared_in_first(void), *shared_in_second(void);
extern const long long step, also_step;
int main(void) {
    printf(\"%lld %lld %lld \", first(1), second(2), also_first(3));
    printf(\"%d %d \", shared_in_first() == shared_in_second(), shared_in_first() == (void *)shared);
    printf(\"%lld %d\", also_step, &step == &also_step);
    return 0;
}";

/// Returns the sections of the group of a symbol.
fn group(object: &[u8], symbol: &str) -> Vec<String> {
    let file = object::File::parse(object).unwrap();
    let group = file.comdats().find(|group| group.name().unwrap() == symbol).unwrap();
    group.sections().map(|index| file.section_by_index(index).unwrap().name().unwrap().to_string()).collect()
}

/// Checks that LLVM's linker for Microsoft's objects keeps one of the definitions in two objects.
fn links_by_lld(objects: &[Vec<u8>]) {
    if Command::new("lld-link").arg("--version").output().is_err() {
        assert!(std::env::var_os("CI").is_none(), "CI has lld-link");
        return eprintln!("SKIPPED: a library with symbols: no lld-link");
    }
    let folder = tempfile::tempdir().unwrap();
    let mut link = Command::new("lld-link");
    link.current_dir(folder.path()).args(["/nologo", "/dll", "/noentry", "/nodefaultlib", "/out:a.dll", "/map:a.map"]);
    link.args(["/export:first", "/export:second"]);
    for (index, object) in objects.iter().enumerate() {
        let name = format!("{index}.o");
        std::fs::write(folder.path().join(&name), object).unwrap();
        link.arg(name);
    }
    let linked = link.output().unwrap();
    assert!(
        linked.status.success(),
        "{}{}",
        String::from_utf8_lossy(&linked.stdout),
        String::from_utf8_lossy(&linked.stderr)
    );
    let map = std::fs::read_to_string(folder.path().join("a.map")).unwrap();
    assert_eq!(map.lines().filter(|line| line.contains(" .refptr.step ")).count(), 1, "{map}");
}

#[test]
fn linkers_for_windows_keep_one_definition() {
    let cc = ["x86_64-w64-mingw32-gcc"];
    for triple in [triple!("x86_64-pc-windows-gnu"), triple!("x86_64-pc-windows-msvc")] {
        let objects = [object(&triple, "first", true).unwrap(), object(&triple, "second", false).unwrap()];
        // GNU's linker accepts tables of code that it discards, others do not.
        assert_eq!(group(&objects[0], "step"), [".rdata.step"]);
        // The compiler of the program has the same pointer.
        assert_eq!(group(&objects[0], ".refptr.step"), [".rdata$.refptr.step"]);
        assert_eq!(group(&objects[0], "shared"), [".text$shared", ".pdata$shared", ".xdata$shared", "kingpost_traps"]);
        if let Some(text) = output(&cc, &[], WINDOWS, &objects, Some("wine")) {
            assert_eq!(text, "10 20 30 1 1 2 1", "{triple}");
        }
        links_by_lld(&objects);
    }
}

/// Returns the section `.comment` of an object that has no definition.
fn comment(settings: Settings, flags: &[String], comment: Option<&str>) -> Option<String> {
    let compiler = Compiler::new(&triple!("x86_64-unknown-linux-gnu"), settings, flags).unwrap();
    let options = ObjectOptions::default().with(|options| options.comment = comment.map(Into::into));
    let bytes = ObjectModule::new(compiler, options).finish().unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let section = file.section_by_name(".comment")?;
    Some(String::from_utf8(section.data().unwrap().into()).unwrap())
}

#[test]
fn the_comment_says_what_made_the_object() {
    let settings = Settings::default().with(|settings| {
        settings.opt_level = OptLevel::Speed;
        settings.regalloc_algorithm = "linear".into();
        settings.regalloc_checker = true;
    });
    let expected =
        format!("kingpost {} opt_level=speed regalloc_algorithm=linear has_bmi2\0", kingpost_codegen::VERSION);
    assert_eq!(comment(settings, &["has_bmi2".into()], None), Some(expected));
    assert_eq!(comment(Settings::default(), &[], Some("by hand")), Some("by hand\0".into()));
    assert_eq!(comment(Settings::default(), &[], Some("")), None);
}
