//! Symbols of library routines.

use kingpost_ir::libcall::LibCall;
use std::sync::Arc;
use target_lexicon::{OperatingSystem, Triple};

/// Returns the symbol by which a module calls a library routine.
pub type LibCallNames = Arc<dyn Fn(LibCall) -> String + Send + Sync>;

/// The usual symbol of a library routine: that of the target's C library, or of ours where C has none.
pub fn default_libcall_name(libcall: LibCall, triple: &Triple) -> &'static str {
    match libcall {
        LibCall::Probestack if triple.operating_system == OperatingSystem::Windows => "__chkstk",
        LibCall::Probestack => "__kingpost_probestack",
        LibCall::CeilF32 => "ceilf",
        LibCall::CeilF64 => "ceil",
        LibCall::FloorF32 => "floorf",
        LibCall::FloorF64 => "floor",
        LibCall::TruncF32 => "truncf",
        LibCall::TruncF64 => "trunc",
        LibCall::NearestF32 => "nearbyintf",
        LibCall::NearestF64 => "nearbyint",
        LibCall::FmaF32 => "fmaf",
        LibCall::FmaF64 => "fma",
        LibCall::Memcpy => "memcpy",
        LibCall::Memset => "memset",
        LibCall::Memmove => "memmove",
        LibCall::Memcmp => "memcmp",
        LibCall::ElfTlsGetAddr => "__tls_get_addr",
        LibCall::ElfTlsGetOffset => "__tls_get_offset",
        LibCall::X86Pshufb => "__kingpost_x86_pshufb",
    }
}
