//! Sign extensions, of loads by the load itself.

use super::Lowered;
use super::cx::Cx;
use crate::rows;
use kingpost_ir::{Inst, InstView, Opcode, Value};
use kingpost_mach::lower::is_little;
use kingpost_mach::{LowerError, Machine};
use kingpost_regalloc::VReg;

/// `sextend`; of a load nobody else needs, the load itself.
pub(super) fn sextend(cx: &mut Cx<'_, '_>, inst: Inst) -> Lowered {
    let [x] = cx.args(inst);
    let value = cx.first_result(inst);
    let (from, to) = (cx.ty(x).bits(), cx.ty(value).bits());
    let defs = cx.result_parts(value);
    if !load_extended(cx, inst, defs[0], x, to)? {
        let source = cx.use_reg(x);
        cx.sign_extend(defs[0], source, from, to);
    }
    if let Some(&high) = defs.get(1) {
        cx.emit_imm(rows::ASR_RRI.of(64), &[high, defs[0]], 63);
    }
    Ok(())
}

/// Loads the value of `x` into `def` with its sign, if `x` is a load that `inst` may do itself.
fn load_extended(cx: &mut Cx<'_, '_>, inst: Inst, def: VReg, x: Value, to: u32) -> Result<bool, LowerError> {
    let Some(load) = cx.sinkable_load(x, inst) else { return Ok(false) };
    let InstView::Load { flags, addr, offset } = cx.func.dfg.view(load) else { return Ok(false) };
    let from = cx.ty(x).bits();
    if cx.func.dfg.opcode(load) != Opcode::Load || !is_little(flags) || from > 32 {
        return Ok(false);
    }
    cx.mark_sunk(load);
    let address = cx.address(addr, i64::from(offset), from as u8 / 8, load)?;
    cx.emit_mem(Cx::widening_load_row(from, to, true), &[def], address).set_trap(flags.trap_code());
    Ok(true)
}
