//! Coloring: blocks in dominance order, with a map from registers to values that may change at any point.
//!
//! A block with one predecessor continues from the predecessor's registers. At a join point values are in the
//! registers in which most edges hold them, and the other edges move them there (Colombet, Boissinot, Brisk, Hack
//! and Rastello, *Graph-coloring and treescan register allocation using repairing*, 2011). Inside a block each
//! definition takes a free register, which exists because spilling has bounded the pressure. Stores and reloads are
//! exactly the transfers of the reload plan.
//!
//! 1. Between instructions the values in registers are the values of the spill plan.
//!
//! Cost: linear in operands, entries, and registers per block.

use crate::assignment::Assignment;
use crate::class_slots::ClassSlots;
use crate::color_input::ColorInput;
use crate::instruction_scratch::Scratch;
use crate::liveness::BareJumpEntries;
use crate::picker::Picker;
use crate::register_map::RegisterMap;
use crate::spill_plan::{Placement, Transfer};
use crate::tables::Span;
use cranelift_entity::EntityRef;
use kingpost_regalloc::meter::heap_bytes;
use kingpost_regalloc::{
    AllocError, Allocation, Block, Edit, EditKind, Inst, InstFlags, Loc, NoRegister, OperandClass, PReg, PRegSet,
    ParallelMoves, Step, VReg,
};
use kingpost_regalloc_common::edge_sites::Majority;
use kingpost_regalloc_common::order::BlockIndex;
use std::ops::Range;

/// The walk over blocks with the register map.
#[derive(Default)]
pub(crate) struct Coloring {
    pub(crate) map: RegisterMap,
    pub(crate) assignment: Assignment,
    pub(crate) picker: Picker,
    pub(crate) slots: ClassSlots,
    pub(crate) moves: ParallelMoves,
    pub(crate) sequence: Vec<EditKind>,
    scratch: Scratch,
    /// The values in registers at the current join point, by [`Value::number`], each with the register in which
    /// most edges hold it.
    ///
    /// [`Value::number`]: crate::register_map::Value::number
    pub(crate) majorities: Vec<(VReg, Majority<PReg>)>,
    /// Per value defined by a branch, its location after the branch.
    pub(crate) branch_defs: Vec<Loc>,
    pub(crate) bare_jump: BareJumpEntries,
    /// The current block.
    pub(crate) index: BlockIndex,
    /// Index of the next transfer of the plan.
    transfer: usize,
    transfer_at: Option<Inst>,
    pub(crate) steps: u64,
}

heap_bytes!(Coloring { map, assignment, slots, sequence, scratch, majorities, branch_defs, bare_jump } without { picker, moves, index, transfer, transfer_at, steps });

impl Coloring {
    /// Assigns registers in all blocks.
    ///
    /// # Errors
    /// If an instruction needs more registers than there are.
    pub(crate) fn run(&mut self, input: &ColorInput, out: &mut Allocation) -> Result<(), AllocError> {
        self.begin(input);
        let mut scratch = std::mem::take(&mut self.scratch);
        let mut paid = 0;
        for (index, block) in input.order.blocks() {
            let steps = scratch.matching.steps + self.assignment.edits.len() as u64;
            let before = steps - std::mem::replace(&mut paid, steps);
            input.meter.reserve(before + 2 * u64::from(block.num_insts()))?;
            if self.pass_bare_jump(input, index) {
                continue;
            }
            let start = self.assignment.edits.len() as u32;
            self.enter(input, index, out);
            for (step, position) in input.problem.walk(block.block).zip(block.positions()) {
                self.picker.advance(input.constraints, position);
                self.instruction(input, &step, &mut scratch, out)?;
            }
            self.assignment.edit_spans[index.index()] = Span { start, end: self.assignment.edits.len() as u32 };
            self.leave_block(input, block.block);
        }
        self.map.remove(self.map.occupied);
        self.scratch = scratch;
        self.steps += self.scratch.matching.steps + self.assignment.edits.len() as u64;
        input.meter.spend_rest(self.steps, &mut paid)?;
        Ok(())
    }

    fn begin(&mut self, input: &ColorInput) {
        let values = input.problem.vregs.len();
        self.map.begin(values);
        self.assignment.begin(input.order.num_blocks());
        self.picker.begin(input);
        self.slots.begin(input.problem);
        self.moves.begin();
        self.scratch.begin(input.problem);
        self.transfer = 0;
        self.find_transfer(input);
        self.steps = 0;
    }

    /// Assigns locations to the operands of an instruction.
    #[inline]
    fn instruction(
        &mut self,
        input: &ColorInput,
        step: &Step,
        scratch: &mut Scratch,
        out: &mut Allocation,
    ) -> Result<(), AllocError> {
        let is_unconstrained = step.operand_class < OperandClass::Constrained && !step.flags.has(InstFlags::REMAT);
        if !is_unconstrained || self.has_transfer(step.inst) {
            return self.color_constrained(input, &input.problem.step(step.inst), scratch, out);
        }
        if !step.operands.is_empty() {
            self.unconstrained(input, step, out);
        }
        Ok(())
    }

    /// Assigns locations to the operands of an instruction that has constraints or transfers, or that is
    /// rematerializable.
    #[inline(never)]
    fn color_constrained(
        &mut self,
        input: &ColorInput,
        step: &Step,
        scratch: &mut Scratch,
        out: &mut Allocation,
    ) -> Result<(), AllocError> {
        let inst = step.inst;
        let is_deferred = step.flags.has(InstFlags::REMAT) && {
            let vreg = input.problem.all_operands()[step.operands.start].vreg();
            input.plan.placements[vreg.index()] == Placement::Deferred
        };
        if is_deferred && !self.has_transfer(inst) {
            out.drop_inst(inst);
            return Ok(());
        }
        self.note_next_uses(input, step.operands.clone());
        let mut is_constrained = step.operand_class == OperandClass::Constrained;
        if self.has_transfer(inst) {
            let mut transfers = input.plan.transfers[self.transfer..].iter().take_while(|transfer| transfer.0 == inst);
            is_constrained |= transfers.any(|transfer| transfer.2 == Transfer::Begin);
            let start = self.transfer;
            self.transfer(input, inst, is_constrained, out)?;
            if is_constrained {
                scratch.note_transfers(&input.plan.transfers[start..self.transfer]);
            }
        }
        match (is_deferred, is_constrained) {
            (true, _) => out.drop_inst(inst),
            (_, true) => return self.constrained(input, step, scratch, out),
            _ => self.unconstrained(input, step, out),
        }
        Ok(())
    }

    fn note_next_uses(&mut self, input: &ColorInput, range: Range<usize>) {
        for (operand, &after) in input.problem.all_operands()[range.clone()].iter().zip(&input.live.after[range]) {
            self.map.values[operand.vreg().index()].distance = after.distance;
        }
    }

    /// Returns `true` if the next transfer of the plan belongs to this instruction.
    pub(crate) fn has_transfer(&self, inst: Inst) -> bool {
        self.transfer_at == Some(inst)
    }

    fn find_transfer(&mut self, input: &ColorInput) {
        self.transfer_at = input.plan.transfers.get(self.transfer).map(|transfer| transfer.0);
    }

    /// Performs the transfers of an instruction, except for the reloads of a constrained instruction, which are
    /// part of its parallel move.
    fn transfer(
        &mut self,
        input: &ColorInput,
        inst: Inst,
        is_constrained: bool,
        out: &mut Allocation,
    ) -> Result<(), AllocError> {
        while let Some(&(_, vreg, transfer)) = input.plan.transfers.get(self.transfer).filter(|t| t.0 == inst) {
            self.transfer += 1;
            match (transfer, self.map.at(vreg)) {
                (Transfer::Store, Some(from)) => self.store(input, vreg, from, inst, out),
                (Transfer::Compute, _) => {
                    let slot = self.slot(input, vreg, out);
                    self.add_move(input, vreg, None, Loc::slot(slot), out);
                }
                (Transfer::Evict, Some(reg)) => self.map.remove(PRegSet::EMPTY.with(reg)),
                (Transfer::EvictAfter, _) => self.map.values[vreg.index()].evicted_after = inst.as_u32() + 1,
                (Transfer::Reload, _) if !is_constrained => self.reload(input, vreg, inst, out),
                _ => {}
            }
        }
        self.find_transfer(input);
        if is_constrained {
            return Ok(());
        }
        self.resolve_moves(input, inst, self.map.occupied, out)
    }

    /// Appends the edits of the current parallel move. Registers not in `taken` are free.
    pub(crate) fn resolve_moves(
        &mut self,
        input: &ColorInput,
        at: Inst,
        taken: PRegSet,
        out: &mut Allocation,
    ) -> Result<(), AllocError> {
        if self.moves.is_empty() {
            return Ok(());
        }
        let free = input.constraints.allocatable.difference(taken);
        let done = self.moves.resolve(free, (input.problem, input.env), out, &mut self.sequence);
        self.assignment.edits.extend(self.sequence.drain(..).map(|kind| Edit { at, kind }));
        done.map_err(|NoRegister(class)| AllocError::TooFewRegisters { inst: at, class })
    }

    /// Reloads a value into a free register.
    fn reload(&mut self, input: &ColorInput, vreg: VReg, inst: Inst, out: &mut Allocation) {
        let free = input.constraints.allocatable.difference(self.map.occupied);
        let Some(to) = self.pick(input, vreg, self.known_end(vreg), free) else {
            debug_assert!(false, "{vreg} has no register to be reloaded into at {inst}");
            return;
        };
        let kind = match input.constraints.remat(vreg) {
            Some(inst) => EditKind::Remat { inst, to },
            None => EditKind::Fill { from: self.slot(input, vreg, out), to, width: input.problem.width(vreg) },
        };
        self.assignment.edits.push(Edit { at: inst, kind });
        self.put(vreg, to);
    }

    /// Puts a value into a free register.
    pub(crate) fn put(&mut self, vreg: VReg, reg: PReg) {
        self.map.put(vreg, reg);
        self.assignment.used.insert(reg);
    }

    /// Returns the slot of a value.
    pub(crate) fn slot(&mut self, input: &ColorInput, vreg: VReg, out: &mut Allocation) -> kingpost_regalloc::Slot {
        self.slots.place(input.problem, input.classes, vreg, out)
    }

    pub(crate) fn store(&mut self, input: &ColorInput, vreg: VReg, from: PReg, at: Inst, out: &mut Allocation) {
        let to = self.slot(input, vreg, out);
        self.assignment.edits.push(Edit { at, kind: EditKind::Spill { from, to, width: input.problem.width(vreg) } });
    }

    /// Records the location of a definition after its instruction, and stores it if the plan stores it there.
    #[inline]
    pub(crate) fn finish_def(&mut self, input: &ColorInput, inst: Inst, vreg: VReg, loc: Loc, out: &mut Allocation) {
        let is_dead = self.map.values[vreg.index()].is_dead();
        match loc.as_reg() {
            Some(reg) if is_dead => self.assignment.used.insert(reg),
            Some(reg) => self.put(vreg, reg),
            None => {}
        }
        let is_stored = input.plan.placements[vreg.index()] == Placement::AtDefinition;
        if let Some(reg) = loc.as_reg().filter(|_| is_stored && !is_dead) {
            self.store(input, vreg, reg, Inst::from_u32(inst.as_u32() + 1), out);
        }
    }

    fn leave_block(&mut self, input: &ColorInput, block: Block) {
        self.assignment.exits[self.index.index()] = self.save_map();
        debug_assert!(
            input.spills.exit(self.index).iter().all(|&vreg| self.map.at(vreg).is_some())
                && input.spills.exit(self.index).len() == self.map.occupied.len(),
            "{block} ends with other values in registers than planned"
        );
    }

    /// Appends the values in registers to the pool, for other blocks.
    pub(crate) fn save_map(&mut self) -> Span {
        let start = self.assignment.pool.len() as u32;
        self.map.add_residents(&mut self.assignment.pool);
        Span { start, end: self.assignment.pool.len() as u32 }
    }
}
