//! Fast path of spilling: instructions that read and define fixed registers only, as most calls and returns do, if
//! there is room for the values that they read.

use crate::register_set::Counts;
use crate::spill_input::SpillInput;
use crate::spill_instruction::SpillSite;
use crate::spilling::Spilling;
use crate::uses::Next;
use cranelift_entity::EntityRef;
use kingpost_regalloc::{AllocError, InstFlags, Operand, PRegSet, Pos, RegClass};

/// Operands of such an instruction.
#[derive(Default)]
struct FixedOperands {
    reads: PRegSet,
    results: PRegSet,
    /// Fixed registers read that hold values which live on.
    kept: PRegSet,
    /// Operands, as a mask of indices: values in no register, last uses, results.
    missing: u64,
    ending: u64,
    defs: u64,
    /// Number of the missing values, and of the results, per class.
    early: Counts,
    late: Counts,
}

impl Spilling {
    /// Processes such an instruction. Returns `false` for other instructions, without having changed any decision.
    ///
    /// # Errors
    /// If the instruction needs more registers than there are.
    pub(crate) fn spill_fixed_operands(
        &mut self,
        input: &SpillInput,
        operands: &[Operand],
        after: &[Next],
        now: SpillSite,
    ) -> Result<bool, AllocError> {
        let Some(fixed) = self.read_fixed_operands(operands, after) else { return Ok(false) };
        let clobbers = input.problem.clobbers(now.inst);
        // A value that lives on and would be overwritten needs a copy.
        let copied = fixed.kept.intersection(clobbers.lost.union(fixed.results));
        let has_room = |class: RegClass| {
            let more = fixed.early[class.index()] + copied.mask(class).count_ones() as usize;
            self.set.len(class) + more <= self.saved.limits[class.index()]
        };
        if !RegClass::ALL.into_iter().all(has_room) {
            return Ok(false);
        }
        if fixed.missing != 0 {
            self.reload_fixed_operands(input, operands, &fixed, now);
        }
        for operand in members(operands, fixed.ending) {
            let value = &self.set.values[operand.vreg().index()];
            if value.is_member() && value.next.is_dead() {
                self.set.remove(operand.vreg());
            }
        }
        self.pass_fixed_operands(input, &fixed, now)?;
        if !input.problem.flags(now.inst).has(InstFlags::BRANCH) {
            for operand in members(operands, fixed.defs) {
                if !self.set.values[operand.vreg().index()].next.is_dead() {
                    self.set.add(operand.vreg(), false);
                    self.count_saved(input, operand.vreg(), now);
                }
            }
        }
        Ok(true)
    }

    /// Records the next uses of operands, and summarizes them. Returns `None` for other instructions.
    fn read_fixed_operands(&mut self, operands: &[Operand], after: &[Next]) -> Option<FixedOperands> {
        if operands.len() > u64::BITS as usize {
            return None;
        }
        self.scratch.reads += 1;
        let mut fixed = FixedOperands::default();
        for (i, (operand, &next)) in operands.iter().zip(after).enumerate() {
            let reg = operand.fixed_reg()?;
            let value = &mut self.set.values[operand.vreg().index()];
            value.next = next;
            if operand.is_def() {
                if operand.pos() != Pos::Late || fixed.results.contains(reg) {
                    return None;
                }
                fixed.results.insert(reg);
                fixed.defs |= 1 << i;
                fixed.late[usize::from(value.class & 1)] += 1;
                continue;
            }
            if operand.pos() != Pos::Early || fixed.reads.contains(reg) {
                return None;
            }
            value.read_by = self.scratch.reads;
            fixed.reads.insert(reg);
            if !value.is_member() {
                fixed.missing |= 1 << i;
                fixed.early[usize::from(value.class & 1)] += 1;
            }
            match next.is_dead() {
                true => fixed.ending |= 1 << i,
                false if value.is_member() => fixed.kept.insert(reg),
                false => {}
            }
        }
        Some(fixed)
    }

    /// Reloads values into registers. A value whose register the instruction destroys is reloaded for this
    /// instruction only.
    fn reload_fixed_operands(
        &mut self,
        input: &SpillInput,
        operands: &[Operand],
        fixed: &FixedOperands,
        now: SpillSite,
    ) {
        for operand in members(operands, fixed.missing) {
            let vreg = operand.vreg();
            if !self.set.contains(vreg) {
                self.set.values[vreg.index()].is_spilled = true;
                self.reload(vreg, now);
                self.count_saved(input, vreg, now);
            }
        }
        let lost = input.problem.clobbers(now.inst).lost.union(fixed.results);
        self.drop_transient(operands, lost, now);
    }

    /// Evicts the values for which the instruction leaves no register.
    fn pass_fixed_operands(
        &mut self,
        input: &SpillInput,
        fixed: &FixedOperands,
        now: SpillSite,
    ) -> Result<(), AllocError> {
        let clobbers = input.problem.clobbers(now.inst);
        self.pass_clobbers(input, clobbers.killed(8).union(fixed.results), now);
        if input.constraints.has_refs && input.problem.flags(now.inst).has(InstFlags::SAFEPOINT) {
            self.evict_refs(input.problem, now);
        }
        self.make_room(input, fixed.late, None, now);
        if !self.fits_fixed_operands(input, fixed.reads, fixed.results, clobbers.killed(input.constraints.widest)) {
            self.note_operands(&[], false);
            self.fit(input, now)?;
        }
        Ok(())
    }
}

/// Returns the operands of an index mask.
fn members(operands: &[Operand], mut mask: u64) -> impl Iterator<Item = &Operand> {
    std::iter::from_fn(move || {
        let operand = operands.get(mask.trailing_zeros() as usize)?;
        mask &= mask - 1;
        Some(operand)
    })
}
