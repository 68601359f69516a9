//! Rules about immediates: flags of stores, lanes, masks, constants, debug tags.

use crate::entities::Inst;
use crate::inst_view::InstView;
use crate::opcodes::{Format, Opcode};
use crate::verifier::{Check, Verified};

impl Check<'_> {
    pub(super) fn immediates(&mut self, inst: Inst) -> Verified {
        let func = self.func;
        let opcode = func.dfg.opcode(inst);
        match func.dfg.view(inst) {
            InstView::Store { flags, .. } if flags.readonly() => {
                self.fatal(inst, "A store instruction cannot have the `readonly` MemFlag")?;
            }
            InstView::BinaryImm8 { imm, .. } if opcode == Opcode::Extractlane => {
                self.lane(inst, imm)?;
            }
            InstView::TernaryImm8 { imm, .. } => self.lane(inst, imm)?,
            InstView::Shuffle { mask, .. } => {
                if let Some(index) = mask.iter().find(|&&index| index > 31) {
                    self.fatal(inst, format_args!("shuffle immediate index {index} is larger than the maximum 31"))?;
                }
            }
            InstView::UnaryImm { imm } => {
                let mask = func.dfg.ctrl_type(inst).lane_mask();
                if u128::from(imm as u64) & !mask != 0 {
                    self.fatal(inst, "constant immediate is out of bounds")?;
                }
            }
            _ => {}
        }
        if func.debug_tags.is_empty() { Ok(()) } else { self.debug_tags(inst, opcode) }
    }

    fn lane(&mut self, inst: Inst, lane: u8) -> Verified {
        let ty = self.func.dfg.ctrl_type(inst);
        if u32::from(lane) < ty.lane_count() {
            return Ok(());
        }
        self.fatal(inst, format_args!("The lane {lane} does not index into the type {ty}"))
    }

    fn debug_tags(&mut self, inst: Inst, opcode: Opcode) -> Verified {
        let tagged = self.func.debug_tags.get(&inst).is_some_and(|tags| !tags.is_empty());
        let is_call =
            matches!(opcode.format(), Format::Call | Format::CallIndirect | Format::TryCall | Format::TryCallIndirect);
        if tagged && !is_call && opcode != Opcode::SequencePoint {
            let message = "debug tags present on non-call, non-sequence point instruction";
            return self.fatal(inst, message);
        }
        Ok(())
    }
}
