//! Checks landing pads and signed return addresses: the information for linkers in objects, and a guarded program
//! that runs.

use kingpost_codegen::{ALLOCATORS, Compiler, Settings};
use kingpost_emit_object::{ObjectOptions, write};
use kingpost_mach::ModuleBuffer;
use object::{Object, ObjectSection};
use std::path::Path;
use std::process::Command;
use target_lexicon::{Triple, triple};

/// Functions with all targets of indirect branches: function entries, blocks of jump tables, handlers, and the points
/// at which stacks are switched.
const TEXT: &str = "
function %calls(i64, i64) -> i64 system_v {
    sig0 = (i64) -> i64 system_v
block0(v0: i64, v1: i64):
    v2 = call_indirect sig0, v0(v1)
    return v2
}
function %twice(i64) -> i64 system_v {
block0(v0: i64):
    v1 = iadd v0, v0
    return v1
}
function %tail(i64) -> i64 system_v {
    fn0 = colocated %jumps(i64, i64) -> i64 tail
    fn1 = colocated %lands(i64) -> i64 tail
block0(v0: i64):
    v1 = func_addr.i64 fn1
    v2 = call fn0(v1, v0)
    return v2
}
function %jumps(i64, i64) -> i64 tail {
    sig0 = (i64) -> i64 tail
block0(v0: i64, v1: i64):
    return_call_indirect sig0, v0(v1)
}
function %lands(i64) -> i64 tail {
block0(v0: i64):
    v1 = iadd v0, v0
    return v1
}
function %table(i32) -> i32 system_v {
block0(v0: i32):
    br_table v0, block5, [block1, block2, block3, block4]
block1:
    v1 = iconst.i32 10
    return v1
block2:
    v2 = iconst.i32 20
    return v2
block3:
    v3 = iconst.i32 30
    return v3
block4:
    v4 = iconst.i32 40
    return v4
block5:
    v5 = iconst.i32 7
    return v5
}
function %catches(i64) -> i64 system_v {
    sig0 = (i64) -> i64 system_v
    fn0 = colocated %twice(i64) -> i64 system_v
block0(v0: i64):
    try_call fn0(v0), sig0, block1(ret0), [ tag1: block2(exn0), default: block3(exn1) ]
block1(v1: i64):
    return v1
block2(v2: i64):
    v3 = iadd v2, v0
    return v3
block3(v4: i64):
    return v4
}
function %switches(i64) -> i64 system_v {
    ss0 = explicit_slot 65536, align = 16
    ss1 = explicit_slot 48
    fn0 = colocated %other_stack(i64) system_v
block0(v0: i64):
    v1 = stack_addr.i64 ss1
    v2 = stack_addr.i64 ss0+65536
    store v2, v1+24
    v3 = iconst.i64 0
    store v3, v1+32
    v4 = func_addr.i64 fn0
    store v4, v1+40
    v5 = stack_addr.i64 ss1+24
    v6 = stack_switch v1, v5, v1
    v7 = stack_switch v1, v5, v0
    return v7
}
function %other_stack(i64) system_v {
block0(v0: i64):
    v9 = iconst.i64 24
    v1 = iadd v0, v9
    v2 = iconst.i64 0
    jump block1(v2)
block1(v3: i64):
    v4 = stack_switch v1, v0, v3
    v5 = iadd v4, v4
    jump block1(v5)
}
";

/// The instruction `bti j`, a valid target of indirect jumps.
const JUMP_PAD: [u8; 4] = 0xd503_249fu32.to_le_bytes();
/// `bti c` and `paciasp`, valid targets of indirect calls.
const CALL_PADS: [[u8; 4]; 2] = [0xd503_245fu32.to_le_bytes(), 0xd503_233fu32.to_le_bytes()];

fn aarch64() -> Triple {
    triple!("aarch64-unknown-linux-gnu")
}

fn module(target: &Triple, allocator: &str, flags: &[&str], text: &str) -> ModuleBuffer {
    let mut settings = Settings::default().with(|settings| {
        settings.verify_each = true;
        settings.regalloc_algorithm = allocator.into();
    });
    settings.set("stack_switch_model", "basic").unwrap();
    let flags: Vec<String> = flags.iter().map(|flag| flag.to_string()).collect();
    let compiler = Compiler::new(target, settings, &flags).unwrap();
    let (mut cx, mut module) = (compiler.context(), ModuleBuffer::default());
    for mut function in kingpost_reader::parse_functions(text).unwrap() {
        compiler.compile(&mut cx, &mut function, &mut module).unwrap();
    }
    module
}

fn object(target: &Triple, module: &ModuleBuffer) -> Vec<u8> {
    write(target, module, &[], ObjectOptions::default()).unwrap()
}

/// Returns the bits of the object's property that linkers combine by `and`; 0 if it has no note.
fn property(object: &[u8]) -> u32 {
    let file = object::File::parse(object).unwrap();
    let Some(note) = file.section_by_name(".note.gnu.property") else { return 0 };
    let words: Vec<u32> =
        note.data().unwrap().chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
    let [4, 16, 5, name, 0xc000_0000, 4, features, 0] = words[..] else { panic!("{words:x?}") };
    assert_eq!((name.to_le_bytes(), note.align()), (*b"GNU\0", 8));
    features
}

#[test]
fn notes_say_what_all_code_has() {
    let of = |flags: &[&str]| module(&aarch64(), "ssa", flags, TEXT);
    let cases: [(&[&str], u32); 5] = [
        (&[], 0),
        (&["use_bti"], 1),
        (&["sign_return_address"], 2),
        (&["sign_return_address_all"], 2),
        (&["use_bti", "sign_return_address"], 3),
    ];
    for (flags, expected) in cases {
        assert_eq!(property(&object(&aarch64(), &of(flags))), expected, "{flags:?}");
    }
    let mut mixed = of(&["use_bti", "sign_return_address"]);
    mixed.append(&module(&aarch64(), "ssa", &["use_bti"], "function %more() { block0: return }"));
    assert_eq!(property(&object(&aarch64(), &mixed)), 1);
    mixed.append(&module(&aarch64(), "ssa", &[], "function %most() { block0: return }"));
    assert_eq!(property(&object(&aarch64(), &mixed)), 0);
    // An object with data only does not remove the guards from the program it is linked into.
    assert_eq!(property(&object(&aarch64(), &ModuleBuffer::default())), 3);
    let x64 = triple!("x86_64-unknown-linux-gnu");
    assert_eq!(property(&object(&x64, &module(&x64, "ssa", &[], TEXT))), 0);
}

#[test]
fn every_target_of_an_indirect_branch_has_a_pad() {
    for (allocator, _) in ALLOCATORS {
        for flags in [&["use_bti"][..], &["use_bti", "sign_return_address_all"]] {
            let module = module(&aarch64(), allocator, flags, TEXT);
            let mut handlers = 0;
            for f in module.functions() {
                let name = &f.function.head.name;
                let word = |at: u32| <[u8; 4]>::try_from(&f.code[at as usize..at as usize + 4]).unwrap();
                assert!(CALL_PADS.contains(&word(0)), "{allocator}: {name}");
                for handler in f.handlers {
                    assert_eq!(word(handler.handler_offset), JUMP_PAD, "{allocator}: {name}");
                    handlers += 1;
                }
                let code = &f.code[..f.function.data_offset as usize];
                let pads = code.chunks(4).filter(|word| **word == JUMP_PAD).count();
                let expected = match name.to_string().as_str() {
                    "%table" => 4..=5,
                    "%switches" | "%catches" => 2..=2,
                    "%other_stack" => 1..=1,
                    _ => 0..=0,
                };
                assert!(expected.contains(&pads), "{allocator}: {name} has {pads} pads for jumps");
            }
            assert_eq!(handlers, 2);
        }
    }
}

#[test]
fn a_guarded_program_runs() {
    let cc = "aarch64-linux-gnu-gcc";
    let is_missing = |tool: &&str| Command::new(tool).arg("--version").output().is_err();
    if let Some(tool) = [cc, "qemu-aarch64", "readelf"].iter().find(|tool| is_missing(tool)) {
        assert!(std::env::var_os("KINGPOST_WITHOUT_TOOLS").is_some(), "{tool} is missing: see `make deps`");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hardening.c");
    let run = |command: &mut Command| command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    for (allocator, _) in ALLOCATORS {
        let module = module(&aarch64(), allocator, &["use_bti", "sign_return_address_all"], TEXT);
        std::fs::write(at("a.o"), object(&aarch64(), &module)).unwrap();
        for (define, expected) in [("-DWITH_PAD", Some(0)), ("-DWITHOUT_PAD", None)] {
            let flags =
                ["-O1", "-Wall", "-nostdlib", "-static", "-ffreestanding", "-mbranch-protection=standard", define];
            // The linker warns about objects without a note.
            let flags = flags.iter().chain(&["-Wl,-z,force-bti", "-Wl,--fatal-warnings", "-o"]);
            let link = run(Command::new(cc).args(flags).arg(at("a")).arg(&source).arg(at("a.o")));
            assert!(link.status.success(), "{allocator}: {}", String::from_utf8_lossy(&link.stderr));
            let notes = run(Command::new("readelf").arg("-n").arg(at("a")));
            let notes = String::from_utf8(notes.stdout).unwrap();
            assert!(notes.contains("Properties: AArch64 feature: BTI, PAC"), "{allocator}: {notes}");
            let ended = run(Command::new("qemu-aarch64").args(["-cpu", "max"]).arg(at("a")));
            assert_eq!(ended.status.code(), expected, "{allocator}, {define}: {:?}", ended.status);
        }
    }
}
