//! Sections of data objects: the usual ones, and those that a front end names.

use crate::elf;
use crate::error::ObjectError;
use crate::format::with_bytes;
use crate::names::symbol_name;
use crate::writer::Writer;
use kingpost_mach::{DataObject, Placement};
use object::BinaryFormat;
use object::write::SectionId;

impl Writer<'_> {
    /// Returns the section of a data object, by its contents and its [`Placement`].
    ///
    /// # Errors
    /// If its name is invalid, or if the section has data of another kind.
    pub(crate) fn data_section(&mut self, object: &DataObject) -> Result<SectionId, ObjectError> {
        let usual = self.format.usual_section(object);
        let Placement { section, used, .. } = &object.placement;
        if section.is_none() && !used {
            return Ok(self.object.section_id(usual));
        }
        let shape = self.format.placed_section(&object.placement, usual, self.triple)?;
        let key = (section.clone().unwrap_or_else(|| shape.name.clone()), *used);
        if key.0.is_empty() || key.0.contains('\0') {
            return Err(ObjectError::Name(key.0));
        }
        let usual = if section.is_some() { with_bytes(usual) } else { usual };
        if let Some(&(other, id)) = self.placed.get(&key) {
            return if other == usual { Ok(id) } else { Err(ObjectError::Section(key.0)) };
        }
        let id = self.add_section(shape);
        if *used && self.object.format() == BinaryFormat::Elf {
            elf::mark_retained(&mut self.object);
        }
        self.placed.insert(key, (usual, id));
        Ok(id)
    }

    /// Adds a section for one data object, with the name that its [`Placement`] demands.
    ///
    /// # Errors
    /// If the format does not support the placement.
    pub(crate) fn own_data_section(&mut self, object: &DataObject) -> Result<SectionId, ObjectError> {
        let usual = self.format.usual_section(object);
        let mut shape = self.format.placed_section(&object.placement, usual, self.triple)?;
        if object.placement.section.is_none() {
            shape.name = format!("{}.{}", shape.name, symbol_name(&object.name, self.triple));
        }
        if object.placement.used && self.object.format() == BinaryFormat::Elf {
            elf::mark_retained(&mut self.object);
        }
        Ok(self.add_section(shape))
    }
}
