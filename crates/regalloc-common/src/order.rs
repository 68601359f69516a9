//! The linear order of blocks, the positions of instructions, and the loops.
//!
//! ```text
//! b0: i0 i1   block 0, positions 0..3: the head, i0, i1
//! b2: i2      block 1, positions 3..5      loop 0: blocks 1..3, since an edge leads from b1 back to b2
//! b1: i3      block 2, positions 5..7
//! ```
//!
//! A block with an edge back to it is the header of a loop: the range of the order from the header to the last
//! source of such an edge. In an order with contiguous loops these are the natural loops. In any other order the
//! ranges hold more or fewer blocks, which may make code slower but never wrong.
//!
//! Cost: linear in blocks, instructions and edges; in irreducible code also in edges into the middle of nested
//! loops, up to four loops per block.

use crate::point::{PointRange, Position, ProgPoint};
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntityRef, PrimaryMap, SecondaryMap, entity_impl};
use kingpost_regalloc::meter::heap_bytes;
use kingpost_regalloc::{AllocError, Block, Edge, Freq, Inst, Problem};

/// The index of a block in the linear order. The default is the entry block.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct BlockIndex(u32);
entity_impl!(BlockIndex, "block ");

impl BlockIndex {
    /// The entry block.
    pub const FIRST: BlockIndex = BlockIndex(0);

    /// Returns the next block of the order.
    #[must_use]
    pub fn next(self) -> BlockIndex {
        BlockIndex(self.0 + 1)
    }

    /// Returns all indices from this one up to and excluding `end`.
    pub fn up_to(self, end: BlockIndex) -> impl DoubleEndedIterator<Item = BlockIndex> + ExactSizeIterator {
        (self.0..end.0).map(BlockIndex)
    }
}

/// A loop of the linear order. Loops are numbered by their headers, so that a parent precedes its children.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LoopId(u32);
entity_impl!(LoopId, "loop ");

/// Loops that edges into the middle of a nest are compared with, per block. After that, all loops are treated as
/// [`Entries::Anywhere`].
const WALKS_PER_BLOCK: usize = 4;

/// A block of the linear order.
#[derive(Clone, Copy, Debug)]
pub struct OrderedBlock {
    /// The block.
    pub block: Block,
    /// Position of its head, before its instructions.
    pub head: Position,
    /// The position after its terminator, which is the head of the next block of the order.
    pub end: Position,
    first_inst: Inst,
    /// Frequency, in runs per call.
    pub freq: Freq,
    /// The innermost loop around it.
    pub innermost: PackedOption<LoopId>,
    inherited: PackedOption<Edge>,
    /// Source of the edge `inherited`, if there is one.
    from: BlockIndex,
    /// Whether edges out of it pass values, as arguments or as results of its terminator.
    pub passes: bool,
    /// Whether values begin at its head, as parameters or as results of a terminator.
    pub receives: bool,
}

impl OrderedBlock {
    /// Returns the only edge into the block and its source, if the source precedes the block and the edge passes no
    /// value. Such a block continues from the state at the end of its source.
    #[inline]
    pub fn inherits(&self) -> Option<(Edge, BlockIndex)> {
        self.inherited.expand().map(|edge| (edge, self.from))
    }

    /// Returns `true` if the block, which has this index, continues from the end of the previous block of the
    /// order.
    #[inline]
    pub fn falls_through(&self, index: BlockIndex) -> bool {
        self.inherits().is_some_and(|(_, from)| from.next() == index)
    }

    /// Returns the first point of the block.
    pub fn start(&self) -> ProgPoint {
        ProgPoint::before(self.head)
    }

    /// Returns the first point after the block.
    pub fn stop(&self) -> ProgPoint {
        ProgPoint::before(self.end)
    }

    /// Returns all points of the block.
    pub fn points(&self) -> PointRange {
        PointRange::new(self.start(), self.stop())
    }

    /// Returns the position of its terminator.
    pub fn terminator(&self) -> Position {
        self.end.prev()
    }

    /// Returns the positions of its instructions.
    pub fn positions(&self) -> impl DoubleEndedIterator<Item = Position> + ExactSizeIterator + use<> {
        self.head.next().up_to(self.end)
    }

    /// Returns the number of instructions.
    pub fn num_insts(&self) -> u32 {
        self.end.as_u32() - self.head.as_u32() - 1
    }

    /// Returns the instruction at a position of the block, or at its end the number that follows. The position must
    /// not be the head.
    pub fn inst(&self, position: Position) -> Inst {
        Inst::from_u32(self.first_inst.as_u32() + (position.as_u32() - self.head.as_u32() - 1))
    }

    /// Returns the position of an instruction of the block, or of the number after its last instruction.
    pub fn position(&self, inst: Inst) -> Position {
        Position::new(self.head.as_u32() + 1 + (inst.as_u32() - self.first_inst.as_u32()))
    }
}

/// Kinds of entries of a loop.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Entries {
    /// Only at its header.
    Header,
    /// Also at other join points.
    JoinPoints,
    /// At a block, other than the header, with a single predecessor outside the loop; or unknown.
    Anywhere,
}

/// A loop: the blocks `header..end` of the order.
#[derive(Clone, Copy, Debug)]
pub struct Loop {
    /// The first block, to which an edge leads back.
    pub header: BlockIndex,
    /// The block after the last source of such an edge.
    pub end: BlockIndex,
    /// The smallest loop around it.
    pub parent: PackedOption<LoopId>,
    /// Its entries from outside.
    pub entries: Entries,
}

/// The linear order of one problem. Its memory is reused for the next problem.
#[derive(Default)]
pub struct LinearOrder {
    blocks: PrimaryMap<BlockIndex, OrderedBlock>,
    loops: PrimaryMap<LoopId, Loop>,
    indices: SecondaryMap<Block, PackedOption<BlockIndex>>,
    block_at: Vec<BlockIndex>,
    last_back: Vec<PackedOption<BlockIndex>>,
    has_forward_pred: Vec<bool>,
    is_forward: bool,
    nest: Vec<LoopId>,
    walk: Vec<(Block, u32)>,
    sequence: Vec<Block>,
}

heap_bytes!(LinearOrder { blocks, loops, indices, block_at, last_back, has_forward_pred, nest, walk, sequence } without { is_forward });

/// Building.
impl LinearOrder {
    /// Builds the order from the problem's own order of blocks.
    ///
    /// # Errors
    /// If there are more instructions and blocks than [`Position`] can number.
    pub fn build(&mut self, problem: &Problem) -> Result<(), AllocError> {
        self.build_in(problem, &problem.order)?;
        self.find_positions();
        Ok(())
    }

    /// Computes the block of each position, for an order from [`LinearOrder::build_forward`].
    pub fn find_positions(&mut self) {
        self.block_at.clear();
        for (index, block) in self.blocks.iter() {
            self.block_at.resize(block.end.index(), index);
        }
    }

    /// Builds the order from the problem's own order of blocks if this is [forward](LinearOrder::is_forward),
    /// otherwise from a reverse post-order, which omits unreachable blocks. The block of a position is unknown
    /// until [`LinearOrder::find_positions`] runs.
    ///
    /// # Errors
    /// The error of [`LinearOrder::build`].
    pub fn build_forward(&mut self, problem: &Problem) -> Result<(), AllocError> {
        self.block_at.clear();
        self.build_in(problem, &problem.order)?;
        if self.is_forward {
            return Ok(());
        }
        let mut sequence = std::mem::take(&mut self.sequence);
        self.post_order(problem, &mut sequence);
        sequence.reverse();
        let built = self.build_in(problem, &sequence);
        self.sequence = sequence;
        built
    }

    fn build_in(&mut self, problem: &Problem, sequence: &[Block]) -> Result<(), AllocError> {
        self.number(problem, sequence)?;
        self.find_back_edges(problem);
        self.find_loops();
        self.find_entries(problem);
        Ok(())
    }

    fn number(&mut self, problem: &Problem, sequence: &[Block]) -> Result<(), AllocError> {
        let limit = u64::from(Position::END.as_u32());
        if (problem.num_insts() + problem.num_blocks()) as u64 >= limit {
            return Err(AllocError::TooLarge { what: "instructions and blocks", limit });
        }
        self.blocks.clear();
        self.indices.clear();
        self.indices.resize(problem.num_blocks());
        let mut head = Position::new(0);
        for &block in sequence {
            let end = Position::new(head.as_u32() + 1 + problem.insts(block).len() as u32);
            let (first_inst, freq) = (problem.first_inst(block), problem.freq(block));
            let index = self.blocks.push(OrderedBlock {
                block,
                head,
                end,
                first_inst,
                freq,
                innermost: None.into(),
                inherited: None.into(),
                from: BlockIndex::FIRST,
                passes: false,
                receives: !problem.params(block).is_empty(),
            });
            self.indices[block] = index.into();
            head = end;
        }
        for (index, block) in self.blocks.iter_mut().skip(1) {
            if let (false, &[edge]) = (block.receives, problem.preds(block.block))
                && let Some(from) = self.indices[problem.edge(edge).from].expand().filter(|&from| from < index)
            {
                (block.inherited, block.from) = (edge.into(), from);
            }
        }
        Ok(())
    }

    fn find_back_edges(&mut self, problem: &Problem) {
        let blocks = self.blocks.len();
        self.last_back.clear();
        self.last_back.resize(blocks, None.into());
        self.has_forward_pred.clear();
        self.has_forward_pred.resize(blocks, false);
        for edge in problem.edges() {
            let data = problem.edge(edge);
            let (Some(from), Some(to)) = (self.indices[data.from].expand(), self.indices[data.to].expand()) else {
                continue;
            };
            if data.passes_values() {
                self.blocks[from].passes = true;
                self.blocks[to].receives = true;
            }
            let last = &mut self.last_back[to.index()];
            if from < to {
                self.has_forward_pred[to.index()] = true;
            } else if last.expand().is_none_or(|last| last < from) {
                *last = from.into();
            }
        }
        self.is_forward = self.has_forward_pred.iter().skip(1).all(|&has| has);
    }

    fn find_loops(&mut self) {
        self.loops.clear();
        self.nest.clear();
        for (index, block) in self.blocks.iter_mut() {
            while self.nest.last().is_some_and(|&id| self.loops[id].end <= index) {
                self.nest.pop();
            }
            if let Some(last) = self.last_back[index.index()].expand() {
                let parent = self.nest.last().copied().into();
                let entries = Entries::Header;
                self.nest.push(self.loops.push(Loop { header: index, end: last.next(), parent, entries }));
            }
            block.innermost = self.nest.last().copied().into();
        }
    }

    /// Finds edges from outside a loop to a block of it that is not its header. Takes at most
    /// [`WALKS_PER_BLOCK`] steps for each block.
    fn find_entries(&mut self, problem: &Problem) {
        if self.loops.is_empty() {
            return;
        }
        let mut budget = WALKS_PER_BLOCK * self.blocks.len() + 64;
        for edge in problem.edges() {
            let data = problem.edge(edge);
            let (Some(from), Some(to)) = (self.indices[data.from].expand(), self.indices[data.to].expand()) else {
                continue;
            };
            let mut id = self.blocks[to].innermost;
            while let Some(l) = id.expand().map(|id| &mut self.loops[id]) {
                if l.header <= from || l.header == to || from > to {
                    break;
                }
                let is_join_point = problem.preds(data.to).len() >= 2;
                l.entries = l.entries.max(if is_join_point { Entries::JoinPoints } else { Entries::Anywhere });
                id = l.parent;
                budget -= 1;
                if budget == 0 {
                    self.loops.values_mut().for_each(|l| l.entries = Entries::Anywhere);
                    return;
                }
            }
        }
    }

    fn post_order(&mut self, problem: &Problem, sequence: &mut Vec<Block>) {
        let mut is_seen = vec![false; problem.num_blocks()];
        sequence.clear();
        is_seen[problem.entry().index()] = true;
        self.walk.push((problem.entry(), 0));
        while let Some((block, next)) = self.walk.last_mut() {
            let Some(&edge) = problem.succs(*block).get(*next as usize) else {
                sequence.push(*block);
                self.walk.pop();
                continue;
            };
            *next += 1;
            let to = problem.edge(edge).to;
            if !std::mem::replace(&mut is_seen[to.index()], true) {
                self.walk.push((to, 0));
            }
        }
    }
}

/// Queries.
impl LinearOrder {
    /// Returns the number of blocks.
    pub fn num_blocks(&self) -> usize {
        self.blocks.len()
    }

    /// Returns the indices of all blocks.
    pub fn indices(&self) -> impl DoubleEndedIterator<Item = BlockIndex> + ExactSizeIterator + use<> {
        BlockIndex(0).up_to(BlockIndex(self.blocks.len() as u32))
    }

    /// Returns all blocks by [`BlockIndex`].
    pub fn blocks(&self) -> &PrimaryMap<BlockIndex, OrderedBlock> {
        &self.blocks
    }

    /// Returns a block.
    #[inline]
    pub fn block(&self, index: BlockIndex) -> &OrderedBlock {
        &self.blocks[index]
    }

    /// Returns the index of a block, which must be in the order.
    #[inline]
    pub fn index(&self, block: Block) -> BlockIndex {
        let index = self.indices[block];
        debug_assert!(index.is_some(), "{block} is not in the order");
        index.expand().unwrap_or(BlockIndex(0))
    }

    /// Returns the index of the block that holds a position.
    pub fn index_at(&self, position: Position) -> BlockIndex {
        self.block_at[position.index()]
    }

    /// Returns the block that holds a position.
    #[inline]
    pub fn block_at(&self, position: Position) -> &OrderedBlock {
        self.block(self.index_at(position))
    }

    /// Returns the instruction at a position. At a head, this is the first instruction of the block.
    #[inline]
    pub fn inst_at(&self, position: Position) -> Inst {
        let block = self.block_at(position);
        block.inst(position.max(block.head.next()))
    }

    /// Returns the frequency of the block that holds a position.
    #[inline]
    pub fn freq_at(&self, position: Position) -> Freq {
        self.block_at(position).freq
    }

    /// Returns the number of positions.
    pub fn num_positions(&self) -> usize {
        self.blocks.values().next_back().map_or(0, |block| block.end.index())
    }

    /// Returns the first point after all blocks.
    pub fn stop(&self) -> ProgPoint {
        ProgPoint::before(Position::new(self.num_positions() as u32))
    }

    /// Returns all loops.
    pub fn loops(&self) -> &PrimaryMap<LoopId, Loop> {
        &self.loops
    }

    /// Returns the innermost loop around a block, then the loops around that.
    #[inline]
    pub fn loops_around(&self, index: BlockIndex) -> impl Iterator<Item = &Loop> {
        let mut id = self.blocks[index].innermost;
        std::iter::from_fn(move || {
            let l = &self.loops[id.expand()?];
            id = l.parent;
            Some(l)
        })
    }

    /// Returns the loop whose header is the block.
    pub fn loop_of_header(&self, index: BlockIndex) -> Option<&Loop> {
        self.last_back_edge(index)?;
        self.loops_around(index).next()
    }

    /// Returns the points of a loop.
    pub fn loop_points(&self, l: &Loop) -> PointRange {
        let stop = self.blocks.get(l.end).map_or(self.stop(), |block| block.start());
        PointRange::new(self.blocks[l.header].start(), stop)
    }

    /// Returns `true` if an edge leads back to the block.
    pub fn is_header(&self, index: BlockIndex) -> bool {
        self.last_back_edge(index).is_some()
    }

    /// Returns the last source of an edge back to the block.
    #[inline]
    pub fn last_back_edge(&self, index: BlockIndex) -> Option<BlockIndex> {
        self.last_back[index.index()].expand()
    }

    /// Returns `true` if every block but the first has a predecessor before it. Then all dominators of a block also
    /// precede it.
    pub fn is_forward(&self) -> bool {
        self.is_forward
    }

    /// Returns `true` if every loop is entered at its header only.
    pub fn is_reducible(&self) -> bool {
        self.loops.values().all(|l| l.entries == Entries::Header)
    }

    /// Returns the order divided into ranges of blocks, each with an exclusive end: an outermost loop, several
    /// loops that overlap, or a block in no loop.
    pub fn outermost_ranges(&self) -> impl Iterator<Item = (BlockIndex, BlockIndex)> {
        let mut first = BlockIndex(0);
        std::iter::from_fn(move || {
            let start = first;
            self.blocks.get(start)?;
            let mut end = start.next();
            while first < end {
                end = self.last_back_edge(first).map_or(end, |last| end.max(last.next()));
                first = first.next();
            }
            Some((start, end))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kingpost_regalloc::{ClobberId, InstFlags};

    /// Returns a problem of blocks with one instruction each, in the given order and with the given edges.
    fn problem(order: &[u32], edges: &[(u32, u32)]) -> Problem {
        let mut p = Problem::default();
        for _ in order {
            p.begin_block(Freq::ENTRY, &[]);
            p.push_inst(InstFlags::BRANCH, ClobberId::NONE);
        }
        for &(from, to) in edges {
            p.add_edge(Block::from_u32(from), Block::from_u32(to), Freq::ENTRY, &[], &[]);
        }
        p.order.extend(order.iter().map(|&block| Block::from_u32(block)));
        p.finish();
        p
    }

    fn build(order: &[u32], edges: &[(u32, u32)]) -> LinearOrder {
        let mut result = LinearOrder::default();
        result.build(&problem(order, edges)).expect("few blocks");
        result
    }

    /// Returns header, end, parent and entries of each loop.
    fn loops(order: &LinearOrder) -> Vec<(u32, u32, Option<u32>, Entries)> {
        let text = |l: &Loop| (l.header.as_u32(), l.end.as_u32(), l.parent.expand().map(LoopId::as_u32), l.entries);
        order.loops().values().map(text).collect()
    }

    #[test]
    fn positions_follow_the_order() {
        let order = build(&[0, 2, 1], &[(0, 2), (2, 1)]);
        let block = order.block(order.index(Block::from_u32(1)));
        assert_eq!((block.head, block.end, block.num_insts()), (Position::new(4), Position::new(6), 1));
        assert_eq!(block.inst(block.terminator()), Inst::from_u32(1));
        assert_eq!(block.position(Inst::from_u32(1)), Position::new(5));
        assert_eq!(block.points().to_string(), "4..6");
        assert_eq!(order.block_at(Position::new(3)).block, Block::from_u32(2));
        assert_eq!([4, 5].map(|at| order.inst_at(Position::new(at))), [Inst::from_u32(1); 2]);
        assert_eq!((order.num_positions(), order.stop()), (6, block.stop()));
    }

    #[test]
    fn loops_nest() {
        let order = build(&[0, 1, 2, 3, 4], &[(0, 1), (1, 2), (2, 2), (2, 3), (3, 1), (3, 4)]);
        assert_eq!(loops(&order), [(1, 4, None, Entries::Header), (2, 3, Some(0), Entries::Header)]);
        let around: Vec<u32> = order.loops_around(BlockIndex(2)).map(|l| l.header.as_u32()).collect();
        assert_eq!(around, [2, 1]);
        let points = order.loops().values().map(|l| order.loop_points(l).to_string());
        assert_eq!(points.collect::<Vec<_>>(), ["2..8", "4..6"]);
        assert!(order.is_header(BlockIndex(2)) && !order.is_header(BlockIndex(3)));
        assert!(order.loop_of_header(BlockIndex(3)).is_none());
        assert!(order.is_forward() && order.is_reducible());
        let ranges: Vec<_> = order.outermost_ranges().map(|(first, end)| (first.0, end.0)).collect();
        assert_eq!(ranges, [(0, 1), (1, 4), (4, 5)]);
    }

    #[test]
    fn an_edge_into_the_middle_of_a_loop_is_an_entry() {
        let order = build(&[0, 1, 2], &[(0, 1), (0, 2), (1, 2), (2, 1)]);
        assert_eq!(loops(&order), [(1, 3, None, Entries::JoinPoints)]);
        assert!(!order.is_reducible());
        // Block 3 is inside the range of the loop and has one predecessor, which is outside.
        let order = build(&[0, 1, 3, 2], &[(0, 1), (0, 3), (1, 2), (2, 1)]);
        assert_eq!(loops(&order), [(1, 4, None, Entries::Anywhere)]);
    }

    #[test]
    fn overlapping_loops_are_one_range() {
        let order = build(&[0, 1, 2, 3, 4], &[(0, 1), (1, 2), (2, 3), (3, 1), (3, 4), (4, 2)]);
        let ranges: Vec<_> = order.outermost_ranges().map(|(first, end)| (first.0, end.0)).collect();
        assert_eq!(ranges, [(0, 1), (1, 5)]);
    }

    #[test]
    fn an_order_that_is_not_forward_is_replaced_by_a_reverse_post_order() {
        let p = problem(&[0, 2, 1], &[(0, 1), (1, 2)]);
        let mut order = LinearOrder::default();
        order.build(&p).expect("few blocks");
        assert!(!order.is_forward());
        order.build_forward(&p).expect("few blocks");
        assert!(order.is_forward());
        let blocks: Vec<u32> = order.blocks().values().map(|block| block.block.as_u32()).collect();
        assert_eq!(blocks, [0, 1, 2]);
    }
}
