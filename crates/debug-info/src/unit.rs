//! Source locations and values as DWARF (version 4): `.debug_line`, `.debug_loc`, and the sections through which
//! debuggers find them.
//!
//! A source location is a line number in a single file, which the caller names. There is one compilation unit, with a
//! name and a range for each function. Each variable with known places, or each value, such as `v4`, if the function names
//! no variables, has a list of its places (DWARF 4, section 2.6.2). Each constant becomes a variable with its bits (section 2.6.1.1.3).

use crate::source::Source;
use gimli::write::{
    Address, AttributeValue, Dwarf, Expression, LineProgram, LineString, Location, LocationList, Range, RangeList,
    Unit, UnitEntryId, UnitId,
};
use gimli::{Encoding, Format, LineEncoding, Register, constants};
use kingpost_codegen::DwarfRegisters;
use kingpost_ir::Type;
use kingpost_mach::{ContextPlace, FunctionView, ModuleBuffer};
use std::collections::BTreeMap;

/// Returns `true` if any function has source locations or values for debuggers.
pub fn is_wanted(module: &ModuleBuffer) -> bool {
    module.functions().any(|f| !f.srclocs.is_empty() || !f.values.is_empty() || !f.constants.is_empty())
}

/// Returns one compilation unit with all functions of `module`. `functions` are their names and addresses, in the
/// order of the module. Zero bytes in names are removed.
///
/// # Panics
/// If `functions` has fewer elements than the module.
pub fn describe(
    module: &ModuleBuffer,
    functions: &[(String, Address)],
    source: Source<'_>,
    registers: &DwarfRegisters,
) -> Dwarf {
    let encoding = Encoding { address_size: 8, format: Format::Dwarf32, version: 4 };
    let mut dwarf = Dwarf::new();
    let unit = dwarf.units.add(Unit::new(encoding, line_program(module, functions, encoding, source)));
    let mut types = BTreeMap::new();
    let ranges = module
        .functions()
        .zip(functions)
        .map(|(f, &(_, begin))| Range::StartLength { begin, length: f.code.len() as u64 });
    let ranges = dwarf.units.get_mut(unit).ranges.add(RangeList(ranges.collect()));
    let name = AttributeValue::StringRef(dwarf.strings.add(source.file()));
    let folder = AttributeValue::StringRef(dwarf.strings.add(source.folder()));
    let producer = AttributeValue::StringRef(dwarf.strings.add("kingpost"));
    let root = dwarf.units.get(unit).root();
    let root = dwarf.units.get_mut(unit).get_mut(root);
    root.set(constants::DW_AT_producer, producer);
    root.set(constants::DW_AT_name, name);
    root.set(constants::DW_AT_comp_dir, folder);
    // lldb shows variables only of languages that it knows. Numbers look as in C.
    root.set(constants::DW_AT_language, AttributeValue::Language(constants::DW_LANG_C99));
    // Ranges are relative to the unit's address. It is zero, because each range has its own address.
    root.set(constants::DW_AT_low_pc, AttributeValue::Address(Address::Constant(0)));
    root.set(constants::DW_AT_ranges, AttributeValue::RangeListRef(ranges));
    for (index, f) in module.functions().enumerate() {
        let (name, start) = &functions[index];
        let function = subprogram(&mut dwarf, unit, *start, &f, name);
        variables(&mut dwarf, unit, function, *start, &f, &mut types, registers);
    }
    dwarf
}

/// Returns the address `offset` bytes after `start`.
fn plus(start: Address, offset: u32) -> Address {
    match start {
        Address::Constant(address) => Address::Constant(address.wrapping_add(offset.into())),
        Address::Symbol { symbol, addend } => Address::Symbol { symbol, addend: addend.wrapping_add(offset.into()) },
    }
}

fn subprogram(dwarf: &mut Dwarf, unit: UnitId, start: Address, f: &FunctionView<'_>, name: &str) -> UnitEntryId {
    let name = AttributeValue::StringRef(dwarf.strings.add(name.replace('\0', "")));
    let unit = dwarf.units.get_mut(unit);
    let id = unit.add(unit.root(), constants::DW_TAG_subprogram);
    let entry = unit.get_mut(id);
    entry.set(constants::DW_AT_name, name);
    entry.set(constants::DW_AT_low_pc, AttributeValue::Address(start));
    entry.set(constants::DW_AT_high_pc, AttributeValue::Udata(f.code.len() as u64));
    id
}

/// Adds a variable for each value with known places, and for each constant. `types` are the types created so far.
fn variables(
    dwarf: &mut Dwarf,
    unit: UnitId,
    function: UnitEntryId,
    start: Address,
    f: &FunctionView<'_>,
    types: &mut BTreeMap<&'static str, UnitEntryId>,
    registers: &DwarfRegisters,
) {
    let unit = dwarf.units.get_mut(unit);
    let mut known = Vec::new();
    for constant in f.constants {
        let mut expression = Expression::new();
        expression.op_implicit_value(constant.bits.to_le_bytes()[..constant.ty.bytes() as usize].into());
        known.push((constant.value, constant.ty, AttributeValue::Exprloc(expression)));
    }
    for sites in f.values.chunk_by(|a, b| a.value == b.value) {
        let places = sites.iter().map(|site| Location::StartLength {
            begin: plus(start, site.from),
            length: (site.to - site.from).into(),
            data: place(site.place, registers),
        });
        let places = AttributeValue::LocationListRef(unit.locations.add(LocationList(places.collect())));
        known.push((sites[0].value, sites[0].ty, places));
    }
    // A constant is valid everywhere, and precedes other places of its value.
    known.sort_by_key(|&(value, ..)| value);
    known.dedup_by_key(|&mut (value, ..)| value);
    for (value, ty, location) in known {
        let Some(ty) = base_type(&mut dwarf.strings, unit, ty, types) else { continue };
        let name = f.variables.get(value as usize).map_or_else(|| format!("v{value}"), |name| name.to_string());
        let name = AttributeValue::StringRef(dwarf.strings.add(name.replace('\0', "")));
        let entry = unit.add(function, constants::DW_TAG_variable);
        let entry = unit.get_mut(entry);
        entry.set(constants::DW_AT_name, name);
        entry.set(constants::DW_AT_type, AttributeValue::UnitRef(ty));
        entry.set(constants::DW_AT_location, location);
    }
}

fn place(place: ContextPlace, registers: &DwarfRegisters) -> Expression {
    let mut expression = Expression::new();
    match place {
        ContextPlace::Reg(reg) => expression.op_reg(Register(registers.number(reg).into())),
        ContextPlace::Stack(offset) => expression.op_breg(Register(registers.stack_pointer.into()), offset.into()),
    }
    expression
}

/// Returns the type of a value, and creates it on first use; `None` if debuggers have no such type.
fn base_type(
    strings: &mut gimli::write::StringTable,
    unit: &mut Unit,
    ty: Type,
    types: &mut BTreeMap<&'static str, UnitEntryId>,
) -> Option<UnitEntryId> {
    let known = [("i8", 1), ("i16", 2), ("i32", 4), ("i64", 8), ("f32", 4), ("f64", 8)];
    let name = ty.to_string();
    let &(name, bytes) = known.iter().find(|(known, _)| *known == name)?;
    let id = *types.entry(name).or_insert_with(|| {
        let encoding = if name.starts_with('i') { constants::DW_ATE_signed } else { constants::DW_ATE_float };
        let string = AttributeValue::StringRef(strings.add(name));
        let id = unit.add(unit.root(), constants::DW_TAG_base_type);
        let entry = unit.get_mut(id);
        entry.set(constants::DW_AT_name, string);
        entry.set(constants::DW_AT_encoding, AttributeValue::Encoding(encoding));
        entry.set(constants::DW_AT_byte_size, AttributeValue::Data1(bytes));
        id
    });
    Some(id)
}

fn line_program(
    module: &ModuleBuffer,
    functions: &[(String, Address)],
    encoding: Encoding,
    source: Source<'_>,
) -> LineProgram {
    let name = LineString::String(source.file().into());
    let folder = LineString::String(source.folder().into());
    let mut program = LineProgram::new(encoding, LineEncoding::default(), folder, None, name.clone(), None);
    let file = program.add_file(name, program.default_directory(), None);
    for (f, &(_, start)) in module.functions().zip(functions) {
        let Some(first) = f.srclocs.first() else { continue };
        program.begin_sequence(Some(start));
        // The prologue has no source location. Debuggers expect it at the function's first line.
        let prologue = (first.offset > 0).then_some((0, first.srcloc));
        // A location at the end of the instructions may cover no bytes.
        let sites = f.srclocs.iter().filter(|site| (site.offset as usize) < f.code.len());
        let sites = sites.map(|site| (site.offset, site.srcloc));
        for (offset, srcloc) in prologue.into_iter().chain(sites) {
            let row = program.row();
            row.address_offset = offset.into();
            row.file = file;
            // Line 0 means code without a line (DWARF 5, section 6.2.2).
            row.line = if srcloc == u32::MAX { 0 } else { srcloc.into() };
            program.generate_row();
        }
        program.end_sequence(f.code.len() as u64);
    }
    program
}
