//! The words of the code are the field's: `docs/glossary.md` says which. Values are no persons, and one concept has one word.

use std::fs;
use std::path::{Path, PathBuf};

/// Words for which the field has another one, or a noun.
const BANNED: &[(&str, &str)] = &[
    ("who", "which, or the noun"),
    ("whom", "which, or the noun"),
    ("whoever", "the noun"),
    ("somebody", "the noun"),
    ("someone", "the noun"),
    ("nobody", "nothing, or a passive"),
    ("everybody", "all, or the noun"),
    ("everyone", "all, or the noun"),
    ("anybody", "any, or the noun"),
    ("anyone", "any, or the noun"),
    ("wish", "hint, or request"),
    ("wishes", "hints, or requests"),
    ("wished", "requested"),
    ("home", "hint, slot or location"),
    ("homes", "hints, slots or locations"),
    ("wall", "clobber point"),
    ("walls", "clobber points"),
    ("tenant", "assigned bundle"),
    ("tenants", "assigned bundles"),
    ("told", "a passive: reported, recorded"),
    ("wants", "takes, expects, requires"),
    ("asks", "demands, requests"),
    ("likes", "a verb of fact"),
    ("forgets", "clears, loses"),
];

/// Crates in which a word has another meaning, or has not been replaced yet.
const EXEMPT: &[(&str, &str)] = &[("emit-object", "wall")];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All sources below a folder.
fn sources(folder: &Path, out: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).expect("a folder").map(|e| e.expect("readable").path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() && !path.ends_with("target") {
            sources(&path, out);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            out.push(path);
        }
    }
}

/// The words of a line: identifiers are cut at underscores and before capitals.
fn words(line: &str) -> impl Iterator<Item = String> + '_ {
    let parts = line.split(|c: char| !c.is_ascii_alphabetic()).filter(|part| !part.is_empty());
    parts.flat_map(|part| {
        let mut words = vec![String::new()];
        for c in part.chars() {
            let is_lower = words.last().is_some_and(|word| word.ends_with(|c: char| c.is_ascii_lowercase()));
            if c.is_ascii_uppercase() && is_lower {
                words.push(String::new());
            }
            words.last_mut().expect("never empty").push(c);
        }
        words.into_iter().map(|word| word.to_ascii_lowercase()).collect::<Vec<_>>()
    })
}

#[test]
fn the_words_are_the_fields() {
    let mut files = Vec::new();
    let crates = root().join("crates");
    sources(&crates, &mut files);
    assert!(files.len() > 300, "{} files", files.len());
    let mut found = Vec::new();
    for file in files.iter().filter(|file| !file.ends_with("filetest/tests/words.rs")) {
        let path = file.strip_prefix(&crates).expect("below crates");
        let krate = path.iter().next().and_then(|name| name.to_str()).unwrap_or_default();
        let text = fs::read_to_string(file).expect("readable");
        for (n, line) in text.lines().enumerate() {
            for word in words(line) {
                let banned = BANNED.iter().find(|(banned, _)| *banned == word);
                let Some((banned, instead)) = banned.filter(|(banned, _)| !EXEMPT.contains(&(krate, *banned))) else {
                    continue;
                };
                found.push(format!("{}:{}: `{banned}`: say {instead}", path.display(), n + 1));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
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

#[test]
fn identifiers_are_cut_into_words() {
    let cut = |line| words(line).collect::<Vec<_>>();
    assert_eq!(
        cut("fn add_home(x: &BlockHome) // Who, VReg?"),
        ["fn", "add", "home", "x", "block", "home", "who", "vreg"]
    );
}
