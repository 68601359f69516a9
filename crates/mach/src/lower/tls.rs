//! Addresses of thread-local symbols.
//!
//! Before: `v0 = tls_value.i64 gv0`. After: `tls_address v0, %x`. It is one row because linkers rewrite its bytes as
//! a whole: they replace the call if the symbol turns out to be in the program or in a library that is loaded with
//! it.

use super::machine::LowerBackend;
use super::{Address, LowerResult};
use crate::error::LowerError;
use crate::settings::TlsModel;
use kingpost_ir::extfunc::ExternalName;
use kingpost_ir::libcall::KnownSymbol;
use kingpost_ir::preamble::GlobalValueData;
use kingpost_ir::types::I64;
use kingpost_ir::{Inst, InstView, Opcode};

/// Lowers `tls_value`.
///
/// # Errors
/// If the settings have no model of thread-local storage, if the global value is not a thread-local symbol, or if the
/// type of the result is not `i64`.
pub fn tls_value<'f, M: LowerBackend<'f>>(cx: &mut M, inst: Inst) -> LowerResult {
    let InstView::UnaryGlobalValue { global } = cx.func.dfg.view(inst) else { return Err(cx.unsupported(inst)) };
    let func = cx.func;
    let GlobalValueData::Symbol { name, offset, colocated, tls: true } = &func.global_values[global] else {
        return Err(cx.unsupported(inst));
    };
    if cx.result_ty(inst) != I64 {
        return Err(cx.unsupported(inst));
    }
    let value = cx.first_result(inst);
    let def = cx.result(value);
    let start = if *offset == 0 { def } else { cx.int_temp(64) };
    // The row mentions a routine or the index of the module by name, because no instruction of the input does.
    let (row, clobbers, mentioned) = match cx.settings.tls_model {
        TlsModel::None => return Err(LowerError::Setting { opcode: Opcode::TlsValue, key: "tls_model" }),
        TlsModel::Coff => {
            let (row, clobbers) = M::ROWS.tls_of_index;
            (row, clobbers, Some(ExternalName::KnownSymbol(KnownSymbol::CoffTlsIndex)))
        }
        TlsModel::Macho => {
            cx.code.has_calls = true;
            let (row, clobbers) = M::ROWS.tls_of_variable;
            (row, clobbers, None)
        }
        TlsModel::ElfGd => {
            cx.code.has_calls = true;
            (M::ROWS.tls_address, M::TLS_CLOBBERS, M::TLS_ROUTINE.map(ExternalName::LibCall))
        }
    };
    let mentioned = mentioned.map_or(0, |name| {
        let symbol = cx.symbol(&name, false, 0);
        cx.code.symbols[symbol as usize].name
    });
    let symbol = cx.symbol(name, *colocated, 0);
    let clobbers = cx.clobbers(clobbers, Default::default(), 0);
    cx.emit_with(row, &[start], Some(Address::Symbol(symbol)), &[], clobbers).imm = mentioned as i32;
    if *offset != 0 {
        cx.add_offset(def, start, *offset);
    }
    Ok(())
}
