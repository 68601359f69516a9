//! Names of symbols in object files.

use crate::error::ObjectError;
use kingpost_codegen::module::default_libcall_name;
use kingpost_ir::libcall::KnownSymbol;
use kingpost_mach::{DataObject, FunctionView, ModuleBuffer, SymbolName};
use std::collections::HashSet;
use std::iter::once;
use target_lexicon::{BinaryFormat, Triple};

/// Returns the name of a symbol in an object file: the name that C knows, which has a leading `_` in Mach-O.
pub fn symbol_name(name: &SymbolName, triple: &Triple) -> String {
    let plain = plain_name(name, triple);
    match triple.binary_format {
        // The linker's names for its own labels begin with `l`.
        BinaryFormat::Macho if matches!(name, SymbolName::Literal(_)) => plain.replacen('.', "l", 1),
        BinaryFormat::Macho => format!("_{plain}"),
        _ => plain,
    }
}

/// Returns the name of a symbol as C knows it. `%name` becomes `name`, `uN:M` becomes `u_N_M`, and a library
/// routine has its C name. A literal has a name that linkers treat as a local label of an assembler.
pub(crate) fn plain_name(name: &SymbolName, triple: &Triple) -> String {
    match name {
        SymbolName::Named(word) => word.to_string(),
        SymbolName::User(namespace, index) => format!("u_{namespace}_{index}"),
        SymbolName::LibCall(libcall) => default_libcall_name(*libcall, triple).into(),
        SymbolName::KnownSymbol(KnownSymbol::ElfGlobalOffsetTable) => "_GLOBAL_OFFSET_TABLE_".into(),
        SymbolName::KnownSymbol(KnownSymbol::CoffTlsIndex) => "_tls_index".into(),
        SymbolName::Literal(_) => name.to_string(),
    }
}

/// Checks that functions and data do not refer to both `%u_N_M` and `uN:M`, because an object has one name for both.
/// Linear in the number of references.
///
/// # Errors
/// For the first pair of such names.
pub(crate) fn check_names<'a>(module: &'a ModuleBuffer, data: &'a [DataObject]) -> Result<(), ObjectError> {
    let in_data = |d: &'a DataObject| once(&d.name).chain(d.pointers.iter().map(|pointer| &pointer.symbol));
    let in_code = |f: FunctionView<'a>| once(&f.function.head.name).chain(f.symbols);
    let names = || module.functions().flat_map(in_code).chain(data.iter().flat_map(in_data));
    let words: HashSet<(u32, u32)> = names().filter_map(numbers_in_word).collect();
    // Few modules have such names.
    if words.is_empty() {
        return Ok(());
    }
    for name in names() {
        if let &SymbolName::User(namespace, index) = name
            && words.contains(&(namespace, index))
        {
            return Err(ObjectError::Alike(namespace, index));
        }
    }
    Ok(())
}

/// Returns the numbers of the name `uN:M` whose symbol has the name of a word.
fn numbers_in_word(name: &SymbolName) -> Option<(u32, u32)> {
    let SymbolName::Named(word) = name else { return None };
    let (namespace, index) = word.strip_prefix("u_")?.split_once('_')?;
    let numbers = (namespace.parse().ok()?, index.parse().ok()?);
    // Numbers are written without leading zeros and signs.
    (**word == format!("u_{}_{}", numbers.0, numbers.1)).then_some(numbers)
}
