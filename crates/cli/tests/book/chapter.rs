//! Chapters of the book, and the fenced blocks in them.

use std::fs;
use std::path::{Path, PathBuf};

/// A Markdown file of the book, or the README.
pub(crate) struct Chapter {
    /// Path from the root of the repository.
    pub(crate) name: String,
    /// Contents.
    pub(crate) text: String,
}

/// A fenced block.
pub(crate) struct Block<'a> {
    /// Text after the opening fence.
    pub(crate) kind: &'a str,
    /// Line of the opening fence, counted from 1.
    pub(crate) line: usize,
    /// Lines between the fences.
    pub(crate) lines: Vec<&'a str>,
}

/// Returns the root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the README and all chapters, in order of their paths.
pub(crate) fn chapters() -> Vec<Chapter> {
    let mut names = vec!["README.md".to_owned()];
    collect("docs", &mut names);
    assert!(names.len() > 5, "{names:?}");
    let read = |name: String| Chapter { text: fs::read_to_string(root().join(&name)).expect("readable"), name };
    names.into_iter().map(read).collect()
}

/// Adds the Markdown files below `folder` to `names`.
fn collect(folder: &str, names: &mut Vec<String>) {
    let entries = fs::read_dir(root().join(folder)).expect("a folder");
    let mut entries: Vec<_> = entries.map(|entry| entry.expect("readable").file_name()).collect();
    entries.sort();
    for entry in entries {
        let name = format!("{folder}/{}", entry.to_str().expect("a name in UTF-8"));
        if root().join(&name).is_dir() {
            collect(&name, names);
        } else if name.ends_with(".md") {
            names.push(name);
        }
    }
}

impl Chapter {
    /// Iterates over the blocks.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = Block<'_>> {
        let mut lines = self.text.lines().enumerate();
        std::iter::from_fn(move || {
            let (line, kind) = lines.find_map(|(n, line)| Some((n + 1, line.strip_prefix("```")?)))?;
            let lines = lines.by_ref().map(|(_, line)| line).take_while(|line| *line != "```").collect();
            Some(Block { kind, line, lines })
        })
    }

    /// Returns the last path of a Rust file named in backticks before `line`.
    pub(crate) fn file_before(&self, line: usize) -> Option<String> {
        let before: Vec<&str> = self.text.lines().take(line - 1).collect();
        let before = before.join("\n");
        let is_source =
            |span: &&str| span.starts_with("crates/") && [".rs", ".c"].iter().any(|end| span.ends_with(end));
        let mut spans = before.split('`').filter(is_source);
        spans.next_back().map(str::to_owned)
    }
}
