//! `test print-cfg`: the control-flow graph in the language of Graphviz, filecheck.

use std::fmt::{self, Write};

use kingpost_ir::Function;
use kingpost_ir::cfg::ControlFlowGraph;

use crate::job::Job;
use crate::report::Findings;

pub(crate) fn run(job: &Job, findings: &mut Findings) {
    job.check_each(findings, |function| cfg_text(&function.function));
}

/// Returns the control-flow graph of a function in the language of Graphviz.
pub fn cfg_text(func: &Function) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write_graph(&mut text, func);
    text
}

/// Writes all nodes in the order of blocks, then the edges into each block.
fn write_graph(out: &mut String, func: &Function) -> fmt::Result {
    let Some(entry) = func.layout.entry_block() else { return Ok(()) };
    writeln!(out, "digraph \"{}\" {{", func.name)?;
    writeln!(out, "    {{rank=min; {}}}", func.names.block(entry))?;
    for block in func.layout.blocks() {
        let header = func.display_block_header(block).to_string();
        write!(out, "    {} [shape=record, label=\"{{{}", func.names.block(block), header.trim())?;
        if let Some(inst) = func.layout.last_inst(block) {
            write!(out, "\n     | <{inst}>{}", func.display_inst(inst).to_string().trim())?;
        }
        writeln!(out, "\n}}\"]")?;
    }
    let cfg = ControlFlowGraph::new(func);
    for block in func.layout.blocks() {
        let mut last = None;
        for edge in cfg.preds(block) {
            // Several edges from one terminator are one line.
            if last.replace(edge.inst) != Some(edge.inst) {
                writeln!(out, "    {}:{} -> {}", func.names.block(edge.block), edge.inst, func.names.block(block))?;
            }
        }
    }
    writeln!(out, "}}")
}
