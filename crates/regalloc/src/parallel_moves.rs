//! Resolution of parallel moves into sequences: all sources are read before any destination is written, as on an
//! edge.
//!
//! ```text
//! r0 -> r1, r1 -> r0, r0 -> s2      becomes      spill r0 -> s2;  exchange r0, r1
//! ```
//!
//! Most parallel moves have no cycle and copy nothing from memory to memory. They need only an order: stores first,
//! then moves between registers, each before its source is overwritten, then loads and rematerialized values.
//!
//! The general case follows Boissinot, Darte, Rastello, de Dinechin and Guillon, *Revisiting out-of-SSA translation
//! for correctness, code quality and efficiency* (2009), with its published errors corrected. A destination is
//! ready as soon as the value in it is no longer needed or has a copy elsewhere. When no destination is ready, the
//! remaining moves form simple cycles. A cycle of registers is broken by the cheapest of these: exchanges, an idle
//! register, a copy in a slot, the emergency slot. Rematerialized values depend on no location and come last, so
//! that their destinations serve as idle registers until then.
//!
//! A value moves between slots through an idle register. If there is none, a register is lent: it is saved in the
//! emergency slot of its class and restored at the end.
//!
//! Cost: n log n in the moves for one sort, otherwise linear; a few dozen instructions per move if only an order is
//! needed. The number of edits is minimal as long as only registers are involved: one per destination, and one more
//! (one less with exchanges) for each cycle that no move copies from to the outside.

use crate::allocation::{Allocation, EditKind, Loc};
use crate::entities::{Inst, Slot};
use crate::env::MachineEnv;
use crate::problem::Problem;
use crate::reg::{PReg, PRegSet, RegClass};
use std::fmt;

#[cfg(test)]
mod tests;

/// Source of a copy.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Source {
    Loc(Loc),
    Remat(Inst),
}

/// Largest number of moves that the fast path tries to order.
const MOST_IN_ORDER: usize = 16;

impl Source {
    fn as_reg(self) -> Option<PReg> {
        match self {
            Source::Loc(loc) => loc.as_reg(),
            Source::Remat(_) => None,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// The destination holds a value that is still needed there.
    Blocked,
    /// The destination may be written.
    Ready,
    Done,
}

#[derive(Clone, Copy, Debug)]
struct Move {
    source: Source,
    to: Loc,
    class: RegClass,
    width: u8,
    /// Index of the value that is moved.
    value: u32,
    state: State,
}

impl Move {
    fn is_between_regs(&self) -> bool {
        self.source.as_reg().is_some() && self.to.as_reg().is_some()
    }

    /// Returns the single edit that performs the move, or `None` for a move from memory to memory.
    fn edit(&self) -> Option<EditKind> {
        let Move { source, to, width, .. } = *self;
        let to_reg = to.as_reg();
        match source {
            Source::Remat(inst) => to_reg.map(|to| EditKind::Remat { inst, to }),
            Source::Loc(from) => match (from.as_reg(), to_reg) {
                (Some(from), Some(to)) => Some(EditKind::Move { from, to, width }),
                (Some(from), None) => to.as_slot().map(|to| EditKind::Spill { from, to, width }),
                (None, Some(to)) => from.as_slot().map(|from| EditKind::Fill { from, to, width }),
                (None, None) => None,
            },
        }
    }
}

/// The value of one source before the moves.
#[derive(Clone, Copy, Debug)]
struct Value {
    source: Source,
    /// Best copy of the value now: its source, a finished destination or a temporary.
    place: Source,
    class: RegClass,
    /// Width of its widest move in bytes, which a copy must have if it is copied again.
    width: u8,
    /// Number of destinations that are not written yet.
    pending: u32,
    /// Number of these destinations that are registers.
    pending_regs: u32,
    /// The move that writes the source, or [`NONE`].
    blocks: u32,
    /// A finished destination in memory that carries the whole width.
    slot_copy: Option<Slot>,
}

const NONE: u32 = u32::MAX;

/// The class has no register through which a value could move from slot to slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoRegister(
    /// The class without registers.
    pub RegClass,
);

impl fmt::Display for NoRegister {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no {} register to move a value between slots with", self.0)
    }
}

impl std::error::Error for NoRegister {}

/// A parallel move under construction. Its memory is reused for the next one.
#[derive(Clone, Debug)]
pub struct ParallelMoves {
    moves: Vec<Move>,
    /// Registers that the moves read, and registers that they write.
    read: PRegSet,
    written: PRegSet,
    /// One bit per remainder of the numbers of slots that are read or written.
    slots: u64,
    /// Whether the moves need more than an order.
    is_hard: bool,
    values: Vec<Value>,
    ready_slots: Vec<u32>,
    ready_regs: Vec<u32>,
    /// Ready register destinations of rematerialized values.
    late: Vec<u32>,
    /// Ready slots whose value is loaded into a register for another destination anyway; storing it then is
    /// cheaper.
    waiting: Vec<u32>,
    cycle: Vec<u32>,
    /// Bytes of the widest value of each class in the problem; 0 if not computed yet.
    widest: [u8; 2],
    /// Registers moved to themselves.
    kept: PRegSet,
    /// Registers that hold no live value, given by the caller.
    free: PRegSet,
    /// Registers that may be overwritten now.
    idle: PRegSet,
    /// Per class, the register that is saved in the emergency slot of the class.
    lent: [Option<PReg>; 2],
    /// The temporary that holds a value of the cycle under way.
    held: Option<Loc>,
    /// An idle register that still holds this value.
    cached: Option<(u32, PReg)>,
}

impl Default for ParallelMoves {
    fn default() -> ParallelMoves {
        ParallelMoves {
            moves: Vec::new(),
            read: PRegSet::EMPTY,
            written: PRegSet::EMPTY,
            slots: 0,
            is_hard: false,
            values: Vec::new(),
            ready_slots: Vec::new(),
            ready_regs: Vec::new(),
            late: Vec::new(),
            waiting: Vec::new(),
            cycle: Vec::new(),
            widest: [0; 2],
            kept: PRegSet::EMPTY,
            free: PRegSet::EMPTY,
            idle: PRegSet::EMPTY,
            lent: [None; 2],
            held: None,
            cached: None,
        }
    }
}

impl ParallelMoves {
    /// Creates a parallel move without moves.
    pub fn new() -> ParallelMoves {
        ParallelMoves::default()
    }

    /// Clears all moves and the data of the former problem. It must be called once per problem.
    pub fn begin(&mut self) {
        self.clear();
        self.widest = [0; 2];
    }

    /// Adds the move of `width` bytes from one location to another. A destination has one source.
    pub fn add(&mut self, from: Loc, to: Loc, class: RegClass, width: u8) {
        match to.as_reg() {
            _ if from != to => self.push(Source::Loc(from), to, class, width),
            Some(reg) => self.kept.insert(reg),
            None => {}
        }
    }

    /// Adds the computation of the rematerializable instruction `inst`, whose def is of `width` bytes, into `to`.
    pub fn add_remat(&mut self, inst: Inst, to: Loc, class: RegClass, width: u8) {
        self.push(Source::Remat(inst), to, class, width);
    }

    /// Returns `true` if there are no moves.
    pub fn is_empty(&self) -> bool {
        self.moves.is_empty()
    }

    /// Returns `true` if the moves need only an order; then appends their edits to `out` and clears them.
    /// [`ParallelMoves::resolve`] begins with this. A direct call saves the caller the computation of the free
    /// registers. Without this fast path, compilation takes 2.2 % more instructions (`make gate`, `x86_64 linear
    /// none`).
    pub fn resolve_in_order(&mut self, out: &mut Vec<EditKind>) -> bool {
        if self.is_hard || self.moves.len() > MOST_IN_ORDER {
            return false;
        }
        if let [only] = &self.moves[..] {
            out.extend(only.edit());
            self.clear();
            return true;
        }
        let start = out.len();
        let edits_to = |in_reg: bool| self.moves.iter().filter(move |m| m.to.as_reg().is_some() == in_reg);
        out.extend(edits_to(false).filter_map(Move::edit));
        if self.read.intersection(self.written).is_empty() {
            out.extend(edits_to(true).filter_map(Move::edit));
        } else if self.order_regs(out) {
            out.extend(edits_to(true).filter(|m| !m.is_between_regs()).filter_map(Move::edit));
        } else {
            out.truncate(start);
            self.is_hard = true;
            return false;
        }
        self.clear();
        true
    }

    /// Appends moves from register to register. Returns `false` if some form a cycle.
    fn order_regs(&self, out: &mut Vec<EditKind>) -> bool {
        let mut pending = [0u8; MOST_IN_ORDER];
        let mut count = 0;
        for (i, _) in self.moves.iter().enumerate().filter(|(_, m)| m.is_between_regs()) {
            pending[count] = i as u8;
            count += 1;
        }
        while count > 0 {
            let moves = pending[..count].iter().map(|&i| &self.moves[usize::from(i)]);
            let read: PRegSet = moves.filter_map(|m| m.source.as_reg()).collect();
            let mut left = 0;
            for k in 0..count {
                let m = &self.moves[usize::from(pending[k])];
                if m.to.as_reg().is_some_and(|to| read.contains(to)) {
                    pending[left] = pending[k];
                    left += 1;
                } else {
                    out.extend(m.edit());
                }
            }
            if left == count {
                return false;
            }
            count = left;
        }
        true
    }

    /// Appends edits to `out` that perform all the moves at once, and clears the moves. A register in `free` may be
    /// overwritten: it holds no value needed later, except as a source. Emergency slots are created on demand. A
    /// register of unknown contents is saved there in the width of the widest value of its class in the problem.
    ///
    /// # Errors
    /// [`NoRegister`] if a value must move from slot to slot and its class has no register; `out` is then
    /// incomplete.
    pub fn resolve(
        &mut self,
        free: PRegSet,
        (problem, env): (&Problem, &MachineEnv),
        allocation: &mut Allocation,
        out: &mut Vec<EditKind>,
    ) -> Result<(), NoRegister> {
        if self.resolve_in_order(out) {
            return Ok(());
        }
        if self.widest == [0; 2] {
            self.widest = [1, 4];
            for data in problem.vregs.values() {
                let widest = &mut self.widest[data.class.index()];
                *widest = data.width.max(*widest);
            }
        }
        self.free = free.difference(self.kept);
        self.find_values();
        self.find_ready(env);
        let result = Run { s: self, env, allocation, out }.run();
        self.clear();
        result
    }

    fn push(&mut self, source: Source, to: Loc, class: RegClass, width: u8) {
        match (source, source.as_reg()) {
            (_, Some(reg)) => self.read.insert(reg),
            (Source::Loc(from), _) => self.touch(from),
            (Source::Remat(_), _) => {}
        }
        match to.as_reg() {
            Some(reg) => {
                self.is_hard |= self.written.contains(reg);
                self.written.insert(reg);
            }
            None => {
                self.is_hard |= source.as_reg().is_none();
                self.touch(to);
            }
        }
        self.moves.push(Move { source, to, class, width, value: NONE, state: State::Blocked });
    }

    /// Records a slot of a move. If two moves touch one slot, an order is not enough: the slot may be read after it
    /// is written, or is better read once.
    fn touch(&mut self, slot: Loc) {
        if let Some(slot) = slot.as_slot() {
            let bit = 1 << (slot.as_u32() % 64);
            self.is_hard |= self.slots & bit != 0;
            self.slots |= bit;
        }
    }

    fn clear(&mut self) {
        self.moves.clear();
        self.read = PRegSet::EMPTY;
        self.written = PRegSet::EMPTY;
        self.slots = 0;
        self.is_hard = false;
        self.values.clear();
        self.ready_slots.clear();
        self.ready_regs.clear();
        self.late.clear();
        self.waiting.clear();
        self.kept = PRegSet::EMPTY;
        self.lent = [None; 2];
        self.held = None;
        self.cached = None;
    }

    /// Sorts the moves by source and creates a value for each source.
    fn find_values(&mut self) {
        self.moves.sort_unstable_by_key(|m| (m.source, m.to, m.width));
        self.moves.dedup_by(|next, kept| {
            let same = (next.source, next.to) == (kept.source, kept.to);
            kept.width = if same { next.width } else { kept.width };
            same
        });
        for m in &mut self.moves {
            let Move { source, class, .. } = *m;
            if self.values.last().is_none_or(|v| v.source != source) {
                let fresh = Value {
                    source,
                    place: source,
                    class,
                    width: 0,
                    pending: 0,
                    pending_regs: 0,
                    blocks: NONE,
                    slot_copy: None,
                };
                self.values.push(fresh);
            }
            m.value = self.values.len() as u32 - 1;
            let value = &mut self.values[m.value as usize];
            value.width = value.width.max(m.width);
            value.pending += 1;
            value.pending_regs += u32::from(m.to.as_reg().is_some());
        }
    }

    /// Marks the destinations that are sources as blocked. All other destinations are ready.
    fn find_ready(&mut self, env: &MachineEnv) {
        self.idle = self.free.difference(self.involved());
        for class in &env.classes {
            self.idle = class.scratch.map_or(self.idle, |reg| self.idle.with(reg));
        }
        for m in 0..self.moves.len() as u32 {
            let to = Source::Loc(self.moves[m as usize].to);
            match self.values.binary_search_by_key(&to, |v| v.source) {
                Ok(value) => self.values[value].blocks = m,
                Err(_) => self.make_ready(m),
            }
        }
    }

    /// Returns all sources and destinations.
    fn involved(&self) -> PRegSet {
        self.read.union(self.written)
    }

    fn make_ready(&mut self, m: u32) {
        let mov = &mut self.moves[m as usize];
        mov.state = State::Ready;
        match mov.to.as_reg() {
            Some(reg) => {
                self.idle.insert(reg);
                self.ready_regs.push(m);
            }
            None => self.ready_slots.push(m),
        }
    }

    /// Records that a copy of the value is now in `place` and that its former place is not needed.
    fn relocate(&mut self, value: u32, place: Loc) {
        let v = &mut self.values[value as usize];
        let old = std::mem::replace(&mut v.place, Source::Loc(place));
        if old == v.source { self.vacate(value) } else { self.release(old) }
    }

    /// Records that one destination of the value is written.
    fn finish(&mut self, m: u32) {
        let mov = &mut self.moves[m as usize];
        mov.state = State::Done;
        let v = &mut self.values[mov.value as usize];
        v.pending -= 1;
        v.pending_regs -= u32::from(mov.to.as_reg().is_some());
        let (value, place) = (mov.value, v.place);
        match v.pending {
            0 if place == v.source => self.vacate(value),
            0 => self.release(place),
            _ => {}
        }
    }

    /// Records that the source of the value is not read any more.
    fn vacate(&mut self, value: u32) {
        let v = self.values[value as usize];
        match v.source.as_reg() {
            _ if v.blocks != NONE => self.make_ready(v.blocks),
            Some(reg) if self.free.contains(reg) => self.idle.insert(reg),
            _ => {}
        }
    }

    /// Records that `place` is not read any more. The temporary of a cycle becomes idle.
    fn release(&mut self, place: Source) {
        if self.held.map(Source::Loc) == Some(place) {
            self.held = None;
            if let Some(reg) = place.as_reg() {
                self.idle.insert(reg);
            }
        }
    }
}

/// One resolution under way.
struct Run<'a> {
    s: &'a mut ParallelMoves,
    env: &'a MachineEnv,
    allocation: &'a mut Allocation,
    out: &'a mut Vec<EditKind>,
}

impl Run<'_> {
    fn run(&mut self) -> Result<(), NoRegister> {
        let mut next_blocked = 0;
        loop {
            // Slots come first: stores make registers idle, and moves between slots need idle registers.
            if let Some(m) = self.s.ready_slots.pop() {
                self.write_slot(m)?;
            } else if let Some(m) = self.s.ready_regs.pop() {
                self.write_reg(m);
            } else if let Some(m) = self.blocked_from(&mut next_blocked) {
                self.break_cycle(m)?;
            } else if let Some(m) = self.s.late.pop() {
                self.copy_to_reg(m);
            } else if let Some(m) = self.s.waiting.pop() {
                self.write_slot(m)?;
            } else {
                break;
            }
        }
        for k in 0..2 {
            self.restore_lent(k);
        }
        Ok(())
    }

    fn blocked_from(&self, next: &mut usize) -> Option<u32> {
        while self.s.moves.get(*next)?.state != State::Blocked {
            *next += 1;
        }
        Some(*next as u32)
    }

    fn value_of(&self, m: u32) -> Value {
        self.s.values[self.s.moves[m as usize].value as usize]
    }

    fn emit(&mut self, kind: EditKind) {
        let written = match kind {
            EditKind::Move { to, .. } | EditKind::Fill { to, .. } | EditKind::Remat { to, .. } => Some(to),
            _ => None,
        };
        if written.is_some() && written == self.s.cached.map(|(_, reg)| reg) {
            self.s.cached = None;
        }
        self.out.push(kind);
    }

    fn write_reg(&mut self, m: u32) {
        match self.value_of(m).place {
            Source::Remat(_) => self.s.late.push(m),
            Source::Loc(_) => self.copy_to_reg(m),
        }
    }

    fn copy_to_reg(&mut self, m: u32) {
        let Move { to, value, .. } = self.s.moves[m as usize];
        let reg = to.as_reg().expect("the destination is a register");
        let v = self.value_of(m);
        self.s.idle.remove(reg);
        self.load(v.place, reg, v.width);
        // A source register that keeps its value remains the best place to copy from, because this avoids a chain
        // of moves.
        let stays = v.place.as_reg().is_some() && v.blocks == NONE && v.place == v.source;
        if !stays {
            self.s.relocate(value, to);
        }
        self.s.finish(m);
    }

    fn load(&mut self, from: Source, to: PReg, width: u8) {
        let kind = match from {
            Source::Remat(inst) => EditKind::Remat { inst, to },
            Source::Loc(loc) => match (loc.as_reg(), loc.as_slot()) {
                (Some(from), _) => EditKind::Move { from, to, width },
                (_, Some(from)) => EditKind::Fill { from, to, width },
                _ => return,
            },
        };
        self.emit(kind);
    }

    fn write_slot(&mut self, m: u32) -> Result<(), NoRegister> {
        let Move { to, width, .. } = self.s.moves[m as usize];
        let Some(slot) = to.as_slot() else { return Ok(()) };
        let v = self.value_of(m);
        match v.place.as_reg() {
            Some(from) => self.spill(m, from, slot, width),
            None if v.pending_regs > 0 => self.s.waiting.push(m),
            None => self.memory_move(m, slot, width)?,
        }
        Ok(())
    }

    fn spill(&mut self, m: u32, from: PReg, to: Slot, width: u8) {
        self.emit(EditKind::Spill { from, to, width });
        let v = &mut self.s.values[self.s.moves[m as usize].value as usize];
        if width >= v.width {
            v.slot_copy = Some(to);
        }
        self.s.finish(m);
    }

    fn memory_move(&mut self, m: u32, to: Slot, width: u8) -> Result<(), NoRegister> {
        let value = self.s.moves[m as usize].value;
        let v = self.value_of(m);
        self.copy_to_slot(value, to, width)?;
        if v.pending > 1 && v.blocks != NONE && v.place == v.source && width >= v.width {
            self.s.relocate(value, Loc::slot(to));
        }
        self.s.finish(m);
        Ok(())
    }

    /// Copies a value that is in no register to a slot.
    fn copy_to_slot(&mut self, value: u32, to: Slot, width: u8) -> Result<(), NoRegister> {
        let v = self.s.values[value as usize];
        if let (Source::Loc(loc), true) = (v.place, self.env.class(v.class).slot_move) {
            if let Some(from) = loc.as_slot() {
                self.emit(EditKind::SlotMove { from, to, width });
            }
            return Ok(());
        }
        if let Some((_, from)) = self.s.cached.filter(|c| c.0 == value) {
            self.emit(EditKind::Spill { from, to, width });
            return Ok(());
        }
        if let Some(temp) = self.idle(v.class).or_else(|| self.lend(v.class)) {
            self.load(v.place, temp, v.width);
            self.emit(EditKind::Spill { from: temp, to, width });
            self.s.cached = Some((value, temp));
            return Ok(());
        }
        // Every register is a source, a destination or held, so one of them is saved for this move only.
        let temp = *self.env.class(v.class).order.first().ok_or(NoRegister(v.class))?;
        let save_width = self.s.widest[v.class.index()];
        let save = self.emergency(v.class, save_width);
        self.emit(EditKind::Spill { from: temp, to: save, width: save_width });
        self.load(v.place, temp, v.width);
        self.emit(EditKind::Spill { from: temp, to, width });
        self.emit(EditKind::Fill { from: save, to: temp, width: save_width });
        Ok(())
    }

    /// Returns a register that may be overwritten now.
    fn idle(&self, class: RegClass) -> Option<PReg> {
        let class = self.env.class(class);
        class.scratch.iter().chain(&class.order).copied().find(|&reg| self.s.idle.contains(reg))
    }

    /// Saves a register that no move touches in the emergency slot, which makes it idle until the end.
    fn lend(&mut self, class: RegClass) -> Option<PReg> {
        if self.is_busy(class.index()) {
            return None;
        }
        let held = self.s.held.and_then(Loc::as_reg);
        let order = self.env.class(class).order.iter().copied();
        let reg = order.filter(|&r| Some(r) != held).find(|&r| !self.s.involved().contains(r))?;
        let width = self.s.widest[class.index()];
        let to = self.allocation.emergency_slot(class, width);
        self.emit(EditKind::Spill { from: reg, to, width });
        self.s.lent[class.index()] = Some(reg);
        self.s.idle.insert(reg);
        Some(reg)
    }

    fn restore_lent(&mut self, k: usize) {
        let Some(to) = self.s.lent[k].take() else { return };
        self.s.idle.remove(to);
        let width = self.s.widest[k];
        let from = self.allocation.emergency_slot(RegClass::ALL[k], width);
        self.emit(EditKind::Fill { from, to, width });
    }

    /// Returns `true` if the emergency slot of class `k` is in use.
    fn is_busy(&self, k: usize) -> bool {
        let held = self.s.held.and_then(Loc::as_slot);
        self.s.lent[k].is_some() || held.is_some() && held == self.allocation.emergency[k]
    }

    /// Returns an empty emergency slot: the slot of the class if it is not busy, otherwise the slot of the second
    /// class. At most one of them holds a value of the current cycle, or the register lent for it. A register lent
    /// for another purpose is restored.
    fn emergency(&mut self, class: RegClass, width: u8) -> Slot {
        let k = if self.is_busy(class.index()) { 1 - class.index() } else { class.index() };
        if self.s.lent[k].is_some_and(|reg| self.s.held != Some(Loc::reg(reg))) {
            self.restore_lent(k);
        }
        debug_assert!(!self.is_busy(k), "both emergency slots hold values of one cycle");
        self.allocation.emergency_slot(RegClass::ALL[k], width)
    }

    /// Breaks the cycle that `first` is part of, when no destination is ready: makes one of its destinations ready,
    /// or performs the whole cycle. Takes one step for each move of the cycle.
    fn break_cycle(&mut self, first: u32) -> Result<(), NoRegister> {
        self.s.cycle.clear();
        let mut m = first;
        loop {
            self.s.cycle.push(m);
            m = self.value_of(m).blocks;
            if m == first {
                break;
            }
        }
        let in_regs = self.s.cycle.iter().all(|&m| self.s.moves[m as usize].to.as_reg().is_some());
        if in_regs { self.break_reg_cycle() } else { self.break_mixed_cycle() }
    }

    fn break_reg_cycle(&mut self) -> Result<(), NoRegister> {
        let (first, len) = (self.s.cycle[0], self.s.cycle.len() as u64);
        let class = self.value_of(first).class;
        let costs = &self.env.costs;
        let (mov, exchange) = (u64::from(costs.mov), u64::from(costs.exchange));
        let copied = self.s.cycle.iter().copied().find(|&m| self.value_of(m).slot_copy.is_some());
        let by_exchange = self.env.class(class).exchange.then_some((len - 1) * exchange);
        let by_register = self.idle(class).map(|_| (len + 1) * mov);
        let by_copy = copied.map(|_| (len - 1) * mov + u64::from(costs.fill));
        let others = [by_register, by_copy].into_iter().flatten().min();
        if by_exchange.is_some_and(|cost| others.is_none_or(|other| cost <= other)) {
            self.exchange_cycle();
        } else if let (Some(m), true) = (copied, by_register.is_none_or(|cost| by_copy < Some(cost))) {
            self.use_copy(m);
        } else {
            self.hold(first)?;
        }
        Ok(())
    }

    fn break_mixed_cycle(&mut self) -> Result<(), NoRegister> {
        let ends = |m: u32| (self.value_of(m).place.as_reg(), self.s.moves[m as usize].to.as_reg());
        let mut cycle = self.s.cycle.iter().copied();
        // Holding a value that moves from slot to slot saves the second register that its move would need.
        let between_slots = cycle.clone().find(|&m| ends(m) == (None, None));
        let copied = cycle.find(|&m| self.value_of(m).slot_copy.is_some() && ends(m).1.is_some());
        match (between_slots, copied) {
            (None, Some(m)) => {
                self.use_copy(m);
                Ok(())
            }
            _ => self.hold(between_slots.unwrap_or(self.s.cycle[0])),
        }
    }

    /// Rotates a cycle of registers. Each exchange moves one value to its destination and the next one to the hub.
    fn exchange_cycle(&mut self) {
        let hub_move = self.s.cycle[self.s.cycle.len() - 1];
        let hub = self.value_of(hub_move).source.as_reg().expect("all sources of the cycle are registers");
        for i in (1..self.s.cycle.len()).rev() {
            let (m, next) = (self.s.cycle[i], self.s.cycle[i - 1]);
            let to = self.s.moves[m as usize].to.as_reg().expect("all destinations of the cycle are registers");
            let width = self.value_of(m).width.max(self.value_of(next).width);
            self.emit(EditKind::Exchange { a: hub, b: to, width });
        }
        for i in 0..self.s.cycle.len() {
            let mov = &mut self.s.moves[self.s.cycle[i] as usize];
            mov.state = State::Done;
            let v = &mut self.s.values[mov.value as usize];
            v.place = Source::Loc(mov.to);
            v.pending -= 1;
            v.pending_regs -= 1;
        }
    }

    fn use_copy(&mut self, m: u32) {
        let slot = self.value_of(m).slot_copy.expect("the value has a copy in a slot");
        self.s.relocate(self.s.moves[m as usize].value, Loc::slot(slot));
    }

    /// Keeps the value of move `m` in a temporary, so that its source becomes ready.
    fn hold(&mut self, m: u32) -> Result<(), NoRegister> {
        let value = self.s.moves[m as usize].value;
        let v = self.value_of(m);
        let from = v.place.as_reg();
        let touches_memory = from.is_none() || self.s.moves[m as usize].to.as_slot().is_some();
        let lend = touches_memory && !self.env.class(v.class).slot_move;
        let idle = self.idle(v.class);
        let temp = if lend { idle.or_else(|| self.lend(v.class)) } else { idle };
        let place = match temp {
            Some(temp) => {
                self.load(v.place, temp, v.width);
                self.s.idle.remove(temp);
                Loc::reg(temp)
            }
            None => Loc::slot(self.emergency(v.class, v.width)),
        };
        self.s.held = Some(place);
        if let Some(to) = place.as_slot() {
            match from {
                Some(from) => self.emit(EditKind::Spill { from, to, width: v.width }),
                None => self.copy_to_slot(value, to, v.width)?,
            }
        }
        self.s.relocate(value, place);
        Ok(())
    }
}
