//! The result of spilling: the values in registers at each block's ends, and the transfers between registers and
//! memory in between.
//!
//! ```text
//! registers {r0, r1, r2}
//! b1: v0 v3               the entry set, where several edges or edges with arguments come in
//! before i2: store v0     memory does not have it yet
//! before i2: evict v0     .. or after i2, if that reads v0
//! before i5: reload v0
//! ```
//!
//! 1. Pressure fits: before and after each instruction at most as many values of a class are in registers as it has
//!    registers.
//! 2. A use that needs a register finds its value in one.
//! 3. A value that is evicted is in a register; a value that is reloaded is not.
//! 4. The values in registers at a block's end are its exit set.

use crate::constraints::needs_register;
use crate::spill_input::SpillInput;
use crate::tables::{Span, check};
use cranelift_entity::EntityRef;
use kingpost_regalloc::meter::heap_bytes;
use kingpost_regalloc::{Block, Constraint, Inst, InstFlags, Operand, PRegSet, Problem, RegClass, VReg};
use kingpost_regalloc_common::order::BlockIndex;
use std::collections::BTreeSet;
use std::fmt::{self, Write};

/// Transfer of a value at an instruction. All but [`Transfer::EvictAfter`] and [`Transfer::Begin`] precede it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Transfer {
    /// Stores the value, which stays in its register.
    Store,
    /// Rematerializes the value and stores it.
    Compute,
    /// Removes the value from its register.
    Evict,
    /// Loads or rematerializes the value into a register.
    Reload,
    /// Removes the value from its register after the instruction has read it.
    EvictAfter,
    /// Defines the value in memory.
    Begin,
    /// Marks the value as held by memory and a register: operands that may be in memory read it there.
    ReadInMemory,
}

/// Points at which the slot of a value is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Placement {
    /// Never: the value is in registers throughout its live range, or is rematerialized.
    Never,
    /// Never: the value is computed at its uses only.
    Deferred,
    AtDefinition,
    /// At each point at which it leaves a register while memory does not hold it.
    AtEvictions,
}

#[derive(Default)]
pub(crate) struct SpillPlan {
    /// Usable registers: all except callee-saved ones that do not pay.
    pub(crate) open: PRegSet,
    /// Transfers in the order of instructions. The reload plan takes over this list and the placements.
    pub(crate) transfers: Vec<(Inst, VReg, Transfer)>,
    /// Placements per value.
    pub(crate) placements: Vec<Placement>,
    /// Per block in order, the values in registers at its head, if it is joined.
    pub(crate) entries: Vec<Span>,
    pub(crate) entry_pool: Vec<VReg>,
    /// Per block in order, the values in registers at its end. A bare jump may have the values of its predecessor,
    /// including dead ones.
    pub(crate) exits: Vec<Option<Span>>,
    pub(crate) pool: Vec<VReg>,
    /// Per member of the pool: whether memory also holds it.
    pub(crate) pool_clean: Vec<bool>,
}

heap_bytes!(SpillPlan { transfers, placements, entries, entry_pool, exits, pool, pool_clean } without { open });

impl SpillPlan {
    /// Returns the values in registers at the head of a joined block.
    pub(crate) fn entry(&self, index: BlockIndex) -> &[VReg] {
        &self.entry_pool[self.entries[index.index()].range()]
    }

    /// Returns the values in registers at the end of a block.
    pub(crate) fn exit(&self, index: BlockIndex) -> &[VReg] {
        self.exits[index.index()].map_or(&[], |span| &self.pool[span.range()])
    }

    /// Returns `true` if a bare jump has the exit set of its predecessor `from`.
    pub(crate) fn is_passed_over(&self, index: BlockIndex, from: BlockIndex) -> bool {
        self.exits[index.index()] == self.exits[from.index()]
    }

    /// Returns the values in registers at the end of a block, each with whether memory also holds it.
    pub(crate) fn exit_with_memory(&self, index: BlockIndex) -> impl Iterator<Item = (VReg, bool)> {
        let range = self.exits[index.index()].unwrap_or_default().range();
        self.pool[range.clone()].iter().copied().zip(self.pool_clean[range].iter().copied())
    }

    /// Writes the usable registers, then one line per entry set and per transfer.
    pub(crate) fn dump(&self, input: &SpillInput, out: &mut String) -> fmt::Result {
        writeln!(out, "registers {}", self.open)?;
        let mut transfers = self.transfers.iter().peekable();
        for (index, block) in input.order.blocks() {
            let block = block.block;
            if index > BlockIndex::FIRST && is_joined(input.problem, block) {
                write!(out, "{block}:")?;
                let entry: BTreeSet<VReg> = self.entry(index).iter().copied().collect();
                entry.iter().try_for_each(|vreg| write!(out, " {vreg}"))?;
                writeln!(out)?;
            }
            for inst in input.problem.insts(block) {
                while let Some((_, vreg, transfer)) = transfers.next_if(|transfer| transfer.0 == inst) {
                    writeln!(out, "{}", transfer.line(inst, *vreg))?;
                }
            }
        }
        Ok(())
    }

    /// Checks the set of values in registers through all blocks.
    ///
    /// # Errors
    /// The first violation of an invariant, with its number.
    pub(crate) fn verify(&self, input: &SpillInput) -> Result<(), String> {
        let mut transfers = self.transfers.iter().copied().peekable();
        for (index, block) in input.order.blocks() {
            let block = block.block;
            let mut set = self.set_at_head(input, index, block);
            for inst in input.problem.insts(block) {
                let here: Vec<_> = std::iter::from_fn(|| transfers.next_if(|transfer| transfer.0 == inst)).collect();
                self.verify_instruction(input, inst, &here, &mut set)?;
            }
            let mut exit: BTreeSet<VReg> = self.exit(index).iter().copied().collect();
            if input.live.jumps.are[index.index()] {
                exit.retain(|&vreg| input.live.is_live_at(input.problem, input.order, index, vreg));
            }
            check(exit == set, || format!("rule 4: {block} ends with {set:?}, not {exit:?}"))?;
        }
        Ok(())
    }

    fn set_at_head(&self, input: &SpillInput, index: BlockIndex, block: Block) -> BTreeSet<VReg> {
        let problem = input.problem;
        let is_live = |vreg: &VReg| input.live.is_live_at(problem, input.order, index, *vreg);
        match problem.preds(block) {
            _ if index > BlockIndex::FIRST && is_joined(problem, block) => self.entry(index).iter().copied().collect(),
            &[edge] => {
                let from = problem.edge(edge).from;
                let in_register = |vreg: &&VReg| !input.constraints.begin_in_memory.contains(**vreg);
                let defs = problem.edge_defs(edge).iter().filter(in_register);
                self.exit(input.order.index(from)).iter().chain(defs).copied().filter(is_live).collect()
            }
            _ => BTreeSet::new(),
        }
    }

    fn verify_instruction(
        &self,
        input: &SpillInput,
        inst: Inst,
        transfers: &[(Inst, VReg, Transfer)],
        set: &mut BTreeSet<VReg>,
    ) -> Result<(), String> {
        let problem = input.problem;
        let operands = problem.operands(inst);
        for &(_, vreg, transfer) in transfers {
            let holds = match transfer {
                Transfer::Store | Transfer::EvictAfter => set.contains(&vreg),
                Transfer::Evict => set.remove(&vreg),
                Transfer::Reload => set.insert(vreg),
                Transfer::Begin | Transfer::Compute | Transfer::ReadInMemory => true,
            };
            check(holds, || format!("rule 3: {}", transfer.line(inst, vreg)))?;
        }
        let has = |vreg: VReg, transfer: Transfer| transfers.contains(&(inst, vreg, transfer));
        let is_overwritten =
            |def: &Operand, i: usize| def.reused() == Some(i as u8) && has(def.vreg(), Transfer::Begin);
        let is_in_slot =
            |i: usize| operands.iter().any(|def| is_overwritten(def, i)) || has(operands[i].vreg(), Transfer::Compute);
        for (i, operand) in operands.iter().enumerate().filter(|(i, operand)| operand.is_use() && !is_in_slot(*i)) {
            let missing = needs_register(input.constraints, operands, i) && !set.contains(&operand.vreg());
            check(!missing, || format!("rule 2: {} is in no register at {inst}", operand.vreg()))?;
        }
        check_pressure(input, inst, set)?;
        for (operand, next) in operands.iter().zip(&input.live.after[problem.operand_range(inst)]) {
            let vreg = operand.vreg();
            let is_branch = problem.flags(inst).has(InstFlags::BRANCH);
            if operand.is_use() && next.is_dead() {
                set.remove(&vreg);
            } else if operand.is_def() && operand.constraint() != Constraint::Stack && !next.is_dead() && !is_branch {
                set.extend(Some(vreg).filter(|_| self.placements[vreg.index()] != Placement::Deferred));
            }
        }
        for (_, vreg, _) in transfers.iter().filter(|t| matches!(t.2, Transfer::EvictAfter | Transfer::Begin)) {
            set.remove(vreg);
        }
        check_pressure(input, inst, set)
    }
}

fn check_pressure(input: &SpillInput, inst: Inst, set: &BTreeSet<VReg>) -> Result<(), String> {
    RegClass::ALL.into_iter().try_for_each(|class| {
        let count = set.iter().filter(|&&vreg| input.problem.class(vreg) == class).count();
        let most = input.constraints.allocatable.of_class(class).len();
        check(count <= most, || format!("rule 1: {count} values in {most} {class} registers at {inst}"))
    })
}

impl Transfer {
    /// Returns the transfer of a value at an instruction as a line of text.
    pub(crate) fn line(self, inst: Inst, vreg: VReg) -> String {
        match self {
            Transfer::Store => format!("before {inst}: store {vreg}"),
            Transfer::Compute => format!("before {inst}: compute and store {vreg}"),
            Transfer::Evict => format!("before {inst}: evict {vreg}"),
            Transfer::Reload => format!("before {inst}: reload {vreg}"),
            Transfer::EvictAfter => format!("after {inst}: evict {vreg}"),
            Transfer::Begin => format!("after {inst}: {vreg} is in memory"),
            Transfer::ReadInMemory => format!("before {inst}: {vreg} is in memory as well"),
        }
    }
}

/// Returns `true` if edges into the block carry moves. A block with one incoming edge and no parameters continues
/// with the registers unchanged.
pub(crate) fn is_joined(problem: &Problem, block: Block) -> bool {
    problem.preds(block).len() != 1 || !problem.params(block).is_empty()
}
