//! Symbols of library routines that Cranelift does not have.

use cranelift_codegen::kingpost::routine;
use cranelift_module::ModuleRelocTarget;
use kingpost_codegen::module::default_libcall_name;
use target_lexicon::Triple;

/// Returns the symbol of a routine, if the name refers to one.
pub(crate) fn symbol(name: &ModuleRelocTarget, triple: &Triple) -> Option<&'static str> {
    match *name {
        ModuleRelocTarget::User { namespace, index } => {
            routine(namespace, index).map(|libcall| default_libcall_name(libcall, triple))
        }
        _ => None,
    }
}
