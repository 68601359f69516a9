//! Definitions and uses of values, and distances to next uses.

use crate::bare_jumps::{EdgeDistance, Source};
use crate::tables::reset;
use cranelift_entity::EntityRef;
use cranelift_entity::packed_option::PackedOption;
use kingpost_regalloc::VReg;
use kingpost_regalloc::meter::heap_bytes;
use kingpost_regalloc_common::order::BlockIndex;
use kingpost_regalloc_common::point::ProgPoint;
use kingpost_regalloc_common::release;

/// Distance of a value without a next use.
pub(crate) const DEAD: u32 = u32::MAX;

/// Bound on all meaningful distances.
pub(crate) const FAR: u32 = 1 << 30;

/// End of the live range in a block for a value that is live-out.
pub(crate) const LIVE_OUT: ProgPoint = ProgPoint::OPEN;

pub(crate) const NONE: u32 = u32::MAX;

/// The next use of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Next {
    /// Instructions between the head of the block and the use, or [`DEAD`].
    pub(crate) distance: u32,
    /// Frequency with which the value would be loaded for the use if it were in memory here: the least frequency on
    /// the path.
    pub(crate) freq: u32,
}

impl Next {
    pub(crate) const DEAD: Next = Next { distance: DEAD, freq: 0 };
    /// A possible use at an unknown distance.
    pub(crate) const FAR: Next = Next { distance: FAR, freq: 1 };

    pub(crate) fn is_dead(self) -> bool {
        self.distance == DEAD
    }

    /// Returns the use as seen from the head of the predecessor.
    pub(crate) fn before_edge(self, edge: EdgeDistance) -> Next {
        let distance = self.distance.saturating_add(edge.distance).min(FAR);
        Next { distance, freq: self.freq.min(edge.freq) }
    }

    /// Returns the use of a parameter as seen from the head of the predecessor. The argument is passed even if the
    /// parameter has no use.
    pub(crate) fn passed(self, edge: EdgeDistance) -> Next {
        Next { freq: self.freq.clamp(1, edge.freq), ..self.before_edge(edge) }
    }

    /// Sets the distance to the nearer of both uses and the frequency to the greater of both. Returns `true` if the
    /// distance fell below half of the previous one or the frequency rose above twice the previous one. Smaller
    /// changes affect few decisions, and propagating them takes time.
    pub(crate) fn improve(&mut self, other: Next) -> bool {
        let before = *self;
        *self = Next { distance: before.distance.min(other.distance), freq: before.freq.max(other.freq) };
        self.distance < before.distance / 2 || self.freq / 2 > before.freq
    }
}

/// Definition of a value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Def {
    /// The block that defines it, if there is one.
    pub(crate) block: BlockIndex,
    /// Point of the definition; [`ProgPoint::OPEN`] if the order has no block that defines it.
    pub(crate) point: ProgPoint,
    /// The end of the live range in the block that defines it, or [`LIVE_OUT`].
    pub(crate) end: ProgPoint,
    /// Frequency of the definition.
    pub(crate) freq: u32,
}

impl Def {
    /// A value without a definition in the order.
    pub(crate) const NONE: Def =
        Def { block: BlockIndex::FIRST, point: ProgPoint::OPEN, end: ProgPoint::FIRST, freq: 0 };
}

/// Use by a block of a value from another block, or of one of its parameters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Use {
    pub(crate) block: BlockIndex,
    /// End of the live range if the value is not live-out.
    pub(crate) end: ProgPoint,
    /// The first use in the block.
    pub(crate) next: Next,
    /// Index of the last operand that uses it.
    pub(crate) open: u32,
    /// Index of the value's use in a later block, or [`NONE`].
    pub(crate) later: u32,
}

/// A read of a value by an edge.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pass {
    pub(crate) param: VReg,
    pub(crate) from: BlockIndex,
    pub(crate) source: Source,
    /// Index of another edge that reads the value, or [`NONE`].
    pub(crate) other: u32,
}

/// Facts of a value in the current block.
#[derive(Clone, Copy)]
pub(crate) struct Seen {
    /// The block for which the facts hold.
    pub(crate) block: PackedOption<BlockIndex>,
    /// End of the live range, index of the last use, and the result of its instruction, or [`NONE`].
    pub(crate) end: ProgPoint,
    pub(crate) open: u32,
    pub(crate) result: u32,
    pub(crate) next: Next,
}

impl Seen {
    fn new(block: Option<BlockIndex>) -> Seen {
        Seen { block: block.into(), end: ProgPoint::FIRST, open: NONE, result: NONE, next: Next::DEAD }
    }
}

/// Uses of a value by other blocks and by edges.
#[derive(Clone, Copy)]
pub(crate) struct Chain {
    /// Index of the first block's use, or [`NONE`].
    pub(crate) first: u32,
    /// Index of one edge that uses it, or [`NONE`].
    pub(crate) pass: u32,
    /// For a value defined by an operand, the index of its last use in the defining block, or of the definition.
    pub(crate) open: u32,
}

impl Chain {
    /// Returns `true` if neither another block nor an edge uses the value.
    pub(crate) fn is_empty(&self) -> bool {
        self.first == NONE && self.pass == NONE
    }
}

/// Uses of values by blocks.
#[derive(Default)]
pub(crate) struct Uses {
    /// Uses per value.
    pub(crate) chains: Vec<Chain>,
    pub(crate) all: Vec<Use>,
    pub(crate) passes: Vec<Pass>,
    /// Values that other blocks or edges use, in reverse order of their definitions' blocks.
    pub(crate) defs: Vec<VReg>,
    pub(crate) seen: Vec<Seen>,
    /// Values that the current block reads.
    pub(crate) read: Vec<VReg>,
}

heap_bytes!(Uses { chains, all, passes, defs, seen, read });

impl Uses {
    pub(crate) fn begin(&mut self, values: usize) {
        reset(&mut self.chains, values, Chain { first: NONE, pass: NONE, open: NONE });
        self.all.clear();
        self.passes.clear();
        self.defs.clear();
        reset(&mut self.seen, values, Seen::new(None));
    }

    pub(crate) fn release(&mut self) {
        release(&mut self.chains);
        release(&mut self.all);
        release(&mut self.passes);
        release(&mut self.defs);
        release(&mut self.seen);
        release(&mut self.read);
    }

    /// Returns the facts of the value in the part of the block that has been visited.
    pub(crate) fn seen(&mut self, vreg: VReg, block: BlockIndex) -> &mut Seen {
        let seen = &mut self.seen[vreg.index()];
        if seen.block != block.into() {
            *seen = Seen::new(Some(block));
        }
        seen
    }

    /// Records that an edge out of the block reads the value.
    pub(crate) fn pass(&mut self, vreg: VReg, param: VReg, from: BlockIndex, source: Source) {
        let pass = &mut self.chains[vreg.index()].pass;
        self.passes.push(Pass { param, from, source, other: *pass });
        *pass = self.passes.len() as u32 - 1;
    }

    /// Closes the block at its head: values that it reads and does not define come from other blocks.
    pub(crate) fn close(&mut self, block: BlockIndex) {
        for vreg in self.read.drain(..) {
            let seen = &mut self.seen[vreg.index()];
            if seen.block == block.into() {
                seen.block = None.into();
                let first = &mut self.chains[vreg.index()].first;
                self.all.push(Use { block, end: seen.end, next: seen.next, open: seen.open, later: *first });
                *first = self.all.len() as u32 - 1;
            }
        }
    }
}
