//! The text of the function, line by line, and its control-flow graph.

use cranelift_entity::SecondaryMap;
use kingpost_ir::cfg::ControlFlowGraph;
use kingpost_ir::dominators::DominatorTree;
use kingpost_ir::frequencies::Frequencies;
use kingpost_ir::function::SourceLoc;
use kingpost_ir::loops::LoopForest;
use kingpost_ir::{Block, Function, Inst, Opcode};
use std::ops::Range;

/// A line of the function: the header of a block, or an instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    /// Text without indentation.
    pub text: String,
    /// Index into [`Graph::blocks`].
    pub block: usize,
    /// Whether the line is a block's header.
    pub is_header: bool,
}

/// The control-flow graph.
#[derive(Clone, Default, Debug)]
pub struct Graph {
    /// Blocks in the order of the text; the first is the entry.
    pub blocks: Vec<GraphBlock>,
    /// The lines of all blocks.
    pub lines: Vec<Line>,
    /// Index of each block of the function in `blocks`.
    pub(crate) index: SecondaryMap<Block, Option<u32>>,
}

/// A block.
#[derive(Clone, Debug)]
pub struct GraphBlock {
    /// Name of the block, such as `block1`.
    pub name: String,
    /// Indices of the lines, the header first.
    pub lines: Range<usize>,
    /// Estimated executions per call; `None` if the block is unreachable.
    pub frequency: Option<f64>,
    /// Number of loops around it.
    pub loop_depth: u32,
    /// The header of the innermost loop around the block: an index into [`Graph::blocks`].
    pub loop_header: Option<usize>,
    /// Whether the block is marked as cold.
    pub is_cold: bool,
    /// Outgoing edges.
    pub edges: Vec<GraphEdge>,
}

/// An edge to a block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GraphEdge {
    /// Destination: an index into [`Graph::blocks`].
    pub to: usize,
    /// Condition of the edge: `T` or `F` for a condition, numbers for a table, empty if it is always taken.
    pub when: String,
    /// Whether the edge leads back to the header of a loop.
    pub is_back: bool,
}

impl Graph {
    /// Returns the graph of a function.
    pub fn new(func: &Function) -> Graph {
        let cfg = ControlFlowGraph::new(func);
        let dominators = DominatorTree::new(func, &cfg);
        let loops = LoopForest::new(func, &cfg, &dominators);
        let frequencies = Frequencies::new(func, &cfg, &dominators, &loops);
        let mut graph = Graph::default();
        for (index, block) in func.layout.blocks().enumerate() {
            graph.index[block] = Some(index as u32);
        }
        for (index, block) in func.layout.blocks().enumerate() {
            let first = graph.lines.len();
            let mut line = |text: String, is_header| graph.lines.push(Line { text, block: index, is_header });
            line(func.display_block_header(block).to_string(), true);
            func.layout.block_insts(block).for_each(|inst| line(func.display_inst(inst).to_string(), false));
            let is_reachable = dominators.is_reachable(block);
            let innermost = loops.innermost_loop(block).and_then(|each| graph.index[loops.header(each)]);
            let edge = |(edge, &to): (usize, &Block)| GraphEdge {
                to: graph.index[to].map_or(0, |to| to as usize),
                when: when(func, block, edge),
                is_back: is_reachable && dominators.dominates(to, block),
            };
            let edges = merged(cfg.succs(block).iter().enumerate().map(edge));
            graph.blocks.push(GraphBlock {
                name: func.names.block(block).to_string(),
                lines: first..graph.lines.len(),
                frequency: is_reachable.then(|| f64::from(frequencies.block(block)) / f64::from(Frequencies::ENTRY)),
                loop_depth: loops.block_depth(block),
                loop_header: innermost.map(|header| header as usize),
                is_cold: func.layout.is_cold(block),
                edges,
            });
        }
        graph
    }

    /// Sets the source location of each instruction to its line, so that machine code refers to lines.
    pub(crate) fn number(&self, func: &mut Function) {
        let mut line = 0;
        let blocks: Vec<Block> = func.layout.blocks().collect();
        for block in blocks {
            line += 1;
            let insts: Vec<Inst> = func.layout.block_insts(block).collect();
            for inst in insts {
                func.srclocs[inst] = SourceLoc(line);
                line += 1;
            }
        }
    }

    /// Returns the index of a block of the function.
    pub(crate) fn block(&self, block: Block) -> Option<usize> {
        self.index.get(block).copied().flatten().map(|index| index as usize)
    }
}

/// Merges edges from one block to one destination.
fn merged(edges: impl Iterator<Item = GraphEdge>) -> Vec<GraphEdge> {
    let mut out: Vec<GraphEdge> = Vec::new();
    for edge in edges {
        match out.iter_mut().find(|known| known.to == edge.to) {
            Some(known) if known.when.len() < 12 => known.when = format!("{}, {}", known.when, edge.when),
            Some(known) if known.when.ends_with('…') => {}
            Some(known) => known.when.push('…'),
            None => out.push(edge),
        }
    }
    out
}

/// Returns the condition under which a block branches to its destination number `edge`.
fn when(func: &Function, block: Block, edge: usize) -> String {
    let Some(inst) = func.layout.last_inst(block) else { return String::new() };
    let handlers = func.dfg.num_handlers(inst);
    match func.dfg.opcode(inst) {
        Opcode::Brif => ["T", "F"][edge.min(1)].into(),
        Opcode::BrTable if edge == 0 => "else".into(),
        Opcode::BrTable => (edge - 1).to_string(),
        _ if edge < handlers => "throws".into(),
        _ => String::new(),
    }
}

impl GraphBlock {
    /// Returns the executions per call, with few digits.
    pub fn frequency_text(&self) -> String {
        match self.frequency {
            None => "unreachable".into(),
            Some(frequency) if frequency >= 10.0 => format!("{frequency:.0}"),
            Some(frequency) => {
                let text = format!("{frequency:.2}");
                text.trim_end_matches('0').trim_end_matches('.').into()
            }
        }
    }
}
