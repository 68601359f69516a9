//! The crate's documentation lists the files with `unsafe`; there are no others in the project.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// All Rust sources of the workspace's members.
fn sources() -> Vec<PathBuf> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut folders = vec![crates.canonicalize().expect("the folder of all crates")];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            match path.is_dir() {
                true if !path.ends_with("target") => folders.push(path),
                false if path.extension().is_some_and(|extension| extension == "rs") => files.push(path),
                _ => {}
            }
        }
    }
    files
}

/// Whether code, rather than a comment or a lint's name, has the word.
fn has_unsafe(text: &str) -> bool {
    let code = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    code.flat_map(|line| line.split(|c| !is_word(c))).any(|word| word == "unsafe")
}

#[test]
fn the_list_of_files_with_unsafe_is_true() {
    let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs");
    let text = std::fs::read_to_string(library).expect("the library's documentation");
    let row = |line: &str| line.ends_with("`unsafe` |").then(|| line.split('`').nth(1).map(str::to_string)).flatten();
    let listed: BTreeSet<String> = text.lines().filter_map(row).collect();
    let mut found = BTreeSet::new();
    for path in sources() {
        if !has_unsafe(&std::fs::read_to_string(&path).expect("a source")) {
            continue;
        }
        let name = path.display().to_string();
        match name.rsplit_once("/jit/src/") {
            Some((_, file)) => drop(found.insert(file.to_string())),
            // Tests of the crate, and examples, call what they compiled.
            None => {
                let calls = name.contains("/jit/tests/") || name.contains("/kingpost/examples/");
                assert!(calls, "{name} has `unsafe`");
            }
        }
    }
    assert_eq!(found, listed);
}
