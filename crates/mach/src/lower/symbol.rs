//! Addresses of functions and symbols, and values computed from them and the VM context.
//!
//! Before: `v0 = symbol_value.i64 gv0`. After: `lea64_const v0, [%g]`, or a load from the global offset table.
//!
//! A near symbol is addressed relative to the instruction. A far symbol is addressed through the GOT in
//! position-independent code, and by its absolute address otherwise.

use super::access::is_little;
use super::machine::LowerBackend;
use super::memory::load_into;
use super::{Address, LowerCtx, LowerResult, endian};
use crate::error::LowerError;
use kingpost_ir::extfunc::ExternalName;
use kingpost_ir::preamble::GlobalValueData;
use kingpost_ir::types::I64;
use kingpost_ir::{GlobalValue, Inst, InstView};
use kingpost_regalloc::VReg;

/// Limit of offsets at which a near symbol plus the offset is near: no machine reaches less than 2 GiB.
const NEAR: u64 = 1 << 24;

/// Lowers `func_addr`.
///
/// # Errors
/// If the type of the result is not `i64`.
pub fn func_addr<'f>(cx: &mut impl LowerBackend<'f>, inst: Inst) -> LowerResult {
    let InstView::FuncAddr { func } = cx.func.dfg.view(inst) else { return Err(cx.unsupported(inst)) };
    if cx.result_ty(inst) != I64 {
        return Err(cx.unsupported(inst));
    }
    let value = cx.first_result(inst);
    let def = cx.result(value);
    let callee = &cx.func.dfg.ext_funcs[func];
    symbol_address(cx, def, &callee.name, callee.colocated, 0);
    Ok(())
}

/// Lowers `symbol_value`.
///
/// # Errors
/// If there is no code for the global value.
pub fn symbol_value<'f>(cx: &mut impl LowerBackend<'f>, inst: Inst) -> LowerResult {
    let InstView::UnaryGlobalValue { global } = cx.func.dfg.view(inst) else { return Err(cx.unsupported(inst)) };
    let value = cx.first_result(inst);
    let def = cx.result(value);
    global_value(cx, def, global).map_err(|refused| refused.unwrap_or_else(|| cx.unsupported(inst)))
}

/// Returns the number of a symbol plus `offset`, if it is near enough for an address relative to the instruction.
pub fn near_symbol(cx: &mut LowerCtx<'_>, global: GlobalValue, offset: i64) -> Option<u32> {
    let GlobalValueData::Symbol { name, offset: own, colocated: true, tls: false } = &cx.func.global_values[global]
    else {
        return None;
    };
    let total = own.checked_add(offset).filter(|total| total.unsigned_abs() < NEAR)?;
    Some(cx.symbol(name, true, total))
}

/// Computes the address of a symbol into `def`.
pub(super) fn symbol_address<'f, M: LowerBackend<'f>>(
    cx: &mut M,
    def: VReg,
    name: &ExternalName,
    near: bool,
    offset: i64,
) {
    if near && offset.unsigned_abs() < NEAR {
        let symbol = cx.symbol(name, true, offset);
        cx.emit_mem(M::ROWS.address, &[def], Address::Symbol(symbol));
    } else if near || cx.settings.is_pic {
        let base = if offset == 0 { def } else { cx.int_temp(64) };
        let symbol = cx.symbol(name, near, 0);
        let row = if near { M::ROWS.address } else { M::ROWS.address_got };
        cx.emit_mem(row, &[base], Address::Symbol(symbol));
        if offset != 0 {
            let far = cx.constant_temp(offset as u64, 64);
            cx.emit(M::ROWS.add64, &[def, base, far]);
        }
    } else {
        let symbol = cx.symbol(name, false, offset);
        cx.emit_mem(M::ROWS.address_absolute, &[def], Address::Symbol(symbol));
    }
}

/// Computes a global value into `def`. The error is `None` if there is no code for it.
fn global_value<'f, M: LowerBackend<'f>>(cx: &mut M, def: VReg, global: GlobalValue) -> Result<(), Option<LowerError>> {
    match &cx.func.global_values[global] {
        GlobalValueData::Load { base, .. } | GlobalValueData::IAddImm { base, .. } => {
            let base = global_base(cx, *base)?;
            step(cx, def, base, global)
        }
        GlobalValueData::VmContext => {
            let context = cx.context_param().ok_or(None)?;
            let context = cx.use_reg(context);
            cx.emit(M::ROWS.move64, &[def, context]);
            Ok(())
        }
        GlobalValueData::Symbol { name, offset, colocated, tls: false } => {
            symbol_address(cx, def, name, *colocated, *offset);
            Ok(())
        }
        GlobalValueData::Symbol { .. } | GlobalValueData::DynScaleTargetConst { .. } => Err(None),
    }
}

/// Returns the register of a global value that another one is computed from.
pub(super) fn global_base<'f, M: LowerBackend<'f>>(
    cx: &mut M,
    global: GlobalValue,
) -> Result<VReg, Option<LowerError>> {
    let (root, chain) = cx.global_chain(global).ok_or(None)?;
    let mut at = match &cx.func.global_values[root] {
        GlobalValueData::VmContext => {
            let context = cx.context_param().ok_or(None)?;
            cx.use_reg(context)
        }
        _ => {
            let address = cx.int_temp(64);
            global_value(cx, address, root)?;
            address
        }
    };
    for next in chain {
        let to = cx.int_temp(64);
        step(cx, to, at, next)?;
        at = to;
    }
    Ok(at)
}

fn step<'f, M: LowerBackend<'f>>(
    cx: &mut M,
    def: VReg,
    base: VReg,
    global: GlobalValue,
) -> Result<(), Option<LowerError>> {
    match &cx.func.global_values[global] {
        GlobalValueData::Load { offset, ty, flags, .. } => {
            let address = Address::Base { base, disp: *offset };
            match is_little(*flags) {
                true => load_into(cx, def, *ty, address, flags.trap_code()),
                false => endian::load_word(cx, def, *ty, address, flags.trap_code()),
            }
            .ok_or(None)
        }
        GlobalValueData::IAddImm { offset, ty, .. } if *ty == I64 => {
            cx.add_offset(def, base, *offset);
            Ok(())
        }
        _ => Err(None),
    }
}
