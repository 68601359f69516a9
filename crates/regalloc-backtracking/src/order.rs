//! Points of the program: a slot for the head of each block and one for each instruction, with four points each.
//!
//! ```text
//! b0:  slot 0      head: block parameters and what the edges bring
//! i0   slot 1      pre: copies read · early · late · post: copies of results written
//! ```
//!
//! A value may change its place before the `pre` point of an instruction and at a head. Loops are the stretches of the
//! order between the target and the source of an edge that leads back.

use cranelift_entity::EntityRef;
use kingpost_regalloc::{Block, Inst, Problem};

/// Before an instruction, after values have changed places: where copies for its operands are read.
pub(crate) const PRE: u32 = 0;
/// Early operands.
pub(crate) const EARLY: u32 = 1;
/// Late operands.
pub(crate) const LATE: u32 = 2;
/// After an instruction: where results that are copied begin.
pub(crate) const POST: u32 = 3;
/// No index.
pub(crate) const NONE: u32 = u32::MAX;

/// One block in the order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) block: Block,
    /// Slot of the head.
    pub(crate) head: u32,
    /// One past the slot of the terminator.
    pub(crate) end: u32,
    pub(crate) freq: u64,
    /// The innermost loop around it, or [`NONE`].
    pub(crate) innermost: u32,
}

impl Place {
    /// First point of the block.
    pub(crate) fn start(&self) -> u32 {
        self.head * 4
    }

    /// First point after the block.
    pub(crate) fn stop(&self) -> u32 {
        self.end * 4
    }
}

/// A stretch of the order that repeats.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loop {
    /// Places: first and last.
    pub(crate) first: u32,
    pub(crate) last: u32,
    pub(crate) parent: u32,
}

/// Places that edges join each place to, with the frequencies of the edges.
#[derive(Default)]
struct Links {
    list: Vec<(u32, u64)>,
    /// By place: where its own end.
    ends: Vec<u32>,
}

impl Links {
    fn clear(&mut self) {
        self.list.clear();
        self.ends.clear();
    }

    fn push(&mut self, links: impl Iterator<Item = (u32, u64)>) {
        self.list.extend(links);
        self.ends.push(self.list.len() as u32);
    }

    fn of(&self, place: u32) -> &[(u32, u64)] {
        let start = if place == 0 { 0 } else { self.ends[place as usize - 1] };
        &self.list[start as usize..self.ends[place as usize] as usize]
    }
}

/// Numbers of blocks and instructions.
#[derive(Default)]
pub(crate) struct Order {
    pub(crate) places: Vec<Place>,
    pub(crate) loops: Vec<Loop>,
    at: Vec<u32>,
    preds: Links,
    succs: Links,
    place_of_slot: Vec<u32>,
    stack: Vec<u32>,
}

impl Order {
    pub(crate) fn build(&mut self, problem: &Problem) {
        self.places.clear();
        self.place_of_slot.clear();
        self.at.clear();
        self.at.resize(problem.num_blocks(), 0);
        for (i, &block) in problem.order.iter().enumerate() {
            let head = self.place_of_slot.len() as u32;
            let end = head + 1 + problem.insts(block).len() as u32;
            self.at[block.index()] = i as u32;
            self.place_of_slot.resize(end as usize, i as u32);
            self.places.push(Place { block, head, end, freq: problem.freq(block).0, innermost: NONE });
        }
        self.preds.clear();
        self.succs.clear();
        for place in &self.places {
            let edges = problem.preds(place.block).iter().map(|&edge| problem.edge(edge));
            self.preds.push(edges.map(|edge| (self.at[edge.from.index()], edge.freq.0)));
            let edges = problem.succs(place.block).iter().map(|&edge| problem.edge(edge));
            self.succs.push(edges.map(|edge| (self.at[edge.to.index()], edge.freq.0)));
        }
        self.find_loops();
    }

    /// The places before a place, each with the frequency of the edge.
    pub(crate) fn preds(&self, place: u32) -> &[(u32, u64)] {
        self.preds.of(place)
    }

    /// The places after a place, each with the frequency of the edge.
    pub(crate) fn succs(&self, place: u32) -> &[(u32, u64)] {
        self.succs.of(place)
    }

    fn find_loops(&mut self) {
        self.loops.clear();
        for i in 0..self.places.len() as u32 {
            if let Some(last) = self.preds(i).iter().map(|&(from, _)| from).filter(|&from| from >= i).max() {
                self.loops.push(Loop { first: i, last, parent: NONE });
            }
        }
        self.stack.clear();
        let mut next = 0;
        for i in 0..self.places.len() as u32 {
            while self.stack.last().is_some_and(|&l| self.loops[l as usize].last < i) {
                self.stack.pop();
            }
            while self.loops.get(next).is_some_and(|l| l.first == i) {
                self.loops[next].parent = self.stack.last().copied().unwrap_or(NONE);
                self.stack.push(next as u32);
                next += 1;
            }
            self.places[i as usize].innermost = self.stack.last().copied().unwrap_or(NONE);
        }
    }

    pub(crate) fn num_slots(&self) -> usize {
        self.place_of_slot.len()
    }

    pub(crate) fn place(&self, block: Block) -> &Place {
        &self.places[self.place_index(block) as usize]
    }

    pub(crate) fn place_index(&self, block: Block) -> u32 {
        self.at[block.index()]
    }

    /// Index of the place that holds a point.
    pub(crate) fn index_at(&self, point: u32) -> u32 {
        self.place_of_slot[(point / 4) as usize]
    }

    pub(crate) fn place_at(&self, point: u32) -> &Place {
        &self.places[self.index_at(point) as usize]
    }

    pub(crate) fn freq_at(&self, point: u32) -> u64 {
        self.place_at(point).freq
    }

    /// First point of an instruction of the block at `place`.
    pub(crate) fn point(&self, problem: &Problem, place: &Place, inst: Inst) -> u32 {
        (place.head + 1 + inst.as_u32() - problem.first_inst(place.block).as_u32()) * 4
    }

    /// The instruction at a point; at a head the first one of the block.
    pub(crate) fn inst(&self, problem: &Problem, point: u32) -> Inst {
        let place = self.place_at(point);
        let index = (point / 4).saturating_sub(place.head + 1);
        Inst::from_u32(problem.first_inst(place.block).as_u32() + index)
    }
}
