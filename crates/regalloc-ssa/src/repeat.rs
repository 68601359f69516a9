//! The second walk over a region, in which a loop lacked a value at its end: most often one value less is in registers
//! at the header, and half of the blocks come out as they did.
//!
//! A block at whose head the same values are in registers as in the first walk, and the same of them in memory as well,
//! is not walked: its transfers are those of the first walk, and so are the values in registers at its end.
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
    /// Those of blocks that the second walk has come to are before this one.
    next: usize,
    /// Start of the pool for values in registers at the ends of blocks from now on: entries before it are of the first
    /// walk.
    pool_start: u32,
}

impl FirstWalk {
    /// Returns the transfers in the next block, whose instructions these are.
    fn next_block(&mut self, insts: Range<Inst>) -> Range<usize> {
        let start = self.next;
        let rest = self.transfers[start..].iter();
        self.next += rest.take_while(|transfer| insts.contains(&transfer.0)).count();
        start..self.next
    }
}

impl Spilling {
    /// Begins to walk once more the region that has been walked from `first` on.
    pub(crate) fn begin_repeat(&mut self, first: BlockIndex) {
        let Some(mark) = self.marks.last().filter(|mark| mark.region == first) else { return };
        self.first_walk.transfers.clear();
        self.first_walk.transfers.extend_from_slice(&self.plan.transfers[mark.transfers..]);
        self.first_walk.next = 0;
        self.first_walk.pool_start = self.plan.pool.len() as u32;
        self.take_back(first);
    }

    /// Repeats a block in the second walk over a region.
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

    /// Returns `true` if the block ends as it did in the first walk.
    fn ends_as_before(&self, index: BlockIndex) -> bool {
        self.plan.exits[index.index()].is_some_and(|exit| exit.start < self.first_walk.pool_start)
    }

    fn enter_changed(&mut self, input: &SpillInput, index: BlockIndex) -> bool {
        self.enter(input, index);
        false
    }

    /// Starts a joined block. Returns whether it begins as it did in the first walk.
    fn enter_joined(&mut self, input: &SpillInput, index: BlockIndex) -> bool {
        let entry = self.plan.entries[index.index()].range();
        self.enter(input, index);
        let is_unchanged = self.set.has_only(&self.plan.entry_pool[entry.clone()], &self.entry.pool_clean[entry]);
        if is_unchanged {
            // The values at hand will not be those at its end.
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
