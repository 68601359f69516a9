//! Loops around the walk's point, and what is resident in them.
//!
//! A register is untouched in a loop if nothing in its blocks walked so far, moves included, has written it or held a value
//! in it. A value defined before the loop that takes such a register is there in all of these blocks without a change to
//! them. So it is as if it had been in the register at the header, and at all edges back.

use cranelift_entity::EntityRef;
use kingpost_mach::Lower;
use kingpost_mach::block_order::MachineBlock;
use kingpost_regalloc::{Block, VReg};
use kingpost_regalloc_common::preference::{Masks, Reg};

/// A loop that the walk is in, or whose last block it has met.
#[derive(Clone, Copy, Debug)]
struct Around {
    /// Its header's number.
    header: u32,
    /// How many residents there were when it began.
    residents: usize,
    /// Registers that its blocks walked so far touch.
    touched: Masks,
}

/// The loops, outer ones first, and their residents. Memory is used again.
#[derive(Default, Debug)]
pub(crate) struct Loops {
    around: Vec<Around>,
    /// How many of them, the outer ones, hold the block that the walk is in. The others are left by it.
    depth: usize,
    /// By loop, then as they came.
    residents: Vec<(Reg, VReg)>,
    chain: Vec<u32>,
}

impl Loops {
    pub(crate) fn begin(&mut self) {
        self.around.clear();
        self.residents.clear();
        self.depth = 0;
    }

    /// The walk comes to the end of a block, with what the blocks before wrote. Returns how many loops begin.
    pub(crate) fn enter(&mut self, lower: &Lower<'_>, block: Block, recent: &mut Masks) -> usize {
        self.note(recent);
        self.find_chain(lower, block);
        self.depth = self.chain.len();
        let known = self.around.len().min(self.depth);
        for &header in &self.chain[known..] {
            let residents = self.residents.len();
            self.around.push(Around { header, residents, touched: [0; 2] });
        }
        self.depth - known
    }

    /// The header of the loop that began so many loops ago, the last one 1.
    pub(crate) fn begun(&self, ago: usize) -> Block {
        Block::from_u32(self.around[self.around.len() - ago].header)
    }

    /// Adds what was written to what the loops around the block touch.
    fn note(&mut self, recent: &mut Masks) {
        for each in &mut self.around[..self.depth] {
            each.touched.iter_mut().zip(&*recent).for_each(|(touched, recent)| *touched |= recent);
        }
        *recent = [0; 2];
    }

    /// The numbers of the headers of all loops around a block, outer ones first.
    fn find_chain(&mut self, lower: &Lower<'_>, block: Block) {
        self.chain.clear();
        let loops = lower.loops();
        let mut around = match lower.order().blocks()[block.index()] {
            MachineBlock::Ir(block) => loops.innermost_loop(block),
            MachineBlock::Edge { from, edge } => {
                let to = lower.destination(from, edge);
                let mut around = loops.innermost_loop(from);
                while let Some(each) = around.filter(|&each| !loops.contains(each, to)) {
                    around = loops.parent(each);
                }
                around
            }
        };
        while let Some(each) = around {
            self.chain.extend(lower.order().block_of(loops.header(each)).map(|block| block.as_u32()));
            around = loops.parent(each);
        }
        self.chain.reverse();
    }

    /// The walk has passed the head of a block; a loop with that header ends. `ended` takes its residents.
    pub(crate) fn leave(&mut self, block: Block, recent: &mut Masks, mut ended: impl FnMut(VReg)) {
        let Some(last) = self.around.last().filter(|last| last.header == block.as_u32()) else { return };
        let first = last.residents;
        self.note(recent);
        self.around.pop();
        self.depth = self.depth.min(self.around.len());
        self.residents.drain(first..).for_each(|(_, vreg)| ended(vreg));
    }

    /// Is the walk in a loop?
    #[inline]
    pub(crate) fn is_inside(&self) -> bool {
        self.depth > 0
    }

    /// Is a value that is defined in block number `block` from outside of the innermost loop?
    #[inline]
    pub(crate) fn is_from_outside(&self, block: u32) -> bool {
        self.around[..self.depth].last().is_some_and(|each| block < each.header)
    }

    /// Registers that the innermost loop touches.
    #[inline]
    pub(crate) fn touched(&self, recent: &Masks) -> Masks {
        let touched = self.around[..self.depth].last().map_or([0; 2], |each| each.touched);
        [touched[0] | recent[0], touched[1] | recent[1]]
    }

    /// Makes a value, defined in block number `block`, resident in as many loops as it can be. False if that is none.
    pub(crate) fn reside(&mut self, reg: Reg, vreg: VReg, block: u32, recent: &Masks) -> bool {
        // The code of loops that the walk has left for a while is not known to spare it.
        if self.depth < self.around.len() || recent[reg.class()] & reg.bit() != 0 {
            return false;
        }
        let can_hold = |each: &&Around| block < each.header && each.touched[reg.class()] & reg.bit() == 0;
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

    /// What is resident in the loops around the block that the walk is in.
    pub(crate) fn residents(&self) -> impl Iterator<Item = (Reg, VReg)> {
        let end = self.around.get(self.depth).map_or(self.residents.len(), |left| left.residents);
        self.residents[..end].iter().copied()
    }
}
