//! The cost that a good allocation of small functions has, with any number of registers. Comments in
//! `properties/*.clif` state it, and `properties/others.txt` for third-party functions.

mod claim;

use crate::abstract_target;
use crate::solve::solve;
use claim::{Claim, Subject};
use kingpost_ir::{Function, Value};
use kingpost_regalloc::text::display_allocation;
use kingpost_regalloc::{Allocator, MachineEnv, Problem};
use std::fs;
use std::path::Path;

const OURS: [&str; 4] = [
    include_str!("../properties/coalescing.clif"),
    include_str!("../properties/constraints.clif"),
    include_str!("../properties/calls.clif"),
    include_str!("../properties/pressure.clif"),
];

/// Claims about third-party functions, after a line `FILE FUNCTION`.
const OTHERS: &str = include_str!("../properties/others.txt");

/// The least and the greatest number of registers that are tried.
pub(crate) const FEWEST: u8 = 3;
pub(crate) const MOST: u8 = 18;

/// A function, its references, and bounds on the cost of its allocation.
struct Case {
    function: Function,
    refs: Vec<Value>,
    claims: Vec<Claim>,
}

/// Returns the cases of a text. A comment before a function applies to it.
fn cases(source: &str) -> Vec<Case> {
    let functions = kingpost_reader::parse_functions(source).unwrap_or_else(|error| panic!("{error}"));
    let mut functions = functions.into_iter();
    let (mut cases, mut claims, mut names) = (Vec::new(), Vec::new(), Vec::new());
    for line in source.lines() {
        claims.extend(line.strip_prefix("; ").and_then(Claim::parse));
        if let Some(values) = line.strip_prefix("; gc-ref:") {
            names = values.split_whitespace().collect();
        }
        if line.starts_with("function ") {
            let function = functions.next().expect("one function per line that begins one");
            let refs = values(&function, &std::mem::take(&mut names));
            cases.push(Case { function, refs, claims: std::mem::take(&mut claims) });
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

/// Solves a case with every number of registers, and reports costs beyond the bounds.
fn excess(allocator: &mut dyn Allocator, case: &Case, report: &mut String) {
    for registers in FEWEST..=MOST {
        let env = MachineEnv::simple(registers, registers);
        let problem = abstract_target::problem(&case.function, &env, &case.refs);
        let (answer, cost) = solve(allocator, &problem, &env);
        let subject = Subject { function: &case.function, problem: &problem, env: &env, answer: &answer };
        let claims = in_force(&case.claims, allocator.name(), registers);
        let broken: Vec<String> =
            claims.filter(|claim| !claim.holds(registers, &subject)).map(Claim::to_string).collect();
        if !broken.is_empty() {
            let (broken, shown) = (broken.join("\n"), display_allocation(&problem, &answer));
            *report += &format!("{}: {registers} registers, {cost}\n{broken}\n{problem}{shown}\n", problem.name);
            return;
        }
    }
}

/// Returns, of the claims about one place, the one with the most registers that are available.
fn in_force<'a>(claims: &'a [Claim], allocator: &'a str, registers: u8) -> impl Iterator<Item = &'a Claim> {
    let known = move |claim: &&Claim| claim.is_about(allocator, registers);
    claims.iter().filter(known).filter(move |claim| {
        let more = |other: &Claim| other.registers > claim.registers && claim.is_like(other);
        !claims.iter().filter(known).any(more)
    })
}

/// Solves the functions of this crate's `properties` within their bounds.
///
/// # Panics
/// With all exceeded bounds.
pub fn ours(allocator: &mut dyn Allocator) {
    let mut report = String::new();
    for source in OURS {
        cases(source).iter().for_each(|case| excess(allocator, case, &mut report));
    }
    assert!(report.is_empty(), "{report}");
}

/// Solves third-party functions within the bounds of `properties/others.txt`, if they are available.
///
/// # Panics
/// If one is not solved, or with all exceeded bounds.
pub fn others(allocator: &mut dyn Allocator, within_limits: bool) {
    let mut report = String::new();
    for mut case in cases_of_others() {
        if !within_limits {
            case.claims.clear();
        }
        excess(allocator, &case, &mut report);
    }
    assert!(report.is_empty(), "{report}");
}

/// Returns all functions, including available third-party ones, as problems for a machine.
pub fn problems(env: &MachineEnv) -> Vec<Problem> {
    let ours = OURS.into_iter().flat_map(cases);
    ours.chain(cases_of_others()).map(|case| abstract_target::problem(&case.function, env, &case.refs)).collect()
}

fn cases_of_others() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus/regalloc-cases");
    let Ok(entries) = fs::read_dir(&folder) else {
        eprintln!("SKIPPED: no {}", folder.display());
        return Vec::new();
    };
    let mut files: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "clif"));
    files.sort();
    let mut all = Vec::new();
    for file in files {
        let source = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let file = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let mut cases = cases(&source);
        cases.iter_mut().for_each(|case| case.claims = claims_about(&file, &case.function));
        all.extend(cases);
    }
    all
}

/// Returns the lines of [`OTHERS`] after a function's name.
fn claims_about(file: &str, function: &Function) -> Vec<Claim> {
    let name = format!("{file} {}", function.name);
    OTHERS.lines().skip_while(|line| *line != name).skip(1).map_while(Claim::parse).collect()
}
