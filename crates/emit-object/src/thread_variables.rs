//! Thread-local symbols of Mach-O.

use crate::error::ObjectError;
use crate::format::Field;
use crate::names::symbol_name;
use crate::writer::{Writer, undefined};
use kingpost_mach::SymbolName;
use object::write::{SectionId, StandardSection, Symbol, SymbolSection};
use object::{SymbolKind, SymbolScope};

impl Writer<'_> {
    /// Defines a thread-local symbol, whose initial value is in a section: a descriptor with the routine that returns the
    /// address in a thread, a word for this routine, and the place of the initial value.
    pub(crate) fn define_variable(
        &mut self,
        name: &SymbolName,
        section: SectionId,
        value: u64,
    ) -> Result<(), ObjectError> {
        let initial = format!("{}$tlv$init", symbol_name(name, self.triple));
        let initial = self.object.add_symbol(Symbol {
            value,
            kind: SymbolKind::Tls,
            scope: SymbolScope::Compilation,
            section: SymbolSection::Section(section),
            ..undefined(initial.into())
        });
        let descriptors = self.object.section_id(StandardSection::TlsVariables);
        let start = self.append(descriptors, &[0; 24], 8)?;
        let routine = self.symbol(&SymbolName::named("_tlv_bootstrap"))?;
        self.address(descriptors, start, routine, 0, Field::Absolute8)?;
        self.address(descriptors, start + 16, initial, 0, Field::Absolute8)?;
        self.define(name, SymbolKind::Tls, descriptors, start, 24)
    }
}
