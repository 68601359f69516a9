//! Sections of data objects: the usual ones, and those that a front end names.

use crate::elf::Writer;
use crate::error::ObjectError;
use kingpost_mach::{DataObject, Placement};
use object::write::{SectionId, StandardSection};
use object::{FileFlags, SectionFlags, SectionKind, elf};

impl Writer<'_> {
    /// Returns the section of a data object, by its contents and its [`Placement`].
    ///
    /// # Errors
    /// If its name is invalid, or if the section has data of another kind.
    pub(crate) fn data_section(&mut self, object: &DataObject) -> Result<SectionId, ObjectError> {
        let usual = usual_section(object);
        let Placement { section, used, .. } = &object.placement;
        if section.is_none() && !used {
            return Ok(self.object.section_id(usual));
        }
        let key = (section.clone().unwrap_or_else(|| usual_name(usual).into()), *used);
        if key.0.is_empty() || key.0.contains('\0') {
            return Err(ObjectError::Name(key.0));
        }
        let usual = if section.is_some() { with_bytes(usual) } else { usual };
        if let Some(&(other, id)) = self.placed.get(&key) {
            return if other == usual { Ok(id) } else { Err(ObjectError::Section(key.0)) };
        }
        let name = key.0.clone().into_bytes();
        let id = self.object.add_section(Vec::new(), name, special_kind(&key.0).unwrap_or(usual.kind()));
        let retain = if *used { elf::SHF_GNU_RETAIN } else { 0 };
        self.object.section_mut(id).flags = SectionFlags::Elf { sh_flags: (flags(usual) | retain).into() };
        if *used {
            // Linkers ignore `SHF_GNU_RETAIN` in files of other systems.
            self.object.flags = FileFlags::Elf { os_abi: elf::ELFOSABI_GNU, abi_version: 0, e_flags: 0 };
        }
        self.placed.insert(key, (usual, id));
        Ok(id)
    }
}

/// Returns the section of a data object by its contents.
fn usual_section(object: &DataObject) -> StandardSection {
    if object.tls {
        let zeros = object.bytes.is_empty();
        return if zeros { StandardSection::UninitializedTls } else { StandardSection::Tls };
    }
    match (object.writable, object.pointers.is_empty(), object.bytes.is_empty()) {
        (true, true, true) => StandardSection::UninitializedData,
        (true, ..) => StandardSection::Data,
        (false, true, _) => StandardSection::ReadOnlyData,
        (false, false, _) => StandardSection::ReadOnlyDataWithRel,
    }
}

/// Returns the section that has bytes for zeros. Sections with names of their own have them.
fn with_bytes(section: StandardSection) -> StandardSection {
    match section {
        StandardSection::UninitializedData => StandardSection::Data,
        StandardSection::UninitializedTls => StandardSection::Tls,
        section => section,
    }
}

fn usual_name(section: StandardSection) -> &'static str {
    match section {
        StandardSection::UninitializedTls => ".tbss",
        StandardSection::Tls => ".tdata",
        StandardSection::UninitializedData => ".bss",
        StandardSection::ReadOnlyData => ".rodata",
        StandardSection::ReadOnlyDataWithRel => ".data.rel.ro",
        _ => ".data",
    }
}

fn flags(section: StandardSection) -> u32 {
    match section {
        StandardSection::UninitializedTls | StandardSection::Tls => elf::SHF_ALLOC | elf::SHF_WRITE | elf::SHF_TLS,
        StandardSection::ReadOnlyData => elf::SHF_ALLOC,
        _ => elf::SHF_ALLOC | elf::SHF_WRITE,
    }
}

/// Returns the kind of a section whose name has a meaning (System V ABI, chapter 4, "Special Sections").
fn special_kind(name: &str) -> Option<SectionKind> {
    let is = |special: &str| name.strip_prefix(special).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    let types = [
        (".init_array", elf::SHT_INIT_ARRAY),
        (".fini_array", elf::SHT_FINI_ARRAY),
        (".preinit_array", elf::SHT_PREINIT_ARRAY),
        (".note", elf::SHT_NOTE),
    ];
    types.into_iter().find(|&(special, _)| is(special)).map(|(_, sh_type)| SectionKind::Elf(sh_type))
}
