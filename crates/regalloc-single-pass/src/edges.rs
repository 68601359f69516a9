//! Heads and ends of blocks: which registers they hand on, and the moves on edges.
//!
//! ```text
//! b1: .. branch -> b2 (hot), b3      b2 expects v0 in r0, b3 in r1: at the end of b1 v0 is in r0,
//! b3: (move r1 <- r0) ..             and the head of b3 moves it
//! ```
//!
//! A block's head is what its code expects in registers; parameters have registers or slots there. The head of a loop is chosen
//! before its last block is walked: those of its parameters, and of the values from outside, that are used in it most often.
//! When the walk comes to the header, moves make up the difference. A value that a loop hardly uses is not carried through it
//! in a register: it is filled where the loop is left. A parameter in memory shares its slot with arguments where that is
//! possible, so that the edge moves nothing.

use crate::allocator::Walk;
use crate::constrained::Touched;
use kingpost_regalloc::sort::sort_by_key;
use kingpost_regalloc::{AllocError, Block, Edge, Inst, Loc, Operand, VReg};
use kingpost_regalloc_common::order::{BlockIndex, LoopId};
use kingpost_regalloc_common::preference::{Masks, Reg, regs};
use std::ops::Range;

/// Registers of each class that the head of a loop leaves free.
const RESERVE: u32 = 2;

/// A successor that runs so many times less often than the block gets fills rather than registers.
const RARE: u64 = 8;

/// What blocks have in registers at their heads, parameters apart. Its memory is used again.
#[derive(Default, Debug)]
pub(crate) struct Heads {
    entries: Vec<(Reg, VReg)>,
    /// By block: its entries; none if its head is not known yet.
    of: Vec<Option<(u32, u32)>>,
    /// Scratch: values used in a loop, by weight.
    candidates: Vec<(u64, VReg)>,
}

/// Registers to choose from for the head of a loop.
struct Choice {
    header: BlockIndex,
    free: Masks,
    /// Those that are taken if there is no other.
    avoided: Masks,
    has_calls: bool,
}

impl Heads {
    pub(crate) fn begin(&mut self, blocks: usize) {
        self.entries.clear();
        self.of.clear();
        self.of.resize(blocks, None);
    }

    fn range(&self, index: BlockIndex) -> Option<Range<usize>> {
        self.of[index.as_u32() as usize].map(|(start, end)| start as usize..end as usize)
    }

    fn entries(&self, index: BlockIndex) -> &[(Reg, VReg)] {
        self.range(index).map_or(&[], |range| &self.entries[range])
    }

    /// The entries from `start` on are those of the block.
    fn close(&mut self, index: BlockIndex, start: usize) {
        self.of[index.as_u32() as usize] = Some((start as u32, self.entries.len() as u32));
    }

    /// Keeps the entries of a block for which `keep` holds.
    fn retain(&mut self, index: BlockIndex, keep: impl Fn(VReg) -> bool) {
        let Some(range) = self.range(index) else { return };
        let mut end = range.start;
        for i in range.clone() {
            if keep(self.entries[i].1) {
                self.entries[end] = self.entries[i];
                end += 1;
            }
        }
        self.of[index.as_u32() as usize] = Some((range.start as u32, end as u32));
    }
}

/// Heads.
impl Walk<'_, '_> {
    /// The walk has come to the head of the block.
    pub(crate) fn head(&mut self) -> Result<(), AllocError> {
        let block = self.order.block(self.index).block;
        let first = self.problem.first_inst(block);
        match self.s.heads.range(self.index) {
            Some(_) => self.reconcile(block, first)?,
            None => self.note_head(block, first),
        }
        self.state.clear_registers();
        Ok(())
    }

    /// What is expected in registers now is the block's head.
    fn note_head(&mut self, block: Block, first: Inst) {
        for &param in self.problem.params(block) {
            let reg = self.state.value(param).reg;
            if !reg.is_none() {
                self.store(first, param, reg);
                self.state.value_mut(param).head_reg = reg;
                self.state.release(reg);
            }
        }
        let heads = &mut self.s.heads;
        let start = heads.entries.len();
        heads.entries.extend(self.state.in_registers());
        heads.close(self.index, start);
    }

    /// Moves from the head that was chosen for a loop to what its code expects.
    fn reconcile(&mut self, block: Block, first: Inst) -> Result<(), AllocError> {
        for i in self.s.heads.range(self.index).unwrap_or_default() {
            let (reg, vreg) = self.s.heads.entries[i];
            self.state.value_mut(vreg).entry_reg = reg;
        }
        for &param in self.problem.params(block) {
            let value = self.state.value_mut(param);
            value.entry_reg = value.head_reg;
        }
        let needed = self.state.occupied;
        for reg in needed.iter().enumerate().flat_map(|(class, &mask)| regs(class, mask)) {
            let Some(vreg) = self.state.owner(reg) else { continue };
            let from = self.state.value(vreg).entry_reg;
            if from == reg {
                continue;
            }
            self.add_move(self.register_loc(from), vreg, self.loc(reg));
        }
        for &param in self.problem.params(block) {
            let value = self.state.value(param);
            if !value.head_reg.is_none() && value.is_stored {
                let (from, to) = (self.loc(value.head_reg), self.slot_loc(param));
                self.add_move(Some(from), param, to);
            }
        }
        self.resolve(first, &needed)?;
        let state = &mut *self.state;
        for i in self.s.heads.range(self.index).unwrap_or_default() {
            state.value_mut(self.s.heads.entries[i].1).entry_reg = Reg::NONE;
        }
        self.s.heads.retain(self.index, |vreg| !state.value(vreg).reg.is_none());
        Ok(())
    }

    /// Chooses what a loop has in registers at its header: the parameters and values with the most uses, then values that
    /// pass through. Those that have a register behind the loop keep it; the others take registers that nothing has there
    /// or in the loop around.
    fn choose_head(&mut self, header: BlockIndex) {
        let block = self.order.block(header);
        let Some(id) = block.innermost.expand() else { return };
        let mut choice = Choice {
            header,
            free: self.registers.allocatable,
            avoided: self.registers_around(id),
            has_calls: self.survey.has_calls(id),
        };
        let mut candidates = std::mem::take(&mut self.s.heads.candidates);
        candidates.clear();
        candidates.extend(self.survey.uses(id).map(|entry| (entry.weight, entry.vreg)));
        sort_by_key(&mut candidates, |&(weight, vreg)| (std::cmp::Reverse(weight), vreg));
        self.select(&mut candidates, &choice);
        let start = self.s.heads.entries.len();
        for is_hinted in [true, false] {
            candidates.retain(|&(_, vreg)| match self.loop_register(vreg, &mut choice, is_hinted) {
                Some(reg) => {
                    let value = self.state.value_mut(vreg);
                    value.hint = reg;
                    if value.block == header {
                        value.head_reg = reg;
                    } else {
                        self.s.heads.entries.push((reg, vreg));
                    }
                    false
                }
                None => true,
            });
        }
        for &param in self.problem.params(block.block) {
            let value = self.state.value_mut(param);
            value.is_stored |= value.head_reg.is_none();
        }
        self.s.heads.candidates = candidates;
        self.carry_through(header, id, start, &mut choice);
        self.s.heads.close(header, start);
    }

    /// Keeps as many candidates as there are registers for, from the first on.
    fn select(&self, candidates: &mut Vec<(u64, VReg)>, choice: &Choice) {
        let count = |masks: Masks| masks.map(u64::count_ones);
        let mut left = count(choice.free).map(|free| free.saturating_sub(RESERVE));
        let spare = count(choice.free).map(|free| free / 4);
        let mut saved = count(self.registers.callee_saved);
        candidates.retain(|&(weight, vreg)| {
            let value = self.state.value(vreg);
            let class = value.class();
            let needs_saved = choice.has_calls && value.block != choice.header;
            let is_kept = left[class] > if weight == 0 { spare[class] } else { 0 }
                && !(needs_saved && (saved[class] == 0 || value.is_ref));
            left[class] -= u32::from(is_kept);
            saved[class] = saved[class].saturating_sub(u32::from(is_kept));
            is_kept
        });
    }

    /// Registers that mean something behind a loop, or at the header of the loop around it.
    fn registers_around(&self, id: LoopId) -> Masks {
        let mut masks = Masks::default();
        let parent = self.order.loops()[id].parent.expand().map(|parent| self.order.loops()[parent].header);
        for index in self.survey.exits(id).chain(parent) {
            for &(reg, _) in self.s.heads.entries(index) {
                masks[reg.class()] |= reg.bit();
            }
            for &param in self.problem.params(self.order.block(index).block) {
                let reg = self.state.value(param).head_reg;
                if !reg.is_none() {
                    masks[reg.class()] |= reg.bit();
                }
            }
        }
        masks
    }

    /// Takes a register for a value at the head of a loop: its hint, or any. It is callee-saved if the loop calls; other
    /// registers are for parameters alone then.
    fn loop_register(&self, vreg: VReg, choice: &mut Choice, is_hinted: bool) -> Option<Reg> {
        let value = self.state.value(vreg);
        let class = value.class();
        let free = choice.free[class];
        if is_hinted && value.hint.is_none() {
            return None;
        }
        let saved = self.registers.callee_saved[class];
        let better = free & if choice.has_calls { saved } else { !saved | self.state.used[class] };
        let better = if better == 0 && (value.block == choice.header || !choice.has_calls) { free } else { better };
        let reg = if is_hinted {
            Some(value.hint).filter(|hint| hint.class() == class && better & hint.bit() != 0)?
        } else {
            let apart = better & !choice.avoided[class];
            let best = if apart == 0 { better } else { apart };
            (best != 0).then(|| Reg::new(class, 63 - best.leading_zeros()))?
        };
        choice.free[class] &= !reg.bit();
        Some(reg)
    }

    /// Values that are not used in the loop but behind it pass it in registers, if enough of them are left.
    fn carry_through(&mut self, header: BlockIndex, id: LoopId, start: usize, choice: &mut Choice) {
        for exit in self.survey.exits(id) {
            for i in self.s.heads.range(exit).unwrap_or_default() {
                let (reg, vreg) = self.s.heads.entries[i];
                let value = self.state.value(vreg);
                let class = value.class();
                let is_saved = self.registers.callee_saved[class] & reg.bit() != 0 && !value.is_ref;
                let spare = self.registers.allocatable[class].count_ones() / 4 + 1;
                if choice.free[class].count_ones() > spare
                    && choice.free[class] & reg.bit() != 0
                    && value.block < header
                    && value.remat.is_none()
                    && (is_saved || !choice.has_calls)
                    && !self.s.heads.entries[start..].iter().any(|entry| entry.1 == vreg)
                {
                    choice.free[class] &= !reg.bit();
                    self.s.heads.entries.push((reg, vreg));
                }
            }
        }
    }
}

/// Ends.
impl Walk<'_, '_> {
    /// Notes what the loop around the block has in registers at its header, once that is known.
    pub(crate) fn begin_loop(&mut self) {
        self.state.begin_loop();
        let innermost = self.order.block(self.index).innermost;
        self.innermost = innermost;
        let Some(id) = innermost.expand() else { return };
        let header = self.order.loops()[id].header;
        for &(reg, vreg) in self.s.heads.entries(header) {
            self.state.reside(reg, vreg);
        }
        for &param in self.problem.params(self.order.block(header).block) {
            let reg = self.state.value(param).head_reg;
            if !reg.is_none() {
                self.state.reside(reg, param);
            }
        }
    }

    /// Decides what is in registers at the end of the block, makes up the differences to the heads of its successors, and
    /// serves its terminator.
    pub(crate) fn end_block(&mut self, terminator: Inst) -> Result<(), AllocError> {
        let block = self.order.block(self.index).block;
        match *self.problem.succs(block) {
            [edge] if self.problem.is_bare(terminator) => self.pass(edge, terminator),
            ref edges => self.fork(edges, terminator),
        }
    }

    /// The only edge out of a block: its moves stand before the jump.
    fn pass(&mut self, edge: Edge, jump: Inst) -> Result<(), AllocError> {
        let to = self.problem.edge(edge).to;
        let target = self.order.index(to);
        if self.s.heads.range(target).is_none() {
            self.choose_head(target);
            self.begin_loop();
        }
        let mut needed = Masks::default();
        for i in self.s.heads.range(target).unwrap_or_default() {
            let (reg, vreg) = self.s.heads.entries[i];
            needed[reg.class()] |= reg.bit();
            self.state.put(reg, vreg);
        }
        let (params, args) = (self.problem.params(to), self.problem.edge_args(edge));
        for &param in params {
            let reg = self.state.value(param).head_reg;
            if !reg.is_none() {
                needed[reg.class()] |= reg.bit();
            }
        }
        for (&param, &arg) in params.iter().zip(args) {
            let reg = self.state.value(param).head_reg;
            if !reg.is_none() {
                self.pass_in_register(arg, reg);
            }
        }
        for (&param, &arg) in params.iter().zip(args) {
            let value = self.state.value(param);
            if value.head_reg.is_none() && value.is_stored && !self.share_slot(edge, arg, param) {
                self.pass_in_slot(arg, param, &needed);
            }
        }
        self.resolve(jump, &needed)
    }

    fn pass_in_register(&mut self, arg: VReg, to: Reg) {
        let value = self.state.value(arg);
        if value.reg.is_none() && value.remat.is_none() {
            self.state.put(to, arg);
            return;
        }
        if value.reg == to {
            return;
        }
        self.add_move(self.register_loc(value.reg), arg, self.loc(to));
    }

    /// An argument is in the slot of the parameter, unless a store here costs less than one at its definition.
    fn share_slot(&mut self, edge: Edge, arg: VReg, param: VReg) -> bool {
        self.slot(param);
        let value = self.state.value(arg);
        let is_cheaper = value.is_stored || self.order.block(value.block).freq <= self.problem.edge(edge).freq;
        let is_shared = is_cheaper && self.s.slots.are_one(self.state, arg, param);
        if is_shared {
            self.slot(arg);
        }
        is_shared
    }

    fn pass_in_slot(&mut self, arg: VReg, param: VReg, needed: &Masks) {
        let value = self.state.value(arg);
        if value.reg.is_none()
            && value.remat.is_none()
            && let Some(reg) = self.free_register(arg, needed, Reg::NONE)
        {
            self.state.put(reg, arg);
        }
        let from = self.register_loc(self.state.value(arg).reg);
        let to = self.slot_loc(param);
        self.add_move(from, arg, to);
    }

    /// Several edges, or a branch with operands: moves stand at the heads of the successors.
    fn fork(&mut self, edges: &[Edge], terminator: Inst) -> Result<(), AllocError> {
        let problem = self.problem;
        let range = problem.operand_range(terminator);
        let operands = &problem.all_operands()[range.clone()];
        let is_plain = self.is_plain(problem.shape(terminator), operands.len());
        let touched = if is_plain { Touched::NOTHING } else { self.match_branch(edges, terminator)? };
        let hottest = edges.iter().copied().reduce(|a, b| match problem.edge(b).freq > problem.edge(a).freq {
            true => b,
            false => a,
        });
        let others = edges.iter().copied().filter(|&edge| Some(edge) != hottest);
        hottest.into_iter().chain(others).for_each(|edge| self.adopt(edge, &touched));
        if is_plain {
            self.leave_room(operands);
        }
        for &edge in edges {
            self.enter(edge)?;
        }
        if is_plain {
            self.plain(terminator, None, range);
        } else {
            self.place(terminator, None, &touched)?;
        }
        Ok(())
    }

    /// Matches the operands of a branch; its defs had best be where the heads expect them.
    fn match_branch(&mut self, edges: &[Edge], terminator: Inst) -> Result<Touched, AllocError> {
        for &edge in edges.iter().filter(|&&edge| !self.problem.edge_defs(edge).is_empty()) {
            for &(reg, vreg) in self.s.heads.entries(self.order.index(self.problem.edge(edge).to)) {
                self.state.value_mut(vreg).hint = reg;
            }
        }
        let touched = self.match_operands(terminator)?;
        let operands = self.problem.operands(terminator);
        for k in (0..operands.len()).filter(|&k| operands[k].is_def()) {
            let loc = match self.matched(operands, k) {
                Some(reg) => Loc::reg(reg),
                None => self.slot_loc(operands[k].vreg()),
            };
            self.state.value_mut(operands[k].vreg()).edge_loc = loc;
        }
        Ok(touched)
    }

    /// Has at the end of the block in registers what a successor expects there, as far as registers are free. What is in memory
    /// in the loop around the block is filled on colder paths, and behind the loop.
    fn adopt(&mut self, edge: Edge, touched: &Touched) {
        let target = self.order.index(self.problem.edge(edge).to);
        let here = self.order.block(self.index);
        let freq = self.order.block(target).freq.0;
        let is_rare = freq.saturating_mul(RARE) < here.freq.0;
        let around = here.innermost.expand().map(|id| &self.order.loops()[id]);
        let left = around.filter(|l| target >= l.end || freq.saturating_mul(2) < here.freq.0);
        for &(reg, vreg) in self.s.heads.entries(target) {
            let value = self.state.value(vreg);
            if !value.reg.is_none() || value.edge.expand() == Some(edge) {
                continue;
            }
            if left.is_some_and(|l| value.comes_into(l.header)) && !self.state.is_resident(value) {
                continue;
            }
            let spared = |reg: &Reg| touched.spares(self.problem, self.registers.preg(*reg), vreg);
            if self.state.occupied[reg.class()] & reg.bit() == 0 && spared(&reg) {
                self.state.put(reg, vreg);
            } else if !(is_rare && value.is_stored) && value.remat.is_none() {
                let free = self.registers.allocatable[reg.class()] & !self.state.occupied[reg.class()];
                if let Some(other) = regs(reg.class(), free).find(spared) {
                    self.state.put(other, vreg);
                }
            }
        }
    }

    /// Sees to it that the uses of a plain branch find registers.
    fn leave_room(&mut self, operands: &[Operand]) {
        let (mut busy, mut missing) = (Masks::default(), [0; 2]);
        for operand in operands {
            let value = self.state.value(operand.vreg());
            match value.reg {
                reg if reg.is_none() => missing[value.class()] += 1,
                reg => busy[reg.class()] |= reg.bit(),
            }
        }
        for class in 0..2 {
            while (self.registers.allocatable[class] & !self.state.occupied[class]).count_ones() < missing[class] {
                let Some(reg) = self.state.farthest(class, self.state.occupied[class] & !busy[class]) else { break };
                self.state.release(reg);
            }
        }
    }

    /// Moves at the head of a successor, from what is in registers at the end of the block to what it expects.
    fn enter(&mut self, edge: Edge) -> Result<(), AllocError> {
        let to = self.problem.edge(edge).to;
        let mut needed = Masks::default();
        for i in self.s.heads.range(self.order.index(to)).unwrap_or_default() {
            let (reg, vreg) = self.s.heads.entries[i];
            needed[reg.class()] |= reg.bit();
            let value = self.state.value(vreg);
            if value.reg == reg {
                continue;
            }
            let is_edge_def = value.edge.expand() == Some(edge);
            let from = if is_edge_def { Some(value.edge_loc) } else { self.register_loc(value.reg) };
            self.add_move(from, vreg, self.loc(reg));
        }
        for &vreg in self.problem.edge_defs(edge) {
            let value = self.state.value(vreg);
            if value.is_stored && value.edge_loc.as_reg().is_some() {
                let (from, to) = (value.edge_loc, self.slot_loc(vreg));
                self.add_move(Some(from), vreg, to);
            }
        }
        self.resolve(self.problem.first_inst(to), &needed)
    }

    /// Adds a move of a value from a location, or from its slot or its computation.
    pub(crate) fn add_move(&mut self, from: Option<Loc>, vreg: VReg, to: Loc) {
        let value = self.state.value(vreg);
        let (class, width) = (self.problem.class(vreg), value.width);
        match (from, value.remat.expand()) {
            (Some(from), _) => self.s.moves.add(from, to, class, width),
            (None, Some(inst)) => self.s.moves.add_remat(inst, to, class, width),
            (None, None) => {
                let from = self.slot_loc(vreg);
                self.s.moves.add(from, to, class, width);
            }
        }
    }

    /// Makes edits before `at` of the moves that were added. Only the `needed` registers mean anything behind them.
    pub(crate) fn resolve(&mut self, at: Inst, needed: &Masks) -> Result<(), AllocError> {
        if self.s.moves.is_empty() {
            return Ok(());
        }
        if !self.s.moves.resolve_in_order(&mut self.s.sequence) {
            let free = (0..2).flat_map(|class| regs(class, self.registers.allocatable[class] & !needed[class]));
            let free = free.map(|reg| self.registers.preg(reg)).collect();
            let place = (self.problem, self.env);
            let done = self.s.moves.resolve(free, place, self.out, &mut self.s.sequence);
            done.map_err(|none| AllocError::TooFewRegisters { inst: at, class: none.0 })?;
        }
        self.s.edits.push_sequence(at, &mut self.s.sequence);
        Ok(())
    }
}
