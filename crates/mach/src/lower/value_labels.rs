//! Requests for debug information: the values of the text whose places are recorded, under the setting `debug_values`.
//!
//! ```text
//! i3: def v7 …                    label 4 = v7 over i4..i9          v7 is the register of the text's `v4`
//! v5 = iconst.i32 1               constant 5 i32 0x1                wherever it is, if it is anywhere
//! ```
//! A label is the number of a value in the text. If the function names variables of the source, only these are labeled
//! (`variables.rs`). A value is requested in every block in which its register is live, from
//! after the definition or the start of the block up to the last use or the end of the block. Liveness is found value
//! by value, from uses backwards. Cost: linear in the instructions and in the blocks through which values are live.

use super::LowerCtx;
use crate::compiled::ValueConstant;
use cranelift_entity::{EntityRef, SecondaryMap};
use kingpost_ir::types::{F32, F64, I8, I16, I32, I64};
use kingpost_ir::{InstView, Type, Value};
use kingpost_regalloc::sort::{sort, sort_by_key};
use kingpost_regalloc::{Block, Inst, LabelUse, Problem, VReg};

/// Types that debuggers know and that fit into one register.
pub(super) const TYPES: [Type; 6] = [I8, I16, I32, I64, F32, F64];

impl LowerCtx<'_> {
    /// Requests all values that have a register, and records the constants, which need none.
    pub(super) fn label_values(&mut self) {
        if !self.settings.debug_values {
            return;
        }
        let mut liveness = Liveness::new(&self.code.problem);
        if self.func.variables.is_empty() {
            self.label_all_values(&mut liveness);
        } else {
            self.label_variables(&mut liveness);
        }
        sort_by_key(&mut self.code.value_types, |&(label, _)| label);
        sort_by_key(&mut self.code.constants, |constant| constant.value);
    }

    fn label_all_values(&mut self, liveness: &mut Liveness) {
        for value in self.func.dfg.values() {
            let ty = self.func.dfg.value_type(value);
            let Ok(label) = u32::try_from(self.func.names.values.number(value)) else { continue };
            if !TYPES.contains(&ty) {
                continue;
            }
            // A parameter that always has one value is an alias of that value.
            let root = self.func.dfg.resolve_aliases(value);
            if let Some(bits) = self.constant_of_any_type(root) {
                self.code.constants.push(ValueConstant { value: label, ty, bits });
            }
            if let [Some(vreg), None] = self.cx.value_regs[root.index()].map(|part| part.expand()) {
                let requests = liveness.ranges(&self.code.problem, vreg);
                let requests = requests.into_iter().map(|(from, to)| LabelUse { label, vreg, from, to });
                self.code.problem.labels.extend(requests);
                self.code.value_types.push((label, ty));
            }
        }
    }

    pub(super) fn constant_of_any_type(&self, value: Value) -> Option<u64> {
        let inst = self.def(value)?;
        match self.func.dfg.view(inst) {
            InstView::UnaryIeee32 { imm } => Some(imm.bits().into()),
            InstView::UnaryIeee64 { imm } => Some(imm.bits()),
            _ => self.constant(value),
        }
    }
}

/// Definitions and uses of all values.
pub(super) struct Liveness {
    /// Block of the definition, and the instruction after it. For a parameter, the first instruction of the block.
    defined: SecondaryMap<VReg, Option<(Block, Inst)>>,
    /// Instructions that use a value, block by block. They include terminators whose edges pass it.
    uses: SecondaryMap<VReg, Vec<(Block, Inst)>>,
    /// For each block, the last value that was found to be live at its end.
    live_out: SecondaryMap<Block, Option<VReg>>,
}

impl Liveness {
    fn new(problem: &Problem) -> Liveness {
        let (defined, uses, live_out) = (SecondaryMap::new(), SecondaryMap::new(), SecondaryMap::new());
        let mut liveness = Liveness { defined, uses, live_out };
        for block in problem.blocks() {
            for &param in problem.params(block) {
                liveness.defined[param] = Some((block, problem.first_inst(block)));
            }
            for inst in problem.insts(block) {
                for operand in problem.operands(inst) {
                    match operand.is_def() {
                        true => liveness.defined[operand.vreg()] = Some((block, Inst::new(inst.index() + 1))),
                        false => liveness.uses[operand.vreg()].push((block, inst)),
                    }
                }
            }
            for &arg in problem.succs(block).iter().flat_map(|&edge| problem.edge_args(edge)) {
                liveness.uses[arg].push((block, problem.terminator(block)));
            }
        }
        liveness
    }

    /// Returns the block of a value's definition, and the instruction before which it is defined first.
    pub(super) fn definition(&self, vreg: VReg) -> Option<(Block, Inst)> {
        self.defined[vreg]
    }

    /// Returns the ranges in which a value is live, as instructions before which it is live, block by block.
    pub(super) fn ranges(&mut self, problem: &Problem, vreg: VReg) -> Vec<(Inst, Inst)> {
        let Some((defining, behind)) = self.defined[vreg] else { return Vec::new() };
        let mut blocks: Vec<(Block, Inst)> = self.uses[vreg].clone();
        let mut waiting: Vec<Block> = blocks.iter().map(|&(block, _)| block).collect();
        while let Some(block) = waiting.pop() {
            if block == defining {
                continue;
            }
            for pred in problem.preds(block).iter().map(|&edge| problem.edge(edge).from) {
                if self.live_out[pred].replace(vreg) != Some(vreg) {
                    blocks.push((pred, problem.terminator(pred)));
                    waiting.push(pred);
                }
            }
        }
        // The last use of each block.
        sort(&mut blocks);
        blocks.reverse();
        blocks.dedup_by_key(|&mut (block, _)| block);
        let range = |(block, last): (Block, Inst)| {
            let from = if block == defining { behind } else { problem.first_inst(block) };
            (from, Inst::new(last.index() + 1))
        };
        blocks.into_iter().rev().map(range).filter(|(from, to)| from < to).collect()
    }
}
