//! Programs for other systems: Windows on x86-64 by MinGW's linker and Wine; Windows on AArch64 and macOS as images that
//! LLVM's linkers make, and that a program of the tests of `kingpost-emit-object` runs on Linux.
//!
//! Sources have the convention of Linux in their signatures. It is replaced by the convention of the system.

use crate::machine::{Machine, System, is_there, run};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const QEMU: Option<&str> = Some("qemu-aarch64");

/// The systems, with the tools for their programs. `cc` compiles the loader of an image.
pub(crate) const MACHINES: [Machine; 4] = [
    Machine {
        target: "x86_64-pc-windows-gnu",
        flags: &["--set", "has_ssse3"],
        cc: "x86_64-w64-mingw32-gcc",
        link: &[],
        size: "llvm-size",
        emulator: Some("wine"),
        system: Some((System::Mingw, "windows_fastcall")),
    },
    Machine {
        target: "aarch64-pc-windows-msvc",
        flags: &[],
        cc: "aarch64-linux-gnu-gcc",
        link: &["-static", "-ffixed-x18"],
        size: "llvm-size",
        emulator: QEMU,
        system: Some((System::Pe, "windows_fastcall")),
    },
    Machine {
        target: "x86_64-apple-darwin",
        flags: &["--set", "has_ssse3"],
        cc: "cc",
        link: &[],
        size: "llvm-size",
        emulator: None,
        system: Some((System::MachO("x86_64"), "system_v")),
    },
    Machine {
        target: "aarch64-apple-darwin",
        flags: &[],
        cc: "aarch64-linux-gnu-gcc",
        link: &["-static", "-ffixed-x18"],
        size: "llvm-size",
        emulator: QEMU,
        system: Some((System::MachO("arm64"), "apple_aarch64")),
    },
];

/// Functions of the C library that the programs call.
const IMPORTS: [&str; 8] = ["read", "write", "malloc", "calloc", "realloc", "free", "memcpy", "memset"];
const MACHO_LINKERS: [&str; 2] = ["ld64.lld", "ld64.lld-14"];

/// Words before the name of a program that run it, and the program.
pub(crate) struct Linked {
    pub(crate) before: Vec<PathBuf>,
    pub(crate) program: PathBuf,
    /// The name of the first function, for a loader.
    pub(crate) after: Option<&'static str>,
}

/// Returns a tool that is not installed, beside the ones of the machine, or the machine that runs the programs.
pub(crate) fn missing(system: System) -> Option<&'static str> {
    match system {
        System::Mingw => None,
        System::Pe => ["lld-link", "llvm-dlltool", "llvm-mc"].into_iter().find(|tool| !is_there(tool)),
        System::MachO("x86_64") if cfg!(not(all(target_os = "linux", target_arch = "x86_64"))) => {
            Some("Linux on x86-64")
        }
        System::MachO(_) => MACHO_LINKERS.iter().all(|tool| !is_there(tool)).then_some(MACHO_LINKERS[0]),
    }
}

/// Returns copies of the sources with the convention of a system, in `out`.
pub(crate) fn sources(sources: &[PathBuf], machine: &Machine, out: &Path) -> Result<Vec<PathBuf>> {
    let Some((_, convention)) = machine.system else { return Ok(sources.to_vec()) };
    let folder = out.join(machine.target);
    fs::create_dir_all(&folder)?;
    let copy = |source: &PathBuf| {
        let copy = folder.join(source.file_name().context("a source has a name")?);
        fs::write(&copy, fs::read_to_string(source)?.replace("system_v", convention))?;
        Ok(copy)
    };
    sources.iter().map(copy).collect()
}

/// Makes a program of an object for another system.
pub(crate) fn link(machine: &Machine, system: System, object: &Path, binary: &Path, out: &Path) -> Result<Linked> {
    let emulator = || machine.emulator.map(PathBuf::from);
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("the crate is in a folder")?;
    let folder = out.join(machine.target);
    let (sources, entry) = match system {
        System::Mingw => {
            let mut cc = Command::new(machine.cc);
            cc.args(["-O1", "-Wl,--fatal-warnings"]).arg(object).arg(crates.join("demo/programs/windows.c"));
            let program = binary.with_extension("exe");
            run(cc.arg("-o").arg(&program))?;
            return Ok(Linked { before: emulator().into_iter().collect(), program, after: None });
        }
        System::Pe => {
            link_pe(&folder, crates, object, binary)?;
            (&["pe_image.c"][..], "main")
        }
        System::MachO(architecture) => {
            link_macho(&folder, architecture, object, binary)?;
            (&["-DMACHO", "macho_image.c"][..], "_main")
        }
    };
    let loader = folder.join("loader");
    if !loader.exists() {
        let mut cc = Command::new(machine.cc);
        cc.current_dir(crates.join("emit-object/tests")).args(["-O1", "-w", "run_image.c"]).args(sources);
        run(cc.args(machine.link).arg("-o").arg(&loader))?;
    }
    let before = emulator().into_iter().chain([loader]).collect();
    Ok(Linked { before, program: binary.into(), after: Some(entry) })
}

fn link_pe(folder: &Path, crates: &Path, object: &Path, binary: &Path) -> Result<()> {
    let at = |name: &str| folder.join(name);
    if !at("host.lib").exists() {
        fs::write(at("host.def"), format!("LIBRARY host.dll\nEXPORTS\n{}\n", IMPORTS.join("\n")))?;
        let mut runtime = Command::new("llvm-mc");
        runtime.args(["-triple=aarch64-pc-windows-msvc", "-filetype=obj"]);
        run(runtime.arg(crates.join("emit-object/tests/arm64_runtime.s")).arg("-o").arg(at("runtime.o")))?;
        let mut library = Command::new("llvm-dlltool");
        run(library.args(["-m", "arm64", "-d"]).arg(at("host.def")).arg("-l").arg(at("host.lib")))?;
    }
    let mut link = Command::new("lld-link");
    link.args(["/nologo", "/machine:arm64", "/dll", "/noentry", "/nodefaultlib", "/export:main"]);
    link.arg(format!("/out:{}", binary.display())).arg(object).arg(at("runtime.o")).arg(at("host.lib"));
    run(&mut link)
}

fn link_macho(folder: &Path, architecture: &str, object: &Path, binary: &Path) -> Result<()> {
    let library = folder.join("libSystem.tbd");
    let symbols: Vec<String> = IMPORTS.iter().map(|name| format!("_{name}")).collect();
    let text = format!(
        "--- !tapi-tbd\ntbd-version: 4\ntargets: [ {architecture}-macos ]\n\
         install-name: '/usr/lib/libSystem.B.dylib'\nexports:\n  - targets: [ {architecture}-macos ]\n    \
         symbols: [ {}, dyld_stub_binder ]\n...\n",
        symbols.join(", ")
    );
    fs::write(&library, text)?;
    let linker = MACHO_LINKERS.into_iter().find(|tool| is_there(tool)).context("there is no ld64.lld")?;
    let mut link = Command::new(linker);
    link.args(["-arch", architecture, "-platform_version", "macos", "11.0", "11.0", "-dylib", "-o"]);
    let output = link.arg(binary).arg(object).arg(&library).output()?;
    ensure!(output.status.success() && output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}
