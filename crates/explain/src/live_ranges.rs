//! Live ranges of values in locations, from the allocation alone.
//!
//! The contents of a location are live before an instruction if the instruction reads them, or if they are live after
//! it and it does not write them. A backward walk over instructions and edits computes them, like the liveness of
//! variables. A use of `v` in a location makes `v` live there before it. An edit moves the name from its destination
//! to its source. A parameter of a block has the name of its argument in a predecessor. The walk is iterated to a
//! fixed point over the blocks; the sets only grow.
//!
//! Ranges are in half rows: row `r` of a listing covers `2r..2r+2`, and its instruction is at `2r+1`.

use crate::rows::{Move, Row, RowKind};
use cranelift_entity::EntityRef;
use kingpost_regalloc::{Allocation, Block, EditKind, Inst, InstFlags, Loc, Problem, VReg};
use std::collections::BTreeMap;

/// A range in which a value is in a location.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct LiveRange {
    /// Location.
    pub loc: Loc,
    /// The first half row.
    pub from: u32,
    /// One past the last half row.
    pub to: u32,
    /// The value.
    pub vreg: VReg,
}

/// The live contents of locations at one point of a backward walk.
#[derive(Default)]
struct Contents {
    /// Value of each location, and the end of its range.
    held: BTreeMap<Loc, (VReg, u32)>,
    at: u32,
    ended: Vec<LiveRange>,
}

/// Returns the live ranges of `allocation`, whose listing is `rows`. Records in the listing the moves of each edit.
pub(crate) fn live_ranges(problem: &Problem, allocation: &Allocation, rows: &mut [Row]) -> Vec<LiveRange> {
    let live_in = live_in(problem, allocation);
    let mut contents = Contents::default();
    let mut end = rows.len();
    let heads: Vec<(usize, Block)> = rows
        .iter()
        .enumerate()
        .filter_map(|(index, row)| if let RowKind::Block(block) = row.kind { Some((index, block)) } else { None })
        .collect();
    for &(head, block) in heads.iter().rev() {
        // Rows after the last block are not part of it.
        while matches!(rows[end - 1].kind, RowKind::Frame) && end - 1 > head {
            end -= 1;
        }
        contents.at = 2 * end as u32;
        live_out(problem, block, &live_in, &mut contents);
        let edits = allocation.edits.partition_point(|edit| edit.at <= problem.terminator(block));
        let mut edits = allocation.edits[..edits].iter().rev();
        for (index, row) in (head..end).zip(rows[head..end].iter_mut()).rev() {
            contents.at = 2 * index as u32 + 1;
            match row.kind {
                RowKind::Inst { inst, .. } => contents.inst(problem, allocation, inst),
                RowKind::Edit(_) => row.moves = edits.next().map(|edit| contents.edit(&edit.kind)).unwrap_or_default(),
                _ => {}
            }
        }
        contents.at = 2 * head as u32;
        while let Some((&loc, _)) = contents.held.first_key_value() {
            contents.end(loc);
        }
        end = head;
    }
    joined(contents.ended)
}

/// Returns the values in locations at the start of each block.
fn live_in(problem: &Problem, allocation: &Allocation) -> Vec<BTreeMap<Loc, VReg>> {
    let mut live_in = vec![BTreeMap::new(); problem.num_blocks()];
    let mut waiting: Vec<Block> = problem.blocks().collect();
    let mut is_waiting = vec![true; problem.num_blocks()];
    let mut contents = Contents::default();
    while let Some(block) = waiting.pop() {
        is_waiting[block.index()] = false;
        contents.held.clear();
        contents.ended.clear();
        live_out(problem, block, &live_in, &mut contents);
        let last = allocation.edits.partition_point(|edit| edit.at <= problem.terminator(block));
        let mut edits = allocation.edits[..last].iter().rev().peekable();
        for inst in problem.insts(block).rev() {
            contents.inst(problem, allocation, inst);
            while let Some(edit) = edits.next_if(|edit| edit.at == inst) {
                contents.edit(&edit.kind);
            }
        }
        let known = &mut live_in[block.index()];
        let before = known.len();
        for (&loc, &(vreg, _)) in &contents.held {
            known.entry(loc).or_insert(vreg);
        }
        if known.len() == before {
            continue;
        }
        for pred in problem.preds(block).iter().map(|&edge| problem.edge(edge).from) {
            if !std::mem::replace(&mut is_waiting[pred.index()], true) {
                waiting.push(pred);
            }
        }
    }
    live_in
}

/// Adds the values that the successors of a block need.
fn live_out(problem: &Problem, block: Block, live_in: &[BTreeMap<Loc, VReg>], contents: &mut Contents) {
    for &edge in problem.succs(block) {
        let to = problem.edge(edge).to;
        let params = problem.params(to);
        for (&loc, &vreg) in &live_in[to.index()] {
            let param = params.iter().position(|&param| param == vreg);
            contents.begin(loc, param.map_or(vreg, |param| problem.edge_args(edge)[param]));
        }
    }
}

impl Contents {
    /// Records that the location holds a value before this point.
    fn begin(&mut self, loc: Loc, vreg: VReg) {
        self.held.entry(loc).or_insert((vreg, self.at));
    }

    /// Records that the contents of the location are not live before this point.
    fn end(&mut self, loc: Loc) -> Option<VReg> {
        let (vreg, to) = self.held.remove(&loc)?;
        self.ended.push(LiveRange { loc, from: self.at, to, vreg });
        Some(vreg)
    }

    fn inst(&mut self, problem: &Problem, allocation: &Allocation, inst: Inst) {
        let places = || problem.operands(inst).iter().zip(allocation.operand_locs(problem, inst));
        for (operand, &loc) in places().filter(|(operand, loc)| operand.is_def() && !loc.is_none()) {
            if self.end(loc).is_none() {
                // A result that is never read.
                self.ended.push(LiveRange { loc, from: self.at, to: self.at + 1, vreg: operand.vreg() });
            }
        }
        if allocation.is_dropped(inst) && !problem.flags(inst).has(InstFlags::MOVE) {
            return;
        }
        for (operand, &loc) in places().filter(|(operand, loc)| operand.is_use() && !loc.is_none()) {
            self.begin(loc, operand.vreg());
        }
    }

    /// Processes an edit, and returns its moves.
    fn edit(&mut self, kind: &EditKind) -> Vec<Move> {
        let mut pass = |from: Option<Loc>, to: Loc| {
            let vreg = self.end(to);
            if let (Some(from), Some(vreg)) = (from, vreg) {
                self.begin(from, vreg);
            }
            vec![Move { vreg, from, to }]
        };
        match *kind {
            EditKind::Move { from, to, .. } => pass(Some(Loc::reg(from)), Loc::reg(to)),
            EditKind::Spill { from, to, .. } => pass(Some(Loc::reg(from)), Loc::slot(to)),
            EditKind::Fill { from, to, .. } => pass(Some(Loc::slot(from)), Loc::reg(to)),
            EditKind::SlotMove { from, to, .. } => pass(Some(Loc::slot(from)), Loc::slot(to)),
            EditKind::Remat { to, .. } => pass(None, Loc::reg(to)),
            EditKind::Exchange { a, b, .. } => {
                let (a, b) = (Loc::reg(a), Loc::reg(b));
                let (in_a, in_b) = (self.end(a), self.end(b));
                in_b.into_iter().for_each(|vreg| self.begin(a, vreg));
                in_a.into_iter().for_each(|vreg| self.begin(b, vreg));
                vec![Move { vreg: in_b, from: Some(a), to: b }, Move { vreg: in_a, from: Some(b), to: a }]
            }
        }
    }
}

/// Returns the ranges with adjacent ones joined.
fn joined(mut ranges: Vec<LiveRange>) -> Vec<LiveRange> {
    ranges.retain(|range| range.from < range.to);
    ranges.sort_unstable();
    let mut out: Vec<LiveRange> = Vec::new();
    for range in ranges {
        match out.last_mut() {
            Some(last) if (last.loc, last.vreg, last.to) == (range.loc, range.vreg, range.from) => last.to = range.to,
            _ => out.push(range),
        }
    }
    out
}
