//! Registers at the heads of blocks.

use cranelift_entity::packed_option::PackedOption;
use kingpost_regalloc::meter::heap_bytes;
use kingpost_regalloc::{Block, VReg};
use kingpost_regalloc_common::preference::{Masks, Reg};
use std::ops::Range;

/// Registers at the heads of blocks, without parameters. Its memory is reused.
#[derive(Default, Debug)]
pub(crate) struct Heads {
    pub(crate) entries: Vec<(Reg, VReg)>,
    /// Heads by block.
    pub(crate) of: Vec<Head>,
    pub(crate) params: Vec<VReg>,
    /// The values defined by the current branch.
    pub(crate) exits: Vec<VReg>,
    /// The block whose head equals the current registers, without parameters, and the header of the loop around it.
    pub(crate) kept: PackedOption<Block>,
    pub(crate) kept_in: u32,
    /// The successor of the current block whose whole head equals the current registers.
    pub(crate) intact: PackedOption<Block>,
    /// The destination of the current block's edge, if the block consists of a jump.
    pub(crate) passed: PackedOption<Block>,
}

heap_bytes!(Heads { entries, of, params, exits } without { kept, kept_in, intact, passed });

/// The head of one block.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Head {
    /// Start of its entries; there are none if the walk has not passed it.
    pub(crate) start: u32,
    pub(crate) end: u32,
    /// Registers of the entries.
    pub(crate) regs: Masks,
    /// Whether an edge back has fixed the registers of its parameters.
    pub(crate) is_fixed: bool,
    /// Whether moves at the head may change the flags.
    pub(crate) has_dead_flags: bool,
}

impl Head {
    /// Returns the indices of its entries.
    pub(crate) fn range(&self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

impl Heads {
    pub(crate) fn begin(&mut self, blocks: usize) {
        self.entries.clear();
        self.of.clear();
        self.of.resize(blocks, Head::default());
        self.exits.clear();
        (self.kept, self.passed, self.intact) = (None.into(), None.into(), None.into());
    }

    /// Adds an entry.
    pub(crate) fn push(&mut self, regs: &mut Masks, reg: Reg, vreg: VReg) {
        self.entries.push((reg, vreg));
        regs[reg.class()] |= reg.bit();
    }
}
