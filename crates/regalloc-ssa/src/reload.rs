//! The plan of all transfers between registers and memory: stores, evictions, reloads and rematerialization of
//! values.
//!
//! ```text
//! after i3: store v1              v1 is evicted more often than it is defined: one store at its definition
//! before i5: store v2             v2 leaves its register while memory does not have it
//! before i5: evict v2
//! before i9: reload v1            from its slot, or rematerialized if it can be
//! b1 -> b3: store v2              b3 has v2 in memory only
//! b1 -> b3: store v4 as v5        .. and its parameter v5, which gets v4
//! ```
//!
//! The code stays SSA: a value has one slot for its whole life, which it shares with its class, so that an argument
//! in memory is already in its parameter's slot. Coloring performs exactly this plan.
//!
//! 1. On every path from its definition to a reload, a value that cannot be rematerialized is stored.
//!
//! Cost: linear in transfers, in values, and in values at the ends of blocks.

use crate::spill_input::SpillInput;
use crate::spill_plan::{Placement, SpillPlan, Transfer};
use crate::tables::{Span, check, reset};
use cranelift_entity::EntityRef;
use cranelift_entity::packed_option::PackedOption;
use kingpost_regalloc::meter::heap_bytes;
use kingpost_regalloc::{AllocError, Block, Constraint, Edge, Inst, VReg};
use kingpost_regalloc_common::order::BlockIndex;
use kingpost_regalloc_common::release;
use std::collections::BTreeSet;
use std::fmt::{self, Write};

/// Transfer of a value on an edge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum EdgeTransfer {
    /// Stores the value from its register to its slot.
    Store,
    /// Loads the value into the register in which the target expects it.
    Reload,
    /// Stores the argument with this index into the slot of the parameter.
    Pass(u32),
}

#[derive(Default)]
pub(crate) struct ReloadPlan {
    /// Transfers in the order of instructions.
    pub(crate) transfers: Vec<(Inst, VReg, Transfer)>,
    /// Placements per value.
    pub(crate) placements: Vec<Placement>,
    /// Per edge into a joined block, the span of its transfers.
    edge_spans: Vec<Span>,
    edge_pool: Vec<(VReg, EdgeTransfer)>,
    /// Per value, the last block that expects it in memory, and the last edge that holds it in a register.
    met: Vec<(PackedOption<BlockIndex>, PackedOption<Edge>)>,
}

heap_bytes!(ReloadPlan { transfers, placements, edge_spans, edge_pool, met });

impl ReloadPlan {
    /// Takes over the transfers and placements of spilling.
    ///
    /// # Errors
    /// If the meter refuses.
    pub(crate) fn run(&mut self, input: &SpillInput, plan: &mut SpillPlan) -> Result<(), AllocError> {
        self.exchange(plan);
        input.meter.reserve((2 * self.transfers.len() + input.order.num_blocks()) as u64)?;
        let (mut steps, mut paid) = (0, 0);
        let plan = &*plan;
        self.drop_unread_definitions(input);
        let placements = &self.placements;
        self.transfers.retain(|(inst, vreg, transfer)| match placements[vreg.index()] {
            Placement::AtDefinition => *transfer != Transfer::Store,
            // The first transfer of a value that became deferred is the eviction of its definition.
            Placement::Deferred => *transfer != Transfer::Store && !is_unread(input, *vreg, *inst, *transfer),
            _ => *transfer != Transfer::Store || input.constraints.remat(*vreg).is_none(),
        });
        reset(&mut self.edge_spans, input.problem.num_edges(), Span::default());
        self.edge_pool.clear();
        reset(&mut self.met, input.problem.vregs.len(), Default::default());
        for (index, block) in input.order.blocks().iter().skip(1) {
            if block.inherits().is_none() {
                input.meter.spend_batch(steps, &mut paid)?;
                steps += input.live.entries(index).len() as u64;
                for entry in input.live.entries(index).iter().filter(|entry| !entry.next.is_dead()) {
                    self.met[entry.vreg.index()].0 = index.into();
                }
                plan.entry(index).iter().for_each(|vreg| self.met[vreg.index()].0 = None.into());
                for &edge in input.problem.preds(block.block) {
                    let start = self.edge_pool.len() as u32;
                    steps += (plan.entry(index).len() + input.problem.edge_args(edge).len()) as u64;
                    self.plan_edge(input, plan, edge, index);
                    self.edge_spans[edge.index()] = Span { start, end: self.edge_pool.len() as u32 };
                }
            }
        }
        Ok(input.meter.spend_rest(steps, &mut paid)?)
    }

    /// Exchanges the lists with spilling. Before a problem this returns them, so that spilling reuses their memory.
    pub(crate) fn exchange(&mut self, plan: &mut SpillPlan) {
        std::mem::swap(&mut self.placements, &mut plan.placements);
        std::mem::swap(&mut self.transfers, &mut plan.transfers);
    }

    /// Frees memory of a large problem that later phases do not need.
    pub(crate) fn release(&mut self) {
        release(&mut self.met);
    }

    /// Frees memory of a large problem that the answer does not need.
    pub(crate) fn close(&mut self) {
        release(&mut self.transfers);
    }

    /// Returns the transfers on an edge into a joined block.
    pub(crate) fn on_edge(&self, edge: Edge) -> &[(VReg, EdgeTransfer)] {
        &self.edge_pool[self.edge_spans[edge.index()].range()]
    }

    /// Marks rematerializable definitions that are evicted before they are read as deferred.
    fn drop_unread_definitions(&mut self, input: &SpillInput) {
        for &(inst, vreg, transfer) in &self.transfers {
            if is_unread(input, vreg, inst, transfer) {
                self.placements[vreg.index()] = Placement::Deferred;
            }
        }
    }

    fn plan_edge(&mut self, input: &SpillInput, plan: &SpillPlan, edge: Edge, to: BlockIndex) {
        let problem = input.problem;
        let from = input.order.index(problem.edge(edge).from);
        let is_stored = |vreg: VReg| {
            self.placements[vreg.index()] == Placement::AtDefinition || input.constraints.remat(vreg).is_some()
        };
        for (vreg, is_clean) in plan.exit_with_memory(from) {
            let met = &mut self.met[vreg.index()];
            met.1 = edge.into();
            if met.0 == to.into() && !is_clean && !is_stored(vreg) && !input.live.is_defined_at_head(vreg, to) {
                self.edge_pool.push((vreg, EdgeTransfer::Store));
            }
        }
        for &vreg in plan.entry(to) {
            if self.met[vreg.index()].1 != edge.into() && !input.live.is_defined_at_head(vreg, to) {
                self.edge_pool.push((vreg, EdgeTransfer::Reload));
            }
        }
        self.plan_arguments(input, plan, edge, to);
    }

    /// Schedules the stores of arguments to parameters in memory. No store is needed if the argument is in memory
    /// and of the parameter's class, because both share a slot.
    fn plan_arguments(&mut self, input: &SpillInput, plan: &SpillPlan, edge: Edge, to: BlockIndex) {
        let problem = input.problem;
        let pairs = problem.params(problem.edge(edge).to).iter().zip(problem.edge_args(edge));
        for (i, (&param, &arg)) in pairs.enumerate() {
            if self.met[param.index()].0 != to.into() {
                continue;
            }
            let shares = input.classes.class(param) == input.classes.class(arg);
            if !(shares && self.is_in_memory(input, plan, edge, arg)) {
                self.edge_pool.push((param, EdgeTransfer::Pass(i as u32)));
            }
        }
    }

    /// Returns `true` if the slot of the value holds it at the end of the edge's source.
    fn is_in_memory(&self, input: &SpillInput, plan: &SpillPlan, edge: Edge, vreg: VReg) -> bool {
        if input.constraints.remat(vreg).is_some() {
            return false;
        }
        let from = input.order.index(input.problem.edge(edge).from);
        self.met[vreg.index()].1 != edge.into()
            || self.placements[vreg.index()] == Placement::AtDefinition
            || plan.exit_with_memory(from).any(|(other, is_clean)| other == vreg && is_clean)
    }

    /// Writes one line per transfer.
    pub(crate) fn dump(&self, input: &SpillInput, out: &mut String) -> fmt::Result {
        let problem = input.problem;
        let mut transfers = self.transfers.iter().peekable();
        for block in input.order.blocks().values().map(|block| block.block) {
            for &param in problem.params(block) {
                self.dump_store(param, &block, out)?;
            }
            for inst in problem.insts(block) {
                while let Some((_, vreg, transfer)) = transfers.next_if(|transfer| transfer.0 == inst) {
                    let again = input.constraints.remat(*vreg).filter(|_| *transfer == Transfer::Reload);
                    write!(out, "{}", transfer.line(inst, *vreg))?;
                    again.map_or(Ok(()), |again| write!(out, ", computed as {again}"))?;
                    writeln!(out)?;
                }
                for def in problem.operands(inst).iter().filter(|operand| operand.is_def()) {
                    self.dump_store(def.vreg(), &inst, out)?;
                }
            }
            for &edge in problem.succs(block) {
                for &(vreg, transfer) in self.on_edge(edge) {
                    let (from, to) = (problem.edge(edge).from, problem.edge(edge).to);
                    match transfer {
                        EdgeTransfer::Store => writeln!(out, "{from} -> {to}: store {vreg}")?,
                        EdgeTransfer::Reload => writeln!(out, "{from} -> {to}: reload {vreg}")?,
                        EdgeTransfer::Pass(i) => {
                            writeln!(out, "{from} -> {to}: store {} as {vreg}", problem.edge_args(edge)[i as usize])?
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn dump_store(&self, vreg: VReg, after: &dyn fmt::Display, out: &mut String) -> fmt::Result {
        match self.placements[vreg.index()] {
            Placement::AtDefinition => writeln!(out, "after {after}: store {vreg}"),
            Placement::Deferred => writeln!(out, "after {after}: {vreg} is computed later"),
            Placement::Never | Placement::AtEvictions => Ok(()),
        }
    }

    /// Computes the values that memory holds at each block's end on all paths, then checks each read of memory.
    ///
    /// # Errors
    /// The first violation of an invariant, with its number.
    pub(crate) fn verify(&self, input: &SpillInput) -> Result<(), String> {
        let problem = input.problem;
        let mut ends: Vec<Option<BTreeSet<VReg>>> = vec![None; problem.num_blocks()];
        let mut changed = true;
        while changed {
            changed = false;
            for block in input.order.blocks().values().map(|block| block.block) {
                let end = self.verify_block(input, block, &ends, false)?;
                changed |= ends[block.index()].as_ref() != Some(&end);
                ends[block.index()] = Some(end);
            }
        }
        problem.blocks().try_for_each(|block| self.verify_block(input, block, &ends, true).map(drop))
    }

    /// Returns the values that memory holds at the end of a block.
    fn verify_block(
        &self,
        input: &SpillInput,
        block: Block,
        ends: &[Option<BTreeSet<VReg>>],
        is_final: bool,
    ) -> Result<BTreeSet<VReg>, String> {
        let problem = input.problem;
        let mut stored = self.stored_at_head(input, block, ends, is_final)?;
        let at_def = |vreg: &VReg| self.placements[vreg.index()] == Placement::AtDefinition;
        let is_remat = |vreg: VReg| input.constraints.remat(vreg).is_some();
        for inst in problem.insts(block) {
            let start = self.transfers.partition_point(|transfer| transfer.0 < inst);
            for &(_, vreg, transfer) in self.transfers[start..].iter().take_while(|transfer| transfer.0 == inst) {
                let holds = match transfer {
                    Transfer::Reload => stored.contains(&vreg) || is_remat(vreg),
                    Transfer::ReadInMemory => stored.contains(&vreg),
                    _ => true,
                };
                check(holds || !is_final, || format!("rule 1: {}", transfer.line(inst, vreg)))?;
                let writes = matches!(transfer, Transfer::Store | Transfer::Compute | Transfer::Begin);
                stored.extend(Some(vreg).filter(|_| writes));
            }
            let defs = problem.operands(inst).iter().filter(|operand| operand.is_def());
            let in_memory = defs.filter(|def| at_def(&def.vreg()) || def.constraint() == Constraint::Stack);
            stored.extend(in_memory.map(|def| def.vreg()));
        }
        Ok(stored)
    }

    /// Returns the values that memory holds at the head of a block, on all edges with known sources.
    fn stored_at_head(
        &self,
        input: &SpillInput,
        block: Block,
        ends: &[Option<BTreeSet<VReg>>],
        is_final: bool,
    ) -> Result<BTreeSet<VReg>, String> {
        let problem = input.problem;
        let mut stored: Option<BTreeSet<VReg>> = None;
        for &edge in problem.preds(block) {
            let from = problem.edge(edge).from;
            let Some(mut here) = ends[from.index()].clone() else { continue };
            for &(vreg, transfer) in self.on_edge(edge) {
                let is_remat = input.constraints.remat(vreg).is_some();
                let holds = transfer != EdgeTransfer::Reload || here.contains(&vreg) || is_remat;
                check(holds || !is_final, || format!("rule 1: {from} -> {block} reloads {vreg}"))?;
                here.extend(Some(vreg).filter(|_| transfer != EdgeTransfer::Reload));
            }
            let is_shared = |pair: &(&VReg, &VReg)| input.classes.class(*pair.0) == input.classes.class(*pair.1);
            let args = problem.params(block).iter().zip(problem.edge_args(edge)).filter(is_shared);
            let found: Vec<VReg> = args.filter(|(_, arg)| here.contains(arg)).map(|(&param, _)| param).collect();
            here.extend(found);
            let begins_in_memory = |vreg: &&VReg| input.constraints.begin_in_memory.contains(**vreg);
            here.extend(problem.edge_defs(edge).iter().filter(begins_in_memory));
            stored = Some(stored.map_or(here.clone(), |stored| stored.intersection(&here).copied().collect()));
        }
        let mut stored = stored.unwrap_or_default();
        let defs =
            problem.params(block).iter().chain(problem.preds(block).iter().flat_map(|&edge| problem.edge_defs(edge)));
        stored.extend(defs.filter(|vreg| self.placements[vreg.index()] == Placement::AtDefinition));
        Ok(stored)
    }
}

/// Returns `true` if this is the eviction of a rematerializable value that has not been read since its definition.
fn is_unread(input: &SpillInput, vreg: VReg, inst: Inst, transfer: Transfer) -> bool {
    let Some(def) = input.constraints.remat(vreg).filter(|&def| transfer == Transfer::Evict && def < inst) else {
        return false;
    };
    let block = input.order.block(input.live.defs[vreg.index()].block).block;
    inst <= input.problem.terminator(block)
        && input.live.after[input.problem.operand_range(def).start].distance
            >= inst.as_u32() - input.problem.first_inst(block).as_u32()
}
