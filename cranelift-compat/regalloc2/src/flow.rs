//! Control flow of a function of regalloc2: an order of its blocks, loops and dominators.

use regalloc2::{Block, Function};

const NONE: u32 = u32::MAX;

/// The blocks that the entry reaches, in an order in which a block comes after its dominators and each loop is
/// contiguous.
pub(crate) struct Flow {
    /// The order.
    pub(crate) order: Vec<Block>,
    /// Number of loops around each block.
    pub(crate) depths: Vec<u32>,
    /// Immediate dominator of each block that is reached, as its position in reverse postorder. The entry has its
    /// own.
    idoms: Vec<u32>,
    /// Position of each block in reverse postorder.
    positions: Vec<u32>,
}

impl Flow {
    pub(crate) fn new<F: Function>(func: &F) -> Flow {
        let walk = Walk::new(func);
        let headers = headers(func, &walk);
        let rpo: Vec<Block> = walk.postorder.iter().rev().copied().collect();
        let mut positions = vec![NONE; func.num_blocks()];
        for (position, &block) in rpo.iter().enumerate() {
            positions[block.index()] = position as u32;
        }
        let mut depths = vec![0; func.num_blocks()];
        // Children in the tree of loops, in reverse postorder.
        let mut inner: Vec<Vec<Block>> = vec![Vec::new(); func.num_blocks()];
        let mut stack = Vec::new();
        for &block in &rpo {
            match headers.parents[block.index()] {
                Some(header) => inner[header.index()].push(block),
                None => stack.push(block),
            }
        }
        stack.reverse();
        let mut order = Vec::with_capacity(rpo.len());
        while let Some(block) = stack.pop() {
            let around = headers.parents[block.index()].map_or(0, |header| depths[header.index()]);
            depths[block.index()] = around + u32::from(headers.are_headers[block.index()]);
            order.push(block);
            stack.extend(inner[block.index()].iter().rev());
        }
        let idoms = idoms(func, &rpo, &positions);
        Flow { order, depths, idoms, positions }
    }

    /// Returns `true` if `a` is on every path from the entry to `b`. Both blocks are reached.
    pub(crate) fn dominates(&self, a: Block, b: Block) -> bool {
        let (a, mut b) = (self.positions[a.index()], self.positions[b.index()]);
        while b > a {
            b = self.idoms[b as usize];
        }
        a == b
    }
}

/// A depth-first walk from the entry.
struct Walk {
    /// Per block, its number in preorder.
    numbers: Vec<u32>,
    /// Per number, the largest number of a descendant.
    last: Vec<u32>,
    preorder: Vec<Block>,
    postorder: Vec<Block>,
}

impl Walk {
    fn new<F: Function>(func: &F) -> Walk {
        let mut walk =
            Walk { numbers: vec![NONE; func.num_blocks()], last: vec![], preorder: vec![], postorder: vec![] };
        let mut stack = vec![(walk.enter(func.entry_block()), 0)];
        while let Some((number, next)) = stack.last_mut() {
            let block = walk.preorder[*number as usize];
            // The last successor first: an exit of a loop then comes after the loop more often.
            let succs = func.block_succs(block);
            if *next == succs.len() {
                walk.last[*number as usize] = walk.preorder.len() as u32 - 1;
                walk.postorder.push(block);
                stack.pop();
                continue;
            }
            *next += 1;
            let succ = succs[succs.len() - *next];
            if walk.numbers[succ.index()] == NONE {
                stack.push((walk.enter(succ), 0));
            }
        }
        walk
    }

    fn enter(&mut self, block: Block) -> u32 {
        let number = self.preorder.len() as u32;
        self.numbers[block.index()] = number;
        self.preorder.push(block);
        self.last.push(number);
        number
    }

    /// Returns `true` if `below` is `above` or one of its descendants.
    fn is_below(&self, below: u32, above: u32) -> bool {
        above <= below && below <= self.last[above as usize]
    }
}

/// The loops of a function, by their headers.
struct Headers {
    /// Per block, the header of the innermost loop that contains it and is not its own.
    parents: Vec<Option<Block>>,
    are_headers: Vec<bool>,
}

/// Finds loops as Havlak does (*Nesting of reducible and irreducible loops*, 1997): each loop is collapsed into its
/// header before the loops around it are found. Entries into a loop besides its header are ignored.
fn headers<F: Function>(func: &F, walk: &Walk) -> Headers {
    let count = func.num_blocks();
    let mut headers = Headers { parents: vec![None; count], are_headers: vec![false; count] };
    let mut collapsed: Vec<u32> = (0..walk.preorder.len() as u32).collect();
    let mut body = Vec::new();
    for header in (0..walk.preorder.len() as u32).rev() {
        let block = walk.preorder[header as usize];
        let preds_in = |of: u32| {
            let preds = func.block_preds(walk.preorder[of as usize]).iter();
            preds
                .map(|pred| walk.numbers[pred.index()])
                .filter(move |&pred| pred != NONE && walk.is_below(pred, header))
        };
        body.clear();
        for latch in preds_in(header) {
            headers.are_headers[block.index()] = true;
            body.push(latch);
        }
        while let Some(member) = body.pop() {
            let member = find(&mut collapsed, member);
            if member != header {
                collapsed[member as usize] = header;
                headers.parents[walk.preorder[member as usize].index()] = Some(block);
                body.extend(preds_in(member));
            }
        }
    }
    headers
}

/// Returns the header into which a block is collapsed, and shortens the path to it.
fn find(collapsed: &mut [u32], mut block: u32) -> u32 {
    while collapsed[block as usize] != block {
        let next = collapsed[block as usize];
        collapsed[block as usize] = collapsed[next as usize];
        block = next;
    }
    block
}

/// Returns immediate dominators by position in reverse postorder (Cooper, Harvey, Kennedy: *A simple, fast dominance
/// algorithm*, 2001).
fn idoms<F: Function>(func: &F, rpo: &[Block], positions: &[u32]) -> Vec<u32> {
    let mut idoms = vec![NONE; rpo.len()];
    if let Some(entry) = idoms.first_mut() {
        *entry = 0;
    }
    let mut changed = true;
    while std::mem::take(&mut changed) {
        for (position, block) in rpo.iter().enumerate().skip(1) {
            let mut idom = NONE;
            for pred in func.block_preds(*block) {
                let mut pred = positions[pred.index()];
                if pred == NONE || idoms[pred as usize] == NONE {
                    continue;
                }
                while idom != NONE && idom != pred {
                    match idom > pred {
                        true => idom = idoms[idom as usize],
                        false => pred = idoms[pred as usize],
                    }
                }
                idom = pred;
            }
            changed |= std::mem::replace(&mut idoms[position], idom) != idom;
        }
    }
    idoms
}
