//! The steps of writing an object.

use crate::error::ObjectError;
use crate::names::check_names;
use crate::writer::Writer;
use crate::{eh_frame, elf, function_tables};
use kingpost_codegen::module::{Alias, Declarations};
use kingpost_mach::{DataObject, ModuleBuffer};
use object::BinaryFormat;
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
    /// Whether to write the tables by which unwinders find callers: `.eh_frame`, on Windows `.pdata` and `.xdata`, on
    /// macOS also `__compact_unwind`.
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
    /// Whether each function has a section of its own, so that linkers can remove the functions that no symbol refers
    /// to.
    pub function_sections: bool,
    /// The line in the section `.comment` of ELF, which says what made the code. By default it is the version, and in an
    /// [`ObjectModule`](crate::ObjectModule) the [description](kingpost_codegen::Compiler::description) of its
    /// compiler. If it is empty, the object has no such section.
    pub comment: Option<String>,
    /// Personality routine, by the name that C knows. If it is set, `.gcc_except_table` is written with the tables by
    /// which unwinders find callers. Exceptions of other languages then reach handlers of every tag, which this routine
    /// finds (`__gxx_personality_v0`, `rust_eh_personality`; with MinGW, `__gxx_personality_seh0`).
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
            function_sections: false,
            comment: None,
            personality: None,
        }
    }
}

/// Writes all functions and data objects as a single relocatable object, in the format of the target.
///
/// # Errors
/// If the target has no supported format, if the format does not support something that the module has, if a name is
/// defined twice, or if different names are one symbol.
pub fn write(
    triple: &Triple,
    module: &ModuleBuffer,
    data: &[DataObject],
    options: ObjectOptions,
) -> Result<Vec<u8>, ObjectError> {
    check_names(module, data)?;
    write_declared(triple, module, data, None, &options)
}

/// Declarations of the symbols, and aliases.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Symbols<'a> {
    pub(crate) declarations: &'a Declarations,
    pub(crate) aliases: &'a [Alias],
}

/// Writes an object like [`write()`], with what is known about the symbols.
pub(crate) fn write_declared(
    triple: &Triple,
    module: &ModuleBuffer,
    data: &[DataObject],
    symbols: Option<Symbols<'_>>,
    options: &ObjectOptions,
) -> Result<Vec<u8>, ObjectError> {
    let mut writer = Writer::new(triple, symbols.map(|symbols| symbols.declarations))?;
    writer.data_groups(data)?;
    writer.functions(module, options.function_sections)?;
    writer.data(data)?;
    for alias in symbols.map_or(&[][..], |symbols| symbols.aliases) {
        writer.alias(alias)?;
    }
    writer.check_undefined()?;
    if options.unwind_info {
        writer.unwind(module, options.personality.as_deref())?;
    }
    if options.debug_lines {
        writer.debug(module, &options.source, &options.folder)?;
    }
    for group in writer.table_groups() {
        if options.trap_table {
            writer.function_table(&function_tables::traps(module, &group.functions), &group)?;
        }
        for table in function_tables::wanted(module, &group.functions, eh_frame::registers(writer.architecture)) {
            writer.function_table(&table, &group)?;
        }
    }
    writer.property_note(module)?;
    let is_elf = writer.object.format() == BinaryFormat::Elf;
    if is_elf {
        let version = || format!("kingpost {}", kingpost_codegen::VERSION);
        elf::comment(&mut writer.object, &options.comment.clone().unwrap_or_else(version));
        elf::stack_note(&mut writer.object);
    }
    let mut bytes = writer.object.write().map_err(ObjectError::format)?;
    if is_elf {
        elf::finish(&mut bytes)?;
    }
    Ok(bytes)
}
