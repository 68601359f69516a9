//! What is in which register where a block begins: the registers of the best known predecessor, the results of its
//! terminator, the block's parameters.

use crate::values::NONE;
use crate::values::fact;
use crate::walk::Scan;
use cranelift_entity::EntityRef;
use kingpost_regalloc::{Edge, Event, RegClass, VReg};
use kingpost_regalloc_common::edge_sites::Majority;
use kingpost_regalloc_common::order::{BlockIndex, OrderedBlock};
use kingpost_regalloc_common::point::ProgPoint;
use kingpost_regalloc_common::preference::{Reg, regs};

/// So many edges are asked for the registers of their arguments.
const PREDECESSORS_ASKED: usize = 64;
/// So many parameters may be in memory while all registers are taken.
const FEW_PARAMS: usize = 2;

impl Scan<'_, '_> {
    pub(crate) fn start_block(&mut self, at: BlockIndex) {
        let place = *self.order.block(at);
        let preds = self.problem.preds(place.block);
        let reference = self.reference(preds, at);
        match reference {
            Some((edge, pred)) => self.take_over(edge, pred, at),
            None => self.close_all(place.start()),
        }
        let begins = self.begin_values(&place, reference.map(|(edge, _)| edge));
        self.found.settled[at.index()] = match reference {
            Some((edge, _)) if !begins => edge.as_u32(),
            _ => NONE,
        };
        self.found.resolve[at.index()] = begins || preds.len() >= 2 || reference.is_none();
        if let (Some((edge, _)), true) = (reference, preds.len() >= 2) {
            self.reload_at_head(at);
            self.settle_loop(at, self.problem.edge(edge).freq.0);
        }
        for vreg in self.s.edge_values.drain(..) {
            self.values[vreg].edge_reg = Reg::NONE;
        }
        if self.found.resolve[at.index()] {
            self.found.at_head[at.index()] = self.save_map();
        }
    }

    pub(crate) fn end_block(&mut self, at: BlockIndex) {
        let place = *self.order.block(at);
        let goes_on = match *self.problem.succs(place.block) {
            [] => true,
            [edge] => {
                let to = self.problem.edge(edge).to;
                self.order.index(to) == at.next()
                    && self.problem.preds(to).len() == 1
                    && self.problem.params(to).is_empty()
                    && self.problem.edge_defs(edge).is_empty()
            }
            _ => false,
        };
        if !goes_on {
            self.found.at_end[at.index()] = self.save_map();
        }
    }

    fn save_map(&mut self) -> std::ops::Range<u32> {
        let start = self.found.maps.len() as u32;
        for class in 0..2 {
            for reg in regs(class, self.found.residence.held[class]) {
                let stay = self.found.residence.holder(reg);
                self.found.maps.push(stay);
            }
        }
        start..self.found.maps.len() as u32
    }

    /// The most frequent edge from a block that was visited, and that block's index.
    fn reference(&self, preds: &[Edge], at: BlockIndex) -> Option<(Edge, BlockIndex)> {
        let visited = preds.iter().map(|&edge| (edge, self.order.index(self.problem.edge(edge).from)));
        visited.filter(|&(_, pred)| pred < at).max_by_key(|&(edge, pred)| (self.problem.edge(edge).freq, pred))
    }

    /// Values that left the predecessor in registers and are live here stay where they are.
    fn take_over(&mut self, edge: Edge, pred: BlockIndex, at: BlockIndex) {
        let start = self.order.block(at).start();
        let has_args = !self.problem.edge_args(edge).is_empty();
        if pred.next() == at {
            for class in 0..2 {
                for reg in regs(class, self.found.residence.held[class]) {
                    if has_args {
                        self.note_edge_reg(self.found.residence.holder_vreg(reg), reg);
                    }
                    if self.found.residence.holder_until(reg) <= start {
                        self.close(reg, start);
                    }
                }
            }
            return;
        }
        self.close_all(start);
        let last = self.order.block(pred).stop().prev();
        for i in self.found.at_end[pred.index()].clone() {
            let stay = *self.found.residence.stay(self.found.maps[i as usize]);
            if !stay.covers(last) {
                continue;
            }
            if has_args {
                self.note_edge_reg(stay.vreg, stay.reg);
            }
            if self.goes_on(stay.vreg, start) {
                self.open(stay.vreg, stay.reg, start, stay.since_def);
            }
        }
    }

    /// Is the value live into the block that begins at `start`, rather than defined by it once more?
    fn goes_on(&mut self, vreg: VReg, start: ProgPoint) -> bool {
        self.values.def(vreg) != start && self.values.is_live(vreg, start)
    }

    fn note_edge_reg(&mut self, vreg: VReg, reg: Reg) {
        self.values[vreg].edge_reg = reg;
        self.s.edge_values.push(vreg);
    }

    /// Places the values that begin with the block. Are there any?
    fn begin_values(&mut self, place: &OrderedBlock, reference: Option<Edge>) -> bool {
        let start = place.start();
        let params = self.problem.params(place.block);
        let args = reference.map_or(&[][..], |edge| self.problem.edge_args(edge));
        let defs = match self.problem.preds(place.block) {
            &[edge] => self.problem.edge_defs(edge),
            _ => &[],
        };
        if let (Some(edge), false) = (reference, defs.is_empty()) {
            self.place_edge_defs(edge, start);
        }
        for (k, (&param, &arg)) in params.iter().zip(args).enumerate() {
            let reg = self.values[arg].edge_reg;
            let best = self.best_for_param(k, param, reg, place);
            self.inherit(param, best, start);
            if !reg.is_none() && self.values.home(param) == reg {
                self.event(Event::Coalesce { a: arg, b: param });
            }
        }
        for (k, &param) in params.iter().enumerate() {
            self.place_param(param, args.get(k).copied(), place);
        }
        if params.len() > FEW_PARAMS {
            self.leave_some_free(params, start);
        }
        for &vreg in params.iter().chain(defs) {
            let home = self.values.home(vreg);
            if !home.is_none() {
                self.offer(vreg, home);
            } else if self.is_used(vreg) {
                self.values.set(vreg, fact::DEF_IN_MEM);
                self.plan_reload(vreg, start);
            }
        }
        !(params.is_empty() && defs.is_empty())
    }

    /// Several parameters in memory mean several moves from slot to slot on an edge, which go through a register, and
    /// perhaps round in a circle, which takes another. It is cheaper to leave two empty than to borrow one for each move.
    fn leave_some_free(&mut self, params: &[VReg], start: ProgPoint) {
        for class in RegClass::ALL {
            let c = class.index();
            let env = self.env.class(class);
            let in_memory = |param: VReg| {
                self.problem.class(param) == class && self.is_used(param) && self.values.home(param).is_none()
            };
            let many = params.iter().filter(|&&param| in_memory(param)).count() > FEW_PARAMS;
            if !many || env.scratch.is_some() || env.slot_move {
                continue;
            }
            for _ in 0..2 {
                let held = self.found.residence.held[c];
                let full = (self.registers.allocatable[c] & !held).count_ones() < 2;
                if let (true, Some((reg, _))) = (full, self.farthest(c, held, start)) {
                    self.evict(reg, start);
                }
            }
        }
    }

    fn is_used(&self, vreg: VReg) -> bool {
        self.values.is_used(vreg)
    }

    /// Results of a terminator begin in the registers it wrote.
    fn place_edge_defs(&mut self, edge: Edge, start: ProgPoint) {
        let terminator = self.problem.terminator(self.problem.edge(edge).from);
        for at in self.problem.operand_range(terminator) {
            let operand = self.problem.all_operands()[at];
            let vreg = operand.vreg();
            let here = operand.is_def() && self.values.is_edge_def(vreg) && self.values.def(vreg) == start;
            let reg = self.out.locs[at].as_reg().map_or(Reg::NONE, |preg| self.registers.reg(preg));
            if here && self.is_used(vreg) && !reg.is_none() && !reg.is_in(&self.found.residence.held) {
                self.open(vreg, reg, start, true);
            }
        }
    }

    /// The register for a parameter that saves most moves: that of its argument on the best known edge, `reg`, one that
    /// arguments of other edges are in, or the one that it is wanted in later.
    fn best_for_param(&self, k: usize, param: VReg, reg: Reg, place: &OrderedBlock) -> Reg {
        let preds = self.problem.preds(place.block);
        let (wish, wish_slot) = self.values.wish(param);
        // What a loop passes back is not known yet.
        if preds.len() < 2 || self.order.is_header(self.order.index_at(place.head)) {
            return reg;
        }
        let args = || {
            preds.iter().take(PREDECESSORS_ASKED).map(|&edge| {
                let arg = self.problem.edge_args(edge)[k];
                (self.last_reg(arg), self.problem.edge(edge).freq.0)
            })
        };
        let mut majority = Majority::default();
        args().for_each(|(reg, freq)| majority.vote(reg, freq));
        let most = majority.winner().unwrap_or(reg);
        let worth = |reg: Reg| {
            let there = args().filter(|&(arg, _)| arg == reg).map(|(_, freq)| freq);
            let wished = if reg == wish { self.order.freq_at(wish_slot).0 } else { 0 };
            there.fold(wished, u64::saturating_add)
        };
        // Whoever lives on after the wish was met has to leave the register there.
        let is_wish_kept =
            self.values.end(param) <= ProgPoint::before(wish_slot.next()) && self.is_kept_until(param, wish, wish_slot);
        let is_open = |other: Reg| {
            !other.is_none()
                && other.class() == self.values[param].class()
                && !other.is_in(&self.found.residence.held)
                && !self.is_unsaved(other)
                && (other != wish || is_wish_kept)
        };
        let mut best = (worth(reg), reg);
        for other in [wish, most] {
            if other != reg && is_open(other) && worth(other) > best.0 {
                best = (worth(other), other);
            }
        }
        best.1
    }

    /// Would the register have to be saved for the first time?
    fn is_unsaved(&self, reg: Reg) -> bool {
        reg.is_in(&self.registers.callee_saved) && !reg.is_in(&self.found.residence.used)
    }

    /// A parameter takes the register of its argument if that is free now and will be for as long as any other.
    fn inherit(&mut self, param: VReg, reg: Reg, start: ProgPoint) {
        let class = self.values[param].class();
        if reg.is_none() || !self.is_used(param) || reg.is_in(&self.found.residence.held) || reg.class() != class {
            return;
        }
        let until = self.values.live_until(param, start);
        let blocked = self.blocked(param, until);
        let fresh = self.registers.callee_saved[class] & !self.found.residence.used[class];
        let others = self.registers.allocatable[class] & !self.found.residence.held[class] & !fresh & !blocked;
        let (wish, wish_slot) = self.values.wish(param);
        let is_wish = reg == wish && self.is_kept_until(param, wish, wish_slot);
        if blocked & reg.bit() == 0 || others == 0 || is_wish {
            self.open(param, reg, start, false);
        }
    }

    fn place_param(&mut self, param: VReg, arg: Option<VReg>, place: &OrderedBlock) {
        if !self.is_used(param) || !self.values.home(param).is_none() {
            return;
        }
        let start = place.start();
        let prefer = arg.map_or(Reg::NONE, |arg| self.values[arg].edge_reg);
        let is_head = self.order.is_header(self.order.index_at(place.head));
        // From memory to memory costs nothing where both share a slot.
        if prefer.is_none() && !is_head && arg.is_some_and(|arg| !self.values.is_remat(arg)) {
            return;
        }
        let class = self.values[param].class();
        let next = self.next_use_through(param, start);
        let free = self.registers.allocatable[class] & !self.found.residence.held[class];
        if free != 0 {
            if free & !self.blocked(param, next) != 0 {
                let reg = self.choose(param, free, start, prefer);
                self.open(param, reg, start, false);
            }
            return;
        }
        let held = self.found.residence.held[class];
        match self.farthest(class, held, start) {
            Some((reg, farthest)) if farthest > next => {
                self.evict(reg, start);
                self.open(param, reg, start, false);
            }
            _ => {}
        }
    }
}
