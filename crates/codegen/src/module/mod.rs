//! Modules: functions and data that are declared by name, defined in any order, and refer to one another.
//!
//! A client of [`Module`] is independent of the kind of module: an object file or code in memory. It declares a name,
//! a linkage and a signature, gets an id, and defines it at any time. A definition may refer to declarations that are
//! not defined yet. In the intermediate representation the name `u0:N` is function number `N` of the module and
//! `u1:N` is data object number `N`; `%word` is the symbol `word`, declared or not.
//!
//! A definition that fails leaves the module unchanged, so that the client may continue without it or define it
//! again.
//!
//! | file | holds |
//! |---|---|
//! | `declarations.rs` | names, linkage, signatures, and the merging of two declarations of one name |
//! | `data.rs` | contents of a data object |
//! | `definitions.rs` | definitions: the part that all kinds of modules share |
//! | `inlining.rs`, `call_graph.rs` | calls of small functions, replaced by their bodies |
//! | `libcalls.rs` | symbols of library routines |
//! | `error.rs` | errors of declarations and definitions |

mod call_graph;
mod data;
mod declarations;
mod definitions;
mod error;
mod inlining;
mod libcalls;
mod unused;

pub use data::{DataContents, DataDescription};
pub use declarations::{
    DATA, DataDeclaration, DataId, DataKind, Declarations, FUNCTIONS, FuncId, FunctionDeclaration, Linkage,
};
pub use definitions::{Alias, Definitions, ModuleReloc};
pub use error::ModuleError;
pub use inlining::Inliner;
pub use libcalls::{LibCallNames, default_libcall_name};

use crate::compiler::Compiler;
use kingpost_ir::extfunc::{ExtFuncData, ExternalName};
use kingpost_ir::preamble::GlobalValueData;
use kingpost_ir::signature::Signature;
use kingpost_ir::{FuncRef, Function, GlobalValue};

/// A container for declarations and definitions of functions and data.
///
/// A kind of module implements the first two methods. Its own methods turn the definitions into the bytes of an
/// object, or into addresses.
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
    /// Returns the declarations and definitions.
    fn definitions(&self) -> &Definitions;

    /// Returns the declarations and definitions for additions.
    fn definitions_mut(&mut self) -> &mut Definitions;

    /// Returns the compiler, which has the target and the settings.
    fn compiler(&self) -> &Compiler {
        self.definitions().compiler()
    }

    /// Returns all declarations.
    fn declarations(&self) -> &Declarations {
        self.definitions().declarations()
    }

    /// Returns a signature without parameters and results, in the C calling convention of the target.
    fn signature(&self) -> Signature {
        Signature::new(self.compiler().call_conv())
    }

    /// Declares a function. A second declaration returns the id of the first and merges the linkage.
    ///
    /// # Errors
    /// If the name is declared as data or with another signature.
    fn declare_function(&mut self, name: &str, linkage: Linkage, signature: &Signature) -> Result<FuncId, ModuleError> {
        self.definitions_mut().declarations_mut().declare_function(name, linkage, signature)
    }

    /// Declares a function that has no name outside the module.
    fn declare_anonymous_function(&mut self, signature: &Signature) -> FuncId {
        self.definitions_mut().declarations_mut().declare_anonymous_function(signature)
    }

    /// Declares a data object. A second declaration returns the id of the first, merges the linkage, and makes the
    /// object writable if either declaration does.
    ///
    /// # Errors
    /// If the name is declared as a function, or only one of the declarations is thread-local.
    fn declare_data(&mut self, name: &str, linkage: Linkage, kind: DataKind) -> Result<DataId, ModuleError> {
        self.definitions_mut().declarations_mut().declare_data(name, linkage, kind)
    }

    /// Declares a data object that has no name outside the module.
    fn declare_anonymous_data(&mut self, kind: DataKind) -> DataId {
        self.definitions_mut().declarations_mut().declare_anonymous_data(kind)
    }

    /// Compiles `func` as the definition of `id`. The name of `func` is ignored and unchanged.
    ///
    /// # Errors
    /// If `id` is imported, defined already or has another signature; if `func` refers to undeclared names; or if the
    /// compilation fails. The module is unchanged then.
    fn define_function(&mut self, id: FuncId, func: &mut Function) -> Result<(), ModuleError> {
        self.definitions_mut().define_function(id, func)
    }

    /// Compiles many functions on up to `jobs` threads. The result does not depend on the number of threads, and
    /// equals the result of defining them one by one, callees first. Returns the index and the error of each
    /// definition that failed.
    ///
    /// With `opt_level=speed` and the setting `enable_inlining`, calls of small functions of the module become their
    /// bodies, if the functions are defined earlier or in the same batch, and no other definition can replace them.
    fn define_functions(&mut self, funcs: &mut [(FuncId, Function)], jobs: usize) -> Vec<(usize, ModuleError)> {
        self.definitions_mut().define_functions(funcs, jobs)
    }

    /// Adds machine code as the definition of `id`, aligned to a multiple of `align` bytes.
    ///
    /// # Errors
    /// If `id` is imported or defined already, if `align` is no power of two or too large, or if a relocation is
    /// beyond the code or refers to an undeclared name.
    fn define_function_bytes(
        &mut self,
        id: FuncId,
        align: u32,
        bytes: &[u8],
        relocs: &[ModuleReloc],
    ) -> Result<(), ModuleError> {
        self.definitions_mut().define_function_bytes(id, align, bytes, relocs)
    }

    /// Makes `id` a second symbol of the function `target`, with a linkage of its own.
    ///
    /// ```
    /// use kingpost_codegen::module::{FuncId, Linkage, Module, ModuleError};
    ///
    /// /// Exports a function under a second name.
    /// fn export_as(module: &mut impl Module, name: &str, target: FuncId) -> Result<(), ModuleError> {
    ///     let signature = module.declarations().function(target).expect("it is of this module").signature.clone();
    ///     let id = module.declare_function(name, Linkage::Export, &signature)?;
    ///     module.define_function_alias(id, target)
    /// }
    /// ```
    ///
    /// # Errors
    /// If `id` is imported or defined already, if `target` is not defined, or if their signatures differ.
    fn define_function_alias(&mut self, id: FuncId, target: FuncId) -> Result<(), ModuleError> {
        self.definitions_mut().define_function_alias(id, target)
    }

    /// Makes `id` a second symbol of the data object `target`, with a linkage of its own.
    ///
    /// # Errors
    /// If `id` is imported or defined already, if `target` is not defined, or if their kinds differ.
    fn define_data_alias(&mut self, id: DataId, target: DataId) -> Result<(), ModuleError> {
        self.definitions_mut().define_data_alias(id, target)
    }

    /// Adds the contents of a data object.
    ///
    /// # Errors
    /// If `id` is imported or defined already, if the contents are too large, if the alignment is no
    /// power of two or too large, or if a pointer is beyond the contents or refers to an undeclared name.
    fn define_data(&mut self, id: DataId, data: &DataDescription) -> Result<(), ModuleError> {
        self.definitions_mut().define_data(id, data)
    }

    /// Declares the function `id` in `func`, so that `func` can call it.
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

    /// Declares the data object `id` in `func`, so that `func` can use its address.
    ///
    /// # Panics
    /// If `id` is not of this module.
    fn declare_data_in_func(&self, id: DataId, func: &mut Function) -> GlobalValue {
        let declaration = self.declarations().data_object(id).expect("a data object of this module");
        let name = ExternalName::User(func.user_names.push((DATA, id.as_u32())));
        let (colocated, tls) = (declaration.linkage.is_final(), !declaration.kind.is_shared());
        func.global_values.push(GlobalValueData::Symbol { name, offset: 0, colocated, tls })
    }
}
