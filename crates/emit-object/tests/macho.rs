//! Links Mach-O objects with LLVM's linker, reads them with its tools, and runs the images in a loader of ours: the
//! image for x86-64 in a process of this machine, and the image for AArch64 under the emulator. The parts that find
//! linkers and make loaders are for other tests of Mach-O as well.

use kingpost_codegen::module::{DataDescription, DataKind, Linkage, Module};
use kingpost_codegen::{ALLOCATORS, Compiler, Settings};
use kingpost_emit_object::{ObjectModule, ObjectOptions};
use kingpost_mach::{DataPointer, SymbolName};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use target_lexicon::Triple;

const FUNCTIONS: &str = include_str!("macho.clif");
const LINKERS: [&str; 2] = ["ld64.lld", "ld64.lld-14"];
/// The system library as the linker sees it.
pub(crate) const SYSTEM: &str = "--- !tapi-tbd
tbd-version: 4
targets: [ x86_64-macos, arm64-macos ]
install-name: '/usr/lib/libSystem.B.dylib'
exports:
  - targets: [ x86_64-macos, arm64-macos ]
    symbols: [ _add_10, _from_c, _of_many, _fill, ___divti3, _strlen, __tlv_bootstrap, dyld_stub_binder,
               ___cxa_begin_catch, ___cxa_end_catch, ___gxx_personality_v0 ]
...
";

/// A machine, and the commands that compile the loader for it and run it.
pub(crate) struct Machine {
    pub(crate) triple: &'static str,
    arch: &'static str,
    cc: &'static str,
    pub(crate) cxx: &'static str,
    link: &'static [&'static str],
    run: &'static [&'static str],
    /// Words that describe frames: with the link only, and with saved registers.
    frames: &'static [&'static str],
}

pub(crate) const MACHINES: [Machine; 2] = [
    Machine {
        triple: "x86_64-apple-darwin",
        arch: "x86_64",
        cc: "cc",
        cxx: "g++",
        link: &[],
        run: &[],
        frames: &["0x01000000", "0x01010001"],
    },
    Machine {
        triple: "aarch64-apple-darwin",
        arch: "arm64",
        cc: "aarch64-linux-gnu-gcc",
        cxx: "aarch64-linux-gnu-g++",
        link: &["-static"],
        run: &["qemu-aarch64"],
        frames: &["0x04000000", "0x04000001"],
    },
];

fn is_here(tool: &str) -> bool {
    Command::new(tool).arg("--version").output().is_ok()
}

/// Returns the linker, or `None` with a message if a tool is not installed.
pub(crate) fn linker(machine: &Machine) -> Option<&'static str> {
    let linker = LINKERS.into_iter().find(|linker| is_here(linker));
    let others = [machine.cc, machine.cxx, "llvm-objdump", "llvm-dwarfdump"];
    let missing = others.iter().chain(machine.run).copied().find(|tool| !is_here(tool));
    let can_run = cfg!(target_os = "linux") && (cfg!(target_arch = "x86_64") || !machine.run.is_empty());
    if linker.is_none() || missing.is_some() || !can_run {
        assert!(std::env::var_os("CI").is_none(), "CI has ld64.lld and {others:?}");
        eprintln!("SKIPPED: a test of Mach-O for {}: {}", machine.arch, missing.unwrap_or("no ld64.lld"));
        return None;
    }
    linker
}

pub(crate) fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && error.is_empty(), "{command:?}: {:?}\n{said}{error}", output.status);
    said
}

impl Machine {
    /// Makes the program `loader` of a folder from a source, which includes `macho_image.h`, and `others`.
    pub(crate) fn loader(&self, folder: &Path, compiler: &str, source: &str, others: &[&str]) {
        for (name, text) in
            [("macho_image.c", include_str!("macho_image.c")), ("macho_image.h", include_str!("macho_image.h"))]
        {
            std::fs::write(folder.join(name), text).unwrap();
        }
        run(Command::new(self.cc).current_dir(folder).args(["-O1", "-w", "-c", "macho_image.c"]));
        let mut link = Command::new(compiler);
        link.current_dir(folder).args(["-O1", "-w"]).args(self.link).args(others);
        run(link.args([source, "macho_image.o", "-o", "loader"]));
    }

    /// Returns the command that makes a dynamic library.
    pub(crate) fn link(&self, linker: &str, folder: &Path) -> Command {
        std::fs::write(folder.join("libSystem.tbd"), SYSTEM).unwrap();
        let mut link = Command::new(linker);
        link.current_dir(folder).args(["-arch", self.arch, "-platform_version", "macos", "11.0", "11.0", "-dylib"]);
        link.arg("libSystem.tbd");
        link
    }

    /// Runs `loader` of a folder on the library `image`.
    pub(crate) fn run(&self, folder: &Path) {
        let mut load = match self.run {
            [] => Command::new(folder.join("loader")),
            [emulator, ..] => {
                let mut load = Command::new(emulator);
                load.arg(folder.join("loader"));
                load
            }
        };
        run(load.arg(folder.join("image")));
    }
}

fn object(triple: &Triple, allocator: &str, compact: bool, options: ObjectOptions) -> Vec<u8> {
    let mut settings = Settings::default().with(|settings| settings.verify_each = true);
    settings.regalloc_algorithm = allocator.into();
    settings.set("tls_model", "macho").unwrap();
    settings.enable_compact_unwind_abi = compact;
    let mut m = ObjectModule::new(Compiler::new(triple, settings, &[]).unwrap(), options);
    let table = m.declare_data("table", Linkage::Export, DataKind::ReadOnly).unwrap();
    m.define_data(table, &DataDescription::bytes([100u64, 200].map(u64::to_le_bytes).concat())).unwrap();
    let pointers = ["doubles", "adds_10"].into_iter().enumerate();
    let pointers = pointers.map(|(index, name)| DataPointer {
        offset: 8 * index as u64,
        symbol: SymbolName::named(name),
        addend: 0,
    });
    let functions = m.declare_data("functions", Linkage::Export, DataKind::Writable).unwrap();
    m.define_data(functions, &DataDescription::bytes([0; 16]).with(|data| data.pointers = pointers.collect())).unwrap();
    let counter = m.declare_data("counter", Linkage::Local, DataKind::Writable).unwrap();
    m.define_data(counter, &DataDescription::zeros(8)).unwrap();
    let empty = m.declare_data("empty", Linkage::Export, DataKind::Writable).unwrap();
    m.define_data(empty, &DataDescription::zeros(0)).unwrap();
    let word = m.declare_data("word", Linkage::Local, DataKind::ReadOnly).unwrap();
    m.define_data(word, &DataDescription::bytes(*b"xxhello\0")).unwrap();
    let counter = m.declare_data("thread_counter", Linkage::Export, DataKind::ThreadLocal).unwrap();
    m.define_data(counter, &DataDescription::bytes(100u64.to_le_bytes())).unwrap();
    let zeros = m.declare_data("thread_zeros", Linkage::Local, DataKind::ThreadLocal).unwrap();
    m.define_data(zeros, &DataDescription::zeros(192).with(|data| data.align = 16)).unwrap();
    let pointer = m.declare_data("thread_pointer", Linkage::Hidden, DataKind::ThreadLocal).unwrap();
    let to_table = vec![DataPointer { offset: 0, symbol: SymbolName::named("table"), addend: 8 }];
    m.define_data(pointer, &DataDescription::zeros(8).with(|data| data.pointers = to_table)).unwrap();
    for mut f in kingpost_reader::parse_functions(FUNCTIONS).unwrap() {
        let name = f.name.to_string()[1..].to_string();
        let linkage = match &*name {
            "doubles" => Linkage::Preemptible,
            "adds_10" => Linkage::Hidden,
            _ => Linkage::Export,
        };
        f.signature.call_conv = m.compiler().call_conv();
        f.dfg.signatures.values_mut().for_each(|signature| signature.call_conv = m.compiler().call_conv());
        let id = m.declare_function(&name, linkage, &f.signature).unwrap();
        m.define_function(id, &mut f).unwrap();
    }
    m.finish().unwrap()
}

/// Returns an object of a library that defines a thread-local symbol.
fn library(triple: &Triple) -> Vec<u8> {
    let mut m = ObjectModule::new(Compiler::new(triple, Settings::default(), &[]).unwrap(), ObjectOptions::default());
    let data = m.declare_data("of_host", Linkage::Export, DataKind::ThreadLocal).unwrap();
    m.define_data(data, &DataDescription::zeros(8)).unwrap();
    m.finish().unwrap()
}

fn check(machine: &Machine) {
    let Some(linker) = linker(machine) else { return };
    let triple: Triple = machine.triple.parse().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("loader.c"), include_str!("macho_loader.c")).unwrap();
    machine.loader(folder.path(), machine.cc, "loader.c", &[]);
    let link = || machine.link(linker, folder.path());
    std::fs::write(at("host.o"), library(&triple)).unwrap();
    run(link().args(["host.o", "-o", "host.dylib"]));
    let mut words = BTreeSet::new();
    for (index, (allocator, _)) in ALLOCATORS.iter().enumerate() {
        let options = ObjectOptions::default().with(|options| options.trap_table = true);
        std::fs::write(at("o.o"), object(&triple, allocator, index % 2 == 1, options)).unwrap();
        let described = run(Command::new("llvm-objdump").args(["--macho", "--unwind-info"]).arg(at("o.o")));
        words.extend(
            described.lines().filter_map(|line| line.split("compact encoding:").nth(1)).map(|w| w.trim().to_string()),
        );
        read(&at("o.o"), index == 0);
        let strip: &[&str] = if index == 0 { &["-dead_strip"] } else { &[] };
        run(link().args(strip).args(["o.o", "host.dylib", "-o", "image"]));
        let frames = run(Command::new("llvm-objdump").args(["--macho", "--unwind-info"]).arg(at("image")));
        let link_only = machine.frames[0];
        assert!(frames.contains(&format!("]: {link_only}")), "no {link_only}: {frames}");
        machine.run(folder.path());
    }
    let missing: Vec<_> = machine.frames.iter().filter(|word| !words.contains(**word)).collect();
    assert!(missing.is_empty(), "no {missing:?}: {words:?}");
}

/// Reads an object with LLVM's tools.
fn read(path: &Path, with_debug: bool) {
    let headers = run(Command::new("llvm-objdump").args(["--macho", "--private-headers"]).arg(path));
    for text in
        ["SUBSECTIONS_VIA_SYMBOLS", "__eh_frame", "__kp_traps", "__literal8", "__debug_line", "LC_BUILD_VERSION"]
    {
        assert!(headers.contains(text), "no {text}: {headers}");
    }
    let relocations = run(Command::new("llvm-objdump").args(["--macho", "-r"]).arg(path));
    assert!(relocations.contains("SUB") || relocations.contains("_RELOC_SUBTRACTOR"), "{relocations}");
    if with_debug {
        run(Command::new("llvm-dwarfdump").args(["--verify"]).arg(path));
        let frames = run(Command::new("llvm-dwarfdump").arg("--eh-frame").arg(path));
        assert!(frames.contains("FDE"), "{frames}");
    }
}

#[test]
fn images_for_x86_64_run() {
    check(&MACHINES[0]);
}

#[test]
fn images_for_aarch64_run() {
    check(&MACHINES[1]);
}
