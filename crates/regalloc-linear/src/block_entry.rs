//! The state of the registers at a block's entry: the state at the end of the most frequent predecessor scanned so
//! far, the results of its terminator, and the block's parameters.
//!
//! ```text
//! v0 in r1, used in the loop; v1 in r12, not used in it
//! b1: .. call .. use v0; brif b1, b2          b1 is entered with v0 in r12 and v1 in memory
//! ```
//!
//! At the header of a loop with calls, values that the loop uses move to registers that its calls preserve.
//! Otherwise they would be stored and loaded in each iteration, because values get registers in the order of their
//! definitions.
//!
//! Cost: per block, registers and parameters times at most [`MAX_PREDS`] edges; per loop header, registers times
//! nearby clobber points.

use crate::linear_scan::Scan;
use crate::split_intervals::SplitInterval;
use crate::values::flag;
use cranelift_entity::EntityRef;
use kingpost_regalloc::{Edge, Event, RegClass, VReg};
use kingpost_regalloc_common::edge_sites::Majority;
use kingpost_regalloc_common::order::{BlockIndex, OrderedBlock};
use kingpost_regalloc_common::point::ProgPoint;
use kingpost_regalloc_common::preference::{Reg, regs};

/// Largest number of edges whose arguments' registers are compared.
const MAX_PREDS: usize = 64;
/// Number of parameters that may be in memory while all registers are occupied.
const MAX_PARAMS_IN_MEMORY: usize = 2;

impl Scan<'_, '_> {
    pub(crate) fn start_block(&mut self, at: BlockIndex) {
        let block = self.order.block(at);
        if block.falls_through(at) && block.inherits().is_some() && !block.receives {
            self.close_dead(block.start());
            return;
        }
        let block = *block;
        let preds = self.problem.preds(block.block);
        let best_pred = block.inherits().or_else(|| self.best_pred(preds, at));
        match best_pred {
            Some((edge, pred)) => self.inherit_state(edge, pred, at),
            None => self.close_all(block.start()),
        }
        let begins = block.receives && self.begin_values(&block, best_pred.map(|(edge, _)| edge));
        self.scan.blocks[at.index()].resolve = begins || preds.len() >= 2 || best_pred.is_none();
        if let (Some((edge, _)), true) = (best_pred, preds.len() >= 2) {
            self.reload_at_head(at);
            self.split_at_loop_header(at, self.problem.edge(edge).freq.0);
        }
        for vreg in self.s.edge_values.drain(..) {
            self.values[vreg].edge_reg = Reg::NONE;
        }
        if self.scan.blocks[at.index()].resolve {
            self.scan.blocks[at.index()].at_head = self.save_map();
        }
    }

    pub(crate) fn end_block(&mut self, at: BlockIndex) {
        let block = *self.order.block(at);
        let is_live_in = match *self.problem.succs(block.block) {
            [] => true,
            [edge] => {
                let inherits = self.order.blocks().get(at.next()).and_then(|next| next.inherits());
                inherits == Some((edge, at)) && self.problem.edge_defs(edge).is_empty()
            }
            _ => false,
        };
        if !is_live_in {
            self.scan.blocks[at.index()].at_end = self.save_map();
        }
    }

    fn save_map(&mut self) -> std::ops::Range<u32> {
        let start = self.scan.maps.len() as u32;
        for class in 0..2 {
            for reg in regs(class, self.scan.occupancy.held[class]) {
                let interval = self.scan.occupancy.interval_in(reg);
                self.scan.maps.push(interval);
            }
        }
        start..self.scan.maps.len() as u32
    }

    /// Returns the most frequent edge from a block scanned before, and that block.
    fn best_pred(&self, preds: &[Edge], at: BlockIndex) -> Option<(Edge, BlockIndex)> {
        let visited = preds.iter().map(|&edge| (edge, self.order.index(self.problem.edge(edge).from)));
        visited.filter(|&(_, pred)| pred < at).max_by_key(|&(edge, pred)| (self.problem.edge(edge).freq, pred))
    }

    /// Keeps values that are in registers at the end of the predecessor and live-in here in their registers. Values
    /// in the same registers at the end of the preceding block in the order keep their split intervals.
    fn inherit_state(&mut self, edge: Edge, pred: BlockIndex, at: BlockIndex) {
        let start = self.order.block(at).start();
        let has_args = !self.problem.edge_args(edge).is_empty();
        if pred.next() == at {
            if has_args {
                for class in 0..2 {
                    for reg in regs(class, self.scan.occupancy.held[class]) {
                        self.note_edge_reg(self.scan.occupancy.vreg_in(reg), reg);
                    }
                }
            }
            return self.close_dead(start);
        }
        let last = self.order.block(pred).stop().prev();
        // If an edge enters a loop, the states at its two ends differ if the value is evicted in the loop.
        let is_within_loop = self.order.loops_around(at).next().is_none_or(|l| l.header <= pred);
        let keeps = is_within_loop && self.order.is_forward();
        let mut kept = [0; 2];
        for i in self.scan.blocks[pred.index()].at_end.clone() {
            let id = self.scan.maps[i as usize];
            let &SplitInterval { vreg, reg, since_def, .. } = match &self.scan.occupancy.intervals[id] {
                interval if interval.covers(last) => interval,
                _ => continue,
            };
            if has_args {
                self.note_edge_reg(vreg, reg);
            }
            let (until, value) = self.values.live_until_mut(vreg, start);
            if until <= start || value.def == start {
                continue;
            }
            if keeps && value.current_reg == reg && value.has(flag::REG_SINCE_DEF) == since_def {
                self.scan.occupancy.extend_range(reg, until);
                kept[reg.class()] |= reg.bit();
            } else {
                self.s.reopened.push(id);
            }
        }
        for (class, kept) in kept.into_iter().enumerate() {
            for reg in regs(class, self.scan.occupancy.held[class] & !kept) {
                self.close(reg, start);
            }
        }
        let mut reopened = std::mem::take(&mut self.s.reopened);
        for id in reopened.drain(..) {
            let SplitInterval { vreg, reg, since_def, .. } = self.scan.occupancy.intervals[id];
            self.open(vreg, reg, start, since_def);
        }
        self.s.reopened = reopened;
    }

    /// Closes the split intervals of values that are not live at the block head `start`.
    fn close_dead(&mut self, start: ProgPoint) {
        for class in 0..2 {
            for reg in regs(class, self.scan.occupancy.held[class]) {
                if self.scan.occupancy.range_end_in(reg) <= start {
                    self.close(reg, start);
                }
            }
        }
    }

    fn note_edge_reg(&mut self, vreg: VReg, reg: Reg) {
        self.values[vreg].edge_reg = reg;
        self.s.edge_values.push(vreg);
    }

    /// Assigns registers to the values defined at the block's head. Returns `true` if there are any.
    fn begin_values(&mut self, block: &OrderedBlock, best_pred: Option<Edge>) -> bool {
        let start = block.start();
        let params = self.problem.params(block.block);
        let defs = match self.problem.preds(block.block) {
            &[edge] => self.problem.edge_defs(edge),
            _ => &[],
        };
        if params.is_empty() && defs.is_empty() {
            return false;
        }
        let args = best_pred.map_or(&[][..], |edge| self.problem.edge_args(edge));
        if let (Some(edge), false) = (best_pred, defs.is_empty()) {
            self.assign_edge_defs(edge, start);
        }
        for (k, (&param, &arg)) in params.iter().zip(args).enumerate() {
            let reg = self.values[arg].edge_reg;
            let best = self.register_for_param(k, param, reg, block);
            self.inherit(param, best, start);
            if !reg.is_none() && self.values.current_reg(param) == reg {
                self.diagnostics.event(Event::Coalesce { a: arg, b: param });
            }
        }
        for (k, &param) in params.iter().enumerate() {
            self.assign_param(param, args.get(k).copied(), block);
        }
        if params.len() > MAX_PARAMS_IN_MEMORY {
            self.keep_scratch_free(params, start);
        }
        for &vreg in params.iter().chain(defs) {
            let current = self.values.current_reg(vreg);
            if !current.is_none() {
                self.hint_related(vreg, current);
            } else if self.is_used(vreg) {
                self.values.set(vreg, flag::DEF_IN_MEM);
                self.schedule_reload(vreg, start);
            }
        }
        true
    }

    /// Keeps registers free if several parameters are in memory. Several moves from slot to slot on an edge need a
    /// scratch register, and a second one if they form a cycle. Keeping two registers free is cheaper than freeing
    /// one for each move.
    fn keep_scratch_free(&mut self, params: &[VReg], start: ProgPoint) {
        for class in RegClass::ALL {
            let c = class.index();
            let env = self.env.class(class);
            let in_memory = |param: VReg| {
                self.problem.class(param) == class && self.is_used(param) && self.values.current_reg(param).is_none()
            };
            let many = params.iter().filter(|&&param| in_memory(param)).count() > MAX_PARAMS_IN_MEMORY;
            if !many || env.scratch.is_some() || env.slot_move {
                continue;
            }
            for _ in 0..2 {
                let held = self.scan.occupancy.held[c];
                let full = (self.registers.allocatable[c] & !held).count_ones() < 2;
                if let (true, Some((reg, _))) = (full, self.farthest_next_use(c, held, start)) {
                    self.evict(reg, start);
                }
            }
        }
    }

    fn is_used(&self, vreg: VReg) -> bool {
        self.values.is_used(vreg)
    }

    /// Assigns the results of a terminator to the registers that it wrote.
    fn assign_edge_defs(&mut self, edge: Edge, start: ProgPoint) {
        for &vreg in self.problem.edge_defs(edge) {
            let reg = self.scan.edge_def_regs[vreg];
            if self.is_used(vreg) && !reg.is_none() && !reg.is_in(&self.scan.occupancy.held) {
                self.open(vreg, reg, start, true);
            }
        }
    }

    /// Returns the register for a parameter that saves most moves: the register `reg` of its argument on the best
    /// edge, the register of most other arguments, or its hint.
    fn register_for_param(&self, k: usize, param: VReg, reg: Reg, block: &OrderedBlock) -> Reg {
        let preds = self.problem.preds(block.block);
        let (hint, hint_at) = self.values.hint(param);
        // The registers of arguments on back edges are not known yet.
        if preds.len() < 2 || self.order.is_header(self.order.index_at(block.head)) {
            return reg;
        }
        let args = || {
            preds.iter().take(MAX_PREDS).map(|&edge| {
                let arg = self.problem.edge_args(edge)[k];
                (self.last_reg(arg), self.problem.edge(edge).freq.0)
            })
        };
        let mut majority = Majority::default();
        args().for_each(|(reg, freq)| majority.vote(reg, freq));
        let most = majority.winner().unwrap_or(reg);
        let benefit = |reg: Reg| {
            let there = args().filter(|&(arg, _)| arg == reg).map(|(_, freq)| freq);
            let hinted = if reg == hint { self.order.freq_at(hint_at).0 } else { 0 };
            there.fold(hinted, u64::saturating_add)
        };
        // A parameter that is live after the fixed operand has to leave the register there.
        let is_hint_kept =
            || self.values.end(param) <= ProgPoint::before(hint_at.next()) && self.is_kept_until(param, hint, hint_at);
        let is_open = |other: Reg| {
            !other.is_none()
                && other.class() == self.values[param].class()
                && !other.is_in(&self.scan.occupancy.held)
                && !self.is_unsaved(other)
                && (other != hint || is_hint_kept())
        };
        let mut others = [hint, most].into_iter().filter(|&other| other != reg && is_open(other)).peekable();
        if others.peek().is_none() {
            return reg;
        }
        let mut best = (benefit(reg), reg);
        for other in others {
            if benefit(other) > best.0 {
                best = (benefit(other), other);
            }
        }
        best.1
    }

    /// Returns `true` if it is a callee-saved register that has no save yet.
    fn is_unsaved(&self, reg: Reg) -> bool {
        reg.is_in(&self.registers.callee_saved) && !reg.is_in(&self.scan.occupancy.used)
    }

    /// Assigns a parameter the register of its argument if that is free for long enough, or if no register is.
    fn inherit(&mut self, param: VReg, reg: Reg, start: ProgPoint) {
        let class = self.values[param].class();
        if reg.is_none() || !self.is_used(param) || reg.is_in(&self.scan.occupancy.held) || reg.class() != class {
            return;
        }
        let until = self.values.live_until(param, start);
        let blocked = self.blocked(param, until);
        let fresh = self.fresh(class);
        let others = self.registers.allocatable[class] & !self.scan.occupancy.held[class] & !fresh & !blocked;
        let (hint, hint_at) = self.values.hint(param);
        let is_hint = reg == hint && self.is_kept_until(param, hint, hint_at);
        if blocked & reg.bit() == 0 || others == 0 || is_hint {
            self.open(param, reg, start, false);
        }
    }

    fn assign_param(&mut self, param: VReg, arg: Option<VReg>, block: &OrderedBlock) {
        if !self.is_used(param) || !self.values.current_reg(param).is_none() {
            return;
        }
        let start = block.start();
        let prefer = arg.map_or(Reg::NONE, |arg| self.values[arg].edge_reg);
        let is_head = self.order.is_header(self.order.index_at(block.head));
        // If argument and parameter share a slot, memory to memory costs nothing.
        if prefer.is_none() && !is_head && arg.is_some_and(|arg| !self.values.is_remat(arg)) {
            return;
        }
        let class = self.values[param].class();
        let next = self.next_use_through(param, start);
        let free = self.registers.allocatable[class] & !self.scan.occupancy.held[class];
        if free != 0 {
            if free & !self.blocked(param, next) != 0 {
                let reg = self.pick_register(param, free, start, prefer);
                self.open(param, reg, start, false);
            }
            return;
        }
        let held = self.scan.occupancy.held[class];
        match self.farthest_next_use(class, held, start) {
            Some((reg, farthest_next_use)) if farthest_next_use > next => {
                self.evict(reg, start);
                self.open(param, reg, start, false);
            }
            _ => {}
        }
    }
}

impl Scan<'_, '_> {
    /// Splits intervals of values that calls in the loop would evict, at a loop header that is entered `entered`
    /// times.
    pub(crate) fn split_at_loop_header(&mut self, at: BlockIndex, entered: u64) {
        let Some(l) = self.order.loop_of_header(at) else { return };
        let end = self.order.loop_points(l).to;
        if self.s.clobber_at >= end.position() {
            return;
        }
        for class in 0..2 {
            for reg in regs(class, self.scan.occupancy.held[class]) {
                if reg.is_in(&self.scan.occupancy.held) {
                    self.split_for_calls(at, reg, end, entered);
                }
            }
        }
    }

    /// Moves the value in `reg` to another register if it is used before `end`, and would be evicted from `reg`
    /// more often than the loop is entered.
    fn split_for_calls(&mut self, at: BlockIndex, reg: Reg, end: ProgPoint, entered: u64) {
        let start = self.order.block(at).start();
        let vreg = self.scan.occupancy.vreg_in(reg);
        let until = self.values.live_until(vreg, start).min(end);
        let Some(position) = self.first_lost(vreg, reg, until) else { return };
        if self.order.freq_at(position).0 <= entered
            || self.values.is_remat(vreg)
            || self.next_use_through(vreg, start) >= end
        {
            return;
        }
        let Some(to) = self.register_across_calls(vreg, start, until, end) else { return };
        let since_def = self.last_interval(vreg).is_some_and(|interval| interval.since_def);
        self.close(reg, start);
        self.open(vreg, to, start, since_def);
    }

    /// Returns a register in which no clobber point evicts the value: a free register, or a register whose value
    /// the loop does not use.
    fn register_across_calls(&mut self, vreg: VReg, start: ProgPoint, until: ProgPoint, end: ProgPoint) -> Option<Reg> {
        let class = self.values[vreg].class();
        let kept = self.registers.allocatable[class] & !self.blocked(vreg, until);
        let occupancy = &self.scan.occupancy;
        let fresh = self.registers.callee_saved[class] & !occupancy.used[class];
        let (free, held) = (kept & !occupancy.held[class] & !fresh, kept & occupancy.held[class]);
        if free != 0 {
            return Some(Reg::new(class, free.trailing_zeros()));
        }
        let (to, next) = self.farthest_next_use(class, held, start)?;
        let victim = self.scan.occupancy.vreg_in(to);
        if next < end || self.values.is_edge_def(victim) {
            return None;
        }
        self.evict(to, start);
        if self.values.def(victim) == start {
            // A parameter that the loop only passes on.
            self.values.set(victim, flag::DEF_IN_MEM);
        }
        Some(to)
    }
}
