//! Library routines that Cranelift does not have. Compiled code refers to them by names in a separate namespace.

use cranelift_codegen::ir::UserExternalName;
use kingpost_ir::libcall::LibCall;

/// The namespace, next to the namespaces of functions and data objects.
const NAMESPACE: u32 = u32::MAX;

/// Returns the name by which compiled code refers to a routine.
pub(crate) fn user_name(libcall: LibCall) -> UserExternalName {
    let index = LibCall::ALL.iter().position(|known| *known == libcall).expect("all are listed");
    UserExternalName::new(NAMESPACE, index as u32)
}

/// Returns the routine to which compiled code refers by a name in a namespace, if there is one.
pub fn routine(namespace: u32, index: u32) -> Option<LibCall> {
    LibCall::ALL.get(index as usize).copied().filter(|_| namespace == NAMESPACE)
}
