//! Symbols of library routines that Cranelift does not have.

use cranelift_codegen::ir;
use cranelift_codegen::kingpost::routine;
use cranelift_module::ModuleRelocTarget;
use kingpost_codegen::module::default_libcall_name;
use kingpost_ir::libcall::LibCall;
use target_lexicon::{OperatingSystem, Triple};

/// Returns the symbol of a routine, if the name refers to one.
pub(crate) fn symbol(name: &ModuleRelocTarget, triple: &Triple) -> Option<&'static str> {
    match *name {
        ModuleRelocTarget::User { namespace, index } => {
            routine(namespace, index).map(|libcall| default_libcall_name(libcall, triple))
        }
        // Cranelift's name is no routine of Windows.
        ModuleRelocTarget::LibCall(ir::LibCall::Probestack) if triple.operating_system == OperatingSystem::Windows => {
            Some(default_libcall_name(LibCall::Probestack, triple))
        }
        _ => None,
    }
}
