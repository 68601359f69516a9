//! `precise-output`: the comments after a function are the whole output of a stage.
//!
//! A line of output is a comment with one semicolon and one space. Comments with two semicolons are not part of the
//! expectation. Blessing replaces the expected output by the actual one.

use std::fs;

use kingpost_ir::AnyEntity;
use kingpost_reader::TestFunction;

use crate::job::Job;
use crate::report::Findings;

/// Compares the outputs of functions with their comments, or replaces the comments.
pub(crate) fn check(job: &Job, outputs: &[(&TestFunction, String)], findings: &mut Findings) {
    findings.expectations += outputs.iter().filter(|(test, _)| !expected(test).is_empty()).count();
    let different = outputs.iter().filter(|(test, text)| expected(test) != lines(text));
    if !job.bless {
        for (test, text) in different {
            let (expected, found) = (expected(test).join("\n"), lines(text).join("\n"));
            findings.fail(format_args!("{}: expected\n{expected}\nfound\n{found}", job.place(test)));
        }
        return;
    }
    if different.count() > 0 {
        let blessed = fs::read_to_string(job.name).map(|text| replaced(&text, outputs));
        if let Err(error) = blessed.and_then(|text| fs::write(job.name, text)) {
            findings.fail(format_args!("{}: {error}", job.name));
        }
    }
}

fn lines(text: &str) -> Vec<&str> {
    text.lines().map(str::trim_end).collect()
}

/// Returns the line and the text of each expected line.
fn expected_lines<'a>(test: &TestFunction<'a>) -> impl Iterator<Item = (u32, &'a str)> {
    let comments = test.comments.iter().filter(|comment| comment.entity == AnyEntity::Function && comment.column == 1);
    let comments = comments.filter(|comment| !comment.text.starts_with(";;"));
    comments.map(|comment| {
        let text = comment.text.strip_prefix(';').unwrap_or(comment.text);
        (comment.line, text.strip_prefix(' ').unwrap_or(text).trim_end())
    })
}

fn expected<'a>(test: &TestFunction<'a>) -> Vec<&'a str> {
    expected_lines(test).map(|(_, text)| text).collect()
}

/// Returns a file's text with the expectations replaced by the outputs.
fn replaced(text: &str, outputs: &[(&TestFunction, String)]) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let mut removed = vec![false; lines.len()];
    let mut inserted: Vec<Option<&str>> = vec![None; lines.len()];
    for (test, output) in outputs {
        for (line, _) in expected_lines(test) {
            removed[line as usize - 1] = true;
        }
        // The function ends with the first closing brace at the start of a line.
        let start = test.line as usize - 1;
        let end = (start..lines.len()).find(|&index| lines[index].starts_with('}')).unwrap_or(lines.len() - 1);
        inserted[end] = Some(output);
    }
    let mut result = String::new();
    for (index, line) in lines.iter().enumerate() {
        if !removed[index] {
            result += line;
            result.push('\n');
        }
        for line in inserted[index].iter().flat_map(|output| output.lines()) {
            result += format!("; {}", line.trim_end()).trim_end();
            result.push('\n');
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use kingpost_reader::{Options, parse_test};

    #[test]
    fn blessing_replaces_expectations() {
        let text = "\
test compile precise-output
function %f() {
block0:
    return
}
; old
;; kept
function %g() { ; not expected
block0:
    return
}
";
        let file = parse_test(text, Options::default()).unwrap();
        let outputs = [(&file.functions[0], "one\n\ntwo\n".to_string()), (&file.functions[1], "three\n".into())];
        let blessed = replaced(text, &outputs);
        assert!(blessed.contains("}\n; one\n;\n; two\n;; kept\n") && blessed.ends_with("}\n; three\n"), "{blessed}");
        let file = parse_test(&blessed, Options::default()).unwrap();
        assert_eq!(expected(&file.functions[0]), ["one", "", "two"]);
        assert_eq!(expected(&file.functions[1]), ["three"]);
    }
}
