//! Weights of the edges of branches, as a profile or a hint of the source gives them, and the frequencies of blocks that follow
//! from them.
//!
//! An edge is taken as often as its weight in the sum of its branch's weights says. A block runs as often as the edges to it are
//! taken. A loop has as many rounds as the weights of its ways out say, where each round passes these; otherwise it is assumed to
//! have eight. The edges of a branch without weights are as frequent as the branch itself, as in [`crate::frequencies`].
//!
//! Frequencies of blocks are all that remains of the weights, so that passes need not maintain them. The cost is linear in blocks
//! and edges, times the depth of loops for edges that leave them.

use std::collections::BTreeMap;

use cranelift_entity::SecondaryMap;
use smallvec::SmallVec;

use crate::analyses::Analyses;
use crate::cfg::Predecessor;
use crate::entities::{Block, Inst};
use crate::frequencies::{Frequencies, is_rare};
use crate::function::Function;
use crate::loops::Loop;
use crate::opcodes::Opcode;
use kingpost_meter::heap_bytes;

/// Rounds of a loop without weights.
const ROUNDS: f64 = 8.0;
/// Largest number of rounds of one loop.
const MAX_ROUNDS: f64 = (Frequencies::MAX / Frequencies::ENTRY) as f64;

/// Weights of the edges of a function's branches. A builder collects them: [`FunctionBuilder::set_branch_weights`].
///
/// [`FunctionBuilder::set_branch_weights`]: crate::frontend::FunctionBuilder::set_branch_weights
#[derive(Clone, Default, Debug)]
pub struct BranchWeights {
    weights: BTreeMap<Inst, SmallVec<[u32; 2]>>,
}

heap_bytes!(BranchWeights { weights });

impl BranchWeights {
    /// Sets the weights of the edges of a `brif` or `br_table`, in the order of its destinations. The default of a `br_table` is
    /// the first one. If all weights are 0, the branch has none.
    ///
    /// # Panics
    /// If the instruction is another one, or has another number of destinations.
    pub fn set(&mut self, func: &Function, branch: Inst, weights: &[u32]) {
        let opcode = func.dfg.opcode(branch);
        assert!(matches!(opcode, Opcode::Brif | Opcode::BrTable), "{opcode} has no weights");
        let count = func.dfg.branch_destinations(branch).len();
        assert!(weights.len() == count, "{} weights are given for {count} destinations", weights.len());
        self.weights.insert(branch, weights.into());
    }

    /// Returns `true` if no branch has weights.
    pub fn is_empty(&self) -> bool {
        self.weights.is_empty()
    }

    /// Removes all weights.
    pub fn clear(&mut self) {
        self.weights.clear();
    }

    /// Sets the frequencies of the blocks of a finished function. Blocks that have a frequency keep it.
    pub fn apply(&self, func: &mut Function) {
        let mut analyses = Analyses::default();
        analyses.update(func);
        let mut estimate = Estimate {
            func,
            analyses: &analyses,
            weights: self,
            rounds: SecondaryMap::new(),
            shares: SecondaryMap::new(),
        };
        estimate.find_rounds();
        let runs = estimate.runs();
        for (block, runs) in runs {
            func.set_block_frequency(block, runs);
        }
    }

    /// Returns the part of a branch's runs that takes an edge. `None` if the branch has no weights.
    fn probability(&self, branch: Inst, edge: usize) -> Option<f64> {
        let weights = self.weights.get(&branch)?;
        let sum: f64 = weights.iter().copied().map(f64::from).sum();
        (sum > 0.0).then(|| f64::from(weights[edge]) / sum)
    }
}

/// Computation of frequencies.
struct Estimate<'a> {
    func: &'a Function,
    analyses: &'a Analyses,
    weights: &'a BranchWeights,
    /// By loop: how often its header runs each time it is entered.
    rounds: SecondaryMap<Loop, f64>,
    /// By block: how often it runs in each round of the innermost loop around it, if the loop is reached in each round of
    /// the next one, and so on.
    shares: SecondaryMap<Block, f64>,
}

impl Estimate<'_> {
    fn find_rounds(&mut self) {
        let analyses = self.analyses;
        let mut stays: SecondaryMap<Loop, Option<f64>> = SecondaryMap::new();
        for &block in analyses.dominators.preorder() {
            let Some(branch) = analyses.cfg.terminator(block) else { continue };
            let mut around = analyses.loops.innermost_loop(block);
            while let Some(each) = around {
                if self.is_in_each_round(each, block)
                    && let Some(leaves) = self.leaves(each, branch)
                {
                    stays[each] = Some(stays[each].unwrap_or(1.0) * (1.0 - leaves));
                }
                around = analyses.loops.parent(each);
            }
        }
        for each in analyses.loops.loops() {
            self.rounds[each] = stays[each].map_or(ROUNDS, |stays| (1.0 / (1.0 - stays)).min(MAX_ROUNDS));
        }
    }

    /// Returns `true` if each round of a loop that returns to the header passes a block.
    fn is_in_each_round(&self, each: Loop, block: Block) -> bool {
        let header = self.analyses.loops.header(each);
        let is_back = |pred: &&Predecessor| self.analyses.loops.contains(each, pred.block);
        let mut back = self.analyses.cfg.preds(header).iter().filter(is_back);
        back.all(|pred| self.analyses.dominators.dominates(block, pred.block))
    }

    /// Returns the part of a branch's runs that leaves a loop. `None` if it has no weights, or cannot leave the loop.
    fn leaves(&self, each: Loop, branch: Inst) -> Option<f64> {
        let dests = self.func.dfg.branch_destinations(branch).iter().enumerate();
        let leaving = dests.filter(|(_, dest)| !self.analyses.loops.contains(each, dest.block));
        let mut sum = None;
        for (edge, _) in leaving {
            sum = Some(sum.unwrap_or(0.0) + self.weights.probability(branch, edge)?);
        }
        sum
    }

    /// Returns how often blocks run that have no frequency and are not rare for another reason.
    fn runs(&mut self) -> Vec<(Block, f64)> {
        let mut runs = Vec::new();
        for block in self.analyses.dominators.reverse_postorder() {
            let around = self.rounds_of(self.analyses.loops.innermost_loop(block), None);
            let given = self.func.layout.frequency(block).map(|given| f64::from(given) / f64::from(Frequencies::ENTRY));
            self.shares[block] = given.map_or_else(|| self.share(block), |given| given / around);
            let is_entry = self.func.layout.entry_block() == Some(block);
            if given.is_none() && !is_entry && !is_rare(self.func, &self.analyses.cfg, block) {
                runs.push((block, self.shares[block] * around));
            }
        }
        runs
    }

    /// Returns the product of the rounds of a loop and the loops around it, except for the loop `end` and those around that.
    fn rounds_of(&self, mut each: Option<Loop>, end: Option<Loop>) -> f64 {
        let mut product = 1.0;
        while let Some(inner) = each.filter(|_| each != end) {
            product *= self.rounds[inner];
            each = self.analyses.loops.parent(inner);
        }
        product
    }

    fn share(&self, block: Block) -> f64 {
        let analyses = self.analyses;
        let Some(dominator) = analyses.dominators.idom(block) else { return 1.0 };
        let number = analyses.dominators.postorder_number(block);
        let from_above = |pred: &&Predecessor| analyses.dominators.postorder_number(pred.block) > number;
        let preds = analyses.cfg.preds(block).iter().filter(from_above);
        let sum: f64 = preds.map(|pred| self.share_of(*pred, block)).sum();
        // Both edges of a branch without weights count fully.
        sum.min(self.share_after(dominator, block))
    }

    /// Returns the share that an edge adds to a block.
    fn share_of(&self, pred: Predecessor, block: Block) -> f64 {
        let own = self.shares[pred.block] * self.weights.probability(pred.inst, pred.edge as usize).unwrap_or(1.0);
        match self.loops_left(pred.block, block) {
            // What leaves the loop in any of its rounds, but not more than has entered it.
            Some((_, rounds)) => (own * rounds).min(self.share_after(pred.block, block)),
            None => own,
        }
    }

    /// Returns the share of a block outside of the loops that do not contain `after`.
    fn share_after(&self, block: Block, after: Block) -> f64 {
        let header = self.loops_left(block, after).map(|(left, _)| self.analyses.loops.header(left));
        self.shares[header.unwrap_or(block)]
    }

    /// Returns the outermost loop around a block that does not contain `after`, and the product of the rounds of all such loops.
    fn loops_left(&self, block: Block, after: Block) -> Option<(Loop, f64)> {
        let mut each = self.analyses.loops.innermost_loop(block);
        let inner = each;
        let mut left = None;
        while let Some(around) = each.filter(|&around| !self.analyses.loops.contains(around, after)) {
            left = Some(around);
            each = self.analyses.loops.parent(around);
        }
        left.map(|left| (left, self.rounds_of(inner, each)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::function_of_edges;
    use cranelift_entity::EntityRef;

    /// Returns how often blocks run, rounded to a hundredth, in a function of these edges whose blocks have these weights.
    fn runs(edges: &[&[usize]], weights: &[(usize, &[u32])]) -> Vec<f64> {
        let mut func = function_of_edges(edges);
        let mut all = BranchWeights::default();
        for &(block, list) in weights {
            let branch = func.layout.last_inst(Block::new(block)).expect("a branch");
            all.set(&func, branch, list);
        }
        all.apply(&mut func);
        let frequency = |block| f64::from(func.layout.frequency(block).unwrap_or(Frequencies::ENTRY));
        let hundredths = |frequency: f64| (frequency / f64::from(Frequencies::ENTRY) * 100.0).round() / 100.0;
        func.layout.blocks().map(|block| hundredths(frequency(block))).collect()
    }

    #[test]
    fn arms_share_the_runs_of_a_branch() {
        let diamond: &[&[usize]] = &[&[1, 2], &[3], &[3], &[]];
        assert_eq!(runs(diamond, &[(0, &[9, 1])]), [1.0, 0.9, 0.1, 1.0]);
        assert_eq!(runs(diamond, &[(0, &[0, 1])]), [1.0, 0.0, 1.0, 1.0]);
        assert_eq!(runs(diamond, &[(0, &[0, 0])]), [1.0; 4]);
        assert_eq!(runs(diamond, &[]), [1.0; 4]);
        // One arm goes to the join.
        assert_eq!(runs(&[&[1, 2], &[2], &[]], &[(0, &[1, 3])]), [1.0, 0.25, 1.0]);
        // An arm without weights in one with weights.
        assert_eq!(
            runs(&[&[1, 5], &[2, 3], &[4], &[4], &[5], &[]], &[(0, &[1, 3])]),
            [1.0, 0.25, 0.25, 0.25, 0.25, 1.0]
        );
        assert_eq!(runs(&[&[1, 2, 1, 3], &[3], &[3], &[]], &[(0, &[1, 2, 1, 4])]), [1.0, 0.25, 0.25, 1.0]);
    }

    #[test]
    fn loops_have_the_rounds_that_their_exits_say() {
        // Blocks 1 and 2 are the loop. The test is at its bottom, or at its top.
        let bottom: &[&[usize]] = &[&[1], &[2], &[1, 3], &[]];
        assert_eq!(runs(bottom, &[(2, &[99, 1])]), [1.0, 100.0, 100.0, 1.0]);
        let top: &[&[usize]] = &[&[1], &[2, 3], &[1], &[]];
        assert_eq!(runs(top, &[(1, &[9, 1])]), [1.0, 10.0, 9.0, 1.0]);
        assert_eq!(runs(top, &[(1, &[1, 0])])[1], MAX_ROUNDS);
        assert_eq!(runs(top, &[(1, &[0, 1])]), [1.0, 1.0, 0.0, 1.0]);
        assert_eq!(runs(top, &[]), [1.0, 8.0, 8.0, 1.0]);
    }

    #[test]
    fn ways_out_share_the_runs_of_a_loop() {
        // Block 2 leaves to block 4 once in a hundred rounds, block 1 to block 3 otherwise.
        let two: &[&[usize]] = &[&[1], &[2, 3], &[1, 4], &[], &[]];
        assert_eq!(runs(two, &[(2, &[99, 1])]), [1.0, 100.0, 100.0, 1.0, 1.0]);
        let [_, header, _, often, seldom] = *runs(two, &[(1, &[9, 1]), (2, &[99, 1])]) else { panic!("five blocks") };
        assert!((9.0..9.2).contains(&header) && (0.9..1.0).contains(&often) && (0.08..0.1).contains(&seldom));
        // A loop in a loop: blocks 2 in 1, and the outer one runs twice.
        let nested: &[&[usize]] = &[&[1], &[2], &[2, 3], &[1, 4], &[]];
        assert_eq!(runs(nested, &[(2, &[3, 1]), (3, &[1, 1])]), [1.0, 2.0, 8.0, 2.0, 1.0]);
        // The inner one is reached in one of four rounds.
        let guarded: &[&[usize]] = &[&[1], &[2, 3], &[2, 3], &[1, 4], &[]];
        assert_eq!(runs(guarded, &[(1, &[1, 3]), (2, &[3, 1]), (3, &[1, 1])]), [1.0, 2.0, 2.0, 2.0, 1.0]);
    }

    #[test]
    fn frequencies_that_a_client_gave_remain() {
        let mut func = function_of_edges(&[&[1, 2], &[3], &[3], &[4], &[]]);
        func.set_block_frequency(Block::new(1), 0.5);
        func.layout.set_cold(Block::new(4));
        let mut weights = BranchWeights::default();
        weights.set(&func, func.layout.last_inst(Block::new(0)).expect("a branch"), &[9, 1]);
        weights.apply(&mut func);
        let frequency = |block| func.layout.frequency(Block::new(block));
        assert_eq!(
            (frequency(1), frequency(2), frequency(3), frequency(4)),
            (Some(512), Some(102), Some(614), Some(1))
        );
    }

    #[test]
    fn graphs_of_any_shape_have_finite_frequencies() {
        let mut random = crate::testing::Random::new(7);
        for _ in 0..2000 {
            let edges = crate::testing::random_edges(&mut random, 9);
            let lists: Vec<&[usize]> = edges.iter().map(|list| &**list).collect();
            let mut func = function_of_edges(&lists);
            let mut weights = BranchWeights::default();
            for (block, list) in edges.iter().enumerate().filter(|(_, list)| list.len() > 1) {
                let list: Vec<u32> = list.iter().map(|_| [0, 1, 9, u32::MAX][random.below(4)]).collect();
                weights.set(&func, func.layout.last_inst(Block::new(block)).expect("a branch"), &list);
            }
            weights.apply(&mut func);
            for block in func.layout.blocks().skip(1) {
                let frequency = func.layout.frequency(block).unwrap_or(Frequencies::ENTRY);
                assert!((Frequencies::RARE..=Frequencies::MAX).contains(&frequency), "{func}");
            }
        }
    }
}
