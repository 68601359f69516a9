//! Unwind operations as `.pdata` and `.xdata` for Windows: a record for each function with a frame, and the prologue that
//! it refers to (Microsoft, "x64 exception handling", structs `RUNTIME_FUNCTION` and `UNWIND_INFO`, and "ARM64 exception
//! handling").
//!
//! On x86-64:
//! The stack pointer does not move in a body. So no frame register is declared, and the unwinder undoes the prologue
//! from the stack pointer. It finds the state within an epilogue by its instructions: pops, and a return or jump.
//! `leave` is not among them, but the state before it is the state of the body.

use crate::error::ObjectError;
use crate::format::Field;
use crate::names::symbol_name;
use crate::writer::Writer;
use crate::xdata_aarch64::{Unwinding, unwinding};
use kingpost_mach::{FunctionView, ModuleBuffer, UnwindOp};
use object::write::SectionId;
use object::{Architecture, SectionKind};
use std::collections::HashMap;

/// Largest allocation that is described in one code of 16 bits, in bytes.
const MAX_SMALL: u32 = 128;

impl Writer<'_> {
    /// Adds `.pdata` and `.xdata`.
    ///
    /// # Errors
    /// If there is a personality routine, or a function whose frame the records cannot describe.
    pub(crate) fn pdata(&mut self, module: &ModuleBuffer, personality: Option<&str>) -> Result<(), ObjectError> {
        if personality.is_some() {
            return Err(self.unsupported("a personality routine"));
        }
        let mut sections = HashMap::new();
        for (index, f) in module.functions().enumerate() {
            let name = || symbol_name(&f.function.head.name, self.triple);
            let info = match self.architecture {
                Architecture::X86_64 => unwind_info(&f).map(|info| info.map(Unwinding::Record)),
                _ => unwinding(&f),
            };
            let info = info
                .map_err(|what| self.unsupported(format!("function `{}`: {what} with unwind information", name())))?;
            let Some(info) = info else { continue };
            let code = self.starts[index].0;
            let (pdata, xdata) = *sections.entry(code).or_insert_with(|| self.unwind_sections(code));
            let (symbol, start) = self.place(index);
            let end = start + f.code.len() as i64;
            let mut fields = vec![(symbol, start)];
            if self.architecture == Architecture::X86_64 {
                fields.push((symbol, end));
            }
            let mut record = vec![0; 4 * fields.len() + 4];
            match info {
                Unwinding::Packed(word) => record[4..].copy_from_slice(&word.to_le_bytes()),
                Unwinding::Record(info) => {
                    let at = self.append(xdata, &info, 4)? as i64;
                    fields.push((self.object.section_symbol(xdata), at));
                }
            }
            let record = self.append(pdata, &record, 4)?;
            for (field, (symbol, offset)) in fields.into_iter().enumerate() {
                self.address(pdata, record + 4 * field as u64, symbol, offset, Field::Image4)?;
            }
        }
        Ok(())
    }

    /// Adds the sections for the functions of a section of code. They have its suffix, by which linkers relate them.
    fn unwind_sections(&mut self, code: SectionId) -> (SectionId, SectionId) {
        let name = self.object.section(code).name().unwrap_or_default();
        let suffix = name.strip_prefix(".text").unwrap_or_default().to_string();
        let mut add = |name: &str| {
            self.object.add_section(Vec::new(), format!("{name}{suffix}").into(), SectionKind::ReadOnlyData)
        };
        (add(".pdata"), add(".xdata"))
    }
}

/// Returns the `UNWIND_INFO` of a function; `None` if it has no frame.
///
/// # Errors
/// If the format does not describe a construct of the prologue, which the error names.
fn unwind_info(f: &FunctionView<'_>) -> Result<Option<Vec<u8>>, &'static str> {
    if f.unwind.is_empty() {
        return Ok(None);
    }
    if f.function.head.frame.checks_limit {
        return Err("a check of the stack limit");
    }
    let mut codes = Vec::new();
    // Distance of the stack pointer below the CFA.
    let mut depth = 8;
    let prologue = f.unwind.iter().take_while(|site| site.op != UnwindOp::EpilogueBegin);
    let frame_bytes = f.function.head.frame.size;
    let mut end = 0;
    for site in prologue {
        let code = match site.op {
            UnwindOp::Saved(reg, below) if !reg.class().has_width(16) && below == depth + 8 => {
                depth = below;
                Code { operation: 0, info: reg.enc(), operands: vec![] }
            }
            UnwindOp::Saved(reg, below) if reg.class().has_width(16) && below <= frame_bytes => {
                let offset = frame_bytes - below;
                match u16::try_from(offset / 16) {
                    Ok(scaled) => Code { operation: 8, info: reg.enc(), operands: vec![scaled] },
                    Err(_) => Code { operation: 9, info: reg.enc(), operands: halves(offset) },
                }
            }
            UnwindOp::Allocated(bytes) => {
                depth += bytes;
                match u16::try_from(bytes / 8) {
                    _ if bytes <= MAX_SMALL => Code { operation: 2, info: (bytes / 8 - 1) as u8, operands: vec![] },
                    Ok(scaled) => Code { operation: 1, info: 0, operands: vec![scaled] },
                    Err(_) => Code { operation: 1, info: 1, operands: halves(bytes) },
                }
            }
            UnwindOp::CfaStackPointer(bytes) if bytes != 8 => continue,
            UnwindOp::CfaFramePointer(_) => continue,
            _ => return Err("a tail call with more stack arguments than the function receives"),
        };
        end = u8::try_from(site.offset).map_err(|_| "a prologue of more than 255 bytes")?;
        codes.push((end, code));
    }
    let count: usize = codes.iter().map(|(_, code)| 1 + code.operands.len()).sum();
    let count = u8::try_from(count).map_err(|_| "a prologue of more than 255 codes")?;
    // Version 1, no flags, no frame register.
    let mut out = vec![1, end, count, 0];
    for (offset, code) in codes.iter().rev() {
        out.extend([*offset, code.operation | code.info << 4]);
        out.extend(code.operands.iter().flat_map(|word| word.to_le_bytes()));
    }
    // The number of codes is padded to an even one.
    out.resize(out.len().next_multiple_of(4), 0);
    Ok(Some(out))
}

/// Operation of a prologue.
struct Code {
    operation: u8,
    info: u8,
    operands: Vec<u16>,
}

fn halves(number: u32) -> Vec<u16> {
    vec![number as u16, (number >> 16) as u16]
}
