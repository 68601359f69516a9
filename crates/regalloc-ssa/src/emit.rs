//! The answer: edits of blocks and edges in the order in which they run.

use crate::coloring::{Coloring, Input, Output};
use cranelift_entity::EntityRef;
use kingpost_regalloc::{AllocError, Loc, VReg};

impl Coloring {
    /// Puts all edits together and drops what nobody reads.
    pub(crate) fn emit(&mut self, input: Input, output: &mut Output) -> Result<(), AllocError> {
        let problem = input.problem;
        output.out.stack_maps.sort_unstable();
        output.out.stack_maps.dedup();
        self.begin_edges(problem.vregs.len());
        for block in problem.blocks() {
            let span = self.edit_spans[input.order.place(block) as usize].range();
            output.out.edits.extend_from_slice(&self.edits[span]);
            if let &[edge] = problem.succs(block) {
                self.resolve_edge(input, edge, output)?;
            }
        }
        self.drop_unread(input, output);
        let (reloads, far) = (&*output.reloads, &input.live.far);
        let in_slot = |vreg: VReg| {
            let slot = reloads.slot(input.classes, vreg).map(Loc::slot);
            slot.filter(|_| input.facts.remat(vreg).is_none() && !far[vreg.index()])
        };
        self.labels.emit(problem, output.out, in_slot);
        self.slots.share(input, output.reloads, &self.in_slots, output.out);
        output.out.collect_saved(problem, input.facts.callee_saved);
        Ok(())
    }

    /// Computations whose register nobody read before its value left it.
    fn drop_unread(&mut self, input: Input, output: &mut Output) {
        let problem = input.problem;
        for vreg in problem.vregs.keys() {
            if let Some(inst) = input.facts.remat(vreg)
                && !self.values[vreg.index()].def_read
                && !output.out.is_dropped(inst)
            {
                output.out.drop_inst(inst);
                output.out.locs[problem.operand_range(inst).start] = Loc::NONE;
            }
        }
    }
}
