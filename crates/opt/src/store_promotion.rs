//! Store promotion: what each round of a loop stores to one place stays in a register, and is stored after the loop.
//!
//! ```text
//!   jump block1(v1)                          v9 = load.i64 notrap region0 v0
//! block1(v2: i64):                           jump block1(v1, v9)
//!   v3 = load.i64 notrap region0 v0        block1(v2: i64, v10: i64):
//!   v4 = iadd v3, v2                         v4 = iadd v10, v2
//!   store notrap region0 v4, v0              v5 = iadd_imm v2, -1
//!   v5 = iadd_imm v2, -1                     brif v5, block1(v5, v4), block2
//!   brif v5, block1(v5), block2            block2:
//! block2:                                    store notrap region0 v4, v0
//! ```
//!
//! Part of the pass [`crate::code_motion`], before it. Needs the [`Analyses`], which stay valid. The function uses no aliases
//! before, and may afterwards.
//!
//! Nothing else may see the memory while the loop runs: the loop has no inner loop, calls, traps, fences or atomic accesses. No
//! other access in it may be to the same bytes, by its alias region, except for loads of the same place before the store. Each
//! round stores before it can leave the loop, so that no path stores what it did not store before. Cost: linear in instructions,
//! and at most [`MAX_ACCESSES`] squared in the accesses of a loop.

use kingpost_ir::analyses::Analyses;
use kingpost_ir::cfg::Predecessor;
use kingpost_ir::loops::Loop;
use kingpost_ir::memflags::MemFlags;
use kingpost_ir::{Block, Function, Inst, InstData, Opcode, Type, Value};
use kingpost_meter::heap_bytes;
use smallvec::SmallVec;

use crate::affine::is_outside;
use crate::counters::make;
use crate::induction::{only_edge_back, own_arguments};
use crate::invariant_loads::entry;
use crate::loop_exits::exits;
use crate::memory::{ANY, region};
use crate::purity::{Purity, purity};

/// Maximum number of loads and stores of a loop.
const MAX_ACCESSES: usize = 16;

/// Memory of the pass.
#[derive(Default, Debug)]
pub(crate) struct StorePromotion {
    /// Blocks in loops, by their innermost loops.
    blocks: Vec<(Loop, Block)>,
    /// Loads and stores of one loop.
    accesses: Vec<(Inst, Block)>,
}

heap_bytes!(StorePromotion { blocks, accesses });

/// A loop whose store can be promoted.
struct Place<'a> {
    of: Loop,
    entry: Block,
    back: Predecessor,
    exits: &'a [Block],
}

impl StorePromotion {
    /// Runs the pass. Returns `true` if it has changed the function.
    pub(crate) fn run(&mut self, func: &mut Function, analyses: &Analyses) -> bool {
        self.blocks.clear();
        // In an irreducible cycle, a block may run several times in a round.
        if analyses.loops.loops().next().is_none() || analyses.loops.has_irreducible_cycles() {
            return false;
        }
        for &block in analyses.dominators.preorder() {
            self.blocks.extend(analyses.loops.innermost_loop(block).map(|of| (of, block)));
        }
        self.blocks.sort_by_key(|each| each.0);
        let mut is_changed = false;
        let mut first = 0;
        while let Some(&(of, _)) = self.blocks.get(first) {
            let end = first + self.blocks[first..].partition_point(|each| each.0 == of);
            let blocks: SmallVec<[Block; 8]> = self.blocks[first..end].iter().map(|each| each.1).collect();
            first = end;
            // Otherwise there are inner loops.
            if blocks.len() == analyses.loops.num_blocks(of) as usize {
                is_changed |= self.visit(func, analyses, of, &blocks).is_some();
            }
        }
        is_changed
    }

    /// Promotes the stores of a loop of these blocks. Returns `None` if there is none to promote.
    fn visit(&mut self, func: &mut Function, analyses: &Analyses, of: Loop, blocks: &[Block]) -> Option<()> {
        self.find_accesses(func, blocks)?;
        let entry = entry(func, analyses, of)?;
        let back = only_edge_back(func, analyses, analyses.loops.header(of))?;
        let mut is_changed = false;
        let exits = exits(func, analyses, of, blocks)?;
        let place = Place { of, entry, back, exits: &exits };
        for index in 0..self.accesses.len() {
            let (inst, block) = self.accesses[index];
            if self.is_promotable(func, analyses, blocks, &place, inst, block) {
                self.promote(func, analyses, &place, inst);
                is_changed = true;
            }
        }
        is_changed.then_some(())
    }

    /// Finds the accesses of a loop. Returns `None` if it does something else that others may see, or has no store.
    fn find_accesses(&mut self, func: &Function, blocks: &[Block]) -> Option<()> {
        self.accesses.clear();
        let mut has_store = false;
        for &block in blocks {
            for inst in func.layout.block_insts(block) {
                let data = func.dfg.inst(inst);
                match purity(data.opcode()) {
                    Purity::Pure | Purity::Constant | Purity::PureMany => {}
                    kind @ (Purity::Load | Purity::Store) => {
                        let is_safe = data.memflags().is_some_and(|flags| flags.notrap());
                        if !is_safe || self.accesses.len() == MAX_ACCESSES {
                            return None;
                        }
                        has_store |= kind == Purity::Store;
                        self.accesses.push((inst, block));
                    }
                    Purity::Effect if matches!(data.opcode(), Opcode::Jump | Opcode::Brif) => {}
                    Purity::Trap | Purity::Local | Purity::Effect => return None,
                }
            }
        }
        has_store.then_some(())
    }

    fn is_promotable(
        &self,
        func: &Function,
        analyses: &Analyses,
        blocks: &[Block],
        place: &Place<'_>,
        store: Inst,
        block: Block,
    ) -> bool {
        let Some(to) = stored_place(func, store) else { return false };
        let dominates = |other: &Block| analyses.dominators.dominates(block, *other);
        let leaves = |other: &&Block| {
            let last = func.layout.last_inst(**other);
            let dests = last.map_or(&[][..], |last| func.dfg.branch_destinations(last));
            dests.iter().any(|dest| !analyses.loops.contains(place.of, dest.block))
        };
        // All ways out, too, lead to blocks that only the loop leads to.
        let is_own = |dest: Block| place.exits.contains(&dest) || analyses.loops.contains(place.of, dest);
        let lasts = || blocks.iter().filter_map(|&block| func.layout.last_inst(block));
        let all_own = lasts().flat_map(|last| func.dfg.branch_destinations(last)).all(|dest| is_own(dest.block));
        let others = self.accesses.iter().filter(|each| each.0 != store && func.layout.inst_block(each.0).is_some());
        all_own
            && !place.exits.is_empty()
            && is_outside(func, analyses, place.of, to.addr)
            && dominates(&place.back.block)
            && blocks.iter().filter(leaves).all(dominates)
            && others.clone().all(|&(other, of)| {
                !overlaps(func, store, other)
                    || loaded_place(func, other) == Some(to)
                        && (of != block && analyses.dominators.dominates(of, block)
                            || of == block && func.layout.seq(other) < func.layout.seq(store))
            })
    }

    /// Keeps what a store stores in a parameter of the header, and stores it after the loop.
    fn promote(&self, func: &mut Function, analyses: &Analyses, place: &Place<'_>, store: Inst) {
        let Some(to) = stored_place(func, store) else { return };
        self.replace_loads(func, analyses, place, to, func.dfg.inline_arg(store, 0));
        let location = func.srcloc(store);
        func.layout.remove_inst(store);
        let data = *func.dfg.inst(store);
        let stores =
            place.exits.iter().filter_map(|&exit| func.layout.first_inst(exit)).collect::<SmallVec<[Inst; 4]>>();
        for first in stores {
            let copy = func.dfg.make_inst(data);
            func.layout.insert_inst(copy, first);
            if !location.is_none() {
                func.set_srcloc(copy, location);
            }
        }
    }

    /// Makes a parameter of the header what a loop loads before it stores `value`.
    fn replace_loads(&self, func: &mut Function, analyses: &Analyses, place: &Place<'_>, to: Bytes, value: Value) {
        let accesses = self.accesses.iter().map(|each| each.0);
        let is_load = |&inst: &Inst| func.layout.inst_block(inst).is_some() && loaded_place(func, inst) == Some(to);
        let loads: SmallVec<[Inst; 4]> = accesses.filter(is_load).collect();
        let header = analyses.loops.header(place.of);
        let Some(last) = func.layout.last_inst(place.entry).filter(|_| !loads.is_empty()) else { return };
        own_arguments(func, analyses, header);
        let load = InstData::load(Opcode::Load, to.ty, to.flags, to.addr, to.offset);
        let first = make(func, last, load, to.ty);
        let param = func.dfg.append_block_param(header, to.ty);
        func.dfg.append_block_arg(last, 0, first.into());
        func.dfg.append_block_arg(place.back.inst, place.back.edge as usize, value.into());
        for load in loads {
            func.layout.remove_inst(load);
            if let Some(result) = func.dfg.first_result(load) {
                // Cannot fail: the target is a new parameter.
                let _ = func.dfg.change_to_alias(result, param);
            }
        }
    }
}

/// Bytes of memory, and how they are accessed.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Bytes {
    addr: Value,
    offset: i32,
    ty: Type,
    flags: MemFlags,
}

/// Returns what a `store` writes.
fn stored_place(func: &Function, inst: Inst) -> Option<Bytes> {
    if func.dfg.opcode(inst) != Opcode::Store {
        return None;
    }
    let (flags, addr, offset) = func.dfg.store_parts(inst);
    let ty = func.dfg.value_type(func.dfg.inline_arg(inst, 0));
    Some(Bytes { addr: func.dfg.resolve_aliases(addr), offset, ty, flags })
}

/// Returns what a `load` reads.
fn loaded_place(func: &Function, inst: Inst) -> Option<Bytes> {
    if func.dfg.opcode(inst) != Opcode::Load {
        return None;
    }
    let (flags, addr, offset) = func.dfg.load_parts(inst);
    Some(Bytes { addr: func.dfg.resolve_aliases(addr), offset, ty: func.dfg.ctrl_type(inst), flags })
}

/// Returns `true` if two accesses may be to the same bytes.
fn overlaps(func: &Function, x: Inst, y: Inst) -> bool {
    let [x, y] = [x, y].map(|inst| func.dfg.inst(inst).memflags().map_or(ANY, region));
    x == ANY || y == ANY || x == y
}
