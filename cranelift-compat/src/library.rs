//! Library routines that Cranelift does not have. Compiled code refers to them by names in a separate namespace.

use cranelift_codegen::ir::UserExternalName;
use cranelift_module::ModuleRelocTarget;
use kingpost_codegen::module::default_libcall_name;
use kingpost_ir::libcall::LibCall;
use target_lexicon::Triple;

/// The namespace, next to the namespaces of functions and data objects.
const NAMESPACE: u32 = u32::MAX;

/// Returns the name by which compiled code refers to a routine.
pub(crate) fn user_name(libcall: LibCall) -> UserExternalName {
    let index = LibCall::ALL.iter().position(|known| *known == libcall).expect("all are listed");
    UserExternalName::new(NAMESPACE, index as u32)
}

/// Returns the symbol of a routine, if the name refers to one.
pub(crate) fn symbol(name: &ModuleRelocTarget, triple: &Triple) -> Option<&'static str> {
    match name {
        ModuleRelocTarget::User { namespace: NAMESPACE, index } => {
            LibCall::ALL.get(*index as usize).map(|libcall| default_libcall_name(*libcall, triple))
        }
        _ => None,
    }
}
