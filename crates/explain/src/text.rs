//! An explanation as columns of text: the function, and next to each line its code.
//!
//! ```text
//! block2:                          ; 8 times
//!     v6 = iadd.i64 v4, v5         lea rcx, [rcx + rax]      v6 rcx, v4 rcx, v5 rax
//!     v8 = isub.i32 v3, v7         sub edi, 1                v8 rdi, v3 rdi
//!                                + xchg rcx, rax             exchange v6 rcx rax, v5 rax rcx
//!     jump block1(v8, v5, v6)      jmp block1
//! ```
//! Lines with `+` are edits, which the allocator inserted. Several allocators are shown side by side, without the
//! values.

use crate::explain::{Explanation, Solution};
use crate::rows::{Row, RowKind};
use std::fmt::Write;

/// Maximum width of a column in characters. Longer text shifts the remainder of its line to the right.
const MAX_SOURCE: usize = 48;
const MAX_ASM: usize = 40;

/// Returns the columns of an explanation.
pub fn text(explanation: &Explanation) -> String {
    let mut out = format!("{}, {}\n", explanation.name, explanation.target);
    out.push_str(&costs(&explanation.solutions));
    match &explanation.solutions[..] {
        [solution] => one(explanation, solution, &mut out),
        _ => side_by_side(explanation, &mut out),
    }
    out
}

/// Returns the cost of each solution, one row per allocator.
fn costs(solutions: &[Solution]) -> String {
    let head = ["", "cost", "spills", "fills", "moves", "exchanges", "remats", "saved", "bytes"].map(String::from);
    let mut table = vec![head];
    for solution in solutions {
        let cost = &solution.cost;
        let counts = [cost.spills, cost.fills, cost.moves, cost.exchanges, cost.remats, cost.callee_saved];
        let mut row = [const { String::new() }; 9];
        row[0].clone_from(&solution.allocator);
        row[1] = format!("{:.1}", cost.loads());
        for (cell, count) in row[2..].iter_mut().zip(counts) {
            *cell = count.to_string();
        }
        row[8] = solution.code_bytes.to_string();
        table.push(row);
    }
    let width = |column: usize| table.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let mut out = String::new();
    for row in &table {
        let _ = write!(out, "  {:<1$}", row[0], width(0));
        for (column, cell) in row.iter().enumerate().skip(1) {
            let _ = write!(out, "  {cell:>0$}", width(column));
        }
        out.push('\n');
    }
    out
}

impl Explanation {
    /// Returns the line of the function that begins in a row, or the header of its block.
    fn source(&self, row: &Row) -> String {
        let line = row.line.map(|line| self.graph.lines[line].text.as_str());
        match row.kind {
            RowKind::Block(block) => {
                let name =
                    line.map_or_else(|| format!("{}:", self.machine_blocks[block.as_u32() as usize]), Into::into);
                let graph_block = row.line.map(|line| &self.graph.blocks[self.graph.lines[line].block]);
                let times = graph_block.map(|block| format!("  ; {} times", block.frequency_text()));
                name + &times.filter(|times| times != "  ; 1 times").unwrap_or_default()
            }
            _ => line.map(|line| format!("    {line}")).unwrap_or_default(),
        }
    }

    /// Returns the values of an instruction or edit, with their locations.
    fn places(&self, solution: &Solution, row: &Row) -> String {
        let vreg = |vreg: kingpost_regalloc::VReg| self.vregs[vreg.as_u32() as usize].name.as_str();
        let loc = |loc| solution.locs.iter().find(|known| known.0 == loc).map_or("", |known| known.1.as_str());
        if let RowKind::Edit(word) = row.kind {
            let steps = row.moves.iter().map(|step| {
                let from = step.from.map(|from| format!(" {}", loc(from))).unwrap_or_default();
                format!("{}{from} → {}", step.vreg.map_or("", vreg), loc(step.to))
            });
            return format!("{word} {}", steps.collect::<Vec<_>>().join(", "));
        }
        let mut places: Vec<String> = Vec::new();
        for &(value, at) in row.places.iter().filter(|(_, at)| !at.is_none()) {
            let place = format!("{} {}", vreg(value), loc(at));
            if !places.contains(&place) {
                places.push(place);
            }
        }
        places.join(", ")
    }
}

/// Returns the machine code of a row, or the reason why there is none.
fn asm(row: &Row) -> &str {
    match row.kind {
        RowKind::Inst { is_dropped: true, .. } => "(elided)",
        _ => &row.asm,
    }
}

fn one(explanation: &Explanation, solution: &Solution, out: &mut String) {
    let source = |row: &Row| explanation.source(row);
    let widest =
        |lengths: &mut dyn Iterator<Item = usize>, most: usize| lengths.filter(|&n| n <= most).max().unwrap_or(0);
    let left = widest(&mut solution.rows.iter().map(|row| source(row).chars().count()), MAX_SOURCE);
    let right = widest(&mut solution.rows.iter().map(|row| asm(row).chars().count()), MAX_ASM);
    for row in &solution.rows {
        if matches!(row.kind, RowKind::Block(_)) {
            out.push('\n');
        }
        let mark = if matches!(row.kind, RowKind::Edit(_)) { '+' } else { ' ' };
        let line = format!("{:left$} {mark} {:right$}  {}", source(row), asm(row), explanation.places(solution, row));
        let _ = writeln!(out, "{}", line.trim_end());
    }
}

/// Prints the rows of all allocators side by side, aligned at lines of the function and instructions of the problem.
fn side_by_side(explanation: &Explanation, out: &mut String) {
    let solutions = &explanation.solutions;
    let mut groups: Vec<_> = solutions.iter().map(|solution| Groups { rows: &solution.rows }).collect();
    let widths: Vec<usize> = solutions
        .iter()
        .map(|solution| solution.rows.iter().map(|row| asm(row).chars().count()).filter(|&n| n <= MAX_ASM).max())
        .map(|width| width.unwrap_or(0).max(8) + 2)
        .collect();
    let lines = solutions.iter().flat_map(|solution| &solution.rows).map(|row| explanation.source(row).chars().count());
    let left = lines.filter(|&n| n <= MAX_SOURCE).max().unwrap_or(0);
    let cells = |texts: Vec<String>| {
        let padded = texts.iter().zip(&widths).map(|(text, width)| format!("  {text:width$}"));
        padded.collect::<String>()
    };
    let heads = solutions.iter().map(|solution| format!("  {}", solution.allocator)).collect();
    let _ = writeln!(out, "\n{:left$}{}", "", cells(heads).trim_end());
    loop {
        let parts: Vec<&[Row]> = groups.iter_mut().map(Groups::next).collect();
        if parts.iter().all(|part| part.is_empty()) {
            break;
        }
        // The rows that all allocators have share one line of output: edits are above it, additional rows below.
        let common = |part: &[Row]| part.iter().position(is_common).unwrap_or(part.len());
        let above = parts.iter().map(|part| common(part)).max().unwrap_or(0);
        let height = parts.iter().map(|part| above - common(part) + part.len()).max().unwrap_or(0);
        if parts.iter().any(|part| part.first().is_some_and(|row| matches!(row.kind, RowKind::Block(_)))) {
            out.push('\n');
        }
        for k in 0..height {
            let row =
                |part: &&'_ [Row]| (k + common(part)).checked_sub(above).and_then(|index| part.get(index).cloned());
            let rows: Vec<Option<Row>> = parts.iter().map(row).collect();
            let source = rows.iter().flatten().map(|row| explanation.source(row)).find(|line| !line.is_empty());
            let cell = |row: &Option<Row>| {
                row.as_ref().map_or(String::new(), |row| {
                    let mark = if matches!(row.kind, RowKind::Edit(_)) { '+' } else { ' ' };
                    format!("{mark} {}", asm(row))
                })
            };
            let line = format!("{:left$}{}", source.unwrap_or_default(), cells(rows.iter().map(cell).collect()));
            let _ = writeln!(out, "{}", line.trim_end());
        }
    }
}

/// Returns `true` if every allocator has this row.
fn is_common(row: &Row) -> bool {
    matches!(row.kind, RowKind::Block(_) | RowKind::Line | RowKind::Inst { .. })
}

/// Iterator over the rows of one allocator, in groups that end after each block header, line and instruction. The
/// groups of all allocators correspond.
struct Groups<'a> {
    rows: &'a [Row],
}

impl<'a> Groups<'a> {
    fn next(&mut self) -> &'a [Row] {
        let end = self.rows.iter().position(is_common).map_or(self.rows.len(), |end| end + 1);
        let more = self.rows[end..].iter().take_while(|row| matches!(row.kind, RowKind::Proof | RowKind::More)).count();
        let (group, rest) = self.rows.split_at(end + more);
        self.rows = rest;
        group
    }
}
