//! The committed matcher is the one that the rules make.

use kingpost_rules::clif::{Dependency, Entry, generate, parse};
use std::path::Path;

#[test]
fn the_matcher_is_the_one_of_the_rules() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |name: &str| std::fs::read(root.join("rules").join(name)).expect(name);
    let names = ["integers.rules", "floats.rules"];
    let texts = names.map(|name| String::from_utf8(read(name)).expect(name));
    let parsed: Vec<_> = texts.iter().flat_map(|text| parse(text)).collect();
    let entries = parsed.iter().map(|parsed| Entry { rule: parsed.rule.as_ref().unwrap(), text: &parsed.text });
    let entries: Vec<Entry<'_>> = entries.collect();
    let files = [&names[..], &["ledger.tsv"]].concat();
    let path = |name: &str| format!("../../../../rules/{name}");
    let files: Vec<Dependency> = files.iter().map(|&name| Dependency { path: path(name), bytes: read(name) }).collect();
    let expected = generate(&entries, &files).unwrap();
    let found = include_str!("../src/rewrite/generated.rs");
    assert!(found == expected, "the matcher is stale: make rules");
}
