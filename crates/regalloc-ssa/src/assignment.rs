//! The result of coloring: the registers of values at the ends of blocks, and the edits inside blocks. The
//! registers of operands are in the allocation under construction.
//!
//! ```text
//! b1: v0=r0 v3=r2 -> v0=r0 v5=r2      its entry, as it is joined, and its exit
//! ```
//!
//! 1. At the ends of blocks the values in registers are the values of the spill plan, each in a register of its own
//!    and of its class.
//! 2. An operand is in a register that its constraint allows, or in memory if it may be there.

use crate::spill_input::SpillInput;
use crate::spill_plan::SpillPlan;
use crate::tables::{Span, check, reset};
use cranelift_entity::EntityRef;
use kingpost_regalloc::meter::heap_bytes;
use kingpost_regalloc::{Allocation, Constraint, Edit, PReg, PRegSet, VReg};
use kingpost_regalloc_common::order::BlockIndex;
use std::collections::BTreeSet;
use std::fmt::{self, Write};

#[derive(Default)]
pub(crate) struct Assignment {
    /// Edits inside blocks, block by block in the order of the walk.
    pub(crate) edits: Vec<Edit>,
    /// Per block in order, the span of its edits.
    pub(crate) edit_spans: Vec<Span>,
    /// Values in registers at the ends of blocks, sorted by register at each.
    pub(crate) pool: Vec<(VReg, PReg)>,
    /// Per block in order, the values at its head if it is joined.
    pub(crate) entries: Vec<Span>,
    /// Per block in order, the values at its end.
    pub(crate) exits: Vec<Span>,
    /// The registers of the parameters of blocks, block by block.
    pub(crate) param_regs: Vec<Option<PReg>>,
    /// Per block in order, the index in `param_regs` of its first parameter.
    pub(crate) param_starts: Vec<u32>,
    /// Indices of operands in memory.
    pub(crate) in_memory: Vec<u32>,
    /// All registers in use.
    pub(crate) used: PRegSet,
}

heap_bytes!(Assignment { edits, edit_spans, pool, entries, exits, param_regs, param_starts, in_memory } without { used });

impl Assignment {
    pub(crate) fn begin(&mut self, blocks: usize) {
        let Assignment { edits, edit_spans, pool, entries, exits, param_regs, param_starts, in_memory, used } = self;
        edits.clear();
        pool.clear();
        param_regs.clear();
        in_memory.clear();
        for spans in [edit_spans, entries, exits] {
            reset(spans, blocks, Span::default());
        }
        reset(param_starts, blocks, 0);
        *used = PRegSet::EMPTY;
    }

    /// Returns the values in registers at the head of a joined block.
    pub(crate) fn entry(&self, index: BlockIndex) -> &[(VReg, PReg)] {
        &self.pool[self.entries[index.index()].range()]
    }

    /// Returns the values in registers at the end of a block.
    pub(crate) fn exit(&self, index: BlockIndex) -> &[(VReg, PReg)] {
        &self.pool[self.exits[index.index()].range()]
    }

    /// Writes one line per block: the registers at its head, if it is joined, and at its end.
    pub(crate) fn dump(&self, input: &SpillInput, out: &mut String) -> fmt::Result {
        let SpillInput { problem, order, live, .. } = *input;
        for (index, block) in order.blocks() {
            write!(out, "{}:", block.block)?;
            for (vreg, reg) in self.entry(index) {
                write!(out, " {vreg}={reg}")?;
            }
            write!(out, " ->")?;
            let is_bare_jump = live.jumps.are[index.index()];
            let is_live = |vreg| !is_bare_jump || live.is_live_at(problem, order, index, vreg);
            for (vreg, reg) in self.exit(index).iter().filter(|resident| is_live(resident.0)) {
                write!(out, " {vreg}={reg}")?;
            }
            writeln!(out)?;
        }
        Ok(())
    }

    /// Checks the invariants of the assignment.
    ///
    /// # Errors
    /// The first violation of an invariant, with its number.
    pub(crate) fn verify(&self, input: &SpillInput, spills: &SpillPlan, out: &Allocation) -> Result<(), String> {
        let problem = input.problem;
        for (index, block) in input.order.blocks() {
            let block = block.block;
            let ends = [(self.entry(index), spills.entry(index)), (self.exit(index), spills.exit(index))];
            for (residents, planned) in ends {
                let regs: PRegSet = residents.iter().map(|resident| resident.1).collect();
                let values: BTreeSet<VReg> = residents.iter().map(|resident| resident.0).collect();
                let fits = regs.len() == residents.len()
                    && residents.iter().all(|&(vreg, reg)| problem.class(vreg) == reg.class())
                    && values == planned.iter().copied().collect();
                check(fits, || format!("rule 1: {block} has {residents:?}, not {planned:?}"))?;
            }
            for inst in problem.insts(block).filter(|&inst| !out.is_dropped(inst)) {
                for (operand, &loc) in problem.operands(inst).iter().zip(out.operand_locs(problem, inst)) {
                    let allowed = match (operand.constraint(), loc.as_reg()) {
                        (Constraint::Stack, reg) => reg.is_none(),
                        (Constraint::Fixed(fixed), reg) => reg == Some(fixed),
                        (Constraint::Within(set), reg) => reg.is_some_and(|reg| problem.reg_set(set).contains(reg)),
                        (Constraint::Reg, None) => false,
                        (_, reg) => reg.is_none_or(|reg| reg.class() == problem.class(operand.vreg())),
                    };
                    check(allowed, || format!("rule 2: {inst} has {} in {loc}", operand.vreg()))?;
                }
            }
        }
        Ok(())
    }
}
