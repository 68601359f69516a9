//! Where a bundle that lives over walls would best be in a register: not on either side of each wall in the order of
//! blocks, but in the blocks on the ways between its uses that meet no wall.
//!
//! Every block in which the bundle lives has a state, register or memory, or two if there is a wall in it: one for the
//! head and one for the end. What is in memory costs a load for the uses in the block; what is in a register costs a
//! load on each edge from memory, or after the wall if nothing is used behind it. To leave a register costs nothing,
//! since the slot is written at the def. All states begin as register and go to memory where that is no dearer, loop by
//! loop and then block by block until nothing changes. States of register that edges join make one part.
//!
//! This is the spill placement of LLVM's greedy allocator with a search that only goes one way, so that it ends. Cost: a
//! step per block and edge in which the bundle lives, and for each loop around.

use crate::live::Need;
use crate::order::NONE;
use crate::search::Search;
use std::ops::Range;

/// Loops around a wall that are taken to memory as a whole.
const MAX_DEPTH: usize = 8;

/// The uses of one block between two walls.
#[derive(Clone, Copy, Default, Debug)]
struct Group {
    first: u32,
    last: u32,
    /// Is there a use that memory would cost a load?
    is_read: bool,
}

impl Group {
    fn add(&mut self, from: u32, to: u32, is_read: bool) {
        if self.is_empty() {
            self.first = from;
        }
        self.last = to.max(self.last);
        self.is_read |= is_read;
    }

    fn is_empty(&self) -> bool {
        self.last == 0
    }

    /// Empties it, and gives its points if there are any.
    fn take(&mut self) -> Option<(u32, u32)> {
        let Group { first, last, .. } = std::mem::take(self);
        (last != 0).then_some((first, last))
    }
}

/// A block in which the bundle lives.
#[derive(Clone, Copy, Debug)]
struct Node {
    place: u32,
    /// Walls before its first and its last point.
    walls: (u32, u32),
    /// One, or two if there is a wall.
    states: u8,
    /// Uses before the first wall, and behind so many walls: in the end behind the last one.
    groups: [Group; 2],
    behind: u32,
    /// Does the bundle live at the head, and at the end?
    lives: [bool; 2],
    /// Is it in a register there? Without a wall only the first counts.
    in_register: [bool; 2],
    freq: u64,
    /// Frequency of the edges from memory, and of those to registers.
    from_memory: u64,
    to_register: u64,
}

impl Node {
    fn has_wall(&self) -> bool {
        self.states > 1
    }

    fn states(&self) -> usize {
        usize::from(self.states)
    }

    /// Must it be loaded for nothing but to be in a register at the end?
    fn fills(&self, half: usize) -> bool {
        half == 1 && self.groups[1].is_empty()
    }

    /// Is it in a register at the end?
    fn leaves_in_register(&self) -> bool {
        self.lives[1] && self.in_register[self.states() - 1]
    }

    /// How often the block loads as its states are, on the edges into it too.
    fn loads(&self) -> u64 {
        let loads = (0..self.states()).filter(|&half| match self.in_register[half] {
            true => self.fills(half),
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
        let register = if half == 0 { self.from_memory } else { 0 } + if self.fills(half) { self.freq } else { 0 };
        let read = if self.groups[half].is_read { self.freq } else { 0 };
        read + if is_last { self.to_register } else { 0 } <= register
    }

    /// Is it in a register at the head?
    fn enters_in_register(&self) -> bool {
        self.lives[0] && self.in_register[0]
    }
}

/// Scratch memory for the states of one bundle.
#[derive(Default)]
pub(crate) struct Regions {
    nodes: Vec<Node>,
    /// By place: its node, or [`NONE`].
    node_at: Vec<u32>,
    /// By node, twice: a state that edges join it to.
    joined: Vec<u32>,
    /// States and the points that they stand for.
    stretches: Vec<(u32, u32, u32)>,
    /// Points of uses that are parts of their own.
    islands: Vec<(u32, u32)>,
    loops: Vec<u32>,
    /// Nodes to be looked at again.
    work: Vec<u32>,
    /// Those before this one are looked at anyway.
    settled: u32,
}

impl Regions {
    fn node(&self, place: u32) -> Option<&Node> {
        self.nodes.get(self.node_at[place as usize] as usize)
    }

    fn node_mut(&mut self, place: u32) -> Option<&mut Node> {
        self.nodes.get_mut(self.node_at[place as usize] as usize)
    }

    fn root(&mut self, mut state: u32) -> u32 {
        while self.joined[state as usize] != state {
            let up = self.joined[self.joined[state as usize] as usize];
            self.joined[state as usize] = up;
            state = up;
        }
        state
    }
}

impl Search<'_, '_> {
    /// Makes parts of a bundle that lives over walls.
    pub(crate) fn split_by_regions(&mut self, bundle: u32) {
        let mut r = std::mem::take(&mut self.s.regions);
        r.node_at.resize(self.order.places.len().max(r.node_at.len()), NONE);
        r.nodes.clear();
        r.stretches.clear();
        r.islands.clear();
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
            r.node_at[node.place as usize] = NONE;
        }
        self.s.regions = r;
    }

    fn find_nodes(&mut self, bundle: u32, r: &mut Regions) {
        for segment in self.bundles.segments(bundle) {
            let uses = self.live.uses_at(segment.uses());
            let remat = self.live.remat(segment.vreg).is_some();
            let mut next = 0;
            for place in self.order.index_at(segment.from)..=self.order.index_at(segment.to - 1) {
                let data = &self.order.places[place as usize];
                let (from, to) = (segment.from.max(data.start()), segment.to.min(data.stop()));
                if r.nodes.last().is_none_or(|node| node.place != place) {
                    r.node_at[place as usize] = r.nodes.len() as u32;
                    let walls = self.machine.walls_before(from);
                    r.nodes.push(Node {
                        place,
                        walls: (walls, walls),
                        states: 1,
                        groups: [Group::default(); 2],
                        behind: walls,
                        lives: [from == data.start(), false],
                        in_register: [true; 2],
                        freq: data.freq,
                        from_memory: 0,
                        to_register: 0,
                    });
                }
                let Regions { nodes, islands, .. } = r;
                let Some(node) = nodes.last_mut() else { continue };
                node.walls.1 = self.machine.walls_before(to - 1);
                node.lives[1] = to + 4 > data.stop();
                while let Some(u) = uses.get(next).filter(|u| u.point < to) {
                    next += 1;
                    if u.need == Need::Slot || u.is_def && remat || self.is_internal(u) {
                        continue;
                    }
                    let (first, last) = (u.from().max(from), u.to().min(to));
                    let walls = self.machine.walls_before(if u.is_def { last - 1 } else { first });
                    let behind = usize::from(walls != node.walls.0);
                    if behind == 1 && walls != node.behind {
                        islands.extend(node.groups[1].take());
                        node.behind = walls;
                    }
                    node.groups[behind].add(first, last, !u.is_def);
                }
            }
        }
        for node in &mut r.nodes {
            if node.behind != node.walls.1 {
                r.islands.extend(node.groups[1].take());
            }
            self.bar(node);
        }
    }

    /// Puts to memory what cannot be in a register: at a head with a wall, and behind a wall at the end.
    fn bar(&self, node: &mut Node) {
        let place = &self.order.places[node.place as usize];
        if node.walls.0 != node.walls.1 {
            node.states = 2;
            node.in_register[0] = self.machine.wall(node.walls.0) != place.start();
            let last = self.machine.wall(node.walls.1 - 1);
            node.in_register[1] = !node.groups[1].is_empty() || last / 4 * 4 + 4 < place.stop();
        }
    }

    /// Adds up the frequencies of edges between states as they are.
    fn count_edges(&self, r: &mut Regions) {
        for i in 0..r.nodes.len() {
            let node = &r.nodes[i];
            if !node.lives[1] {
                continue;
            }
            let leaves = node.leaves_in_register();
            let mut to_register = 0;
            for &(place, freq) in self.order.succs(node.place) {
                let Some(other) = r.node_mut(place).filter(|other| other.lives[0]) else { continue };
                other.from_memory += if leaves { 0 } else { freq };
                to_register += if other.in_register[0] { freq } else { 0 };
            }
            r.nodes[i].to_register = to_register;
        }
    }

    /// Takes a state of a block to memory.
    fn drop_register(&self, r: &mut Regions, i: usize, half: usize) {
        let node = &mut r.nodes[i];
        node.in_register[half] = false;
        let (place, enters) = (node.place, half == 0 && node.lives[0]);
        let leaves = half + 1 == node.states() && node.lives[1];
        if enters {
            for &(place, freq) in self.order.preds(place) {
                let i = r.node_at[place as usize];
                if let Some(other) = r.nodes.get_mut(i as usize).filter(|other| other.lives[1]) {
                    other.to_register -= freq;
                    if i >= r.settled && other.leaves_in_register() {
                        r.work.push(i);
                    }
                }
            }
        }
        if leaves {
            for &(place, freq) in self.order.succs(place) {
                let i = r.node_at[place as usize];
                if let Some(other) = r.nodes.get_mut(i as usize).filter(|other| other.lives[0]) {
                    other.from_memory += freq;
                    if i >= r.settled && other.in_register[0] {
                        r.work.push(i);
                    }
                }
            }
        }
    }

    /// Takes a block's states to memory where that is no dearer.
    fn relax(&self, r: &mut Regions, i: usize) {
        for half in 0..r.nodes[i].states() {
            if r.nodes[i].is_cheaper_in_memory(half) {
                self.drop_register(r, i, half);
            }
        }
    }

    /// Takes whole loops with walls to memory where that is no dearer, inner ones first: no block of a loop would begin.
    fn relax_loops(&mut self, r: &mut Regions) {
        self.find_loops(r);
        for i in 0..r.loops.len() {
            let data = self.order.loops[r.loops[i] as usize];
            let first = r.nodes.partition_point(|node| node.place < data.first);
            let end = first + r.nodes[first..].partition_point(|node| node.place <= data.last);
            self.stats.steps += (end - first) as u64;
            let now: u64 = r.nodes[first..end].iter().map(Node::loads).sum();
            if now > 0 && self.is_cheap_in_memory(r, first..end, data.first..data.last + 1, now) {
                for i in first..end {
                    let Node { states, in_register, .. } = r.nodes[i];
                    (0..usize::from(states)).filter(|&half| in_register[half]).for_each(|half| {
                        self.drop_register(r, i, half);
                    });
                }
            }
        }
    }

    /// Lists the loops around walls, inner ones first.
    fn find_loops(&self, r: &mut Regions) {
        r.loops.clear();
        for node in r.nodes.iter().filter(|node| node.has_wall()) {
            let mut l = self.order.places[node.place as usize].innermost;
            for _ in 0..MAX_DEPTH {
                if l == NONE || r.loops.last() == Some(&l) {
                    break;
                }
                r.loops.push(l);
                l = self.order.loops[l as usize].parent;
            }
        }
        r.loops.sort_unstable_by_key(|&l| std::cmp::Reverse(l));
        r.loops.dedup();
    }

    /// Would a loop load no more often than `now` if it were in memory?
    fn is_cheap_in_memory(&self, r: &Regions, nodes: Range<usize>, places: Range<u32>, now: u64) -> bool {
        let mut loads = 0u64;
        for node in &r.nodes[nodes] {
            loads += (0..node.states()).filter(|&half| node.groups[half].is_read).count() as u64 * node.freq;
            // What leaves the loop from memory by now does so still.
            if node.leaves_in_register() {
                for &(target, freq) in self.order.succs(node.place) {
                    if !places.contains(&target) && r.node(target).is_some_and(Node::enters_in_register) {
                        loads += freq;
                    }
                }
            }
            if loads > now {
                return false;
            }
        }
        true
    }

    /// Joins states of register that edges lead between.
    fn join(&self, r: &mut Regions) {
        r.joined.clear();
        r.joined.extend(0..2 * r.nodes.len() as u32);
        for i in 0..r.nodes.len() {
            let node = &r.nodes[i];
            if !node.enters_in_register() {
                continue;
            }
            for &(pred, _) in self.order.preds(node.place) {
                if let Some(other) = r.node(pred).filter(|other| other.leaves_in_register()) {
                    let state = 2 * r.node_at[pred as usize] + u32::from(other.has_wall());
                    let (a, b) = (r.root(state), r.root(2 * i as u32));
                    r.joined[a.max(b) as usize] = a.min(b);
                }
            }
        }
    }

    /// Lists the points of each state, and uses that must be parts of their own.
    fn find_stretches(&self, r: &mut Regions) {
        for i in 0..r.nodes.len() {
            let Node { place, states, in_register, groups, .. } = r.nodes[i];
            if !in_register[0] && states == 1 && groups[0].is_empty() {
                continue;
            }
            let place = &self.order.places[place as usize];
            for half in 0..usize::from(states) {
                let mut group = groups[half];
                if !in_register[half] {
                    r.islands.extend(group.take());
                    continue;
                }
                let (start, stop) = match (half, states > 1) {
                    (0, false) => (place.start(), place.stop()),
                    (0, true) => (place.start(), group.last),
                    _ => (if group.is_empty() { place.stop() - 4 } else { group.first }, place.stop()),
                };
                let state = r.root((2 * i + half) as u32);
                if start < stop {
                    r.stretches.push((state, start, stop));
                }
            }
        }
    }

    /// Makes a part of the points of each joined state.
    fn cut_stretches(&mut self, bundle: u32, r: &mut Regions) {
        r.stretches.sort_unstable();
        for stretches in r.stretches.chunk_by(|a, b| a.0 == b.0) {
            self.s.pieces.clear();
            let mut rest = stretches.iter().peekable();
            while let Some(&(_, from, mut to)) = rest.next() {
                while let Some(&(_, _, stop)) = rest.next_if(|next| next.1 == to) {
                    to = stop;
                }
                self.clip_pieces(bundle, from, to);
            }
            self.tell_split(bundle, stretches[0].1);
            self.finish_part(bundle);
        }
        for &(from, to) in &r.islands {
            self.tell_split(bundle, from);
            self.cut_out(bundle, from, to);
        }
    }
}
