//! A module that becomes an object file.

use crate::error::ObjectError;
use crate::write::{ObjectOptions, Symbols, write_declared};
use kingpost_codegen::Compiler;
use kingpost_codegen::module::{Definitions, Module};

/// A module whose definitions are collected for a single object file.
///
/// ```
/// use kingpost_codegen::module::{DataDescription, DataKind, Linkage, Module};
/// use kingpost_codegen::{Compiler, Settings};
/// use kingpost_emit_object::{ObjectModule, ObjectOptions};
/// use target_lexicon::triple;
///
/// let compiler = Compiler::new(&triple!("aarch64-unknown-linux-gnu"), Settings::default(), &[]).unwrap();
/// let mut module = ObjectModule::new(compiler, ObjectOptions::default());
/// let id = module.declare_data("answer", Linkage::Export, DataKind::ReadOnly).unwrap();
/// module.define_data(id, &DataDescription::bytes(42u32.to_le_bytes())).unwrap();
/// // The contents of an object file, for the linker.
/// let bytes = module.finish().unwrap();
/// assert!(bytes.starts_with(b"\x7fELF"));
/// ```
#[derive(Debug)]
pub struct ObjectModule {
    definitions: Definitions,
    options: ObjectOptions,
}

impl ObjectModule {
    /// Returns a module without declarations, for the compiler's target.
    ///
    /// The object runs on every processor that has the features of the compiler. [`Compiler::baseline`] and
    /// [`Compiler::new`] without flags use none beyond the base of the architecture; [`Compiler::host`] uses all features
    /// of this processor, so that the program may fail on another one.
    pub fn new(compiler: Compiler, options: ObjectOptions) -> ObjectModule {
        ObjectModule { definitions: Definitions::new(compiler), options }
    }

    /// Returns the options of the object for changes.
    pub fn options_mut(&mut self) -> &mut ObjectOptions {
        &mut self.options
    }

    /// Returns the object file. Linkage determines the binding and visibility of symbols. Local functions are left out
    /// if inlining has made them unused.
    ///
    /// # Errors
    /// If the target has no supported object format, if the format does not accept a name, or if a function or data
    /// object is referred to and declared to be defined here, but is not, or if the format has no definitions of the
    /// linkage [`LinkOnce`](kingpost_codegen::module::Linkage::LinkOnce).
    pub fn finish(mut self) -> Result<Vec<u8>, ObjectError> {
        self.definitions.remove_unused();
        let (functions, data) = self.definitions.take();
        let compiler = self.definitions.compiler();
        self.options.comment.get_or_insert_with(|| compiler.description());
        let symbols = Symbols { declarations: self.definitions.declarations(), aliases: self.definitions.aliases() };
        write_declared(compiler.triple(), &functions, &data, Some(symbols), &self.options)
    }
}

impl Module for ObjectModule {
    fn definitions(&self) -> &Definitions {
        &self.definitions
    }

    fn definitions_mut(&mut self) -> &mut Definitions {
        &mut self.definitions
    }
}
