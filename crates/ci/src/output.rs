//! Counts, skips and first failures in the output of programs.

use anyhow::{Context, Result};
use std::fs::File;
use std::io::{Read, Seek};

/// Most lines of a first failure that are shown.
const MAX_LINES: usize = 200;

/// Function that tells whether a line marks a place.
type IsMark = fn(&str) -> bool;

/// Returns the text of a file, from its beginning.
///
/// # Errors
/// If it cannot be read.
pub(crate) fn read_all(mut file: File) -> Result<String> {
    let mut bytes = Vec::new();
    file.rewind().and_then(|()| file.read_to_end(&mut bytes)).context("the output of a command")?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns what a program says that it skipped: lines `SKIPPED: WHAT`, and the `skipped N: REASON` of filetests.
pub(crate) fn skipped(text: &str) -> Vec<String> {
    let lines = text.lines().filter_map(|line| {
        if let Some((_, what)) = line.split_once("SKIPPED: ") {
            return Some(what.to_string());
        }
        let (count, reason) = line.strip_prefix("skipped ")?.split_once(": ")?;
        let _: u64 = count.parse().ok()?;
        Some(format!("{count} units: {reason}"))
    });
    lines.collect()
}

/// Returns how many files of the official tests of WebAssembly passed.
pub(crate) fn passed_files(text: &str) -> u64 {
    text.lines().filter_map(|line| number(line, " files passed")).sum()
}

/// Returns the number before `unit` in a line of a report.
pub(crate) fn number(line: &str, unit: &str) -> Option<u64> {
    line.split_once(": ")?.1.split_once(unit)?.0.parse().ok()
}

/// Returns the part of a test program's output about failures: with `--show-output` the output of tests that passed precedes it.
fn failures(text: &str) -> &str {
    match (text.find("\nfailures:\n"), text.find("\nsuccesses:\n")) {
        (Some(start), _) => &text[start..],
        (None, Some(_)) => "",
        (None, None) => text,
    }
}

/// Returns the first failure in a program's output, in full: a test's, a filetest's, a compiler's error, or else the end.
pub(crate) fn first_failure(text: &str) -> String {
    let lines: Vec<&str> = failures(text).lines().collect();
    let starts: [(IsMark, IsMark); 3] = [
        (
            |line| line.starts_with("---- ") && line.ends_with(" stdout ----"),
            |line| line.starts_with("---- ") || line == "failures:",
        ),
        (|line| line.starts_with("FAILED "), |line| line.is_empty() || line.starts_with("FAILED ")),
        (|line| line.starts_with("error"), |line| line.is_empty()),
    ];
    for (is_start, is_end) in starts {
        let Some(start) = lines.iter().position(|line| is_start(line)) else { continue };
        let length = lines[start + 1..].iter().position(|line| is_end(line)).unwrap_or(lines.len() - start - 1);
        return cut(&lines[start..=start + length]);
    }
    cut(&lines[lines.len().saturating_sub(MAX_LINES)..])
}

fn cut(lines: &[&str]) -> String {
    let shown = lines[..lines.len().min(MAX_LINES)].join("\n");
    let left = lines.len().saturating_sub(MAX_LINES);
    let more = if left > 0 { format!("\n... and {left} lines") } else { String::new() };
    format!("{}{more}", shown.trim_end())
}

/// Returns the command that repeats the first failure: as the output says, or else the command that failed.
pub(crate) fn repeat(text: &str, command: &str) -> String {
    let told = text.lines().find_map(|line| line.trim_start_matches([';', ' ']).strip_prefix("repeat"));
    let Some((_, told)) = told.and_then(|told| told.split_once(": ")) else { return command.to_string() };
    // Programs say what users type; the program that failed is the one to run again.
    let program = command.split(' ').next().unwrap_or_default();
    if let (Some(words), true) = (told.strip_prefix("kingpost "), command.contains("kingpost test ")) {
        return format!("{program} {words}");
    }
    let words: Vec<&str> = told.split_whitespace().collect();
    match (&words[..], program.ends_with("kingpost-fuzz")) {
        (["make", "fuzz", target, count, seed], true) => {
            let value = |word: &str| word.rsplit('=').next().unwrap_or_default().to_string();
            format!("{program} {} {} {}", value(target), value(count), value(seed))
        }
        _ => told.to_string(),
    }
}

/// Returns the counts of passed and failed tests of a program with tests, and the first test that failed.
pub(crate) fn tests(text: &str) -> (u64, Option<String>) {
    let (mut passed, mut failed) = (0, None);
    for line in text.lines() {
        let words = line.strip_prefix("test result: ").and_then(|line| line.split_once(". "));
        if let Some((count, _)) = words.and_then(|(_, counts)| counts.split_once(" passed")) {
            passed += count.parse().unwrap_or(0);
        }
    }
    for line in failures(text).lines() {
        if let Some(name) = line.strip_prefix("---- ").and_then(|line| line.strip_suffix(" stdout ----")) {
            failed.get_or_insert_with(|| name.to_string());
        }
    }
    (passed, failed)
}

/// Returns the numbers in the last line of a report of filetests: passed, failed, skipped.
pub(crate) fn units(text: &str) -> Option<[u64; 3]> {
    let numbers = text.lines().last()?.split(", ").map(|part| part.split(' ').next()?.parse().ok());
    numbers.collect::<Option<Vec<u64>>>()?.try_into().ok()
}

#[cfg(test)]
mod tests_of_output {
    use super::*;

    #[test]
    fn the_first_failure_is_whole() {
        let text = "running 2 tests\n\nfailures:\n\n---- a::b stdout ----\n\nthread panicked\nleft: 1\n\n---- c stdout ----\nx\n";
        assert_eq!(first_failure(text), "---- a::b stdout ----\n\nthread panicked\nleft: 1");
        assert_eq!(tests(text), (0, Some("a::b".into())));
        let text = "skipped 2: x (first in b)\n\nFAILED d: test cat\n  one\n  repeat: kingpost test d\n\nFAILED e: x\n1 passed, 2 failed, 2 skipped\n";
        assert_eq!(first_failure(text), "FAILED d: test cat\n  one\n  repeat: kingpost test d");
        assert_eq!(repeat(text, "target/debug/kingpost test filetests"), "target/debug/kingpost test d");
        assert_eq!(units(text), Some([1, 2, 2]));
        assert_eq!(skipped(text), ["2 units: x (first in b)"]);
        let text = "   Compiling x\nerror[E1]: no\n --> a\n\nerror: could not compile\n";
        assert_eq!(first_failure(text), "error[E1]: no\n --> a");
    }

    #[test]
    fn output_of_tests_that_passed_is_no_failure() {
        let text = "\nsuccesses:\n\n---- a stdout ----\nfine\n\n\nsuccesses:\n    a\n\nfailures:\n\n---- b stdout ----\nno\n\n\nfailures:\n    b\n";
        assert_eq!(first_failure(text), "---- b stdout ----\nno");
        assert_eq!(tests(text), (0, Some("b".into())));
        let passed = "\nsuccesses:\n\n---- a stdout ----\nfine\n\ntest result: ok. 1 passed; 0 failed\n";
        assert_eq!(tests(passed), (1, None));
    }

    #[test]
    fn a_failure_without_a_mark_is_the_end_of_the_output() {
        let text = "ir: 5 cases\n; seed 7\n; wrong\n; repeat with: make fuzz TARGET=ir N=1 SEED=7\ntest run\n";
        assert_eq!(first_failure(text), text.trim_end());
        assert_eq!(repeat(text, "target/debug/kingpost-fuzz all 10"), "target/debug/kingpost-fuzz ir 1 7");
        assert_eq!(repeat(text, "x"), "make fuzz TARGET=ir N=1 SEED=7");
    }

    #[test]
    fn results_of_tests_are_counted() {
        let text = "test result: ok. 12 passed; 0 failed; 0 ignored\n\ntest result: ok. 3 passed; 0 failed\n";
        assert_eq!(tests(text), (15, None));
    }
}
