//! A bound on the cost of an answer, as a line of text.
//!
//! ```text
//! K >= 3: stores 10 - K, loads 10 - K, copies 0, slots 1      everywhere
//! K >= 3 on block0 block2 block1: copies 0                    from the head of block0 by block2 to the head of block1
//! K >= 3 between block0 block1: copies 1                      on an edge that is a block of its own
//! K >= 3 except linear: copies 1                              not held by all: a gap that is known
//! ```
//!
//! `K` is the number of registers of a class. A copy is a move; an exchange counts as two. Of the claims about one
//! place only the one with the most available registers counts.

use kingpost_ir::analyses::Analyses;
use kingpost_ir::{Block as IrBlock, Function};
use kingpost_mach::block_order::{BlockOrder, MachineBlock};
use kingpost_regalloc::{Allocation, Block, Cost, MachineEnv, Problem};
use std::fmt;

/// One line.
#[derive(Clone, Debug)]
pub(super) struct Claim {
    /// The least number of registers with which it holds.
    pub(super) registers: u8,
    place: ClaimScope,
    /// Names of allocators for which it does not hold.
    except: Vec<String>,
    bounds: Vec<(Counted, Bound)>,
    text: String,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum ClaimScope {
    Everywhere,
    /// Names of blocks in the order of a path; edits of the last one are not counted.
    Way(Vec<String>),
    Edge(String, String),
}

#[derive(Clone, Copy, Debug)]
enum Counted {
    Stores,
    Loads,
    Copies,
    Slots,
}

/// At most this number, or this number minus one for each register.
#[derive(Clone, Copy, Debug)]
enum Bound {
    Constant(u64),
    LessRegisters(u64),
}

impl Claim {
    /// Returns the claim of a line, if it begins with `K >= `.
    ///
    /// # Panics
    /// If the line continues in an unknown form.
    pub(super) fn parse(line: &str) -> Option<Claim> {
        let (head, counts) = line.strip_prefix("K >= ")?.split_once(':').unwrap_or((&line[5..], ""));
        let (head, except) = head.split_once(" except ").unwrap_or((head, ""));
        let except = except.split_whitespace().map(String::from).collect();
        let mut words = head.split_whitespace();
        let registers = words.next().and_then(|word| word.parse().ok()).expect("a number of registers");
        let preposition = words.next();
        let names: Vec<String> = words.map(String::from).collect();
        let place = match (preposition, &names[..]) {
            (None, []) => ClaimScope::Everywhere,
            (Some("on"), [_, .., _]) => ClaimScope::Way(names),
            (Some("between"), [from, to]) => ClaimScope::Edge(from.clone(), to.clone()),
            _ => panic!("not a place: {line}"),
        };
        let bounds = counts.split(',').map(str::trim).filter(|count| !count.is_empty()).map(bound).collect();
        Some(Claim { registers, place, except, bounds, text: line.to_string() })
    }

    /// Returns `true` if both are about one place, for the same allocators.
    pub(super) fn is_like(&self, other: &Claim) -> bool {
        (&self.place, &self.except) == (&other.place, &other.except)
    }

    /// Returns `true` if it applies to an allocator and a number of registers.
    pub(super) fn is_about(&self, allocator: &str, registers: u8) -> bool {
        self.registers <= registers && !self.except.iter().any(|name| name == allocator)
    }

    /// Returns `true` if it holds for an answer with `registers` registers.
    pub(super) fn holds(&self, registers: u8, subject: &Subject<'_>) -> bool {
        let answer = match &self.place {
            ClaimScope::Everywhere => subject.answer.clone(),
            ClaimScope::Way(names) => subject.part(&subject.way(names)),
            ClaimScope::Edge(from, to) => subject.part(&subject.edge(from, to)),
        };
        let cost = Cost::of(subject.problem, subject.env, &answer);
        let within = |&(counted, bound): &(Counted, Bound)| {
            let count = match counted {
                Counted::Stores => cost.spills,
                Counted::Loads => cost.fills,
                Counted::Copies => cost.moves + 2 * cost.exchanges,
                Counted::Slots => answer.slots.len() as u64,
            };
            count <= bound.with(registers)
        };
        self.bounds.iter().all(within) && (self.bounds.is_empty() || cost.slot_moves == 0)
    }
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Parses a bound such as `stores 3` or `stores 14 - K`.
fn bound(text: &str) -> (Counted, Bound) {
    let words: Vec<&str> = text.split_whitespace().collect();
    let number = |word: &str| word.parse().unwrap_or_else(|_| panic!("not a number: {text}"));
    let (name, bound) = match words[..] {
        [name, count] => (name, Bound::Constant(number(count))),
        [name, count, "-", "K"] => (name, Bound::LessRegisters(number(count))),
        _ => panic!("not a count: {text}"),
    };
    let counted = match name {
        "stores" => Counted::Stores,
        "loads" => Counted::Loads,
        "copies" => Counted::Copies,
        "slots" => Counted::Slots,
        _ => panic!("nothing that is counted: {text}"),
    };
    (counted, bound)
}

impl Bound {
    fn with(self, registers: u8) -> u64 {
        match self {
            Bound::Constant(count) => count,
            Bound::LessRegisters(count) => count.saturating_sub(registers.into()),
        }
    }
}

/// An answer and its problem.
pub(super) struct Subject<'a> {
    pub(super) function: &'a Function,
    pub(super) problem: &'a Problem,
    pub(super) env: &'a MachineEnv,
    pub(super) answer: &'a Allocation,
}

impl Subject<'_> {
    /// Returns the part of the answer that is in the given blocks.
    fn part(&self, blocks: &[Block]) -> Allocation {
        let mut part = self.answer.clone();
        part.edits.retain(|edit| blocks.contains(&self.problem.block_of(edit.at)));
        for block in self.problem.blocks().filter(|block| !blocks.contains(block)) {
            self.problem.insts(block).for_each(|inst| part.drop_inst(inst));
        }
        part
    }

    /// Returns the blocks of the problem on a path, without the last.
    fn way(&self, names: &[String]) -> Vec<Block> {
        let order = self.order();
        let mut way = Vec::new();
        for pair in names.windows(2) {
            way.push(self.block(&order, &pair[0]));
            way.extend(self.edge_block(&order, &pair[0], &pair[1]));
        }
        way
    }

    fn edge(&self, from: &str, to: &str) -> Vec<Block> {
        let edge = self.edge_block(&self.order(), from, to);
        vec![edge.unwrap_or_else(|| panic!("no block between {from} and {to}"))]
    }

    fn order(&self) -> BlockOrder {
        let (mut analyses, mut order) = (Analyses::default(), BlockOrder::default());
        analyses.update(self.function);
        order.compute(self.function, &analyses);
        order
    }

    fn block(&self, order: &BlockOrder, name: &str) -> Block {
        let named = |&block: &IrBlock| self.function.names.block(block).to_string() == name;
        let block = self.function.layout.blocks().find(named);
        block.and_then(|block| order.block_of(block)).unwrap_or_else(|| panic!("no block is named {name}"))
    }

    /// Returns the block of the edge between two blocks, if it has one.
    fn edge_block(&self, order: &BlockOrder, from: &str, to: &str) -> Option<Block> {
        let (from, to) = (self.block(order, from), self.block(order, to));
        let targets = |block: Block| self.problem.succs(block).iter().map(|&edge| self.problem.edge(edge).to);
        let is_edge = |&block: &Block| matches!(order.blocks()[block.as_u32() as usize], MachineBlock::Edge { .. });
        targets(from).filter(is_edge).find(|&block| targets(block).any(|target| target == to))
    }
}
