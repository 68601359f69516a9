//! One walk over the code that tells the uses of each value, what instructions take, and which values would better
//! share a register.

use crate::bundles::Bundles;
use crate::live::{Liveness, Need};
use crate::machine::Machine;
use crate::occupancy::Occupancy;
use crate::order::{NONE, Order, PRE, Place};
use kingpost_regalloc::{AllocError, ClobberId, Constraint, Inst, InstFlags, MachineEnv, Operand, Problem};

/// One instruction.
#[derive(Clone, Copy)]
pub(crate) struct Code<'a> {
    pub(crate) inst: Inst,
    /// Its first point.
    pub(crate) at: u32,
    /// Index of its first operand.
    pub(crate) first: usize,
    pub(crate) operands: &'a [Operand],
    pub(crate) flags: InstFlags,
}

/// What the walk reads and fills.
pub(crate) struct Scan<'a> {
    pub(crate) problem: &'a Problem,
    pub(crate) env: &'a MachineEnv,
    pub(crate) order: &'a Order,
    pub(crate) live: &'a mut Liveness,
    pub(crate) machine: &'a mut Machine,
    pub(crate) bundles: &'a mut Bundles,
    pub(crate) occupancy: &'a mut [Occupancy; 2],
}

impl Scan<'_> {
    /// Walks over all blocks.
    ///
    /// # Errors
    /// If a branch with results has no solution.
    pub(crate) fn run(&mut self) -> Result<(), AllocError> {
        self.live.begin(self.problem);
        self.machine.begin(self.problem, self.env);
        self.bundles.begin();
        for place in &self.order.places {
            self.params(place);
            self.arguments(place);
            let mut at = place.start();
            for inst in self.problem.insts(place.block) {
                at += 4;
                self.inst(inst, at, place.freq);
            }
            let (live, occupancy) = (&*self.live, &mut *self.occupancy);
            let edge_of = |vreg| live.edge_of(vreg);
            self.machine.branch(self.problem, self.env, place, occupancy, edge_of)?;
        }
        self.occupancy.iter_mut().for_each(Occupancy::sum_up);
        self.machine.finish(self.problem, self.order.num_slots());
        Ok(())
    }

    fn params(&mut self, place: &Place) {
        let params = self.problem.params(place.block);
        if params.is_empty() {
            return;
        }
        let edges = self.problem.preds(place.block).iter();
        let likely = edges.max_by_key(|&&edge| self.problem.edge(edge).freq);
        for (i, &param) in params.iter().enumerate() {
            let partner = likely.map_or(NONE, |&edge| self.problem.edge_args(edge)[i].as_u32());
            self.live.note(param, place.start(), Need::Copy, true, NONE, partner);
        }
    }

    fn arguments(&mut self, place: &Place) {
        for &edge in self.problem.succs(place.block) {
            let args = self.problem.edge_args(edge);
            if args.is_empty() {
                continue;
            }
            let data = self.problem.edge(edge);
            let params = self.problem.params(data.to);
            for (&arg, &param) in args.iter().zip(params) {
                self.live.note(arg, place.stop() - 4 + PRE, Need::Copy, false, NONE, param.as_u32());
            }
            self.bundles.add_edge(self.problem, data, args, params);
        }
    }

    fn inst(&mut self, inst: Inst, at: u32, freq: u64) {
        let range = self.problem.operand_range(inst);
        let operands = &self.problem.all_operands()[range.clone()];
        let flags = self.problem.flags(inst);
        let code = Code { inst, at, first: range.start, operands, flags };
        let clobber = self.problem.clobber_id(inst);
        if clobber != ClobberId::NONE || flags.has(InstFlags::SAFEPOINT) {
            self.machine.clobber(self.problem, &code, clobber, self.occupancy);
        }
        let is_plain = |operand: &Operand| matches!(operand.constraint(), Constraint::Reg);
        if flags == InstFlags::NONE && operands.iter().all(is_plain) {
            return self.live.plain_operands(&code);
        }
        self.machine.operands(self.problem, &code, self.occupancy);
        self.live.operands(self.problem, self.order, &code);
        for operand in operands {
            if let Constraint::Reuse(k) = operand.constraint() {
                self.bundles.add_pair(freq, operands[usize::from(k)].vreg(), operand.vreg());
            }
        }
        if let (true, &[a, b]) = (flags.has(InstFlags::MOVE), operands) {
            self.bundles.add_pair(freq, a.vreg(), b.vreg());
        }
    }
}
