//! Tables of allocations for programs: one row for each function and allocator.

use kingpost_regalloc::{Allocation, Cost, MachineEnv, Problem};
use serde_json::{Map, Value, json};

/// Columns of the table, in order.
pub const COLUMNS: &[&str] = &[
    "file",
    "function",
    "allocator",
    "instructions",
    "values",
    "blocks",
    "spills",
    "fills",
    "moves",
    "exchanges",
    "rematerializations",
    "slot_moves",
    "edge_blocks",
    "slots",
    "callee_saved",
    "bytes",
    "weighted_cost",
    "steps",
    "nanoseconds",
    "nanoseconds_low",
    "nanoseconds_high",
];

/// Facts about an allocation besides the problem and the answer.
pub struct TableFacts<'a> {
    /// Name of the file.
    pub file: &'a str,
    /// Name of the function, such as `%f`.
    pub function: String,
    /// Name of the allocator.
    pub allocator: &'a str,
    /// Bytes of code, if there is code.
    pub bytes: Option<usize>,
    /// CPU time of each round in nanoseconds; empty if no time was measured.
    pub nanoseconds: Vec<u64>,
}

/// A row of the table.
pub struct TableRow(Map<String, Value>);

impl TableRow {
    /// Returns the row for the answer of an allocator.
    pub fn new(facts: TableFacts, problem: &Problem, env: &MachineEnv, answer: &Allocation) -> TableRow {
        let mut times = facts.nanoseconds;
        times.sort_unstable();
        let columns = json!({
            "file": facts.file,
            "function": facts.function,
            "allocator": facts.allocator,
            "instructions": problem.num_insts(),
            "values": problem.vregs.len(),
            "blocks": problem.num_blocks(),
            "slots": answer.slots.len(),
            "bytes": facts.bytes,
            "steps": answer.stats.steps,
            "nanoseconds": times.get(times.len() / 2),
            "nanoseconds_low": times.first(),
            "nanoseconds_high": times.last(),
        });
        let mut row = Map::new();
        for part in [columns, cost_json(&Cost::of(problem, env, answer))] {
            if let Value::Object(part) = part {
                row.extend(part);
            }
        }
        TableRow(row)
    }

    /// Returns the text of a column.
    pub(crate) fn text(&self, column: &str) -> &str {
        self.0.get(column).and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns the weighted cost in loads.
    pub(crate) fn weighted_cost(&self) -> f64 {
        self.0.get("weighted_cost").and_then(Value::as_f64).unwrap_or_default()
    }

    /// Returns the row as a JSON object with the columns in order.
    pub fn json(&self) -> String {
        let column = |name: &&str| format!("\"{name}\":{}", self.0.get(*name).unwrap_or(&Value::Null));
        format!("{{{}}}", COLUMNS.iter().map(column).collect::<Vec<_>>().join(","))
    }

    /// Returns the row as comma-separated values (RFC 4180) without an end of line.
    pub fn csv(&self) -> String {
        let column = |name: &&str| match self.0.get(*name) {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => quoted(text),
            Some(value) => value.to_string(),
        };
        COLUMNS.iter().map(column).collect::<Vec<_>>().join(",")
    }
}

fn quoted(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_string(),
    }
}

/// Returns the items of a cost as a JSON object. The weighted cost is in loads.
pub fn cost_json(cost: &Cost) -> Value {
    json!({
        "weighted_cost": cost.loads(),
        "spills": cost.spills,
        "fills": cost.fills,
        "moves": cost.moves,
        "exchanges": cost.exchanges,
        "rematerializations": cost.remats,
        "slot_moves": cost.slot_moves,
        "edge_blocks": cost.edge_blocks,
        "callee_saved": cost.callee_saved,
    })
}
