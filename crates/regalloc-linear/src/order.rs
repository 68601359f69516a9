//! The linear order of blocks and instructions, and the loops in it.
//!
//! A loop is, for each block that an edge goes back to, the stretch of the order from that block to the last source of
//! such an edge. In an order with contiguous loops these are the natural loops; elsewhere they are an approximation that
//! only guides where to split. Cost: linear in instructions and edges.

use crate::point::Point;
use cranelift_entity::EntityRef;
use kingpost_regalloc::{Block, Inst, Problem};

pub(crate) const NONE: u32 = u32::MAX;

/// A block at its place in the order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) block: Block,
    /// Slot of the block's head; its instructions have the slots after it.
    pub(crate) head: u32,
    /// Slot after the terminator's.
    pub(crate) end: u32,
    first_inst: u32,
    /// Runs per call, fixed point.
    pub(crate) freq: u64,
    /// Innermost loop around the block, or [`NONE`].
    pub(crate) innermost: u32,
}

impl Place {
    pub(crate) fn start(&self) -> Point {
        Point::early(self.head)
    }

    /// The first point after the block: the start of the block placed after it.
    pub(crate) fn stop(&self) -> Point {
        Point::early(self.end)
    }

    /// The instruction in `slot`, which must not be the head.
    pub(crate) fn inst(&self, slot: u32) -> Inst {
        Inst::from_u32(self.first_inst + (slot - self.head - 1))
    }

    pub(crate) fn slot_of(&self, inst: Inst) -> u32 {
        self.head + 1 + (inst.as_u32() - self.first_inst)
    }
}

/// A stretch of blocks that an edge leads back over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loop {
    /// Index in the order of the first block.
    pub(crate) head: u32,
    /// Index of the last block.
    pub(crate) last: u32,
    /// The next larger loop, or [`NONE`].
    pub(crate) parent: u32,
    /// Do all ways from outside lead to the head, or to other blocks where paths meet?
    pub(crate) is_sound: bool,
}

/// The linear order.
#[derive(Default)]
pub(crate) struct Order {
    pub(crate) places: Vec<Place>,
    pub(crate) loops: Vec<Loop>,
    /// By block: its index in `places`.
    index: Vec<u32>,
    /// By slot: index in `places`.
    place_of_slot: Vec<u32>,
    /// By index in `places`: the last source of an edge back to it, or [`NONE`].
    pub(crate) back_from: Vec<u32>,
    stack: Vec<u32>,
    /// By index in `places`: does an edge lead to it from before?
    has_forward_pred: Vec<bool>,
    /// Has every block but the first a predecessor before it? Then what dominates a block comes before it as well.
    pub(crate) is_forward: bool,
}

impl Order {
    pub(crate) fn build(&mut self, problem: &Problem) {
        self.number(problem);
        self.find_back_edges(problem);
        self.find_loops();
        self.find_unsound_loops(problem);
    }

    fn number(&mut self, problem: &Problem) {
        self.places.clear();
        self.place_of_slot.clear();
        self.index.clear();
        self.index.resize(problem.num_blocks(), NONE);
        let mut slot = 0;
        for (at, &block) in problem.order.iter().enumerate() {
            let insts = problem.insts(block).len() as u32;
            self.index[block.index()] = at as u32;
            let (head, end) = (slot, slot + 1 + insts);
            let first_inst = problem.first_inst(block).as_u32();
            self.places.push(Place { block, head, end, first_inst, freq: problem.freq(block).0, innermost: NONE });
            slot = end;
            self.place_of_slot.extend(std::iter::repeat_n(at as u32, (end - head) as usize));
        }
    }

    fn find_back_edges(&mut self, problem: &Problem) {
        self.back_from.clear();
        self.back_from.resize(self.places.len(), NONE);
        self.has_forward_pred.clear();
        self.has_forward_pred.resize(self.places.len(), false);
        for edge in problem.edges() {
            let data = problem.edge(edge);
            let (from, to) = (self.at(data.from), self.at(data.to));
            let last = &mut self.back_from[to as usize];
            if from < to {
                self.has_forward_pred[to as usize] = true;
            } else if *last == NONE || *last < from {
                *last = from;
            }
        }
        self.is_forward = self.has_forward_pred.iter().skip(1).all(|&has| has);
    }

    fn find_loops(&mut self) {
        self.loops.clear();
        self.stack.clear();
        for at in 0..self.places.len() as u32 {
            while self.stack.last().is_some_and(|&l| self.loops[l as usize].last < at) {
                self.stack.pop();
            }
            let last = self.back_from[at as usize];
            if last != NONE {
                let parent = self.stack.last().copied().unwrap_or(NONE);
                self.stack.push(self.loops.len() as u32);
                self.loops.push(Loop { head: at, last, parent, is_sound: true });
            }
            self.places[at as usize].innermost = self.stack.last().copied().unwrap_or(NONE);
        }
    }

    /// In an unusual order a stretch may be entered by a block that has one predecessor, which is before the stretch.
    fn find_unsound_loops(&mut self, problem: &Problem) {
        if self.loops.is_empty() {
            return;
        }
        let mut budget = 4 * self.places.len() + 64;
        for at in 0..self.places.len() as u32 {
            if budget == 0 {
                break;
            }
            let place = &self.places[at as usize];
            let &[edge] = problem.preds(place.block) else { continue };
            let pred = self.at(problem.edge(edge).from);
            let mut id = place.innermost;
            while let Some(l) = self.loops.get_mut(id as usize) {
                if l.head <= pred || l.head == at || pred > at || budget == 0 {
                    break;
                }
                l.is_sound = false;
                id = l.parent;
                budget = budget.saturating_sub(1);
            }
        }
        if budget == 0 {
            self.loops.iter_mut().for_each(|l| l.is_sound = false);
        }
    }

    /// Index of a block.
    pub(crate) fn at(&self, block: Block) -> u32 {
        self.index[block.index()]
    }

    pub(crate) fn place(&self, block: Block) -> &Place {
        &self.places[self.at(block) as usize]
    }

    /// Index of the block that holds a slot.
    pub(crate) fn at_slot(&self, slot: u32) -> u32 {
        self.place_of_slot[slot as usize]
    }

    /// Does an edge lead back to the block?
    pub(crate) fn is_loop_head(&self, block: Block) -> bool {
        self.back_from[self.at(block) as usize] != NONE
    }

    /// The block that holds a slot.
    pub(crate) fn place_at(&self, slot: u32) -> &Place {
        &self.places[self.at_slot(slot) as usize]
    }

    /// How often the block that holds a slot runs.
    pub(crate) fn freq_at(&self, slot: u32) -> u64 {
        self.place_at(slot).freq
    }

    pub(crate) fn num_slots(&self) -> usize {
        self.place_of_slot.len()
    }
}
