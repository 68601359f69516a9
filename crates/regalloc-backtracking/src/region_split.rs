//! Region splitting: a bundle that is live across calls gets a register in the blocks on paths between its uses
//! that meet no call.
//!
//! ```text
//! b1: header, uses v0      v0 is in a register in b1, b3 and on the edges between them; it is stored before b2's call and
//! b2: cold, calls          loaded on the edge b2 -> b1
//! b3: body, uses v0
//! ```
//!
//! Every block in which the bundle is live has a state, register or memory, or two if there is a call in it: one
//! for the head and one for the end. Memory costs a load for the uses in the block. A register costs a load on each
//! edge from memory, or after the call if there is no use. Leaving a register costs nothing, because the slot is
//! written at the def. All states begin as register. They change to memory where that costs no more, loop by loop
//! and then block by block until a fixed point. Register states connected by edges form one part.
//!
//! This is the spill placement of LLVM's greedy allocator (region splitting) with a search in one direction only,
//! so that it terminates. Cost: a step per block and edge in which the bundle is live, and for each surrounding
//! loop.

use crate::bundles::Bundle;
use crate::liveness::Need;
use crate::search::Search;
use cranelift_entity::EntityRef;
use kingpost_regalloc::meter::heap_bytes;
use kingpost_regalloc::sort::sort_by_key;
use kingpost_regalloc_common::order::{BlockIndex, LoopId, OrderedBlock};
use kingpost_regalloc_common::point::{PointRange, ProgPoint};
use std::ops::Range;

/// Number of loops around a call that are tried as a whole.
const MAX_DEPTH: usize = 8;

/// No node.
const NONE: u32 = u32::MAX;

/// The uses of one block between two calls.
#[derive(Clone, Copy, Debug)]
struct Group {
    /// From the first use to the end of the last; empty without uses.
    points: PointRange,
    /// Whether there is a use that would cost a load in memory.
    is_read: bool,
}

impl Group {
    const EMPTY: Group = Group { points: PointRange::EMPTY, is_read: false };

    fn add(&mut self, points: PointRange, is_read: bool) {
        self.points = match self.points.is_empty() {
            true => points,
            false => PointRange::new(self.points.from, self.points.to.max(points.to)),
        };
        self.is_read |= is_read;
    }

    fn is_empty(&self) -> bool {
        self.points.is_empty()
    }

    /// Clears the group, and returns its points if there are any.
    fn take(&mut self) -> Option<PointRange> {
        let points = std::mem::replace(self, Group::EMPTY).points;
        (!points.is_empty()).then_some(points)
    }
}

/// A block in which the bundle is live.
#[derive(Clone, Copy, Debug)]
struct Node {
    block: BlockIndex,
    /// Numbers of calls before its first and its last point.
    calls: (u32, u32),
    /// Number of states: one, or two if there is a call.
    states: u8,
    /// Uses before the first call, and uses after `behind` calls, in the end after the last one.
    groups: [Group; 2],
    behind: u32,
    /// Whether the bundle is live in, and live out.
    is_live_in: bool,
    is_live_out: bool,
    /// Whether it is in a register at the head, and at the end. Without a call only the first entry counts.
    in_register: [bool; 2],
    freq: u64,
    /// Sums of the frequencies of edges from memory, and of edges to registers.
    from_memory: u64,
    to_register: u64,
}

impl Node {
    fn has_call(&self) -> bool {
        self.states > 1
    }

    fn states(&self) -> usize {
        usize::from(self.states)
    }

    /// Returns `true` if a load is needed only for a register at the end.
    fn loads_for_end(&self, half: usize) -> bool {
        half == 1 && self.groups[1].is_empty()
    }

    /// Returns `true` if the bundle is in a register at the end.
    fn leaves_in_register(&self) -> bool {
        self.is_live_out && self.in_register[self.states() - 1]
    }

    /// Returns `true` if the bundle is in a register at the head.
    fn enters_in_register(&self) -> bool {
        self.is_live_in && self.in_register[0]
    }

    /// Returns the frequency of loads with the current states, including loads on incoming edges.
    fn loads(&self) -> u64 {
        let loads = (0..self.states()).filter(|&half| match self.in_register[half] {
            true => self.loads_for_end(half),
            false => self.groups[half].is_read,
        });
        let entry = if self.enters_in_register() { self.from_memory } else { 0 };
        loads.count() as u64 * self.freq + entry
    }

    /// Returns `true` if a register state would load no more often as memory.
    fn is_cheaper_in_memory(&self, half: usize) -> bool {
        if !self.in_register[half] {
            return false;
        }
        let is_last = half + 1 == self.states();
        let entry = if half == 0 { self.from_memory } else { 0 };
        let register = entry + if self.loads_for_end(half) { self.freq } else { 0 };
        let read = if self.groups[half].is_read { self.freq } else { 0 };
        read + if is_last { self.to_register } else { 0 } <= register
    }
}

/// Points of one state, with the number of the state.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Stretch {
    state: u32,
    points: PointRange,
}

/// Scratch memory for the states of one bundle. State `2 i` is the state of node `i`, or of its head. State
/// `2 i + 1` is the state of its end.
#[derive(Default)]
pub(crate) struct RegionSplit {
    nodes: Vec<Node>,
    /// By block, the index of its node, or [`NONE`].
    node_of: Vec<u32>,
    /// By state: a state on the path to the representative of its set of connected states.
    parents: Vec<u32>,
    stretches: Vec<Stretch>,
    /// Uses that become separate parts.
    islands: Vec<PointRange>,
    loops: Vec<LoopId>,
    /// Nodes to be visited again.
    work: Vec<u32>,
    /// Nodes from this index on are added to `work` if an edge of theirs changes; the main loop visits earlier
    /// nodes anyway.
    requeue_from: u32,
}

heap_bytes!(RegionSplit { nodes, node_of, parents, stretches, islands, loops, work } without { requeue_from });

impl RegionSplit {
    fn begin(&mut self, blocks: usize) {
        self.node_of.resize(blocks.max(self.node_of.len()), NONE);
        self.nodes.clear();
        self.stretches.clear();
        self.islands.clear();
    }

    fn node(&self, block: BlockIndex) -> Option<&Node> {
        self.nodes.get(self.node_of[block.index()] as usize)
    }

    fn node_mut(&mut self, block: BlockIndex) -> Option<&mut Node> {
        self.nodes.get_mut(self.node_of[block.index()] as usize)
    }

    /// Returns the least of the states connected with one, with path halving. Terminates because links lead to
    /// lesser states.
    fn find(&mut self, mut state: u32) -> u32 {
        while self.parents[state as usize] != state {
            let next = self.parents[self.parents[state as usize] as usize];
            self.parents[state as usize] = next;
            state = next;
        }
        state
    }

    /// Joins two states, and all that are joined with them.
    fn unite(&mut self, a: u32, b: u32) {
        let (a, b) = (self.find(a), self.find(b));
        self.parents[a.max(b) as usize] = a.min(b);
    }
}

/// Returns the node of a block in which the bundle is live from `from` on, after `calls` calls.
fn new_node(index: BlockIndex, block: &OrderedBlock, from: ProgPoint, calls: u32) -> Node {
    Node {
        block: index,
        calls: (calls, calls),
        states: 1,
        groups: [Group::EMPTY; 2],
        behind: calls,
        is_live_in: from == block.start(),
        is_live_out: false,
        in_register: [true; 2],
        freq: block.freq.0,
        from_memory: 0,
        to_register: 0,
    }
}

impl Search<'_, '_> {
    /// Splits a bundle that is live across calls into its register regions.
    pub(crate) fn split_by_regions(&mut self, bundle: Bundle) {
        let mut r = std::mem::take(&mut self.s.region_split);
        r.begin(self.order.num_blocks());
        self.find_nodes(bundle, &mut r);
        r.requeue_from = NONE;
        self.count_edges(&mut r);
        self.relax_loops(&mut r);
        for i in (0..r.nodes.len()).rev() {
            r.requeue_from = i as u32;
            self.relax(&mut r, i);
        }
        while let Some(i) = r.work.pop() {
            self.stats.steps += 1;
            self.relax(&mut r, i as usize);
        }
        self.join(&mut r);
        self.find_stretches(&mut r);
        self.cut_stretches(bundle, &mut r);
        for node in &r.nodes {
            r.node_of[node.block.index()] = NONE;
        }
        self.s.region_split = r;
    }

    fn find_nodes(&mut self, bundle: Bundle, r: &mut RegionSplit) {
        for segment in self.bundles.segments(bundle) {
            let uses = self.live.uses_at(segment.uses());
            let remat = self.live.remat(segment.vreg).is_some();
            let mut next = 0;
            let mut calls = self.reservations.calls_before(segment.from);
            let last = self.order.index_at(segment.to.prev().position());
            for index in self.order.index_at(segment.from.position()).up_to(last.next()) {
                let block = self.order.block(index);
                let points = segment.range().intersection(block.points());
                if r.nodes.last().is_none_or(|node| node.block != index) {
                    r.node_of[index.index()] = r.nodes.len() as u32;
                    r.nodes.push(new_node(index, block, points.from, calls));
                }
                let RegionSplit { nodes, islands, .. } = r;
                let Some(node) = nodes.last_mut() else { continue };
                let end = points.to.prev();
                if self.reservations.call_point(calls) < end {
                    calls = self.reservations.calls_before(end);
                }
                node.calls.1 = calls;
                node.is_live_out = points.to > ProgPoint::before(block.terminator());
                while let Some(u) = uses.get(next).filter(|u| u.point < points.to) {
                    next += 1;
                    if u.need == Need::Slot || u.is_def && remat || self.is_internal(u) {
                        continue;
                    }
                    let used = PointRange::new(u.start(), u.end()).intersection(points);
                    let calls = match node.calls {
                        (first, last) if first == last => first,
                        _ => self.reservations.calls_before(if u.is_def { used.to.prev() } else { used.from }),
                    };
                    let half = usize::from(calls != node.calls.0);
                    if half == 1 && calls != node.behind {
                        islands.extend(node.groups[1].take());
                        node.behind = calls;
                    }
                    node.groups[half].add(used, !u.is_def);
                }
            }
        }
        for node in &mut r.nodes {
            if node.behind != node.calls.1 {
                r.islands.extend(node.groups[1].take());
            }
            self.split_at_calls_within(node);
        }
    }

    /// Sets two states for a block with a call. After a call at the end no load is needed.
    fn split_at_calls_within(&self, node: &mut Node) {
        if node.calls.0 != node.calls.1 {
            let last = self.reservations.call_point(node.calls.1 - 1);
            node.states = 2;
            node.in_register[1] =
                !node.groups[1].is_empty() || last.position() != self.order.block(node.block).terminator();
        }
    }

    /// Sums the frequencies of edges between the current states.
    fn count_edges(&self, r: &mut RegionSplit) {
        for i in 0..r.nodes.len() {
            let node = &r.nodes[i];
            if !node.is_live_out {
                continue;
            }
            let leaves = node.leaves_in_register();
            let mut to_register = 0;
            for succ in self.graph.succs(node.block) {
                let Some(other) = r.node_mut(succ.block).filter(|other| other.is_live_in) else { continue };
                other.from_memory += if leaves { 0 } else { succ.freq.0 };
                to_register += if other.in_register[0] { succ.freq.0 } else { 0 };
            }
            r.nodes[i].to_register = to_register;
        }
    }

    /// Changes a state of a block to memory.
    fn drop_register(&self, r: &mut RegionSplit, i: usize, half: usize) {
        let node = &mut r.nodes[i];
        node.in_register[half] = false;
        let (block, enters) = (node.block, half == 0 && node.is_live_in);
        let leaves = half + 1 == node.states() && node.is_live_out;
        if enters {
            for pred in self.graph.preds(block) {
                let i = r.node_of[pred.block.index()];
                if let Some(other) = r.nodes.get_mut(i as usize).filter(|other| other.is_live_out) {
                    other.to_register -= pred.freq.0;
                    if i >= r.requeue_from && other.leaves_in_register() {
                        r.work.push(i);
                    }
                }
            }
        }
        if leaves {
            for succ in self.graph.succs(block) {
                let i = r.node_of[succ.block.index()];
                if let Some(other) = r.nodes.get_mut(i as usize).filter(|other| other.is_live_in) {
                    other.from_memory += succ.freq.0;
                    if i >= r.requeue_from && other.in_register[0] {
                        r.work.push(i);
                    }
                }
            }
        }
    }

    /// Changes a block's states to memory where that costs no more.
    fn relax(&self, r: &mut RegionSplit, i: usize) {
        for half in 0..r.nodes[i].states() {
            if r.nodes[i].is_cheaper_in_memory(half) {
                self.drop_register(r, i, half);
            }
        }
    }

    /// Changes whole loops with calls to memory where that costs no more, inner ones first, because no single block
    /// of a loop would change alone.
    fn relax_loops(&mut self, r: &mut RegionSplit) {
        self.find_loops(r);
        for i in 0..r.loops.len() {
            let data = self.order.loops()[r.loops[i]];
            let first = r.nodes.partition_point(|node| node.block < data.header);
            let end = first + r.nodes[first..].partition_point(|node| node.block < data.end);
            self.stats.steps += (end - first) as u64;
            let now: u64 = r.nodes[first..end].iter().map(Node::loads).sum();
            if now > 0 && self.is_cheap_in_memory(r, first..end, data.header..data.end, now) {
                for i in first..end {
                    let Node { states, in_register, .. } = r.nodes[i];
                    (0..usize::from(states)).filter(|&half| in_register[half]).for_each(|half| {
                        self.drop_register(r, i, half);
                    });
                }
            }
        }
    }

    /// Lists the loops around calls, inner ones first.
    fn find_loops(&self, r: &mut RegionSplit) {
        r.loops.clear();
        for node in r.nodes.iter().filter(|node| node.has_call()) {
            let mut next = self.order.block(node.block).innermost;
            for _ in 0..MAX_DEPTH {
                let Some(id) = next.expand().filter(|&id| r.loops.last() != Some(&id)) else { break };
                r.loops.push(id);
                next = self.order.loops()[id].parent;
            }
        }
        sort_by_key(&mut r.loops, |&id| std::cmp::Reverse(id));
        r.loops.dedup();
    }

    /// Returns `true` if a loop in memory would load at most as often as `now`.
    fn is_cheap_in_memory(&self, r: &RegionSplit, nodes: Range<usize>, blocks: Range<BlockIndex>, now: u64) -> bool {
        let mut loads = 0u64;
        for node in &r.nodes[nodes] {
            loads += (0..node.states()).filter(|&half| node.groups[half].is_read).count() as u64 * node.freq;
            // Edges out of the loop that come from memory now remain unchanged.
            if node.leaves_in_register() {
                for succ in self.graph.succs(node.block) {
                    if !blocks.contains(&succ.block) && r.node(succ.block).is_some_and(Node::enters_in_register) {
                        loads += succ.freq.0;
                    }
                }
            }
            if loads > now {
                return false;
            }
        }
        true
    }

    /// Joins register states that are connected by edges.
    fn join(&self, r: &mut RegionSplit) {
        r.parents.clear();
        r.parents.extend(0..2 * r.nodes.len() as u32);
        for i in 0..r.nodes.len() {
            let node = &r.nodes[i];
            if !node.enters_in_register() {
                continue;
            }
            for pred in self.graph.preds(node.block) {
                if let Some(other) = r.node(pred.block).filter(|other| other.leaves_in_register()) {
                    let state = 2 * r.node_of[pred.block.index()] + u32::from(other.has_call());
                    r.unite(state, 2 * i as u32);
                }
            }
        }
    }

    /// Lists the points of each register state, and the uses that become separate parts.
    fn find_stretches(&self, r: &mut RegionSplit) {
        for i in 0..r.nodes.len() {
            let Node { block, states, in_register, groups, .. } = r.nodes[i];
            if !in_register[0] && states == 1 && groups[0].is_empty() {
                continue;
            }
            let block = self.order.block(block);
            for half in 0..usize::from(states) {
                let mut group = groups[half];
                if !in_register[half] {
                    r.islands.extend(group.take());
                    continue;
                }
                let points = match (half, states > 1) {
                    (0, false) => block.points(),
                    (0, true) => PointRange::new(block.start(), group.points.to),
                    _ if group.is_empty() => PointRange::new(ProgPoint::before(block.terminator()), block.stop()),
                    _ => PointRange::new(group.points.from, block.stop()),
                };
                let state = r.find((2 * i + half) as u32);
                if !points.is_empty() {
                    r.stretches.push(Stretch { state, points });
                }
            }
        }
    }

    /// Adds a part for each set of joined states, and for each island.
    fn cut_stretches(&mut self, bundle: Bundle, r: &mut RegionSplit) {
        r.stretches.sort_unstable();
        for stretches in r.stretches.chunk_by(|a, b| a.state == b.state) {
            self.s.part.clear();
            let mut rest = stretches.iter().peekable();
            while let Some(&Stretch { mut points, .. }) = rest.next() {
                while let Some(next) = rest.next_if(|next| next.points.from == points.to) {
                    points.to = next.points.to;
                }
                self.clip_part(bundle, points);
            }
            self.trace_split(bundle, stretches[0].points.from);
            self.finish_part(bundle);
        }
        for &points in &r.islands {
            self.trace_split(bundle, points.from);
            self.cut_out(bundle, points);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Joins each state with a random one, cycles included, and checks that the least of the connected states is
    /// found.
    #[test]
    fn random_links_are_joined() {
        let mut state = 1_u64;
        let mut random = move |limit: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % limit
        };
        for _ in 0..300 {
            let next: Vec<usize> = (0..1 + random(30)).map(|_| random(30)).collect();
            let mut split = RegionSplit { parents: (0..30).collect(), ..RegionSplit::default() };
            let mut least: Vec<u32> = (0..30).collect();
            for (from, &to) in next.iter().enumerate() {
                split.unite(from as u32, to as u32);
                let joined = [least[from], least[to]];
                let both = least.iter_mut().filter(|class| joined.contains(class));
                both.for_each(|class| *class = joined[0].min(joined[1]));
            }
            assert_eq!((0..30).map(|state| split.find(state)).collect::<Vec<_>>(), least, "{next:?}");
        }
    }
}
