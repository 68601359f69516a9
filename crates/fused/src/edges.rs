//! Heads and ends of blocks: which registers they hand on, and the moves on edges.
//!
//! ```text
//! b1: .. branch -> b2 (hot), b3      b2 has v0 in r0, b3 in r1: at the end of b1 v0 is in r0,
//! b3: (move r1 <- r0) ..             and the head of b3 moves it
//! ```
//!
//! A block's head is what its code expects in registers; parameters have registers or slots there. Residents of the loops around
//! are at the head of every block of a loop, and at its end, whether its code has a use for them or not. At the header of a loop
//! there are its parameters besides, and nothing else: what else its code expects is filled there.

use crate::constrained::{Requests, Touched};
use crate::walk::{Fused, Selected};
use cranelift_entity::EntityRef;
use kingpost_mach::Lower;
use kingpost_regalloc::{Block, Loc, Operand, RegClass, VReg};
use kingpost_regalloc_common::preference::{Masks, Reg, regs};
use std::cmp::Reverse;
use std::ops::Range;

/// Registers of each class that the head of a loop leaves free.
const RESERVE: u32 = 3;

/// A successor that runs so many times less often than the block gets fills rather than registers.
const RARE: u64 = 8;

/// What blocks have in registers at their heads, parameters apart. Memory is used again.
#[derive(Default, Debug)]
pub(crate) struct Heads {
    entries: Vec<(Reg, VReg)>,
    /// By block: its entries, once the walk has passed it.
    of: Vec<Option<(u32, u32)>>,
    /// By block: does an edge back fix where its parameters are?
    is_fixed: Vec<bool>,
    /// By block: may what its head moves there change the flags?
    has_dead_flags: Vec<bool>,
    params: Vec<VReg>,
    /// Values that a loop may have in registers, with their weights.
    candidates: Vec<(u64, VReg)>,
}

impl Heads {
    pub(crate) fn begin(&mut self, blocks: usize) {
        self.entries.clear();
        self.of.clear();
        self.of.resize(blocks, None);
        self.is_fixed.clear();
        self.is_fixed.resize(blocks, false);
        self.has_dead_flags.clear();
        self.has_dead_flags.resize(blocks, false);
    }

    /// Indices of the entries of a block; none if the walk has not passed it.
    fn range(&self, block: Block) -> Range<usize> {
        self.of[block.index()].map_or(0..0, |(start, end)| start as usize..end as usize)
    }
}

/// Ends.
impl Fused {
    /// The walk has come to the end of a block.
    pub(crate) fn end_block(&mut self, lower: &mut Lower<'_>) {
        let block = Block::from_u32(self.block);
        for ago in (1..=self.loops.enter(lower, block, &mut self.state.recent)).rev() {
            let header = self.loops.begun(ago);
            self.fix_head(lower, header);
        }
        for i in 0..self.succs.len() {
            let to = self.succs[i];
            if to.index() == 0 {
                self.refuse("a branch to the entry");
            } else if to <= block && !self.heads.is_fixed[to.index()] {
                self.fix_head(lower, to);
            }
        }
        for (reg, vreg) in self.loops.residents() {
            self.state.put(reg, vreg);
        }
    }

    /// Serves the instruction that ends a block.
    pub(crate) fn terminator(&mut self, lower: &mut Lower<'_>, selected: &Selected<'_>) {
        match *self.succs {
            [] if selected.is_plain => self.plain(lower, selected, false),
            [] => self.constrained(lower, selected),
            [to] if selected.operands.is_empty() => {
                self.push_inst(lower, selected, &[]);
                self.pass(lower, to);
            }
            _ if self.pairs.is_empty() => self.fork(lower, selected),
            _ => self.refuse("a branch that passes arguments"),
        }
    }

    /// Chooses what has registers at the header of a loop: of its parameters, and of the values from outside that it uses, those
    /// with the most uses.
    fn fix_head(&mut self, lower: &mut Lower<'_>, header: Block) {
        self.heads.is_fixed[header.index()] = true;
        let mut params = std::mem::take(&mut self.heads.params);
        let mut candidates = std::mem::take(&mut self.heads.candidates);
        params.clear();
        candidates.clear();
        lower.parameters(header, true, &mut params);
        lower.loop_uses(header, &mut candidates);
        self.state.grow(lower);
        if let Some(log) = &mut self.log {
            log.params(header, &params);
        }
        let mut free = self.registers.allocatable;
        for (reg, _) in self.loops.residents() {
            free[reg.class()] &= !reg.bit();
        }
        let mut left = free.map(|free| free.count_ones().saturating_sub(RESERVE));
        let has_calls = lower.has_calls_since(header);
        candidates.extend(params.iter().map(|&param| (0, param)));
        candidates.sort_unstable_by_key(|&(weight, vreg)| (Reverse(weight), vreg));
        for &(_, vreg) in &candidates {
            self.meet(lower, vreg);
            let value = self.state.value(vreg);
            let is_param = value.block == header.as_u32();
            let class = value.class();
            if !value.resident.is_none() || !value.head_reg.is_none() || left[class] == 0 {
                continue;
            }
            let saved = self.registers.callee_saved[class];
            let better = free[class] & if has_calls { saved } else { !saved | self.state.used[class] };
            let choice = if better == 0 && (is_param || !has_calls) { free[class] } else { better };
            if choice == 0 {
                continue;
            }
            let hint = Some(value.hint).filter(|hint| hint.class() == class && choice & hint.bit() != 0);
            let reg = hint.unwrap_or(Reg::new(class, choice.trailing_zeros()));
            if is_param {
                self.state.touch(reg);
                self.state.value_mut(vreg).head_reg = reg;
            } else if self.loops.reside(reg, vreg, value.block, &self.state.recent) {
                self.state.touch(reg);
                self.state.value_mut(vreg).resident = reg;
            } else {
                continue;
            }
            self.state.value_mut(vreg).hint = reg;
            left[class] -= 1;
            free[class] &= !reg.bit();
        }
        for &param in &params {
            let value = self.state.value_mut(param);
            value.is_stored |= value.head_reg.is_none();
        }
        (self.heads.params, self.heads.candidates) = (params, candidates);
    }

    /// The only edge out of a block: its moves stand before the jump.
    fn pass(&mut self, lower: &mut Lower<'_>, to: Block) {
        let pairs = std::mem::take(&mut self.pairs);
        let mut needed = Masks::default();
        let mut need = |reg: Reg| needed[reg.class()] |= reg.bit();
        if to.as_u32() <= self.block {
            self.loops.residents().for_each(|(reg, _)| need(reg));
        }
        for i in self.heads.range(to) {
            let (reg, vreg) = self.heads.entries[i];
            need(reg);
            if self.state.value(vreg).reg.is_none() && self.state.is_free(reg) {
                self.put(reg, vreg);
            }
        }
        for &(arg, param) in &pairs {
            self.meet(lower, arg);
            let reg = self.state.value(param).head_reg;
            if !reg.is_none() {
                need(reg);
            }
        }
        for i in self.heads.range(to) {
            let (reg, vreg) = self.heads.entries[i];
            self.carry(lower, vreg, reg, &needed);
        }
        for &(arg, param) in &pairs {
            let value = self.state.value(param);
            if !value.head_reg.is_none() {
                self.carry(lower, arg, value.head_reg, &needed);
            } else if value.is_stored && arg != param {
                let to = Loc::slot(self.slot(param));
                let from = self.source(lower, arg, Reg::NONE, &needed);
                self.add_move(lower, from, arg, to);
            }
        }
        self.resolve(lower, &needed);
        self.pairs = pairs;
    }

    /// Has the edge bring a value into a register.
    #[inline]
    fn carry(&mut self, lower: &mut Lower<'_>, vreg: VReg, to: Reg, needed: &Masks) {
        if self.state.value(vreg).reg == to {
            return;
        }
        let from = self.source(lower, vreg, to, needed);
        if from != to {
            let to = self.loc(to);
            self.add_move(lower, from, vreg, to);
        }
    }

    /// The register in which a value is at the end of the block: the one that it goes to, if nothing else is there.
    fn source(&mut self, lower: &mut Lower<'_>, vreg: VReg, to: Reg, needed: &Masks) -> Reg {
        let reg = self.state.value(vreg).reg;
        if !reg.is_none() || self.is_remat(lower, vreg) {
            return reg;
        }
        let is_direct = !to.is_none() && self.state.is_free(to);
        let found = if is_direct { Some(to) } else { self.free_register(vreg, needed, Reg::NONE) };
        let Some(reg) = found else { return Reg::NONE };
        self.put(reg, vreg);
        reg
    }

    /// Several edges: moves stand at the heads of the successors.
    fn fork(&mut self, lower: &mut Lower<'_>, selected: &Selected<'_>) {
        let is_plain = selected.is_plain;
        let (requests, touched) = match is_plain {
            true => (Requests::new(), Touched::default()),
            false => match self.match_operands(lower, selected) {
                Some(matched) => matched,
                None => return,
            },
        };
        let succs = std::mem::take(&mut self.succs);
        let hottest = succs.iter().copied().rev().max_by_key(|&to| lower.order().freq(to));
        let others = succs.iter().copied().filter(|&to| Some(to) != hottest);
        hottest.into_iter().chain(others).for_each(|to| self.adopt(lower, to, &touched));
        match is_plain {
            true => self.leave_room(lower, selected.operands),
            false => self.give_way(&touched),
        }
        for &to in &succs {
            self.enter(lower, to);
        }
        self.succs = succs;
        match is_plain {
            true => self.plain(lower, selected, false),
            false => self.place(lower, selected, &requests, &touched),
        }
    }

    /// Has at the end of the block in registers what a successor expects there, as far as registers are free. What is in memory
    /// in the loop around the block is filled on colder paths, and behind the loop.
    fn adopt(&mut self, lower: &mut Lower<'_>, to: Block, touched: &Touched) {
        let freq = |block| lower.order().freq(block).0;
        let is_rare = freq(to).saturating_mul(RARE) < freq(Block::from_u32(self.block));
        for i in self.heads.range(to) {
            let (reg, vreg) = self.heads.entries[i];
            let value = self.state.value(vreg);
            if !value.reg.is_none() {
                continue;
            }
            let (class, width) = (value.class(), value.width);
            if self.loops.is_from_outside(value.block) {
                // It may be there if that costs nothing in the loop.
                let is_untouched = self.loops.touched(&self.state.recent)[class] & reg.bit() == 0;
                if !(is_untouched && self.state.is_free(reg)) {
                    continue;
                }
            }
            let spared = |reg: &Reg| touched.spares(self.registers.preg(*reg), width);
            if self.state.is_free(reg) && spared(&reg) {
                self.put(reg, vreg);
            } else if !(is_rare && value.is_stored || self.is_remat(lower, vreg)) {
                let free = self.registers.allocatable[class] & !self.state.occupied[class];
                let spared = |reg: &Reg| touched.spares(self.registers.preg(*reg), width);
                if let Some(other) = regs(class, free).find(spared) {
                    self.put(other, vreg);
                }
            }
        }
    }

    /// Sees to it that the uses of a plain branch find registers.
    fn leave_room(&mut self, lower: &Lower<'_>, operands: &[Operand]) {
        let (mut busy, mut missing) = (Masks::default(), [0; 2]);
        for operand in operands {
            self.meet(lower, operand.vreg());
            let value = self.state.value(operand.vreg());
            match value.reg {
                reg if reg.is_none() => missing[value.class()] += 1,
                reg => busy[reg.class()] |= reg.bit(),
            }
        }
        for class in 0..2 {
            while (self.registers.allocatable[class] & !self.state.occupied[class]).count_ones() < missing[class] {
                let Some(reg) = self.state.oldest(class, self.state.occupied[class] & !busy[class], self.block) else {
                    break;
                };
                self.state.release(reg);
            }
        }
    }

    /// Takes what a branch does not spare out of registers.
    fn give_way(&mut self, touched: &Touched) {
        let occupied = self.state.occupied;
        for reg in (0..2).flat_map(|class| regs(class, occupied[class])) {
            let Some(vreg) = self.state.owner(reg) else { continue };
            if !touched.spares(self.registers.preg(reg), self.state.value(vreg).width) {
                self.state.release(reg);
            }
        }
    }

    /// Moves at the head of a successor, from what is in registers at the end of the block to what it expects.
    fn enter(&mut self, lower: &mut Lower<'_>, to: Block) {
        let mut needed = Masks::default();
        for i in self.heads.range(to) {
            let (reg, vreg) = self.heads.entries[i];
            needed[reg.class()] |= reg.bit();
            let from = self.state.value(vreg).reg;
            if from != reg {
                let to = self.loc(reg);
                self.add_move(lower, from, vreg, to);
            }
        }
        if !self.sequence_moves(lower, &needed) {
            return;
        }
        let start = self.steps.heads.len() as u32;
        for i in 0..self.sequence.len() {
            let step = self.step(self.sequence[i], self.heads.has_dead_flags[to.index()]);
            self.steps.heads.push(step);
        }
        if let Some(log) = &mut self.log {
            log.head_edits(to, &self.sequence);
        }
        self.sequence.clear();
        self.steps.blocks[to.index()].heads = (start, self.steps.heads.len() as u32);
    }
}

/// Heads.
impl Fused {
    /// The walk has come to the head of a block.
    pub(crate) fn head_block(&mut self, lower: &mut Lower<'_>, block: Block) {
        let mut params = std::mem::take(&mut self.heads.params);
        params.clear();
        lower.parameters(block, false, &mut params);
        let is_fixed = self.heads.is_fixed[block.index()];
        if let (Some(log), false) = (&mut self.log, is_fixed) {
            log.params(block, &params);
        }
        let start = self.heads.entries.len() as u32;
        if is_fixed || self.loops.residents().any(|(reg, vreg)| !self.is_in_place(reg, vreg)) {
            self.reconcile(lower, &params, is_fixed);
        } else {
            self.note_head(&params);
        }
        self.heads.of[block.index()] = Some((start, self.heads.entries.len() as u32));
        self.heads.has_dead_flags[block.index()] = self.flags.are_dead();
        self.heads.params = params;
        self.state.clear_registers();
        let state = &mut self.state;
        let mut recent = state.recent;
        self.loops.leave(block, &mut recent, |vreg| state.value_mut(vreg).resident = Reg::NONE);
        state.recent = recent;
    }

    /// Is a resident in its register, or in none, and nothing else there?
    fn is_in_place(&self, reg: Reg, vreg: VReg) -> bool {
        let found = self.state.value(vreg).reg;
        found == reg || found.is_none() && self.state.is_free(reg)
    }

    /// What is expected in registers now is the block's head.
    fn note_head(&mut self, params: &[VReg]) {
        for &param in params {
            let reg = self.state.value(param).reg;
            self.state.value_mut(param).head_reg = reg;
            if !reg.is_none() {
                self.store(param, reg);
                self.state.release(reg);
            }
        }
        let absent = self.loops.residents().filter(|&(reg, _)| self.state.is_free(reg));
        self.heads.entries.extend(absent.chain(self.state.in_registers()));
    }

    /// Decides where everything is at the head, and moves it from there to where the block's code expects it.
    fn reconcile(&mut self, lower: &mut Lower<'_>, params: &[VReg], is_fixed: bool) {
        let start = self.heads.entries.len();
        let expected = self.state.occupied;
        let mut taken = Masks::default();
        for (reg, vreg) in self.loops.residents() {
            self.heads.entries.push((reg, vreg));
            self.state.value_mut(vreg).entry_reg = reg;
            taken[reg.class()] |= reg.bit();
        }
        for &param in params {
            let value = self.state.value_mut(param);
            value.entry_reg = if is_fixed { value.head_reg } else { Reg::NONE };
        }
        for reg in expected.iter().enumerate().flat_map(|(class, &mask)| regs(class, mask)) {
            let Some(vreg) = self.state.owner(reg) else { continue };
            let value = self.state.value(vreg);
            if is_fixed || !value.entry_reg.is_none() {
                continue;
            }
            let class = value.class();
            let free = self.registers.allocatable[class] & !taken[class] & !expected[class];
            let entry = if taken[class] & reg.bit() == 0 {
                reg
            } else if free != 0 {
                Reg::new(class, free.trailing_zeros())
            } else {
                continue;
            };
            taken[class] |= entry.bit();
            self.state.touch(entry);
            self.state.value_mut(vreg).entry_reg = entry;
            if !params.contains(&vreg) {
                self.heads.entries.push((entry, vreg));
            }
        }
        for reg in expected.iter().enumerate().flat_map(|(class, &mask)| regs(class, mask)) {
            let Some(vreg) = self.state.owner(reg) else { continue };
            let (from, to) = (self.state.value(vreg).entry_reg, self.loc(reg));
            self.add_move(lower, from, vreg, to);
        }
        for &param in params {
            let value = self.state.value(param);
            let (entry, class) = (value.entry_reg, RegClass::ALL[value.class()]);
            if value.is_stored && !entry.is_none() {
                let (width, to) = (value.width, Loc::slot(self.slot(param)));
                self.moves.add(self.loc(entry), to, class, width);
            }
            let value = self.state.value_mut(param);
            (value.head_reg, value.entry_reg) = (entry, Reg::NONE);
        }
        for i in start..self.heads.entries.len() {
            self.state.value_mut(self.heads.entries[i].1).entry_reg = Reg::NONE;
        }
        self.resolve(lower, &expected);
    }
}
