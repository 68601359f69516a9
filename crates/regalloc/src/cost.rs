//! One price for the answers of all allocators, so that allocators can be compared.
//!
//! The cost is the sum of frequency × price over these items: each edit; each original move or rematerializable
//! instruction that is kept; and the jump of each block that held only a jump before it got edits. Each
//! callee-saved register in use adds its price at entry frequency. An original move has the price of the equivalent
//! edit. An operand that an instruction reads or writes in memory costs nothing here.

use crate::allocation::{Allocation, EditKind, Loc};
use crate::entities::{Block, Inst};
use crate::env::{Costs, MachineEnv};
use crate::problem::{Freq, InstFlags, Problem};
use cranelift_entity::EntityRef;
use std::fmt;

/// Cost of an allocation: the weighted price, and unweighted counts.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Cost {
    /// Σ frequency × price, in halves of a load, with [`Freq::FRACTION_BITS`] fractional bits.
    pub weighted: u128,
    /// Stores to slots.
    pub spills: u64,
    /// Loads from slots.
    pub fills: u64,
    /// Register moves.
    pub moves: u64,
    /// Exchanges of two registers.
    pub exchanges: u64,
    /// Values computed by rematerializable instructions, original or repeated.
    pub remats: u64,
    /// Moves from slot to slot.
    pub slot_moves: u64,
    /// Blocks of a single jump that got edits.
    pub edge_blocks: u64,
    /// Callee-saved registers in use.
    pub callee_saved: u64,
}

impl Cost {
    /// Returns the cost of an answer to `problem` on `env`.
    pub fn of(problem: &Problem, env: &MachineEnv, allocation: &Allocation) -> Cost {
        let mut cost = Cost::default();
        let costs = &env.costs;
        let mut edits = allocation.edits.iter().peekable();
        for block in problem.blocks() {
            let freq = problem.freq(block);
            let mut has_edits = false;
            for inst in problem.insts(block) {
                while let Some(edit) = edits.next_if(|edit| edit.at <= inst) {
                    has_edits = true;
                    cost.add_edit(costs, freq, &edit.kind);
                }
                if !allocation.is_dropped(inst) {
                    cost.add_inst(costs, freq, problem, allocation, inst);
                }
            }
            if has_edits && is_jump(problem, block) {
                cost.edge_blocks += 1;
                cost.add(freq, costs.edge_block);
            }
        }
        cost.callee_saved = allocation.saved.len() as u64;
        for _ in 0..cost.callee_saved {
            cost.add(Freq::ENTRY, costs.callee_saved);
        }
        cost
    }

    /// Returns the weighted price in loads.
    pub fn loads(&self) -> f64 {
        self.weighted as f64 / 2.0 / f64::from(1 << Freq::FRACTION_BITS)
    }

    fn add(&mut self, freq: Freq, price: u32) {
        self.weighted += u128::from(freq.0) * u128::from(price);
    }

    fn add_edit(&mut self, costs: &Costs, freq: Freq, kind: &EditKind) {
        let (count, price) = match kind {
            EditKind::Move { .. } => (&mut self.moves, costs.mov),
            EditKind::Exchange { .. } => (&mut self.exchanges, costs.exchange),
            EditKind::Spill { .. } => (&mut self.spills, costs.spill),
            EditKind::Fill { .. } => (&mut self.fills, costs.fill),
            EditKind::SlotMove { .. } => (&mut self.slot_moves, costs.slot_move),
            EditKind::Remat { .. } => (&mut self.remats, costs.remat),
        };
        *count += 1;
        self.add(freq, price);
    }

    /// Adds the cost of an original instruction that is kept.
    fn add_inst(&mut self, costs: &Costs, freq: Freq, problem: &Problem, allocation: &Allocation, inst: Inst) {
        let flags = problem.flags(inst);
        if flags.has(InstFlags::REMAT) {
            self.remats += 1;
            self.add(freq, costs.remat);
        }
        if !flags.has(InstFlags::MOVE) {
            return;
        }
        let loc = |def: bool| {
            let index = problem.operand_range(inst).find(|&i| problem.all_operands()[i].is_def() == def);
            index.and_then(|i| allocation.locs.get(i)).copied().unwrap_or(Loc::NONE)
        };
        let (from, to) = (loc(false), loc(true));
        let (count, price) = match (from.as_slot(), to.as_slot()) {
            (None, None) => (&mut self.moves, costs.mov),
            (None, Some(_)) => (&mut self.spills, costs.spill),
            (Some(_), None) => (&mut self.fills, costs.fill),
            (Some(_), Some(_)) => (&mut self.slot_moves, costs.slot_move),
        };
        *count += 1;
        self.add(freq, price);
    }
}

/// Returns `true` if the block consists of a jump alone, so that it vanishes unless it gets edits.
fn is_jump(problem: &Problem, block: Block) -> bool {
    let mut insts = problem.insts(block);
    let bare = insts.len() == 1 && insts.all(|inst| problem.operands(inst).is_empty());
    bare && block.index() != 0 && problem.succs(block).len() == 1
}

/// Text form: `4.5 loads (2 spills, 1 fills, 3 moves, 0 exchanges, 0 remats, 0 slot moves, 1 edge blocks, 0 saved)`.
impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} loads (", self.loads())?;
        write!(f, "{} spills, {} fills, {} moves, ", self.spills, self.fills, self.moves)?;
        write!(f, "{} exchanges, {} remats, {} slot moves, ", self.exchanges, self.remats, self.slot_moves)?;
        write!(f, "{} edge blocks, {} saved)", self.edge_blocks, self.callee_saved)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text;

    #[track_caller]
    fn check(solution: &str, want: &str) {
        let problem = "problem %f {
            v0, v1, v2: int 8
            b0:
            i0: def v0
            i1: remat def v1
            i2: move use v0, def v2
            i3: branch -> b1 freq 0.5, b2 freq 0.5
            b1 freq 0.5:
            i4: branch -> b3
            b2 freq 0.5:
            i5: branch -> b3
            b3 freq 10:
            i6: branch use v1
            }\n";
        let file = text::parse(&format!("{problem}allocation {{\n{solution}\n}}\n")).unwrap();
        let case = &file.cases[0];
        let cost = Cost::of(&case.problem, &MachineEnv::simple(4, 0), case.allocation.as_ref().unwrap());
        assert_eq!(cost.to_string(), want);
    }

    #[test]
    fn edits_are_weighted_by_frequency() {
        let locs = "slots s0: 8\ni0: r0\ni2: r0, r1\n";
        let none = "1 loads (0 spills, 0 fills, 1 moves, 0 exchanges, 1 remats, 0 slot moves, 0 edge blocks, 0 saved)";
        check(locs, none);
        let dropped = "i1 dropped: none\ni2 dropped: r0, r0\nsaved {r3}";
        let saved = "2 loads (0 spills, 0 fills, 0 moves, 0 exchanges, 0 remats, 0 slot moves, 0 edge blocks, 1 saved)";
        check(dropped, saved);
        // 1 as above, 1 spill, half a fill in an edge block with half a jump, ten rematerializations at a half.
        let edits = "before i2: spill r0 -> s0 8\nbefore i5: fill s0 -> r0 8\nbefore i6: remat i1 -> r2";
        let all = "8 loads (1 spills, 1 fills, 1 moves, 0 exchanges, 2 remats, 0 slot moves, 1 edge blocks, 0 saved)";
        check(&format!("{locs}{edits}"), all);
    }
}
