//! Facts about the problem, computed once: rematerializable values, clobber points, allocatable registers, hints
//! from fixed operands. They are collected during liveness's walk over operands (`next_use.rs`).

use crate::tables::reset;
use cranelift_entity::{EntityRef, EntitySet};
use kingpost_regalloc::meter::heap_bytes;
use kingpost_regalloc::{
    ClobberId, Constraint, Inst, InstFlags, MachineEnv, Operand, OperandClass, PReg, PRegSet, Pos, Problem, RegClass,
    Step, VReg,
};
use kingpost_regalloc_common::order::{BlockIndex, LinearOrder};
use kingpost_regalloc_common::point::{PointRange, Position, ProgPoint};
use kingpost_regalloc_common::release;

const NONE: u32 = u32::MAX;

/// An instruction that takes registers, by fixed operands or clobbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClobberPoint {
    pub(crate) position: Position,
    /// Index of the registers that it takes.
    taken: u32,
}

/// The registers that an instruction takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TakenRegs {
    /// Registers that a value may occupy before the instruction only if its own fixed operands read it there.
    pub(crate) early: PRegSet,
    /// Registers in which no value lives through the instruction.
    pub(crate) late: PRegSet,
}

impl TakenRegs {
    pub(crate) fn all(&self) -> PRegSet {
        self.early.union(self.late)
    }
}

/// The constraints of one problem.
#[derive(Default)]
pub(crate) struct Constraints {
    pub(crate) allocatable: PRegSet,
    /// Bytes of the widest value.
    pub(crate) widest: u8,
    /// Whether there are references.
    pub(crate) has_refs: bool,
    /// Callee-saved registers of both classes.
    pub(crate) callee_saved: PRegSet,
    /// Per block and class, the number in the block of the first instruction that destroys all registers, or
    /// [`NONE`].
    wipes: Vec<[u32; 2]>,
    /// Clobber points in the order of the walk.
    pub(crate) clobber_points: Vec<ClobberPoint>,
    /// Registers that they take; equal neighbors share one entry.
    taken: Vec<TakenRegs>,
    /// Instructions that copy, in the order of the walk, and their blocks.
    pub(crate) moves: Vec<(BlockIndex, Inst)>,
    /// Per value, the rematerializable instruction that computes it, or [`NONE`].
    remat: Vec<u32>,
    /// Values with such an instruction.
    pub(crate) computed: Vec<VReg>,
    /// Per value: whether an operand reads it in memory in any case.
    pub(crate) read_in_memory: Vec<bool>,
    /// Results of branches whose operand may be in memory, so that they begin there.
    pub(crate) begin_in_memory: EntitySet<VReg>,
    /// Per value, the parameter, result or copy it flows into, or [`NONE`].
    flows: Vec<u32>,
    /// Per value: whether another value flows into it and dies there.
    is_fed: Vec<bool>,
    /// Per value, the index of the register of its next fixed use, or [`NO_HINT`].
    fixed_hints: Vec<u8>,
    /// Per value with a hint, the position of that use.
    fixed_at: Vec<Position>,
}

heap_bytes!(Constraints { wipes, clobber_points, taken, moves, remat, computed, read_in_memory, begin_in_memory, flows, is_fed, fixed_hints, fixed_at } without { allocatable, widest, has_refs, callee_saved });

const NO_HINT: u8 = u8::MAX;

impl Constraints {
    pub(crate) fn begin(&mut self, problem: &Problem, env: &MachineEnv, order: &LinearOrder) {
        let values = problem.vregs.len();
        self.allocatable = env.allocatable();
        self.callee_saved = env.callee_saved();
        (self.widest, self.has_refs) = (0, false);
        for data in problem.vregs.values() {
            self.widest = self.widest.max(data.width);
            self.has_refs |= data.is_ref;
        }
        self.clobber_points.clear();
        self.taken.clear();
        self.moves.clear();
        reset(&mut self.wipes, order.num_blocks(), [NONE; 2]);
        reset(&mut self.is_fed, values, false);
        reset(&mut self.remat, values, NONE);
        reset(&mut self.read_in_memory, values, false);
        self.computed.clear();
        self.begin_in_memory.clear();
        reset(&mut self.flows, values, NONE);
        reset(&mut self.fixed_hints, values, NO_HINT);
        // An entry is read only if there is a hint.
        self.fixed_at.resize(values.max(self.fixed_at.len()), Position::END);
    }

    /// Finishes after all instructions and edges were visited backwards, the order in which hints travel from fixed
    /// operands to definitions.
    pub(crate) fn end(&mut self) {
        self.clobber_points.reverse();
        self.moves.reverse();
        release(&mut self.is_fed);
        // A value that an operand reads in memory needs a slot, so that rematerialization saves nothing.
        let Constraints { computed, remat, read_in_memory, .. } = self;
        computed.retain(|vreg| {
            let is_read = read_in_memory[vreg.index()];
            remat[vreg.index()] = if is_read { NONE } else { remat[vreg.index()] };
            !is_read
        });
    }

    /// Frees memory of a large problem that the answer does not need.
    pub(crate) fn close(&mut self) {
        release(&mut self.clobber_points);
        release(&mut self.taken);
        release(&mut self.moves);
        release(&mut self.flows);
        release(&mut self.fixed_hints);
        release(&mut self.fixed_at);
    }

    /// Returns the registers that an instruction takes.
    pub(crate) fn taken(&self, point: &ClobberPoint) -> &TakenRegs {
        &self.taken[point.taken as usize]
    }

    /// Returns the registers that are unavailable, because of an instruction, to a value live at these points.
    pub(crate) fn taken_from(&self, point: &ClobberPoint, points: PointRange) -> PRegSet {
        let at = |point: ProgPoint, regs: PRegSet| if points.contains(point) { regs } else { PRegSet::EMPTY };
        let TakenRegs { early, late } = *self.taken(point);
        at(ProgPoint::early(point.position), early).union(at(ProgPoint::late(point.position), late))
    }

    /// Returns the instruction that rematerializes the value.
    pub(crate) fn remat(&self, vreg: VReg) -> Option<Inst> {
        let inst = self.remat[vreg.index()];
        (inst != NONE).then(|| Inst::from_u32(inst))
    }

    /// Returns per class the number in the block of the first instruction that destroys all registers. A use after
    /// it gains nothing from a register at the head of the block.
    pub(crate) fn wipes(&self, block: BlockIndex) -> [u32; 2] {
        self.wipes[block.index()]
    }

    /// Returns the value that the value flows into.
    pub(crate) fn flows_into(&self, vreg: VReg) -> Option<VReg> {
        let to = self.flows[vreg.index()];
        (to != NONE).then(|| VReg::from_u32(to))
    }

    /// Returns the register of the value's next fixed use and its position, if no instruction takes the register
    /// before.
    pub(crate) fn fixed_hint(&self, vreg: VReg) -> Option<(PReg, Position)> {
        let reg = self.fixed_hints[vreg.index()];
        (reg != NO_HINT).then(|| (PReg::from_index(usize::from(reg)), self.fixed_at[vreg.index()]))
    }

    fn fix(&mut self, vreg: VReg, hint: u8, at: Position) {
        self.fixed_hints[vreg.index()] = hint;
        self.fixed_at[vreg.index()] = at;
    }

    /// Records that `from` is passed or copied to `to`, and gives `from` the hint of `to`.
    pub(crate) fn flow(&mut self, from: VReg, to: VReg) {
        self.flows[from.index()] = to.as_u32();
        let hint = self.fixed_hints[to.index()];
        if hint != NO_HINT {
            self.fix(from, hint, self.fixed_at[to.index()]);
        }
    }

    /// Records the operands of an instruction whose only special operands reuse an input or may be in memory.
    pub(crate) fn tied(&mut self, operands: &[Operand]) {
        for &operand in operands.iter().filter(|operand| !operand.is_reg()) {
            if let Some(k) = operand.reused() {
                self.tie(operands, k, operand);
            } else if operand.constraint() == Constraint::Any {
                self.read_in_memory[operand.vreg().index()] = true;
            }
        }
    }

    /// Records that a result overwrites an input.
    fn tie(&mut self, operands: &[Operand], k: u8, result: Operand) {
        if let Some(input) = operands.get(usize::from(k)) {
            self.flow(input.vreg(), result.vreg());
        }
    }

    /// Records an instruction with other operands. `distance` instructions precede it in its block.
    pub(crate) fn instruction(
        &mut self,
        problem: &Problem,
        step: &Step,
        block: BlockIndex,
        position: Position,
        distance: u32,
    ) {
        let operands = &problem.all_operands()[step.operands.clone()];
        let is_branch = step.flags.has(InstFlags::BRANCH);
        for &operand in operands.iter().filter(|operand| !operand.is_reg()) {
            match operand.constraint() {
                Constraint::Reuse(k) => self.tie(operands, k, operand),
                Constraint::Stack | Constraint::Any | Constraint::MemOk if is_branch && operand.is_def() => {
                    self.begin_in_memory.insert(operand.vreg());
                }
                Constraint::Stack | Constraint::Any => {
                    self.read_in_memory[operand.vreg().index()] |= operand.is_use();
                }
                Constraint::Fixed(reg) if operand.is_use() => {
                    self.fix(operand.vreg(), reg.index() as u8, position);
                }
                _ => {}
            }
        }
        match operands {
            [a, b] if step.flags.has(InstFlags::MOVE) => {
                self.moves.push((block, step.inst));
                let (def, input) = if a.is_def() { (a, b) } else { (b, a) };
                self.flow(input.vreg(), def.vreg());
            }
            [def] if step.flags.has(InstFlags::REMAT) => {
                self.remat[def.vreg().index()] = step.inst.as_u32();
                self.computed.push(def.vreg());
            }
            _ => {}
        }
        if step.operand_class == OperandClass::Constrained {
            self.clobber_point(problem, step, block, position, distance);
        }
    }

    /// Records the registers that an instruction takes.
    fn clobber_point(&mut self, problem: &Problem, step: &Step, block: BlockIndex, position: Position, distance: u32) {
        let mut taken = TakenRegs { early: PRegSet::EMPTY, late: PRegSet::EMPTY };
        if step.clobbers != ClobberId::NONE {
            let clobbers = problem.clobbers(step.inst);
            taken.late = clobbers.lost.union(clobbers.partial);
            for class in RegClass::ALL {
                if self.allocatable.of_class(class).difference(clobbers.lost).is_empty() {
                    self.wipes[block.index()][class.index()] = distance;
                }
            }
        }
        for operand in &problem.all_operands()[step.operands.clone()] {
            let Some(reg) = operand.fixed_reg() else { continue };
            if operand.pos() == Pos::Early {
                taken.early.insert(reg);
            }
            if operand.is_def() || operand.pos() == Pos::Late {
                taken.late.insert(reg);
            }
        }
        if taken.all().is_empty() {
            return;
        }
        if self.taken.last() != Some(&taken) {
            self.taken.push(taken);
        }
        self.clobber_points.push(ClobberPoint { position, taken: self.taken.len() as u32 - 1 });
    }

    /// Records that a result may take the register of a dying input that is defined in the same block, so that a
    /// chain of results stays in one register.
    pub(crate) fn flow_from_dying(&mut self, from: VReg, to: VReg) {
        if self.flows[from.index()] == NONE && !std::mem::replace(&mut self.is_fed[to.index()], true) {
            let (hint, at) = (self.fixed_hints[from.index()], self.fixed_at[from.index()]);
            self.flow(from, to);
            // The value's own fixed use comes earlier.
            if hint != NO_HINT {
                self.fix(from, hint, at);
            }
        }
    }
}

/// Returns `true` if a use of a value in memory requires a reload.
pub(crate) fn needs_register(constraints: &Constraints, operands: &[Operand], i: usize) -> bool {
    match operands[i].constraint() {
        Constraint::Stack | Constraint::Any => false,
        Constraint::MemOk => {
            let reused = operands.iter().any(|def| def.constraint() == Constraint::Reuse(i as u8));
            reused || constraints.remat(operands[i].vreg()).is_some()
        }
        _ => true,
    }
}
