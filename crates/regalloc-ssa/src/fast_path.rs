//! Unconstrained instructions: operands in any register, or in memory if their value is there.
//!
//! All values that need registers are in registers. An input that lives on and is overwritten is copied. Results
//! take free registers or the registers of dying inputs, which exist because spilling has counted them.
//!
//! `instruction.rs` could handle these too, but it retires 6,000 instructions for one, this path 400 (one module
//! for x86-64, where 97 of 100 instructions come here). Without this path, compilation takes 100 % more instructions
//! (`make gate`, `x86_64 ssa none`).

use crate::color_input::ColorInput;
use crate::coloring::Coloring;
use cranelift_entity::EntityRef;
use kingpost_regalloc::{
    Allocation, Edit, EditKind, Inst, InstFlags, Loc, Operand, PReg, PRegSet, Problem, Step, VReg,
};

/// The current instruction. Functions that are called for few instructions build their own copy, so that the one of
/// the common path stays in registers.
struct PlainSite<'a> {
    input: &'a ColorInput<'a>,
    inst: Inst,
    operands: &'a [Operand],
    /// Index of its first operand.
    base: usize,
}

impl<'a> PlainSite<'a> {
    fn new(input: &'a ColorInput<'a>, inst: Inst) -> PlainSite<'a> {
        let range = input.problem.operand_range(inst);
        PlainSite { input, inst, operands: &input.problem.all_operands()[range.clone()], base: range.start }
    }
}

/// Summary of the operands of an instruction.
#[derive(Default)]
struct Operands {
    /// Registers of values that end at the instruction.
    dying: PRegSet,
    /// Number of results, and the index of the last one.
    defs: u32,
    def: usize,
    /// Whether an operand reads a value that is in no register.
    reads_memory: bool,
}

impl Coloring {
    /// Assigns locations to the operands of an unconstrained instruction.
    #[inline(always)]
    pub(crate) fn unconstrained(&mut self, input: &ColorInput, step: &Step, out: &mut Allocation) {
        let &Step { inst, flags, ref operands, .. } = step;
        let at =
            PlainSite { input, inst, operands: &input.problem.all_operands()[operands.clone()], base: operands.start };
        let Operands { dying, defs, def, reads_memory } = self.read_uses(&at, out);
        if reads_memory {
            self.read_memory(input, inst, out);
        }
        match defs {
            0 | 1 => {
                let tied = if defs == 0 { PRegSet::EMPTY } else { self.tie(&at, def, dying, PRegSet::EMPTY, out) };
                self.map.remove(dying);
                if defs == 1 {
                    self.place_def(&at, def, tied, out);
                }
            }
            _ => self.place_all(input, inst, dying, out),
        }
        if flags.has(InstFlags::MOVE) {
            drop_void_move(input.problem, inst, out);
        }
    }

    /// Records the next use after each operand and the registers in which values are read.
    #[inline(always)]
    fn read_uses(&mut self, at: &PlainSite, out: &mut Allocation) -> Operands {
        let mut found = Operands::default();
        let range = at.base..at.base + at.operands.len();
        let values = &mut self.map.values[..];
        let locs = &mut out.locs[range.clone()];
        let after = &at.input.live.after[range];
        for (i, ((operand, &after), loc)) in at.operands.iter().zip(after).zip(locs).enumerate() {
            let value = &mut values[operand.vreg().index()];
            value.distance = after.distance;
            if operand.is_def() {
                found.defs += 1;
                found.def = i;
                continue;
            }
            match value.at {
                Some(reg) => {
                    *loc = Loc::reg(reg);
                    if after.is_dead() || value.evicted_after == at.inst.as_u32() + 1 {
                        found.dying.insert(reg);
                    }
                }
                None => found.reads_memory = true,
            }
        }
        found
    }

    #[cold]
    fn read_memory(&mut self, input: &ColorInput, inst: Inst, out: &mut Allocation) {
        let at = PlainSite::new(input, inst);
        for (i, operand) in at.operands.iter().enumerate().filter(|(_, operand)| operand.is_use()) {
            if self.map.at(operand.vreg()).is_none() {
                self.assignment.in_memory.push((at.base + i) as u32);
                out.locs[at.base + i] = Loc::slot(self.slot(at.input, operand.vreg(), out));
            }
        }
    }

    /// Assigns locations to several results.
    #[cold]
    fn place_all(&mut self, input: &ColorInput, inst: Inst, dying: PRegSet, out: &mut Allocation) {
        let at = &PlainSite::new(input, inst);
        let all = 0..at.operands.len();
        let tied = all.clone().fold(PRegSet::EMPTY, |tied, i| self.tie(at, i, dying, tied, out));
        self.map.remove(dying);
        all.fold(tied, |placed, i| self.place_def(at, i, placed, out));
    }

    /// Places a result that overwrites an input in the input's register, or in the register of a copy. Returns the
    /// registers of all such results.
    #[inline(always)]
    fn tie(&mut self, at: &PlainSite, i: usize, dying: PRegSet, tied: PRegSet, out: &mut Allocation) -> PRegSet {
        let def = at.operands[i];
        let Some(k) = def.reused() else { return tied };
        let k = usize::from(k);
        let from = out.locs[at.base + k].as_reg().expect("a tied use is in a register");
        let reg = match dying.contains(from) && !tied.contains(from) {
            true => from,
            false => self.copy_tied(at.input, at.inst, [at.operands[k].vreg(), def.vreg()], from, tied),
        };
        out.locs[at.base + k] = Loc::reg(reg);
        out.locs[at.base + i] = Loc::reg(reg);
        tied.with(reg)
    }

    /// Copies an input that lives on. If the input's register suits the result better, the input moves instead.
    /// Returns the register to be overwritten.
    #[inline(never)]
    fn copy_tied(&mut self, input: &ColorInput, inst: Inst, [vreg, def]: [VReg; 2], from: PReg, tied: PRegSet) -> PReg {
        let free = input.constraints.allocatable.difference(self.map.occupied).difference(tied);
        let (class, width) = (input.problem.class(vreg), input.problem.width(vreg));
        let def_hints = self.hints(input, def, input.live.defs[def.index()].end);
        let own = self.hints(input, vreg, self.known_end(vreg));
        let lives_on = self.map.lives_on(vreg, inst);
        let moves = lives_on && self.penalty(input, &def_hints, from) < 0 && self.penalty(input, &own, from) >= 0;
        let hints = if moves { &own } else { &def_hints };
        let to = self.choose_open(input, class, hints, free).expect("registers were counted");
        self.assignment.edits.push(Edit { at: inst, kind: EditKind::Move { from, to, width } });
        if !moves {
            return to;
        }
        self.map.remove(PRegSet::EMPTY.with(from));
        self.put(vreg, to);
        from
    }

    /// Finds a register for a result that has none yet. Returns `placed` with that register.
    #[inline(always)]
    fn place_def(&mut self, at: &PlainSite, i: usize, placed: PRegSet, out: &mut Allocation) -> PRegSet {
        let (input, operand) = (at.input, at.operands[i]);
        let vreg = operand.vreg();
        if operand.is_use() {
            return placed;
        }
        let mut placed = placed;
        if operand.is_reg() {
            let free = input.constraints.allocatable.difference(self.map.occupied).difference(placed);
            let end = input.live.defs[vreg.index()].end;
            let reg = self.pick(input, vreg, end, free).expect("registers were counted");
            placed.insert(reg);
            out.locs[at.base + i] = Loc::reg(reg);
        }
        self.finish_def(input, at.inst, vreg, out.locs[at.base + i], out);
        placed
    }
}

/// Drops a copy from a register to itself.
pub(crate) fn drop_void_move(problem: &Problem, inst: Inst, out: &mut Allocation) {
    if problem.flags(inst).has(InstFlags::MOVE)
        && let &[a, b] = out.operand_locs(problem, inst)
        && a == b
    {
        out.drop_inst(inst);
    }
}
