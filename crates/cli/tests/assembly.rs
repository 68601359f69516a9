//! Checks `compile -S`: the system's assembler turns the text into the object that `compile -o` writes.

use kingpost_codegen::ALLOCATORS;
use object::read::elf::{ElfFile64, SectionHeader};
use object::{LittleEndian, Object, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget, SectionIndex, elf};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

const KINGPOST: &str = env!("CARGO_BIN_EXE_kingpost");

/// Functions whose names are registers or operators of an assembler, or no words at all.
const AWKWARD: &str = r#"
; data: %rsp align=8 rw = x"0011223344556677", &%and+8, zero=24
; data: %ptr align=4 ro = x"01"

function %eax(i64) -> i64 system_v {
    gv0 = symbol %rsp
    gv1 = symbol colocated %st
    gv2 = symbol %mod
    fn0 = %and(i64) -> i64 system_v
    fn1 = colocated %x0(i64) -> i64 system_v
    fn2 = colocated u1:2(i64) -> i64 system_v
block0(v0: i64):
    v1 = symbol_value.i64 gv0
    v2 = call fn0(v1)
    v3 = call fn1(v2)
    v4 = call fn2(v3)
    v5 = symbol_value.i64 gv1
    v6 = iadd v4, v5
    v7 = symbol_value.i64 gv2
    v8 = iadd v6, v7
    return v8
}

function %and(i64) -> i64 system_v {
    fn0 = colocated %and(i64) -> i64 system_v
block0(v0: i64):
    v1 = call fn0(v0)
    return v1
}

function %far(i32) -> i32 system_v {
block0(v0: i32):
    brif v0, block1, block2

block1:
    return v0

block2:
    v1 = iconst.i32 7
    return v1
}
"#;

/// Returns the assembler of a machine, with options for the instructions of all flags that tests set.
fn assembler(target: &str) -> (&'static str, &'static [&'static str]) {
    match target {
        "x86_64" => ("as", &["--64", "-mrelax-relocations=no"]),
        _ => ("aarch64-linux-gnu-as", &["-march=armv8.5-a+lse+fp16+dotprod"]),
    }
}

/// Collects all texts of functions in `folder` and its subfolders.
fn texts(folder: &Path, out: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            texts(&path, out);
        } else if path.extension().is_some_and(|extension| extension == "clif") {
            out.push(path);
        }
    }
}

/// Returns the text with `_number` appended to the names of its functions, so that one object can hold several such
/// texts.
fn renamed(text: &str, number: usize) -> String {
    let names: BTreeSet<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("function ")?.split_once('('))
        .filter_map(|(name, _)| name.strip_prefix('%'))
        .collect();
    names.iter().fold(text.to_string(), |text, name| text.replace(&format!("%{name}("), &format!("%{name}_{number}(")))
}

/// Properties by which two objects are compared.
#[derive(PartialEq, Eq, Debug)]
struct Facts {
    sections: BTreeMap<String, Section>,
    /// Section, offset, type, symbol or section, addend.
    relocations: BTreeSet<(String, u64, u32, String, i64)>,
    /// Name, section, value, size, kind, binding and visibility.
    symbols: BTreeSet<(String, String, u64, u64, String)>,
}

#[derive(PartialEq, Eq)]
struct Section {
    /// Kind, flags, alignment and size of entries.
    head: [u64; 4],
    size: u64,
    bytes: Vec<u8>,
}

impl fmt::Debug for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}, {} bytes", self.head, self.size)
    }
}

/// Returns the facts of every section that programs and debuggers may read.
fn facts(bytes: &[u8]) -> Facts {
    let file = ElfFile64::<LittleEndian>::parse(bytes).expect("an object");
    let section_name = |index: Option<SectionIndex>| {
        index.map(|index| file.section_by_index(index).unwrap().name().unwrap().to_string())
    };
    let mut facts = Facts { sections: BTreeMap::new(), relocations: BTreeSet::new(), symbols: BTreeSet::new() };
    for section in file.sections() {
        let (name, header) = (section.name().unwrap(), section.elf_section_header());
        let kind = header.sh_type(LittleEndian);
        // Assemblers always create `.text`, `.data` and `.bss`.
        let is_implied = [".text", ".data", ".bss"].contains(&name) && section.size() == 0;
        if is_implied || [elf::SHT_SYMTAB, elf::SHT_STRTAB, elf::SHT_RELA].contains(&kind) {
            continue;
        }
        let entries = header.sh_entsize(LittleEndian);
        let head = [kind.into(), header.sh_flags(LittleEndian), section.align(), entries];
        let bytes = section.data().unwrap().to_vec();
        let same_name = facts.sections.insert(name.into(), Section { head, size: section.size(), bytes });
        assert!(same_name.is_none(), "{name} twice");
        for (offset, relocation) in section.relocations() {
            let RelocationTarget::Symbol(index) = relocation.target() else { panic!("no symbol") };
            let symbol = file.symbol_by_index(index).unwrap();
            // An assembler replaces a local symbol by its section and an offset.
            let (target, addend) = match section_name(symbol.section_index()).filter(|_| symbol.is_local()) {
                Some(section) => (section, relocation.addend() + symbol.address() as i64),
                None => (symbol.name().unwrap().to_string(), relocation.addend()),
            };
            let RelocationFlags::Elf { r_type } = relocation.flags() else { panic!("no ELF") };
            // Linkers treat calls and jumps alike.
            let r_type = if r_type == elf::R_AARCH64_JUMP26 { elf::R_AARCH64_CALL26 } else { r_type };
            facts.relocations.insert((name.into(), offset, r_type, target, addend));
        }
    }
    for symbol in file.symbols().filter(|symbol| symbol.is_global() && symbol.is_definition()) {
        let (name, section) = (symbol.name().unwrap().into(), section_name(symbol.section_index()));
        let kind = format!("{:?} {:?}", symbol.kind(), symbol.flags());
        facts.symbols.insert((name, section.unwrap_or_default(), symbol.address(), symbol.size(), kind));
    }
    facts
}

/// Compiles `files` in both ways and compares the objects.
fn compare(folder: &Path, target: &str, options: &[&str], files: &[PathBuf]) {
    let (program, flags) = assembler(target);
    if Command::new(program).arg("--version").output().is_err() {
        assert!(std::env::var_os("KINGPOST_WITHOUT_TOOLS").is_some(), "{program}: `make deps` installs it");
        return;
    }
    let at = |name: &str| folder.join(format!("{target}.{name}"));
    let compile = |more: &[&str], out: &Path| {
        let mut command = Command::new(KINGPOST);
        command.args(["compile", "--keep-going", "--target", target]).args(options).args(more).arg("-o").arg(out);
        let output = command.args(files).output().expect("it starts");
        assert!(out.exists(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    compile(&[], &at("o"));
    compile(&["-S"], &at("s"));
    let output = Command::new(program).args(flags).arg("-o").arg(at("as.o")).arg(at("s")).output().expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let [ours, theirs] = ["o", "as.o"].map(|name| facts(&std::fs::read(at(name)).expect("written")));
    for (name, section) in &ours.sections {
        let other = theirs.sections.get(name).unwrap_or_else(|| panic!("{target} {options:?}: no {name}"));
        let first = section.bytes.iter().zip(&other.bytes).position(|(a, b)| a != b);
        assert!(section == other, "{target} {options:?} {name}: {section:?} and {other:?} differ at {first:?}");
    }
    let [own, other] = [&ours, &theirs].map(|facts| facts.sections.keys().collect::<Vec<_>>());
    assert_eq!(own, other, "{target} {options:?}");
    let odd: Vec<_> = ours.relocations.symmetric_difference(&theirs.relocations).take(10).collect();
    assert!(odd.is_empty(), "{target}: relocations differ: {odd:#?}");
    let odd: Vec<_> = ours.symbols.symmetric_difference(&theirs.symbols).take(10).collect();
    assert!(odd.is_empty(), "{target}: symbols differ: {odd:#?}");
    assert!(ours == theirs);
}

#[test]
fn the_assembler_makes_the_object_of_the_text() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut sources = Vec::new();
    texts(&root.join("filetests"), &mut sources);
    texts(&root.join("crates/demo/programs"), &mut sources);
    let copy = |(number, path): (usize, &PathBuf)| {
        let text = String::from_utf8_lossy(&std::fs::read(path).expect("a file")).into_owned();
        let copy = folder.path().join(format!("{number}.clif"));
        std::fs::write(&copy, renamed(&text, number)).expect("written");
        copy
    };
    let files: Vec<PathBuf> = sources.iter().enumerate().map(copy).collect();
    assert!(files.len() > 200);
    // By default an allocator gets one file of five, so that both targets see every file.
    let every = std::env::var("KINGPOST_EVERY").map_or(ALLOCATORS.len(), |every| every.parse().expect("a number"));
    for target in ["x86_64", "aarch64"] {
        for (number, (allocator, _)) in ALLOCATORS.iter().enumerate() {
            // Half of the allocators use each of these settings.
            let settings = [["opt_level=none", "is_pic=true"], ["opt_level=speed", "is_pic=false"]][number % 2];
            let mut options = vec!["--regalloc", allocator, "-g", "--trap-table"];
            options.extend(settings.iter().flat_map(|setting| ["--set", setting]));
            let files: Vec<PathBuf> = files.iter().skip(number % every).step_by(every).cloned().collect();
            compare(folder.path(), target, &options, &files);
        }
    }
}

#[test]
fn names_of_registers_and_operators_are_names() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("awkward.clif");
    std::fs::write(&path, AWKWARD).expect("written");
    for target in ["x86_64", "aarch64"] {
        for options in [&[][..], &["--set", "is_pic=false"], &["--set", "bb_padding_log2_minus_one=21"]] {
            compare(folder.path(), target, options, std::slice::from_ref(&path));
        }
    }
}

/// Compares objects with data of every section and code with every table, under settings that change their contents.
#[test]
fn unusual_objects_are_text_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("unusual.clif");
    std::fs::write(&path, include_str!("assembly.clif")).expect("written");
    let settings: [(&[&str], &[&str]); 6] = [
        (&["x86_64", "aarch64"], &["unwind_info=false", "debug_values"]),
        (&["x86_64", "aarch64"], &["bb_padding_log2_minus_one=3", "log2_min_function_alignment=7"]),
        (&["x86_64", "aarch64"], &["enable_probestack", "probestack_strategy=inline", "preserve_frame_pointers"]),
        (&["aarch64"], &["use_bti"]),
        (&["aarch64"], &["sign_return_address"]),
        (&["aarch64"], &["use_bti", "sign_return_address_all", "opt_level=speed"]),
    ];
    for (number, (targets, settings)) in settings.iter().enumerate() {
        for target in *targets {
            for (allocator, _) in kingpost_codegen::ALLOCATORS {
                let more = [&[][..], &["-g"], &["-g", "--trap-table"]][number % 3];
                let mut options = vec!["--regalloc", allocator, "--set", "tls_model=elf_gd"];
                options.extend(settings.iter().flat_map(|setting| ["--set", setting]).chain(more.iter().copied()));
                compare(folder.path(), target, &options, std::slice::from_ref(&path));
            }
        }
    }
}
