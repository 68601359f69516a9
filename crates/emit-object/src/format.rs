//! Object formats: the sections, relocations and rules in which they differ.

use crate::error::ObjectError;
use kingpost_mach::{DataObject, Placement, RelocKind};
use object::write::StandardSection;
use object::{Architecture, BinaryFormat, RelocationFlags, SectionFlags, SectionKind};
use target_lexicon::Triple;

/// An object format.
pub(crate) trait Format: Sync {
    /// Returns the format's name in the library that writes objects.
    fn binary_format(&self) -> BinaryFormat;

    /// Returns the relocation of an instruction or of a pointer in data, or `None` if the format has none.
    fn relocation(&self, kind: RelocKind, architecture: Architecture) -> Option<RelocationFlags>;

    /// Returns the relocation of an address in a table, or `None` if the format has none.
    fn field(&self, field: Field, architecture: Architecture) -> Option<RelocationFlags>;

    /// Returns the section of a table.
    fn table(&self, table: Table) -> Shape;

    /// Returns the section of a function that has a section of its own.
    fn function_section(&self, name: &str) -> Shape;

    /// Returns the section of a data object without a section of its own.
    fn usual_section(&self, object: &DataObject) -> StandardSection;

    /// Returns the section of a data object that is placed, whose contents would be in `usual` without the placement.
    ///
    /// # Errors
    /// If the format does not support the placement.
    fn placed_section(
        &self,
        placement: &Placement,
        usual: StandardSection,
        triple: &Triple,
    ) -> Result<Shape, ObjectError>;

    /// Returns the section for a pointer to a symbol of another object, by the symbol's name, or `None` if linkers make a
    /// global offset table.
    fn pointer_section(&self, name: &str) -> Option<Shape> {
        let _ = name;
        None
    }

    /// Returns the largest object that the format can describe.
    fn limits(&self) -> Limits;
}

/// Limits of an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Limits {
    /// Number of sections.
    pub(crate) sections: usize,
    /// Bytes of all sections.
    pub(crate) bytes: u64,
    /// Alignment of a section in bytes.
    pub(crate) align: u64,
}

/// Name, kind and flags of a section.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    /// Name of the segment, which only Mach-O has.
    pub(crate) segment: String,
    pub(crate) name: String,
    pub(crate) kind: SectionKind,
    pub(crate) flags: SectionFlags,
}

impl Shape {
    /// Returns a section without a segment.
    pub(crate) fn new(name: impl Into<String>, kind: SectionKind, flags: SectionFlags) -> Shape {
        Shape { segment: String::new(), name: name.into(), kind, flags }
    }
}

/// Kind of an address in a table: size of the field in bytes, and what the address is relative to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Field {
    /// The address.
    Absolute8,
    /// Offset into a section of debug information. In a format without such a relocation, the field holds it.
    Absolute4,
    /// Distance from the field.
    Relative4,
    /// Distance from the field to the linker's pointer to a symbol (Mach-O).
    Pointer4,
    /// Distance from the start of the linked image (COFF).
    Image4,
}

/// A section that describes code, or that belongs to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Table {
    /// Unwind operations as DWARF.
    EhFrame,
    /// Frames of functions in words (Mach-O).
    CompactUnwind,
    /// Handlers for personality routines.
    Handlers,
    /// Table by function, by its name.
    Functions(&'static str),
    /// Debug information.
    Debug(gimli::SectionId),
    /// Literals of so many bytes.
    Literals(usize),
}

/// Returns the section that has bytes for zeros. Sections with names of their own have them.
pub(crate) fn with_bytes(section: StandardSection) -> StandardSection {
    match section {
        StandardSection::UninitializedData => StandardSection::Data,
        StandardSection::UninitializedTls => StandardSection::Tls,
        section => section,
    }
}
