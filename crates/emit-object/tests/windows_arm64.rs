//! Links objects for Windows on AArch64 with LLVM's linkers, reads them with its tools, and runs the images in a loader of
//! ours under the emulator. The loader also unwinds every frame at each instruction of prologue and epilogue, and throws exceptions
//! to handlers.

use crate::windows::object;
use kingpost_codegen::ALLOCATORS;
use kingpost_emit_object::ObjectOptions;
use std::path::Path;
use std::process::Command;
use target_lexicon::Triple;

const TOOLS: [&str; 8] = [
    "ld.lld",
    "lld-link",
    "llvm-dlltool",
    "llvm-mc",
    "llvm-objdump",
    "llvm-readobj",
    "aarch64-linux-gnu-gcc",
    "qemu-aarch64",
];

/// Functions that the loader has.
const IMPORTS: &str =
    "LIBRARY host.dll\nEXPORTS\npages\ndouble_of\nspoils\nsprintf\n__divti3\nwalk\nthrows\n__gxx_personality_seh0\n";

/// Functions with the linkage of other tests of Windows, and a tail call that passes more than its function receives.
const FUNCTIONS: &str = "
function %nine(i64, i64, i64, i64, i64, i64, i64, i64, i64, i64) -> i64 tail {
    fn0 = %spoils(i64) -> i64 windows_fastcall
block0(v0: i64, v1: i64, v2: i64, v3: i64, v4: i64, v5: i64, v6: i64, v7: i64, v8: i64, v9: i64):
    v10 = iadd v0, v1
    v11 = iadd v10, v2
    v12 = iadd v11, v3
    v13 = iadd v12, v4
    v14 = iadd v13, v5
    v15 = iadd v14, v6
    v16 = iadd v15, v7
    v17 = iadd v16, v8
    v18 = call fn0(v9)
    v19 = iconst.i64 -1
    v20 = iadd v18, v19
    v21 = isub v20, v9
    v22 = iadd v17, v21
    return v22
}
function %grows(i64) -> i64 tail {
    fn0 = %nine(i64, i64, i64, i64, i64, i64, i64, i64, i64, i64) -> i64 tail
block0(v0: i64):
    return_call fn0(v0, v0, v0, v0, v0, v0, v0, v0, v0, v0)
}
function %grows_after_a_call(i64) -> i64 tail {
    fn0 = %nine(i64, i64, i64, i64, i64, i64, i64, i64, i64, i64) -> i64 tail
    fn1 = %spoils(i64) -> i64 windows_fastcall
    ss0 = explicit_slot 100
block0(v0: i64):
    v1 = call fn1(v0)
    return_call fn0(v0, v0, v0, v0, v0, v0, v0, v0, v0, v0)
}
function %calls_tail(i64) -> i64 windows_fastcall {
    fn0 = %grows(i64) -> i64 tail
    fn1 = %grows_after_a_call(i64) -> i64 tail
block0(v0: i64):
    v1 = call fn0(v0)
    v2 = call fn1(v0)
    v3 = isub v1, v2
    v4 = iadd v1, v3
    v5 = iadd v4, v0
    return v5
}
function %catches(i64) -> i64 windows_fastcall {
    sig0 = (i64) -> i64 system_v
    fn0 = %throws sig0
block0(v0: i64):
    v10 = iadd v0, v0
    try_call fn0(v0), sig0, block1(ret0), [ default: block2(exn0, exn1) ]
block1(v1: i64):
    return v1
block2(v2: i64, v3: i64):
    v4 = iadd v2, v3
    v5 = iadd v4, v10
    return v5
}
function %passes(i64) -> i64 system_v {
    fn0 = %throws(i64) -> i64 system_v
    fn1 = %spoils(i64) -> i64 windows_fastcall
    sig0 = (i64) -> i64 system_v
block0(v0: i64):
    v1 = call fn1(v0)
    v2 = call fn1(v1)
    v3 = call fn1(v2)
    v4 = call fn1(v3)
    try_call fn0(v0), sig0, block1(ret0), [ tag1: block2 ]
block1(v5: i64):
    v6 = iadd v1, v2
    v7 = iadd v6, v3
    v8 = iadd v7, v4
    v9 = isub v5, v8
    return v9
block2:
    trap user1
}
function %catches_deeper(i64) -> i64 windows_fastcall {
    sig0 = (i64) -> i64 system_v
    fn0 = colocated %passes sig0
    fn1 = %spoils(i64) -> i64 windows_fastcall
    ss0 = explicit_slot 40
block0(v0: i64):
    v1 = call fn1(v0)
    v2 = call fn1(v1)
    v3 = iadd v1, v2
    try_call fn0(v0), sig0, block1(ret0), [ default: block2(exn0, exn1) ]
block1(v4: i64):
    return v4
block2(v5: i64, v6: i64):
    v7 = iadd v5, v6
    v8 = iadd v7, v3
    v9 = iadd v8, v0
    v10 = iadd v9, v0
    v11 = iconst.i64 -3
    v12 = iadd v10, v11
    return v12
}
function %keeps_integers(i64) -> i64 windows_fastcall {
    fn0 = %spoils(i64) -> i64 windows_fastcall
block0(v0: i64):
    v1 = call fn0(v0)
    v2 = call fn0(v1)
    v3 = call fn0(v2)
    v4 = call fn0(v3)
    v5 = call fn0(v4)
    v6 = call fn0(v5)
    v7 = call fn0(v6)
    v8 = call fn0(v7)
    v10 = iadd v8, v7
    v11 = iadd v10, v6
    v12 = iadd v11, v5
    v13 = iadd v12, v4
    v14 = iadd v13, v3
    v15 = iadd v14, v2
    v16 = iadd v15, v1
    v17 = iadd v16, v0
    return v17
}
";

/// Returns `false` with a message if a tool is not installed.
fn has_tools() -> bool {
    let missing = TOOLS.into_iter().find(|tool| Command::new(tool).arg("--version").output().is_err());
    if let Some(tool) = missing {
        assert!(std::env::var_os("CI").is_none(), "CI has {tool}");
        eprintln!("SKIPPED: a test of Windows on AArch64: no {tool}");
    }
    missing.is_none()
}

fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && error.is_empty(), "{command:?}: {:?}\n{said}{error}", output.status);
    said
}

#[test]
fn images_for_windows_on_aarch64_run() {
    if !has_tools() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for (name, text) in [
        ("loader.c", include_str!("pe_loader.c")),
        ("pe_image.c", include_str!("pe_image.c")),
        ("pe_image.h", include_str!("pe_image.h")),
    ] {
        std::fs::write(at(name), text).unwrap();
    }
    std::fs::write(at("host.def"), IMPORTS).unwrap();
    std::fs::write(at("runtime.s"), include_str!("arm64_runtime.s")).unwrap();
    let mut cc = Command::new("aarch64-linux-gnu-gcc");
    run(cc
        .args(["-O1", "-w", "-static", "-ffixed-x18"])
        .args([at("loader.c"), at("pe_image.c")])
        .arg("-o")
        .arg(at("loader")));
    run(Command::new("llvm-dlltool").args(["-m", "arm64", "-d"]).arg(at("host.def")).arg("-l").arg(at("host.lib")));
    let mut assembler = Command::new("llvm-mc");
    assembler.args(["-triple=aarch64-pc-windows-gnu", "-filetype=obj"]);
    run(assembler.arg(at("runtime.s")).arg("-o").arg(at("runtime.o")));
    for (index, (allocator, _)) in ALLOCATORS.iter().enumerate() {
        let is_gnu = index % 2 == 0;
        let triple = if is_gnu { "aarch64-pc-windows-gnu" } else { "aarch64-pc-windows-msvc" };
        let options = ObjectOptions::default().with(|options| {
            options.function_sections = index == 0;
            options.trap_table = true;
            options.personality = Some("__gxx_personality_seh0".into());
        });
        let triple: Triple = triple.parse().unwrap();
        std::fs::write(at("o.o"), object(&triple, allocator, options, FUNCTIONS)).unwrap();
        read(&at("o.o"), index == 0);
        let mut link = if is_gnu { mingw() } else { microsoft() };
        let output = if is_gnu { "-o" } else { "/out:image.dll" };
        link.current_dir(folder.path()).arg(output);
        if is_gnu {
            link.arg("image.dll");
        }
        run(link.args(["o.o", "runtime.o", "host.lib"]));
        let said = run(Command::new("qemu-aarch64").arg(at("loader")).arg(at("image.dll")));
        let count: u32 = said.split(' ').next().unwrap().parse().unwrap();
        assert!(count > 100, "{count} instructions of prologues and epilogues were unwound");
    }
}

fn mingw() -> Command {
    let mut link = Command::new("ld.lld");
    link.args(["-m", "arm64pe", "-shared", "--export-all-symbols", "-e", "DllMainCRTStartup"]);
    link
}

fn microsoft() -> Command {
    let mut link = Command::new("lld-link");
    link.args(["/nologo", "/machine:arm64", "/dll", "/noentry", "/nodefaultlib"]);
    let exports = [
        "sums",
        "through_pointers",
        "large_frame",
        "keeps_floats",
        "switches",
        "divides",
        "calls_weak",
        "counts",
        "literal",
        "prints",
        "buffer,data",
        "system_v_inside",
        "stepped",
        "walks",
        "functions,data",
        "calls_tail",
        "catches",
        "catches_deeper",
        "thread_counter",
        "thread_zeros",
    ];
    link.args(exports.map(|name| format!("/export:{name}"))).arg("/include:_tls_used");
    link
}

/// Reads an object with LLVM's tools.
fn read(path: &Path, with_debug: bool) {
    let unwinding = run(Command::new("llvm-readobj").arg("--unwind").arg(path));
    for text in [
        "stp x29, x30, [sp, #-",
        "mov x29, sp",
        "ldp x29, x30, [sp], #",
        "CR: 3",
        "ExceptionData: Yes",
        "__gxx_personality_seh0",
    ] {
        assert!(unwinding.contains(text), "no {text}: {unwinding}");
    }
    let relocations = run(Command::new("llvm-objdump").arg("-r").arg(path));
    for text in ["BRANCH26", "PAGEBASE_REL21", "PAGEOFFSET_12A", "PAGEOFFSET_12L", "ADDR32NB", "SECREL_HIGH12A"] {
        assert!(relocations.contains(&format!("IMAGE_REL_ARM64_{text}")), "no {text}: {relocations}");
    }
    if with_debug {
        let lines = run(Command::new("llvm-dwarfdump").arg("--debug-line").arg(path));
        assert!(lines.contains("source"), "{lines}");
    }
}
