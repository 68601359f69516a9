//! Heads and ends of blocks: the registers that they pass on, and the moves on edges.
//!
//! ```text
//! b1: .. branch -> b2 (hot), b3      b2 has v0 in r0, b3 in r1: at the end of b1 v0 is in r0,
//! b3: (move r1 <- r0) ..             and the head of b3 moves it
//! ```
//!
//! A block's head lists the registers that its code expects; parameters have registers or slots there. Residents of
//! the surrounding loops are at the head and at the end of every block of a loop, whether its code uses them or
//! not. The header of a loop has only residents and parameters in registers: other values that its code expects are
//! filled there.

use crate::constrained::{Placement, Touched};
use crate::heads::Head;
use crate::selected::{Selected, range};
use crate::walk::Fused;
use cranelift_entity::EntityRef;
use kingpost_mach::block_order::MachineBlock;
use kingpost_mach::{LowerCtx, PlainOperands};
use kingpost_regalloc::{Block, EditKind, Loc, RegClass, VReg};
use kingpost_regalloc_common::preference::{self, Masks, Reg, regs};

/// Factor by which a successor runs less often than the block if it gets fills instead of registers.
const RARE: u64 = 8;

/// Number of registers that stay free for the code of a loop when a value that is read only after the loop becomes resident.
const FOR_LOOP: u32 = 4;

/// Ends of blocks.
impl Fused {
    /// Starts a block, whose end the walk has reached.
    pub(crate) fn end_block(&mut self, lower: &mut LowerCtx<'_>) {
        let block = Block::from_u32(self.block);
        let begun = self.loops.enter(lower, block, &mut self.state.recent);
        if begun == 0 && self.passes(lower) {
            return;
        }
        let kept = self.heads.kept.take().filter(|&kept| self.hottest(lower) == Some(kept));
        match kept.filter(|_| self.heads.kept_in == self.loops.header()) {
            Some(kept) => {
                let is_intact = self.keep();
                self.heads.intact = Some(kept).filter(|_| is_intact).into();
            }
            None => {
                self.heads.intact = None.into();
                self.state.clear_registers();
            }
        }
        for ago in (1..=begun).rev() {
            let header = self.loops.begun(ago);
            // An edge from below the loop may have fixed it before.
            if !self.heads.of[header.index()].is_fixed {
                self.fix_head(lower, header);
            }
        }
        for i in 0..self.edges.succs.len() {
            let to = self.edges.succs[i];
            if to.index() == 0 {
                self.refuse("a branch to the entry");
            } else if to <= block && !self.heads.of[to.index()].is_fixed {
                self.fix_head(lower, to);
            }
        }
        for (reg, vreg) in self.loops.residents() {
            if self.state.is_free(reg) {
                self.state.put(reg, vreg);
            }
        }
    }

    /// Returns `true` if the current block is an edge block that only jumps. Its head is then the head of its
    /// successor, and the registers are unchanged.
    fn passes(&mut self, lower: &LowerCtx<'_>) -> bool {
        let [to] = *self.edges.succs else { return false };
        let block = lower.order().blocks()[self.block as usize];
        let is_edge = matches!(block, MachineBlock::Edge { .. });
        // The block of an edge may hold the code after a call with handlers.
        if !is_edge || to.as_u32() <= self.block || !self.edges.pairs.is_empty() || lower.is_call_edge(block) {
            return false;
        }
        let head = self.heads.of[to.index()];
        let entries = &self.heads.entries[head.range()];
        if !self.loops.residents().all(|resident| resident.0.is_in(&head.regs) && entries.contains(&resident)) {
            return false;
        }
        self.state.recent = [0, 1].map(|class| self.state.recent[class] | head.regs[class]);
        self.heads.passed = to.into();
        true
    }

    /// Returns the successor with the highest frequency, the first of several.
    fn hottest(&self, lower: &LowerCtx<'_>) -> Option<Block> {
        hottest_of(lower, &self.edges.succs)
    }

    /// Keeps the registers of the head of the only successor, or of the hottest one. Values that the loop has in
    /// memory are released, and the head of the successor fills them. Returns `true` if there are none of these.
    fn keep(&mut self) -> bool {
        let occupied = self.state.occupied;
        for (class, mask) in occupied.into_iter().enumerate() {
            self.state.recent[class] |= mask;
        }
        if !self.loops.is_inside() || self.edges.succs.len() == 1 {
            return true;
        }
        let mut is_intact = true;
        for reg in (0..2).flat_map(|class| regs(class, occupied[class])) {
            let Some(value) = self.state.owner(reg).map(|vreg| self.state.value(vreg)) else { continue };
            if self.loops.is_from_outside(value.block) && value.resident.is_none() {
                self.state.release(reg);
                is_intact = false;
            }
        }
        is_intact
    }

    /// Allocates the instruction that ends a block.
    #[inline(never)]
    pub(crate) fn terminator(&mut self, lower: &mut LowerCtx<'_>, at: usize, plain: Option<&PlainOperands>) {
        match (&*self.edges.succs, plain) {
            ([], Some(plain)) => self.plain_terminator(lower, at, plain),
            ([], None) => self.constrained(lower, at),
            (&[to], _) if range(&lower.sequence()[at]).is_empty() => {
                self.push_bare(lower, at);
                if self.heads.passed.is_none() {
                    self.pass(lower, to);
                }
            }
            _ if self.heads.passed.is_some() => self.refuse("an edge with more than a jump"),
            _ if !self.edges.pairs.is_empty() => self.refuse("a branch that passes arguments"),
            (_, Some(plain)) => self.place_branch_edges(lower, at, plain),
            (_, None) => self.place_constrained_branch(lower, at),
        }
    }

    /// Chooses the parameters that have registers at the header of a loop.
    fn fix_head(&mut self, lower: &mut LowerCtx<'_>, header: Block) {
        self.heads.of[header.index()].is_fixed = true;
        let mut params = std::mem::take(&mut self.heads.params);
        params.clear();
        lower.parameters(header, true, &mut params);
        self.state.grow(lower.code.problem.vregs.len());
        if let Some(log) = &mut self.log {
            log.params(header, &params);
        }
        let mut free = self.registers.allocatable;
        for (reg, _) in self.loops.residents() {
            free[reg.class()] &= !reg.bit();
        }
        let has_calls = lower.has_calls_since(header);
        for &param in &params {
            self.visit(lower, param);
            let value = self.state.value(param);
            let class = value.class();
            if free[class] == 0 {
                self.state.value_mut(param).is_stored = true;
                continue;
            }
            let saved = self.registers.callee_saved[class];
            let better = free[class] & if has_calls { saved } else { !saved | self.state.used[class] };
            let choice = if better == 0 { free[class] } else { better };
            let hint = Some(value.hint).filter(|hint| hint.class() == class && choice & hint.bit() != 0);
            let reg = hint.unwrap_or(Reg::new(class, choice.trailing_zeros()));
            self.state.touch(reg);
            let value = self.state.value_mut(param);
            (value.head_reg, value.hint) = (reg, reg);
            free[class] &= !reg.bit();
        }
        self.heads.params = params;
    }

    /// Adds the moves of the only edge out of a block, before the jump.
    fn pass(&mut self, lower: &mut LowerCtx<'_>, to: Block) {
        if self.edges.pairs.is_empty() && self.heads.intact == Some(to).into() {
            return;
        }
        let (pairs, all) = (std::mem::take(&mut self.edges.pairs), std::mem::take(&mut self.heads.entries));
        let head = self.heads.of[to.index()];
        let entries = &all[head.range()];
        let mut needed = self.with_residents(head.regs);
        let mut need = |reg: Reg| needed[reg.class()] |= reg.bit();
        for &(reg, vreg) in entries {
            if self.state.is_free(reg) && self.state.value(vreg).reg.is_none() {
                self.put(reg, vreg);
            }
        }
        for &(arg, param) in &pairs {
            self.visit(lower, arg);
            let reg = self.state.value(param).head_reg;
            if !reg.is_none() {
                need(reg);
            }
        }
        for &(reg, vreg) in entries {
            if !self.state.holds(reg, vreg) {
                self.carry(lower, vreg, reg, &needed);
            }
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
        (self.edges.pairs, self.heads.entries) = (pairs, all);
    }

    /// Returns the registers at the head of a successor, and the registers of values that became resident since the
    /// walk passed it.
    fn with_residents(&self, regs: Masks) -> Masks {
        let mut all = regs;
        self.loops.residents().for_each(|(reg, _)| all[reg.class()] |= reg.bit());
        all
    }

    /// Adds the move of a value into a register on the edge.
    fn carry(&mut self, lower: &mut LowerCtx<'_>, vreg: VReg, to: Reg, needed: &Masks) {
        let from = self.source(lower, vreg, to, needed);
        if from != to {
            let to = self.loc(to);
            self.add_move(lower, from, vreg, to);
        }
    }

    /// Returns the register of a value at the end of the block. A value without one gets the register it moves to,
    /// if that is free, or another free one.
    fn source(&mut self, lower: &mut LowerCtx<'_>, vreg: VReg, to: Reg, needed: &Masks) -> Reg {
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

    /// Allocates a branch with operands in any registers and several edges. The moves are at the heads of the
    /// successors.
    fn place_branch_edges(&mut self, lower: &mut LowerCtx<'_>, at: usize, plain: &PlainOperands) {
        let operands = range(&lower.sequence()[at]);
        // Most branches read only the flags.
        if operands.is_empty() {
            let (succs, entries) = self.take_heads();
            self.inherit_heads(lower, (&succs, &entries), &Touched::default(), [0; 2]);
            succs.iter().for_each(|&to| self.enter(lower, to, &entries));
            self.put_heads(succs, entries);
            return self.push_bare(lower, at);
        }
        for operand in &lower.operands()[operands] {
            self.visit(lower, operand.vreg());
        }
        let (_, room) = self.missing(lower, at);
        let (succs, entries) = self.take_heads();
        self.inherit_heads(lower, (&succs, &entries), &Touched::default(), room);
        self.leave_room(lower, at);
        succs.iter().for_each(|&to| self.enter(lower, to, &entries));
        self.put_heads(succs, entries);
        self.plain_terminator(lower, at, plain);
    }

    /// Allocates any other branch with several edges.
    fn place_constrained_branch(&mut self, lower: &mut LowerCtx<'_>, at: usize) {
        let selected = Selected::new(lower, &lower.sequence()[at]);
        let mut placement = Placement::default();
        if !self.find_registers(lower, &selected, &mut placement) {
            return;
        }
        self.begin_exits(&selected, &placement);
        let (succs, entries) = self.take_heads();
        self.inherit_heads(lower, (&succs, &entries), &placement.touched, [0; 2]);
        self.give_way(&placement.touched);
        succs.iter().for_each(|&to| self.enter(lower, to, &entries));
        self.put_heads(succs, entries);
        for vreg in self.heads.exits.drain(..) {
            self.state.value_mut(vreg).entry_reg = Reg::NONE;
        }
        self.place(&selected, &placement);
    }

    /// Takes out the successors of the current block, and the entries of heads.
    fn take_heads(&mut self) -> (Vec<Block>, Vec<(Reg, VReg)>) {
        (std::mem::take(&mut self.edges.succs), std::mem::take(&mut self.heads.entries))
    }

    fn put_heads(&mut self, succs: Vec<Block>, entries: Vec<(Reg, VReg)>) {
        (self.edges.succs, self.heads.entries) = (succs, entries);
    }

    /// Puts the values that the successors expect into their registers, beginning with the hottest successor.
    fn inherit_heads(
        &mut self,
        lower: &mut LowerCtx<'_>,
        (succs, entries): (&[Block], &[(Reg, VReg)]),
        touched: &Touched,
        room: [u32; 2],
    ) {
        let hottest = hottest_of(lower, succs);
        let others = succs.iter().copied().filter(|&to| Some(to) != hottest);
        hottest.into_iter().chain(others).for_each(|to| self.inherit_head(lower, to, entries, touched, room));
    }

    /// Records the registers of the results of a call with handlers at the end of the block. They are in no other
    /// place.
    fn begin_exits(&mut self, selected: &Selected, placement: &Placement) {
        let defined = selected.operands.iter().zip(&placement.regs).filter(|(operand, _)| operand.is_def());
        for (vreg, &reg) in defined.map(|(operand, reg)| (operand.vreg(), reg)) {
            let value = self.state.value(vreg);
            let below = value.reg;
            if value.is_stored || reg.is_none() {
                self.refuse("a result of a call with handlers that is in memory");
            }
            if !below.is_none() {
                self.take_out(below);
            }
            self.state.value_mut(vreg).entry_reg = reg;
            self.heads.exits.push(vreg);
        }
    }

    /// Puts the values that a successor expects into its registers at the end of the block, if these are free.
    /// Values that the surrounding loop has in memory are filled on colder paths and after the loop. A value may
    /// become resident only if `room` registers of each class, and some for the loop's code, stay free: it cannot
    /// make room for the branch, because blocks below it in the loop do not restore it, and blocks above it would
    /// fill it again after each use of its register.
    fn inherit_head(
        &mut self,
        lower: &mut LowerCtx<'_>,
        to: Block,
        entries: &[(Reg, VReg)],
        touched: &Touched,
        room: [u32; 2],
    ) {
        if self.heads.intact == Some(to).into() {
            return;
        }
        for &(reg, vreg) in &entries[self.heads.of[to.index()].range()] {
            if self.state.holds(reg, vreg) {
                continue;
            }
            let value = self.state.value(vreg);
            if !value.reg.is_none() || !value.entry_reg.is_none() {
                continue;
            }
            let (class, width) = (value.class(), value.width);
            if self.loops.is_from_outside(value.block) {
                // The value may be in the register if that costs nothing in the loop.
                let is_untouched = self.loops.touched(&self.state.recent)[class] & reg.bit() == 0;
                if !(is_untouched && self.state.is_free(reg) && self.free(class).count_ones() > room[class] + FOR_LOOP)
                {
                    continue;
                }
            }
            let spared = touched.spared(class, width);
            if self.state.is_free(reg) && spared & reg.bit() != 0 {
                self.put(reg, vreg);
            } else if !(value.is_stored && self.is_rare(lower, to) || self.is_remat(lower, vreg)) {
                let free = self.free(class) & spared;
                if free != 0 {
                    self.put(Reg::new(class, free.trailing_zeros()), vreg);
                }
            }
        }
    }

    /// Returns `true` if a successor runs far less often than the block.
    fn is_rare(&self, lower: &LowerCtx<'_>, to: Block) -> bool {
        let freq = |block| lower.order().freq(block).0;
        freq(to).saturating_mul(RARE) < freq(Block::from_u32(self.block))
    }

    /// Returns the free registers of a class.
    fn free(&self, class: usize) -> u64 {
        self.registers.allocatable[class] & !self.state.occupied[class]
    }

    /// Returns the registers of a plain branch's uses, and the number of registers of each class that its other
    /// uses need.
    fn missing(&self, lower: &LowerCtx<'_>, at: usize) -> (Masks, [u32; 2]) {
        let (mut busy, mut missing) = (Masks::default(), [0; 2]);
        for operand in &lower.operands()[range(&lower.sequence()[at])] {
            let value = self.state.value(operand.vreg());
            match value.reg {
                reg if reg.is_none() => missing[value.class()] += 1,
                reg => busy[reg.class()] |= reg.bit(),
            }
        }
        (busy, missing)
    }

    /// Frees registers for the uses of a plain branch, registers of residents last.
    fn leave_room(&mut self, lower: &LowerCtx<'_>, at: usize) {
        let (busy, missing) = self.missing(lower, at);
        if missing == [0; 2] {
            return;
        }
        let mut residents = Masks::default();
        self.loops.residents().for_each(|(reg, _)| residents[reg.class()] |= reg.bit());
        for class in 0..2 {
            while self.free(class).count_ones() < missing[class] {
                let candidates = self.state.occupied[class] & !busy[class];
                let better = candidates & !residents[class];
                let candidates = if better == 0 { candidates } else { better };
                let Some(reg) = self.state.oldest(class, candidates, self.block) else { break };
                self.take_out(reg);
            }
        }
    }

    /// Removes values from registers that operands of a branch occupy or it clobbers.
    fn give_way(&mut self, touched: &Touched) {
        let occupied = self.state.occupied;
        for reg in (0..2).flat_map(|class| regs(class, occupied[class] & touched.any(class))) {
            let Some(vreg) = self.state.owner(reg) else { continue };
            if touched.spared(reg.class(), self.state.value(vreg).width) & reg.bit() == 0 {
                self.take_out(reg);
            }
        }
    }

    /// Removes a value from its register for the branch.
    fn take_out(&mut self, reg: Reg) {
        self.state.release(reg);
        self.heads.intact = None.into();
    }

    /// Adds the moves at the head of a successor, from the registers at the end of the block to the ones it
    /// expects.
    fn enter(&mut self, lower: &mut LowerCtx<'_>, to: Block, entries: &[(Reg, VReg)]) {
        if self.heads.intact == Some(to).into() {
            return;
        }
        let head = self.heads.of[to.index()];
        for &(reg, vreg) in &entries[head.range()] {
            if !self.state.holds(reg, vreg) {
                let value = self.state.value(vreg);
                let from = if value.entry_reg.is_none() { value.reg } else { value.entry_reg };
                if from != reg {
                    let to = self.loc(reg);
                    self.add_move(lower, from, vreg, to);
                }
            }
        }
        if self.moves.is_empty() {
            return;
        }
        self.sequence_moves(lower, &self.with_residents(head.regs));
        let start = self.allocated.heads.len() as u32;
        for i in 0..self.sequence.len() {
            let kind = self.sequence[i];
            if let (Some(log), EditKind::Remat { inst, .. }) = (&mut self.log, kind) {
                log.head_remat(self.allocated.heads.len(), VReg::from_u32(inst.as_u32()));
            }
            let item = self.item(kind, head.has_dead_flags);
            self.allocated.heads.push(item);
        }
        self.sequence.clear();
        self.allocated.blocks[to.index()].heads = (start, self.allocated.heads.len() as u32);
    }
}

/// Returns the block with the highest frequency, the first of several.
fn hottest_of(lower: &LowerCtx<'_>, blocks: &[Block]) -> Option<Block> {
    let freq = |block| lower.order().freq(block);
    match *blocks {
        [to] => Some(to),
        [first, second] => Some(if freq(second) > freq(first) { second } else { first }),
        _ => blocks.iter().rev().copied().max_by_key(|&to| freq(to)),
    }
}

/// Heads of blocks.
impl Fused {
    /// Finishes a block, whose head the walk has reached.
    pub(crate) fn head_block(&mut self, lower: &mut LowerCtx<'_>, block: Block) {
        if let Some(to) = self.heads.passed.take() {
            self.heads.of[block.index()] = Head { has_dead_flags: true, is_fixed: false, ..self.heads.of[to.index()] };
            return;
        }
        let mut params = std::mem::take(&mut self.heads.params);
        params.clear();
        lower.parameters(block, false, &mut params);
        let is_fixed = self.heads.of[block.index()].is_fixed;
        if let (Some(log), false) = (&mut self.log, is_fixed) {
            log.params(block, &params);
        }
        let start = self.heads.entries.len() as u32;
        let regs = if is_fixed || self.loops.residents().any(|(reg, vreg)| !self.is_in_place(reg, vreg)) {
            let regs = self.reconcile(lower, &params, is_fixed);
            self.state.clear_registers();
            self.heads.kept = None.into();
            regs
        } else {
            (self.heads.kept, self.heads.kept_in) = (block.into(), self.loops.header());
            self.note_head(&params)
        };
        let end = self.heads.entries.len() as u32;
        self.heads.of[block.index()] = Head { start, end, regs, is_fixed, has_dead_flags: self.flags.are_dead() };
        self.heads.params = params;
        self.loops.leave(block, &mut self.state);
    }

    /// Returns `true` if a resident is in its register, or if it has no register and its own is free.
    fn is_in_place(&self, reg: Reg, vreg: VReg) -> bool {
        let found = self.state.value(vreg).reg;
        found == reg || found.is_none() && self.state.is_free(reg)
    }

    /// Records the current registers as the block's head, and returns them.
    fn note_head(&mut self, params: &[VReg]) -> Masks {
        let mut regs = Masks::default();
        for &param in params {
            let reg = self.state.value(param).reg;
            self.state.value_mut(param).head_reg = reg;
            if !reg.is_none() {
                self.store(param, reg);
                self.state.release(reg);
            }
        }
        for (reg, vreg) in self.loops.residents() {
            if self.state.is_free(reg) {
                self.heads.push(&mut regs, reg, vreg);
            }
        }
        let (state, entries) = (&self.state, &mut self.heads.entries);
        for class in 0..2 {
            for reg in preference::regs(class, state.occupied[class]) {
                if let Some(vreg) = state.owner(reg) {
                    entries.push((reg, vreg));
                }
            }
        }
        [0, 1].map(|class| regs[class] | self.state.occupied[class])
    }

    /// Chooses the locations of values at the head, and moves the values from there to the registers that the
    /// block's code expects. Returns the registers of the head.
    fn reconcile(&mut self, lower: &mut LowerCtx<'_>, params: &[VReg], is_fixed: bool) -> Masks {
        let mut of_head = Masks::default();
        let start = self.heads.entries.len();
        let expected = self.state.occupied;
        let mut taken = Masks::default();
        for (reg, vreg) in self.loops.residents() {
            self.heads.push(&mut of_head, reg, vreg);
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
                self.heads.push(&mut of_head, entry, vreg);
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
        of_head
    }
}
