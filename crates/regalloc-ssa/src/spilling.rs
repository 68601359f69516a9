//! Spilling: the choice of the values in registers by next-use distances (Braun and Hack, *Register spilling and
//! live-range splitting for SSA-form programs*, 2009), weighted by the cost of reloads.
//!
//! ```text
//! b0: def v0, v1, v2 ..       three values, two registers: where the third is defined one is evicted. The one whose
//!     use v1                  return costs least per instruction of absence goes: v0 if all run once,
//!     use v2; use v0          but v1 if v0 and v2 are used in a loop and v1 behind it
//! ```
//!
//! Blocks are walked in order with the set of values in registers, per class. At a join point a value is in a
//! register if loading it on the edges that lack it costs no more than loading it later (`entry_set.rs`). A back
//! edge is assumed to have every value until its source has been visited. If that was wrong, the loop is walked
//! again with the values now known. The first walk also decides how many callee-saved registers pay
//! for their save and restore (`saved_registers.rs`). If some in use do not pay, a second walk begins at their
//! first use.
//!
//! Spilling assigns no registers. But before each constrained instruction it ensures that registers exist for the
//! instruction's operands and for the values that live through it (`demands.rs`), so that coloring cannot fail.
//!
//! Cost: linear in operands and entries; an eviction examines all registers of its class.

use crate::register_set::RegisterSet;
use crate::saved_registers::{Pass, SavedRegisters};
use crate::spill_input::SpillInput;
use crate::spill_instruction::SpillSite;
use crate::spill_plan::{Placement, SpillPlan, Transfer};
use crate::tables::{Span, reset, scaled};
use cranelift_entity::EntityRef;
use kingpost_regalloc::meter::heap_bytes;
use kingpost_regalloc::{AllocError, OperandClass, VReg};
use kingpost_regalloc_common::order::BlockIndex;
use kingpost_regalloc_common::release;

/// Lengths of the lists when a region began, so that it can be walked again.
#[derive(Clone, Copy)]
pub(crate) struct Mark {
    pub(crate) region: BlockIndex,
    pub(crate) transfers: usize,
    stores: usize,
}

/// The walk over blocks with the set of values in registers.
#[derive(Default)]
pub(crate) struct Spilling {
    pub(crate) plan: SpillPlan,
    pub(crate) set: RegisterSet,
    pub(crate) saved: SavedRegisters,
    pub(crate) entry: crate::entry_set::Scratch,
    pub(crate) scratch: crate::spill_instruction::Scratch,
    /// Amounts taken from [`Value::stores_left`], in the order of the walk.
    ///
    /// [`Value::stores_left`]: crate::register_set::Value::stores_left
    pub(crate) stores: Vec<(VReg, u32)>,
    /// Marks per region, as long as it may be walked again.
    pub(crate) marks: Vec<Mark>,
    /// Whether every loop is entered at its header only.
    pub(crate) is_reducible: bool,
    /// The block at whose end the values in `set` are in registers.
    pub(crate) last: Option<BlockIndex>,
    /// Whether a back edge lacks a value that its target was assumed to find in a register.
    needs_repeat: bool,
    pub(crate) steps: u64,
    /// Steps that the meter has counted.
    paid: u64,
}

heap_bytes!(Spilling { plan, set, saved, entry, scratch, stores, marks } without { is_reducible, last, needs_repeat, steps, paid });

impl Spilling {
    /// Decides the spills of all blocks.
    ///
    /// # Errors
    /// If an instruction needs more registers than there are.
    pub(crate) fn run(&mut self, input: &SpillInput) -> Result<(), AllocError> {
        self.begin(input);
        self.walk(input, BlockIndex::FIRST)?;
        if let Some(region) = self.saved.close_unpaid(input.env) {
            self.resume(region);
            self.walk(input, region)?;
        }
        input.meter.spend_rest(self.steps, &mut self.paid)?;
        self.set.empty();
        self.place_stores();
        Ok(())
    }

    /// Frees memory of a large problem that later phases do not need.
    pub(crate) fn release(&mut self) {
        release(&mut self.set.values);
        release(&mut self.stores);
        release(&mut self.marks);
        self.entry.release();
        self.scratch.matching.shrink();
    }

    fn begin(&mut self, input: &SpillInput) {
        let blocks = input.order.num_blocks();
        (self.steps, self.paid) = (0, 0);
        self.last = None;
        reset(&mut self.plan.exits, blocks, None);
        reset(&mut self.plan.entries, blocks, Default::default());
        self.plan.pool.clear();
        self.plan.pool_clean.clear();
        self.plan.entry_pool.clear();
        self.plan.transfers.clear();
        self.marks.clear();
        self.stores.clear();
        self.is_reducible = input.order.is_reducible();
        self.set.begin(input);
        // A single block has no entry set to choose.
        self.entry.begin(if blocks > 1 { input.problem.vregs.len() } else { 0 });
        self.saved.begin(input);
        self.scratch.matching.begin(input.problem);
        self.scratch.reads = 1;
    }

    /// Walks over the regions from `from` on.
    fn walk(&mut self, input: &SpillInput, from: BlockIndex) -> Result<(), AllocError> {
        for (first, end) in input.order.outermost_ranges().skip_while(|region| region.0 < from) {
            self.saved.region = first;
            let is_last = self.saved.pass == Pass::Last;
            if !is_last {
                let (transfers, stores) = (self.plan.transfers.len(), self.stores.len());
                self.marks.push(Mark { region: first, transfers, stores });
            }
            self.region(input, first, end)?;
            if is_last || !self.needs_repeat {
                continue;
            }
            if self.saved.may_be_last(input.env) {
                self.rollback_to(first);
                self.saved.pass = Pass::Repeat;
                self.region(input, first, end)?;
                self.saved.pass = Pass::Learn;
            } else {
                self.saved.walk_again_from(first);
            }
        }
        Ok(())
    }

    fn region(&mut self, input: &SpillInput, first: BlockIndex, end: BlockIndex) -> Result<(), AllocError> {
        self.needs_repeat = false;
        first.up_to(end).try_for_each(|index| self.block(input, index))
    }

    /// Removes the transfers from a region on.
    fn rollback_to(&mut self, region: BlockIndex) {
        let Ok(i) = self.marks.binary_search_by_key(&region, |mark| mark.region) else { return };
        let Mark { transfers, stores, .. } = self.marks[i];
        self.plan.transfers.truncate(transfers);
        for (vreg, freq) in self.stores.drain(stores..) {
            self.set.values[vreg.index()].stores_left += freq;
        }
    }

    /// Restores the state before a region.
    fn resume(&mut self, region: BlockIndex) {
        self.rollback_to(region);
        self.saved.begin_last();
        self.last = None;
    }

    /// Places the stores of each value: one at its definition if that is no more frequent than the stores at its
    /// evictions.
    fn place_stores(&mut self) {
        self.plan.open = self.saved.open;
        self.plan.placements.clear();
        self.plan.placements.extend(self.set.values.iter().map(|value| match value {
            _ if !value.is_spilled => Placement::Never,
            _ if value.is_deferred => Placement::Deferred,
            _ if value.is_remat => Placement::Never,
            _ if value.stores_left == 0 => Placement::AtDefinition,
            _ => Placement::AtEvictions,
        }));
    }

    fn block(&mut self, input: &SpillInput, index: BlockIndex) -> Result<(), AllocError> {
        let problem = input.problem;
        let block = input.order.block(index).block;
        let before = self.steps - std::mem::replace(&mut self.paid, self.steps);
        input.meter.reserve(before + 2 * u64::from(input.order.block(index).num_insts()))?;
        if let Some(exit) = self.pass_bare_jump(input, index) {
            self.plan.exits[index.index()] = Some(exit);
        } else {
            self.enter(input, index);
            self.walk_instructions(input, index)?;
            self.plan.exits[index.index()] = Some(self.save_set());
        }
        if input.order.block(index).innermost.is_some() && !self.needs_repeat {
            self.needs_repeat = problem.succs(block).iter().any(|&edge| {
                let to = input.order.index(problem.edge(edge).to);
                to <= index && self.lacks(input, edge, index, to)
            });
        }
        Ok(())
    }

    fn walk_instructions(&mut self, input: &SpillInput, index: BlockIndex) -> Result<(), AllocError> {
        let problem = input.problem;
        let here = scaled(input.order.block(index).freq);
        for (pos, step) in (0..).zip(problem.walk(input.order.block(index).block)) {
            let now = || SpillSite { inst: step.inst, pos, here };
            if step.operand_class == OperandClass::Constrained || !self.serve_fitting(input, &step, now) {
                self.instruction(input, &problem.step(step.inst), now())?;
            }
        }
        Ok(())
    }

    /// Appends the values in registers to the pool.
    pub(crate) fn save_set(&mut self) -> Span {
        let start = self.plan.pool.len() as u32;
        let values = &self.set.values[..];
        for members in self.set.members.iter().filter(|members| !members.is_empty()) {
            self.plan.pool.extend(members);
            self.plan.pool_clean.extend(members.iter().map(|vreg| values[vreg.index()].is_clean));
        }
        let end = self.plan.pool.len() as u32;
        self.steps += u64::from(end - start);
        Span { start, end }
    }

    /// Removes a value from its register at an instruction.
    pub(crate) fn evict(&mut self, vreg: VReg, now: SpillSite) {
        self.set.remove(vreg);
        let value = &self.set.values[vreg.index()];
        if value.next.is_dead() {
            return;
        }
        let evict = if value.read_by == self.scratch.reads { Transfer::EvictAfter } else { Transfer::Evict };
        if self.note_in_memory(vreg, u64::from(now.here)) {
            self.plan.transfers.push((now.inst, vreg, Transfer::Store));
        }
        self.plan.transfers.push((now.inst, vreg, evict));
    }

    /// Records that memory must hold a live value from here on. Returns `true` if it did not before.
    pub(crate) fn note_in_memory(&mut self, vreg: VReg, freq: u64) -> bool {
        let value = &mut self.set.values[vreg.index()];
        value.is_spilled = true;
        let is_new = !std::mem::replace(&mut value.is_clean, true);
        if is_new {
            let store = value.take_store(freq);
            self.stores.push((vreg, store));
        }
        is_new
    }

    /// Returns the cost of evicting the value here and reloading it for its next use.
    pub(crate) fn spill_cost(&self, input: &SpillInput, vreg: VReg, here: u32) -> u64 {
        let value = &self.set.values[vreg.index()];
        let store = if value.is_remat { 0 } else { value.store_freq(u64::from(here)) };
        self.return_cost(input, vreg) + store * u64::from(input.env.costs.spill)
    }

    /// Returns the cost of reloading a value from memory for its next use.
    pub(crate) fn return_cost(&self, input: &SpillInput, vreg: VReg) -> u64 {
        let (value, costs) = (&self.set.values[vreg.index()], &input.env.costs);
        u64::from(value.next.freq) * u64::from(if value.is_remat { costs.remat } else { costs.fill })
    }
}
