//! Source locations as DWARF (version 4): `.debug_line`, and what debuggers need to find it.
//!
//! A source location is a number; it becomes the number of a line in one file, which the caller names. There is one
//! unit with a name and a range for each function.

use crate::relocated::Relocated;
use gimli::write::{
    Address, AttributeValue, Dwarf, LineProgram, LineString, Range, RangeList, Result, Sections, Unit, UnitId,
};
use gimli::{Encoding, Format, LineEncoding, constants};
use kingpost_mach::{FunctionView, ModuleBuffer};

/// Does any function have source locations?
pub(crate) fn is_wanted(module: &ModuleBuffer) -> bool {
    module.functions().any(|f| !f.srclocs.is_empty())
}

/// The sections for all functions of `module`, which `names` are called in the object.
pub(crate) fn write(module: &ModuleBuffer, names: &[String], source: &str) -> Result<Sections<Relocated>> {
    let encoding = Encoding { address_size: 8, format: Format::Dwarf32, version: 4 };
    let mut dwarf = Dwarf::new();
    let unit = dwarf.units.add(Unit::new(encoding, line_program(module, encoding, source)));
    let ranges = module
        .functions()
        .enumerate()
        .map(|(index, f)| Range::StartLength { begin: start(index), length: f.code.len() as u64 });
    let ranges = dwarf.units.get_mut(unit).ranges.add(RangeList(ranges.collect()));
    let name = AttributeValue::StringRef(dwarf.strings.add(source));
    let producer = AttributeValue::StringRef(dwarf.strings.add("kingpost"));
    let root = dwarf.units.get(unit).root();
    let root = dwarf.units.get_mut(unit).get_mut(root);
    root.set(constants::DW_AT_producer, producer);
    root.set(constants::DW_AT_name, name);
    root.set(constants::DW_AT_language, AttributeValue::Language(constants::DW_LANG_Mips_Assembler));
    // Ranges are relative to the unit's address, which is zero, as each range has one of its own.
    root.set(constants::DW_AT_low_pc, AttributeValue::Address(Address::Constant(0)));
    root.set(constants::DW_AT_ranges, AttributeValue::RangeListRef(ranges));
    for (index, f) in module.functions().enumerate() {
        subprogram(&mut dwarf, unit, index, &f, &names[index]);
    }
    let mut sections = Sections::new(Relocated::new());
    dwarf.write(&mut sections)?;
    Ok(sections)
}

/// The address of a function.
fn start(index: usize) -> Address {
    Address::Symbol { symbol: index, addend: 0 }
}

fn subprogram(dwarf: &mut Dwarf, unit: UnitId, index: usize, f: &FunctionView<'_>, name: &str) {
    let name = AttributeValue::StringRef(dwarf.strings.add(name));
    let unit = dwarf.units.get_mut(unit);
    let entry = unit.add(unit.root(), constants::DW_TAG_subprogram);
    let entry = unit.get_mut(entry);
    entry.set(constants::DW_AT_name, name);
    entry.set(constants::DW_AT_low_pc, AttributeValue::Address(start(index)));
    entry.set(constants::DW_AT_high_pc, AttributeValue::Udata(f.code.len() as u64));
}

fn line_program(module: &ModuleBuffer, encoding: Encoding, source: &str) -> LineProgram {
    let name = LineString::String(source.into());
    let folder = LineString::String(b".".to_vec());
    let mut program = LineProgram::new(encoding, LineEncoding::default(), folder, None, name.clone(), None);
    let file = program.add_file(name, program.default_directory(), None);
    for (index, f) in module.functions().enumerate() {
        let Some(first) = f.srclocs.first() else { continue };
        program.begin_sequence(Some(start(index)));
        // The prologue belongs to nothing in the source; debuggers expect it at the function's first line.
        let prologue = (first.offset > 0).then_some((0, first.srcloc));
        // What lies behind the instructions may have no bytes.
        let sites = f.srclocs.iter().filter(|site| (site.offset as usize) < f.code.len());
        let sites = sites.map(|site| (site.offset, site.srcloc));
        for (offset, srcloc) in prologue.into_iter().chain(sites) {
            let row = program.row();
            row.address_offset = offset.into();
            row.file = file;
            // Line 0 is what DWARF calls code without a line (DWARF 5, section 6.2.2).
            row.line = if srcloc == u32::MAX { 0 } else { srcloc.into() };
            program.generate_row();
        }
        program.end_sequence(f.code.len() as u64);
    }
    program
}
