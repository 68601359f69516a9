//! Sections of data, and the head of an object, in each format.

use cranelift_module::{ModuleError, ModuleResult};
use object::write::{MachOBuildVersion, Object, SectionId, SymbolId};
use object::{BinaryFormat, SectionFlags, SectionKind, SymbolFlags, elf, macho};
use target_lexicon::{OperatingSystem, Triple};

/// Largest length of the name of a section or segment in Mach-O, in bytes.
const MAX_NAME: usize = 16;

/// Types of sections in Mach-O, by the names that assemblers have for them.
const TYPES: &[(&str, u32)] = &[
    ("regular", macho::S_REGULAR),
    ("cstring_literals", macho::S_CSTRING_LITERALS),
    ("4byte_literals", macho::S_4BYTE_LITERALS),
    ("8byte_literals", macho::S_8BYTE_LITERALS),
    ("16byte_literals", macho::S_16BYTE_LITERALS),
    ("literal_pointers", macho::S_LITERAL_POINTERS),
    ("mod_init_funcs", macho::S_MOD_INIT_FUNC_POINTERS),
    ("mod_term_funcs", macho::S_MOD_TERM_FUNC_POINTERS),
    ("coalesced", macho::S_COALESCED),
    ("interposing", macho::S_INTERPOSING),
    ("thread_local_variables", macho::S_THREAD_LOCAL_VARIABLES),
    ("thread_local_variable_pointers", macho::S_THREAD_LOCAL_VARIABLE_POINTERS),
    ("thread_local_init_function_pointers", macho::S_THREAD_LOCAL_INIT_FUNCTION_POINTERS),
];

/// Attributes of sections in Mach-O, by the names that assemblers have for them.
const ATTRIBUTES: &[(&str, u32)] = &[
    ("pure_instructions", macho::S_ATTR_PURE_INSTRUCTIONS),
    ("no_toc", macho::S_ATTR_NO_TOC),
    ("strip_static_syms", macho::S_ATTR_STRIP_STATIC_SYMS),
    ("no_dead_strip", macho::S_ATTR_NO_DEAD_STRIP),
    ("live_support", macho::S_ATTR_LIVE_SUPPORT),
    ("self_modifying_code", macho::S_ATTR_SELF_MODIFYING_CODE),
    ("debug", macho::S_ATTR_DEBUG),
];

/// Sets what every object in Mach-O has: a linker may remove unused symbols, and the version of the system.
pub(crate) fn begin_macho(object: &mut Object<'static>, triple: &Triple) {
    object.set_subsections_via_symbols();
    if let OperatingSystem::Darwin(version) | OperatingSystem::MacOSX(version) = triple.operating_system {
        let mut build = MachOBuildVersion::default();
        build.platform = macho::PLATFORM_MACOS;
        build.minos = version.map_or(0, |v| u32::from(v.major) << 16 | u32::from(v.minor) << 8 | u32::from(v.patch));
        object.set_macho_build_version(build);
    }
}

/// Adds a section that a client names. In Mach-O the name is `segment,section[,type[,attributes]]`.
///
/// # Errors
/// If the name does not have this form.
pub(crate) fn add_custom(object: &mut Object<'static>, name: &str, kind: SectionKind) -> ModuleResult<SectionId> {
    if object.format() != BinaryFormat::MachO {
        return Ok(object.add_section(Vec::new(), name.into(), kind));
    }
    let invalid = |why: &str| ModuleError::Backend(anyhow::anyhow!("section `{name}` in Mach-O: {why}"));
    let mut parts = name.split(',');
    let (Some(segment), Some(section)) = (parts.next(), parts.next()) else {
        return Err(invalid("expected `segment,section`"));
    };
    if segment.len() > MAX_NAME || section.len() > MAX_NAME {
        return Err(invalid("each name has at most 16 bytes"));
    }
    let find = |table: &[(&str, u32)], word: &str| {
        table
            .iter()
            .find(|(name, _)| *name == word)
            .map(|&(_, flag)| flag)
            .ok_or_else(|| invalid(&format!("unknown word `{word}`")))
    };
    let mut flags = parts.next().map_or(Ok(macho::S_REGULAR), |word| find(TYPES, word))?;
    for word in parts.next().into_iter().flat_map(|words| words.split('+')) {
        flags |= find(ATTRIBUTES, word)?;
    }
    if parts.next().is_some() {
        return Err(invalid("too many parts"));
    }
    let id = object.add_section(segment.into(), section.into(), kind);
    *object.section_flags_mut(id) = SectionFlags::MachO { flags };
    Ok(id)
}

/// Makes linkers keep data that nothing refers to. COFF has no flag for that.
pub(crate) fn keep(object: &mut Object<'static>, section: SectionId, symbol: SymbolId) {
    if object.format() == BinaryFormat::MachO {
        if let SymbolFlags::MachO { n_desc } = object.symbol_flags_mut(symbol) {
            *n_desc |= macho::N_NO_DEAD_STRIP;
        }
    } else if let SectionFlags::Elf { sh_flags } = object.section_flags_mut(section) {
        *sh_flags |= u64::from(elf::SHF_GNU_RETAIN);
    }
}
