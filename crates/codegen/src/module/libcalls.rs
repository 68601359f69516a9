//! Symbols of library routines.

use kingpost_ir::libcall::LibCall;
use std::sync::Arc;
use target_lexicon::{Architecture, Environment, OperatingSystem, Triple};

/// Function that returns the symbol of a library routine for a module.
pub type LibCallNames = Arc<dyn Fn(LibCall) -> String + Send + Sync>;

/// Returns the default symbol of a library routine. This is the name in the target's C library or compiler library
/// (libgcc and compiler-rt agree). Routines without such a name have one with the prefix `__kingpost_`.
pub fn default_libcall_name(libcall: LibCall, triple: &Triple) -> &'static str {
    match libcall {
        LibCall::Probestack if triple.operating_system == OperatingSystem::Windows => match triple.environment {
            Environment::Gnu if triple.architecture == Architecture::X86_64 => "___chkstk_ms",
            _ => "__chkstk",
        },
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
        LibCall::UdivI128 => "__udivti3",
        LibCall::SdivI128 => "__divti3",
        LibCall::UremI128 => "__umodti3",
        LibCall::SremI128 => "__modti3",
        LibCall::F32ToI128 => "__fixsfti",
        LibCall::F32ToU128 => "__fixunssfti",
        LibCall::F64ToI128 => "__fixdfti",
        LibCall::F64ToU128 => "__fixunsdfti",
        LibCall::F128ToI128 => "__fixtfti",
        LibCall::F128ToU128 => "__fixunstfti",
        LibCall::F128ToI64 => "__fixtfdi",
        LibCall::F128ToU64 => "__fixunstfdi",
        LibCall::I128ToF32 => "__floattisf",
        LibCall::U128ToF32 => "__floatuntisf",
        LibCall::I128ToF64 => "__floattidf",
        LibCall::U128ToF64 => "__floatuntidf",
        LibCall::I128ToF128 => "__floattitf",
        LibCall::U128ToF128 => "__floatuntitf",
        LibCall::I64ToF128 => "__floatditf",
        LibCall::U64ToF128 => "__floatunditf",
        LibCall::F16ToF32 => "__extendhfsf2",
        LibCall::F16ToF128 => "__extendhftf2",
        LibCall::F32ToF128 => "__extendsftf2",
        LibCall::F64ToF128 => "__extenddftf2",
        LibCall::F32ToF16 => "__truncsfhf2",
        LibCall::F64ToF16 => "__truncdfhf2",
        LibCall::F128ToF16 => "__trunctfhf2",
        LibCall::F128ToF32 => "__trunctfsf2",
        LibCall::F128ToF64 => "__trunctfdf2",
        LibCall::AddF128 => "__addtf3",
        LibCall::SubF128 => "__subtf3",
        LibCall::MulF128 => "__multf3",
        LibCall::DivF128 => "__divtf3",
        LibCall::SqrtF128 => "sqrtf128",
        LibCall::FmaF128 => "fmaf128",
        LibCall::CeilF128 => "ceilf128",
        LibCall::FloorF128 => "floorf128",
        LibCall::TruncF128 => "truncf128",
        LibCall::NearestF128 => "roundevenf128",
        LibCall::EqF128 => "__eqtf2",
        LibCall::LtF128 => "__lttf2",
        LibCall::LeF128 => "__letf2",
        LibCall::GtF128 => "__gttf2",
        LibCall::GeF128 => "__getf2",
        LibCall::UnordF128 => "__unordtf2",
    }
}
