//! Random control flow: every block reachable, no critical edge, loops of every kind, including irreducible ones.

use crate::rng::Rng;

/// Successors and predecessors by block number. An edge is identified by its source and its index among the
/// successors.
pub(crate) struct Flow {
    pub(crate) succs: Vec<Vec<usize>>,
    pub(crate) preds: Vec<Vec<usize>>,
    /// The immediate dominator of each block except the entry.
    pub(crate) idom: Vec<usize>,
}

impl Flow {
    /// Creates about `blocks` blocks in reverse post-order: a block follows its dominators.
    pub(crate) fn random(rng: &mut Rng, blocks: usize) -> Flow {
        let mut succs = random_succs(rng, blocks);
        connect(rng, &mut succs);
        split_edges(rng, &mut succs);
        let succs = in_reverse_post_order(&succs);
        let mut preds = vec![Vec::new(); succs.len()];
        for (from, targets) in succs.iter().enumerate() {
            targets.iter().for_each(|&to| preds[to].push(from));
        }
        let idom = immediate_dominators(&preds);
        Flow { succs, preds, idom }
    }
}

fn random_succs(rng: &mut Rng, blocks: usize) -> Vec<Vec<usize>> {
    let mut succs = Vec::new();
    for block in 0..blocks {
        let ways = match rng.range(0..100) {
            _ if blocks == 1 => 0,
            0..80 if block == blocks - 1 => 0,
            0..8 => 0,
            8..45 => 1,
            45..90 => 2,
            _ => rng.range(3..6),
        };
        let target = |rng: &mut Rng| match rng.range(0..100) {
            0..50 => (block + 1).min(blocks - 1).max(1),
            50..75 => rng.range(1..blocks),
            75..90 => rng.range(block.min(blocks - 2) + 1..blocks),
            _ => rng.range(block.saturating_sub(3)..block + 1).max(1),
        };
        let mut targets: Vec<usize> = (0..ways).map(|_| target(rng)).collect();
        if rng.chance(70) {
            targets.sort_unstable();
            targets.dedup();
        }
        succs.push(targets);
    }
    succs
}

fn reachable(succs: &[Vec<usize>]) -> Vec<bool> {
    let mut seen = vec![false; succs.len()];
    let mut stack = vec![0];
    while let Some(block) = stack.pop() {
        if !std::mem::replace(&mut seen[block], true) {
            stack.extend(&succs[block]);
        }
    }
    seen
}

/// Adds edges until the entry reaches every block.
fn connect(rng: &mut Rng, succs: &mut [Vec<usize>]) {
    while let Some(lost) = reachable(succs).iter().position(|&seen| !seen) {
        let seen = reachable(succs);
        let sources: Vec<usize> = (0..succs.len()).filter(|&block| seen[block]).collect();
        let from = rng.pick(&sources).unwrap_or(0);
        succs[from].push(lost);
    }
}

/// Splits critical edges, and some other edges into joins: a block that only leads to an edge block may end in any
/// branch.
fn split_edges(rng: &mut Rng, succs: &mut Vec<Vec<usize>>) {
    let mut ways_in = vec![0; succs.len()];
    succs.iter().flatten().for_each(|&to| ways_in[to] += 1);
    for block in 0..ways_in.len() {
        for way in 0..succs[block].len() {
            let to = succs[block][way];
            if ways_in[to] > 1 && (succs[block].len() > 1 || rng.chance(30)) {
                succs[block][way] = succs.len();
                succs.push(vec![to]);
            }
        }
    }
}

fn in_reverse_post_order(succs: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut order = Vec::new();
    let mut seen = vec![false; succs.len()];
    let mut stack = vec![(0, 0)];
    seen[0] = true;
    while let Some((block, way)) = stack.pop() {
        match succs[block].get(way) {
            None => order.push(block),
            Some(&to) => {
                stack.push((block, way + 1));
                if !std::mem::replace(&mut seen[to], true) {
                    stack.push((to, 0));
                }
            }
        }
    }
    order.reverse();
    let mut number = vec![0; succs.len()];
    order.iter().enumerate().for_each(|(n, &block)| number[block] = n);
    order.iter().map(|&block| succs[block].iter().map(|&to| number[to]).collect()).collect()
}

/// Computes immediate dominators by the definition: sets of dominators that shrink to a fixed point. Generated
/// problems are small.
fn immediate_dominators(preds: &[Vec<usize>]) -> Vec<usize> {
    let blocks = preds.len();
    let mut dominators = vec![vec![true; blocks]; blocks];
    dominators[0] = (0..blocks).map(|block| block == 0).collect();
    let mut changed = true;
    while changed {
        changed = false;
        for block in 1..blocks {
            let by = |d: usize| d == block || preds[block].iter().all(|&pred| dominators[pred][d]);
            let new: Vec<bool> = (0..blocks).map(by).collect();
            changed |= new != dominators[block];
            dominators[block] = new;
        }
    }
    let count = |block: usize| dominators[block].iter().filter(|&&d| d).count();
    let strict = |block: usize| (0..blocks).filter(move |&d| d != block);
    (0..blocks)
        .map(|block| strict(block).filter(|&d| dominators[block][d]).max_by_key(|&d| count(d)).unwrap_or(0))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_edge_is_critical_and_dominators_come_first() {
        for seed in 0..300 {
            let rng = &mut Rng::new(seed);
            let blocks = rng.range(1..30);
            let flow = Flow::random(rng, blocks);
            assert!(flow.preds[0].is_empty());
            for (block, succs) in flow.succs.iter().enumerate() {
                assert!(block == 0 || flow.idom[block] < block);
                assert!(succs.len() < 2 || succs.iter().all(|&to| flow.preds[to].len() == 1));
            }
        }
    }
}
