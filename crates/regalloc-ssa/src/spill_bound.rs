//! Fast path of spilling: instructions that read and define fixed registers only, as most calls and returns do, if
//! there is room for the values that they read.

use crate::liveness::Next;
use crate::register_set::Counts;
use crate::spill_input::SpillInput;
use crate::spill_instruction::At;
use crate::spilling::Spilling;
use cranelift_entity::EntityRef;
use kingpost_regalloc::{AllocError, InstFlags, Operand, PRegSet, Pos, RegClass};

/// Operands of such an instruction.
#[derive(Default)]
struct Bound {
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
    pub(crate) fn serve_bound(
        &mut self,
        input: &SpillInput,
        operands: &[Operand],
        after: &[Next],
        now: At,
    ) -> Result<bool, AllocError> {
        let Some(bound) = self.read_bound(operands, after) else { return Ok(false) };
        let clobbers = input.problem.clobbers(now.inst);
        // A value that lives on and would be overwritten needs a copy.
        let copied = bound.kept.intersection(clobbers.lost.union(bound.results));
        let has_room = |class: RegClass| {
            let more = bound.early[class.index()] + copied.mask(class).count_ones() as usize;
            self.set.len(class) + more <= self.saved.limits[class.index()]
        };
        if !RegClass::ALL.into_iter().all(has_room) {
            return Ok(false);
        }
        if bound.missing != 0 {
            self.reload_bound(input, operands, &bound, now);
        }
        for operand in members(operands, bound.ending) {
            let value = &self.set.values[operand.vreg().index()];
            if value.is_member() && value.next.is_dead() {
                self.set.remove(operand.vreg());
            }
        }
        self.pass_bound(input, &bound, now)?;
        if !input.problem.flags(now.inst).has(InstFlags::BRANCH) {
            for operand in members(operands, bound.defs) {
                if !self.set.values[operand.vreg().index()].next.is_dead() {
                    self.set.add(operand.vreg(), false);
                    self.count_saved(input, operand.vreg(), now);
                }
            }
        }
        Ok(true)
    }

    /// Records the next uses of operands, and summarizes them. Returns `None` for other instructions.
    fn read_bound(&mut self, operands: &[Operand], after: &[Next]) -> Option<Bound> {
        if operands.len() > u64::BITS as usize {
            return None;
        }
        self.scratch.reads += 1;
        let mut bound = Bound::default();
        for (i, (operand, &next)) in operands.iter().zip(after).enumerate() {
            let reg = operand.fixed_reg()?;
            let value = &mut self.set.values[operand.vreg().index()];
            value.next = next;
            if operand.is_def() {
                if operand.pos() != Pos::Late || bound.results.contains(reg) {
                    return None;
                }
                bound.results.insert(reg);
                bound.defs |= 1 << i;
                bound.late[usize::from(value.class & 1)] += 1;
                continue;
            }
            if operand.pos() != Pos::Early || bound.reads.contains(reg) {
                return None;
            }
            value.read_by = self.scratch.reads;
            bound.reads.insert(reg);
            if !value.is_member() {
                bound.missing |= 1 << i;
                bound.early[usize::from(value.class & 1)] += 1;
            }
            match next.is_dead() {
                true => bound.ending |= 1 << i,
                false if value.is_member() => bound.kept.insert(reg),
                false => {}
            }
        }
        Some(bound)
    }

    /// Reloads values into registers. A value whose register the instruction destroys is reloaded for this
    /// instruction only.
    fn reload_bound(&mut self, input: &SpillInput, operands: &[Operand], bound: &Bound, now: At) {
        for operand in members(operands, bound.missing) {
            let vreg = operand.vreg();
            if !self.set.contains(vreg) {
                self.set.values[vreg.index()].is_spilled = true;
                self.reload(vreg, now);
                self.count_saved(input, vreg, now);
            }
        }
        let lost = input.problem.clobbers(now.inst).lost.union(bound.results);
        self.drop_transient(operands, lost, now);
    }

    /// Evicts the values for which the instruction leaves no register.
    fn pass_bound(&mut self, input: &SpillInput, bound: &Bound, now: At) -> Result<(), AllocError> {
        let clobbers = input.problem.clobbers(now.inst);
        self.pass_clobbers(input, clobbers.killed(8).union(bound.results), now);
        if input.constraints.has_refs && input.problem.flags(now.inst).has(InstFlags::SAFEPOINT) {
            self.evict_refs(input.problem, now);
        }
        self.make_room(input, bound.late, None, now);
        if !self.fits_bound(input, bound.reads, bound.results, clobbers.killed(input.constraints.widest)) {
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
