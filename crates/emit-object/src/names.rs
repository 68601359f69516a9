//! Names of symbols in object files.

use kingpost_ir::libcall::{KnownSymbol, LibCall};
use kingpost_mach::SymbolName;

/// The name of a symbol in an object file: `%name` is `name`, `uN:M` is `u_N_M`, a library routine has its C name.
pub fn symbol_name(name: &SymbolName) -> String {
    match name {
        SymbolName::Named(word) => word.to_string(),
        SymbolName::User(namespace, index) => format!("u_{namespace}_{index}"),
        SymbolName::LibCall(libcall) => libcall_name(*libcall).into(),
        SymbolName::KnownSymbol(KnownSymbol::ElfGlobalOffsetTable) => "_GLOBAL_OFFSET_TABLE_".into(),
        SymbolName::KnownSymbol(KnownSymbol::CoffTlsIndex) => "_tls_index".into(),
    }
}

/// The C name of a library routine.
fn libcall_name(libcall: LibCall) -> &'static str {
    match libcall {
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
