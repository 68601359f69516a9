//! Loops around the current point of the walk, and their residents.
//!
//! A register is untouched in a loop if no instruction or move in the blocks walked so far has written it, and no
//! value was in it. A value defined before the loop that takes such a register can be in it throughout these blocks
//! without a change to them. It is treated as if it had been in the register at the header and on all edges back.
//! This is correct only if every edge into the header is an edge back or comes from above, which the walk has not
//! reached. A loop that an edge from below enters, as in an irreducible cycle, has no residents.

use crate::state::State;
use kingpost_mach::LowerCtx;
use kingpost_regalloc::meter::heap_bytes;
use kingpost_regalloc::{Block, VReg};
use kingpost_regalloc_common::preference::{Masks, Reg};

/// A loop that the walk is in, or whose last block it has met.
#[derive(Clone, Copy, Debug)]
struct Around {
    /// Its header's number.
    header: u32,
    /// Whether an edge from a block below that is not of the loop may enter it.
    is_entered_below: bool,
    /// Number of residents when it began.
    residents: usize,
    /// Registers touched by its blocks walked so far, except for inner loops whose headers the walk has not passed.
    touched: Masks,
}

/// The loops, outer ones first, and their residents. Its memory is reused.
#[derive(Default, Debug)]
pub(crate) struct Loops {
    around: Vec<Around>,
    /// Number of loops, counted from the outermost, that hold the current block. The walk has left the other ones
    /// for now.
    depth: usize,
    /// The number of the innermost loop around the current block, or `None` if the walk has passed its header.
    innermost: Option<u32>,
    /// The block number of that loop's header; 0 if there is none.
    header: u32,
    /// Registers touched by that loop and by the loops inside it whose headers the walk has not passed.
    touched: Masks,
    /// Residents by loop, then in the order in which they were added.
    residents: Vec<(Reg, VReg)>,
}

heap_bytes!(Loops { around, residents } without { depth, innermost, header, touched });

impl Loops {
    pub(crate) fn begin(&mut self) {
        self.around.clear();
        self.residents.clear();
        self.innermost = None;
        self.set_depth(0);
    }

    fn set_depth(&mut self, depth: usize) {
        self.depth = depth;
        self.header = self.around[..depth].last().map_or(0, |each| each.header);
        self.touched = [0; 2];
        for each in &self.around[depth.saturating_sub(1)..] {
            touch(&mut self.touched, &each.touched);
        }
    }

    /// Enters a block at its end, after recording the registers written since. Returns how many loops begin.
    pub(crate) fn enter(&mut self, lower: &LowerCtx<'_>, block: Block, recent: &mut Masks) -> usize {
        self.note(recent);
        let loops = lower.loops();
        let innermost = lower.innermost_loop(block);
        let number = innermost.map(|each| each.as_u32());
        if number == self.innermost && (number.is_some() || self.depth == 0) {
            return 0;
        }
        self.innermost = number;
        let depth = innermost.map_or(0, |each| loops.depth(each) as usize);
        let (known, residents) = (self.around.len(), self.residents.len());
        let begun = depth.saturating_sub(known);
        for each in std::iter::successors(innermost, |&each| loops.parent(each)).take(begun) {
            let is_entered_below = loops.is_irreducible_entry(loops.header(each));
            let header = lower.order().block_of(loops.header(each)).map_or(0, |header| header.as_u32());
            self.around.push(Around { header, is_entered_below, residents, touched: [0; 2] });
        }
        self.around[known..].reverse();
        self.set_depth(depth);
        begun
    }

    /// Returns the header of a loop that began at the current block; `ago` is 1 for the innermost of them.
    pub(crate) fn begun(&self, ago: usize) -> Block {
        Block::from_u32(self.around[self.around.len() - ago].header)
    }

    /// Adds recently written registers to the registers touched by the loop around the block.
    fn note(&mut self, recent: &mut Masks) {
        if let Some(each) = self.around[..self.depth].last_mut() {
            touch(&mut each.touched, recent);
            touch(&mut self.touched, recent);
        }
        *recent = [0; 2];
    }

    /// Leaves a block at its head. A loop with that header ends, and its residents are no longer resident.
    pub(crate) fn leave(&mut self, block: Block, state: &mut State) {
        if self.around.last().is_none_or(|last| last.header != block.as_u32()) {
            return;
        }
        self.note(&mut state.recent);
        let Some(last) = self.around.pop() else { return };
        self.innermost = None;
        if let Some(outer) = self.around.last_mut() {
            touch(&mut outer.touched, &last.touched);
        }
        self.set_depth(self.depth.min(self.around.len()));
        self.residents.drain(last.residents..).for_each(|(_, vreg)| state.value_mut(vreg).resident = Reg::NONE);
    }

    /// Returns `true` if the walk is in a loop.
    pub(crate) fn is_inside(&self) -> bool {
        self.depth > 0
    }

    /// Returns the number of the innermost loop's header; 0 outside of loops.
    pub(crate) fn header(&self) -> u32 {
        self.header
    }

    /// Returns `true` if a value that is defined in block number `block` comes from outside the innermost loop.
    pub(crate) fn is_from_outside(&self, block: u32) -> bool {
        block < self.header
    }

    /// Returns the registers that the innermost loop touches.
    pub(crate) fn touched(&self, recent: &Masks) -> Masks {
        [0, 1].map(|class| self.touched[class] | recent[class])
    }

    /// Makes a value, defined in block number `block`, resident in as many loops as possible. Returns `false` if
    /// there is no such loop.
    pub(crate) fn make_resident(&mut self, reg: Reg, vreg: VReg, block: u32, recent: &Masks) -> bool {
        // The code of loops that the walk has left for now may not spare the register.
        if self.depth < self.around.len() || recent[reg.class()] & reg.bit() != 0 {
            return false;
        }
        let can_hold = |each: &&Around| {
            block < each.header && !each.is_entered_below && each.touched[reg.class()] & reg.bit() == 0
        };
        let held = self.around.iter().rev().take_while(can_hold).count();
        if held == 0 {
            return false;
        }
        // It ends with the outermost of those loops.
        let outermost = self.around.len() - held;
        let at = self.around.get(outermost + 1).map_or(self.residents.len(), |inner| inner.residents);
        self.residents.insert(at, (reg, vreg));
        self.around[outermost + 1..].iter_mut().for_each(|inner| inner.residents += 1);
        true
    }

    /// Returns the residents of the loops around the current block.
    pub(crate) fn residents(&self) -> impl Iterator<Item = (Reg, VReg)> {
        let end = self.around.get(self.depth).map_or(self.residents.len(), |left| left.residents);
        self.residents[..end].iter().copied()
    }
}

/// Adds registers to a set.
fn touch(touched: &mut Masks, more: &Masks) {
    touched[0] |= more[0];
    touched[1] |= more[1];
}
