//! The answer: edits of blocks and edges in the order in which they run.

use crate::coloring::{Coloring, Input, Output};
use crate::spilling::is_joined;
use cranelift_entity::EntityRef;
use kingpost_regalloc::{AllocError, EditKind, Loc, VReg};

impl Coloring {
    /// Puts all edits together and drops what nobody reads.
    pub(crate) fn emit(&mut self, input: Input, output: &mut Output) -> Result<(), AllocError> {
        let input = &input;
        let problem = input.problem;
        output.out.stack_maps.sort_unstable();
        output.out.stack_maps.dedup();
        for block in problem.blocks() {
            let span = self.edit_spans[input.order.place(block) as usize].range();
            output.out.edits.extend_from_slice(&self.edits[span]);
            if let &[edge] = problem.succs(block)
                && is_joined(problem, problem.edge(edge).to)
            {
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
        for edit in &output.out.edits {
            match edit.kind {
                EditKind::Move { to, .. } | EditKind::Fill { to, .. } | EditKind::Remat { to, .. } => {
                    self.used.insert(to)
                }
                EditKind::Exchange { a, b, .. } => self.used = self.used.with(a).with(b),
                EditKind::Spill { .. } | EditKind::SlotMove { .. } => {}
            }
        }
        output.out.saved = self.used.intersection(input.facts.callee_saved);
        Ok(())
    }

    /// Computations whose register nobody read before its value left it.
    fn drop_unread(&mut self, input: &Input, output: &mut Output) {
        for &vreg in &self.computed {
            if !self.values[vreg.index()].def_read
                && let Some(inst) = input.facts.remat(vreg)
            {
                output.out.drop_inst(inst);
                output.out.locs[input.problem.operand_range(inst).start] = Loc::NONE;
            }
        }
    }
}
