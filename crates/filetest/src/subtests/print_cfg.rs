//! `test print-cfg`: the control-flow graph in the language of Graphviz, filecheck.

use std::fmt::{self, Write};

use kingpost_ir::{Function, Inst};

use crate::report::Findings;
use crate::subtests::Job;

pub(crate) fn run(job: &Job, findings: &mut Findings) {
    job.check_each(findings, |function| cfg_text(&function.function));
}

/// The control-flow graph of a function in the language of Graphviz.
pub fn cfg_text(func: &Function) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write_graph(&mut text, func);
    text
}

/// All nodes in the order of blocks, then the edges into each block.
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
    for block in func.layout.blocks() {
        for (inst, edge_source) in edges_into(func, block) {
            writeln!(out, "    {}:{inst} -> {}", func.names.block(edge_source), func.names.block(block))?;
        }
    }
    writeln!(out, "}}")
}

/// The terminators that go to a block, and their blocks.
fn edges_into(func: &Function, block: kingpost_ir::Block) -> Vec<(Inst, kingpost_ir::Block)> {
    let sources = func.layout.blocks().filter_map(|source| Some((func.layout.last_inst(source)?, source)));
    sources.filter(|&(inst, _)| func.dfg.branch_destinations(inst).iter().any(|call| call.block == block)).collect()
}
