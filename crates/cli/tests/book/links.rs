//! Checks the summary of the book, and the links and paths in its chapters.

use super::chapter::{Chapter, root};
use std::path::Path;

/// Checks that each chapter is in the summary once, that relative links lead to files, their fragments to headings, and that
/// paths in backticks exist.
pub(crate) fn check(chapters: &[Chapter]) {
    let summary = chapters.iter().find(|chapter| chapter.name == "docs/SUMMARY.md").expect("a summary");
    let listed: Vec<String> = links(&summary.text).map(|link| format!("docs/{link}")).collect();
    for chapter in chapters.iter().filter(|chapter| chapter.name.starts_with("docs/") && chapter.name != summary.name) {
        let count = listed.iter().filter(|name| **name == chapter.name).count();
        assert_eq!(count, 1, "docs/SUMMARY.md lists {} {count} times", chapter.name);
    }
    let mut wrong = Vec::new();
    for chapter in chapters {
        let folder = Path::new(&chapter.name).parent().expect("a folder");
        for link in links(&chapter.text).filter(|link| !link.contains("://")) {
            let (file, fragment) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { chapter.name.clone().into() } else { folder.join(file) };
            let Ok(text) = std::fs::read(root().join(&target)) else {
                if !root().join(&target).is_dir() {
                    wrong.push(format!("{}: `{link}` leads nowhere", chapter.name));
                }
                continue;
            };
            let is_heading = |line: &str| line.starts_with('#') && slug(line) == fragment;
            if !fragment.is_empty() && !String::from_utf8_lossy(&text).lines().any(is_heading) {
                wrong.push(format!("{}: no heading for `{link}`", chapter.name));
            }
        }
        let text = without_blocks(&chapter.text);
        for path in text.split('`').filter(|span| span.starts_with("crates/") || span.starts_with("filetests/")) {
            let path = path.trim_end_matches('/');
            let is_pattern = path.contains(|c: char| "*{ $".contains(c))
                || path.chars().any(char::is_uppercase) && !path.ends_with(".md");
            if !is_pattern && !root().join(path).exists() {
                wrong.push(format!("{}: no `{path}`", chapter.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns the text outside of fenced blocks.
fn without_blocks(text: &str) -> String {
    let mut is_code = false;
    let lines = text.lines().filter(|line| {
        let is_fence = line.starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Iterates over the targets of the links in `text`.
fn links(text: &str) -> impl Iterator<Item = &str> {
    text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(link, _)| link)
}

/// Returns the fragment by which forges and mdBook name a heading.
fn slug(heading: &str) -> String {
    let heading = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}
