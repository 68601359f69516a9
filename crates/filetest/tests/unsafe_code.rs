//! Holds `unsafe` to the files that the documentation of four crates lists, in both workspaces, and the public
//! functions of these files to the lists of reasons for their soundness.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Folders of the crates that may have `unsafe`, from the root of the repository.
const CRATES: [&str; 4] = ["crates/jit", "crates/isolate", "crates/capi", "cranelift-compat"];

/// Tests and examples that call code they compiled, and this file, in which only texts have the word.
const OTHERS: [&str; 8] = [
    "crates/jit/tests/",
    "crates/isolate/tests/",
    "crates/kingpost/examples/",
    "crates/kingpost/tests/",
    "cranelift-compat/clients/regalloc2/",
    "cranelift-compat/clients/stock/",
    "cranelift-compat/tests/",
    "crates/filetest/tests/unsafe_code.rs",
];

/// Heads of the tables in the documentation of these crates.
const FILES: &str = "| file | holds |";
const FUNCTIONS: &str = "| public function of a file with `unsafe` | why it is sound |";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

/// Returns all Rust sources in a folder. Hidden folders have code of others.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let (mut folders, mut files) = (vec![folder.to_path_buf()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            match path.is_dir() {
                true if !path.ends_with("target") && !is_hidden(&path) => folders.push(path),
                false if path.extension().is_some_and(|extension| extension == "rs") => files.push(path),
                _ => {}
            }
        }
    }
    files
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'))
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns `true` if code, not a comment or the name of a lint, has the word `unsafe`.
fn has_unsafe(text: &str) -> bool {
    let code = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    code.flat_map(|line| line.split(|c| !is_word(c))).any(|word| word == "unsafe")
}

/// Returns the rows of the table with this head in the documentation of a crate.
fn rows<'a>(library: &'a str, head: &'a str) -> impl Iterator<Item = &'a str> {
    let lines = library.lines().map(|line| line.trim_start_matches("//!").trim());
    lines.skip_while(move |line| *line != head).skip(2).take_while(|line| line.starts_with('|'))
}

/// Returns the words in backquotes of a text.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[test]
fn the_lists_of_files_with_unsafe_are_true() {
    let root = root();
    let mut listed = BTreeSet::new();
    for folder in CRATES {
        let library = read(&root.join(folder).join("src/lib.rs"));
        let rows = rows(&library, FILES).filter(|row| row.ends_with("`unsafe` |"));
        let files = rows.filter_map(|row| quoted(row).next());
        listed.extend(files.map(|file| format!("{folder}/src/{file}")));
    }
    let mut found = BTreeSet::new();
    for path in ["crates", "cranelift-compat"].iter().flat_map(|folder| sources(&root.join(folder))) {
        let name = path.strip_prefix(&root).expect("a file of the repository").display().to_string();
        if has_unsafe(&read(&path)) && !OTHERS.iter().any(|other| name.starts_with(other)) {
            found.insert(name);
        }
    }
    assert_eq!(found, listed);
}

/// Returns the public functions of a file, each with the type or trait that it belongs to.
fn public_functions(text: &str) -> Vec<String> {
    let (mut owner, mut is_trait, mut functions) = (None, false, Vec::new());
    for line in text.lines() {
        let name = |after: &str| {
            let end = after.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(after.len());
            after[..end].to_string()
        };
        let is_trait_head = ["pub trait ", "pub unsafe trait "].iter().find_map(|head| line.strip_prefix(head));
        if let Some(after) = is_trait_head {
            (owner, is_trait) = (Some(name(after)), true);
        } else if let Some(after) = line.strip_prefix("impl") {
            let parameters = after.find("> ").filter(|_| after.starts_with('<')).map_or(0, |end| end + 1);
            // Functions of a trait are listed with the trait.
            (owner, is_trait) =
                (Some(name(after[parameters..].trim_start())).filter(|_| !after.contains(" for ")), false);
        } else if line.starts_with('}') {
            (owner, is_trait) = (None, false);
        }
        let code = line.trim_start();
        let heads: &[&str] = match is_trait {
            true => &["fn ", "unsafe fn "],
            false => &["pub fn ", "pub unsafe fn ", "pub const fn ", "pub const unsafe fn "],
        };
        if let Some(after) = heads.iter().find_map(|head| code.strip_prefix(head)) {
            let function = name(after);
            functions.push(owner.as_ref().map_or(function.clone(), |owner| format!("{owner}::{function}")));
        }
    }
    functions
}

#[test]
fn the_lists_of_public_functions_are_true() {
    let root = root();
    for folder in CRATES {
        let library = read(&root.join(folder).join("src/lib.rs"));
        let listed = rows(&library, FUNCTIONS).flat_map(|row| quoted(row.split('|').nth(1).unwrap_or_default()));
        let listed: BTreeSet<String> = listed.map(str::to_string).collect();
        let files = rows(&library, FILES).filter(|row| row.ends_with("`unsafe` |"));
        let paths = files.filter_map(|row| quoted(row).next()).map(|file| root.join(folder).join("src").join(file));
        let found: BTreeSet<String> = paths.flat_map(|path| public_functions(&read(&path))).collect();
        assert_eq!(found, listed, "{folder}");
    }
}
