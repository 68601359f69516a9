//! What the edges must move, what is read from memory, and where each spilled value is stored.
//!
//! ```text
//! b1: .. v0 in r1 ..; jump b3 ─┐
//! b2: .. v0 in memory; jump b3 ┴▶ b3: v0 in r2       b1 gets  move r2 <- r1,  b2 gets  fill r2 <- slot of v0
//! ```
//!
//! Only stays at the two ends of an edge are compared, so an edge costs no more than there are registers, plus its
//! arguments; blocks that simply go on where their only predecessor ended are skipped.
//!
//! A spilled value is stored once, right after its definition, so that all later splits into memory are free; or, if that
//! is cheaper by the blocks' frequencies, wherever it leaves a register for memory (a value from a hot block that is
//! spilled on a cold path only). Values that can be computed again are never stored.
//!
//! Cost: linear in stays, gap moves, and edges times registers.

use crate::hints::Hints;
use crate::liveness::Liveness;
use crate::machine::{Machine, Reg};
use crate::order::{NONE, Order};
use crate::point::Point;
use crate::residence::Stay;
use crate::walk::{Found, GapMove};
use cranelift_entity::EntityRef;
use kingpost_regalloc::{Allocation, Edge, Inst, Problem, VReg};
use std::ops::Range;

/// A copy on an edge.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EdgeMove {
    /// The value before and after: they differ for parameters.
    pub(crate) from_vreg: VReg,
    pub(crate) to_vreg: VReg,
    /// None if in memory.
    pub(crate) from: Reg,
    pub(crate) to: Reg,
    /// A store that is needed only if the value is not stored at its definition.
    pub(crate) leaves_register: bool,
}

/// A place inside a block where a value leaves its register for memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Leaving {
    pub(crate) inst: Inst,
    pub(crate) vreg: VReg,
    pub(crate) stay: u32,
}

/// A value to be stored after the instruction that defines it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Stored {
    /// The instruction after that.
    pub(crate) before: Inst,
    pub(crate) vreg: VReg,
}

/// Where a value is stored.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum Store {
    /// Never by an edit.
    #[default]
    Never,
    AtDef,
    WhereItLeaves,
}

#[derive(Default)]
pub(crate) struct Resolved {
    pub(crate) moves: Vec<EdgeMove>,
    /// By edge.
    spans: Vec<Range<u32>>,
    pub(crate) leaving: Vec<Leaving>,
    /// In the order of instructions; values that begin with their blocks are not among them.
    pub(crate) stored: Vec<Stored>,
    /// By value.
    pub(crate) stores: Vec<Store>,
    /// By value: price of storing it wherever it leaves a register.
    leaving_freq: Vec<u64>,
    /// By value, while one edge is at hand: one plus its stay at the predecessor's end, at the successor's head.
    at_end: Vec<u32>,
    at_head: Vec<u32>,
    /// Safepoints, by slot.
    safepoints: Vec<u32>,
    /// References in memory at safepoints.
    pub(crate) references: Vec<(Inst, VReg)>,
}

pub(crate) struct Input<'a> {
    pub(crate) problem: &'a Problem,
    pub(crate) machine: &'a Machine,
    pub(crate) order: &'a Order,
    pub(crate) live: &'a Liveness,
    pub(crate) hints: &'a Hints,
}

impl Resolved {
    pub(crate) fn build(&mut self, input: &Input<'_>, found: &mut Found, out: &Allocation) {
        self.begin(input.problem);
        self.read_gaps(input, found);
        for edge in input.problem.edges() {
            let first = self.moves.len() as u32;
            let to = input.order.at(input.problem.edge(edge).to);
            if found.resolve[to as usize] {
                self.edge(input, found, out, edge);
            }
            self.spans.push(first..self.moves.len() as u32);
        }
        self.find_leaving(input, found);
        self.find_references(input, found);
        self.choose_stores(input, found);
    }

    pub(crate) fn edge_moves(&self, edge: Edge) -> &[EdgeMove] {
        let span = &self.spans[edge.index()];
        &self.moves[span.start as usize..span.end as usize]
    }

    fn begin(&mut self, problem: &Problem) {
        let values = problem.vregs.len();
        self.moves.clear();
        self.spans.clear();
        self.leaving.clear();
        self.stored.clear();
        self.stores.clear();
        self.stores.resize(values, Store::Never);
        self.leaving_freq.clear();
        self.leaving_freq.resize(values, 0);
        self.at_end.clear();
        self.at_end.resize(values, 0);
        self.at_head.clear();
        self.at_head.resize(values, 0);
        self.references.clear();
    }

    fn read_gaps(&mut self, input: &Input<'_>, found: &mut Found) {
        for gap in &found.gaps {
            for m in &found.gap_moves[gap.moves.start as usize..gap.moves.end as usize] {
                if is_needed(&found.residence.stays, m) && !is_from_reg(&found.residence.stays, m, gap.point) {
                    found.residence.facts[m.vreg.index()].mem_read |= !input.hints.is_remat(m.vreg);
                }
            }
        }
    }

    fn edge(&mut self, input: &Input<'_>, found: &mut Found, out: &Allocation, edge: Edge) {
        let Input { problem, order, live, .. } = *input;
        let data = problem.edge(edge);
        let (from, to) = (order.place(data.from), order.place(data.to));
        let (last, start) = (from.stop().prev(), to.start());
        let end_map = found.at_end[order.at(data.from) as usize].clone();
        let head_map = found.at_head[order.at(data.to) as usize].clone();
        let stays = &found.residence.stays;
        note(&mut self.at_end, stays, &found.maps, end_map.clone(), last);
        note(&mut self.at_head, stays, &found.maps, head_map.clone(), start);
        for i in head_map.clone() {
            let vreg = stays[found.maps[i as usize] as usize].vreg;
            if self.at_head[vreg.index()] != 0 && live.def(vreg) != start {
                // Where liveness is a superset there may be nothing to move.
                if live.is_exact(vreg) || live.is_live(vreg, last) {
                    self.pass(&found.residence.stays, vreg, vreg, data.freq.0);
                }
            }
        }
        for (&arg, &param) in problem.edge_args(edge).iter().zip(problem.params(data.to)) {
            if live.is_used(param) {
                self.pass(&found.residence.stays, arg, param, data.freq.0);
            }
        }
        for &def in problem.edge_defs(edge) {
            if live.is_used(def) {
                self.pass_def(input, found, out, data.from, def);
            }
        }
        for i in end_map.clone() {
            let vreg = found.residence.stays[found.maps[i as usize] as usize].vreg;
            let reg = reg_at(&found.residence.stays, self.at_end[vreg.index()]);
            let leaves = !reg.is_none() && self.at_head[vreg.index()] == 0 && !input.hints.is_remat(vreg);
            if leaves && live.is_live(vreg, start) {
                self.moves.push(EdgeMove {
                    from_vreg: vreg,
                    to_vreg: vreg,
                    from: reg,
                    to: Reg::NONE,
                    leaves_register: true,
                });
                self.leaving_freq[vreg.index()] = self.leaving_freq[vreg.index()].saturating_add(data.freq.0);
            }
        }
        self.note_reads(input, found, edge);
        for map in [end_map, head_map] {
            for i in map {
                let vreg = found.residence.stays[found.maps[i as usize] as usize].vreg;
                self.at_end[vreg.index()] = 0;
                self.at_head[vreg.index()] = 0;
            }
        }
    }

    /// `from` at the predecessor's end becomes `to` at the successor's head.
    fn pass(&mut self, stays: &[Stay], from_vreg: VReg, to_vreg: VReg, freq: u64) {
        let from = reg_at(stays, self.at_end[from_vreg.index()]);
        let to = reg_at(stays, self.at_head[to_vreg.index()]);
        self.moves.push(EdgeMove { from_vreg, to_vreg, from, to, leaves_register: false });
        // Once stored where it is defined, it need not be stored for a parameter that shares its slot.
        if to.is_none() && !from.is_none() {
            let leaving = &mut self.leaving_freq[from_vreg.index()];
            *leaving = leaving.saturating_add(freq);
        }
    }

    /// A result of the terminator, in the place the terminator wrote, becomes what it is at the successor's head.
    fn pass_def(
        &mut self,
        input: &Input<'_>,
        found: &Found,
        out: &Allocation,
        from: kingpost_regalloc::Block,
        def: VReg,
    ) {
        let problem = input.problem;
        let mut range = problem.operand_range(problem.terminator(from));
        let operand = range.find(|&at| {
            let operand = problem.all_operands()[at];
            operand.is_def() && operand.vreg() == def
        });
        let loc = operand.map(|at| out.locs[at]);
        let from = loc.and_then(|loc| loc.as_reg()).map_or(Reg::NONE, |preg| input.machine.reg(preg));
        let to = reg_at(&found.residence.stays, self.at_head[def.index()]);
        self.moves.push(EdgeMove { from_vreg: def, to_vreg: def, from, to, leaves_register: false });
    }

    /// Takes note of what the moves of the newest edge read, and forgets those that move nothing.
    fn note_reads(&mut self, input: &Input<'_>, found: &mut Found, edge: Edge) {
        let first = self.spans.last().map_or(0, |span| span.end as usize);
        debug_assert_eq!(self.spans.len(), edge.index());
        let mut kept = first;
        for i in first..self.moves.len() {
            let m = self.moves[i];
            let stay = self.at_end[m.from_vreg.index()];
            let since_def = stay != 0 && found.residence.stay(stay - 1).since_def;
            let facts = found.residence.facts(m.from_vreg);
            facts.keep_def |= since_def;
            facts.mem_read |= m.from.is_none() && m.from_vreg != m.to_vreg && !input.hints.is_remat(m.from_vreg);
            facts.mem_read |= m.from.is_none() && !m.to.is_none() && !input.hints.is_remat(m.from_vreg);
            let stays_put = m.from == m.to && (!m.from.is_none() || m.from_vreg == m.to_vreg);
            if !stays_put {
                self.moves[kept] = m;
                kept += 1;
            }
        }
        self.moves.truncate(kept);
    }

    fn find_leaving(&mut self, input: &Input<'_>, found: &Found) {
        let stays = &found.residence.stays;
        for (id, stay) in stays.iter().enumerate() {
            if !stay.evicted || stay.is_void() || stay.continued || input.hints.is_remat(stay.vreg) {
                continue;
            }
            let slot = stay.to.slot();
            let place = input.order.place_at(slot);
            // At a block's head the edges see to it.
            if place.head == slot {
                continue;
            }
            let mut source = id as u32;
            if stay.from == Point::early(slot) {
                // The stay is as short as one instruction: what counts is where the value was before.
                match stays.get(stay.prev as usize) {
                    Some(prev) if prev.to == stay.from && !prev.is_void() => source = stay.prev,
                    _ => continue,
                }
            }
            self.leaving.push(Leaving { inst: place.inst(slot), vreg: stay.vreg, stay: source });
            let freq = &mut self.leaving_freq[stay.vreg.index()];
            *freq = freq.saturating_add(place.freq);
        }
        self.leaving.sort_unstable();
    }

    /// References that live across a safepoint are in memory there.
    fn find_references(&mut self, input: &Input<'_>, found: &mut Found) {
        self.safepoints.clear();
        let safepoints = input.hints.obstacles.iter().filter(|o| o.safepoint);
        self.safepoints.extend(safepoints.map(|o| o.slot));
        if self.safepoints.is_empty() {
            return;
        }
        for (vreg, data) in input.problem.vregs.iter() {
            if !data.is_ref || input.hints.is_remat(vreg) {
                continue;
            }
            for range in input.live.ranges(vreg) {
                let first = self.safepoints.partition_point(|&slot| Point::early(slot) < range.from);
                for &slot in self.safepoints[first..].iter().take_while(|&&slot| Point::late(slot) < range.to) {
                    self.references.push((input.order.place_at(slot).inst(slot), vreg));
                    found.residence.facts(vreg).mem_read = true;
                }
            }
        }
    }

    fn choose_stores(&mut self, input: &Input<'_>, found: &Found) {
        for (vreg, _) in input.problem.vregs.iter() {
            let facts = found.residence.facts[vreg.index()];
            if !facts.mem_read || facts.def_in_mem || input.hints.is_remat(vreg) {
                continue;
            }
            let slot = input.live.def(vreg).slot();
            let place = input.order.place_at(slot);
            let leaving = self.leaving_freq[vreg.index()];
            if !facts.force_store && leaving < place.freq {
                self.stores[vreg.index()] = Store::WhereItLeaves;
                continue;
            }
            self.stores[vreg.index()] = Store::AtDef;
            if !input.live.is_at_head(vreg) {
                self.stored.push(Stored { before: place.inst(slot + 1), vreg });
            }
        }
        self.stored.sort_unstable();
    }
}

/// Does the move still have a purpose?
pub(crate) fn is_needed(stays: &[Stay], m: &GapMove) -> bool {
    m.stay == NONE || !stays[m.stay as usize].is_void()
}

/// Is the value still in the register that the move was to read?
pub(crate) fn is_from_reg(stays: &[Stay], m: &GapMove, point: Point) -> bool {
    stays.get(m.from as usize).is_some_and(|stay| !stay.is_void() && stay.to >= point)
}

fn note(table: &mut [u32], stays: &[Stay], maps: &[u32], range: Range<u32>, point: Point) {
    for i in range {
        let id = maps[i as usize];
        let stay = &stays[id as usize];
        if stay.covers(point) {
            table[stay.vreg.index()] = id + 1;
        }
    }
}

fn reg_at(stays: &[Stay], entry: u32) -> Reg {
    match entry {
        0 => Reg::NONE,
        id => stays[id as usize - 1].reg,
    }
}
