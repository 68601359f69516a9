//! The answer: edits of blocks and moves of edges in the order in which they run, shared slots, labels, stack maps.

use crate::color_input::ColorInput;
use crate::coloring::Coloring;
use crate::reload::EdgeTransfer;
use crate::slots::Slots;
use crate::stack_maps;
use cranelift_entity::EntityRef;
use kingpost_regalloc::{AllocError, Allocation, Edge, Edit, Loc, NoRegister, PReg, PRegSet};
use kingpost_regalloc_common::answer::collect_saved;
use kingpost_regalloc_common::hoist::hoist_edge_moves;
use kingpost_regalloc_common::label_places::place_labels;
use kingpost_regalloc_common::order::BlockIndex;

impl Coloring {
    /// Completes the allocation from the results of all phases.
    ///
    /// # Errors
    /// If a value must move from slot to slot and its class has no register.
    pub(crate) fn resolve(
        &mut self,
        input: &ColorInput,
        slots: &mut Slots,
        out: &mut Allocation,
    ) -> Result<(), AllocError> {
        let problem = input.problem;
        let values = problem.vregs.len() + problem.num_edges();
        input.meter.reserve((values + self.assignment.edits.len() + self.assignment.pool.len()) as u64)?;
        if problem.num_blocks() == 1 {
            // The edits are in order.
            std::mem::swap(&mut out.edits, &mut self.assignment.edits);
        } else {
            self.collect_edits(input, out)?;
            hoist_edge_moves(problem, input.env, input.order, out);
        }
        stack_maps::add(input, &mut self.slots, out)?;
        slots.share(input, &self.slots, &self.assignment.in_memory, out)?;
        place_labels(problem, input.env, out, input.meter)?;
        collect_saved(input.env, self.assignment.used, out);
        Ok(())
    }

    /// Collects the edits of blocks and of the edges out of them, block by block.
    fn collect_edits(&mut self, input: &ColorInput, out: &mut Allocation) -> Result<(), AllocError> {
        let problem = input.problem;
        for block in problem.blocks() {
            let span = self.assignment.edit_spans[input.order.index(block).index()].range();
            out.edits.extend_from_slice(&self.assignment.edits[span]);
            if let &[edge] = problem.succs(block) {
                let to = input.order.index(problem.edge(edge).to);
                if input.order.block(to).inherits().is_none() {
                    self.resolve_edge(input, edge, to, out)?;
                }
            }
        }
        Ok(())
    }

    /// Adds the moves of a block's only outgoing edge, before its branch.
    #[inline(never)]
    fn resolve_edge(
        &mut self,
        input: &ColorInput,
        edge: Edge,
        to: BlockIndex,
        out: &mut Allocation,
    ) -> Result<(), AllocError> {
        let problem = input.problem;
        let data = problem.edge(edge);
        let from = input.order.index(data.from);
        let transfers = input.plan.on_edge(edge);
        self.set_exit(from, true);
        let mut kept = PRegSet::EMPTY;
        for i in self.assignment.entries[to.index()].range() {
            let (vreg, reg) = self.assignment.pool[i];
            kept.insert(reg);
            let at = self.map.at(vreg);
            if at != Some(reg) && !input.live.is_defined_at_head(vreg, to) {
                self.add_move(input, vreg, at, Loc::reg(reg), out);
            }
        }
        self.pass_to_registers(input, edge, to, out);
        for &(vreg, transfer) in transfers {
            let (source, at) = match transfer {
                EdgeTransfer::Reload => continue,
                EdgeTransfer::Store => (vreg, self.map.at(vreg)),
                EdgeTransfer::Pass(i) => {
                    let arg = problem.edge_args(edge)[i as usize];
                    (arg, self.map.at(arg))
                }
            };
            let slot = self.slot(input, vreg, out);
            self.add_move(input, source, at, Loc::slot(slot), out);
        }
        self.set_exit(from, false);
        if self.moves.is_empty() {
            return Ok(());
        }
        let at = problem.terminator(data.from);
        let free = input.constraints.allocatable.difference(kept);
        let done = self.moves.resolve(free, (problem, input.env), out, &mut self.sequence);
        out.edits.extend(self.sequence.drain(..).map(|kind| Edit { at, kind }));
        done.map_err(|NoRegister(class)| AllocError::TooFewRegisters { inst: at, class })
    }

    /// Sets or clears the registers of values at the end of a block.
    fn set_exit(&mut self, from: BlockIndex, is_known: bool) {
        for &(vreg, reg) in &self.assignment.pool[self.assignment.exits[from.index()].range()] {
            self.map.values[vreg.index()].at = Some(reg).filter(|_| is_known);
        }
    }

    fn pass_to_registers(&mut self, input: &ColorInput, edge: Edge, to: BlockIndex, out: &mut Allocation) {
        let start = self.assignment.param_starts[to.index()] as usize;
        for (i, &arg) in input.problem.edge_args(edge).iter().enumerate() {
            if let Some(reg) = self.assignment.param_regs[start + i] {
                let at: Option<PReg> = self.map.at(arg);
                self.add_move(input, arg, at, Loc::reg(reg), out);
            }
        }
    }
}
