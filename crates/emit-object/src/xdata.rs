//! The sections `.pdata` and `.xdata` for Windows: a record for each function with a frame, and the description of the frame
//! that it refers to (Microsoft, "x64 exception handling", struct `RUNTIME_FUNCTION`, and "ARM64 exception handling").
//!
//! The description of a function with handlers for a personality routine is followed by the address of that routine and by
//! the handlers, in the form of `.gcc_except_table`, where MinGW's routines expect them.

use crate::error::ObjectError;
use crate::except_table::handlers_of;
use crate::format::Field;
use crate::names::symbol_name;
use crate::writer::Writer;
use kingpost_debug_info::{WindowsUnwinding, windows_unwinding};
use kingpost_mach::{ModuleBuffer, SymbolName};
use object::write::SectionId;
use object::{Architecture, SectionKind};
use std::collections::HashMap;

impl Writer<'_> {
    /// Adds `.pdata` and `.xdata`.
    ///
    /// # Errors
    /// If there is a function whose frame the records cannot describe.
    pub(crate) fn pdata(&mut self, module: &ModuleBuffer, personality: Option<&str>) -> Result<(), ObjectError> {
        let mut sections = HashMap::new();
        for (index, f) in module.functions().enumerate() {
            let name = || symbol_name(&f.function.head.name, self.triple);
            let handlers = personality.and_then(|routine| Some((routine, handlers_of(&f)?)));
            let info = windows_unwinding(self.triple.architecture, &f, handlers.is_some())
                .map_err(|what| self.unsupported(format!("function `{}`: {what} with unwind information", name())))?;
            let Some(info) = info else { continue };
            let code = self.starts[index].0;
            let (pdata, xdata) = *sections.entry(code).or_insert_with(|| self.unwind_sections(code, index));
            let (symbol, start) = self.place(index);
            let end = start + f.code.len() as i64;
            let mut fields = vec![(symbol, start)];
            if self.architecture == Architecture::X86_64 {
                fields.push((symbol, end));
            }
            let mut record = vec![0; 4 * fields.len() + 4];
            match info {
                WindowsUnwinding::Packed(word) => record[4..].copy_from_slice(&word.to_le_bytes()),
                WindowsUnwinding::Record(info) => {
                    let at = self.append(xdata, &info, 4)?;
                    fields.push((self.object.section_symbol(xdata), at as i64));
                    if let Some((routine, handlers)) = handlers {
                        let table = [&[0; 4], &handlers.map_err(ObjectError::format)?[..]].concat();
                        let at = self.append(xdata, &table, 4)?;
                        let routine = self.symbol(&SymbolName::named(routine))?;
                        self.address(xdata, at, routine, 0, Field::Image4)?;
                    }
                }
            }
            let record = self.append(pdata, &record, 4)?;
            for (field, (symbol, offset)) in fields.into_iter().enumerate() {
                self.address(pdata, record + 4 * field as u64, symbol, offset, Field::Image4)?;
            }
        }
        Ok(())
    }

    /// Adds the sections for the functions of a section of code. `function` is the first of them. The sections have the suffix
    /// of the code, by which linkers relate them, and are in its group.
    fn unwind_sections(&mut self, code: SectionId, function: usize) -> (SectionId, SectionId) {
        let name = self.object.section(code).name().unwrap_or_default();
        let suffix = name.strip_prefix(".text").unwrap_or_default().to_string();
        let mut add = |name: &str| {
            self.object.add_section(Vec::new(), format!("{name}{suffix}").into(), SectionKind::ReadOnlyData)
        };
        let both = (add(".pdata"), add(".xdata"));
        if let Some(group) = self.group_of(function) {
            self.add_to_group(group, both.0);
            self.add_to_group(group, both.1);
        }
        both
    }
}
