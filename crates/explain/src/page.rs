//! A self-contained page: the explanations as JSON in a page of `page/`, with its style and its program.

use crate::explain::{Explanation, Solution};
use crate::rows::{Row, RowKind};
use crate::source::GraphBlock;
use kingpost_regalloc::{Loc, VReg};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const PAGE: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/page.css");
const PROGRAM: &[&str] = &[
    include_str!("page/graph.js"),
    include_str!("page/chart.js"),
    include_str!("page/export.js"),
    include_str!("page/page.js"),
];

/// Returns the explanations as an array of JSON objects.
pub fn json(explanations: &[Explanation]) -> String {
    Value::from(explanations.iter().map(function).collect::<Vec<_>>()).to_string()
}

/// Returns a page about functions, under a title.
pub fn page(title: &str, explanations: &[Explanation]) -> String {
    let functions: Vec<Value> = explanations.iter().map(function).collect();
    let data = json!({ "title": title, "functions": functions }).to_string();
    // The data must not contain the end of its element.
    let data = data.replace('<', "\\u003c");
    let program = PROGRAM.concat();
    let parts = [("{title}", escaped(title)), ("{style}", STYLE.into()), ("{data}", data), ("{program}", program)];
    let (mut out, mut rest) = (String::new(), PAGE);
    for (mark, part) in parts {
        let (before, after) = rest.split_once(mark).expect("the page has the marks in this order");
        out = out + before + &part;
        rest = after;
    }
    out + rest
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn function(explanation: &Explanation) -> Value {
    let graph = &explanation.graph;
    json!({
        "name": explanation.name,
        "target": explanation.target,
        "text": explanation.language,
        "vregs": explanation.vregs.iter().map(|vreg| json!([vreg.name, vreg.kind])).collect::<Vec<_>>(),
        "lines": graph.lines.iter().map(|line| json!([line.block, line.text])).collect::<Vec<_>>(),
        "blocks": graph.blocks.iter().map(block).collect::<Vec<_>>(),
        "machineBlocks": explanation.machine_blocks,
        "code": explanation.code,
        "solutions": explanation.solutions.iter().map(solution).collect::<Vec<_>>(),
    })
}

fn block(block: &GraphBlock) -> Value {
    json!({
        "name": block.name,
        "lines": [block.lines.start, block.lines.end],
        "times": block.frequency_text(),
        "frequency": block.frequency,
        "depth": block.loop_depth,
        "header": block.loop_header,
        "cold": block.is_cold,
        "edges": block.edges.iter().map(|edge| json!([edge.to, edge.when, edge.is_back])).collect::<Vec<_>>(),
    })
}

fn solution(solution: &Solution) -> Value {
    let columns: BTreeMap<Loc, usize> = solution.locs.iter().map(|(loc, _)| *loc).zip(0..).collect();
    let column = |loc: Loc| columns.get(&loc).map_or(json!(-1), |column| json!(column));
    let locs = solution.locs.iter().map(|(loc, name)| json!([name, loc.as_slot().is_some()]));
    let ranges = solution.ranges.iter();
    let decisions = solution.decisions.iter().map(|decision| {
        let [a, b] = decision.vregs.map(vreg);
        let (from, to) =
            decision.range.map_or((json!(-1), json!(-1)), |(from, to)| (json!(from.as_u32()), json!(to.as_u32())));
        json!([decision.kind, decision.text, a, b, decision.loc.map_or(json!(-1), column), from, to])
    });
    let cost = &solution.cost;
    json!({
        "allocator": solution.allocator,
        "cost": {
            "cost": cost.loads(), "spills": cost.spills, "fills": cost.fills, "moves": cost.moves,
            "exchanges": cost.exchanges, "remats": cost.remats, "saved": cost.callee_saved,
            "bytes": solution.code_bytes, "splits": solution.stats.splits, "evictions": solution.stats.evictions,
            "steps": solution.stats.steps,
        },
        "columns": locs.collect::<Vec<_>>(),
        "rows": solution.rows.iter().map(|each| row(each, &column)).collect::<Vec<_>>(),
        "ranges": ranges.map(|r| json!([vreg(Some(r.vreg)), column(r.loc), r.from, r.to])).collect::<Vec<_>>(),
        "decisions": decisions.collect::<Vec<_>>(),
    })
}

fn vreg(vreg: Option<VReg>) -> Value {
    vreg.map_or(json!(-1), |vreg| json!(vreg.as_u32()))
}

/// Returns the kind, the line, the instruction or machine block or kind of edit, the assembly, the offset, the bytes,
/// the places and the moves of a row.
fn row(row: &Row, column: &dyn Fn(Loc) -> Value) -> Value {
    let (kind, what) = match row.kind {
        RowKind::Block(block) => ("block", json!(block.as_u32())),
        RowKind::Line => ("line", json!(-1)),
        RowKind::Frame => ("frame", json!(-1)),
        RowKind::Inst { inst, is_dropped: false } => ("inst", json!(inst.as_u32())),
        RowKind::Inst { inst, is_dropped: true } => ("elided", json!(inst.as_u32())),
        RowKind::Edit(word) => ("edit", json!(word)),
        RowKind::Proof | RowKind::More => ("more", json!(-1)),
    };
    let bytes: Vec<String> = row.bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let places = row.places.iter().filter(|(_, loc)| !loc.is_none());
    let moves = row.moves.iter();
    json!([
        kind,
        row.line.map_or(json!(-1), |line| json!(line)),
        what,
        row.asm,
        row.offset,
        bytes.join(" "),
        places.map(|&(value, loc)| json!([vreg(Some(value)), column(loc)])).collect::<Vec<_>>(),
        moves.map(|m| json!([vreg(m.vreg), m.from.map_or(json!(-1), column), column(m.to)])).collect::<Vec<_>>(),
    ])
}
