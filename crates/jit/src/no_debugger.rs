//! Registration of functions with debuggers, on systems whose debuggers have no interface for it that all compilers of a
//! process can share.

use crate::symbol_file::{DebugSection, NamedCode};

/// Functions that debuggers know: none on this system.
#[derive(Debug)]
pub struct SymbolFile(());

impl SymbolFile {
    /// Registers nothing on this system.
    pub fn register(_functions: &[NamedCode<'_>], _unwind_info: &[u8]) -> SymbolFile {
        SymbolFile(())
    }

    /// Registers nothing on this system.
    pub(crate) fn with_debug_info(
        functions: &[NamedCode<'_>],
        unwind_info: &[u8],
        _debug_info: &[DebugSection],
    ) -> SymbolFile {
        SymbolFile::register(functions, unwind_info)
    }
}
