//! The place of an edge's edits, and a majority vote over the choices of a join point's predecessors.
//!
//! ```text
//! b1: .. branch use v0 -> b2, b3       b2 has one predecessor: edits of b1 -> b2 stand at its head
//! b2: .. branch -> b4                  b4 has several: edits of b2 -> b4 stand before the branch of b2
//! ```
//!
//! No edge is critical and only a block with one successor passes arguments, so every edge has a site of its own.
//!
//! [`Majority`] is the vote of Boyer and Moore (*MJRTY: a fast majority vote algorithm*, 1981), with weights. It
//! takes one pass and two words. If one candidate has more than half of the weight, it is the result.

use kingpost_regalloc::{Block, Edge, Inst, Problem};

/// Site of the edits of an edge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EdgeSite {
    /// At the head of the edge's target, which has no other predecessor and no parameters.
    AtHead(Block),
    /// Before the terminator of the edge's source, which has no other successor.
    BeforeTerminator(Block),
}

impl EdgeSite {
    /// Returns the instruction before which the edits are placed.
    pub fn inst(self, problem: &Problem) -> Inst {
        match self {
            EdgeSite::AtHead(block) => problem.first_inst(block),
            EdgeSite::BeforeTerminator(block) => problem.terminator(block),
        }
    }
}

/// Returns the site of an edge's edits. An edge that passes arguments has its edits before the terminator, even if
/// its target has one predecessor: at the head the parameters are live already, and a rematerialized argument is
/// not.
pub fn edge_site(problem: &Problem, edge: Edge) -> EdgeSite {
    let data = problem.edge(edge);
    match is_at_head(problem, edge) {
        true => EdgeSite::AtHead(data.to),
        false => EdgeSite::BeforeTerminator(data.from),
    }
}

/// Returns `true` if the edits of the edge are placed at the head of its target.
pub fn is_at_head(problem: &Problem, edge: Edge) -> bool {
    problem.preds(problem.edge(edge).to).len() == 1 && problem.edge_args(edge).is_empty()
}

/// A weighted majority vote.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Majority<T> {
    candidate: Option<T>,
    /// Weight of the votes for the candidate that no vote against it has balanced.
    lead: u64,
}

impl<T> Default for Majority<T> {
    fn default() -> Majority<T> {
        Majority { candidate: None, lead: 0 }
    }
}

impl<T: Copy + PartialEq> Majority<T> {
    /// Counts a vote.
    pub fn vote(&mut self, choice: T, weight: u64) {
        if self.candidate == Some(choice) {
            self.lead = self.lead.saturating_add(weight);
        } else if self.lead >= weight {
            self.lead -= weight;
        } else {
            (self.candidate, self.lead) = (Some(choice), weight - self.lead);
        }
    }

    /// Returns the choice with more than half of the weight. Without such a choice the result is any choice;
    /// without votes it is `None`.
    pub fn winner(self) -> Option<T> {
        self.candidate
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kingpost_regalloc::{ClobberId, Freq, InstFlags, Operand, RegClass};

    #[test]
    fn every_edge_has_a_site_of_its_own() {
        let mut problem = Problem::default();
        let [cond, arg, param] = [(); 3].map(|()| problem.add_vreg(RegClass::Int, 8, false));
        let blocks = [&[][..], &[], &[], &[], &[param]].map(|params: &[_]| {
            let block = problem.begin_block(Freq::ENTRY, params);
            if params.is_empty() && block.as_u32() == 0 {
                problem.push_operands(&[Operand::reg_def(cond), Operand::reg_def(arg)]);
                problem.push_inst(InstFlags::NONE, ClobberId::NONE);
                problem.push_operand(Operand::reg_use(cond));
            }
            problem.push_inst(InstFlags::BRANCH, ClobberId::NONE);
            block
        });
        let [fork, left, right, join, last] = blocks;
        let mut edge = |from, to, args: &[_]| problem.add_edge(from, to, Freq::ENTRY, args, &[]);
        let edges = [
            edge(fork, left, &[]),
            edge(fork, right, &[]),
            edge(left, join, &[]),
            edge(right, join, &[]),
            edge(join, last, &[arg]),
        ];
        problem.finish();
        let sites = edges.map(|edge| edge_site(&problem, edge));
        let expected = [
            EdgeSite::AtHead(left),
            EdgeSite::AtHead(right),
            EdgeSite::BeforeTerminator(left),
            EdgeSite::BeforeTerminator(right),
            EdgeSite::BeforeTerminator(join),
        ];
        assert_eq!(sites, expected);
        let insts = sites.map(|site| site.inst(&problem).as_u32());
        assert_eq!(insts, [2, 3, 2, 3, 4]);
    }

    #[test]
    fn more_than_half_of_the_weight_wins() {
        let winner = |votes: &[(char, u64)]| {
            let mut majority = Majority::default();
            votes.iter().for_each(|&(choice, weight)| majority.vote(choice, weight));
            majority.winner()
        };
        assert_eq!(winner(&[]), None);
        assert_eq!(winner(&[('a', 1)]), Some('a'));
        assert_eq!(winner(&[('a', 3), ('b', 4), ('c', 4), ('b', 4)]), Some('b'));
        assert_eq!(winner(&[('b', 8), ('a', 5), ('c', 2)]), Some('b'));
        assert_eq!(winner(&[('a', 5), ('c', 2), ('b', 8)]), Some('b'));
        assert_eq!(winner(&[('a', u64::MAX), ('a', u64::MAX), ('b', 7)]), Some('a'));
    }
}
