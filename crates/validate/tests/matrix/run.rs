//! Compiles and proves the rows of the matrix, on all processors.

use super::judge::Judge;
use super::ledger::{Ledger, Row, Way};
use super::machines::{Compilers, MACHINES, Variant, compilers};
use super::rows::Functions;
use kingpost_ir::Function;
use kingpost_validate::Code;
use siphasher::sip128::{Hash128, Hasher128, SipHasher13};
use std::collections::HashMap;
use std::fmt::{self, Write};
use std::hash::Hasher;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Rows, and what is to be said about functions that are not proved, by row.
pub(crate) struct Outcome {
    pub(crate) ledger: Ledger,
    /// Machine, row and texts.
    pub(crate) remarks: Vec<(String, String, Vec<String>)>,
}

/// Compiles rows of machines. Proves those that do not have the hash of the known ledger, with
/// solvers if terms do not decide and they may be used.
pub(crate) fn run(known: &Ledger, jobs: &[(&str, Functions)], uses_solvers: bool) -> Outcome {
    let (next, results) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        let mut compilers = MACHINES.map(compilers);
        let mut judge = Judge::new(uses_solvers);
        while let Some((machine, row)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let index = MACHINES.iter().position(|name| name == machine).unwrap();
            let known = known.rows.get(&(machine.to_string(), row.name.clone()));
            let (result, remarks) = examine(row, &mut compilers[index], known, &mut judge);
            let mut results = results.lock().expect("no thread panics");
            results.push(((machine.to_string(), row.name.clone()), result, remarks));
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let mut outcome = Outcome { ledger: Ledger::default(), remarks: Vec::new() };
    let mut results = results.into_inner().expect("no thread panics");
    results.sort_by(|a, b| a.0.cmp(&b.0));
    for ((machine, name), row, remarks) in results {
        if !remarks.is_empty() {
            outcome.remarks.push((machine.clone(), name.clone(), remarks));
        }
        outcome.ledger.rows.insert((machine, name), row);
    }
    outcome
}

/// Returns the row of functions, and remarks about those that are not proved. Without a proof if the known row has its
/// hash, or has no proof and solvers are not used.
fn examine(
    functions: &Functions,
    compilers: &mut Compilers,
    known: Option<&Row>,
    judge: &mut Judge,
) -> (Row, Vec<String>) {
    let mut remarks = Vec::new();
    let variants = if functions.by_settings { &mut compilers.by_settings } else { &mut compilers.usual };
    if let Some(known) = known {
        let row = compile(functions, variants, |_, _, _, _| None);
        if row.hash == known.hash && row.functions == known.functions {
            return (known.clone(), remarks);
        }
        if known.has_no_proof() && !judge.uses_solvers() {
            return (Row { ways: known.ways.clone(), ..row }, remarks);
        }
    }
    let mut ways: HashMap<u128, Way> = HashMap::new();
    let row = compile(functions, variants, |name, func, hash, code| {
        if ways.contains_key(&hash) {
            return None;
        }
        let (way, remark) = judge.judge(func, code);
        if let Some(remark) = remark {
            remarks.push(format!("{name}: {way:?}: {remark}\n{func}"));
        }
        ways.insert(hash, way);
        Some(way)
    });
    (row, remarks)
}

/// Compiles functions. Calls `prove` with the name of the compiler, the function that was lowered, the hash of both, and
/// the code, and counts the ways that it returns.
fn compile(
    functions: &Functions,
    variants: &mut [Variant],
    mut prove: impl FnMut(&str, &Function, u128, &Code<'_>) -> Option<Way>,
) -> Row {
    let (mut row, mut all) = (Row::default(), SipHasher13::new());
    for text in &functions.texts {
        let parsed = kingpost_reader::parse_functions(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        for variant in &mut *variants {
            let name = variant.name.clone();
            let way = variant.compile(&parsed[0], |func, code| {
                let hash = hash(func, code);
                all.write_u128(hash);
                prove(&name, func, hash, code)
            });
            let way = match way {
                Ok(way) => way,
                Err(error) => {
                    all.write(error.as_bytes());
                    Some(Way::Refused)
                }
            };
            row.functions += 1;
            if let Some(way) = way {
                *row.ways.entry(way).or_default() += 1;
            }
        }
    }
    row.hash = all.finish128().h1;
    row
}

/// Returns the hash of a function and of its code with all tables.
fn hash(func: &Function, code: &Code<'_>) -> u128 {
    let mut text = Text(SipHasher13::new());
    write!(text, "{func}{code:?}").expect("a hash takes everything");
    let Hash128 { h1, h2 } = text.0.finish128();
    u128::from(h1) << 64 | u128::from(h2)
}

/// Text that is only hashed.
struct Text(SipHasher13);

impl Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}
