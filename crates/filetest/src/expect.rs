//! Filecheck over the comments of a function.

use filecheck::{Checker, CheckerBuilder, NO_VARIABLES};
use kingpost_reader::{Comment, TestFile, TestFunction};

/// The text behind a directive at the start of a comment, as `error:`.
pub(crate) fn directive<'a>(comment: &Comment<'a>, name: &str) -> Option<&'a str> {
    let text = comment.text.trim_start_matches(';').trim_start();
    text.strip_prefix(name).map(str::trim)
}

/// The filecheck directives of a function: those of the file's head, then its own.
fn checker(file: &TestFile, function: &TestFunction) -> Result<Checker, String> {
    let mut builder = CheckerBuilder::new();
    for comment in file.preamble_comments.iter().chain(&function.comments) {
        builder.directive(comment.text).map_err(|error| format!("line {}: {error}", comment.line))?;
    }
    Ok(builder.finish())
}

/// Checks a text against the filecheck directives of a function.
///
/// # Errors
/// What did not match, or what is wrong with a directive.
pub(crate) fn filecheck(file: &TestFile, function: &TestFunction, text: &str) -> Result<(), String> {
    let checker = checker(file, function)?;
    match checker.check(text, NO_VARIABLES) {
        Ok(true) => Ok(()),
        Ok(false) => {
            let explained = checker.explain(text, NO_VARIABLES).map(|(_, text)| text);
            let name = &function.function.name;
            Err(format!("{name} in line {}: filecheck failed\n{}", function.line, explained.unwrap_or_default()))
        }
        Err(error) => Err(format!("{} in line {}: {error}", function.function.name, function.line)),
    }
}
