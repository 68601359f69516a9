//! Stack maps: at each safepoint the slots of the references that live over it. The walk has put all of them there.
//!
//! From each use of a reference backwards to its definition, block by block (Brandner, Boissinot, Darte, de Dinechin and
//! Rastello, *Computing liveness sets for SSA-form programs*, 2011): no sets are stored, and functions without references cost
//! nothing. A label counts as a use, since the collector does not trace what no map names.

use cranelift_entity::{EntityRef, SecondaryMap};
use kingpost_regalloc::sort::sort_by_key;
use kingpost_regalloc::{AllocError, Allocation, Inst, InstFlags, LabelUse, Problem, Slot, StackMapEntry, VReg};
use kingpost_regalloc_common::order::{BlockIndex, LinearOrder};

/// A value is live from behind this instruction of the block, or from its head.
type Def = (BlockIndex, Option<Inst>);

/// Memory for one problem after another.
#[derive(Default, Debug)]
pub(crate) struct References {
    defs: SecondaryMap<VReg, Option<Def>>,
    /// The value is live before the instruction of the block.
    uses: Vec<(VReg, BlockIndex, Inst)>,
    /// By block: the value last found live at its end.
    live_out: Vec<Option<VReg>>,
    /// The safepoints of all blocks in turn, and by block where its own end.
    safepoints: Vec<Inst>,
    safepoints_end: Vec<u32>,
    work: Vec<BlockIndex>,
}

impl References {
    /// Adds the stack maps to the answer.
    pub(crate) fn collect(
        &mut self,
        problem: &Problem,
        order: &LinearOrder,
        slot: impl Fn(VReg) -> Option<Slot>,
        out: &mut Allocation,
    ) -> Result<(), AllocError> {
        if !problem.vregs.values().any(|data| data.is_ref) {
            return Ok(());
        }
        self.find(problem, order);
        for i in 0..self.uses.len() {
            let (vreg, block, before) = self.uses[i];
            if let (Some(slot), Some(def)) = (slot(vreg), self.defs[vreg]) {
                self.walk_up((problem, order), vreg, def, (block, before), slot, out);
            }
        }
        Ok(())
    }

    fn find(&mut self, problem: &Problem, order: &LinearOrder) {
        self.defs.clear();
        self.uses.clear();
        self.live_out.clear();
        self.live_out.resize(order.num_blocks(), None);
        self.safepoints.clear();
        self.safepoints_end.clear();
        let is_ref = |vreg: &VReg| problem.vregs[*vreg].is_ref;
        for index in order.indices() {
            let block = order.block(index).block;
            for &param in problem.params(block).iter().filter(|&param| is_ref(param)) {
                self.defs[param] = Some((index, None));
            }
            for step in problem.walk(block) {
                if step.flags.has(InstFlags::SAFEPOINT) {
                    self.safepoints.push(step.inst);
                }
                for operand in problem.all_operands()[step.operands].iter().filter(|operand| is_ref(&operand.vreg())) {
                    match operand.is_def() {
                        true => self.defs[operand.vreg()] = Some((index, Some(step.inst))),
                        false => self.uses.push((operand.vreg(), index, step.inst)),
                    }
                }
            }
            self.safepoints_end.push(self.safepoints.len() as u32);
            for &edge in problem.succs(block) {
                let args = problem.edge_args(edge).iter().filter(|&arg| is_ref(arg));
                self.uses.extend(args.map(|&arg| (arg, index, problem.terminator(block))));
                for &vreg in problem.edge_defs(edge).iter().filter(|&vreg| is_ref(vreg)) {
                    self.defs[vreg] = Some((order.index(problem.edge(edge).to), None));
                }
            }
        }
        let last = |label: &LabelUse| Inst::from_u32(label.to.as_u32() - 1);
        let labels = problem.labels.iter().filter(|label| is_ref(&label.vreg) && label.from < label.to);
        self.uses.extend(labels.map(|label| (label.vreg, order.index(problem.block_of(label.from)), last(label))));
        // Of one value the last use in a block comes first; the others find its safepoints named already.
        sort_by_key(&mut self.uses, |&(vreg, block, inst)| (vreg, block, std::cmp::Reverse(inst)));
        self.uses.dedup_by_key(|&mut (vreg, block, _)| (vreg, block));
    }

    /// Names the safepoints between a use and the definition, on all paths.
    fn walk_up(
        &mut self,
        (problem, order): (&Problem, &LinearOrder),
        vreg: VReg,
        def: Def,
        (block, before): (BlockIndex, Inst),
        slot: Slot,
        out: &mut Allocation,
    ) {
        self.name(block, def, Some(before), slot, out);
        if block != def.0 {
            self.work.push(block);
        }
        while let Some(block) = self.work.pop() {
            for &edge in problem.preds(order.block(block).block) {
                let pred = order.index(problem.edge(edge).from);
                out.stats.steps += 1;
                if self.live_out[pred.index()].replace(vreg) == Some(vreg) {
                    continue;
                }
                self.name(pred, def, None, slot, out);
                if pred != def.0 {
                    self.work.push(pred);
                }
            }
        }
    }

    /// Names the safepoints of a block from the definition, if it is there, up to an instruction or the end.
    fn name(&self, block: BlockIndex, def: Def, before: Option<Inst>, slot: Slot, out: &mut Allocation) {
        let from = def.1.filter(|_| block == def.0);
        let start = block.index().checked_sub(1).map_or(0, |last| self.safepoints_end[last] as usize);
        let safepoints = &self.safepoints[start..self.safepoints_end[block.index()] as usize];
        let live =
            safepoints.iter().filter(|&&at| from.is_none_or(|def| def < at) && before.is_none_or(|end| at < end));
        out.stack_maps.extend(live.map(|&inst| StackMapEntry { inst, slot }));
    }
}
