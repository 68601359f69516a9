//! Checks that the book in `docs` and the README agree with the tool and the library.
//!
//! | block | check |
//! |---|---|
//! | `console` | each `$` line runs in a folder of the chapter and prints the lines below it; `cat FILE` creates a file that is not there |
//! | `sh` | each line is a `make` target or a `cargo` command for packages, tests and examples that exist |
//! | `clif` | parses and verifies; run directives hold in the interpreter and in compiled code |
//! | `rust` | compiles and runs as a documentation test of the crate `kingpost` |
//! | `rs`, `c` | is an excerpt of the file that the text before it names |
//! | `toml`, `text` | none |
//!
//! `KINGPOST_BLESS=1` rewrites the output of `console` blocks and the chapters that are generated.

mod chapter;
mod console;
mod generated;
mod links;

use chapter::{chapters, root};
use std::fs;

/// Returns `true` if expectations are rewritten.
fn blesses() -> bool {
    std::env::var_os("KINGPOST_BLESS").is_some()
}

#[test]
fn every_block_has_a_kind() {
    for chapter in chapters() {
        for block in chapter.blocks() {
            let known = ["console", "sh", "clif", "rust", "rs", "c", "toml", "text"];
            assert!(known.contains(&block.kind), "{}:{}: kind `{}`", chapter.name, block.line, block.kind);
        }
    }
}

#[test]
fn commands_print_what_the_book_shows() {
    let mut failures = Vec::new();
    for chapter in chapters() {
        let text = console::run(&chapter, &mut failures);
        if blesses() && text != chapter.text {
            fs::write(root().join(&chapter.name), text).expect("written");
        }
    }
    assert!(blesses() || failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn commands_of_the_build_exist() {
    let makefile = fs::read_to_string(root().join("Makefile")).expect("the Makefile");
    for chapter in chapters() {
        for block in chapter.blocks().filter(|block| block.kind == "sh") {
            for (n, line) in block.lines.iter().enumerate() {
                let at = format!("{}:{}", chapter.name, block.line + n + 1);
                console::check_build_command(line, &makefile, &at);
            }
        }
    }
}

#[test]
fn functions_verify_and_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("block.clif");
    for chapter in chapters() {
        for block in chapter.blocks().filter(|block| block.kind == "clif") {
            let text = block.lines.join("\n");
            fs::write(&file, &text).expect("written");
            let command = if text.contains("; run:") { "run" } else { "verify" };
            let (is_good, said) = console::shell(&format!("kingpost {command} block.clif"), folder.path());
            assert!(is_good, "{}:{}: {said}", chapter.name, block.line);
        }
    }
}

#[test]
fn excerpts_are_in_their_files() {
    for chapter in chapters() {
        for block in chapter.blocks().filter(|block| ["rs", "c"].contains(&block.kind)) {
            let at = format!("{}:{}", chapter.name, block.line);
            let file = chapter.file_before(block.line).unwrap_or_else(|| panic!("{at}: no file is named before"));
            let source = fs::read_to_string(root().join(&file)).unwrap_or_else(|error| panic!("{at}: {file}: {error}"));
            let source: Vec<&str> = source.lines().map(str::trim).collect();
            let shown: Vec<&str> = block.lines.iter().map(|line| line.trim()).collect();
            // An ellipsis separates excerpts of one file.
            for part in shown.split(|line| *line == "// …") {
                let is_there = source.windows(part.len()).any(|lines| lines == part);
                assert!(is_there, "{at}: {file} does not have:\n{}", part.join("\n"));
            }
        }
    }
}

#[test]
fn generated_chapters_are_fresh() {
    for (name, text) in generated::all() {
        let path = root().join(name);
        if blesses() {
            fs::write(&path, &text).expect("written");
        }
        assert!(fs::read_to_string(&path).is_ok_and(|found| found == text), "{name} is stale: make bless");
    }
}

#[test]
fn chapters_are_in_the_summary_and_links_lead_somewhere() {
    links::check(&chapters());
}
