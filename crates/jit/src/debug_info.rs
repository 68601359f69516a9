//! Lines and variables of loaded functions as DWARF, for debuggers.

use crate::error::LoadError;
use crate::image::Image;
use crate::symbol_file::{DebugSection, symbol_text};
use gimli::LittleEndian;
use gimli::write::{Address, EndianVec, Sections};
use kingpost_codegen::DwarfRegisters;
use kingpost_debug_info::{Source, describe, is_wanted};
use kingpost_mach::ModuleBuffer;

/// The registers of this machine.
#[cfg(target_arch = "x86_64")]
pub(crate) const MACHINE: DwarfRegisters = DwarfRegisters::X86_64;

/// The registers of this machine.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) const MACHINE: DwarfRegisters = DwarfRegisters::AARCH64;

/// Returns the debug information of `module`, which is loaded in `image`, with addresses of the loaded code. There are
/// no sections without source locations and values. `file` is the source, and its name is relative to `folder`.
///
/// # Errors
/// If a name is empty or contains a zero byte, or if a section exceeds 4 GiB.
pub(crate) fn debug_sections(
    module: &ModuleBuffer,
    image: &Image,
    file: &str,
    folder: &str,
) -> Result<Vec<DebugSection>, LoadError> {
    let source = Source::new(file, folder).map_err(|invalid| LoadError::SourceName(invalid.0))?;
    if !is_wanted(module) {
        return Ok(Vec::new());
    }
    let functions: Vec<(String, Address)> =
        image.functions().map(|(address, _, name)| (symbol_text(name), Address::Constant(address as u64))).collect();
    let failed = |error: gimli::write::Error| LoadError::DebugInfo(error.to_string());
    let mut written = Sections::new(EndianVec::new(LittleEndian));
    describe(module, &functions, source, &MACHINE).write(&mut written).map_err(failed)?;
    let mut sections = Vec::new();
    written
        .for_each_mut(|id, section| {
            if !section.slice().is_empty() {
                sections.push((id.name(), section.take()));
            }
            Ok(())
        })
        .map_err(failed)?;
    Ok(sections)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::symbol_file::object_files;
    use gimli::{AttributeValue, EndianSlice, SectionId, constants};
    use kingpost_codegen::{Compiler, Settings};
    use kingpost_emit_object::ObjectOptions;
    use object::{Object, ObjectSection, ObjectSymbol, RelocationTarget};
    use std::collections::BTreeMap;
    use target_lexicon::Triple;

    const TEXT: &str = "
    function %first(i64) -> i64 system_v {
        sig0 = (i64) -> i64 system_v
        fn0 = %second sig0
    block0(v0: i64):
        @000a v1 = iconst.i64 3
        @000b v2 = imul v0, v1
        @000c v3 = call fn0(v2)
        @000d v4 = iadd v3, v0
        return v4
    }
    function %second(i64) -> i64 system_v {
    block0(v0: i64):
        @0014 v1 = f64const 0x1.4p1
        @0014 v2 = fcvt_to_sint_sat.i64 v1
        @0015 v3 = iadd v2, v0
        return v3
    }
    function %third() system_v {
    block0:
        return
    }";

    fn compile(text: &str) -> ModuleBuffer {
        let settings = Settings::default().with(|settings| settings.debug_values = true);
        let compiler = Compiler::new(&Triple::host(), settings, &[]).unwrap();
        let batch = compiler.compile_batch(&mut kingpost_reader::parse_functions(text).unwrap(), 1);
        assert!(batch.errors.is_empty(), "{:?}", batch.errors);
        batch.module
    }

    /// Begin and end of a range of offsets, and the place there.
    type Place = (u64, u64, Vec<u8>);

    /// Facts about a function that a reader of DWARF finds.
    #[derive(PartialEq, Eq, Debug)]
    struct Described {
        bytes: u64,
        /// Offset and line of each row of the line table.
        rows: Vec<(u64, u64)>,
        /// Name, type and places of each variable.
        variables: Vec<(String, String, Vec<Place>)>,
    }

    type Sections = BTreeMap<String, Vec<u8>>;

    /// Returns the debug information of a file, with relocations applied.
    fn sections(file: &[u8]) -> Sections {
        let file = object::File::parse(file).unwrap();
        let mut sections = Sections::new();
        for section in file.sections().filter(|section| section.name().unwrap().starts_with(".debug_")) {
            let mut bytes = section.data().unwrap().to_vec();
            for (offset, relocation) in section.relocations() {
                let RelocationTarget::Symbol(symbol) = relocation.target() else { panic!("{relocation:?}") };
                let value = file.symbol_by_index(symbol).unwrap().address() as i64 + relocation.addend();
                let (offset, size) = (offset as usize, usize::from(relocation.size()) / 8);
                bytes[offset..offset + size].copy_from_slice(&value.to_le_bytes()[..size]);
            }
            sections.insert(section.name().unwrap().into(), bytes);
        }
        sections
    }

    /// Returns the functions of debug information with their addresses.
    fn read(sections: &Sections) -> BTreeMap<String, (u64, Described)> {
        let load = |id: SectionId| {
            let bytes = sections.get(id.name()).map_or(&[][..], |bytes| bytes);
            Ok::<_, gimli::Error>(EndianSlice::new(bytes, LittleEndian))
        };
        let dwarf = gimli::Dwarf::load(load).unwrap();
        let header = dwarf.units().next().unwrap().unwrap();
        let unit = dwarf.unit(header).unwrap();
        let unit = unit.unit_ref(&dwarf);
        let text = |value| unit.attr_string(value).unwrap().to_string().unwrap().to_string();
        let mut rows = Vec::new();
        let (program, sequences) = unit.line_program.clone().unwrap().sequences().unwrap();
        for sequence in &sequences {
            let mut machine = program.resume_from(sequence);
            while let Some((header, row)) = machine.next_row().unwrap() {
                if !row.end_sequence() {
                    assert_eq!(text(row.file(header).unwrap().path_name()), "some.lang");
                    rows.push((row.address(), row.line().map_or(0, |line| line.get())));
                }
            }
        }
        let mut functions = BTreeMap::new();
        let mut tree = unit.entries_tree(None).unwrap();
        let root = tree.root().unwrap();
        assert_eq!(text(root.entry().attr_value(constants::DW_AT_comp_dir).unwrap()), "/some/folder");
        let mut entries = root.children();
        while let Some(function) = entries.next().unwrap() {
            let entry = function.entry();
            if entry.tag() != constants::DW_TAG_subprogram {
                continue;
            }
            let name = text(entry.attr_value(constants::DW_AT_name).unwrap());
            let Some(AttributeValue::Addr(start)) = entry.attr_value(constants::DW_AT_low_pc) else { panic!("{name}") };
            let bytes = entry.attr_value(constants::DW_AT_high_pc).unwrap().udata_value().unwrap();
            let rows = rows.iter().filter(|row| (start..start + bytes).contains(&row.0));
            let rows = rows.map(|&(address, line)| (address - start, line)).collect();
            let mut variables = Vec::new();
            let mut children = function.children();
            while let Some(child) = children.next().unwrap() {
                let entry = child.entry();
                let name = text(entry.attr_value(constants::DW_AT_name).unwrap());
                let Some(AttributeValue::UnitRef(ty)) = entry.attr_value(constants::DW_AT_type) else {
                    panic!("{name}")
                };
                let ty = text(unit.entry(ty).unwrap().attr_value(constants::DW_AT_name).unwrap());
                let places = match entry.attr_value(constants::DW_AT_location).unwrap() {
                    AttributeValue::Exprloc(place) => vec![(0, bytes, place.0.to_vec())],
                    list => {
                        let mut list = unit.attr_locations(list).unwrap().unwrap();
                        let mut places = Vec::new();
                        while let Some(entry) = list.next().unwrap() {
                            let range = (entry.range.begin - start, entry.range.end - start);
                            places.push((range.0, range.1, entry.data.0.to_vec()));
                        }
                        places
                    }
                };
                variables.push((name, ty, places));
            }
            functions.insert(name, (start, Described { bytes, rows, variables }));
        }
        functions
    }

    /// Checks that a reader finds the lines and variables of an object file, at the addresses of the loaded
    /// functions.
    #[test]
    fn debug_information_is_as_in_objects() {
        let module = compile(TEXT);
        let image = Image::load(&module, &[], &mut |_| None).unwrap();
        let written = debug_sections(&module, &image, "some.lang", "/some/folder").unwrap();
        let functions: Vec<(usize, usize, String)> =
            image.functions().map(|(address, bytes, name)| (address, bytes, symbol_text(name))).collect();
        let named: Vec<_> = functions.iter().map(|(address, bytes, name)| (*address, *bytes, name.as_str())).collect();
        let in_memory = read(&sections(&object_files(&named, &[], &written)[0]));
        let options = ObjectOptions::default().with(|options| {
            (options.source, options.folder) = ("some.lang".into(), "/some/folder".into());
        });
        let object = kingpost_emit_object::write(&Triple::host(), &module, &[], options).unwrap();
        let in_object = read(&sections(&object));
        assert_eq!(in_memory.len(), 3);
        for (address, bytes, name) in functions {
            let (start, described) = &in_memory[&name];
            assert_eq!((*start, described.bytes), (address as u64, bytes as u64));
            assert_eq!(described, &in_object[&name].1, "{name}");
        }
        let first = &in_memory["first"].1;
        let lines: Vec<u64> = first.rows.iter().map(|row| row.1).collect();
        assert!([11, 12, 13].iter().all(|line| lines.contains(line)), "{lines:?}");
        let named = |name: &str| first.variables.iter().find(|variable| variable.0 == name);
        assert!(["v0", "v2", "v3", "v4"].iter().all(|name| named(name).is_some_and(|v| !v.2.is_empty())), "{first:?}");
        // A constant has its bits.
        assert_eq!(
            named("v1").map(|v| v.2.clone()),
            Some(vec![(0, first.bytes, vec![0x9e, 8, 3, 0, 0, 0, 0, 0, 0, 0])])
        );
    }

    #[test]
    fn only_wanted_and_valid_information_is_written() {
        let plain = compile("function %plain() system_v { block0: return }");
        let image = Image::load(&plain, &[], &mut |_| None).unwrap();
        assert_eq!(debug_sections(&plain, &image, "a", ".").unwrap(), []);
        for (file, folder) in [("", "."), ("a", "b\0")] {
            let invalid = if file.is_empty() { file } else { folder };
            assert_eq!(debug_sections(&plain, &image, file, folder), Err(LoadError::SourceName(invalid.into())));
        }
    }
}
