//! The allocator: a slot for each value, and the edits around each instruction.
//!
//! Two passes over the instructions. The first one chooses the locations of all operands; the second one adds the edits, which
//! need the locations of an instruction's neighbors.

use crate::assign::{Assigned, Assigner};
use crate::stack_maps::StackMaps;
use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;
use kingpost_regalloc::meter::{HeapBytes, heap_bytes};
use kingpost_regalloc::sort::sort_by_key;
use kingpost_regalloc::{
    AllocError, Allocation, Allocator, Block, Diagnostics, Edit, EditKind, Inst, InstFlags, LabelRange, Loc,
    MachineEnv, NoRegister, PRegSet, ParallelMoves, Problem, Slot, VReg,
};

/// Largest number of values, because each has a slot number.
const MAX_VALUES: u64 = (1 << 31) - 4;

/// The allocator that spills everything. See the [crate documentation](crate).
pub struct SpillAll {
    slots: SecondaryMap<VReg, PackedOption<Slot>>,
    assigner: Assigner,
    /// Copies that happen at once.
    moves: ParallelMoves,
    /// The edits that `moves` produces.
    sequence: Vec<EditKind>,
    stack_maps: StackMaps,
    /// Locations of the defs of branches, which are stored in a successor.
    branch_defs: SecondaryMap<VReg, Loc>,
}

heap_bytes!(SpillAll { slots, assigner, sequence, stack_maps, branch_defs } without { moves });

impl Default for SpillAll {
    fn default() -> SpillAll {
        SpillAll {
            slots: SecondaryMap::new(),
            assigner: Assigner::default(),
            moves: ParallelMoves::new(),
            sequence: Vec::new(),
            stack_maps: StackMaps::default(),
            branch_defs: SecondaryMap::with_default(Loc::NONE),
        }
    }
}

impl Allocator for SpillAll {
    fn name(&self) -> &'static str {
        "spill_all"
    }

    fn memory_bytes(&self) -> u64 {
        self.heap_bytes()
    }

    fn allocate(&mut self, problem: &Problem, env: &MachineEnv, out: &mut Allocation) -> Result<(), AllocError> {
        self.allocate_with(problem, env, out, &mut Diagnostics::default())
    }

    fn allocate_with(
        &mut self,
        problem: &Problem,
        env: &MachineEnv,
        out: &mut Allocation,
        diagnostics: &mut Diagnostics<'_>,
    ) -> Result<(), AllocError> {
        let meter = diagnostics.meter;
        // Two passes over the instructions, and about one edit for each operand.
        meter.reserve(3 * problem.size())?;
        out.reset(problem);
        if problem.vregs.len() as u64 > MAX_VALUES {
            return Err(AllocError::TooLarge { what: "values", limit: MAX_VALUES });
        }
        self.slots.clear();
        self.branch_defs.clear();
        self.moves.begin();
        self.assigner.begin(problem);
        for block in problem.blocks() {
            for inst in problem.insts(block) {
                self.locate(problem, env, block, inst, out)?;
            }
        }
        for block in problem.blocks() {
            self.edit_block(problem, env, block, out)?;
        }
        self.add_labels(problem, out);
        let slots = &self.slots;
        // A safepoint is an instruction at which a collector may run: it finds the references that are read later in their slots.
        out.stats.steps = self.stack_maps.collect(problem, |vreg| slots[vreg].expand(), &mut out.stack_maps, meter)?;
        out.stats.steps += problem.num_operands() as u64;
        // The frame saves these registers, because the caller expects them unchanged.
        out.collect_saved(problem, env.callee_saved());
        Ok(())
    }
}

impl SpillAll {
    /// Returns the slot of a value; adds it on first use.
    fn slot(&mut self, problem: &Problem, vreg: VReg, out: &mut Allocation) -> Slot {
        if let Some(slot) = self.slots[vreg].expand() {
            return slot;
        }
        let slot = out.add_slot(problem.width(vreg));
        self.slots[vreg] = slot.into();
        slot
    }

    /// Chooses the locations of an instruction's operands: slots for operands that may be in memory, registers for
    /// the others.
    ///
    /// A branch defines values on its edges; their locations are kept for the successors.
    fn locate(
        &mut self,
        problem: &Problem,
        env: &MachineEnv,
        block: Block,
        inst: Inst,
        out: &mut Allocation,
    ) -> Result<(), AllocError> {
        self.assigner.assign(problem, env, block, inst)?;
        let is_branch = problem.flags(inst).has(InstFlags::BRANCH);
        for (i, at) in problem.operand_range(inst).enumerate() {
            let operand = problem.all_operands()[at];
            out.locs[at] = match self.assigner.assigned(i) {
                Assigned::Reg(reg) => Loc::reg(reg),
                Assigned::SlotOf(vreg) => Loc::slot(self.slot(problem, vreg, out)),
            };
            if is_branch && operand.is_def() {
                self.branch_defs[operand.vreg()] = out.locs[at];
            }
        }
        if problem.flags(inst).has(InstFlags::MOVE) && matches!(out.operand_locs(problem, inst), [a, b] if a == b) {
            out.drop_inst(inst);
        }
        Ok(())
    }

    /// Adds the edits of a block, in the order of its instructions.
    ///
    /// All edits of an allocation are placed *before* instructions: an edit after an instruction comes before the
    /// next one. No edit follows a terminator: its defs are stored at the head of the successor, which has no other
    /// predecessor.
    fn edit_block(
        &mut self,
        problem: &Problem,
        env: &MachineEnv,
        block: Block,
        out: &mut Allocation,
    ) -> Result<(), AllocError> {
        let first = problem.first_inst(block);
        for &edge in problem.preds(block) {
            for &vreg in problem.edge_defs(edge) {
                self.store(problem, vreg, self.branch_defs[vreg], first, out);
            }
        }
        let mut previous = None;
        for inst in problem.insts(block) {
            previous.inspect(|&previous| self.store_defs(problem, previous, inst, out));
            self.copy_modified(problem, env, inst, out)?;
            self.fill_uses(problem, inst, out);
            previous = Some(inst);
        }
        self.pass_arguments(problem, env, block, out)
    }

    /// Stores the defs of `inst` that are in registers, before the next instruction `at`.
    fn store_defs(&mut self, problem: &Problem, inst: Inst, at: Inst, out: &mut Allocation) {
        for i in problem.operand_range(inst) {
            let operand = problem.all_operands()[i];
            if operand.is_def() {
                self.store(problem, operand.vreg(), out.locs[i], at, out);
            }
        }
    }

    /// Stores `loc` to the slot of `vreg` before `at`, if it is a register.
    fn store(&mut self, problem: &Problem, vreg: VReg, loc: Loc, at: Inst, out: &mut Allocation) {
        if let Some(from) = loc.as_reg() {
            let to = self.slot(problem, vreg, out);
            out.edits.push(Edit { at, kind: EditKind::Spill { from, to, width: problem.width(vreg) } });
        }
    }

    /// Copies uses that an instruction modifies in memory to the slots of its defs.
    fn copy_modified(
        &mut self,
        problem: &Problem,
        env: &MachineEnv,
        inst: Inst,
        out: &mut Allocation,
    ) -> Result<(), AllocError> {
        for i in problem.operand_range(inst) {
            let operand = problem.all_operands()[i];
            if operand.is_use() && out.locs[i].as_slot().is_some() {
                let from = Loc::slot(self.slot(problem, operand.vreg(), out));
                let vreg = operand.vreg();
                self.moves.add(from, out.locs[i], problem.class(vreg), problem.width(vreg));
            }
        }
        self.resolve_moves((problem, env), inst, out)
    }

    /// Fills each register of the uses of `inst` once.
    fn fill_uses(&mut self, problem: &Problem, inst: Inst, out: &mut Allocation) {
        let mut filled = PRegSet::EMPTY;
        for i in problem.operand_range(inst) {
            let operand = problem.all_operands()[i];
            let Some(to) = out.locs[i].as_reg().filter(|_| operand.is_use()) else { continue };
            if !filled.contains(to) {
                filled.insert(to);
                let from = self.slot(problem, operand.vreg(), out);
                let kind = EditKind::Fill { from, to, width: problem.width(operand.vreg()) };
                out.edits.push(Edit { at: inst, kind });
            }
        }
    }

    /// Copies arguments to the slots of their parameters, before the jump. Only a jump with one target has arguments. They are
    /// passed at once, because two values may change places.
    fn pass_arguments(
        &mut self,
        problem: &Problem,
        env: &MachineEnv,
        block: Block,
        out: &mut Allocation,
    ) -> Result<(), AllocError> {
        for &edge in problem.succs(block) {
            let params = problem.params(problem.edge(edge).to);
            for (&arg, &param) in problem.edge_args(edge).iter().zip(params) {
                let from = Loc::slot(self.slot(problem, arg, out));
                let to = Loc::slot(self.slot(problem, param, out));
                self.moves.add(from, to, problem.class(arg), problem.width(arg));
            }
        }
        self.resolve_moves((problem, env), problem.terminator(block), out)
    }

    /// Resolves the collected moves into edits before `at`. These may use any register, because none holds a value
    /// between instructions.
    fn resolve_moves(
        &mut self,
        (problem, env): (&Problem, &MachineEnv),
        at: Inst,
        out: &mut Allocation,
    ) -> Result<(), AllocError> {
        let done = self.moves.resolve(env.allocatable(), (problem, env), out, &mut self.sequence);
        out.edits.extend(self.sequence.drain(..).map(|kind| Edit { at, kind }));
        done.map_err(|NoRegister(class)| AllocError::TooFewRegisters { inst: at, class })
    }

    /// Reports the slots of labeled values to debuggers. A value is in its slot from its def on, but a parameter not at a jump
    /// whose edits store its next value there.
    fn add_labels(&mut self, problem: &Problem, out: &mut Allocation) {
        for label in &problem.labels {
            let slot = self.slot(problem, label.vreg, out);
            let jump = problem.terminator(problem.block_of(label.from));
            let first = out.edits.partition_point(|edit| edit.at < jump);
            let mut edits = out.edits[first..].iter().take_while(|edit| edit.at == jump);
            let is_replaced = edits.any(
                |edit| matches!(edit.kind, EditKind::Spill { to, .. } | EditKind::SlotMove { to, .. } if to == slot),
            );
            let to = if is_replaced { label.to.min(jump) } else { label.to };
            if label.from < to {
                out.labels.push(LabelRange { label: label.label, loc: Loc::slot(slot), from: label.from, to });
            }
        }
        sort_by_key(&mut out.labels, |range| (range.label, range.from));
    }
}
