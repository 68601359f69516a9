//! Annotations of calls and sequence points for the tables of the compiled function: stack maps, debug tags,
//! patchability.
//!
//! Before: `call fn0(v0), stack_map=[i64 @ ss0+8]`. After: `call_sym %g annotation 0`, and the annotation `map i64 8`.

use super::LowerCtx;
use super::memory::is_over_aligned;
use crate::code::Annotation;
use crate::compiled::DebugTag;
use crate::error::LowerError;
use kingpost_ir::function::DebugTag as IrDebugTag;
use kingpost_ir::{Inst, StackSlot};

impl LowerCtx<'_> {
    /// Records the annotations of a call or sequence point and returns their number, or `None` if there are none.
    ///
    /// # Errors
    /// If a reference or tag is not in a stack slot, or in a slot whose offset is not known at compile time.
    pub fn annotate(&mut self, inst: Inst, patchable: bool) -> Result<Option<u32>, LowerError> {
        let func = self.func;
        let map = func.stack_maps.get(&inst).map_or(&[][..], |map| map);
        let tags = func.debug_tags.get(&inst).map_or(&[][..], |tags| tags);
        if map.is_empty() && tags.is_empty() && !patchable {
            return Ok(None);
        }
        let mut annotation = Annotation { patchable, ..Annotation::default() };
        for entry in map {
            let end = u64::from(entry.offset) + u64::from(entry.ty.bytes());
            if end > u64::from(func.stack_slots[entry.slot].size) {
                return Err(self.unsupported_feature("a stack map with an entry beyond its stack slot"));
            }
            let start =
                self.fixed_slot_offset(entry.slot, "a stack map of a stack slot that is aligned beyond the stack")?;
            annotation.stack_map.push((entry.ty, start + entry.offset));
        }
        for &tag in tags {
            annotation.tags.push(match tag {
                IrDebugTag::User(number) => DebugTag::User(number),
                IrDebugTag::StackSlot(slot) => DebugTag::StackSlot(
                    self.fixed_slot_offset(slot, "a debug tag of a stack slot that is aligned beyond the stack")?,
                ),
            });
        }
        self.code.annotations.push(annotation);
        Ok(Some(self.code.annotations.len() as u32 - 1))
    }

    /// Returns the offset of a slot among the user's stack slots.
    pub(super) fn fixed_slot_offset(&self, slot: StackSlot, otherwise: &'static str) -> Result<u32, LowerError> {
        if is_over_aligned(self, slot) {
            return Err(self.unsupported_feature(otherwise));
        }
        Ok(self.slot_offset(slot) as u32)
    }
}
