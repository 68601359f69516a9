//! Loops around the walk's point, and what is resident in them.
//!
//! A register is untouched in a loop if nothing in its blocks walked so far, moves included, has written it or held a
//! value in it. A value defined before the loop that takes such a register is there in all of these blocks without a
//! change to them. So it is as if it had been in the register at the header, and at all edges back. That holds only if
//! every edge into the header is an edge back or comes from above, where the walk has yet to come: nothing is resident
//! in a loop that an edge from below enters, as it may in an irreducible cycle.

use crate::state::State;
use kingpost_mach::Lower;
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
    /// Registers that its blocks walked so far touch, but for those in inner loops whose header the walk has not
    /// passed.
    touched: Masks,
}

/// The loops, outer ones first, and their residents. Memory is used again.
#[derive(Default, Debug)]
pub(crate) struct Loops {
    around: Vec<Around>,
    /// Number of them, the outer ones, that hold the block that the walk is in. The others are left by it.
    depth: usize,
    /// The number of the innermost of them, if the walk has not passed its header.
    innermost: Option<u32>,
    /// The number of the header of that; 0 if there is none.
    header: u32,
    /// Registers that it and the loops inside it, as far as the walk has not passed their headers, touch.
    touched: Masks,
    /// By loop, then as they came.
    residents: Vec<(Reg, VReg)>,
}

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

    /// The walk comes to the end of a block, with what the blocks before wrote. Returns how many loops begin.
    pub(crate) fn enter(&mut self, lower: &Lower<'_>, block: Block, recent: &mut Masks) -> usize {
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

    /// Returns the header of the loop that began so many loops ago, the last one 1.
    pub(crate) fn begun(&self, ago: usize) -> Block {
        Block::from_u32(self.around[self.around.len() - ago].header)
    }

    /// Adds what was written to what the loop around the block touches.
    fn note(&mut self, recent: &mut Masks) {
        if let Some(each) = self.around[..self.depth].last_mut() {
            touch(&mut each.touched, recent);
            touch(&mut self.touched, recent);
        }
        *recent = [0; 2];
    }

    /// The walk has passed the head of a block; a loop with that header ends, and what was resident in it no longer is.
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
    #[inline]
    pub(crate) fn is_inside(&self) -> bool {
        self.depth > 0
    }

    /// Returns the number of the innermost loop's header; 0 outside of loops.
    #[inline]
    pub(crate) fn header(&self) -> u32 {
        self.header
    }

    /// Returns `true` if a value that is defined in block number `block` comes from outside of the innermost loop.
    #[inline]
    pub(crate) fn is_from_outside(&self, block: u32) -> bool {
        block < self.header
    }

    /// Returns registers that the innermost loop touches.
    #[inline]
    pub(crate) fn touched(&self, recent: &Masks) -> Masks {
        [0, 1].map(|class| self.touched[class] | recent[class])
    }

    /// Makes a value, defined in block number `block`, resident in as many loops as it can be. False if that is none.
    pub(crate) fn reside(&mut self, reg: Reg, vreg: VReg, block: u32, recent: &Masks) -> bool {
        // The code of loops that the walk has left for a while is not known to spare it.
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

    /// Returns the residents of the loops around the block that the walk is in.
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
