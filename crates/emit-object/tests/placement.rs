//! Checks that data objects are in the sections that they name, that linkers keep those that are used, and that
//! objects are position-independent without any setting.

use kingpost_codegen::module::{DataDescription, DataKind, FuncId, Linkage, Module};
use kingpost_codegen::{Compiler, Settings};
use kingpost_emit_object::{ObjectError, ObjectModule, ObjectOptions};
use object::{Object, ObjectSection, SectionFlags, elf};
use std::process::Command;

/// Offset of the system in the header of a file.
const OS_ABI: usize = 7;

/// A function that runs before `main` and counts, and a `main` that returns the count.
const PROGRAM: &str = "
function %early() system_v {
    gv0 = symbol colocated %count
block0:
    v0 = symbol_value.i64 gv0
    v1 = load.i32 v0
    v2 = iconst.i32 40
    v3 = iadd v1, v2
    store v3, v0
    return
}
function %main() -> i32 system_v {
    gv0 = symbol colocated %count
    fn0 = %abs(i32) -> i32 system_v
block0:
    v0 = symbol_value.i64 gv0
    v1 = load.i32 v0
    v2 = call fn0(v1)
    return v2
}";

fn module() -> (ObjectModule, FuncId) {
    let compiler = Compiler::baseline(Settings::default()).unwrap();
    let mut module = ObjectModule::new(compiler, ObjectOptions::default());
    let ids: Vec<FuncId> = kingpost_reader::parse_functions(PROGRAM)
        .unwrap()
        .iter_mut()
        .map(|func| {
            let id = module.declare_function(&func.name.to_string()[1..], Linkage::Export, &func.signature).unwrap();
            module.define_function(id, func).unwrap();
            id
        })
        .collect();
    let count = module.declare_data("count", Linkage::Local, DataKind::Writable).unwrap();
    module.define_data(count, &DataDescription::bytes(2u32.to_le_bytes())).unwrap();
    (module, ids[0])
}

/// Adds a data object that only its section's meaning, or its use, keeps in the program.
fn add(module: &mut ObjectModule, name: &str, kind: DataKind, data: &DataDescription) {
    let id = module.declare_data(name, Linkage::Export, kind).unwrap();
    module.define_data(id, data).unwrap();
}

fn with_sections() -> Vec<u8> {
    let (mut module, early) = module();
    let before = DataDescription::zeros(8).with(|data| {
        data.set_section(".init_array");
        data.point_to_function(0, early);
        data.align = 8;
    });
    add(&mut module, "before", DataKind::Writable, &before);
    let kept = DataDescription::bytes(*b"kept though unused").with(DataDescription::set_used);
    add(&mut module, "kept", DataKind::ReadOnly, &kept);
    add(
        &mut module,
        "unused",
        DataKind::ReadOnly,
        &DataDescription::bytes(*b"no one needs it").with(|data| {
            data.set_section("unused_things");
        }),
    );
    let zeros = DataDescription::zeros(24).with(|data| data.set_section("my table"));
    add(&mut module, "zeros", DataKind::Writable, &zeros);
    module.finish().unwrap()
}

#[test]
fn sections_have_names_types_and_flags() {
    let bytes = with_sections();
    let file = object::File::parse(&*bytes).unwrap();
    let flags = |name: &str| match file.sections().filter(|s| s.name() == Ok(name)).last().unwrap().flags() {
        SectionFlags::Elf { sh_flags } => sh_flags as u32,
        flags => panic!("{flags:?}"),
    };
    let writable = elf::SHF_ALLOC | elf::SHF_WRITE;
    assert_eq!(flags(".init_array"), writable);
    assert_eq!(flags("my table"), writable);
    assert_eq!(flags("unused_things"), elf::SHF_ALLOC);
    assert_eq!(flags(".rodata"), elf::SHF_ALLOC | elf::SHF_GNU_RETAIN);
    assert_eq!(file.section_by_name("my table").unwrap().data().unwrap(), [0; 24]);
    assert_eq!(bytes[OS_ABI], elf::ELFOSABI_GNU);
    let object::File::Elf64(elf64) = &file else { panic!("a 64-bit file") };
    let of = |name| elf64.section_by_name(name).unwrap().elf_section_header().sh_type.get(object::Endianness::Little);
    assert_eq!((of(".init_array"), of("my table")), (elf::SHT_INIT_ARRAY, elf::SHT_PROGBITS));
}

#[test]
fn a_section_has_data_of_one_kind() {
    let (mut module, _) = module();
    let in_section = |size| DataDescription::zeros(size).with(|data| data.set_section("both"));
    add(&mut module, "read", DataKind::ReadOnly, &in_section(8));
    add(&mut module, "read_too", DataKind::ReadOnly, &in_section(16));
    add(&mut module, "written", DataKind::Writable, &in_section(8));
    assert_eq!(module.finish(), Err(ObjectError::Section("both".into())));
    for name in ["", "a\0b"] {
        let (mut module, _) = self::module();
        add(&mut module, "data", DataKind::ReadOnly, &DataDescription::zeros(1).with(|data| data.set_section(name)));
        assert_eq!(module.finish(), Err(ObjectError::Name(name.into())));
    }
}

/// Checks a position-independent program, linked without unused sections and with warnings as errors. Linkers warn of
/// relocations in code that is not position-independent.
#[test]
fn the_program_has_what_its_linker_must_keep() {
    if !cfg!(target_os = "linux") || Command::new("cc").arg("--version").output().is_err() {
        assert!(std::env::var_os("CI").is_none(), "CI has a C compiler");
        eprintln!("SKIPPED: the_program_has_what_its_linker_must_keep: no cc");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (object, program) = (dir.path().join("a.o"), dir.path().join("a"));
    std::fs::write(&object, with_sections()).unwrap();
    let mut cc = Command::new("cc");
    cc.args(["-pie", "-Wl,--gc-sections", "-Wl,--fatal-warnings"]).arg(&object).arg("-o").arg(&program);
    let link = cc.output().unwrap();
    assert!(link.status.success(), "{}", String::from_utf8_lossy(&link.stderr));
    assert_eq!(Command::new(&program).status().unwrap().code(), Some(42));
    let bytes = std::fs::read(&program).unwrap();
    let has = |text: &[u8]| bytes.windows(text.len()).any(|window| window == text);
    assert!(has(b"kept though unused") && !has(b"no one needs it"));
}
