//! What a good allocator needs for small functions, from the fewest registers up. `properties/*.clif` say it in comments:
//! with so many registers, at most so many stores, loads and copies.

use crate::conformance::solve;
use crate::neutral;
use kingpost_ir::{Function, Value};
use kingpost_regalloc::text::display_allocation;
use kingpost_regalloc::{Allocator, Cost, MachineEnv};
use std::fs;
use std::path::Path;

const OURS: [&str; 4] = [
    include_str!("../properties/coalescing.clif"),
    include_str!("../properties/constraints.clif"),
    include_str!("../properties/calls.clif"),
    include_str!("../properties/pressure.clif"),
];

/// The most registers that are tried.
const MOST: u8 = 16;

/// With at least so many registers, at most so many of each, where it says so.
#[derive(Clone, Copy, Debug)]
struct Limit {
    registers: u8,
    stores: Option<u64>,
    loads: Option<u64>,
    copies: Option<u64>,
}

impl Limit {
    /// From `K >= 3: stores 1, loads 1, copies 0`; all three may be left out.
    fn parse(line: &str) -> Option<Limit> {
        let rest = line.strip_prefix("; K >= ")?;
        let (registers, counts) = rest.split_once(':').unwrap_or((rest, ""));
        let count = |name: &str| {
            let text = counts.split(',').find_map(|count| count.trim().strip_prefix(name))?;
            Some(text.trim().parse().expect("a count"))
        };
        let registers = registers.trim().parse().expect("a number of registers");
        Some(Limit { registers, stores: count("stores"), loads: count("loads"), copies: count("copies") })
    }

    fn holds(&self, cost: &Cost) -> bool {
        let within = |limit: Option<u64>, count| limit.is_none_or(|limit| count <= limit);
        within(self.stores, cost.spills)
            && within(self.loads, cost.fills)
            && within(self.copies, cost.moves + 2 * cost.exchanges)
            && cost.slot_moves == 0
    }
}

/// A function, its references, and what it may cost; the limits that hold for more registers come first.
struct Case {
    function: Function,
    refs: Vec<Value>,
    limits: Vec<Limit>,
}

/// Cases of a text. A comment in front of a function is about it.
fn cases(source: &str) -> Vec<Case> {
    let functions = kingpost_reader::parse_functions(source).unwrap_or_else(|error| panic!("{error}"));
    let mut functions = functions.into_iter();
    let (mut cases, mut limits, mut names) = (Vec::new(), Vec::new(), Vec::new());
    for line in source.lines() {
        limits.extend(Limit::parse(line));
        if let Some(values) = line.strip_prefix("; gc-ref:") {
            names = values.split_whitespace().collect();
        }
        if line.starts_with("function ") {
            let function = functions.next().expect("one function per line that begins one");
            let refs = values(&function, &std::mem::take(&mut names));
            cases.push(Case { function, refs, limits: std::mem::take(&mut limits) });
        }
    }
    cases
}

fn values(function: &Function, names: &[&str]) -> Vec<Value> {
    let dfg = &function.dfg;
    let params = function.layout.blocks().flat_map(|block| dfg.block_params(block));
    let insts = function.layout.blocks().flat_map(|block| function.layout.block_insts(block));
    let results = insts.flat_map(|inst| dfg.inst_results(inst));
    let named = |value: &&Value| names.contains(&function.names.value(**value).to_string().as_str());
    params.chain(results).filter(named).copied().collect()
}

/// The smallest number of registers with which nothing may fail.
fn smallest(function: &Function) -> u8 {
    let fixed =
        |line: &str| ["shl", "shr", "rotl", "rotr", "div", "rem", "mulhi"].iter().any(|name| line.contains(name));
    if function.to_string().lines().any(fixed) { 6 } else { 3 }
}

/// Solves a case with every number of registers; says what costs more than it may.
fn excess(allocator: &mut dyn Allocator, case: &Case, report: &mut String) {
    for registers in smallest(&case.function)..=MOST {
        let env = MachineEnv::simple(registers, registers);
        let problem = neutral::problem(&case.function, &env, &case.refs);
        let limit = case.limits.iter().filter(|limit| limit.registers <= registers).max_by_key(|limit| limit.registers);
        let (answer, cost) = solve(allocator, &problem, &env);
        if let Some(limit) = limit.filter(|limit| !limit.holds(&cost)) {
            let shown = display_allocation(&problem, &answer);
            *report += &format!("{registers} registers, {limit:?}: {cost}\n{problem}{shown}\n");
            return;
        }
    }
}

/// Solves the functions of this crate's `properties` within their limits.
///
/// # Panics
/// With all that cost more.
pub fn ours(allocator: &mut dyn Allocator) {
    let mut report = String::new();
    for source in OURS {
        cases(source).iter().for_each(|case| excess(allocator, case, &mut report));
    }
    assert!(report.is_empty(), "{report}");
}

/// Solves functions that others wrote, where they are at hand.
///
/// # Panics
/// Where one is not solved.
pub fn others(allocator: &mut dyn Allocator) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus/regalloc-cases");
    let Ok(entries) = fs::read_dir(&folder) else {
        return eprintln!("SKIPPED: no {}", folder.display());
    };
    let mut files: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "clif"));
    files.sort();
    for file in files {
        let source = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        cases(&source).iter().for_each(|case| excess(allocator, case, &mut String::new()));
    }
}
