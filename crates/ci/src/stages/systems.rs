//! Other operating systems: all crates compile for them, objects run there, and code in memory and the tool run on Windows, by Wine.
//! Images for macOS, and for Windows on AArch64, run in loaders of the tests.

use crate::cargo::{TestProgram, cargo};
use crate::output;
use crate::session::Session;
use crate::stages::demo;
use crate::stages::emulated::has_standard_library;
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Systems beside Linux on x86-64.
const TARGETS: [&str; 6] =
    ["x86_64-pc-windows-gnu", WINDOWS_MSVC, "aarch64-pc-windows-msvc", "x86_64-apple-darwin", MACOS, LINUX_AARCH64];
const WINDOWS_MSVC: &str = "x86_64-pc-windows-msvc";
const MACOS: &str = "aarch64-apple-darwin";
const LINUX_AARCH64: &str = "aarch64-unknown-linux-gnu";

/// The system whose programs run here.
const WINDOWS: &str = TARGETS[0];

const COMPILER: &str = "x86_64-w64-mingw32-gcc";
const WINE: &str = "wine";

/// A library that Rust's standard library needs and that Wine 8 lacks.
const RANDOM: &str = "#include <windows.h>
BOOLEAN NTAPI SystemFunction036(void *, unsigned long);
__declspec(dllexport) BOOL WINAPI ProcessPrng(unsigned char *data, size_t size) {
    return SystemFunction036(data, size);
}
";

/// The package whose tests run files.
const PACKAGE: &str = "kingpost-filetest";

/// Folder of programs in CLIF.
const PROGRAMS: &str = "crates/bench/kernels";

pub(crate) fn run(session: &mut Session) -> Result<()> {
    for target in TARGETS {
        if has_standard_library(session, target, &format!("compilation for {target}"))? {
            session.run(&mut cargo(&["check", "--workspace", "--target", target]))?;
            session.count("systems", 1);
        }
    }
    files(session)?;
    programs(session)?;
    other_linker(session)?;
    let subject = "code in memory on Windows";
    if session.has_tools(&[COMPILER, WINE], subject)? && has_standard_library(session, WINDOWS, subject)? {
        windows(session)?;
    }
    Ok(())
}

/// Runs all files of `filetests/run` as objects for other systems.
fn files(session: &mut Session) -> Result<()> {
    let programs = &session.build()?.tests;
    let is_wanted =
        |program: &&TestProgram| program.package == PACKAGE && program.target.iter().any(|word| word == "all");
    let program = programs.iter().find(is_wanted).context("no tests of files")?.clone();
    let mut command = session.limited(&program.path);
    command.args(["--show-output", "systems::"]).current_dir(&program.folder);
    command.env("CARGO_MANIFEST_DIR", &program.folder).env("KINGPOST_CASES", "1");
    let text = session.run(&mut command)?;
    let units = text.lines().filter_map(|line| line.strip_suffix(" units")?.rsplit(' ').next()?.parse::<u64>().ok());
    session.count("units passed", units.sum());
    output::skipped(&text).into_iter().for_each(|what| session.skip(what));
    Ok(())
}

/// Compiles the programs of the demo for other systems, runs them, and compares what they say.
fn programs(session: &mut Session) -> Result<()> {
    if session
        .has_tools(&["cc", "sha256sum", "base64", "sort", "factor", "cmp", "awk"], "programs for other systems")?
    {
        demo::programs(session, "demo-systems", &["--systems"])?;
    }
    Ok(())
}

/// Makes images of objects for macOS with Zig's linker, which shares nothing with the one that other tests use.
fn other_linker(session: &mut Session) -> Result<()> {
    let zig = |words: &[&str]| {
        let mut command = Command::new("python3");
        command.args(["-m", "ziglang"]).args(words);
        command
    };
    if !zig(&["version"]).output().is_ok_and(|output| output.status.success()) {
        session.skip("Zig's linker for macOS: `pip install ziglang` installs it");
        return Ok(());
    }
    let folder = session.scratch.join("zig");
    fs::create_dir_all(&folder).context("a folder for images")?;
    let (object, image) = (folder.join("program.o"), folder.join("program.dylib"));
    for architecture in ["x86_64", "aarch64"] {
        for program in kernels()? {
            let mut compile = session.program("kingpost")?;
            compile.args(["compile", "-O", "speed", "--target", &format!("{architecture}-apple-darwin")]);
            session.run(compile.arg(&program).arg("-o").arg(&object))?;
            let mut link = zig(&["cc", "-shared", "-target", &format!("{architecture}-macos")]);
            session.run(link.arg(&object).arg("-o").arg(&image))?;
            session.run(Command::new("llvm-dwarfdump").args(["--verify", "--eh-frame"]).arg(&image))?;
            session.count("images by Zig's linker", 1);
        }
    }
    Ok(())
}

/// Returns programs in CLIF, in the order of their names.
fn kernels() -> Result<Vec<PathBuf>> {
    let mut programs: Vec<PathBuf> =
        fs::read_dir(PROGRAMS).context(PROGRAMS)?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    programs.retain(|path| path.extension().is_some_and(|extension| extension == "clif"));
    programs.sort();
    Ok(programs)
}

/// Runs the tests of code in memory, and compares what the tool on Windows writes with what it writes here.
fn windows(session: &mut Session) -> Result<()> {
    let folder = session.scratch.join("windows");
    fs::create_dir_all(&folder).context("a folder for Wine")?;
    let source = folder.join("random.c");
    fs::write(&source, RANDOM).context("the source of a library")?;
    let mut compile = Command::new(COMPILER);
    compile.arg("-shared").arg(&source).arg("-o").arg(folder.join("bcryptprimitives.dll")).arg("-ladvapi32");
    session.run(&mut compile)?;
    let words = ["test", "--target", WINDOWS, "--package", "kingpost-jit", "--lib", "--tests"];
    let text = session.run(on_windows(&mut cargo(&words), &folder))?;
    session.count("tests", output::tests(&text).0);

    let words = ["build", "--target", WINDOWS, "--package", "kingpost-cli", "--package", "kingpost-capi"];
    session.run(on_windows(&mut cargo(&words), &folder))?;
    let build = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| session.root.join("target"), PathBuf::from);
    let built = build.join(WINDOWS).join("debug");
    dll(session, &folder, &built.join("libkingpost_capi.a"))?;
    let foreign = built.join("kingpost.exe");
    let programs = kernels()?;
    for target in [WINDOWS, LINUX_AARCH64, MACOS] {
        for program in &programs {
            let mut objects = Vec::new();
            let mut there = Command::new(WINE);
            there.arg(&foreign);
            for (mut command, name) in [(there, "there.o"), (session.program("kingpost")?, "here.o")] {
                let object = folder.join(name);
                command.args(["compile", "--target", target]).arg(program).arg("-o").arg(&object);
                session.run(on_windows(&mut command, &folder))?;
                objects.push(fs::read(&object).context("an object")?);
            }
            ensure!(objects[0] == objects[1], "{}: the tool on Windows writes another object", program.display());
            session.count("equal objects", 1);
        }
    }
    Ok(())
}

/// Programs in C that call the library, below `crates/capi`, and the last line that each prints.
const CLIENTS: [(&str, &str); 2] = [("examples/fib.c", "fib(50) = 12586269025"), ("tests/misuse.c", ", 0 wrong")];

/// Installs the C interface for Windows from a static library, and runs programs with its DLL.
fn dll(session: &mut Session, folder: &Path, library: &Path) -> Result<()> {
    let (prefix, source) = (folder.join("installed"), Path::new("crates/capi"));
    session.run(Command::new("sh").arg(source.join("install.sh")).arg(library).arg(&prefix).env("CC", COMPILER))?;
    for (client, last) in CLIENTS {
        let program = prefix.join("bin/client.exe");
        let mut compile = Command::new(COMPILER);
        compile.args(["-std=c99", "-O1", "-I"]).arg(prefix.join("include")).arg(source.join(client)).arg("-L");
        compile.arg(prefix.join("lib")).args(["-lkingpost", "-Wl,-Bstatic", "-lpthread", "-o"]).arg(&program);
        session.run(&mut compile)?;
        let text = session.run(on_windows(Command::new(WINE).arg(&program), folder))?;
        ensure!(text.trim_end().ends_with(last), "{client} with the DLL: {text}");
        session.count("programs with the DLL", 1);
    }
    Ok(())
}

/// Makes a command link programs for Windows, and run them by Wine with its files in `folder`.
fn on_windows<'a>(command: &'a mut Command, folder: &Path) -> &'a mut Command {
    command.env("CARGO_TARGET_X86_64_PC_WINDOWS_GNU_LINKER", COMPILER);
    command.env("CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER", WINE);
    command.env("WINEPREFIX", folder.join("wine")).env("WINEPATH", folder).env("WINEDEBUG", "-all")
}
