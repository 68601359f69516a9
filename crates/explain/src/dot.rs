//! The control-flow graph in the language of Graphviz, with instructions, frequencies, conditions of edges, and loops
//! by color.

use crate::source::{Graph, GraphBlock};
use kingpost_ir::Function;
use std::fmt::Write;

/// Fill colors by depth of loops, light enough for black text.
const FILLS: [&str; 5] = ["#ffffff", "#e8f1fb", "#d3e5f8", "#bcd8f4", "#a4caf0"];

/// Returns the control-flow graph of a function. Blocks of deeper loops are filled darker, back edges are colored,
/// and an edge is as thick as its source is frequent.
pub fn dot(func: &Function) -> String {
    let graph = Graph::new(func);
    let mut out = String::new();
    let _ = writeln!(out, "digraph \"{}\" {{", escaped(&func.name.to_string()));
    out.push_str("    node [shape=box, style=filled, fontname=\"monospace\", fontsize=10];\n");
    out.push_str("    edge [fontname=\"sans-serif\", fontsize=9];\n");
    for block in &graph.blocks {
        let fill = FILLS[(block.loop_depth as usize).min(FILLS.len() - 1)];
        let style = if block.is_cold { ", style=\"filled,dashed\"" } else { "" };
        let _ = writeln!(out, "    {} [label=\"{}\", fillcolor=\"{fill}\"{style}];", block.name, label(&graph, block));
    }
    for block in &graph.blocks {
        let width = block.frequency.map_or(1.0, |frequency| 1.0 + frequency.max(1.0).log10());
        for edge in &block.edges {
            let colour = if edge.is_back { ", color=\"#c2410c\", fontcolor=\"#c2410c\"" } else { "" };
            let _ = writeln!(
                out,
                "    {} -> {} [label=\"{}\", penwidth={width:.1}{colour}];",
                block.name, graph.blocks[edge.to].name, edge.when
            );
        }
    }
    out + "}\n"
}

/// Returns the block's lines, aligned to the left, and its frequency.
fn label(graph: &Graph, block: &GraphBlock) -> String {
    let mut lines = graph.lines[block.lines.clone()].iter().map(|line| escaped(&line.text));
    let head = lines.next().unwrap_or_default();
    let insts: String = lines.map(|line| format!("    {line}\\l")).collect();
    format!("{head}  ×{}\\l{insts}", block.frequency_text())
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}
