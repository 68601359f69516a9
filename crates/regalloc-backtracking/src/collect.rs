//! One walk over the code that collects the uses of each value, the reservations of registers by instructions, and
//! the pairs of values that should share a register.
//!
//! Cost: linear in instructions, operands, parameters and arguments.

use crate::bundles::Bundles;
use crate::code::Code;
use crate::interference::Interference;
use crate::liveness::Liveness;
use crate::reservations::Reservations;
use kingpost_regalloc::{AllocError, ClobberId, Constraint, Freq, InstFlags, MachineEnv, OperandClass, Problem, Step};
use kingpost_regalloc_common::order::{LinearOrder, OrderedBlock};
use kingpost_regalloc_common::point::{Position, ProgPoint};

/// Input and output of the walk.
pub(crate) struct Collect<'a> {
    pub(crate) problem: &'a Problem,
    pub(crate) env: &'a MachineEnv,
    pub(crate) order: &'a LinearOrder,
    pub(crate) live: &'a mut Liveness,
    pub(crate) reservations: &'a mut Reservations,
    pub(crate) bundles: &'a mut Bundles,
    pub(crate) interference: &'a mut [Interference; 2],
}

impl Collect<'_> {
    /// Walks over all blocks.
    ///
    /// # Errors
    /// If there are no registers for the operands of a branch with results.
    pub(crate) fn run(&mut self) -> Result<(), AllocError> {
        self.live.begin(self.problem);
        self.reservations.begin(self.problem, self.env);
        self.bundles.begin();
        let order = self.order;
        for block in order.blocks().values() {
            self.params(block);
            self.arguments(block);
            for (step, at) in self.problem.walk(block.block).zip(block.positions()) {
                self.inst(step, at, block.freq);
            }
            let (live, interference) = (&*self.live, &mut *self.interference);
            self.reservations.branch(self.problem, self.env, block, interference, live)?;
        }
        self.reservations.finish(self.problem, self.order.num_positions());
        Ok(())
    }

    fn params(&mut self, block: &OrderedBlock) {
        let params = self.problem.params(block.block);
        if params.is_empty() {
            return;
        }
        let edges = self.problem.preds(block.block).iter();
        let likely = edges.max_by_key(|&&edge| self.problem.edge(edge).freq);
        for (i, &param) in params.iter().enumerate() {
            self.live.param(param, block.start(), likely.map(|&edge| self.problem.edge_args(edge)[i]));
        }
    }

    fn arguments(&mut self, block: &OrderedBlock) {
        for &edge in self.problem.succs(block.block) {
            let args = self.problem.edge_args(edge);
            if args.is_empty() {
                continue;
            }
            let data = self.problem.edge(edge);
            let params = self.problem.params(data.to);
            for (&arg, &param) in args.iter().zip(params) {
                self.live.argument(arg, ProgPoint::before(block.terminator()), param);
            }
            self.bundles.add_edge(self.problem, data, args, params);
        }
    }

    fn inst(&mut self, step: Step, at: Position, freq: Freq) {
        let Step { inst, flags, operand_class, clobbers: clobber, operands: range } = step;
        let operands = &self.problem.all_operands()[range.clone()];
        let mut code = Code { inst, at, first: range.start, operands, flags, has_tied: false };
        if clobber != ClobberId::NONE || flags.has(InstFlags::SAFEPOINT) {
            self.reservations.clobber(self.problem, &code, clobber, self.interference);
        }
        if flags == InstFlags::NONE && operand_class == OperandClass::Plain {
            return self.live.plain_operands(&code);
        }
        for operand in operands {
            if let Constraint::Reuse(k) = operand.constraint() {
                code.has_tied = true;
                self.bundles.add_pair(freq, operands[usize::from(k)].vreg(), operand.vreg());
            }
        }
        self.reservations.operands(self.problem, &code, self.interference);
        self.live.operands(self.problem, self.order, &code);
        if let (true, &[a, b]) = (flags.has(InstFlags::MOVE), operands) {
            self.bundles.add_pair(freq, a.vreg(), b.vreg());
        }
    }
}
