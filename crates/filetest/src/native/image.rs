//! Code for Windows on AArch64 as data of a program for Linux, which an emulator runs: no emulator at hand runs Windows on
//! AArch64. Code for macOS takes the same way (`macho_image.rs`).
//!
//! The object is linked to an image by a linker for Windows. The image becomes a data object, with pointers where the
//! image has base relocations and entries of its import table. The linker for Linux then finds the imports in the usual
//! libraries, and the driver makes the data executable.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use kingpost_emit_object::symbol_name;
use kingpost_mach::{DataObject, DataPointer, SymbolName};

use crate::native::build::Program;
use crate::native::machine::{TABLE, succeed};

/// Symbol of the image.
pub(crate) const IMAGE: &str = "kingpost_image";
/// Directories of the image, by number.
const EXPORTS: usize = 0;
const IMPORTS: usize = 1;
const RELOCATIONS: usize = 5;

/// Returns the image of an object for Windows on AArch64, and the driver's table, using files in `folder`.
///
/// # Errors
/// If a tool fails or warns, or the image is malformed.
pub(crate) fn link(program: &Program, object: &[u8], folder: &Path) -> Result<Vec<DataObject>, String> {
    let at = |name: &str| folder.join(name);
    let write = |name: &str, bytes: &[u8]| fs::write(at(name), bytes).map_err(|error| error.to_string());
    write("test.obj", object)?;
    let mut link = Command::new("lld-link");
    link.args(["/nologo", "/machine:arm64", "/dll", "/noentry", "/nodefaultlib"]);
    link.arg(format!("/export:{TABLE},data")).arg(format!("/out:{}", at("test.dll").display())).arg(at("test.obj"));
    let imports = imports(program);
    if !imports.is_empty() {
        let lines: Vec<&str> = imports.iter().map(String::as_str).collect();
        write("host.def", format!("LIBRARY host.dll\nEXPORTS\n{}\n", lines.join("\n")).as_bytes())?;
        let mut library = Command::new("llvm-dlltool");
        succeed(library.args(["-m", "arm64", "-d"]).arg(at("host.def")).arg("-l").arg(at("host.lib")))?;
        link.arg(at("host.lib"));
    }
    succeed(&mut link)?;
    let file = fs::read(at("test.dll")).map_err(|error| error.to_string())?;
    Ok(data_of(&file).ok_or("the image is malformed")?)
}

/// Returns the symbols that a program refers to and does not define.
pub(crate) fn imports(program: &Program) -> BTreeSet<String> {
    let functions = || program.module.functions();
    let defined: HashSet<&SymbolName> =
        functions().map(|f| &f.function.head.name).chain(program.data.iter().map(|data| &data.name)).collect();
    let in_data = program.data.iter().flat_map(|data| data.pointers.iter().map(|pointer| &pointer.symbol));
    let mentioned = functions().flat_map(|f| f.symbols).chain(in_data);
    let is_import = |name: &&SymbolName| !defined.contains(name) && !matches!(name, SymbolName::Literal(_));
    mentioned.filter(is_import).map(|name| symbol_name(name, &program.triple)).collect()
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

fn u16_at(bytes: &[u8], at: usize) -> Option<usize> {
    number(bytes, at).map(|bytes| u16::from_le_bytes(bytes).into())
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<usize> {
    number(bytes, at).map(|bytes| u32::from_le_bytes(bytes) as usize)
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    number(bytes, at).map(u64::from_le_bytes)
}

/// Returns the image and the driver's table as data objects; `None` if the image is malformed.
fn data_of(file: &[u8]) -> Option<Vec<DataObject>> {
    let optional = u32_at(file, 0x3c)? + 24;
    let mut image = vec![0; u32_at(file, optional + 56)?];
    let base = u64_at(file, optional + 24)?;
    let sections = optional + u16_at(file, optional - 4)?;
    // The driver reads the headers.
    let headers = u32_at(file, optional + 60)?;
    image.get_mut(..headers)?.copy_from_slice(file.get(..headers)?);
    for section in (0..u16_at(file, optional - 18)?).map(|index| sections + 40 * index) {
        let [size, rva, in_file, start] = [8, 12, 16, 20].map(|field| u32_at(file, section + field));
        let bytes = file.get(start?..start? + size?.min(in_file?))?;
        image.get_mut(rva?..rva? + bytes.len())?.copy_from_slice(bytes);
    }
    let directory = |index: usize| Some([0, 4].map(|field| u32_at(file, optional + 112 + 8 * index + field)));
    let mut pointers = BTreeMap::new();
    if let [Some(start), Some(size)] = directory(RELOCATIONS)? {
        relocations(&image, start..start + size, base, &mut pointers)?;
    }
    if let [Some(start), Some(size @ 1..)] = directory(IMPORTS)? {
        import_table(&image, start..start + size, &mut pointers)?;
    }
    let [Some(exports), _] = directory(EXPORTS)? else { return None };
    let ordinal = u16_at(&image, u32_at(&image, exports + 36)?)?;
    let table = u32_at(&image, u32_at(&image, exports + 28)? + 4 * ordinal)?;
    objects(image, pointers, table)
}

/// Returns an image as a data object, and a copy of the driver's table in it.
pub(crate) fn objects(image: Vec<u8>, pointers: Pointers, table: usize) -> Option<Vec<DataObject>> {
    let count = u64_at(&image, table)?;
    let entries = (1..=count as usize).map(|index| Some((8 * index, pointers.get(&(table + 8 * index))?.clone())));
    let entries = entries.collect::<Option<BTreeMap<_, _>>>()?;
    let mut table = count.to_le_bytes().to_vec();
    table.resize(8 * entries.len() + 8, 0);
    Some(vec![data(IMAGE, 1 << 14, image, pointers), data(TABLE, 8, table, entries)])
}

/// Symbols and distances from them, by offset.
pub(crate) type Pointers = BTreeMap<usize, (SymbolName, i64)>;

/// Adds the words with addresses in the image, whose first address is `base`.
fn relocations(image: &[u8], range: std::ops::Range<usize>, base: u64, pointers: &mut Pointers) -> Option<()> {
    let mut block = range.start;
    while block < range.end {
        let [page, size] = [u32_at(image, block)?, u32_at(image, block + 4)?];
        for entry in (8..size).step_by(2) {
            let word = u16_at(image, block + entry)?;
            match word >> 12 {
                0 => {}
                10 => {
                    let at = page + (word & 0xfff);
                    let distance = u64_at(image, at)?.wrapping_sub(base) as i64;
                    pointers.insert(at, (SymbolName::named(IMAGE), distance));
                }
                _ => return None,
            }
        }
        block += size.max(8);
    }
    Some(())
}

/// Adds the words with addresses of imports.
fn import_table(image: &[u8], range: std::ops::Range<usize>, pointers: &mut Pointers) -> Option<()> {
    for library in range.step_by(20).take_while(|&library| u32_at(image, library + 12).is_some_and(|name| name != 0)) {
        let [names, addresses] = [u32_at(image, library)?, u32_at(image, library + 16)?];
        let mut entry = 0;
        while let name @ 1.. = u64_at(image, names + entry)? {
            let bytes = image.get(name as usize + 2..)?;
            let text = std::str::from_utf8(bytes.split(|&byte| byte == 0).next()?).ok()?;
            pointers.insert(addresses + entry, (SymbolName::named(text), 0));
            entry += 8;
        }
    }
    Some(())
}

fn data(name: &str, align: u64, mut bytes: Vec<u8>, pointers: Pointers) -> DataObject {
    for &offset in pointers.keys() {
        bytes[offset..offset + 8].fill(0);
    }
    let pointers = pointers.into_iter();
    DataObject {
        placement: Default::default(),
        name: SymbolName::named(name),
        align,
        writable: true,
        tls: false,
        size: bytes.len() as u64,
        bytes,
        pointers: pointers
            .map(|(offset, (symbol, addend))| DataPointer { offset: offset as u64, symbol, addend })
            .collect(),
    }
}
