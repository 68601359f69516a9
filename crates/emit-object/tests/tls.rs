//! Checks thread-local symbols in programs and shared libraries, from several threads, and the linker's relaxation of
//! their addresses.

use kingpost_codegen::module::{DataDescription, DataKind, Linkage, Module};
use kingpost_codegen::{ALLOCATORS, Compiler, Settings};
use kingpost_emit_object::{ObjectModule, ObjectOptions};
use kingpost_ir::Function;
use kingpost_mach::{DataPointer, SymbolName};
use object::{Object, ObjectSection, ObjectSymbol};
use std::path::Path;
use std::process::Command;
use target_lexicon::{Triple, triple};

/// Registers and the stack are full across three address computations.
const FUNCTIONS: &str = "
function %bump(i64, i64) -> i64 system_v {
    gv0 = symbol tls %counter
    gv1 = symbol tls %zeros+192
    gv2 = symbol tls %from_c
block0(v0: i64, v1: i64):
    v2 = tls_value.i64 gv0
    v3 = tls_value.i64 gv1
    v4 = load.i64 v2
    v5 = iadd v4, v0
    store v5, v2
    v6 = load.i64 v3
    v7 = iadd v6, v1
    v8 = tls_value.i64 gv2
    store v7, v3
    v9 = load.i64 v8
    v10 = iconst.i64 3
    v11 = iadd v9, v10
    store v11, v8
    v12 = iadd v5, v7
    v13 = iadd v12, v11
    return v13
}
function %counter_address() -> i64 system_v {
    gv0 = symbol tls %counter
block0:
    v0 = tls_value.i64 gv0
    return v0
}
function %zeros_address() -> i64 system_v {
    gv0 = symbol colocated tls %zeros+192
block0:
    v0 = tls_value.i64 gv0
    return v0
}";

/// A way to link a program: flags, the contents of a separate library (`o` the object, `c` the symbol of C), and the
/// accesses to `counter` and `from_c` after linking.
struct Way {
    flags: &'static [&'static str],
    library: Option<char>,
    access: [Access; 2],
}

/// Method of computing the address of a thread-local symbol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Access {
    /// General dynamic: a call.
    Call,
    /// Initial exec: a load of the distance from the thread pointer.
    Load,
    /// Local exec: a constant distance.
    Constant,
}

const WAYS: [Way; 5] = {
    use Access::{Call, Constant, Load};
    [
        Way { flags: &["-pie"], library: None, access: [Constant, Constant] },
        Way { flags: &["-no-pie"], library: None, access: [Constant, Constant] },
        Way { flags: &["-static"], library: None, access: [Constant, Constant] },
        Way { flags: &["-pie"], library: Some('c'), access: [Constant, Load] },
        Way { flags: &["-pie"], library: Some('o'), access: [Call, Call] },
    ]
};

fn object(target: &Triple, allocator: &str) -> Vec<u8> {
    let mut settings = Settings::default().with(|settings| {
        settings.is_pic = true;
        settings.verify_each = true;
    });
    settings.regalloc_algorithm = allocator.into();
    settings.set("tls_model", "elf_gd").unwrap();
    let mut m = ObjectModule::new(Compiler::new(target, settings, &[]).unwrap(), ObjectOptions::default());
    let counter = m.declare_data("counter", Linkage::Export, DataKind::ThreadLocal).unwrap();
    let zeros = m.declare_data("zeros", Linkage::Export, DataKind::ThreadLocal).unwrap();
    let pointer = m.declare_data("pointer", Linkage::Export, DataKind::ThreadLocal).unwrap();
    let anchor = m.declare_data("anchor", Linkage::Export, DataKind::Writable).unwrap();
    m.define_data(counter, &DataDescription::bytes(100u64.to_le_bytes())).unwrap();
    m.define_data(zeros, &DataDescription::zeros(256).with(|data| data.align = 64)).unwrap();
    m.define_data(anchor, &DataDescription::zeros(8)).unwrap();
    let to_anchor = DataPointer { offset: 0, symbol: SymbolName::named("anchor"), addend: 0 };
    m.define_data(pointer, &DataDescription::zeros(8).with(|data| data.pointers = vec![to_anchor])).unwrap();
    for mut f in kingpost_reader::parse_functions(FUNCTIONS).unwrap() {
        define(&mut m, &mut f);
    }
    m.finish().unwrap()
}

fn define(m: &mut ObjectModule, f: &mut Function) {
    let id = m.declare_function(&f.name.to_string()[1..], Linkage::Export, &f.signature).unwrap();
    m.define_function(id, f).unwrap();
}

fn tool(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

fn check(target: &Triple, cc: &str, emulator: &[&str]) {
    let missing = [cc].iter().chain(emulator.first()).any(|tool| Command::new(tool).arg("--version").output().is_err());
    if missing {
        assert!(std::env::var_os("CI").is_none(), "CI has {cc} and {emulator:?}");
        eprintln!("SKIPPED: a test that needs {cc} and {emulator:?}");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    std::fs::write(at("main.c"), include_str!("tls.c")).unwrap();
    let compile = |args: &[&str], out: &str| {
        tool(
            Command::new(cc)
                .args(["-O1", "-Wall", "-Werror", "-fPIC", "-c"])
                .args(args)
                .arg(at("main.c"))
                .arg("-o")
                .arg(at(out)),
        );
    };
    compile(&[], "main.o");
    compile(&["-DFROM_C"], "c.o");
    let all = ALLOCATORS.iter().map(|(allocator, _)| (*allocator, &WAYS[..1]));
    for (allocator, ways) in all.chain([("ssa", &WAYS[1..])]) {
        let bytes = object(target, allocator);
        check_symbols(&bytes);
        std::fs::write(at("o.o"), bytes).unwrap();
        for way in ways {
            let (mut inputs, mut binary) = (vec![at("main.o"), at("o.o"), at("c.o")], at("a"));
            if let Some(name) = way.library {
                let (input, library) = (at(&format!("{name}.o")), at(&format!("lib{name}.so")));
                tool(Command::new(cc).arg("-shared").arg(&input).arg("-o").arg(&library));
                inputs.retain(|other| *other != input);
                inputs.push(library);
            }
            let mut link = Command::new(cc);
            link.args(way.flags).arg(format!("-Wl,--fatal-warnings,-rpath,{}", dir.path().display()));
            tool(link.args(&inputs).arg("-pthread").arg("-o").arg(&binary));
            let mut run = match emulator {
                [] => Command::new(&binary),
                [emulator, options @ ..] => {
                    let mut run = Command::new(emulator);
                    run.args(options).arg(&binary);
                    run
                }
            };
            let output = run.output().unwrap();
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success(), "{allocator}, {:?}, {:?}: {said}", way.flags, way.library);
            if way.library == Some('o') {
                binary = at("libo.so");
            }
            let (counter, bump) = (accesses(&binary, "counter_address"), accesses(&binary, "bump"));
            let [ours, of_c] = way.access;
            assert_eq!(
                (counter, bump),
                (vec![ours], vec![of_c, ours, ours]),
                "{allocator}, {:?}, {:?}",
                way.flags,
                way.library
            );
        }
    }
}

/// Checks that definitions and references are marked as thread-local, and that definitions are in their sections.
fn check_symbols(bytes: &[u8]) {
    let file = object::File::parse(bytes).unwrap();
    for (name, section) in [("counter", ".tdata"), ("zeros", ".tbss"), ("pointer", ".tdata"), ("from_c", "")] {
        let symbol = file.symbols().find(|symbol| symbol.name() == Ok(name)).unwrap();
        assert_eq!(symbol.kind(), object::SymbolKind::Tls, "{name}");
        let index = symbol.section_index();
        let found = index.map_or("", |index| file.section_by_index(index).unwrap().name().unwrap());
        assert_eq!(found, section, "{name}");
    }
}

/// Returns the accesses of a linked function to thread-local symbols, sorted.
fn accesses(path: &Path, function: &str) -> Vec<Access> {
    let data = std::fs::read(path).unwrap();
    let file = object::File::parse(&*data).unwrap();
    let symbol = file.symbols().find(|symbol| symbol.name() == Ok(function)).unwrap();
    let section = file.section_by_index(symbol.section_index().unwrap()).unwrap();
    let code = section.data_range(symbol.address(), symbol.size()).unwrap().unwrap();
    let mut found: Vec<Access> = match file.architecture() {
        object::Architecture::X86_64 => code.windows(12).filter_map(x64_access).collect(),
        _ => {
            let words: Vec<u32> = code.as_chunks().0.iter().map(|&word| u32::from_le_bytes(word)).collect();
            words.windows(4).filter_map(aarch64_access).collect()
        }
    };
    found.sort_by_key(|access| *access == Access::Constant);
    found
}

/// Returns the access that the instructions perform: `mov rax, fs:0` and an addition, or the original sequence.
fn x64_access(code: &[u8]) -> Option<Access> {
    const THREAD_POINTER: [u8; 9] = [0x64, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0];
    match code {
        _ if code[..9] == THREAD_POINTER && code[9..] == [0x48, 0x8d, 0x80] => Some(Access::Constant),
        _ if code[..9] == THREAD_POINTER && code[9..] == [0x48, 0x03, 0x05] => Some(Access::Load),
        _ if code[..4] == [0x66, 0x48, 0x8d, 0x3d] && code[8..] == [0x66, 0x66, 0x48, 0xe8] => Some(Access::Call),
        _ => None,
    }
}

/// Returns the access that four instructions perform: `movz movk nop nop`, `nop adrp ldr` in some order, or the
/// sequence of a descriptor.
fn aarch64_access(words: &[u32]) -> Option<Access> {
    const NOP: u32 = 0xd503_201f;
    let (movz, movk) = (|word: u32| word & 0xff80_001f == 0xd280_0000, |word: u32| word & 0xff80_001f == 0xf280_0000);
    let (adrp, ldr) = (|word: u32| word & 0x9f00_001f == 0x9000_0000, |word: u32| word & 0xffc0_03ff == 0xf940_0000);
    match words {
        [a, b, NOP, NOP] if movz(*a) && movk(*b) => Some(Access::Constant),
        [a, b, NOP, NOP] if adrp(*a) && ldr(*b) => Some(Access::Load),
        [a, b, _, 0xd63f_0020] if adrp(*a) && b & 0xffc0_03ff == 0xf940_0001 => Some(Access::Call),
        _ => None,
    }
}

#[test]
fn threads_have_their_own() {
    if cfg!(target_arch = "x86_64") {
        check(&triple!("x86_64-unknown-linux-gnu"), "cc", &[]);
    }
}

#[test]
fn threads_have_their_own_under_the_emulator() {
    let emulator = ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"];
    check(&triple!("aarch64-unknown-linux-gnu"), "aarch64-linux-gnu-gcc", &emulator);
}
