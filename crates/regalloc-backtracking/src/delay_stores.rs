//! Moves stores from the definition of a value to the points at which it leaves its registers, if these are colder,
//! such as a call in a block that rarely runs.
//!
//! ```text
//! b1 freq 1: def v0              instead of a store behind the definition
//! b2 freq 0.01: call             one before the call
//! ```
//!
//! Cost: a bounded number of exits and blocks per value in a slot.

use crate::emit::{Emit, Exit, Phase};
use crate::liveness::Need;
use crate::value_locations::{Fragment, ValueLoc};
use kingpost_regalloc::{Freq, VReg};
use kingpost_regalloc_common::order::OrderedBlock;

/// Largest number of exits of a value whose store is delayed.
const MAX_EXITS: usize = 8;

/// Limit on the blocks and edges visited for one value.
const MAX_BLOCKS: usize = 64;

/// Remaining budget for the exits of one value.
struct Budget {
    /// Frequency left before the exits cost as much as a store at the definition.
    freq: u64,
    blocks: usize,
}

impl Budget {
    fn pay(&mut self, freq: Freq) {
        self.freq = self.freq.saturating_sub(freq.0);
    }

    /// Counts a visited block or edge.
    fn visit(&mut self) {
        self.blocks = self.blocks.saturating_sub(1);
    }

    fn is_spent(&self) -> bool {
        self.freq == 0 || self.blocks == 0
    }
}

impl Emit<'_> {
    /// Decides for each value in a slot where it is stored.
    pub(crate) fn delay_stores(&mut self) {
        let mut exits = std::mem::take(&mut self.s.exits);
        for i in 0..self.locations.slotted.len() {
            let vreg = self.locations.slotted[i];
            exits.clear();
            if !self.may_delay(vreg) || self.find_exits(vreg, &mut exits).is_none() {
                continue;
            }
            self.locations.delay(vreg);
            let to = ValueLoc::Memory(vreg);
            for &exit in &exits {
                match exit {
                    Exit::At(at, from) => self.add(at, Phase::Split, ValueLoc::Reg(from), to, vreg),
                    Exit::On(edge, from) => self.edge_move(edge, ValueLoc::Reg(from), to, vreg),
                }
            }
        }
        self.s.exits = exits;
    }

    /// Returns `true` if the slot is read only because the value leaves its register.
    fn may_delay(&self, vreg: VReg) -> bool {
        let def = self.live.def(vreg);
        !self.locations.fragments(vreg).is_empty()
            && self.live.remat(vreg).is_none()
            && !self.problem.vregs[vreg].is_ref
            && matches!(self.locations.at(vreg, def), ValueLoc::Reg(_))
            && self.live.uses(vreg).iter().all(|u| u.need != Need::Slot)
    }

    /// Lists the points at which the value leaves a register while the slot may be out of date. Returns `None` if
    /// stores there cost no less than a store at the definition.
    fn find_exits(&self, vreg: VReg, exits: &mut Vec<Exit>) -> Option<()> {
        let freq = self.order.freq_at(self.live.def(vreg).position()).0;
        let mut budget = Budget { freq, blocks: MAX_BLOCKS + 1 };
        let fragments = self.locations.fragments(vreg);
        for (i, fragment) in fragments.iter().enumerate() {
            if self.is_clean(vreg, &fragments[..i], fragment) {
                continue;
            }
            let first = self.order.index_at(fragment.points.from.position());
            let last = self.order.index_at(fragment.points.to.prev().position());
            for block in first.up_to(last.next()).map(|at| self.order.block(at)) {
                budget.visit();
                match fragment.points.to < block.stop() {
                    true => self.exit_within(fragment, fragments.get(i + 1), block, &mut budget, exits),
                    false => self.exits_on_edges(fragment, block, &mut budget, exits)?,
                }
                if budget.is_spent() || exits.len() > MAX_EXITS {
                    return None;
                }
            }
        }
        Some(())
    }

    /// Adds the exit of a fragment that ends within a block.
    fn exit_within(
        &self,
        fragment: &Fragment,
        next: Option<&Fragment>,
        block: &OrderedBlock,
        budget: &mut Budget,
        exits: &mut Vec<Exit>,
    ) {
        let Fragment { vreg, points, reg } = *fragment;
        if next.is_some_and(|next| next.points.from == points.to) || !self.live.is_live(vreg, points.to) {
            return;
        }
        let at = points.to.floor();
        // The moves before it also fill a fragment that begins there: the store reads the state before these moves.
        let is_filled_here = points.from == at && at != block.start();
        let from = if is_filled_here { self.locations.at(vreg, at.prev()) } else { ValueLoc::Reg(reg) };
        if let ValueLoc::Reg(from) = from {
            exits.push(Exit::At(at.position(), from));
        }
        budget.pay(block.freq);
    }

    /// Adds the exits of a fragment on the edges out of a block. Returns `None` if the budget is exhausted.
    fn exits_on_edges(
        &self,
        fragment: &Fragment,
        block: &OrderedBlock,
        budget: &mut Budget,
        exits: &mut Vec<Exit>,
    ) -> Option<()> {
        let vreg = fragment.vreg;
        for &edge in self.problem.succs(block.block) {
            budget.visit();
            let data = self.problem.edge(edge);
            let start = self.block(data.to).start();
            if self.live.is_live(vreg, start) && self.locations.at(vreg, start) == ValueLoc::Memory(vreg) {
                exits.push(Exit::On(edge, fragment.reg));
                budget.pay(data.freq);
            }
            if budget.is_spent() {
                return None;
            }
        }
        Some(())
    }

    /// Returns `true` if the fragment is within one block and begins with a load.
    fn is_clean(&self, vreg: VReg, before: &[Fragment], fragment: &Fragment) -> bool {
        let from = fragment.points.from;
        let block = self.order.block_at(from.position());
        let joins = before.last().is_some_and(|last| last.points.to == from);
        from.is_before()
            && from != block.start()
            && from != self.live.def(vreg)
            && !joins
            && fragment.points.to <= block.stop()
    }
}
