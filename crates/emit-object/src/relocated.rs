//! Section contents with the relocations that the DWARF library requests.

use gimli::LittleEndian;
use gimli::write::{EndianVec, RelocateWriter, Relocation};

/// A writer that records the positions of addresses. Symbols are functions of the module, by index.
#[derive(Clone)]
pub(crate) struct Relocated {
    pub(crate) bytes: EndianVec<LittleEndian>,
    pub(crate) relocs: Vec<Relocation>,
}

impl Relocated {
    pub(crate) fn new() -> Relocated {
        Relocated { bytes: EndianVec::new(LittleEndian), relocs: Vec::new() }
    }
}

impl RelocateWriter for Relocated {
    type Writer = EndianVec<LittleEndian>;

    fn writer(&self) -> &EndianVec<LittleEndian> {
        &self.bytes
    }

    fn writer_mut(&mut self) -> &mut EndianVec<LittleEndian> {
        &mut self.bytes
    }

    fn relocate(&mut self, relocation: Relocation) {
        self.relocs.push(relocation);
    }
}
