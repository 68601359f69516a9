//! Names of symbols in object files.

use kingpost_codegen::module::default_libcall_name;
use kingpost_ir::libcall::KnownSymbol;
use kingpost_mach::SymbolName;
use target_lexicon::Triple;

/// The name of a symbol in an object file: `%name` is `name`, `uN:M` is `u_N_M`, a library routine has its C name,
/// a literal one that linkers take for a local label of an assembler.
pub fn symbol_name(name: &SymbolName, triple: &Triple) -> String {
    match name {
        SymbolName::Named(word) => word.to_string(),
        SymbolName::User(namespace, index) => format!("u_{namespace}_{index}"),
        SymbolName::LibCall(libcall) => default_libcall_name(*libcall, triple).into(),
        SymbolName::KnownSymbol(KnownSymbol::ElfGlobalOffsetTable) => "_GLOBAL_OFFSET_TABLE_".into(),
        SymbolName::KnownSymbol(KnownSymbol::CoffTlsIndex) => "_tls_index".into(),
        SymbolName::Literal(_) => name.to_string(),
    }
}
