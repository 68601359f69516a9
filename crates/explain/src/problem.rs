//! An allocation problem without a function, and the solutions of several allocators.
//!
//! The text of the problem takes the place of the function's text and of the machine code. There are no bytes.

use crate::decisions::Recorder;
use crate::explain::{Explanation, Solution, locs};
use crate::live_ranges::live_ranges;
use crate::names::{Names, VRegName};
use crate::rows::{Row, RowKind, edit_word};
use crate::source::{Graph, GraphBlock, GraphEdge, Line};
use cranelift_entity::EntityRef;
use kingpost_mach::Isa;
use kingpost_regalloc::text::display_inst;
use kingpost_regalloc::{
    AllocError, Allocation, Allocator, Block, Cost, Diagnostics, EditKind, Freq, Inst, Loc, MachineEnv, Problem, VReg,
    VRegData,
};

/// Solves a problem with each allocator, and explains the solutions. `isa` names the registers, if the machine is an
/// instruction set's. The names of allocators are for readers.
///
/// # Errors
/// The error of the first allocator that fails.
pub fn explain_problem(
    problem: &Problem,
    env: &MachineEnv,
    isa: Option<&dyn Isa>,
    allocators: &mut [(String, Box<dyn Allocator>)],
) -> Result<Explanation, AllocError> {
    let vreg = |(vreg, data): (VReg, &VRegData)| VRegName {
        name: vreg.to_string(),
        kind: format!("{} {}", data.class, data.width),
    };
    let names = Names {
        vregs: problem.vregs.iter().map(vreg).collect(),
        blocks: problem.blocks().map(|block| block.to_string()).collect(),
        isa,
    };
    let graph = graph(problem);
    let mut solutions = Vec::new();
    for (name, allocator) in allocators {
        let (mut answer, mut diagnostics) = (Allocation::default(), Diagnostics::default());
        let mut recorder = Recorder { names: &names, decisions: Vec::new() };
        diagnostics.observer = Some(&mut recorder);
        allocator.allocate_with(problem, env, &mut answer, &mut diagnostics)?;
        let mut rows = rows(problem, &answer, &names, &graph);
        let ranges = live_ranges(problem, &answer, &mut rows);
        if recorder.decisions.is_empty() {
            recorder.read_back(&rows, &ranges);
        }
        solutions.push(Solution {
            allocator: name.clone(),
            cost: Cost::of(problem, env, &answer),
            stats: answer.stats,
            code_bytes: 0,
            locs: locs(&rows, &ranges).into_iter().map(|loc| (loc, names.loc(loc))).collect(),
            rows,
            ranges,
            decisions: recorder.decisions,
        });
    }
    Ok(Explanation {
        name: format!("%{}", problem.name),
        target: if isa.is_some() { "the target's registers" } else { "the registers of the file" }.into(),
        code: (0..problem.num_insts())
            .map(|inst| display_inst(problem, Inst::new(inst)).to_string().trim_start().into())
            .collect(),
        language: "problem",
        graph,
        vregs: names.vregs,
        machine_blocks: names.blocks,
        solutions,
    })
}

/// Returns the text of a problem as blocks and lines. An edge to an earlier or equal block, in the order of the problem,
/// is the end of a loop, which extends from its destination to its source.
fn graph(problem: &Problem) -> Graph {
    let mut places = vec![0; problem.num_blocks()];
    problem.order.iter().enumerate().for_each(|(place, block)| places[block.index()] = place);
    let place = |block: Block| places[block.index()];
    // The last block of the loop that begins at a block.
    let mut ends: Vec<Option<usize>> = vec![None; places.len()];
    for edge in problem.edges().map(|edge| problem.edge(edge)) {
        let (to, from) = (place(edge.to), place(edge.from));
        if to <= from {
            ends[to] = ends[to].max(Some(from));
        }
    }
    // Headers and last blocks of the loops around a block.
    let mut around: Vec<(usize, usize)> = Vec::new();
    let mut graph = Graph::default();
    for &block in &problem.order {
        let (at, first) = (place(block), graph.lines.len());
        let mut line = |text, is_header| graph.lines.push(Line { text, block: at, is_header });
        let params: Vec<String> = problem.params(block).iter().map(ToString::to_string).collect();
        line(format!("{block}({}):", params.join(", ")), true);
        problem.insts(block).for_each(|inst| line(format!("{inst}:{}", display_inst(problem, inst)), false));
        let edges = problem.succs(block).iter().map(|&edge| problem.edge(edge).to);
        around.retain(|&(_, end)| at <= end);
        around.extend(ends[at].map(|end| (at, end)));
        graph.blocks.push(GraphBlock {
            name: block.to_string(),
            lines: first..graph.lines.len(),
            frequency: Some(problem.freq(block).0 as f64 / Freq::ENTRY.0 as f64),
            loop_depth: around.len() as u32,
            loop_header: around.last().map(|&(header, _)| header),
            is_cold: false,
            edges: edges.map(|to| GraphEdge { to: place(to), when: String::new(), is_back: place(to) <= at }).collect(),
        });
    }
    graph
}

/// Returns the rows of an answer: the instructions with their locations, and the edits before them.
fn rows(problem: &Problem, answer: &Allocation, names: &Names, graph: &Graph) -> Vec<Row> {
    let mut rows = Vec::new();
    for (block, source) in problem.order.iter().zip(&graph.blocks) {
        rows.push(Row { line: Some(source.lines.start), ..Row::new(RowKind::Block(*block)) });
        for (inst, line) in problem.insts(*block).zip(source.lines.start + 1..) {
            let first = answer.edits.partition_point(|edit| edit.at < inst);
            for edit in answer.edits[first..].iter().take_while(|edit| edit.at == inst) {
                let asm = edit_text(&edit.kind, names);
                rows.push(Row { asm, ..Row::new(RowKind::Edit(edit_word(&edit.kind))) });
            }
            let is_dropped = answer.is_dropped(inst);
            let used = answer.operand_locs(problem, inst);
            let asm = if is_dropped { String::new() } else { listed(used, names) };
            let vregs = problem.operands(inst).iter().map(|operand| operand.vreg());
            let places = vregs.zip(used.iter().copied()).collect();
            rows.push(Row { line: Some(line), asm, places, ..Row::new(RowKind::Inst { inst, is_dropped }) });
        }
    }
    rows
}

fn listed(locs: &[Loc], names: &Names) -> String {
    locs.iter().map(|&loc| names.loc(loc)).collect::<Vec<_>>().join(", ")
}

/// Returns an edit with the names of the registers.
fn edit_text(edit: &EditKind, names: &Names) -> String {
    let word = edit_word(edit);
    let reg = |reg| names.loc(Loc::reg(reg));
    match *edit {
        EditKind::Move { from, to, .. } => format!("{word} {} → {}", reg(from), reg(to)),
        EditKind::Exchange { a, b, .. } => format!("{word} {}, {}", reg(a), reg(b)),
        EditKind::Spill { from, to, .. } => format!("{word} {} → {to}", reg(from)),
        EditKind::Fill { from, to, .. } => format!("{word} {from} → {}", reg(to)),
        EditKind::SlotMove { from, to, .. } => format!("{word} {from} → {to}"),
        EditKind::Remat { inst, to } => format!("{word} {inst} → {}", reg(to)),
    }
}
