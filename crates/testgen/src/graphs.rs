//! CLIF functions of random control flow that need not terminate: cycles of jumps, loops without an exit,
//! unreachable blocks, and cycles of values in these.
//!
//! The functions are compiled, not run: compilation must terminate for every graph. Every block has a few
//! parameters of one type, so that every block but the entry can be the target of any block. Edges pass the
//! parameters unchanged, exchanged, or as constants.

use crate::rng::Rng;
use std::fmt::Write;

/// Percentages of the instructions at the ends of a function's blocks. All other blocks return or trap.
#[derive(Clone, Copy)]
struct Ends {
    jump: usize,
    brif: usize,
    br_table: usize,
}

/// Kinds of graphs, from functional graphs to graphs with many edges.
const KINDS: [Ends; 6] = [
    Ends { jump: 100, brif: 0, br_table: 0 },
    Ends { jump: 90, brif: 10, br_table: 0 },
    Ends { jump: 70, brif: 20, br_table: 5 },
    Ends { jump: 40, brif: 40, br_table: 10 },
    Ends { jump: 10, brif: 80, br_table: 0 },
    Ends { jump: 30, brif: 10, br_table: 60 },
];

/// A function under construction.
struct Graph<'a> {
    rng: &'a mut Rng,
    text: String,
    blocks: usize,
    /// Number of parameters of each block but the entry.
    params: usize,
    /// Percentage of edges to one of a few next blocks, so that chains and nested loops occur.
    near: usize,
    next_value: usize,
}

/// Returns the text of the function of a seed.
pub fn generate(seed: u64) -> String {
    let rng = &mut Rng::new(seed);
    let ends = KINDS[rng.range(0..KINDS.len())];
    let blocks = if rng.chance(10) { rng.range(2..60) } else { rng.range(2..14) };
    let params = if rng.chance(50) { 0 } else { rng.range(1..4) };
    let (near, working) = (rng.range(0..100), if rng.chance(50) { 0 } else { rng.range(1..60) });
    let mut graph = Graph { rng, text: String::new(), blocks, params, near, next_value: 2 };
    graph.line("function %f(i32, i64) -> i64 {\n    fn0 = %g(i64) -> i64\n    ss0 = explicit_slot 16\nblock0(v0: i32, v1: i64):");
    graph.brif(0, &[]);
    for block in 1..blocks {
        graph.block(block, ends, working);
    }
    if graph.rng.chance(20) {
        graph.ring_of_values();
    }
    graph.text + "}\n"
}

impl Graph<'_> {
    fn line(&mut self, line: &str) {
        self.text += line;
        self.text.push('\n');
    }

    /// Defines the next value and returns its number.
    fn def(&mut self, inst: &str) -> usize {
        let value = self.next_value;
        self.next_value += 1;
        self.line(&format!("    v{value} = {inst}"));
        value
    }

    fn block(&mut self, block: usize, ends: Ends, working: usize) {
        let params: Vec<usize> = (self.next_value..).take(self.params).collect();
        self.next_value += self.params;
        let list: Vec<String> = params.iter().map(|param| format!("v{param}: i64")).collect();
        let list = if list.is_empty() { String::new() } else { format!("({})", list.join(", ")) };
        let cold = if self.rng.chance(15) { " cold" } else { "" };
        self.line(&format!("block{block}{list}{cold}:"));
        if self.rng.chance(working) {
            self.work(&params);
        }
        let choice = self.rng.range(0..100);
        if choice < ends.jump {
            let edge = self.edge(block, &params);
            self.line(&format!("    jump {edge}"));
        } else if choice < ends.jump + ends.brif {
            self.brif(block, &params);
        } else if choice < ends.jump + ends.brif + ends.br_table {
            self.br_table(block, &params);
        } else if self.rng.chance(70) {
            let value = self.value(&params);
            self.line(&format!("    return v{value}"));
        } else {
            self.line("    trap user1");
        }
    }

    /// Adds an unreachable block in which two values are defined by each other.
    fn ring_of_values(&mut self) {
        let [a, b] = [self.next_value, self.next_value + 1];
        let [first, second] = match self.rng.range(0..5) {
            0 => [format!("ireduce.i32 v{b}"), format!("uextend.i64 v{a}")],
            1 => [format!("bitcast.i64x2 little v{b}"), format!("bitcast.i32x4 little v{a}")],
            2 => [format!("iadd.i64 v{b}, v1"), format!("iadd.i64 v{a}, v1")],
            3 => [format!("select.i64 v{a}, v{b}, v{a}"), format!("bnot.i64 v{a}")],
            _ => [b, a].map(|address| format!("load.i64 notrap readonly can_move v{address}")),
        };
        self.line(&format!("block{}:", self.blocks));
        self.def(&first);
        self.def(&second);
        self.line(&format!("    store notrap v{b}, v1"));
        let edge = self.edge(0, &[]);
        self.line(&format!("    jump {edge}"));
    }

    /// Adds an instruction besides the jump.
    fn work(&mut self, params: &[usize]) {
        let value = self.value(params);
        match self.rng.range(0..4) {
            0 => {
                let address = self.def("stack_addr.i64 ss0");
                self.line(&format!("    store notrap v{value}, v{address}"));
            }
            1 => {
                self.def(&format!("call fn0(v{value})"));
            }
            2 => {
                self.def(&format!("imul v{value}, v1"));
            }
            _ => self.line("    nop"),
        }
    }

    fn brif(&mut self, block: usize, params: &[usize]) {
        let condition = match self.rng.range(0..4) {
            0 => 0,
            1 => self.def("iconst.i32 1"),
            _ => self.value(params),
        };
        let [then, otherwise] = [self.edge(block, params), self.edge(block, params)];
        self.line(&format!("    brif v{condition}, {then}, {otherwise}"));
    }

    fn br_table(&mut self, block: usize, params: &[usize]) {
        let default = self.edge(block, params);
        let count = self.rng.range(0..6);
        let entries: Vec<String> = (0..count).map(|_| self.edge(block, params)).collect();
        self.line(&format!("    br_table v0, {default}, [{}]", entries.join(", ")));
    }

    /// Returns the number of a value that is available in a block.
    fn value(&mut self, params: &[usize]) -> usize {
        self.rng.pick(params).unwrap_or(1)
    }

    /// Returns an edge to any block but the entry.
    fn edge(&mut self, from: usize, params: &[usize]) -> String {
        let near = self.rng.chance(self.near);
        let to = if near { (from + self.rng.range(0..4)).saturating_sub(1) } else { self.rng.range(1..self.blocks) };
        let mut text = format!("block{}", to.clamp(1, self.blocks - 1));
        let turn = if self.rng.chance(60) { 0 } else { self.rng.range(0..self.params + 1) };
        for number in 0..self.params {
            let value =
                if params.is_empty() || self.rng.chance(15) { 1 } else { params[(number + turn) % params.len()] };
            // Writing to a string does not fail.
            let _ = write!(text, "{}v{value}", if number == 0 { "(" } else { ", " });
        }
        if self.params > 0 {
            text.push(')');
        }
        text
    }
}
