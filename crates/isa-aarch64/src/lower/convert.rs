//! Sign extensions, which loads do themselves, and concatenation of two integers.
//!
//! Before: `v1 = load.i8 v0; v2 = sextend.i64 v1`. After: `ldrsb x2, [x0]`.

use super::cx::Cx;
use super::{LowerResult, tiles, vector};
use crate::immediates;
use crate::rows;
use kingpost_ir::{Inst, InstView, Opcode, Value};
use kingpost_mach::lower::{self as shared, is_little};
use kingpost_mach::{LowerBackend, LowerError};
use kingpost_regalloc::VReg;

/// Lowers `sextend`. A load without another use extends by itself.
pub(super) fn sextend(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let value = cx.first_result(inst);
    let to = cx.ty(value).bits();
    let def = cx.result(value);
    extend(cx, inst, def, to)
}

/// Sign-extends the operand of `inst` to `to` bits in `def`.
pub(super) fn extend(cx: &mut Cx<'_, '_>, inst: Inst, def: VReg, to: u32) -> LowerResult {
    let [x] = cx.args(inst);
    if vector::extract_signed(cx, def, x, to) {
        cx.count_tile(tiles::LANE_SIGN);
    } else if !load_extended(cx, inst, def, x, to)? {
        let source = cx.use_reg(x);
        cx.sign_extend(def, source, cx.ty(x).bits(), to);
    }
    Ok(())
}

/// Loads the value of `x` into `def` sign-extended, if `x` is a load that `inst` may do itself.
fn load_extended(cx: &mut Cx<'_, '_>, inst: Inst, def: VReg, x: Value, to: u32) -> Result<bool, LowerError> {
    let Some(load) = cx.sinkable_load(x, inst) else { return Ok(false) };
    let InstView::Load { flags, addr, offset } = cx.func.dfg.view(load) else { return Ok(false) };
    let from = cx.ty(x).bits();
    if cx.func.dfg.opcode(load) != Opcode::Load || !is_little(flags) || from > 32 {
        return Ok(false);
    }
    cx.mark_sunk(load);
    cx.count_tile(tiles::FOLDED_LOAD);
    let address = cx.address(addr, i64::from(offset), from as u8 / 8, load)?;
    cx.emit_mem(Cx::widening_load_row(from, to, true), &[def], address).set_trap(flags.trap_code());
    Ok(true)
}

/// Lowers `iconcat`.
pub(super) fn iconcat(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [low, _] = cx.args(inst);
    let bits = cx.ty(low).bits();
    if bits == 64 {
        return shared::wide::iconcat(cx, inst);
    }
    let operands: [VReg; 3] = cx.registers(inst);
    let row = rows::BFM_RRI.of(bits * 2);
    let field = immediates::bitfield_insert(bits as u8, bits as u8, bits.max(16) as u8 * 2);
    cx.emit_imm(row, &operands, field);
    Ok(())
}
