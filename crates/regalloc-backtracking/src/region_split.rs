//! Where a bundle that is live across calls would best be in a register: in the blocks on the paths between its uses that
//! meet no call.
//!
//! ```text
//! b1: header, uses v0      v0 is in a register in b1, b3 and on the edges between them; it is stored before b2's call and
//! b2: cold, calls          loaded on the edge b2 -> b1
//! b3: body, uses v0
//! ```
//!
//! Every block in which the bundle is live has a state, register or memory, or two if there is a call in it: one for the head
//! and one for the end. Memory costs a load for the uses in the block; a register costs a load on each edge from memory, or
//! behind the call if nothing is used there. To leave a register costs nothing, since the slot is written at the def. All
//! states begin as register and go to memory where that costs no more, loop by loop and then block by block until nothing
//! changes. Register states that edges join make one part.
//!
//! This is the spill placement of LLVM's greedy allocator (region splitting) with a search that only goes one way, so that it
//! ends. Cost: a step per block and edge in which the bundle is live, and for each loop around.

use crate::bundles::Bundle;
use crate::liveness::Need;
use crate::search::Search;
use cranelift_entity::EntityRef;
use kingpost_regalloc::sort::sort_by_key;
use kingpost_regalloc_common::order::{BlockIndex, LoopId, OrderedBlock};
use kingpost_regalloc_common::point::{PointRange, ProgPoint};
use std::ops::Range;

/// Loops around a call that are taken to memory as a whole.
const MAX_DEPTH: usize = 8;

/// No node.
const NONE: u32 = u32::MAX;

/// The uses of one block between two calls.
#[derive(Clone, Copy, Debug)]
struct Group {
    /// From the first use to the end of the last; empty if there is none.
    points: PointRange,
    /// Is there a use that memory would cost a load?
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

    /// Empties it, and returns its points if there are any.
    fn take(&mut self) -> Option<PointRange> {
        let points = std::mem::replace(self, Group::EMPTY).points;
        (!points.is_empty()).then_some(points)
    }
}

/// A block in which the bundle is live.
#[derive(Clone, Copy, Debug)]
struct Node {
    block: BlockIndex,
    /// Calls before its first and its last point.
    calls: (u32, u32),
    /// One, or two if there is a call.
    states: u8,
    /// Uses before the first call, and behind so many calls: in the end behind the last one.
    groups: [Group; 2],
    behind: u32,
    /// Is the bundle live in, and live out?
    is_live_in: bool,
    is_live_out: bool,
    /// Is it in a register at the head, and at the end? Without a call only the first counts.
    in_register: [bool; 2],
    freq: u64,
    /// Frequency of the edges from memory, and of those to registers.
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

    /// Must it be loaded only to be in a register at the end?
    fn loads_for_end(&self, half: usize) -> bool {
        half == 1 && self.groups[1].is_empty()
    }

    /// Is it in a register at the end?
    fn leaves_in_register(&self) -> bool {
        self.is_live_out && self.in_register[self.states() - 1]
    }

    /// Is it in a register at the head?
    fn enters_in_register(&self) -> bool {
        self.is_live_in && self.in_register[0]
    }

    /// Returns how often the block loads as its states are, on the edges into it too.
    fn loads(&self) -> u64 {
        let loads = (0..self.states()).filter(|&half| match self.in_register[half] {
            true => self.loads_for_end(half),
            false => self.groups[half].is_read,
        });
        let entry = if self.enters_in_register() { self.from_memory } else { 0 };
        loads.count() as u64 * self.freq + entry
    }

    /// Would a state that is a register load no more often as memory?
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

/// Points of one state, by the number of the state.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Stretch {
    state: u32,
    points: PointRange,
}

/// Scratch memory for the states of one bundle. State `2 i` is that of node `i`, or of its head; `2 i + 1` that of its end.
#[derive(Default)]
pub(crate) struct RegionSplit {
    nodes: Vec<Node>,
    /// By block: its node, or [`NONE`].
    node_of: Vec<u32>,
    /// By state: one on the way to the state that stands for all that edges join it to.
    parents: Vec<u32>,
    stretches: Vec<Stretch>,
    /// Uses that are parts of their own.
    islands: Vec<PointRange>,
    loops: Vec<LoopId>,
    /// Nodes to be looked at again.
    work: Vec<u32>,
    /// Nodes before this one are looked at anyway.
    settled: u32,
}

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

    /// Returns the least of the states that are joined with one, with path halving. Ends, because links lead to lesser states.
    fn find(&mut self, mut state: u32) -> u32 {
        while self.parents[state as usize] != state {
            let next = self.parents[self.parents[state as usize] as usize];
            self.parents[state as usize] = next;
            state = next;
        }
        state
    }
}

/// The node of a block in which the bundle is live from a point on, with so many calls before.
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
    /// Makes parts of a bundle that is live across calls.
    pub(crate) fn split_by_regions(&mut self, bundle: Bundle) {
        let mut r = std::mem::take(&mut self.s.region_split);
        r.begin(self.order.num_blocks());
        self.find_nodes(bundle, &mut r);
        r.settled = NONE;
        self.count_edges(&mut r);
        self.relax_loops(&mut r);
        for i in (0..r.nodes.len()).rev() {
            r.settled = i as u32;
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

    /// Gives a block with a call two states. Behind a call at the end there is nothing to load for.
    fn split_at_calls_within(&self, node: &mut Node) {
        if node.calls.0 != node.calls.1 {
            let last = self.reservations.call_point(node.calls.1 - 1);
            node.states = 2;
            node.in_register[1] =
                !node.groups[1].is_empty() || last.position() != self.order.block(node.block).terminator();
        }
    }

    /// Adds up the frequencies of edges between states as they are.
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

    /// Takes a state of a block to memory.
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
                    if i >= r.settled && other.leaves_in_register() {
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
                    if i >= r.settled && other.in_register[0] {
                        r.work.push(i);
                    }
                }
            }
        }
    }

    /// Takes a block's states to memory where that costs no more.
    fn relax(&self, r: &mut RegionSplit, i: usize) {
        for half in 0..r.nodes[i].states() {
            if r.nodes[i].is_cheaper_in_memory(half) {
                self.drop_register(r, i, half);
            }
        }
    }

    /// Takes whole loops with calls to memory where that costs no more, inner ones first: no block of a loop would begin.
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

    /// Would a loop load no more often than `now` if it were in memory?
    fn is_cheap_in_memory(&self, r: &RegionSplit, nodes: Range<usize>, blocks: Range<BlockIndex>, now: u64) -> bool {
        let mut loads = 0u64;
        for node in &r.nodes[nodes] {
            loads += (0..node.states()).filter(|&half| node.groups[half].is_read).count() as u64 * node.freq;
            // What leaves the loop from memory by now does so still.
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

    /// Joins register states that edges lead between.
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
                    let (a, b) = (r.find(state), r.find(2 * i as u32));
                    r.parents[a.max(b) as usize] = a.min(b);
                }
            }
        }
    }

    /// Lists the points of each register state, and uses that must be parts of their own.
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

    /// Makes a part of the points of each joined state, and of each island.
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
