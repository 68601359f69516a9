//! Collects the texts that people read: doc comments, Markdown, and the texts of errors.

use std::fs;
use std::path::{Path, PathBuf};

/// A kind of text; some rules hold for one kind only.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Doc comment of a function that returns something other than a `bool`.
    Function,
    /// Doc comment of a function that returns a `bool`.
    Predicate,
    /// Doc comment of a field of type `bool`.
    Flag,
    /// Doc comment of any other item, or of a module.
    Item,
    /// Paragraph, table row or heading of a Markdown file.
    Markdown,
    /// Text of an error.
    Error,
}

/// A text to check, with code blocks left out and code spans replaced by `` `_` ``.
#[derive(Debug)]
pub(crate) struct Text {
    pub(crate) kind: Kind,
    /// Lines with their numbers in the file, counted from 1.
    pub(crate) lines: Vec<(usize, String)>,
}

impl Text {
    /// Returns the first line that holds text.
    pub(crate) fn summary(&self) -> Option<(usize, &str)> {
        self.lines.iter().find(|(_, line)| !line.is_empty()).map(|(n, line)| (*n, line.as_str()))
    }

    /// Returns all lines as one string, separated by spaces.
    pub(crate) fn joined(&self) -> String {
        self.lines.iter().map(|(_, line)| line.as_str()).collect::<Vec<_>>().join(" ")
    }
}

/// Adds the files with extension `rs` or `md` below `folder` to `out`, in order.
pub(crate) fn files(folder: &Path, out: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("readable").path()).collect();
    entries.sort();
    for path in entries {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            files(&path, out);
        } else if path.extension().is_some_and(|extension| extension == "rs" || extension == "md") {
            out.push(path);
        }
    }
}

/// Returns the texts of a Rust source.
pub(crate) fn of_rust(source: &str) -> Vec<Text> {
    let lines: Vec<&str> = source.lines().map(str::trim).collect();
    let mut texts = Vec::new();
    let mut n = 0;
    while n < lines.len() {
        let Some(marker) = ["///", "//!"].into_iter().find(|&marker| lines[n].starts_with(marker)) else {
            if lines[n].starts_with("#[error(") || lines[n].contains("write!(f, ") {
                let strings = strings(lines[n]);
                let found = strings.into_iter().map(|text| (n + 1, without_code_spans(&text))).collect();
                texts.push(Text { kind: Kind::Error, lines: found });
            }
            n += 1;
            continue;
        };
        let start = n;
        while lines.get(n).is_some_and(|line| line.starts_with(marker)) {
            n += 1;
        }
        let comment = lines[start..n].iter().map(|line| line[marker.len()..].trim());
        let kind = if marker == "///" { kind_of_item(&lines[n..]) } else { Kind::Item };
        texts.push(Text { kind, lines: prose(comment, start + 1) });
    }
    texts
}

/// Returns the paragraphs, rows and headings of a Markdown file.
pub(crate) fn of_markdown(source: &str) -> Vec<Text> {
    let lines = prose(source.lines().map(str::trim), 1);
    let paragraphs = lines.split(|(_, line)| line.is_empty()).filter(|paragraph| !paragraph.is_empty());
    paragraphs.map(|paragraph| Text { kind: Kind::Markdown, lines: paragraph.to_vec() }).collect()
}

/// Returns the kind of the item that `lines` begin with, after its attributes.
fn kind_of_item(lines: &[&str]) -> Kind {
    let mut depth = 0;
    let item = lines.iter().position(|line| {
        let is_attribute = depth > 0 || line.starts_with("#[");
        if is_attribute {
            depth += line.matches('[').count() as isize - line.matches(']').count() as isize;
        }
        !is_attribute
    });
    let Some(item) = item else { return Kind::Item };
    // The text of an option in `--help` is imperative.
    let is_option = lines[..item].iter().any(|line| line.starts_with("#[arg("));
    let unrestricted = match lines[item].strip_prefix("pub(") {
        Some(restricted) => restricted.split_once(')').map_or("", |(_, item)| item),
        None => lines[item],
    };
    let head = unrestricted.split(['(', '<', '{', '=', ':']).next().unwrap_or_default();
    if !head.split_whitespace().any(|word| word == "fn") {
        let is_flag = !is_option && lines[item].trim_end_matches(',').ends_with(": bool");
        return if is_flag { Kind::Flag } else { Kind::Item };
    }
    let signature = lines[item..].iter().position(|line| line.ends_with(['{', ';', '}'])).unwrap_or(0);
    let signature = lines[item..=item + signature].join(" ");
    let is_predicate = ["-> bool {", "-> bool;", "-> bool where"].iter().any(|end| signature.contains(end));
    if is_predicate { Kind::Predicate } else { Kind::Function }
}

/// Returns `lines` numbered from `first`, with code blocks left empty and code spans replaced.
fn prose<'a>(lines: impl Iterator<Item = &'a str>, first: usize) -> Vec<(usize, String)> {
    let mut is_code = false;
    let numbered = lines.enumerate().map(|(n, line)| {
        let is_fence = line.starts_with("```");
        is_code ^= is_fence;
        let text = if is_code || is_fence { String::new() } else { without_code_spans(line) };
        (n + first, text)
    });
    numbered.collect()
}

/// Returns `line` with the contents of code spans replaced by `_`, except for `true` and `false`.
fn without_code_spans(line: &str) -> String {
    let parts = line.split('`').enumerate();
    let parts = parts.map(|(n, part)| if n % 2 == 0 || part == "true" || part == "false" { part } else { "_" });
    parts.collect::<Vec<_>>().join("`")
}

/// Returns the contents of the string literals of `line`.
fn strings(line: &str) -> Vec<String> {
    let line = line.replace("\\\"", "'");
    line.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}
