//! End of lowering: reverses the code, which the walk has appended in reverse order, and adds its blocks and edges.

use super::LowerCtx;
use crate::block_order::MachineBlock;
use crate::row::Row;
use cranelift_entity::PrimaryMap;
use cranelift_entity::packed_option::PackedOption;
use kingpost_regalloc::{Block, Constraint, Inst, InstFlags, Operand, VReg, VRegData};
use smallvec::SmallVec;

impl LowerCtx<'_> {
    /// Reverses the instructions and operands, and adds blocks and edges to the problem.
    pub(super) fn finish(&mut self) {
        self.code.problem.reverse();
        self.code.insts.values_mut().into_slice().reverse();
        self.code.srclocs.values_mut().into_slice().reverse();
        self.add_blocks();
        let problem = &mut self.code.problem;
        self.cx.edge_widths.unify(problem);
        let count = problem.num_insts() as u32;
        for &from_end in &self.cx.depend_on_widths {
            let inst = Inst::from_u32(count - 1 - from_end);
            let row = &self.rows[self.code.insts[inst].row.0 as usize];
            problem.change_inst(inst, |vregs, operands, flags| fix_constraints(row, vregs, operands, flags));
        }
        problem.finish();
        self.lay_out();
    }

    /// Adds the blocks. Every needed parameter gets a register, because the edges pass an argument for each.
    fn add_blocks(&mut self) {
        let func = self.func;
        let count = self.code.insts.len() as u32;
        let mut params: SmallVec<[VReg; 16]> = SmallVec::new();
        let mut start = 0;
        for index in 0..self.cx.order.blocks().len() {
            params.clear();
            if let (MachineBlock::Ir(block), true) = (self.cx.order.blocks()[index], index > 0) {
                for &param in func.dfg.block_params(block) {
                    if self.is_needed(param) {
                        self.use_reg_half(param, 0);
                        params.extend(self.parts(param).into_iter().filter_map(PackedOption::expand));
                    }
                }
            }
            let freq = self.cx.order.freq(Block::from_u32(index as u32));
            let end = count - self.cx.insts_after_block[index];
            self.code.problem.add_block(freq, &params, start..end);
            start = end;
        }
    }

    /// Computes the order in which blocks are emitted.
    pub(super) fn lay_out(&mut self) {
        self.cx.rotation.lay_out(self.func, self.analyses, &self.cx.order, &mut self.code.layout);
    }
}

/// Sets the constraints and flags of an instruction that the widths allow. Widths are known when all uses have been
/// lowered, because each use may require a wider value.
///
/// A move whose result was widened is not a move any more: it must not be left out or merged. An instruction may
/// read, modify and write one slot only if the value that it reads may be in memory and is as wide as the value that
/// it writes, and if the row writes all of it: in memory it leaves the bytes above its own as they are, whereas users may
/// rely on the zeros that it leaves in a register.
fn fix_constraints(
    row: &Row,
    vregs: &PrimaryMap<VReg, VRegData>,
    operands: &mut [Operand],
    flags: InstFlags,
) -> InstFlags {
    for def in 0..operands.len() {
        let (Constraint::Reuse(k), true) = (operands[def].constraint(), operands[def].is_rmw()) else { continue };
        let (written, read) = (operands[def], operands[usize::from(k)]);
        let (width, whole) = (vregs[written.vreg()].width, row.operands[def].whole_width());
        let one_slot = read.constraint() == Constraint::MemOk && width == vregs[read.vreg()].width && width <= whole;
        if !one_slot {
            operands[def] = Operand::new(written.vreg(), written.kind(), written.pos(), written.constraint());
            operands[usize::from(k)] = Operand::new(read.vreg(), read.kind(), read.pos(), Constraint::Reg);
        }
    }
    match operands {
        [def, source] if flags == InstFlags::MOVE && vregs[def.vreg()].width > vregs[source.vreg()].width => {
            InstFlags::NONE
        }
        _ => flags,
    }
}
