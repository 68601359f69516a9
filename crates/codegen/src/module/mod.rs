//! Modules: functions and data that are declared by name, defined in any order, and refer to one another.
//!
//! A client written against [`Module`] does not know whether it makes an object file or code in memory. It declares
//! everything (a name, a linkage, a signature), gets an id, and defines it at any time; what one definition
//! mentions need not be defined yet. In the intermediate representation the name `u0:N` is function number `N` of the
//! module and `u1:N` is data object number `N`; `%word` is the symbol `word`, declared or not.
//!
//! A definition that fails leaves everything as it was, so that the client may go on without it or define it again.
//!
//! | file | holds |
//! |---|---|
//! | `declarations.rs` | names, linkage, signatures, and how two declarations of one name merge |
//! | `data.rs` | contents of a data object |
//! | `definitions.rs` | what is defined so far: the part that all kinds of modules share |
//! | `libcalls.rs` | symbols of library routines |
//! | `error.rs` | why a declaration or definition was refused |

mod data;
mod declarations;
mod definitions;
mod error;
mod libcalls;

pub use data::{DataContents, DataDescription};
pub use declarations::{DATA, DataDeclaration, DataId, Declarations, FUNCTIONS, FuncId, FunctionDeclaration, Linkage};
pub use definitions::{Definitions, ModuleReloc};
pub use error::ModuleError;
pub use libcalls::{LibCallNames, default_libcall_name};

use crate::compiler::Compiler;
use kingpost_ir::extfunc::{ExtFuncData, ExternalName};
use kingpost_ir::preamble::GlobalValueData;
use kingpost_ir::signature::Signature;
use kingpost_ir::{FuncRef, Function, GlobalValue};

/// Something that takes declarations and definitions of functions and data.
///
/// A kind of module provides the first two methods and, as methods of its own, whatever turns the definitions into
/// something: bytes of an object, or addresses.
///
/// ```
/// use kingpost_codegen::module::{FuncId, Linkage, Module, ModuleError};
///
/// /// Declares `malloc`, for memory and objects alike.
/// fn declare_malloc(module: &mut impl Module) -> Result<FuncId, ModuleError> {
///     let mut signature = module.signature();
///     signature.params.push(kingpost_ir::signature::AbiParam::new(kingpost_ir::types::I64));
///     signature.returns.push(kingpost_ir::signature::AbiParam::new(kingpost_ir::types::I64));
///     module.declare_function("malloc", Linkage::Import, &signature)
/// }
/// ```
pub trait Module {
    /// What is declared and defined so far.
    fn definitions(&self) -> &Definitions;

    /// The same, to add to.
    fn definitions_mut(&mut self) -> &mut Definitions;

    /// The compiler, with target and settings.
    fn compiler(&self) -> &Compiler {
        self.definitions().compiler()
    }

    /// Everything declared so far.
    fn declarations(&self) -> &Declarations {
        self.definitions().declarations()
    }

    /// A signature without parameters and results, in the calling convention of C on the target.
    fn signature(&self) -> Signature {
        Signature::new(self.compiler().call_conv())
    }

    /// Declares a function. Declaring it again returns the same id and merges the linkage.
    ///
    /// # Errors
    /// If the name is declared as data or with another signature.
    fn declare_function(&mut self, name: &str, linkage: Linkage, signature: &Signature) -> Result<FuncId, ModuleError> {
        self.definitions_mut().declarations_mut().declare_function(name, linkage, signature)
    }

    /// Declares a function that nothing outside the module can name.
    fn declare_anonymous_function(&mut self, signature: &Signature) -> FuncId {
        self.definitions_mut().declarations_mut().declare_anonymous_function(signature)
    }

    /// Declares a data object. Declaring it again returns the same id, merges the linkage, and makes it writable if either
    /// declaration does.
    ///
    /// # Errors
    /// If the name is declared as a function, or differs in being thread-local.
    fn declare_data(&mut self, name: &str, linkage: Linkage, writable: bool, tls: bool) -> Result<DataId, ModuleError> {
        self.definitions_mut().declarations_mut().declare_data(name, linkage, writable, tls)
    }

    /// Declares a data object that nothing outside the module can name.
    fn declare_anonymous_data(&mut self, writable: bool, tls: bool) -> DataId {
        self.definitions_mut().declarations_mut().declare_anonymous_data(writable, tls)
    }

    /// Compiles `func` as the definition of `id`. Its own name does not matter and is left as it is.
    ///
    /// # Errors
    /// If `id` is imported, defined already or has another signature; if `func` mentions what is not declared; and
    /// whatever compilation fails with. The module is then as before.
    fn define_function(&mut self, id: FuncId, func: &mut Function) -> Result<(), ModuleError> {
        self.definitions_mut().define_function(id, func)
    }

    /// Compiles many functions on up to `jobs` threads. The result does not depend on their number: it is that of
    /// defining one after the other. Returns the index of each definition that failed, and why.
    fn define_functions(&mut self, funcs: &mut [(FuncId, Function)], jobs: usize) -> Vec<(usize, ModuleError)> {
        self.definitions_mut().define_functions(funcs, jobs)
    }

    /// Takes machine code as the definition of `id`, to be placed at a multiple of `align` bytes.
    ///
    /// # Errors
    /// If `id` is imported or defined already, `align` is no power of two that this takes, or a relocation lies beyond
    /// the code or names what is not declared.
    fn define_function_bytes(
        &mut self,
        id: FuncId,
        align: u32,
        bytes: &[u8],
        relocs: &[ModuleReloc],
    ) -> Result<(), ModuleError> {
        self.definitions_mut().define_function_bytes(id, align, bytes, relocs)
    }

    /// Takes the contents of a data object.
    ///
    /// # Errors
    /// If `id` is imported, defined already or thread-local, the contents are too large, the alignment is none that
    /// this takes, or a pointer lies beyond them or names what is not declared.
    fn define_data(&mut self, id: DataId, data: &DataDescription) -> Result<(), ModuleError> {
        self.definitions_mut().define_data(id, data)
    }

    /// Makes the function `id` callable from `func`.
    ///
    /// # Panics
    /// If `id` is not of this module.
    fn declare_func_in_func(&self, id: FuncId, func: &mut Function) -> FuncRef {
        let declaration = self.declarations().function(id).expect("a function of this module");
        let signature = func.dfg.signatures.push(declaration.signature.clone());
        let name = ExternalName::User(func.user_names.push((FUNCTIONS, id.as_u32())));
        let colocated = declaration.linkage.is_final();
        func.dfg.ext_funcs.push(ExtFuncData { name, signature, colocated, patchable: false })
    }

    /// Makes the address of the data object `id` available in `func`.
    ///
    /// # Panics
    /// If `id` is not of this module.
    fn declare_data_in_func(&self, id: DataId, func: &mut Function) -> GlobalValue {
        let declaration = self.declarations().data_object(id).expect("a data object of this module");
        let name = ExternalName::User(func.user_names.push((DATA, id.as_u32())));
        let (colocated, tls) = (declaration.linkage.is_final(), declaration.tls);
        func.global_values.push(GlobalValueData::Symbol { name, offset: 0, colocated, tls })
    }
}
