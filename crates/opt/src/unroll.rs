//! Unrolling: an inner loop with a few rounds, whose number is known, becomes these rounds, one after the other.
//!
//! ```text
//!   v1 = iconst.i32 0                        v3 = load.i32 v0
//!   v2 = iconst.i32 0                        v6 = load.i32 v0+4
//!   jump block1(v1, v2)                      v9 = iadd v3, v6
//! block1(v4: i64, v5: i32):                  return v9
//!   v6 = iadd v0, v4
//!   v7 = load.i32 v6
//!   v8 = iadd v5, v7
//!   v9 = iadd_imm v4, 4
//!   v10 = icmp_imm eq v9, 8
//!   brif v10, block2, block1(v9, v8)
//! block2:
//!   return v8
//! ```
//!
//! Needs the [`Analyses`], and leaves nothing of them valid if it changes the function, which may use aliases before and after.
//! The copies are as the body was: later passes compute what is constant in them.
//!
//! The body itself becomes the last round, because its values are used after the loop. A loop that can
//! also be left in another place passes its values on ([`crate::loop_exits`]). Calls are not copied.
//!
//! Cost: linear. The function at most doubles.

use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;
use kingpost_ir::analyses::Analyses;
use kingpost_ir::cfg::Predecessor;
use kingpost_ir::frequencies::Frequencies;
use kingpost_ir::loops::Loop;
use kingpost_ir::{Block, BlockArg, BlockCall, Function, Inst, InstData, InstView, Opcode, Value};
use kingpost_meter::heap_bytes;
use smallvec::SmallVec;

use crate::induction::only_edge_back;
use crate::loop_exits::LoopExits;
use crate::purity::{Purity, purity};
use crate::trip_count::TripCount;

/// Maximum number of instructions of all copies of a loop, without jumps and what is constant in each round.
const MAX_COPIED: usize = 80;
/// Maximum number of blocks of a loop.
const MAX_BLOCKS: u32 = 8;
/// Number of instructions by which a function may grow, even if it is shorter.
const SMALL: usize = 256;

/// A loop that can be unrolled.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    of: Loop,
    trip: TripCount,
    back: Predecessor,
}

/// Memory of the pass.
#[derive(Default, Debug)]
pub(crate) struct Unroll {
    /// By loop: whether it contains another one.
    has_inner: SecondaryMap<Loop, bool>,
    exits: LoopExits,
    /// Loops that are to be unrolled.
    chosen: Vec<Candidate>,
    /// Headers that blocks of unrolled loops lead to: the edges to them in `Analyses` are old.
    stale: Vec<Block>,
    /// By value: the number of its uses, up to 255. Empty if not computed.
    uses: Vec<u8>,
    /// Blocks of a loop, in an order in which definitions precede uses.
    blocks: Vec<Block>,
    /// By value and by block of a loop: the copy in the round that is being made.
    values: SecondaryMap<Value, PackedOption<Value>>,
    copies: SecondaryMap<Block, PackedOption<Block>>,
    /// Whether short code is preferred to fast code: then nothing is copied.
    pub(crate) prefers_size: bool,
}

heap_bytes!(Unroll { has_inner, exits, chosen, stale, uses, blocks, values, copies } without { prefers_size });

impl Unroll {
    /// Returns the number of instructions by which a function may grow.
    pub(crate) fn growth(func: &Function) -> usize {
        func.dfg.num_insts().max(SMALL)
    }

    /// Runs the pass. Returns `true` if it has changed the function. The function may grow by `left` instructions, and
    /// `left` becomes what remains.
    pub(crate) fn run(&mut self, func: &mut Function, analyses: &Analyses, left: &mut usize) -> bool {
        if analyses.loops.loops().next().is_none() || func.dfg.has_handler_addresses() {
            return false;
        }
        self.has_inner.clear();
        for each in analyses.loops.loops() {
            if let Some(parent) = analyses.loops.parent(each) {
                self.has_inner[parent] = true;
            }
        }
        self.choose(func, analyses, left);
        self.stale.clear();
        for index in 0..self.chosen.len() {
            let candidate = self.chosen[index];
            self.find_blocks(func, analyses, candidate.of);
            self.unroll(func, analyses, candidate);
        }
        !self.chosen.is_empty()
    }

    /// Chooses the loops, before the first one changes.
    fn choose(&mut self, func: &mut Function, analyses: &Analyses, left: &mut usize) {
        self.exits.clear();
        self.chosen.clear();
        self.uses.clear();
        for each in analyses.loops.loops() {
            if let Some((candidate, copied)) = self.candidate(func, analyses, each)
                && copied <= *left
                && (self.leaves_once(func, analyses, each) || self.exits.close(func, analyses, each, &self.blocks))
            {
                *left -= copied;
                self.chosen.push(candidate);
            }
        }
    }

    /// Returns a loop that is short enough to be unrolled, and the number of instructions that are copied, with those that
    /// become constants. Leaves its blocks in `blocks`.
    fn candidate(&mut self, func: &Function, analyses: &Analyses, of: Loop) -> Option<(Candidate, usize)> {
        let header = analyses.loops.header(of);
        if self.has_inner[of] || analyses.loops.num_blocks(of) > MAX_BLOCKS {
            return None;
        }
        let back = only_edge_back(func, analyses, header)?;
        let trip = TripCount::of(func, analyses, of, back)?;
        let is_short = self.prefers_size || func.layout.is_cold(header);
        if is_short && trip.rounds > 1 {
            return None;
        }
        self.find_blocks(func, analyses, of);
        if self.uses.is_empty() {
            self.uses.resize(func.dfg.num_values(), 0);
            func.dfg.count_uses(&func.layout, &mut self.uses);
        }
        let [all, remaining] = self.size(func, &trip)?.map(|size| (trip.rounds - 1) * size);
        (remaining <= MAX_COPIED).then_some((Candidate { of, trip, back }, all))
    }

    /// Finds the blocks of a loop.
    fn find_blocks(&mut self, func: &Function, analyses: &Analyses, each: Loop) {
        self.blocks.clear();
        self.blocks.push(analyses.loops.header(each));
        let mut next = 0;
        while let Some(&block) = self.blocks.get(next) {
            next += 1;
            let Some(last) = func.layout.last_inst(block) else { continue };
            for dest in func.dfg.branch_destinations(last) {
                if analyses.loops.contains(each, dest.block) && !self.blocks.contains(&dest.block) {
                    self.blocks.push(dest.block);
                }
            }
        }
        self.blocks.sort_unstable_by_key(|&block| analyses.dominators.preorder_number(block));
    }

    /// Returns the number of instructions in the blocks, and of those that remain in a copy. `None` if one cannot be copied.
    fn size(&self, func: &Function, trip: &TripCount) -> Option<[usize; 2]> {
        let [mut all, mut remaining] = [0, 0];
        for inst in self.blocks.iter().flat_map(|&block| func.layout.block_insts(block)) {
            let opcode = func.dfg.opcode(inst);
            let is_branch = matches!(opcode, Opcode::Jump | Opcode::Brif);
            if opcode.is_call() || opcode.is_terminator() && !is_branch || func.debug_tags.contains_key(&inst) {
                return None;
            }
            let vanishes =
                opcode == Opcode::Jump || inst == trip.exit || trip.is_known(func, inst) || self.is_unused(func, inst);
            all += 1;
            remaining += usize::from(!vanishes);
        }
        Some([all, remaining])
    }

    /// Returns `true` if an instruction takes no code: a constant, or an operation without effect that nothing uses.
    fn is_unused(&self, func: &Function, inst: Inst) -> bool {
        let is_used = |value: &Value| self.uses.get(value.as_u32() as usize).is_none_or(|&uses| uses > 0);
        match purity(func.dfg.opcode(inst)) {
            Purity::Constant => true,
            Purity::Pure | Purity::PureMany => !func.dfg.inst_results(inst).iter().any(is_used),
            Purity::Trap | Purity::Load | Purity::Store | Purity::Local | Purity::Effect => false,
        }
    }

    /// Returns `true` if a single edge leads out of the loop.
    fn leaves_once(&self, func: &Function, analyses: &Analyses, each: Loop) -> bool {
        let lasts = self.blocks.iter().filter_map(|&block| func.layout.last_inst(block));
        let dests = lasts.flat_map(|last| func.dfg.branch_destinations(last));
        dests.filter(|dest| !analyses.loops.contains(each, dest.block)).count() == 1
    }

    /// Replaces a loop whose blocks are in `blocks` by its rounds, unless an unrolled loop leads to it.
    fn unroll(&mut self, func: &mut Function, analyses: &Analyses, Candidate { of, trip, back }: Candidate) {
        let header = analyses.loops.header(of);
        if self.stale.contains(&header) {
            return;
        }
        self.scale_frequencies(func, trip.rounds);
        let mut next = header;
        for _ in 1..trip.rounds {
            next = self.copy_round(func, header, next, trip);
        }
        for pred in analyses.cfg.preds(header).iter().filter(|&pred| *pred != back) {
            func.dfg.set_destination(pred.inst, pred.edge as usize, next);
        }
        for &block in &self.blocks {
            let Some(last) = func.layout.last_inst(block) else { continue };
            self.stale.extend(func.dfg.branch_destinations(last).iter().map(|dest| dest.block));
        }
        let leave = func.dfg.branch_destinations(trip.exit)[1 - trip.stay];
        let jump = func.dfg.jump_data(leave);
        func.dfg.replace_inst(trip.exit, jump);
        self.forget(func);
    }

    /// Divides the frequencies that a client gave. Blocks that are cold remain so, and no others become cold.
    fn scale_frequencies(&self, func: &mut Function, rounds: usize) {
        for &block in &self.blocks {
            if let Some(frequency) = func.layout.frequency(block).filter(|&frequency| frequency > Frequencies::RARE) {
                func.layout.set_frequency(block, (frequency / rounds as u32).max(Frequencies::RARE + 1));
            }
        }
    }

    /// Makes a copy of the blocks before the block `next`, which is the header of the next round. Returns its header.
    fn copy_round(&mut self, func: &mut Function, header: Block, next: Block, trip: TripCount) -> Block {
        for index in 0..self.blocks.len() {
            let block = self.blocks[index];
            let copy = func.dfg.make_block();
            func.layout.insert_block(copy, next);
            if let Some(frequency) = func.layout.frequency(block) {
                func.layout.set_frequency(copy, frequency);
            }
            self.copies[block] = copy.into();
            let params: SmallVec<[Value; 8]> = func.dfg.block_params(block).into();
            for param in params {
                let copied = func.dfg.append_block_param(copy, func.dfg.value_type(param));
                self.define(func, param, copied);
            }
        }
        let first = self.copies[header].expect("the header is one of the blocks");
        // The edge back leads to the next round.
        self.copies[header] = next.into();
        for index in 0..self.blocks.len() {
            let block = self.blocks[index];
            let copy = if block == header { first } else { self.copies[block].expect("made above") };
            let insts: SmallVec<[Inst; 16]> = func.layout.block_insts(block).collect();
            insts.into_iter().for_each(|inst| self.copy(func, inst, copy, trip));
        }
        first
    }

    /// Appends the copy of an instruction to a block. The branch that ends the loop becomes a jump.
    fn copy(&mut self, func: &mut Function, inst: Inst, to: Block, trip: TripCount) {
        let data = match func.dfg.view(inst) {
            InstView::Brif { .. } if inst == trip.exit => {
                let stay = self.block_call(func, func.dfg.branch_destinations(inst)[trip.stay]);
                func.dfg.jump_data(stay)
            }
            InstView::Jump { dest } => {
                let dest = self.block_call(func, dest);
                func.dfg.jump_data(dest)
            }
            InstView::Brif { cond, then_dest, else_dest } => {
                let cond = self.value(func, cond);
                let [then_dest, else_dest] = [then_dest, else_dest].map(|dest| self.block_call(func, dest));
                func.dfg.brif_data(cond, then_dest, else_dest)
            }
            _ => self.data(func, inst),
        };
        let copied = func.dfg.make_inst(data);
        func.layout.append_inst(copied, to);
        let location = func.srcloc(inst);
        if !location.is_none() {
            func.set_srcloc(copied, location);
        }
        let results: SmallVec<[Value; 2]> = func.dfg.inst_results(inst).into();
        for result in results {
            let value = func.dfg.append_result(copied, func.dfg.value_type(result));
            self.define(func, result, value);
        }
    }

    /// Returns the copy of an instruction that is no branch.
    fn data(&self, func: &Function, inst: Inst) -> InstData {
        let mut data = *func.dfg.inst(inst);
        data.args_mut().iter_mut().for_each(|arg| *arg = self.value(func, *arg));
        data
    }

    fn define(&mut self, func: &mut Function, value: Value, copy: Value) {
        self.values[value] = copy.into();
        if let Some(labels) = func.value_labels.get(&value).cloned() {
            func.value_labels.insert(copy, labels);
        }
    }

    fn block_call(&self, func: &mut Function, call: BlockCall) -> BlockCall {
        let args: SmallVec<[BlockArg; 8]> = func.dfg.block_args(call).into();
        let copied = |arg: BlockArg| arg.value().map_or(arg, |value| self.value(func, value).into());
        let args: SmallVec<[BlockArg; 8]> = args.into_iter().map(copied).collect();
        func.dfg.block_call(self.copies[call.block].expand().unwrap_or(call.block), &args)
    }

    fn value(&self, func: &Function, value: Value) -> Value {
        let value = func.dfg.resolve_aliases(value);
        self.values[value].expand().unwrap_or(value)
    }

    /// Removes the copies of the last round from the tables.
    fn forget(&mut self, func: &Function) {
        for &block in &self.blocks {
            self.copies[block] = None.into();
            let results = func.layout.block_insts(block).flat_map(|inst| func.dfg.inst_results(inst));
            func.dfg.block_params(block).iter().chain(results).for_each(|&value| self.values[value] = None.into());
        }
    }
}
