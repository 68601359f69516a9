//! Filecheck over the comments of a function.

use filecheck::{CheckerBuilder, NO_VARIABLES};
use kingpost_reader::{Comment, TestFile, TestFunction};

/// Returns the text after a directive such as `error:` at the start of a comment.
pub(crate) fn directive<'a>(comment: &Comment<'a>, name: &str) -> Option<&'a str> {
    let text = comment.text.trim_start_matches(';').trim_start();
    text.strip_prefix(name).map(str::trim)
}

/// Checks a text against the filecheck directives of a function: the directives of the file's head, then its own.
/// Returns the number of directives.
///
/// # Errors
/// The position and the text that did not match, or the error in a directive.
pub(crate) fn filecheck(file: &TestFile, function: &TestFunction, text: &str) -> Result<usize, String> {
    let (mut builder, mut directives) = (CheckerBuilder::new(), 0);
    for comment in file.preamble_comments.iter().chain(&function.comments) {
        let is_directive =
            builder.directive(comment.text).map_err(|error| format!("{}: {error}", comment.position()))?;
        directives += usize::from(is_directive);
    }
    let checker = builder.finish();
    match checker.check(text, NO_VARIABLES) {
        Ok(true) => Ok(directives),
        Ok(false) => {
            let explained = checker.explain(text, NO_VARIABLES).map(|(_, text)| text);
            let name = &function.function.name;
            Err(format!("{}:1: {name}: filecheck failed\n{}", function.line, explained.unwrap_or_default()))
        }
        Err(error) => Err(format!("{}:1: {}: {error}", function.line, function.function.name)),
    }
}
