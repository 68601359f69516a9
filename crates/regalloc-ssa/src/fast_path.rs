//! Instructions without demands: operands in any register, or in memory if their value is there.
//!
//! Values that are missing are loaded into free registers, inputs that live on and are overwritten are copied, and
//! results take free registers or those of inputs that die. No value is in the way. If there are too few registers the
//! general way (`instruction.rs`) is taken from where this one stands: it has done nothing yet but load values.

use crate::coloring::{Coloring, Input, Output, Step};
use cranelift_entity::EntityRef;
use kingpost_regalloc::{Edit, EditKind, Inst, InstFlags, Loc, Operand, PReg, PRegSet, Problem, RegClass, VReg};

/// The instruction at hand.
struct At<'a> {
    input: &'a Input<'a>,
    inst: Inst,
    operands: &'a [Operand],
    /// Index of the first operand.
    base: usize,
}

/// What its operands are.
#[derive(Default)]
struct Seen {
    /// Registers of values that end here.
    dying: PRegSet,
    /// Number of results, and the last of them.
    defs: u32,
    def: usize,
    /// Some value that is read is in no register.
    misses: bool,
}

impl Coloring {
    /// Serves such an instruction. False if the general way must be taken.
    #[inline(always)]
    pub(crate) fn simple(&mut self, input: &Input, step: &Step, output: &mut Output) -> bool {
        let &(inst, flags, ref range) = step;
        let at = At { input, inst, operands: &input.problem.all_operands()[range.clone()], base: range.start };
        let before = self.in_slots.len();
        let mut seen = self.read_uses(&at, output);
        if seen.misses {
            match self.load_all(&at, output) {
                Some(loaded) => seen = loaded,
                None => return false,
            }
        }
        if !self.is_enough(&at, &seen, output) {
            self.in_slots.truncate(before);
            return false;
        }
        let Seen { dying, defs, def, .. } = seen;
        match defs {
            0 | 1 => {
                let tied = if defs == 0 { PRegSet::EMPTY } else { self.tie(&at, def, dying, PRegSet::EMPTY, output) };
                self.take_out_all(dying);
                self.update_labels(inst);
                if defs == 1 {
                    self.place_def(&at, def, tied, output);
                }
            }
            _ => self.place_all(&at, dying, output),
        }
        if flags.has(InstFlags::MOVE) {
            drop_void_move(input.problem, inst, output);
        }
        true
    }

    /// As [`Coloring::simple`], for instructions at which values leave.
    #[cold]
    pub(crate) fn simple_after_evictions(&mut self, input: &Input, step: &Step, output: &mut Output) -> bool {
        self.simple(input, step, output)
    }

    /// Labelled values that moved before the instruction, or end with it.
    pub(crate) fn update_labels(&mut self, inst: Inst) {
        if !self.labels.is_empty() {
            let values = &self.values;
            let at =
                |vreg: VReg| Some(values[vreg.index()]).filter(|value| !value.next.is_dead()).map(|value| value.at);
            self.labels.update(inst, at);
        }
    }

    /// Notes what comes after each operand and says in which registers values are read.
    #[inline(always)]
    fn read_uses(&mut self, at: &At, output: &mut Output) -> Seen {
        let mut seen = Seen::default();
        let range = at.base..at.base + at.operands.len();
        let values = &mut self.values[..];
        let locs = &mut output.out.locs[range.clone()];
        let after = &at.input.live.after[range];
        for (i, ((operand, &after), loc)) in at.operands.iter().zip(after).zip(locs).enumerate() {
            let value = &mut values[operand.vreg().index()];
            value.next = after;
            if operand.is_def() {
                seen.defs += 1;
                seen.def = i;
                continue;
            }
            match value.at {
                Some(reg) => {
                    value.def_read |= value.original;
                    *loc = Loc::reg(reg);
                    if after.is_dead() || value.leaves == at.inst.as_u32() + 1 {
                        seen.dying.insert(reg);
                    }
                }
                None => seen.misses = true,
            }
        }
        seen
    }

    /// Values that are read and are in no register are brought into free ones, or read in memory. None if a register
    /// is missing.
    #[cold]
    fn load_all(&mut self, at: &At, output: &mut Output) -> Option<Seen> {
        let before = self.in_slots.len();
        for (i, operand) in at.operands.iter().enumerate().filter(|(_, operand)| operand.is_use()) {
            let vreg = operand.vreg();
            if self.values[vreg.index()].at.is_some() {
                continue;
            }
            if self.may_stay_in_memory(at, i) {
                self.in_slots.push((at.base + i) as u32);
                let slot = output.reloads.place(at.input.problem, at.input.classes, vreg, output.out);
                output.out.locs[at.base + i] = slot;
            } else if self.load(at, vreg, output).is_none() {
                self.in_slots.truncate(before);
                return None;
            }
        }
        Some(self.read_uses(at, output))
    }

    /// Several results.
    #[cold]
    fn place_all(&mut self, at: &At, dying: PRegSet, output: &mut Output) {
        let all = 0..at.operands.len();
        let tied = all.clone().fold(PRegSet::EMPTY, |tied, i| self.tie(at, i, dying, tied, output));
        self.take_out_all(dying);
        self.update_labels(at.inst);
        all.fold(tied, |given, i| self.place_def(at, i, given, output));
    }

    /// May a use whose value is in no register read it in memory?
    fn may_stay_in_memory(&self, at: &At, i: usize) -> bool {
        let operand = at.operands[i];
        let is_tied = |def: &Operand| def.reused() == Some(i as u8);
        !operand.is_reg() && at.input.facts.remat(operand.vreg()).is_none() && !at.operands.iter().any(is_tied)
    }

    /// Brings a value into a free register.
    fn load(&mut self, at: &At, vreg: VReg, output: &mut Output) -> Option<()> {
        let &At { input, inst, .. } = at;
        let free = input.plan.open.difference(self.occupied);
        let to = self.pick(input, vreg, inst, self.known_end(vreg), free)?;
        let kind = match input.facts.remat(vreg) {
            Some(inst) => EditKind::Remat { inst, to },
            None => {
                let from = output.reloads.place(input.problem, input.classes, vreg, output.out).as_slot()?;
                EditKind::Fill { from, to, width: input.problem.width(vreg) }
            }
        };
        self.edits.push(Edit { at: inst, kind });
        let value = &mut self.values[vreg.index()];
        (value.original, value.clean) = (false, true);
        self.put(vreg, to);
        Some(())
    }

    /// Are there registers for all copies and results?
    #[inline(always)]
    fn is_enough(&self, at: &At, seen: &Seen, output: &Output) -> bool {
        let free = at.input.plan.open.difference(self.occupied);
        let dying = seen.dying.intersection(at.input.plan.open);
        if seen.defs > 1 {
            return self.is_enough_for_all(at, free, dying, output);
        }
        if seen.defs == 0 {
            return true;
        }
        let operand = at.operands[seen.def];
        let class = at.input.problem.class(operand.vreg());
        let usable = match operand.reused() {
            Some(k) => match output.out.locs[at.base + usize::from(k)].as_reg() {
                Some(reg) if seen.dying.contains(reg) => return true,
                _ => free,
            },
            None => free.union(dying),
        };
        usable.mask(class) != 0
    }

    #[cold]
    fn is_enough_for_all(&self, at: &At, free: PRegSet, mut dying: PRegSet, output: &Output) -> bool {
        let mut copies = [0usize; 2];
        let mut defs = [0usize; 2];
        for operand in at.operands.iter().filter(|operand| operand.is_def()) {
            let class = at.input.problem.class(operand.vreg()).index();
            let Some(k) = operand.reused() else {
                defs[class] += 1;
                continue;
            };
            match output.out.locs[at.base + usize::from(k)].as_reg().filter(|&reg| dying.contains(reg)) {
                Some(reg) => dying.remove(reg),
                None => copies[class] += 1,
            }
        }
        RegClass::ALL.into_iter().all(|class| {
            let free = free.of_class(class).len();
            let (copies, defs) = (copies[class.index()], defs[class.index()]);
            free >= copies && free - copies + dying.of_class(class).len() >= defs
        })
    }

    /// Gives a result that overwrites an input its register, or that of a copy. Gives all registers of such results.
    #[inline(always)]
    fn tie(&mut self, at: &At, i: usize, dying: PRegSet, tied: PRegSet, output: &mut Output) -> PRegSet {
        let def = at.operands[i];
        let Some(k) = def.reused() else { return tied };
        let k = usize::from(k);
        let from = output.out.locs[at.base + k].as_reg().expect("a tied use is in a register");
        let reg = match dying.contains(from) && !tied.contains(from) {
            true => from,
            false => self.copy_tied(at, at.operands[k].vreg(), from, def.vreg(), tied),
        };
        output.out.locs[at.base + k] = Loc::reg(reg);
        output.out.locs[at.base + i] = Loc::reg(reg);
        tied.with(reg)
    }

    /// Copies an input that lives on, or moves it: who is at home stays. Gives the register to be overwritten.
    #[inline(never)]
    fn copy_tied(&mut self, at: &At, vreg: VReg, from: PReg, def: VReg, tied: PRegSet) -> PReg {
        let input = at.input;
        let free = input.plan.open.difference(self.occupied).difference(tied);
        let (class, width) = (input.problem.class(vreg), input.problem.width(vreg));
        let likes = self.likes(input, def, at.inst, input.live.def_end[def.index()]);
        let own = self.likes(input, vreg, at.inst, self.known_end(vreg));
        self.read_def(vreg);
        let lives_on = self.lives_on(vreg, at.inst);
        let moves = lives_on && self.suits(input, &likes, from) < 0 && self.suits(input, &own, from) >= 0;
        let to = self.choose(input, class, if moves { &own } else { &likes }, free).expect("registers were counted");
        self.edits.push(Edit { at: at.inst, kind: EditKind::Move { from, to, width } });
        if !moves {
            return to;
        }
        self.take_out(from);
        self.put(vreg, to);
        self.values[vreg.index()].original = false;
        from
    }

    /// A register for a result that has none, unlike those in `given`. Gives all of them.
    #[inline(always)]
    fn place_def(&mut self, at: &At, i: usize, given: PRegSet, output: &mut Output) -> PRegSet {
        let (input, operand) = (at.input, at.operands[i]);
        let vreg = operand.vreg();
        if operand.is_use() {
            return given;
        }
        let mut given = given;
        if operand.is_reg() {
            let free = input.plan.open.difference(self.occupied).difference(given);
            let end = input.live.def_end[vreg.index()];
            let reg = self.pick(input, vreg, at.inst, end, free).expect("registers were counted");
            given.insert(reg);
            output.out.locs[at.base + i] = Loc::reg(reg);
        }
        self.finish_def(input, at.inst, vreg, output.out.locs[at.base + i], output);
        given
    }
}

/// A copy from a register to itself goes.
#[inline]
pub(crate) fn drop_void_move(problem: &Problem, inst: Inst, output: &mut Output) {
    if problem.flags(inst).has(InstFlags::MOVE)
        && let &[a, b] = output.out.operand_locs(problem, inst)
        && a == b
    {
        output.out.drop_inst(inst);
    }
}
