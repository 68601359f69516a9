//! Distances from symbols in instructions of AArch64, for COFF, whose relocations have no addends.

use crate::error::ObjectError;
use crate::writer::Writer;
use kingpost_mach::RelocKind;
use object::write::SectionId;

impl Writer<'_> {
    /// Puts the distance from a symbol into an instruction of AArch64.
    pub(crate) fn put_addend(
        &mut self,
        section: SectionId,
        offset: u64,
        addend: i64,
        kind: RelocKind,
    ) -> Result<(), ObjectError> {
        let data = self.object.section_mut(section).data_mut();
        let field = data.get_mut(offset as usize..).and_then(|data| data.first_chunk_mut::<4>());
        let word = field.as_ref().and_then(|bytes| with_addend(u32::from_le_bytes(**bytes), addend, kind));
        match (field, word) {
            (Some(bytes), Some(word)) => *bytes = word.to_le_bytes(),
            _ => return Err(self.unsupported(format!("the offset {addend} from a symbol in a relocation {kind:?}"))),
        }
        Ok(())
    }
}

/// Returns the word of an instruction with a distance from a symbol in the field that its relocation changes, because
/// relocations have no addends; `None` if the field cannot hold it. Linkers add the symbol's address to the field, in
/// bytes for pages, and otherwise in units of the access and modulo a page.
fn with_addend(word: u32, addend: i64, kind: RelocKind) -> Option<u32> {
    let low = (addend & 0xfff) as u32;
    let scaled = |bytes: u32| low.is_multiple_of(bytes).then(|| word | (low / bytes) << 10);
    match kind {
        RelocKind::Aarch64AdrPage if addend.abs() < 1 << 20 => {
            let field = addend as u32 & 0x1f_ffff;
            Some(word | (field & 3) << 29 | (field >> 2) << 5)
        }
        RelocKind::Aarch64AddLo12 => scaled(1),
        RelocKind::Aarch64Ld32Lo12 => scaled(4),
        RelocKind::Aarch64Ld64Lo12 => scaled(8),
        RelocKind::Aarch64Ld128Lo12 => scaled(16),
        _ => None,
    }
}
