//! The end of lowering: recorded instructions and edges become the code and its problem.

use super::Lower;
use crate::block_order::MachineBlock;
use cranelift_entity::packed_option::PackedOption;
use kingpost_regalloc::{Block, Constraint, InstFlags, Operand, Problem, VReg};
use smallvec::SmallVec;

impl Lower<'_> {
    /// Makes arguments and parameters equally wide.
    pub(super) fn unify_widths(&mut self) {
        self.cx.edge_widths.clear();
        for edge in &self.cx.edges {
            if edge.args.0 == edge.args.1 {
                continue;
            }
            let MachineBlock::Ir(block) = self.cx.order.blocks()[edge.to.as_u32() as usize] else { continue };
            let params = self.func.dfg.block_params(block).iter().filter(|&&p| self.cx.needed.uses(p) > 0);
            let params = params.flat_map(|&p| self.cx.value_regs[p]).filter_map(PackedOption::expand);
            let args = &self.cx.edge_args[edge.args.0 as usize..edge.args.1 as usize];
            for (&arg, param) in args.iter().zip(params) {
                self.cx.edge_widths.add(arg, param);
            }
        }
        self.cx.edge_widths.unify(&mut self.code.problem.vregs);
    }

    /// Turns everything round into the code and its problem.
    pub(super) fn finish(&mut self) {
        let code = &mut *self.code;
        let mut params: SmallVec<[VReg; 16]> = SmallVec::new();
        code.problem.reserve(self.cx.reversed.len(), self.cx.operands.len());
        code.insts.reserve(self.cx.reversed.len());
        for (index, &machine) in self.cx.order.blocks().iter().enumerate() {
            params.clear();
            if let (MachineBlock::Ir(block), true) = (machine, index > 0) {
                for &param in self.func.dfg.block_params(block) {
                    if self.cx.needed.uses(param) > 0 {
                        params.extend(self.cx.value_regs[param].iter().filter_map(|r| r.expand()));
                    }
                }
            }
            let freq = self.cx.order.freq(Block::from_u32(index as u32));
            code.problem.begin_block(freq, &params);
            let (start, end) = self.cx.block_ranges[index];
            for record in self.cx.reversed[start as usize..end as usize].iter().rev() {
                let operands = &mut self.cx.operands[record.operands.0 as usize..record.operands.1 as usize];
                let mut flags = record.flags;
                if record.depends_on_widths {
                    settle_read_modify_write(&code.problem, operands);
                    flags = settle_move(&code.problem, operands, flags);
                }
                code.problem.push_operands(operands);
                code.problem.push_inst(flags, record.clobbers);
                code.insts.push(record.inst);
                if self.cx.has_srclocs {
                    code.srclocs.push(record.srcloc);
                }
            }
        }
        for edge in &self.cx.edges {
            let regs = |(start, end): (u32, u32)| &self.cx.edge_args[start as usize..end as usize];
            code.problem.add_edge(edge.from, edge.to, edge.freq, regs(edge.args), regs(edge.defs));
        }
        code.problem.finish();
        self.lay_out();
    }

    /// Puts the blocks in the order of emission.
    pub(super) fn lay_out(&mut self) {
        self.cx.rotation.lay_out(self.func, self.analyses, &self.cx.order, &mut self.code.layout);
    }
}

/// A move whose result was widened since is no longer one: it may not be left out or merged.
fn settle_move(problem: &Problem, operands: &[Operand], flags: InstFlags) -> InstFlags {
    match operands {
        [def, source] if flags == InstFlags::MOVE && problem.width(def.vreg()) > problem.width(source.vreg()) => {
            InstFlags::NONE
        }
        _ => flags,
    }
}

/// An instruction may read, modify and write one slot only if the value it reads may be in memory and is as wide as the one
/// it writes. That is known only when all uses have been lowered: each may ask for a wider value.
fn settle_read_modify_write(problem: &Problem, operands: &mut [Operand]) {
    for def in 0..operands.len() {
        let (Constraint::Reuse(k), true) = (operands[def].constraint(), operands[def].is_rmw()) else { continue };
        let (written, read) = (operands[def], operands[usize::from(k)]);
        let one_slot =
            read.constraint() == Constraint::MemOk && problem.width(written.vreg()) == problem.width(read.vreg());
        if !one_slot {
            operands[def] = Operand::new(written.vreg(), written.kind(), written.pos(), written.constraint());
            operands[usize::from(k)] = Operand::new(read.vreg(), read.kind(), read.pos(), Constraint::Reg);
        }
    }
}
