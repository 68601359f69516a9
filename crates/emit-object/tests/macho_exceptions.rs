//! Checks handlers of exceptions in Mach-O: `__eh_frame` and `__compact_unwind` refer to them and to the personality
//! routine, and exceptions of C++ land in them.
//!
//! The linker copies what `__compact_unwind` says to `__unwind_info`, and both tables of an image must have the same
//! handlers. The unwinder of this system reads `__eh_frame`, which LLVM's linker before version 15 copies without the
//! relocations of addresses. The test adds them.

use crate::exceptions::object;
use crate::macho::{MACHINES, Machine, linker, run};
use kingpost_codegen::ALLOCATORS;
use object::{Object, ObjectSection, ObjectSymbol, RelocationTarget};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Functions with handlers of every tag, by name.
const CATCHING: [&str; 2] = ["_catches", "_thin"];

#[test]
fn cpp_exceptions_land_in_handlers_of_images_for_x86_64() {
    check(&MACHINES[0]);
}

#[test]
fn cpp_exceptions_land_in_handlers_of_images_for_aarch64() {
    check(&MACHINES[1]);
}

fn check(machine: &Machine) {
    let Some(linker) = linker(machine) else { return };
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("run.cpp"), include_str!("exceptions.cpp").replace("int main()", "int run()")).unwrap();
    std::fs::write(at("loader.cpp"), include_str!("macho_exceptions.cpp")).unwrap();
    machine.loader(folder.path(), machine.cxx, "loader.cpp", &["run.cpp"]);
    let mut compact = 0;
    for (index, &(name, _)) in ALLOCATORS.iter().enumerate() {
        let written = object(machine.triple, name, |settings| settings.enable_compact_unwind_abi = index % 2 == 1);
        std::fs::write(at("o.o"), written).unwrap();
        run(Command::new("llvm-dwarfdump").args(["--verify", "--eh-frame"]).arg(at("o.o")));
        let link = || machine.link(linker, folder.path());
        run(link().args(["-dead_strip", "o.o", "-o", "image"]));
        let stripped = handlers_of_words(&unwind_info(&at("image")));
        run(link().args(["o.o", "-o", "image"]));
        relocate(&at("o.o"), &at("image"));
        let words = agree(&at("image"));
        assert_eq!(stripped.len(), words, "the linker keeps handlers");
        compact += words;
        machine.run(folder.path());
    }
    assert!(compact >= ALLOCATORS.len(), "{compact} functions with handlers have a word");
}

fn unwind_info(path: &Path) -> String {
    run(Command::new("llvm-objdump").args(["--macho", "--unwind-info"]).arg(path))
}

/// Adds relocations of addresses to `__eh_frame` of an image, unless the linker did it. The parts of its sections have
/// the order that they have in the object.
fn relocate(object: &Path, path: &Path) {
    let mut linked = std::fs::read(path).unwrap();
    let (object, bytes) = (std::fs::read(object).unwrap(), linked.clone());
    let (object, image) = (object::File::parse(&*object).unwrap(), object::File::parse(&*bytes).unwrap());
    let (from, to) = [&object, &image].map(|file| file.section_by_name("__eh_frame").unwrap()).into();
    // Symbols of the object are local, so the image does not have them.
    let address = |index| {
        let symbol = object.symbol_by_index(index).unwrap();
        let section = object.section_by_index(symbol.section_index().unwrap()).unwrap();
        let start = image.section_by_name(section.name().unwrap()).unwrap().address();
        start + symbol.address() - section.address()
    };
    let (before, start) = (from.data().unwrap(), to.file_range().unwrap().0 as usize);
    let field = |bytes: &[u8], at: usize| i32::from_le_bytes(bytes[at..][..4].try_into().unwrap());
    for (offset, relocation) in from.relocations() {
        let (offset, target) = (offset as usize, relocation.target());
        let (RelocationTarget::Symbol(target), true) = (target, relocation.subtractor().is_some()) else { continue };
        let added = field(before, offset);
        if field(&linked, start + offset) == added {
            let distance = (address(target) as i64 - to.address() as i64) as i32 + added;
            linked[start + offset..][..4].copy_from_slice(&distance.to_le_bytes());
        }
    }
    std::fs::write(path, linked).unwrap();
}

/// Checks the tables of an image and returns the number of functions whose handlers `__unwind_info` has.
fn agree(image: &Path) -> usize {
    let names = symbols(image);
    let words = unwind_info(image);
    let dwarf = run(Command::new("llvm-dwarfdump").arg("--eh-frame").arg(image));
    let (words, dwarf) = (handlers_of_words(&words), handlers_of_dwarf(&dwarf));
    for name in CATCHING {
        assert!(dwarf.contains_key(&names[name]), "{name}: {dwarf:x?}");
    }
    assert_eq!(dwarf.len(), CATCHING.len(), "{dwarf:x?}");
    for (function, handlers) in &words {
        assert_eq!(dwarf.get(function), Some(handlers), "function {function:x}: {words:x?} {dwarf:x?}");
    }
    words.len()
}

/// Returns the addresses of symbols.
fn symbols(image: &Path) -> BTreeMap<String, u64> {
    let text = run(Command::new("llvm-nm").arg(image));
    let line = |line: &str| {
        let mut words = line.split_whitespace();
        let address = u64::from_str_radix(words.next()?, 16).ok()?;
        Some((words.nth(1)?.to_string(), address))
    };
    text.lines().filter_map(line).collect()
}

/// Returns the number after a label in a line.
fn number(line: &str, label: &str) -> Option<u64> {
    let digits = line.split(label).nth(1)?.trim_start_matches("0x");
    let end = digits.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(digits.len());
    u64::from_str_radix(&digits[..end], 16).ok()
}

/// Returns the handlers of functions in `__unwind_info`.
fn handlers_of_words(text: &str) -> BTreeMap<u64, u64> {
    // The lines before are about parts of the table.
    let lines = text.split("LSDA descriptors:").nth(1).unwrap_or_default().lines();
    let line = |line: &str| Some((number(line, "function offset=")?, number(line, "LSDA offset=")?));
    let handlers: BTreeMap<_, _> = lines.filter_map(line).collect();
    assert!(handlers.is_empty() || text.contains("Personality functions: (count = 1)"), "{text}");
    handlers
}

/// Returns the handlers of functions in `__eh_frame`.
fn handlers_of_dwarf(text: &str) -> BTreeMap<u64, u64> {
    let (mut function, mut handlers) = (0, BTreeMap::new());
    for line in text.lines() {
        function = number(line, "pc=").unwrap_or(function);
        handlers.extend(number(line, "LSDA Address: ").map(|address| (function, address)));
    }
    handlers
}
