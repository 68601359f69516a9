//! `.eh_frame`, from the unwind information of compiled code in Cranelift's form.

use cranelift_codegen::CodegenResult;
use cranelift_codegen::CompiledCode;
use cranelift_codegen::gimli::write::{
    Address, CieId, EhFrame, EndianVec, FrameTable, RelocateWriter, Relocation, RelocationTarget,
};
use cranelift_codegen::gimli::{LittleEndian, constants};
use cranelift_codegen::isa::TargetIsa;
use cranelift_codegen::isa::unwind::UnwindInfo;
use cranelift_module::{ModuleError, ModuleResult};
use kingpost_jit::Registration;
use object::write::{Object, Relocation as ObjectRelocation, StandardSection, SymbolId};
use object::{RelocationEncoding, RelocationFlags, RelocationKind};

/// FDEs of functions, and their CIE.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    table: FrameTable,
    cie: Option<CieId>,
    /// Symbols of functions of an object, by their numbers in the table.
    symbols: Vec<SymbolId>,
}

/// Bytes, and the positions of addresses in them.
#[derive(Clone)]
struct Section {
    bytes: EndianVec<LittleEndian>,
    relocations: Vec<Relocation>,
}

impl RelocateWriter for Section {
    type Writer = EndianVec<LittleEndian>;

    fn writer(&self) -> &EndianVec<LittleEndian> {
        &self.bytes
    }

    fn writer_mut(&mut self) -> &mut EndianVec<LittleEndian> {
        &mut self.bytes
    }

    fn relocate(&mut self, relocation: Relocation) {
        self.relocations.push(relocation);
    }
}

impl Frames {
    /// Adds a function whose symbol is `symbol`.
    ///
    /// # Errors
    /// If a register has no number in DWARF.
    pub(crate) fn add_symbol(
        &mut self,
        isa: &dyn TargetIsa,
        code: &CompiledCode,
        symbol: SymbolId,
    ) -> CodegenResult<()> {
        let address = Address::Symbol { symbol: self.symbols.len(), addend: 0 };
        self.symbols.push(symbol);
        self.add(isa, code, address)
    }

    /// Adds a function at an address.
    ///
    /// # Errors
    /// See [`Frames::add_symbol`].
    pub(crate) fn add_address(
        &mut self,
        isa: &dyn TargetIsa,
        code: &CompiledCode,
        address: usize,
    ) -> CodegenResult<()> {
        self.add(isa, code, Address::Constant(address as u64))
    }

    fn add(&mut self, isa: &dyn TargetIsa, code: &CompiledCode, address: Address) -> CodegenResult<()> {
        let Some(UnwindInfo::SystemV(info)) = code.create_unwind_info(isa)? else { return Ok(()) };
        if self.cie.is_none() {
            self.cie = isa.create_systemv_cie().map(|mut cie| {
                if matches!(address, Address::Symbol { .. }) {
                    let relative = constants::DW_EH_PE_pcrel.0 | constants::DW_EH_PE_sdata4.0;
                    cie.fde_address_encoding = constants::DwEhPe(relative);
                }
                self.table.add_cie(cie)
            });
        }
        if let Some(cie) = self.cie {
            self.table.add_fde(cie, info.to_fde(address));
        }
        Ok(())
    }

    /// Registers the functions added by address since the last call with the process's unwinder. The functions must
    /// be in memory.
    ///
    /// # Errors
    /// If a function is too large for the format.
    #[allow(unsafe_code, reason = "the unwinder reads the section")]
    pub(crate) fn register(&mut self) -> ModuleResult<Option<Registration>> {
        let section = self.take_section()?;
        // SAFETY: the section has one CIE before its FDEs, because all functions share the CIE of the target, and the
        // end mark. The compiler made the FDEs together with the code at their addresses.
        Ok(section.map(|section| unsafe { Registration::of_section(section.into()) }))
    }

    /// Returns the section for the functions added by address since the last call, with the end mark.
    fn take_section(&mut self) -> ModuleResult<Option<Vec<u8>>> {
        let frames = std::mem::take(self);
        if frames.cie.is_none() {
            return Ok(None);
        }
        let mut section = EhFrame(EndianVec::new(LittleEndian));
        frames.table.write_eh_frame(&mut section).map_err(not_written)?;
        let mut bytes = section.0.into_vec();
        bytes.extend([0; 4]);
        Ok(Some(bytes))
    }

    /// Adds the section for the functions added by symbol to an object.
    ///
    /// # Errors
    /// If a function is too large for the format.
    pub(crate) fn write(self, object: &mut Object<'static>) -> ModuleResult<()> {
        if self.cie.is_none() {
            return Ok(());
        }
        let mut section = EhFrame(Section { bytes: EndianVec::new(LittleEndian), relocations: Vec::new() });
        self.table.write_eh_frame(&mut section).map_err(not_written)?;
        let Section { bytes, relocations } = section.0;
        let section = object.section_id(StandardSection::EhFrame);
        let start = object.append_section_data(section, bytes.slice(), 8);
        for relocation in relocations {
            let RelocationTarget::Symbol(index) = relocation.target else { continue };
            let flags = RelocationFlags::Generic {
                kind: RelocationKind::Relative,
                encoding: RelocationEncoding::Generic,
                size: relocation.size * 8,
            };
            let (offset, symbol) = (start + relocation.offset as u64, self.symbols[index]);
            let relocation = ObjectRelocation { offset, symbol, addend: relocation.addend, flags };
            object.add_relocation(section, relocation).map_err(not_written)?;
        }
        Ok(())
    }
}

fn not_written(error: impl std::error::Error + Send + Sync + 'static) -> ModuleError {
    ModuleError::Backend(anyhow::Error::new(error).context("cannot write `.eh_frame`"))
}
