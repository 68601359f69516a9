//! The choice of callee-saved registers that are worth their save and restore.
//!
//! For each k the first walk sums the spill cost that the k-th callee-saved register avoids: the cost of values
//! beyond the caller-saved registers, and of values that live through a call. A register whose sum is below the
//! cost of saving it is closed, and a second walk begins at the region that used it first. Once more of them are in
//! use than have paid, a second walk is likely, and the first one stops repeating loops.
//!
//! If saves and restores cost little compared with the instructions that one call of the function executes,
//! counting iterations of loops, every register pays and no second walk is needed.

use crate::register_set::{Counts, NOT_COUNTED};
use crate::spill_input::SpillInput;
use crate::spill_instruction::SpillSite;
use crate::spilling::Spilling;
use crate::tables::{reset, scaled};
use cranelift_entity::EntityRef;
use kingpost_regalloc::meter::heap_bytes;
use kingpost_regalloc::sort::sort_by_key;
use kingpost_regalloc::{Freq, MachineEnv, PRegSet, RegClass, VReg};
use kingpost_regalloc_common::order::{BlockIndex, LinearOrder};
use std::cmp::Reverse;

/// Number of registers that are used regardless of the cost of saving them, because instructions need some.
const FEWEST: usize = 5;
/// Largest number of registers per class.
const MAX_REGISTERS: usize = 64;
/// Factor by which the executed instructions must exceed a cost that is negligible.
const NEGLIGIBLE: u64 = 64;

/// Purpose of a walk over a region.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum Pass {
    /// The first walk: it computes the benefits of callee-saved registers.
    #[default]
    Learn,
    /// A repeated walk, because a loop lacked a value at its end. Its benefits have been counted.
    Repeat,
    /// The last walk: the open registers are known.
    Last,
}

#[derive(Default)]
pub(crate) struct SavedRegisters {
    /// All registers except callee-saved ones that do not pay.
    pub(crate) open: PRegSet,
    /// Per class, the number of open registers.
    pub(crate) limits: Counts,
    /// Per class, the number of values in registers up to which no value is evicted and no callee-saved register is
    /// needed that has not paid yet.
    pub(crate) unpaid_limits: Counts,
    pub(crate) pass: Pass,
    /// The first block of the current region.
    pub(crate) region: BlockIndex,
    /// The first region of the second walk.
    again: Option<BlockIndex>,
    caller_saved: Counts,
    /// The least spill cost that pays for a register that avoids it.
    price: u64,
    /// Per class and callee-saved register, the spill cost that it avoids.
    benefits: [Vec<u64>; 2],
    /// Per class and callee-saved register for which a value was counted, the distance of the value's next use at
    /// that time.
    next_uses: [Vec<u32>; 2],
    /// Per class and callee-saved register in use, the region that used it first.
    first_regions: [Vec<BlockIndex>; 2],
    sorted: Vec<(u64, VReg)>,
}

heap_bytes!(SavedRegisters { benefits, next_uses, first_regions, sorted } without { open, limits, unpaid_limits, pass, region, again, caller_saved, price });

impl SavedRegisters {
    pub(crate) fn begin(&mut self, input: &SpillInput) {
        (self.pass, self.region, self.again) = (Pass::Learn, BlockIndex::FIRST, None);
        self.open = input.constraints.allocatable;
        let cost = u64::from(input.env.costs.callee_saved) * u64::from(scaled(Freq::ENTRY));
        let is_negligible = executed_insts(input.order) / NEGLIGIBLE >= cost;
        self.price = if is_negligible { 0 } else { cost + 1 };
        for class in RegClass::ALL {
            let c = class.index();
            let caller_saved = input.constraints.allocatable.difference(input.constraints.callee_saved);
            self.caller_saved[c] = caller_saved.of_class(class).len();
            reset(&mut self.benefits[c], MAX_REGISTERS, 0);
            self.next_uses[c].resize(MAX_REGISTERS, 0);
            self.first_regions[c].clear();
        }
        self.set_limits();
    }

    pub(crate) fn begin_last(&mut self) {
        self.pass = Pass::Last;
        self.set_limits();
    }

    pub(crate) fn walk_again_from(&mut self, region: BlockIndex) {
        self.again = Some(self.again.map_or(region, |again| again.min(region)));
    }

    /// Returns `true` if each register in use has paid so far, so that no second walk is expected.
    pub(crate) fn may_be_last(&self, env: &MachineEnv) -> bool {
        self.again.is_none() && RegClass::ALL.into_iter().all(|class| self.first_unpaid(env, class).is_none())
    }

    /// Closes the callee-saved registers that do not pay. Returns the region at which a second walk begins.
    pub(crate) fn close_unpaid(&mut self, env: &MachineEnv) -> Option<BlockIndex> {
        for class in RegClass::ALL {
            let class_env = env.class(class);
            let saved = class_env.order.iter().filter(|&&reg| class_env.callee_saved.contains(reg));
            saved.skip(self.paid(env, class)).for_each(|&reg| self.open.remove(reg));
            if let Some(region) = self.first_unpaid(env, class) {
                self.walk_again_from(region);
            }
        }
        self.again
    }

    fn set_limits(&mut self) {
        for class in RegClass::ALL {
            self.limits[class.index()] = self.open.of_class(class).len();
            self.set_unpaid_limit(class.index());
        }
    }

    fn set_unpaid_limit(&mut self, c: usize) {
        let paid = self.caller_saved[c] + self.benefits[c].iter().take_while(|&&benefit| benefit >= self.price).count();
        self.unpaid_limits[c] = if self.pass == Pass::Last { self.limits[c] } else { paid.min(self.limits[c]) };
    }

    /// Returns the number of callee-saved registers that have paid so far.
    fn paid(&self, env: &MachineEnv, class: RegClass) -> usize {
        let env = env.class(class);
        let paid = self.benefits[class.index()].iter().take_while(|&&benefit| benefit >= self.price).count();
        paid.max((FEWEST + env.callee_saved.len()).saturating_sub(env.order.len()))
    }

    /// Returns the first region that used more registers than have paid.
    fn first_unpaid(&self, env: &MachineEnv, class: RegClass) -> Option<BlockIndex> {
        self.first_regions[class.index()].get(self.paid(env, class)).copied()
    }

    /// Records that `count` callee-saved registers are in use.
    fn note_in_use(&mut self, c: usize, count: usize) {
        let regions = &mut self.first_regions[c];
        regions.resize(count.max(regions.len()), self.region);
    }

    /// Adds to the cost that a callee-saved register avoids. Returns `false` if there is no such register.
    fn add_benefit(&mut self, c: usize, index: usize, benefit: u64) -> bool {
        let Some(sum) = self.benefits[c].get_mut(index) else { return false };
        *sum += benefit;
        true
    }
}

/// Returns the number of instructions that one call of the function executes, in units of [`scaled`].
fn executed_insts(order: &LinearOrder) -> u64 {
    let insts = order.blocks().values().map(|block| u64::from(scaled(block.freq)) * u64::from(block.num_insts()));
    insts.fold(0, u64::saturating_add)
}

impl Spilling {
    /// Counts a further value in a register, which may take a callee-saved one.
    pub(crate) fn count_saved(&mut self, input: &SpillInput, vreg: VReg, now: SpillSite) {
        let c = usize::from(self.set.values[vreg.index()].class);
        let count = self.set.members[c].len();
        if count > self.saved.unpaid_limits[c] {
            self.count_saved_unsettled(input, c, count, now);
        }
    }

    #[inline(never)]
    fn count_saved_unsettled(&mut self, input: &SpillInput, c: usize, count: usize, now: SpillSite) {
        let Some(index) = count.checked_sub(self.saved.caller_saved[c] + 1) else { return };
        self.saved.note_in_use(c, index + 1);
        let is_open = self.saved.benefits[c].get(index).is_some_and(|&benefit| benefit < self.saved.price);
        if self.saved.pass != Pass::Learn || !is_open {
            return;
        }
        let least = self.set.members[c].iter().map(|&vreg| self.spill_cost(input, vreg, now.here)).min();
        self.saved.add_benefit(c, index, least.unwrap_or(0));
        self.saved.set_unpaid_limit(c);
    }

    /// Counts the values that live through a call. In descending order of spill cost, each of them pays for a
    /// callee-saved register of its own as long as it is in a register.
    pub(crate) fn count_crossing(&mut self, input: &SpillInput, class: RegClass, gone: PRegSet, now: SpillSite) {
        let c = class.index();
        if self.saved.unpaid_limits[c] == self.saved.limits[c] {
            // All registers have paid.
            return;
        }
        let caller_saved = input.constraints.allocatable.mask(class) & !input.constraints.callee_saved.mask(class);
        let base = (caller_saved & !gone.mask(class)).count_ones() as usize;
        let count = self.set.members[c].len();
        if count <= base {
            return;
        }
        let saved = input.constraints.callee_saved.difference(gone).of_class(class).len();
        if self.saved.pass != Pass::Learn {
            return self.saved.note_in_use(c, (count - base).min(saved));
        }
        let mut counted = 0u64;
        let mut sorted = std::mem::take(&mut self.saved.sorted);
        sorted.clear();
        for &vreg in &self.set.members[c] {
            let value = &self.set.values[vreg.index()];
            match value.saved_index {
                NOT_COUNTED => sorted.push((self.spill_cost(input, vreg, now.here), vreg)),
                // It has been used since: it would have been reloaded, and is lost again.
                index if self.saved.next_uses[c][usize::from(index)] != value.next.distance => {
                    sorted.push((self.return_cost(input, vreg), vreg));
                }
                index => counted |= 1 << index,
            }
        }
        sort_by_key(&mut sorted, |&(cost, vreg)| (Reverse(cost), vreg));
        for &(cost, vreg) in sorted.iter().skip(base) {
            let index = counted.trailing_ones();
            if !self.saved.add_benefit(c, index as usize, cost) {
                break;
            }
            counted |= 1 << index;
            let value = &mut self.set.values[vreg.index()];
            value.saved_index = index as u8;
            self.saved.next_uses[c][index as usize] = value.next.distance;
        }
        self.saved.sorted = sorted;
        let most = (u64::BITS - counted.leading_zeros()) as usize;
        self.saved.note_in_use(c, most.min(saved));
        self.saved.set_unpaid_limit(c);
    }
}
