//! The steps of writing an object.

use crate::debug::Source;
use crate::elf::Writer;
use crate::error::ObjectError;
use crate::names::check_names;
use crate::{eh_frame, function_tables};
use kingpost_codegen::module::Declarations;
use kingpost_mach::{DataObject, ModuleBuffer};
use object::elf::{FileHeader64, SHF_MERGE, SectionHeader64};
use object::{LittleEndian, SectionKind};
use target_lexicon::Triple;

/// Contents of an object besides code and data.
///
/// ```
/// use kingpost_emit_object::ObjectOptions;
///
/// // Line tables that refer to a source file, and a table of the instructions that trap.
/// let options = ObjectOptions::default().with(|options| options.source = "main.lang".into());
/// assert!(options.unwind_info && options.debug_lines);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ObjectOptions {
    /// Whether to write `.eh_frame`.
    pub unwind_info: bool,
    /// Whether to write `.debug_line` and the sections that belong to it, if there are source locations or labeled
    /// values.
    pub debug_lines: bool,
    /// The file that source locations refer to, for debuggers.
    pub source: String,
    /// The folder that the file's name is relative to, for debuggers that start in another folder.
    pub folder: String,
    /// Whether to write the section `kingpost_traps`: addresses of functions and trapping instructions.
    pub trap_table: bool,
    /// Personality routine. If it is set, `.gcc_except_table` is written with `.eh_frame`. Exceptions of other
    /// languages then reach handlers of every tag, which this routine finds (`__gxx_personality_v0`,
    /// `rust_eh_personality`).
    pub personality: Option<String>,
}

impl ObjectOptions {
    /// Returns the options after `change`.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut ObjectOptions)) -> ObjectOptions {
        change(&mut self);
        self
    }
}

impl Default for ObjectOptions {
    fn default() -> ObjectOptions {
        ObjectOptions {
            unwind_info: true,
            debug_lines: true,
            source: "source".into(),
            folder: ".".into(),
            trap_table: false,
            personality: None,
        }
    }
}

/// Writes all functions and data objects as a single relocatable ELF object.
///
/// # Errors
/// If the target or a relocation has no ELF form, if a name is defined twice, or if different names are one symbol.
pub fn write(
    triple: &Triple,
    module: &ModuleBuffer,
    data: &[DataObject],
    options: ObjectOptions,
) -> Result<Vec<u8>, ObjectError> {
    check_names(module, data)?;
    write_declared(triple, module, data, None, &options)
}

/// Writes an object like [`write()`], with the declarations of the symbols if they are known.
pub(crate) fn write_declared(
    triple: &Triple,
    module: &ModuleBuffer,
    data: &[DataObject],
    declarations: Option<&Declarations>,
    options: &ObjectOptions,
) -> Result<Vec<u8>, ObjectError> {
    let mut writer = Writer::new(triple, declarations)?;
    writer.functions(module)?;
    writer.data(data)?;
    writer.check_undefined()?;
    if options.unwind_info {
        writer.eh_frame(module, options.personality.as_deref())?;
    }
    if options.debug_lines {
        writer.debug(module, Source { file: &options.source, folder: &options.folder })?;
    }
    if options.trap_table {
        writer.function_table(&function_tables::traps(module))?;
    }
    for table in function_tables::wanted(module, eh_frame::registers(writer.architecture)) {
        writer.function_table(&table)?;
    }
    writer.property_note(module);
    // Without this note, linkers assume that the object needs an executable stack, and warn.
    writer.object.add_section(Vec::new(), b".note.GNU-stack".to_vec(), SectionKind::Other);
    let mut bytes = writer.object.write().map_err(ObjectError::format)?;
    size_entries(&mut bytes)?;
    Ok(bytes)
}

/// Sets the size of the entries of mergeable sections to their alignment, because the `object` crate cannot set it.
fn size_entries(bytes: &mut [u8]) -> Result<(), ObjectError> {
    let malformed = |()| ObjectError::Format("section headers are not where they should be".into());
    let (header, _) = object::pod::from_bytes::<FileHeader64<LittleEndian>>(bytes).map_err(malformed)?;
    let (at, count) = (header.e_shoff.get(LittleEndian) as usize, header.e_shnum.get(LittleEndian));
    let headers = bytes.get_mut(at..).unwrap_or_default();
    let (headers, _) = object::pod::slice_from_bytes_mut(headers, count.into()).map_err(malformed)?;
    for section in headers.iter_mut() {
        let section: &mut SectionHeader64<LittleEndian> = section;
        let flags = section.sh_flags.get(LittleEndian) as u32;
        if flags & SHF_MERGE != 0 {
            section.sh_entsize = section.sh_addralign;
        }
    }
    Ok(())
}
