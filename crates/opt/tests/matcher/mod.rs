//! Tests of the generated matcher: it is up to date with the rules, it agrees with an interpreter of the rules, and
//! its replacements have the values of the replaced instructions.
//!
//! `KINGPOST_GRAPHS` is the number of graphs for each rule.

mod division;
mod graph;
mod meaning;
mod random;
mod table;

use graph::{Matcher, TestGraph};
use kingpost_opt::rewrite::Rule;
use kingpost_rules::clif::{ClifRule, Dependency, Entry, ParsedClifRule, generate, parse};
use random::Random;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use table::Table;

const FILES: [&str; 3] = ["integers.rules", "floats.rules", "effects.rules"];
const GRAPHS: u32 = 150;

fn read(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../rules").join(name)).expect(name)
}

fn rules() -> Vec<ParsedClifRule> {
    let texts = FILES.map(|name| String::from_utf8(read(name)).expect(name));
    texts.iter().flat_map(|text| parse(text)).collect()
}

#[test]
fn the_matcher_is_the_one_of_the_rules() {
    let parsed = rules();
    let entries = parsed.iter().map(|parsed| Entry { rule: parsed.rule.as_ref().unwrap(), text: &parsed.text });
    let entries: Vec<Entry<'_>> = entries.collect();
    let files = [&FILES[..], &["ledger.tsv"]].concat();
    let path = |name: &str| format!("../../rules/{name}");
    let files: Vec<Dependency> = files.iter().map(|&name| Dependency { path: path(name), bytes: read(name) }).collect();
    let expected = generate(&entries, &files).unwrap();
    let found = include_str!("../../src/rewrite/generated.rs");
    assert!(found == expected, "the matcher is stale: make rules");
}

/// Compares both matchers on graphs with the source of a rule, and checks their replacements by the meanings of
/// opcodes. Returns the rules that were applied.
fn try_graphs(table: &Arc<Table>, rule: usize, graphs: u32) -> BTreeSet<Rule> {
    let mut random = Random(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(2 * rule as u64 + 1));
    let mut applied = BTreeSet::new();
    for _ in 0..graphs {
        let steps = random::steps(&mut random, table, rule);
        let mut generated = TestGraph::new(Matcher::Generated);
        let mut interpreted = TestGraph::new(Matcher::Table(Arc::clone(table)));
        for step in &steps {
            let value = generated.run(step);
            assert_eq!(value, interpreted.run(step), "{step:?}\n{generated:?}\n{interpreted:?}");
            assert_eq!(generated.applied, interpreted.applied, "{step:?}\n{generated:?}\n{interpreted:?}");
            assert_eq!(generated.effect, interpreted.effect, "{step:?}\n{generated:?}\n{interpreted:?}");
            meaning::check(&mut random, &generated, step);
        }
        applied.extend(generated.applied.iter().map(|application| application.rule));
    }
    applied
}

#[test]
fn the_matcher_does_what_the_rules_say() {
    let graphs = std::env::var("KINGPOST_GRAPHS").map_or(GRAPHS, |count| count.parse().expect("a number"));
    let rules: Vec<ClifRule> = rules().into_iter().map(|parsed| parsed.rule.unwrap()).collect();
    let table = Arc::new(Table::new(rules));
    let next = AtomicUsize::new(0);
    let work = || {
        let rules =
            std::iter::from_fn(|| Some(next.fetch_add(1, Ordering::Relaxed)).filter(|&rule| rule < table.rules.len()));
        rules.flat_map(|rule| try_graphs(&table, rule, graphs)).collect::<BTreeSet<Rule>>()
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let applied: BTreeSet<Rule> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no difference")).collect()
    });
    let missing: Vec<&str> = table
        .rules
        .iter()
        .map(|rule| rule.name.as_str())
        .filter(|name| !applied.iter().any(|rule| rule.name() == *name))
        .collect();
    assert!(missing.is_empty(), "never applied: {missing:?}");
}
