//! The second walk over a region in which a loop lacked a value at its end. Usually one value less is in registers
//! at the header, and half of the blocks have the same result as in the first walk.
//!
//! The second walk skips a block if the values in registers at its head, and which of them memory also holds, are
//! as in the first walk. The block keeps its transfers, and the values in registers at its end.
//!
//! Cost: linear in the values in registers at the ends of blocks, and in transfers.

use crate::spill_input::SpillInput;
use crate::spill_plan::Transfer;
use crate::spilling::Spilling;
use crate::tables::scaled;
use cranelift_entity::EntityRef;
use kingpost_regalloc::{AllocError, Inst, VReg};
use kingpost_regalloc_common::order::BlockIndex;
use std::ops::Range;

/// State after the first walk over the current region.
#[derive(Default)]
pub(crate) struct FirstWalk {
    transfers: Vec<(Inst, VReg, Transfer)>,
    /// Index of the first transfer of the blocks that the second walk has not reached.
    next: usize,
    /// Length of the pool of values at the ends of blocks when the second walk began: entries before it are of the
    /// first walk.
    pool_start: u32,
}

impl FirstWalk {
    /// Returns the transfers of the next block, whose instructions are `insts`.
    fn next_block(&mut self, insts: Range<Inst>) -> Range<usize> {
        let start = self.next;
        let rest = self.transfers[start..].iter();
        self.next += rest.take_while(|transfer| insts.contains(&transfer.0)).count();
        start..self.next
    }
}

impl Spilling {
    /// Begins the second walk over the region with first block `first`.
    pub(crate) fn begin_repeat(&mut self, first: BlockIndex) {
        let Some(mark) = self.marks.last().filter(|mark| mark.region == first) else { return };
        self.first_walk.transfers.clear();
        self.first_walk.transfers.extend_from_slice(&self.plan.transfers[mark.transfers..]);
        self.first_walk.next = 0;
        self.first_walk.pool_start = self.plan.pool.len() as u32;
        self.rollback_to(first);
    }

    /// Processes a block in the second walk over a region.
    pub(crate) fn repeat_block(&mut self, input: &SpillInput, index: BlockIndex) -> Result<(), AllocError> {
        let block = input.order.block(index);
        let transfers = self.first_walk.next_block(input.problem.first_inst(block.block)..block.inst(block.end));
        let is_unchanged = match block.inherits() {
            Some((_, from)) => self.ends_as_before(from) || self.enter_changed(input, index),
            None => self.enter_joined(input, index),
        };
        if is_unchanged {
            self.repeat_transfers(transfers, scaled(block.freq));
            return Ok(());
        }
        self.walk_instructions(input, index)?;
        let exit = self.plan.exits[index.index()].unwrap_or_default().range();
        if !self.set.has_only(&self.plan.pool[exit.clone()], &self.plan.pool_clean[exit]) {
            self.plan.exits[index.index()] = Some(self.save_set());
        }
        Ok(())
    }

    /// Returns `true` if the block has the exit set of the first walk.
    fn ends_as_before(&self, index: BlockIndex) -> bool {
        self.plan.exits[index.index()].is_some_and(|exit| exit.start < self.first_walk.pool_start)
    }

    fn enter_changed(&mut self, input: &SpillInput, index: BlockIndex) -> bool {
        self.enter(input, index);
        false
    }

    /// Starts a joined block. Returns `true` if its entry set is unchanged since the first walk.
    fn enter_joined(&mut self, input: &SpillInput, index: BlockIndex) -> bool {
        let entry = self.plan.entries[index.index()].range();
        self.enter(input, index);
        let is_unchanged = self.set.has_only(&self.plan.entry_pool[entry.clone()], &self.entry.pool_clean[entry]);
        if is_unchanged {
            // The current set will not be the set at its end.
            self.last = None;
        }
        is_unchanged
    }

    fn repeat_transfers(&mut self, transfers: Range<usize>, here: u32) {
        for &(inst, vreg, transfer) in &self.first_walk.transfers[transfers] {
            self.plan.transfers.push((inst, vreg, transfer));
            if transfer == Transfer::Store {
                let store = self.set.values[vreg.index()].take_store(u64::from(here));
                self.stores.push((vreg, store));
            }
        }
    }
}
