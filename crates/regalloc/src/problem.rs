//! Allocation problems: the blocks, edges, instructions and operands of one function, as a structure of arrays.
//!
//! The rules of a problem are numbered and checked in [`Problem::verify`]. The most important ones are these.
//! Blocks own consecutive instruction ranges. Every value is defined once, by an operand or as a block parameter.
//! No edge is critical. Only a block with a single successor passes arguments. The branch of a block that passes
//! arguments or leads to a join (a block with several predecessors) is a bare jump. A terminator may define values,
//! each on the one edge that lists it, and such an edge leads to a block without other predecessors. A def of a
//! terminator that no edge lists is a temporary.
//!
//! Function parameters are defs of an ordinary instruction at the head of the entry block, fixed to the registers of
//! the calling convention; an incoming stack argument is a rematerializable load.

use crate::entities::{Block, ClobberId, Edge, Inst, RegSetId, VReg};
use crate::operand::{Demands, Operand};
use crate::reg::{PReg, PRegSet, RegClass};
use cranelift_entity::{EntityRef, PrimaryMap};
use kingpost_meter::heap_bytes;
use std::fmt;
use std::ops::Range;

/// Frequency of a block or an edge per call of the function: fixed point with 16 fractional bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Freq(pub u64);

impl Freq {
    /// Number of fractional bits.
    pub const FRACTION_BITS: u32 = 16;
    /// The frequency of the entry block.
    pub const ENTRY: Freq = Freq(1 << Self::FRACTION_BITS);
    /// The largest frequency (2^24 runs per call), so that sums over 2^24 edits fit in 64 bits.
    pub const MAX: Freq = Freq(1 << (Self::FRACTION_BITS + 24));
}

/// Text form: an exact decimal with as many digits as needed.
impl fmt::Display for Freq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fraction = self.0 & ((1 << Self::FRACTION_BITS) - 1);
        write!(f, "{}", self.0 >> Self::FRACTION_BITS)?;
        if fraction == 0 {
            return Ok(());
        }
        // 2^-16 has sixteen decimal digits after the point.
        let digits = format!("{:016}", fraction * 5u64.pow(Self::FRACTION_BITS));
        write!(f, ".{}", digits.trim_end_matches('0'))
    }
}

/// Facts about a value that an allocator receives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VRegData {
    /// Class of the registers that can hold it.
    pub class: RegClass,
    /// Size in bytes that a spill must keep; [`RegClass::has_width`] holds.
    pub width: u8,
    /// Whether it holds a reference that the garbage collector must find at safepoints.
    pub is_ref: bool,
}

/// Registers an instruction destroys.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Clobbers {
    /// Registers that lose all bytes.
    pub lost: PRegSet,
    /// Registers that lose all but the low `kept_bytes` bytes (v8–v15 of AAPCS64 keep 8, xmm6–15 of Windows x64
    /// keep 16). The callers of the function must expect no more than these bytes; otherwise the registers are
    /// `lost`.
    pub partial: PRegSet,
    /// Number of low bytes of the `partial` registers that survive.
    pub kept_bytes: u8,
}

impl Clobbers {
    /// Creates clobbers that destroy all of the given registers.
    pub fn lost(lost: PRegSet) -> Clobbers {
        Clobbers { lost, ..Clobbers::default() }
    }

    /// Returns `true` if a value of `width` bytes is destroyed in `reg`.
    pub fn kills(&self, reg: PReg, width: u8) -> bool {
        self.lost.contains(reg) || (self.partial.contains(reg) && width > self.kept_bytes)
    }

    /// Returns the registers in which a value of `width` bytes is destroyed.
    pub fn killed(&self, width: u8) -> PRegSet {
        if width > self.kept_bytes { self.lost.union(self.partial) } else { self.lost }
    }
}

/// Properties of an instruction beyond its operands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct InstFlags(u8);

impl InstFlags {
    /// No property.
    pub const NONE: InstFlags = InstFlags(0);
    /// A copy of its one use into its one def. It may be dropped when both share a location.
    pub const MOVE: InstFlags = InstFlags(1);
    /// The collector may run here: references that are live across it must be in slots that the stack map names.
    pub const SAFEPOINT: InstFlags = InstFlags(2);
    /// Has one def, no use and no effect, and may run again anywhere: a constant or an address.
    pub const REMAT: InstFlags = InstFlags(4);
    /// Ends its block.
    pub const BRANCH: InstFlags = InstFlags(8);

    /// Returns both sets of flags.
    #[must_use]
    pub const fn and(self, other: InstFlags) -> InstFlags {
        InstFlags(self.0 | other.0)
    }

    /// Returns `true` if all flags of `other` are set.
    pub const fn has(self, other: InstFlags) -> bool {
        self.0 & other.0 == other.0
    }
}

/// Demands of an instruction beyond a register for each operand. Each class allows all that its predecessors allow.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum OperandClass {
    /// Only [plain](Operand::is_plain) operands, no clobbers, no safepoint, and no results of a branch.
    Plain,
    /// Uses may be in memory or anywhere, and one late def may take over the location of a use.
    Tied,
    /// Any other instruction.
    Constrained,
}

impl OperandClass {
    /// Returns the class of an instruction.
    #[inline]
    pub fn of(flags: InstFlags, clobbers: ClobberId, operands: &[Operand]) -> OperandClass {
        InstData { operands: 0, bits: InstData::bits(flags, clobbers, demands(operands)) }.operand_class()
    }
}

#[derive(Clone, Copy, Debug)]
struct InstData {
    /// Start of its operands, which end at the start of the next instruction's operands.
    operands: u32,
    /// Clobber id in the upper 24 bits, [`TIED`] or [`CONSTRAINED`], flags in the lower 4.
    bits: u32,
}

const TIED: u32 = 1 << 4;
const CONSTRAINED: u32 = 1 << 5;

impl InstData {
    /// Returns the entry that ends the operands of the last instruction.
    fn end(operands: u32) -> InstData {
        InstData { operands, bits: 0 }
    }

    fn bits(flags: InstFlags, clobbers: ClobberId, demands: Demands) -> u32 {
        let is_constrained = clobbers != ClobberId::NONE
            || flags.has(InstFlags::SAFEPOINT)
            || flags.has(InstFlags::BRANCH) && demands.has(Demands::DEF)
            || demands.has(Demands::MORE);
        let tied = if demands.has(Demands::TIE) || demands.has(Demands::MEMORY) { TIED } else { 0 };
        let class = if is_constrained { CONSTRAINED } else { tied };
        clobbers.as_u32() << 8 | class | u32::from(flags.0)
    }

    fn flags(self) -> InstFlags {
        InstFlags((self.bits & 15) as u8)
    }

    fn operand_class(self) -> OperandClass {
        // A table, because a comparison would be made for each instruction.
        const CLASSES: [OperandClass; 4] =
            [OperandClass::Plain, OperandClass::Tied, OperandClass::Constrained, OperandClass::Constrained];
        CLASSES[(self.bits / TIED % 4) as usize]
    }

    fn clobbers(self) -> ClobberId {
        ClobberId::from_u32(self.bits >> 8)
    }
}

/// Returns the demands of all operands of an instruction.
#[inline]
fn demands(operands: &[Operand]) -> Demands {
    operands.iter().fold(Demands::NOTHING, |demands, operand| demands.and(operand.demands()))
}

/// An instruction as [`Problem::walk`] visits it.
#[derive(Clone, Debug)]
pub struct Step {
    /// The instruction.
    pub inst: Inst,
    /// Its flags.
    pub flags: InstFlags,
    /// Demands of its operands.
    pub operand_class: OperandClass,
    /// Registers that it clobbers.
    pub clobbers: ClobberId,
    /// Indices of its operands.
    pub operands: Range<usize>,
}

impl Step {
    #[inline]
    fn new(inst: Inst, data: InstData, next: InstData) -> Step {
        Step {
            inst,
            flags: data.flags(),
            operand_class: data.operand_class(),
            clobbers: data.clobbers(),
            operands: data.operands as usize..next.operands as usize,
        }
    }
}

/// A range of one of the pools.
#[derive(Clone, Copy, Default, Debug)]
struct Span {
    start: u32,
    end: u32,
}

impl Span {
    fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

#[derive(Clone, Copy, Debug)]
struct BlockData {
    insts: Span,
    params: Span,
    succs: Span,
    preds: Span,
    freq: Freq,
}

/// One control-flow edge.
#[derive(Clone, Copy, Debug)]
pub struct EdgeData {
    /// Predecessor.
    pub from: Block,
    /// Successor.
    pub to: Block,
    /// Frequency of the edge.
    pub freq: Freq,
    args: Span,
    defs: Span,
}

impl EdgeData {
    /// Returns `true` if the edge passes arguments or results of the terminator.
    pub fn passes_values(&self) -> bool {
        self.args.start != self.args.end || self.defs.start != self.defs.end
    }
}

/// A request of debug information: `label` is the value of `vreg` over the instructions `from..to`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LabelUse {
    /// The label, which allocators do not interpret.
    pub label: u32,
    /// The value it names.
    pub vreg: VReg,
    /// First instruction before which the request applies.
    pub from: Inst,
    /// First instruction before which it no longer applies.
    pub to: Inst,
}

/// An allocation problem. See the module documentation for its shape and [`Problem::verify`] for its rules.
///
/// A problem is built forwards: values, then per block its parameters and instructions between
/// [`Problem::begin_block`] and the next, then edges, then [`Problem::finish`]. A client that produces instructions
/// in reverse order adds them all by [`Problem::prepend_inst`], then [reverses them](Problem::reverse), then
/// adds the blocks by [`Problem::add_block`]. A problem can be cleared and used again.
#[derive(Clone, Debug)]
pub struct Problem {
    /// The function's name, for messages and the text form.
    pub name: String,
    /// All values.
    pub vregs: PrimaryMap<VReg, VRegData>,
    /// Blocks in the order in which allocators visit them: the entry first, each loop contiguous.
    pub order: Vec<Block>,
    /// Requests of debug information.
    pub labels: Vec<LabelUse>,
    /// Entries by instruction. One further entry ends the operands of the last instruction.
    insts: Vec<InstData>,
    operands: Vec<Operand>,
    blocks: PrimaryMap<Block, BlockData>,
    edges: PrimaryMap<Edge, EdgeData>,
    vreg_pool: Vec<VReg>,
    succ_pool: Vec<Edge>,
    pred_pool: Vec<Edge>,
    clobbers: PrimaryMap<ClobberId, Clobbers>,
    reg_sets: PrimaryMap<RegSetId, PRegSet>,
}

heap_bytes!(Problem {
    name,
    vregs,
    order,
    labels,
    insts,
    operands,
    blocks,
    edges,
    vreg_pool,
    succ_pool,
    pred_pool,
    clobbers,
    reg_sets
});

impl Default for Problem {
    fn default() -> Problem {
        let mut clobbers = PrimaryMap::new();
        clobbers.push(Clobbers::default());
        Problem {
            name: String::new(),
            vregs: PrimaryMap::new(),
            order: Vec::new(),
            labels: Vec::new(),
            insts: vec![InstData::end(0)],
            operands: Vec::new(),
            blocks: PrimaryMap::new(),
            edges: PrimaryMap::new(),
            vreg_pool: Vec::new(),
            succ_pool: Vec::new(),
            pred_pool: Vec::new(),
            clobbers,
            reg_sets: PrimaryMap::new(),
        }
    }
}

/// Building.
impl Problem {
    /// Clears the problem and keeps its memory. Interned clobbers and register subsets stay, because they belong to
    /// the target.
    pub fn clear(&mut self) {
        self.name.clear();
        self.vregs.clear();
        self.order.clear();
        self.labels.clear();
        self.insts.clear();
        self.insts.push(InstData::end(0));
        self.operands.clear();
        self.blocks.clear();
        self.edges.clear();
        self.vreg_pool.clear();
        self.succ_pool.clear();
        self.pred_pool.clear();
    }

    /// Adds a value.
    #[inline]
    pub fn add_vreg(&mut self, class: RegClass, width: u8, is_ref: bool) -> VReg {
        self.vregs.push(VRegData { class, width, is_ref })
    }

    /// Interns a clobber description.
    pub fn intern_clobbers(&mut self, clobbers: Clobbers) -> ClobberId {
        match self.clobbers.iter().find(|&(_, c)| *c == clobbers) {
            Some((id, _)) => id,
            None => self.clobbers.push(clobbers),
        }
    }

    /// Interns a register subset.
    pub fn intern_reg_set(&mut self, set: PRegSet) -> RegSetId {
        match self.reg_sets.iter().find(|&(_, s)| *s == set) {
            Some((id, _)) => id,
            None => self.reg_sets.push(set),
        }
    }

    /// Starts the next block, to which the following instructions belong. The first block is the entry.
    pub fn begin_block(&mut self, freq: Freq, params: &[VReg]) -> Block {
        let at = self.num_insts() as u32;
        self.add_block(freq, params, at..at)
    }

    /// Adds an operand to the instruction that the next [`Problem::push_inst`] completes.
    pub fn push_operand(&mut self, operand: Operand) {
        self.operands.push(operand);
    }

    /// Adds operands to the instruction that the next [`Problem::push_inst`] completes.
    #[inline]
    pub fn push_operands(&mut self, operands: &[Operand]) {
        // Nearly always one to three: too few for a call of `memcpy` to pay off.
        operands.iter().for_each(|&operand| self.operands.push(operand));
    }

    /// Completes an instruction of the current block from the operands pushed since the last one.
    ///
    /// # Panics
    /// If no block was begun.
    #[inline]
    pub fn push_inst(&mut self, flags: InstFlags, clobbers: ClobberId) -> Inst {
        let inst = self.num_insts();
        let data = &mut self.insts[inst];
        data.bits = InstData::bits(flags, clobbers, demands(&self.operands[data.operands as usize..]));
        self.insts.push(InstData::end(self.operands.len() as u32));
        let block = self.blocks.last_mut().expect("an instruction needs a block").1;
        block.insts.end = inst as u32 + 1;
        Inst::new(inst)
    }

    /// Adds the operands of the instruction that the next [`Problem::prepend_inst`] completes, before all operands
    /// added so far. Returns their demands.
    #[inline]
    pub fn prepend_operands(&mut self, operands: &[Operand]) -> Demands {
        self.operands.extend(operands.iter().rev());
        operands.iter().fold(Demands::default(), |demands, operand| demands.and(operand.demands()))
    }

    /// Completes an instruction before all instructions added so far. `demands` are the demands of its operands.
    /// Returns `true` if the instruction may read, modify and write a slot.
    #[inline]
    pub fn prepend_inst(&mut self, flags: InstFlags, clobbers: ClobberId, demands: Demands) -> bool {
        // Until they are reversed, instructions record the end of their operands instead of the start.
        let bits = InstData::bits(flags, clobbers, demands);
        self.insts.push(InstData { operands: self.operands.len() as u32, bits });
        demands.has(Demands::RMW)
    }

    /// Reverses the last `count` instructions added by [`Problem::prepend_inst`], which were added in the order of
    /// the code.
    pub fn reverse_tail(&mut self, count: usize) {
        let first = self.insts.len() - count;
        let (start, end) = (self.insts[first - 1].operands, self.operands.len() as u32);
        // Each instruction gets the end that its operands will have.
        for index in (first..self.insts.len()).rev() {
            self.insts[index].operands = start + end - self.insts[index - 1].operands;
        }
        self.insts[first..].reverse();
        self.operands[start as usize..].reverse();
        let mut start = start;
        for inst in &self.insts[first..] {
            self.operands[start as usize..inst.operands as usize].reverse();
            start = inst.operands;
        }
    }

    /// Reverses the instructions added by [`Problem::prepend_inst`] into the order of the code.
    pub fn reverse(&mut self) {
        let all = self.operands.len() as u32;
        self.operands.reverse();
        self.insts.reverse();
        for inst in &mut self.insts {
            inst.operands = all - inst.operands;
        }
    }

    /// Adds a block of existing instructions. Blocks are added in order.
    pub fn add_block(&mut self, freq: Freq, params: &[VReg], insts: Range<u32>) -> Block {
        let params = self.pool_vregs(params);
        let insts = Span { start: insts.start, end: insts.end };
        self.blocks.push(BlockData { insts, params, succs: Span::default(), preds: Span::default(), freq })
    }

    /// Changes the constraints of an instruction's operands, and sets its flags to the result of `change`.
    pub fn change_inst(
        &mut self,
        inst: Inst,
        change: impl FnOnce(&PrimaryMap<VReg, VRegData>, &mut [Operand], InstFlags) -> InstFlags,
    ) {
        let range = self.operand_range(inst);
        let (data, operands) = (&mut self.insts[inst.index()], &mut self.operands[range]);
        let flags = change(&self.vregs, operands, data.flags());
        data.bits = InstData::bits(flags, data.clobbers(), demands(operands));
    }

    /// Adds an edge. `args` are passed to the parameters of `to`; `defs` are the terminator's results that exist
    /// only on this edge. The order of these calls is the order of a block's successors.
    pub fn add_edge(&mut self, from: Block, to: Block, freq: Freq, args: &[VReg], defs: &[VReg]) -> Edge {
        let (args, defs) = (self.pool_vregs(args), self.pool_vregs(defs));
        self.edges.push(EdgeData { from, to, freq, args, defs })
    }

    /// Completes the problem: sorts the edges into successor and predecessor lists. An empty `order` becomes the
    /// order of creation.
    pub fn finish(&mut self) {
        if self.order.is_empty() {
            self.order.extend(self.blocks.keys());
        }
        let blocks = &mut self.blocks;
        sort_edges(&self.edges, blocks, &mut self.succ_pool, |e| e.from, |b| &mut b.succs);
        sort_edges(&self.edges, blocks, &mut self.pred_pool, |e| e.to, |b| &mut b.preds);
    }

    fn pool_vregs(&mut self, vregs: &[VReg]) -> Span {
        let start = self.vreg_pool.len() as u32;
        // Nearly always none to three: too few for a call of `memcpy` to pay off.
        vregs.iter().for_each(|&vreg| self.vreg_pool.push(vreg));
        Span { start, end: self.vreg_pool.len() as u32 }
    }
}

/// Sorts all edges by one of their ends into `pool` by counting, and sets the span of each block.
fn sort_edges(
    edges: &PrimaryMap<Edge, EdgeData>,
    blocks: &mut PrimaryMap<Block, BlockData>,
    pool: &mut Vec<Edge>,
    end: impl Fn(&EdgeData) -> Block,
    span: impl Fn(&mut BlockData) -> &mut Span,
) {
    for block in blocks.values_mut() {
        *span(block) = Span::default();
    }
    for edge in edges.values() {
        if let Some(block) = blocks.get_mut(end(edge)) {
            span(block).end += 1;
        }
    }
    let mut start = 0;
    for block in blocks.values_mut() {
        let s = span(block);
        let len = s.end;
        *s = Span { start, end: start };
        start += len;
    }
    pool.clear();
    pool.resize(start as usize, Edge::from_u32(0));
    for (id, edge) in edges.iter() {
        if let Some(block) = blocks.get_mut(end(edge)) {
            let s = span(block);
            pool[s.end as usize] = id;
            s.end += 1;
        }
    }
}

/// Queries.
impl Problem {
    /// Returns the entry block.
    ///
    /// # Panics
    /// If there is no block.
    pub fn entry(&self) -> Block {
        assert!(!self.blocks.is_empty(), "a problem has an entry block");
        Block::from_u32(0)
    }

    /// Returns the number of blocks.
    pub fn num_blocks(&self) -> usize {
        self.blocks.len()
    }

    /// Returns the number of instructions.
    pub fn num_insts(&self) -> usize {
        self.insts.len() - 1
    }

    /// Returns the number of operands of all instructions together.
    pub fn num_operands(&self) -> usize {
        self.operands.len()
    }

    /// Returns the number of edges.
    pub fn num_edges(&self) -> usize {
        self.edges.len()
    }

    /// Returns the work of one walk over the problem in work units: its instructions, operands, blocks, edges, and values
    /// that edges and blocks list.
    pub fn size(&self) -> u64 {
        let lists = self.blocks.len() + self.edges.len() + self.vreg_pool.len();
        (self.num_insts() + self.num_operands() + lists) as u64
    }

    /// Returns all blocks in order of creation.
    pub fn blocks(&self) -> impl DoubleEndedIterator<Item = Block> + ExactSizeIterator + use<> {
        (0..self.blocks.len() as u32).map(Block::from_u32)
    }

    /// Returns all edges in order of creation.
    pub fn edges(&self) -> impl DoubleEndedIterator<Item = Edge> + ExactSizeIterator + use<> {
        (0..self.edges.len() as u32).map(Edge::from_u32)
    }

    /// Returns the instructions of a block, in order; the last one is its terminator.
    #[inline]
    pub fn insts(&self, block: Block) -> impl DoubleEndedIterator<Item = Inst> + ExactSizeIterator + use<> {
        let span = self.blocks[block].insts;
        (span.start..span.end).map(Inst::from_u32)
    }

    /// Returns the instructions of a block in order, each with the facts that allocators read first.
    #[inline]
    pub fn walk(&self, block: Block) -> impl DoubleEndedIterator<Item = Step> + ExactSizeIterator {
        let span = self.blocks[block].insts;
        let pairs = self.insts[span.start as usize..=span.end as usize].windows(2);
        pairs.zip(span.start..span.end).map(|(pair, inst)| Step::new(Inst::from_u32(inst), pair[0], pair[1]))
    }

    /// Returns an instruction in the form of [`Problem::walk`]. A function that is called for few instructions
    /// takes an [`Inst`] and calls this, so that the common path keeps no step in memory.
    #[inline]
    pub fn step(&self, inst: Inst) -> Step {
        let pair = &self.insts[inst.index()..inst.index() + 2];
        Step::new(inst, pair[0], pair[1])
    }

    /// Returns the first instruction of a block.
    #[inline]
    pub fn first_inst(&self, block: Block) -> Inst {
        Inst::from_u32(self.blocks[block].insts.start)
    }

    /// Returns the last instruction of a block.
    ///
    /// # Panics
    /// If the first block is empty; a verified problem has no empty block.
    #[inline]
    pub fn terminator(&self, block: Block) -> Inst {
        Inst::from_u32(self.blocks[block].insts.end - 1)
    }

    /// Returns the parameters of a block.
    #[inline]
    pub fn params(&self, block: Block) -> &[VReg] {
        &self.vreg_pool[self.blocks[block].params.range()]
    }

    /// Returns the frequency of a block.
    #[inline]
    pub fn freq(&self, block: Block) -> Freq {
        self.blocks[block].freq
    }

    /// Returns the edges out of a block, in the order of its terminator.
    #[inline]
    pub fn succs(&self, block: Block) -> &[Edge] {
        &self.succ_pool[self.blocks[block].succs.range()]
    }

    /// Returns the edges into a block.
    #[inline]
    pub fn preds(&self, block: Block) -> &[Edge] {
        &self.pred_pool[self.blocks[block].preds.range()]
    }

    /// Returns the data of an edge.
    #[inline]
    pub fn edge(&self, edge: Edge) -> &EdgeData {
        &self.edges[edge]
    }

    /// Returns the values that an edge passes, one per parameter of its target.
    #[inline]
    pub fn edge_args(&self, edge: Edge) -> &[VReg] {
        &self.vreg_pool[self.edges[edge].args.range()]
    }

    /// Returns the results of the predecessor's terminator that exist only on this edge.
    #[inline]
    pub fn edge_defs(&self, edge: Edge) -> &[VReg] {
        &self.vreg_pool[self.edges[edge].defs.range()]
    }

    /// Returns the indices of an instruction's operands in the operand array, and therefore in
    /// [`Allocation::locs`](crate::Allocation).
    #[inline]
    pub fn operand_range(&self, inst: Inst) -> Range<usize> {
        let pair = &self.insts[inst.index()..inst.index() + 2];
        pair[0].operands as usize..pair[1].operands as usize
    }

    /// Returns the operands of an instruction.
    #[inline]
    pub fn operands(&self, inst: Inst) -> &[Operand] {
        &self.operands[self.operand_range(inst)]
    }

    /// Returns the operands of all instructions, instruction by instruction.
    pub fn all_operands(&self) -> &[Operand] {
        &self.operands
    }

    /// Returns the flags of an instruction.
    pub fn flags(&self, inst: Inst) -> InstFlags {
        self.insts[inst.index()].flags()
    }

    /// Returns the demands of an instruction beyond a register for each operand.
    pub fn operand_class(&self, inst: Inst) -> OperandClass {
        self.insts[inst.index()].operand_class()
    }

    /// Returns `true` if the instruction has no operands and no clobbers, and is no safepoint. Edits before it then
    /// have the effect of edits after it.
    pub fn is_bare(&self, inst: Inst) -> bool {
        self.operands(inst).is_empty()
            && *self.clobbers(inst) == Clobbers::default()
            && !self.flags(inst).has(InstFlags::SAFEPOINT)
    }

    /// Returns the id of an instruction's clobbers.
    pub fn clobber_id(&self, inst: Inst) -> ClobberId {
        self.insts[inst.index()].clobbers()
    }

    /// Returns the clobbers of an instruction.
    #[inline]
    pub fn clobbers(&self, inst: Inst) -> &Clobbers {
        &self.clobbers[self.clobber_id(inst)]
    }

    /// Returns all interned clobber descriptions, beginning with the empty one.
    pub fn all_clobbers(&self) -> &PrimaryMap<ClobberId, Clobbers> {
        &self.clobbers
    }

    /// Returns a register subset.
    #[inline]
    pub fn reg_set(&self, set: RegSetId) -> PRegSet {
        self.reg_sets[set]
    }

    /// Returns all interned register subsets.
    pub fn all_reg_sets(&self) -> &PrimaryMap<RegSetId, PRegSet> {
        &self.reg_sets
    }

    /// Returns the class of a value.
    #[inline]
    pub fn class(&self, vreg: VReg) -> RegClass {
        self.vregs[vreg].class
    }

    /// Returns the width of a value in bytes.
    #[inline]
    pub fn width(&self, vreg: VReg) -> u8 {
        self.vregs[vreg].width
    }

    /// Returns the block whose instruction range holds `inst`, by binary search over the ranges.
    pub fn block_of(&self, inst: Inst) -> Block {
        let (mut low, mut high) = (0, self.blocks.len());
        while high - low > 1 {
            let mid = (low + high) / 2;
            if self.blocks[Block::new(mid)].insts.start <= inst.as_u32() { low = mid } else { high = mid }
        }
        Block::new(low)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_added_last_ones_first_come_in_order() {
        let mut problem = Problem::default();
        let v: Vec<VReg> = (0..3).map(|_| problem.add_vreg(RegClass::Int, 8, false)).collect();
        let (define, reuse) = ([Operand::reg_def(v[0])], Operand::reuse_def(v[1], 1));
        let tied = [reuse.with_rmw(), Operand::mem_ok_use(v[0]), Operand::reg_use(v[2])];
        let last = [Operand::reg_use(v[1]), Operand::fixed_use(v[0], PReg::int(0))];
        let mut prepend = |flags, operands: &[Operand]| {
            let demands = problem.prepend_operands(operands);
            problem.prepend_inst(flags, ClobberId::NONE, demands)
        };
        assert!(!prepend(InstFlags::BRANCH, &last));
        // A group of two instructions, in their order.
        assert!(!prepend(InstFlags::REMAT, &define));
        assert!(prepend(InstFlags::NONE, &tied));
        problem.reverse_tail(2);
        problem.reverse();
        let block = problem.add_block(Freq::ENTRY, &[], 0..3);
        let insts: Vec<Inst> = problem.insts(block).collect();
        assert_eq!(insts.iter().map(|&inst| problem.operands(inst)).collect::<Vec<_>>(), [&define[..], &tied, &last]);
        let classes = [OperandClass::Plain, OperandClass::Tied, OperandClass::Constrained];
        assert_eq!(insts.iter().map(|&inst| problem.operand_class(inst)).collect::<Vec<_>>(), classes);
        let flags = [InstFlags::REMAT, InstFlags::NONE, InstFlags::BRANCH];
        assert_eq!(insts.iter().map(|&inst| problem.flags(inst)).collect::<Vec<_>>(), flags);
        // An operand that may not be in a slot is no longer tied to one.
        problem.change_inst(insts[1], |_, operands, flags| {
            operands[0] = Operand::reg_def(v[1]);
            operands[1] = Operand::reg_use(v[0]);
            flags
        });
        assert_eq!(problem.operand_class(insts[1]), OperandClass::Plain);
    }
}
