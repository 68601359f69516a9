//! The references that are live across each safepoint.
//!
//! The analysis walks from each use of a reference backwards to its def, block by block (Brandner, Boissinot,
//! Darte, de Dinechin and Rastello, *Computing liveness sets for SSA-form programs*, 2011). No sets are stored, and
//! functions without references cost nothing. A label counts as a use, because the collector traces only references
//! in stack maps.

use cranelift_entity::SecondaryMap;
use kingpost_regalloc::meter::MeterRef;
use kingpost_regalloc::meter::{HeapBytes, heap_bytes};
use kingpost_regalloc::sort::sort;
use kingpost_regalloc::{AllocError, Block, Inst, InstFlags, Problem, Slot, StackMapEntry, VReg};

/// Step budget: for any function, and for each of its instructions.
const STEPS: (u64, u64) = (1 << 20, 256);

/// Start of a reference: in this block, from this instruction on.
type Def = (Block, Inst);

/// Memory reused for each problem.
#[derive(Default)]
pub(crate) struct StackMaps {
    safepoints: Vec<Inst>,
    defs: SecondaryMap<VReg, Option<Def>>,
    /// Uses of references: the value is live before this instruction of the block.
    uses: Vec<(VReg, Block, Inst)>,
    /// The last value that was found live at the end of a block.
    live_out: SecondaryMap<Block, Option<VReg>>,
    work: Vec<Block>,
    steps: u64,
}

heap_bytes!(StackMaps { safepoints, defs, uses, live_out, work } without { steps });

impl StackMaps {
    /// Fills `maps`. Returns the number of steps taken.
    pub(crate) fn collect(
        &mut self,
        problem: &Problem,
        slot: impl Fn(VReg) -> Option<Slot>,
        maps: &mut Vec<StackMapEntry>,
        meter: MeterRef<'_>,
    ) -> Result<u64, AllocError> {
        self.steps = 0;
        self.safepoints.clear();
        let insts = problem.blocks().flat_map(|block| problem.insts(block));
        self.safepoints.extend(insts.filter(|&inst| problem.flags(inst).has(InstFlags::SAFEPOINT)));
        if self.safepoints.is_empty() || !problem.vregs.values().any(|data| data.is_ref) {
            return Ok(0);
        }
        self.find_defs_and_uses(problem);
        self.live_out.clear();
        sort(&mut self.uses);
        let limit = STEPS.0 + STEPS.1 * problem.num_insts() as u64;
        let mut paid = 0;
        for i in 0..self.uses.len() {
            meter.spend_growing(4 * self.steps, &mut paid, || maps.heap_bytes())?;
            let (vreg, block, before) = self.uses[i];
            if self.uses.get(i + 1).is_some_and(|next| (next.0, next.1) == (vreg, block)) {
                continue;
            }
            if let (Some(slot), Some(def)) = (slot(vreg), self.defs[vreg]) {
                self.walk_up(problem, vreg, def, (block, before), |inst| maps.push(StackMapEntry { inst, slot }));
            }
            if self.steps > limit {
                return Err(AllocError::StepBudget { steps: self.steps });
            }
        }
        meter.spend_rest(4 * self.steps, &mut paid)?;
        sort(maps);
        maps.dedup();
        Ok(self.steps)
    }

    fn find_defs_and_uses(&mut self, problem: &Problem) {
        self.defs.clear();
        self.uses.clear();
        let is_ref = |vreg: VReg| problem.vregs[vreg].is_ref;
        for block in problem.blocks() {
            for &param in problem.params(block).iter().filter(|&&param| is_ref(param)) {
                self.defs[param] = Some((block, problem.first_inst(block)));
            }
            for inst in problem.insts(block) {
                for operand in problem.operands(inst).iter().filter(|operand| is_ref(operand.vreg())) {
                    match operand.is_def() {
                        true => self.defs[operand.vreg()] = Some((block, Inst::from_u32(inst.as_u32() + 1))),
                        false => self.uses.push((operand.vreg(), block, inst)),
                    }
                }
            }
        }
        for edge in problem.edges() {
            let data = problem.edge(edge);
            for &vreg in problem.edge_defs(edge).iter().filter(|&&vreg| is_ref(vreg)) {
                self.defs[vreg] = Some((data.to, problem.first_inst(data.to)));
            }
            for &arg in problem.edge_args(edge).iter().filter(|&&arg| is_ref(arg)) {
                self.uses.push((arg, data.from, problem.terminator(data.from)));
            }
        }
        for label in problem.labels.iter().filter(|label| is_ref(label.vreg) && label.from < label.to) {
            self.uses.push((label.vreg, problem.block_of(label.from), Inst::from_u32(label.to.as_u32() - 1)));
        }
    }

    /// Reports the safepoints between a use and the def, on all paths.
    fn walk_up(
        &mut self,
        problem: &Problem,
        vreg: VReg,
        def: Def,
        (block, before): (Block, Inst),
        mut report: impl FnMut(Inst),
    ) {
        self.report_range(problem, block, def, before, &mut report);
        if block != def.0 {
            self.work.push(block);
        }
        while let Some(block) = self.work.pop() {
            for &edge in problem.preds(block) {
                let pred = problem.edge(edge).from;
                self.steps += 1;
                if self.live_out[pred].replace(vreg) == Some(vreg) {
                    continue;
                }
                let end = Inst::from_u32(problem.terminator(pred).as_u32() + 1);
                self.report_range(problem, pred, def, end, &mut report);
                if pred != def.0 {
                    self.work.push(pred);
                }
            }
        }
    }

    /// Reports the safepoints of `block` from the def, if it is here, up to `before`.
    fn report_range(&mut self, problem: &Problem, block: Block, def: Def, before: Inst, report: &mut impl FnMut(Inst)) {
        let from = if block == def.0 { def.1 } else { problem.first_inst(block) };
        let start = self.safepoints.partition_point(|&inst| inst < from);
        for &inst in self.safepoints[start..].iter().take_while(|&&inst| inst < before) {
            self.steps += 1;
            report(inst);
        }
    }
}
