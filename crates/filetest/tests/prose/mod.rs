//! Holds the prose of comments, documents and messages to plain technical English.
//!
//! `ratchet.txt` has the number of findings of each part that has not been rewritten yet; a part without a row has
//! none. The numbers are printed by `cargo test -p kingpost-filetest --test all -- --nocapture prose::counts`, and the
//! findings of one part with `KINGPOST_PROSE=PART` set.

mod rules;
mod texts;

use rules::check;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use texts::{Kind, Text, of_markdown, of_rust};

/// Least share of function docs that begin with a verb, in hundredths, where no part has a row in `ratchet.txt`.
const VERB_SHARE: usize = 95;

/// Findings of a part of the repository, and the counts of its functions.
#[derive(Default)]
struct Part {
    findings: Vec<String>,
    functions: usize,
    verbs: usize,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the part of a file: the crate, the folder, or the file itself.
fn part(path: &Path) -> String {
    let names: Vec<&str> = path.iter().filter_map(|name| name.to_str()).collect();
    names[if names[0] == "crates" { 1 } else { 0 }].to_owned()
}

/// Checks all files of the repository.
fn parts() -> BTreeMap<String, Part> {
    let mut files = Vec::new();
    texts::files(&root(), &mut files);
    assert!(files.len() > 300, "{} files", files.len());
    let mut parts: BTreeMap<String, Part> = BTreeMap::new();
    for file in files.iter().filter(|file| !file.ends_with("tests/prose/mod.rs")) {
        let path = file.strip_prefix(root()).expect("below the root");
        let source = fs::read_to_string(file).expect("readable");
        let is_markdown = path.extension().is_some_and(|extension| extension == "md");
        let part = parts.entry(part(path)).or_default();
        for text in if is_markdown { of_markdown(&source) } else { of_rust(&source) } {
            if let (Kind::Function | Kind::Predicate, Some((_, summary))) = (text.kind, text.summary()) {
                part.functions += 1;
                part.verbs += usize::from(rules::is_verb(summary.split(' ').next().unwrap_or_default()));
            }
            let findings = check(&text).into_iter();
            part.findings.extend(findings.map(|(line, message)| format!("{}:{line}: {message}", path.display())));
        }
    }
    parts
}

/// Reads the rows of `ratchet.txt`.
fn ratchet() -> BTreeMap<String, usize> {
    let rows = include_str!("ratchet.txt").lines().filter(|line| !line.starts_with('#'));
    let rows = rows.map(|row| row.split_once(' ').expect("a part and a number"));
    rows.map(|(part, count)| (part.to_owned(), count.parse().expect("a number"))).collect()
}

#[test]
fn prose_is_plain_and_its_counts() {
    let (parts, ratchet) = (parts(), ratchet());
    let shown = std::env::var("KINGPOST_PROSE").ok();
    let mut failures = String::new();
    let (mut functions, mut verbs) = (0, 0);
    for (name, part) in &parts {
        let (found, allowed) = (part.findings.len(), ratchet.get(name).copied().unwrap_or(0));
        println!("{name} {found}, {} of {} functions begin with a verb", part.verbs, part.functions);
        functions += part.functions;
        verbs += part.verbs;
        if shown.as_ref() == Some(name) {
            println!("{}", part.findings.join("\n"));
        }
        if found > allowed {
            let list = part.findings.join("\n");
            writeln!(failures, "{list}\n{name}: {found} findings, {allowed} allowed").expect("a string");
        }
    }
    println!("in all, {verbs} of {functions} functions begin with a verb");
    assert!(failures.is_empty(), "{failures}");
    for part in ratchet.keys() {
        assert!(parts.contains_key(part), "ratchet.txt: `{part}` is no part");
    }
    assert!(!ratchet.is_empty() || verbs * 100 >= functions * VERB_SHARE, "{verbs} of {functions}");
}

/// Returns the messages for the Rust source `source`.
fn messages(source: &str) -> Vec<String> {
    of_rust(source).iter().flat_map(check).map(|(line, message)| format!("{line}: {message}")).collect()
}

/// Asserts that `source` has one finding, which begins with `expected`.
#[track_caller]
fn finds(source: &str, expected: &str) {
    let found = messages(source);
    assert!(found.len() == 1 && found[0].starts_with(expected), "{source}: {found:?}");
}

#[test]
fn functions_begin_with_a_verb() {
    finds("/// The sort.\nfn f() -> u8 {", "1: begin with a verb");
    finds("\n/// Needs it.\n#[inline]\npub const fn f();", "2: begin with a verb");
    finds(
        "/// Bytes of it.\n#[cfg(any(\n    a,\n))]\npub(crate) fn f<T>(\n    x: T,\n) -> u8 {",
        "1: begin with a verb",
    );
    assert!(messages("/// Returns the sort.\nfn f() {").is_empty());
    assert!(messages("/// Sign-extends `x`.\nfn f() {").is_empty());
    assert!(messages("/// The sort.\npub struct Sort;").is_empty());
    assert!(messages("/// Sorts.\nhandler: fn(u8),").is_empty(), "a field");
}

#[test]
fn booleans_state_when_they_are_true() {
    finds("/// Whether it is.\nfn f(\n) -> bool {", "1: begin with \"Returns `true` if\"");
    finds("/// Removes it.\nfn f() -> bool;", "1: say when");
    finds("/// Is it?\npub is: bool,", "1: state it");
    assert!(messages("/// Removes it. Returns `false` if there is none.\nfn f() -> bool;").is_empty());
    assert!(messages("/// Whether it is.\npub is: bool,").is_empty());
    assert!(messages("/// Print it.\n#[arg(long)]\nis: bool,").is_empty(), "an option");
}

#[test]
fn summaries_need_no_decoding() {
    for summary in ["What a term is.", "Where it begins.", "How many?", "Which of them."] {
        finds(&format!("/// {summary}\nstruct A;"), "1: begin with a noun or a verb");
    }
    finds("/// The same with less work.\nstruct A;", "1: name what is the same");
    finds("/// As the table says, but more.\nstruct A;", "1: name what it differs from");
    finds("//! Is it so? Yes.", "1: state it");
}

#[test]
fn phrases_and_spelling_are_seen_in_all_kinds_of_text() {
    for phrase in ["that of", "those of", "of which", "behind", "in front of", "stands", "goes", "told"] {
        finds(&format!("//! A number {phrase} it."), &format!("1: `{phrase}`"));
    }
    finds("/// Colours.\nstruct A;", "1: `colour`");
    finds("#[error(\"an optimisation of {0}\")]", "1: `optimis`");
    finds("write!(f, \"{name} stands alone\")", "1: `stands`");
    let markdown = of_markdown("# Title\n\nSee `colour`.\n```\ncolour\n```\nA colour.");
    let found: Vec<_> = markdown.iter().flat_map(check).collect();
    assert_eq!(found, [(7, "`colour`: spell `color`".to_owned())]);
}

#[test]
fn a_section_of_no_errors_is_left_out() {
    finds("/// Returns it.\n///\n/// # Errors\n/// None.\nfn f() {", "3: leave out");
    assert!(messages("/// Returns it.\n///\n/// # Errors\n/// If there is none.\nfn f() {").is_empty());
}

#[test]
fn code_is_not_prose() {
    assert!(
        messages("/// Returns `colour`, as in:\n/// ```\n/// // What stands behind?\n/// ```\nfn f() {").is_empty()
    );
    let text = Text { kind: Kind::Markdown, lines: Vec::new() };
    assert!(check(&text).is_empty());
}

#[test]
fn the_glossary_names_files_that_exist() {
    let glossary = fs::read_to_string(root().join("docs/glossary.md")).expect("the glossary");
    let paths: Vec<&str> = glossary.split('`').filter(|part| part.ends_with(".rs")).collect();
    assert!(paths.len() > 10, "{paths:?}");
    for path in paths {
        assert!(root().join("crates").join(path).is_file(), "{path}");
    }
}
