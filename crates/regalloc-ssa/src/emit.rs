//! The answer: stores after defs, moves, moves on edges, in the order in which they run.

use crate::coloring::{Coloring, Input};
use crate::reload::Reloads;
use cranelift_entity::EntityRef;
use kingpost_regalloc::{AllocError, Allocation, Block, Edit, EditKind, Inst, InstFlags, LabelRange, Loc, VReg};

impl Coloring {
    /// Puts all edits together and drops what nobody reads.
    pub(crate) fn emit(&mut self, input: Input, reloads: &mut Reloads, out: &mut Allocation) -> Result<(), AllocError> {
        // A safepoint stands in another order in the walk.
        out.stack_maps.sort_unstable();
        out.stack_maps.dedup();
        self.drop_unread(input, reloads, out);
        for block in input.problem.blocks() {
            self.emit_block(input, block, reloads, out)?;
        }
        self.emit_labels(input, reloads, out);
        out.collect_saved(input.problem, input.env.callee_saved());
        out.stats.steps = input.live.steps + self.matcher.steps + input.problem.num_operands() as u64;
        Ok(())
    }

    /// Computations whose register nobody read before its value left it.
    fn drop_unread(&mut self, input: Input, reloads: &Reloads, out: &mut Allocation) {
        let problem = input.problem;
        for inst in (0..problem.num_insts()).map(Inst::new) {
            if problem.flags(inst).has(InstFlags::REMAT) {
                let vreg = problem.operands(inst)[0].vreg();
                if !self.def_read[vreg] && reloads.slot(vreg).is_none() {
                    out.drop_inst(inst);
                    out.locs[problem.operand_range(inst).start] = Loc::NONE;
                }
            }
        }
    }

    fn emit_block(
        &mut self,
        input: Input,
        block: Block,
        reloads: &mut Reloads,
        out: &mut Allocation,
    ) -> Result<(), AllocError> {
        let problem = input.problem;
        let first = problem.first_inst(block);
        if let &[edge] = problem.preds(block) {
            for &vreg in problem.edge_defs(edge) {
                let loc = self.branch_defs[vreg].unwrap_or(Loc::NONE);
                store(input, vreg, loc, first, reloads, out);
            }
        }
        let span = self.edit_spans[block].range();
        let mut next = span.start;
        let mut previous: Option<Inst> = None;
        for inst in problem.insts(block) {
            if let Some(previous) = previous {
                for i in problem.operand_range(previous) {
                    let operand = problem.all_operands()[i];
                    if operand.is_def() {
                        store(input, operand.vreg(), out.locs[i], inst, reloads, out);
                    }
                }
            }
            while let Some(&edit) = self.edits[..span.end].get(next).filter(|edit| edit.at == inst) {
                out.edits.push(edit);
                next += 1;
            }
            previous = Some(inst);
        }
        match problem.succs(block) {
            &[edge] => self.resolve_edge(input, edge, reloads, out),
            _ => Ok(()),
        }
    }

    fn emit_labels(&mut self, input: Input, reloads: &Reloads, out: &mut Allocation) {
        self.stays.sort_by_key(|stay| (stay.vreg, stay.from));
        for wish in &input.problem.labels {
            let first = self.stays.partition_point(|stay| (stay.vreg, stay.to) <= (wish.vreg, wish.from));
            let stays = self.stays[first..].iter().take_while(|s| s.vreg == wish.vreg && s.from < wish.to);
            for stay in stays {
                let slot = reloads.slot(wish.vreg).map(Loc::slot);
                let loc = stay.reg.map(Loc::reg).or(slot);
                let (from, to) = (stay.from.max(wish.from), stay.to.min(wish.to));
                if let Some(loc) = loc.filter(|_| from < to) {
                    out.labels.push(LabelRange { label: wish.label, loc, from, to });
                }
            }
        }
        out.labels.sort_by_key(|range| (range.label, range.from));
    }
}

/// Stores a value that has a slot, from the register its def left it in.
fn store(input: Input, vreg: VReg, loc: Loc, at: Inst, reloads: &Reloads, out: &mut Allocation) {
    if let (Some(from), Some(to)) = (loc.as_reg(), reloads.slot(vreg)) {
        out.edits.push(Edit { at, kind: EditKind::Spill { from, to, width: input.problem.width(vreg) } });
    }
}
