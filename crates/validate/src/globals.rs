//! Global values: addresses that the preamble of a function defines, as sums and loads from others.

use crate::byte_order::in_order;
use crate::clif::symbol;
use crate::error::Feature;
use crate::translate::Translation;
use cranelift_entity::EntityRef;
use kingpost_ir::preamble::GlobalValueData;
use kingpost_ir::signature::ArgumentPurpose;
use kingpost_ir::{GlobalValue, Opcode};
use kingpost_smt::Term;

impl Translation<'_> {
    /// Returns the term of a global value. Adds its loads to the effects, and names their variables after `reader`, which
    /// reads the global value.
    /// Chains of global values end, as a verifier has checked.
    ///
    /// # Errors
    /// If the global value is of a kind without a known meaning.
    pub(crate) fn global(&mut self, global: GlobalValue, reader: &str) -> Result<Term, Feature> {
        let refused = Feature::Opcode(Opcode::SymbolValue);
        match self.func.global_values[global].clone() {
            GlobalValueData::Symbol { name, offset, tls: false, .. } => {
                let name = self.func.display_name(&name).to_string();
                let base = symbol(self.terms, &name);
                Ok(self.plus(base, offset))
            }
            GlobalValueData::VmContext => {
                let index = self.func.signature.special_param_index(ArgumentPurpose::VmContext);
                let entry = self.func.layout.entry_block();
                let params = entry.map_or(&[][..], |entry| self.func.dfg.block_params(entry));
                let context = index.and_then(|index| params.get(index)).ok_or(refused)?;
                Ok(self.value(*context))
            }
            GlobalValueData::IAddImm { base, offset, .. } => {
                let base = self.base(base, reader)?;
                Ok(self.plus(base, offset))
            }
            GlobalValueData::Load { base, offset, ty, flags } => {
                let width = self.check_type(ty)?.bits();
                let base = self.base(base, reader)?;
                let address = self.plus(base, offset.into());
                let name = format!("{reader}:{}", global.index());
                let bits = self.read(address, width, flags, &name);
                Ok(in_order(self.terms, flags, bits))
            }
            _ => Err(refused),
        }
    }

    /// Returns the term of a global value that is an address.
    fn base(&mut self, global: GlobalValue, reader: &str) -> Result<Term, Feature> {
        let base = self.global(global, reader)?;
        if self.terms.width(base) == 64 { Ok(base) } else { Err(Feature::Opcode(Opcode::SymbolValue)) }
    }
}
