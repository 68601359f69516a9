//! Invariant loads: a load leaves a loop that does not write its memory.
//!
//! ```text
//!   jump block1(v1)                          v3 = load.i64 notrap can_move region0 v0
//! block1(v2: i64):                           jump block1(v1)
//!   v3 = load.i64 notrap can_move region0 v0 block1(v2: i64):
//!   store notrap region1 v3, v2                store notrap region1 v3, v2
//! ```
//!
//! Part of the pass [`crate::code_motion`], before it. Needs the [`Analyses`], which stay valid. Alias regions say which stores
//! may write the loaded bytes, as in [`crate::memory`]. Loads of memory that never changes are not treated here:
//! [`crate::code_motion`] moves them like other values.
//!
//! A load that promises `can_move` may run although the loop does not reach it. Another one leaves only if each run of the loop's
//! header runs it, before anything that may trap or be seen by others. Up to [`MAX_LOADS`] loads leave one loop, because each
//! takes a register in it. Cost: linear, times the depth of loops for loads that leave several.

use cranelift_entity::SecondaryMap;
use kingpost_ir::analyses::Analyses;
use kingpost_ir::loops::Loop;
use kingpost_ir::{Block, Function, Inst, Opcode};
use kingpost_meter::heap_bytes;

use crate::affine::is_outside;
use crate::memory::{Regions, region, written};
use crate::purity::{Purity, is_pure_load, purity};

/// Maximum number of loads that leave one loop.
const MAX_LOADS: u8 = 4;

/// Memory of the pass.
#[derive(Default, Debug)]
pub(crate) struct InvariantLoads {
    /// Loads in loops that cannot trap.
    loads: Vec<(Inst, Block)>,
    /// By loop: the regions that it writes.
    written: SecondaryMap<Loop, Regions>,
    /// By loop: the number of loads that have left it.
    left: SecondaryMap<Loop, u8>,
}

heap_bytes!(InvariantLoads { loads, written, left });

impl InvariantLoads {
    /// Runs the pass.
    pub(crate) fn run(&mut self, func: &mut Function, analyses: &Analyses) {
        self.find_loads(func, analyses);
        if self.loads.is_empty() {
            return;
        }
        written(func, analyses, &mut self.written);
        self.left.clear();
        for index in 0..self.loads.len() {
            let (inst, block) = self.loads[index];
            if let Some(target) = self.target(func, analyses, inst, block)
                && let Some(last) = func.layout.last_inst(target)
            {
                func.layout.remove_inst(inst);
                func.layout.insert_inst(inst, last);
            }
        }
    }

    fn find_loads(&mut self, func: &Function, analyses: &Analyses) {
        self.loads.clear();
        if analyses.loops.loops().next().is_none() {
            return;
        }
        for &block in analyses.dominators.preorder() {
            if analyses.loops.innermost_loop(block).is_none() {
                continue;
            }
            for inst in func.layout.block_insts(block) {
                let data = func.dfg.inst(inst);
                let is_load = purity(data.opcode()) == Purity::Load && !is_pure_load(data);
                if is_load && data.memflags().is_some_and(|flags| flags.notrap()) {
                    self.loads.push((inst, block));
                }
            }
        }
    }

    /// Returns the block outside of loops to whose end a load moves.
    fn target(&mut self, func: &Function, analyses: &Analyses, inst: Inst, block: Block) -> Option<Block> {
        let flags = func.dfg.inst(inst).memflags()?;
        // A store that names no region writes all of them, and each store writes what names none.
        let own: Regions = 1 << region(flags);
        let mut target = None;
        let mut around = analyses.loops.innermost_loop(block);
        while let Some(each) = around {
            let header = analyses.loops.header(each);
            let is_first = || target.is_none() && block == header && is_first_effect(func, inst, block);
            let Some(entry) = entry(func, analyses, each).filter(|_| flags.can_move() || is_first()) else { break };
            if self.written[each] & own != 0
                || self.left[each] >= MAX_LOADS
                || !is_invariant(func, analyses, each, inst)
            {
                break;
            }
            self.left[each] += 1;
            target = Some(entry);
            around = analyses.loops.innermost_loop(entry);
        }
        target
    }
}

/// Returns the only block outside of a loop that leads to its header, if it leads nowhere else.
pub(crate) fn entry(func: &Function, analyses: &Analyses, of: Loop) -> Option<Block> {
    let header = analyses.loops.header(of);
    let is_outside = |block| !analyses.loops.contains(of, block);
    let mut preds = analyses.cfg.preds(header).iter().filter(|pred| is_outside(pred.block));
    let only = *preds.next()?;
    (preds.next().is_none() && func.dfg.opcode(only.inst) == Opcode::Jump).then_some(only.block)
}

/// Returns `true` if nothing before an instruction of a block may trap, leave or be seen by others.
fn is_first_effect(func: &Function, inst: Inst, block: Block) -> bool {
    let mut before = func.layout.block_insts(block).take_while(|&each| each != inst);
    before.all(|each| {
        let data = func.dfg.inst(each);
        match purity(data.opcode()) {
            Purity::Pure | Purity::Constant | Purity::PureMany => true,
            Purity::Load => data.memflags().is_some_and(|flags| flags.notrap()),
            Purity::Store | Purity::Trap | Purity::Local | Purity::Effect => false,
        }
    })
}

/// Returns `true` if the operands of an instruction are defined outside of a loop.
fn is_invariant(func: &Function, analyses: &Analyses, of: Loop, inst: Inst) -> bool {
    func.dfg.inst_args(inst).iter().all(|&arg| is_outside(func, analyses, of, arg))
}
