//! Calls between compiled code and C in the conventions of Windows and of Apple silicon: variadic functions in both
//! directions, structures, results by address. The other side is compiled by MinGW, and by clang where MinGW has no
//! compiler.

use crate::windows;
use kingpost_codegen::{ALLOCATORS, Compiler, Settings};
use kingpost_emit_object::{ObjectOptions, write};
use kingpost_ir::signature::CallConv;
use std::path::Path;
use std::process::Command;
use target_lexicon::Triple;

const C: &str = include_str!("conventions.c");

/// Sources of the program that runs an image.
const LOADERS: [(&str, &str); 5] = [
    ("run_image.c", include_str!("run_image.c")),
    ("pe_image.c", include_str!("pe_image.c")),
    ("pe_image.h", include_str!("pe_image.h")),
    ("macho_image.c", include_str!("macho_image.c")),
    ("macho_image.h", include_str!("macho_image.h")),
];

/// Functions that call in a way that only x86-64 has.
const X86_64: [&str; 2] = ["%calls_without_prototype", "%calls_system_v"];

fn object(triple: &str, allocator: &str) -> Vec<u8> {
    let triple: Triple = triple.parse().unwrap();
    let mut settings = Settings::default().with(|settings| settings.verify_each = true);
    settings.regalloc_algorithm = allocator.into();
    settings.enable_llvm_abi_extensions = true;
    let compiler = Compiler::new(&triple, settings, &[]).unwrap();
    let mut functions = kingpost_reader::parse_functions(include_str!("conventions.clif")).unwrap();
    if !triple.architecture.to_string().starts_with("x86") {
        functions.retain(|function| !X86_64.contains(&&*function.name.to_string()));
    }
    for function in &mut functions {
        let signatures = function.dfg.signatures.values_mut().chain([&mut function.signature]);
        for signature in signatures.filter(|signature| signature.call_conv == CallConv::Fast) {
            signature.call_conv = compiler.call_conv();
        }
    }
    let batch = compiler.compile_batch(&mut functions, 1);
    assert!(batch.errors.is_empty(), "{:?}", batch.errors);
    write(&triple, &batch.module, &[], ObjectOptions::default()).unwrap()
}

#[test]
fn c_for_windows_agrees() {
    let Some(tools) = windows::tools() else { return };
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("c.c"), C).unwrap();
    for (allocator, _) in ALLOCATORS {
        std::fs::write(at("o.o"), object("x86_64-pc-windows-gnu", allocator)).unwrap();
        tools.link(&[&at("c.c"), &at("o.o")], &["-Wno-builtin-declaration-mismatch"], &at("a.exe"));
        tools.run(&at("a.exe"));
    }
}

/// Returns clang and a linker, or `None` with a message if a tool is not installed.
fn tools<'a>(subject: &str, linkers: &[&'a str]) -> Option<[&'a str; 2]> {
    let find = |names: &[&'a str]| names.iter().copied().find(|tool| is_here(tool));
    let found = [find(&["clang", "clang-14"]), find(linkers)];
    let others = ["aarch64-linux-gnu-gcc", "qemu-aarch64"];
    if let ([Some(clang), Some(linker)], None) = (found, others.into_iter().find(|tool| !is_here(tool))) {
        return Some([clang, linker]);
    }
    assert!(std::env::var_os("CI").is_none(), "CI has clang, {linkers:?} and {others:?}");
    eprintln!("SKIPPED: calls between compiled code and C for {subject}: no clang, {linkers:?} or {others:?}");
    None
}

fn is_here(tool: &str) -> bool {
    Command::new(tool).arg("--version").output().is_ok()
}

fn run(command: &mut Command) {
    let output = command.output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(output.status.success() && said.is_empty(), "{command:?}: {:?}\n{said}", output.status);
}

/// Compiles the loader and C for a target, links both objects with each allocator's code, and runs the image. `loader` are
/// the options and the sources of the loader.
fn check(folder: &Path, clang: &str, triple: &str, loader: &[&str], entry: &str, link: &dyn Fn() -> Command) {
    let at = |name: &str| folder.join(name);
    for (name, text) in LOADERS.into_iter().chain([("c.c", C)]) {
        std::fs::write(at(name), text).unwrap();
    }
    let mut cc = Command::new("aarch64-linux-gnu-gcc");
    cc.current_dir(folder).args(["-O1", "-w", "-static", "-ffixed-x18", "run_image.c", "-o", "loader"]);
    run(cc.args(loader));
    let target = format!("--target={}", triple.replace("aarch64-apple-darwin", "arm64-apple-macos11"));
    let options = ["-O1", "-ffreestanding", "-fno-stack-protector", "-mno-outline", "-c"];
    run(Command::new(clang).arg(target).args(options).arg(at("c.c")).arg("-o").arg(at("c.o")));
    for (allocator, _) in ALLOCATORS {
        std::fs::write(at("o.o"), object(triple, allocator)).unwrap();
        run(link().current_dir(folder));
        run(Command::new("qemu-aarch64").arg(at("loader")).arg(at("image")).arg(entry));
    }
}

#[test]
fn c_for_windows_on_aarch64_agrees() {
    let Some([clang, linker]) = tools("Windows on AArch64", &["lld-link"]) else { return };
    let folder = tempfile::tempdir().unwrap();
    let link = || {
        let mut link = Command::new(linker);
        link.args(["/nologo", "/machine:arm64", "/dll", "/noentry", "/nodefaultlib", "/export:conventions"]);
        link.args(["/out:image", "c.o", "o.o"]);
        link
    };
    check(folder.path(), clang, "aarch64-pc-windows-msvc", &["pe_image.c"], "conventions", &link);
}

#[test]
fn c_for_apple_silicon_agrees() {
    let Some([clang, linker]) = tools("Apple silicon", &["ld64.lld", "ld64.lld-14"]) else { return };
    let folder = tempfile::tempdir().unwrap();
    let link = || {
        let mut link = Command::new(linker);
        link.args(["-arch", "arm64", "-platform_version", "macos", "11.0", "11.0", "-dylib", "-o", "image"]);
        link.args(["c.o", "o.o"]);
        link
    };
    let loader = ["-DMACHO", "macho_image.c"];
    check(folder.path(), clang, "aarch64-apple-darwin", &loader, "_conventions", &link);
}
