//! COFF, for Windows on both machines.
//!
//! Functions are placed in `.text`, data objects in `.rdata`, `.data` or `.bss`, thread-local ones in `.tls$`, and
//! literals in `.rdata`. There is no global offset table: a reference to a symbol that may be in another library reads
//! a pointer in `.rdata$.refptr.NAME`, which MinGW's linker fills at run time. All objects of a program share it, with
//! objects of GCC. The layout is in Microsoft's "PE Format".

use crate::error::ObjectError;
use crate::format::{Field, Format, Limits, Shape, Table, with_bytes};
use kingpost_mach::{DataObject, Placement, RelocKind};
use object::write::StandardSection;
use object::{Architecture, BinaryFormat, RelocationFlags, SectionFlags, SectionKind, pe};
use target_lexicon::{Environment, Triple};

/// The format COFF.
pub(crate) struct Coff;

const INITIALIZED: u32 = pe::IMAGE_SCN_CNT_INITIALIZED_DATA | pe::IMAGE_SCN_MEM_READ;

impl Format for Coff {
    fn binary_format(&self) -> BinaryFormat {
        BinaryFormat::Coff
    }

    fn relocation(&self, kind: RelocKind, architecture: Architecture) -> Option<RelocationFlags> {
        if architecture == Architecture::Aarch64 {
            return aarch64_relocation(kind);
        }
        let typ = match kind {
            RelocKind::Abs8 => pe::IMAGE_REL_AMD64_ADDR64,
            RelocKind::X86PcRel4 | RelocKind::X86CallPcRel4 | RelocKind::X86CallPltRel4 | RelocKind::X86GotPcRel4 => {
                pe::IMAGE_REL_AMD64_REL32
            }
            RelocKind::X86SecRel => pe::IMAGE_REL_AMD64_SECREL,
            _ => return None,
        };
        Some(RelocationFlags::Coff { typ })
    }

    fn field(&self, field: Field, architecture: Architecture) -> Option<RelocationFlags> {
        let x86 = architecture == Architecture::X86_64;
        let typ = match field {
            Field::Pointer4 => return None,
            Field::Absolute8 if x86 => pe::IMAGE_REL_AMD64_ADDR64,
            Field::Absolute4 if x86 => pe::IMAGE_REL_AMD64_SECREL,
            Field::Relative4 if x86 => pe::IMAGE_REL_AMD64_REL32,
            Field::Image4 if x86 => pe::IMAGE_REL_AMD64_ADDR32NB,
            Field::Absolute8 => pe::IMAGE_REL_ARM64_ADDR64,
            Field::Absolute4 => pe::IMAGE_REL_ARM64_SECREL,
            Field::Relative4 => pe::IMAGE_REL_ARM64_REL32,
            Field::Image4 => pe::IMAGE_REL_ARM64_ADDR32NB,
        };
        Some(RelocationFlags::Coff { typ })
    }

    fn table(&self, table: Table) -> Shape {
        let read_only = |name: &str| Shape::new(name, SectionKind::ReadOnlyData, SectionFlags::None);
        match table {
            Table::EhFrame | Table::CompactUnwind => read_only(".eh_frame"),
            Table::Handlers => read_only(".gcc_except_table"),
            Table::Functions(name) => read_only(name),
            Table::Debug(id) => Shape::new(id.name(), SectionKind::Debug, SectionFlags::None),
            Table::Literals(_) => read_only(".rdata"),
        }
    }

    fn function_section(&self, name: &str) -> Shape {
        Shape::new(format!(".text${name}"), SectionKind::Text, SectionFlags::None)
    }

    fn usual_section(&self, object: &DataObject) -> StandardSection {
        match (object.tls, object.writable, object.pointers.is_empty() && object.bytes.is_empty()) {
            (true, ..) => StandardSection::Tls,
            (false, true, true) => StandardSection::UninitializedData,
            (false, true, false) => StandardSection::Data,
            (false, false, _) => StandardSection::ReadOnlyData,
        }
    }

    fn placed_section(
        &self,
        placement: &Placement,
        usual: StandardSection,
        triple: &Triple,
    ) -> Result<Shape, ObjectError> {
        let unsupported = |what: String| ObjectError::Unsupported { what, target: triple.to_string() };
        // No flag keeps a section. MinGW's linker removes sections without references if it is told to.
        if placement.used && triple.environment == Environment::Gnu {
            return Err(unsupported("data that linkers keep".into()));
        }
        let (name, writable) = match with_bytes(usual) {
            StandardSection::ReadOnlyData => (".rdata", 0),
            StandardSection::Tls => (".tls$", pe::IMAGE_SCN_MEM_WRITE),
            _ => (".data", pe::IMAGE_SCN_MEM_WRITE),
        };
        let name = placement.section.as_deref().unwrap_or(name);
        // The linker finds the initial values of a thread's variables by the name of their section.
        if (usual == StandardSection::Tls) != (name == ".tls" || name.starts_with(".tls$")) {
            return Err(unsupported(format!("the section `{name}` for this kind of data")));
        }
        let flags = SectionFlags::Coff { characteristics: INITIALIZED | writable };
        Ok(Shape::new(name, SectionKind::Data, flags))
    }

    fn pointer_section(&self, name: &str) -> Option<Shape> {
        Some(Shape::new(format!(".rdata$.refptr.{name}"), SectionKind::ReadOnlyData, SectionFlags::None))
    }

    fn limits(&self) -> Limits {
        // Larger section numbers have another meaning in symbols. Flags express the alignment. Offsets of sections are
        // fields of 32 bits.
        Limits { sections: 0xfeff, bytes: i32::MAX as u64, align: 8192 }
    }
}

/// Returns the relocation of an instruction or of a pointer in data on AArch64. Entries of a global offset table are
/// pointers of the object.
fn aarch64_relocation(kind: RelocKind) -> Option<RelocationFlags> {
    let typ = match kind {
        RelocKind::Abs8 => pe::IMAGE_REL_ARM64_ADDR64,
        RelocKind::Aarch64Call => pe::IMAGE_REL_ARM64_BRANCH26,
        RelocKind::Aarch64AdrPage | RelocKind::Aarch64AdrGotPage => pe::IMAGE_REL_ARM64_PAGEBASE_REL21,
        RelocKind::Aarch64AddLo12 => pe::IMAGE_REL_ARM64_PAGEOFFSET_12A,
        RelocKind::Aarch64Ld32Lo12
        | RelocKind::Aarch64Ld64Lo12
        | RelocKind::Aarch64Ld128Lo12
        | RelocKind::Aarch64LdGotLo12 => pe::IMAGE_REL_ARM64_PAGEOFFSET_12L,
        RelocKind::Aarch64SecRelHi12 => pe::IMAGE_REL_ARM64_SECREL_HIGH12A,
        RelocKind::Aarch64SecRelLo12 => pe::IMAGE_REL_ARM64_SECREL_LOW12A,
        _ => return None,
    };
    Some(RelocationFlags::Coff { typ })
}
