//! Checks that C programs can read the sections about functions according to their documentation, and overwrite
//! patchable calls.

use kingpost_codegen::{ALLOCATORS, Compiler, Settings};
use kingpost_emit_object::{ObjectOptions, write};
use kingpost_mach::{DebugTag, FunctionView, ModuleBuffer};
use std::process::Command;
use target_lexicon::{Triple, triple};

const TEXT: &str = "
function %first(i64) -> i64 system_v {
    ss0 = explicit_slot 4, key = 0x1_0000_0002
    fn0 = %hook() system_v
block0(v0: i64):
    v1 = iconst.i64 3
    v2 = imul v0, v1
    <7, ss0> call fn0()
    trapz v2, user7
    v3 = sdiv v1, v2
    return v3
}
function %second() system_v {
block0:
    return
}
function %third(i64) -> i64 system_v {
block0(v0: i64):
    v1 = load.i64 v0
    return v1
}
function %all(i64) -> i64 system_v {
    ss0 = explicit_slot 16
    ss1 = explicit_slot 16, key = 5
    fn0 = colocated patchable %hook() system_v
    fn1 = %hook() system_v
block0(v0: i64):
    v1 = stack_addr.i64 ss0
    store v0, v1+8
    <1, 2> sequence_point
    call fn0()
    <3> sequence_point
    call fn1(), stack_map=[i64 @ ss0+8, f32x4 @ ss1]
    v2 = load.i64 v1+8
    return v2
}";

fn compile(target: &Triple, allocator: &str) -> ModuleBuffer {
    let settings = Settings::default().with(|settings| {
        settings.is_pic = true;
        settings.regalloc_algorithm = allocator.into();
    });
    let compiler = Compiler::new(target, settings, &[]).unwrap();
    let batch = compiler.compile_batch(&mut kingpost_reader::parse_functions(TEXT).unwrap(), 1);
    assert!(batch.errors.is_empty(), "{:?}", batch.errors);
    batch.module
}

/// Returns the program's output for a section: name, sizes and entries of each function.
fn section(module: &ModuleBuffer, name: &str, entries: impl Fn(&FunctionView<'_>) -> Option<Vec<String>>) -> String {
    let mut text = format!("{name}\n");
    for f in module.functions() {
        let Some(entries) = entries(&f) else { continue };
        let head = &f.function.head;
        let words = entries.iter().map(|entry| format!(" {entry}")).collect::<String>();
        let name = head.name.to_string();
        text += &format!("{} {} {}{words}\n", &name[1..], f.code.len(), head.frame.body_offset);
    }
    text
}

fn expected(module: &ModuleBuffer) -> String {
    let some = |entries: Vec<String>| (!entries.is_empty()).then_some(entries);
    let mut text = section(module, "traps", |f| {
        Some(f.traps.iter().map(|trap| format!("{}:{}", trap.offset, trap.code.byte())).collect())
    });
    text += &section(module, "stack_maps", |f| {
        let types = [("i64", "64:1"), ("f32x4", "2147483680:4")];
        let code = |ty: String| types.iter().find(|(name, _)| *name == ty).unwrap().1;
        let entries = f.stack_maps.iter();
        some(entries.map(|e| format!("{}:{}:{}", e.return_offset, e.offset, code(e.ty.to_string()))).collect())
    });
    text += &section(module, "debug_tags", |f| {
        let entry = |offset, of_call, tag| match tag {
            DebugTag::User(number) => format!("{offset}:{}:0:{number}", u8::from(of_call)),
            DebugTag::StackSlot(at) => format!("{offset}:{}:1:{at}", u8::from(of_call)),
        };
        some(f.debug_tags.iter().map(|site| entry(site.offset, site.of_call, site.tag)).collect())
    });
    text += &section(module, "patchable_calls", |f| {
        some(f.patchable_calls.iter().map(|call| format!("{}:{}", call.return_offset, call.bytes)).collect())
    });
    text += &section(module, "stack_slots", |f| {
        let entry = |key: u64| format!("{}:{}", key as u32, key >> 32);
        some(f.keyed_slots.iter().map(|slot| format!("{}:{}:{}", entry(slot.key), slot.offset, slot.bytes)).collect())
    });
    // With the patchable call overwritten, restored, and overwritten again.
    text + "5 1\n5 2\n5 2\n"
}

fn check(target: &Triple, cc: &[&str], emulator: Option<&str>) {
    if let Some(tool) =
        cc.first().into_iter().chain(&emulator).find(|tool| Command::new(tool).arg("--version").output().is_err())
    {
        assert!(std::env::var_os("CI").is_none(), "CI has {tool}");
        eprintln!("SKIPPED: a test that needs {tool}");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    std::fs::write(at("main.c"), include_str!("function_tables.c")).unwrap();
    for (allocator, _) in ALLOCATORS {
        let module = compile(target, allocator);
        let options = ObjectOptions::default().with(|options| options.trap_table = true);
        std::fs::write(at("a.o"), write(target, &module, &[], options).unwrap()).unwrap();
        let mut link = Command::new(cc[0]);
        link.args(&cc[1..]).args(["-Wall", "-Werror", "-Wl,--fatal-warnings"]).args([at("main.c"), at("a.o")]);
        let link = link.arg("-o").arg(at("a")).output().unwrap();
        assert!(link.status.success(), "{}", String::from_utf8_lossy(&link.stderr));
        let run = match emulator {
            None => Command::new(at("a")).output().unwrap(),
            Some(emulator) => Command::new(emulator).arg(at("a")).output().unwrap(),
        };
        assert_eq!(String::from_utf8_lossy(&run.stdout), expected(&module), "{allocator}");
    }
}

#[test]
fn programs_read_the_tables() {
    if cfg!(target_arch = "x86_64") {
        for flag in ["-pie", "-no-pie"] {
            check(&triple!("x86_64-unknown-linux-gnu"), &["cc", flag], None);
        }
    }
}

#[test]
fn programs_read_the_tables_under_the_emulator() {
    check(&triple!("aarch64-unknown-linux-gnu"), &["aarch64-linux-gnu-gcc", "-static"], Some("qemu-aarch64"));
}
