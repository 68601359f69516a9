//! Code for macOS as data of a program for Linux: no machine at hand runs macOS.
//!
//! The object is linked to an image by LLVM's linker. The image becomes a data object, with pointers where the opcodes of
//! the dynamic loader write addresses. The linker for Linux then finds the imports in the usual libraries, and the driver
//! makes the data executable.

use std::fs;
use std::path::Path;
use std::process::Command;

use kingpost_mach::{DataObject, SymbolName};

use crate::native::build::Program;
use crate::native::image::{IMAGE, Pointers, imports, objects, u32_at, u64_at};
use crate::native::machine::{MACHO_LINKERS, TABLE, is_here, succeed};

const SEGMENT: usize = 0x19;
const SYMBOLS: usize = 2;
const DYLD_INFO: usize = 0x8000_0022;
/// A routine of the dynamic loader that binds imports on first use. All are bound from the start.
const BINDER: &str = "dyld_stub_binder";

/// Returns the image of an object for macOS, and the driver's table, using files in `folder`.
///
/// # Errors
/// If a tool fails or warns, or the image is malformed.
pub(crate) fn link(program: &Program, object: &[u8], folder: &Path) -> Result<Vec<DataObject>, String> {
    let at = |name: &str| folder.join(name);
    let write = |name: &str, bytes: &[u8]| fs::write(at(name), bytes).map_err(|error| error.to_string());
    write("macho.o", object)?;
    let symbols: Vec<String> = imports(program).into_iter().chain([BINDER.into()]).collect();
    let library = format!(
        "--- !tapi-tbd\ntbd-version: 4\ntargets: [ x86_64-macos, arm64-macos ]\n\
         install-name: '/usr/lib/libSystem.B.dylib'\nexports:\n  - targets: [ x86_64-macos, arm64-macos ]\n    \
         symbols: [ {} ]\n...\n",
        symbols.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ")
    );
    write("libSystem.tbd", library.as_bytes())?;
    let linker = MACHO_LINKERS.into_iter().find(|linker| is_here(linker)).ok_or("there is no ld64.lld")?;
    let machine = if program.triple.architecture.to_string() == "aarch64" { "arm64" } else { "x86_64" };
    let mut link = Command::new(linker);
    link.args(["-arch", machine, "-platform_version", "macos", "11.0", "11.0", "-dylib", "-o"]).arg(at("macho"));
    succeed(link.arg(at("macho.o")).arg(at("libSystem.tbd")))?;
    let file = fs::read(at("macho")).map_err(|error| error.to_string())?;
    Ok(data_of(&file).ok_or("the image is malformed")?)
}

/// Returns the image and the driver's table as data objects; `None` if the image is malformed.
fn data_of(file: &[u8]) -> Option<Vec<DataObject>> {
    let (mut image, mut segments, mut pointers) = (Vec::new(), Vec::new(), Pointers::new());
    for (kind, at) in commands(file)? {
        if kind != SEGMENT {
            continue;
        }
        let [address, size, start, bytes] = [24, 32, 40, 48].map(|field| u64_at(file, at + field));
        let (address, start) = (address? as usize, start? as usize);
        segments.push(address);
        // The last segment is for the loader only, and cannot be accessed.
        if file.get(at + 8..)?.starts_with(b"__LINKEDIT\0") {
            continue;
        }
        image.resize(image.len().max(address + size? as usize), 0);
        let bytes = file.get(start..start + bytes? as usize)?;
        image.get_mut(address..address + bytes.len())?.copy_from_slice(bytes);
    }
    let mut table = None;
    for (kind, at) in commands(file)? {
        let area = |field| {
            let [start, size] = [field, field + 4].map(|field| u32_at(file, at + field));
            file.get(start?..start? + size?)
        };
        match kind {
            DYLD_INFO => {
                rebase(area(8)?, &segments, &image, &mut pointers)?;
                bind(area(16)?, &segments, false, &mut pointers)?;
                bind(area(32)?, &segments, true, &mut pointers)?;
            }
            SYMBOLS => table = symbol(file, at, &format!("_{TABLE}")),
            _ => {}
        }
    }
    objects(image, pointers, table?)
}

/// Returns the kind and the offset of each load command.
fn commands(file: &[u8]) -> Option<Vec<(usize, usize)>> {
    let (mut commands, mut at) = (Vec::new(), 32);
    for _ in 0..u32_at(file, 16)? {
        commands.push((u32_at(file, at)?, at));
        at += u32_at(file, at + 4)?.max(8);
    }
    Some(commands)
}

/// Returns the address of a symbol.
fn symbol(file: &[u8], command: usize, name: &str) -> Option<usize> {
    let [symbols, count, strings] = [8, 12, 16].map(|field| u32_at(file, command + field));
    let entries = (0..count?).map(|index| symbols.map(|symbols| symbols + 16 * index));
    for entry in entries {
        let text = file.get(strings? + u32_at(file, entry?)?..)?;
        let is_defined = file.get(entry? + 4)? & 14 == 14;
        if is_defined && text.split(|&byte| byte == 0).next()? == name.as_bytes() {
            return Some(u64_at(file, entry? + 8)? as usize);
        }
    }
    None
}

/// Opcodes of the loader, and the place that they have reached.
struct Opcodes<'a> {
    bytes: &'a [u8],
    segments: &'a [usize],
    place: usize,
}

impl<'a> Opcodes<'a> {
    fn next(&mut self) -> Option<usize> {
        let (&first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(first.into())
    }

    /// Returns a number of 7 bits in each byte.
    fn leb(&mut self) -> Option<usize> {
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte = self.next()?;
            value |= (byte & 127).checked_shl(shift)?;
            shift += 7;
            if byte < 128 {
                return Some(value);
            }
        }
    }

    fn text(&mut self) -> Option<&'a str> {
        let end = self.bytes.iter().position(|&byte| byte == 0)?;
        let (text, rest) = self.bytes.split_at(end);
        self.bytes = &rest[1..];
        std::str::from_utf8(text).ok()
    }

    fn start_at(&mut self, segment: usize) -> Option<()> {
        self.place = self.segments.get(segment)?.wrapping_add(self.leb()?);
        Some(())
    }

    fn skip(&mut self, bytes: usize) {
        self.place = self.place.wrapping_add(bytes);
    }
}

/// Adds the words with addresses in the image, whose first address is 0.
fn rebase(bytes: &[u8], segments: &[usize], image: &[u8], pointers: &mut Pointers) -> Option<()> {
    let mut at = Opcodes { bytes, segments, place: 0 };
    while let Some(op) = at.next() {
        let low = op & 15;
        let (count, skip) = match op >> 4 {
            0 => return Some(()),
            1 => continue,
            2 => {
                at.start_at(low)?;
                continue;
            }
            3 => {
                let bytes = at.leb()?;
                at.skip(bytes);
                continue;
            }
            4 => {
                at.skip(8 * low);
                continue;
            }
            5 => (low, 0),
            6 => (at.leb()?, 0),
            7 => (1, at.leb()?),
            8 => (at.leb()?, at.leb()?),
            _ => return None,
        };
        for _ in 0..count {
            let distance = u64_at(image, at.place)? as i64;
            pointers.insert(at.place, (SymbolName::named(IMAGE), distance));
            at.skip(8usize.wrapping_add(skip));
        }
    }
    Some(())
}

/// Adds the words with addresses of imports. In the list of lazy ones, zeros separate the imports.
fn bind(bytes: &[u8], segments: &[usize], is_lazy: bool, pointers: &mut Pointers) -> Option<()> {
    let mut at = Opcodes { bytes, segments, place: 0 };
    let (mut name, mut addend) = ("", 0);
    while let Some(op) = at.next() {
        let low = op & 15;
        let (count, skip) = match op >> 4 {
            0 if is_lazy => continue,
            0 => return Some(()),
            1 | 3 | 5 => continue,
            2 => {
                at.leb()?;
                continue;
            }
            4 => {
                name = at.text()?;
                continue;
            }
            6 => {
                addend = at.leb()? as i64;
                continue;
            }
            7 => {
                at.start_at(low)?;
                continue;
            }
            8 => {
                let bytes = at.leb()?;
                at.skip(bytes);
                continue;
            }
            9 => (1, 0),
            10 => (1, at.leb()?),
            11 => (1, 8 * low),
            12 => (at.leb()?, at.leb()?),
            _ => return None,
        };
        for _ in 0..count {
            if name != BINDER {
                pointers.insert(at.place, (SymbolName::named(name.strip_prefix('_')?), addend));
            }
            at.skip(8usize.wrapping_add(skip));
        }
    }
    Some(())
}
