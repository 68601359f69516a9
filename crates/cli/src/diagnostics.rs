//! Diagnostics: errors in a text, shown at their positions.
//!
//! ```text
//! sum.clif:3:19: arg 1 (v0) has type i32, expected i64
//!   |
//! 3 |     v2 = iadd v1, v0
//!   |                   ^^ in %sum
//!   |
//!   = help: …
//! ```

use crate::input::Input;
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use clap::ValueEnum;
use kingpost_ir::verifier::VerifierError;
use kingpost_reader::{Error, Header, Position, SourceMap};
use serde_json::json;
use std::collections::BTreeSet;
use std::io::Write;
use std::ops::Range;
use std::sync::{Mutex, OnceLock, PoisonError};

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MessageFormat {
    /// With the line of the text and a mark below it. Colored on a terminal, unless `NO_COLOR` is set.
    Human,
    /// One line per error: `file:line:column: message`.
    Short,
    /// One JSON object per line.
    Json,
}

/// The format of diagnostics on standard error.
static FORMAT: OnceLock<MessageFormat> = OnceLock::new();

/// Maximum length of a line that is shown, in bytes.
const LONGEST_LINE: usize = 400;

/// Sets the format, once.
pub(crate) fn set_format(format: MessageFormat) {
    let _set_before = FORMAT.set(format);
}

fn format() -> MessageFormat {
    FORMAT.get().copied().unwrap_or(MessageFormat::Human)
}

/// Writes a message without a position to standard error. The message is lost if standard error is closed.
pub(crate) fn report(text: &str) {
    let text = text.trim_end();
    match format() {
        MessageFormat::Json => print(&as_json(text).to_string()),
        MessageFormat::Human | MessageFormat::Short => print(text),
    }
}

/// Returns a message as JSON. The position of a text `file:line:column: message` has fields of its own.
fn as_json(text: &str) -> serde_json::Value {
    let positioned = text.split_once(": ").and_then(|(place, message)| {
        let (place, column) = place.rsplit_once(':')?;
        let (file, line) = place.rsplit_once(':')?;
        let (line, column): (u32, u32) = (line.parse().ok()?, column.parse().ok()?);
        Some(json!({ "file": file, "line": line, "column": column, "message": message }))
    });
    positioned.unwrap_or_else(|| json!({ "message": text }))
}

/// Writes a note to standard error that `old` is now called `new`. Each note is written once. Equal names are
/// ignored.
pub(crate) fn note_renamed(kind: &str, old: &str, new: &str) {
    static NOTED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    if old != new && NOTED.lock().unwrap_or_else(PoisonError::into_inner).insert(format!("{kind} {old}")) {
        report(&format!("note: the {kind} `{old}` is called `{new}`"));
    }
}

fn print(text: &str) {
    let _ = writeln!(anstream::stderr().lock(), "{text}");
}

/// A setting, flag or target that options or the header of a file request and that does not exist.
pub(crate) struct Refused {
    /// The setting or flag; empty for a target.
    pub(crate) key: String,
    pub(crate) text: String,
}

/// An error in a text.
pub(crate) struct Diagnostic<'a> {
    pub(crate) input: &'a Input,
    /// The bytes of the error.
    pub(crate) range: Range<usize>,
    /// The function that contains them.
    pub(crate) function: Option<String>,
    pub(crate) message: String,
    /// A suggestion to fix the error.
    pub(crate) help: Option<String>,
}

impl<'a> Diagnostic<'a> {
    /// Returns a diagnostic for the word at an offset.
    pub(crate) fn at(input: &'a Input, start: usize, message: String) -> Diagnostic<'a> {
        Diagnostic { input, range: start..end_of_word(input.text(), start), function: None, message, help: None }
    }

    /// Returns the diagnostic for an error of the reader.
    pub(crate) fn of_text(input: &'a Input, error: &Error) -> Diagnostic<'a> {
        Diagnostic { help: error.kind.hint(), ..Diagnostic::at(input, error.offset, error.kind.to_string()) }
    }

    /// Returns the diagnostic for a setting, flag or target that the lines before a file's functions request and that
    /// does not exist.
    pub(crate) fn of_header(input: &'a Input, header: &Header, refused: Refused) -> Diagnostic<'a> {
        Diagnostic::at(input, header.start_of(&refused.key), refused.text)
    }

    /// Returns the diagnostics for the findings in a function that begins at an offset of the text, in the order of
    /// the findings.
    pub(crate) fn of_function(
        input: &'a Input,
        start: usize,
        name: &str,
        findings: Vec<VerifierError>,
    ) -> Vec<Diagnostic<'a>> {
        let map = SourceMap::read(input.text(), start);
        let diagnostics = findings.into_iter().map(|finding| Diagnostic {
            input,
            range: map.range_of(input.text(), finding.location, &finding.message),
            function: Some(name.to_string()),
            message: finding.message,
            help: None,
        });
        diagnostics.collect()
    }

    /// Writes the diagnostic to standard error.
    pub(crate) fn report(&self) {
        let position = self.input.position(self.range.start);
        match format() {
            MessageFormat::Human => print(&self.human(position)),
            MessageFormat::Short => print(&self.short(position)),
            MessageFormat::Json => print(&self.json(position)),
        }
    }

    fn short(&self, position: Position) -> String {
        let function = self.function.as_ref().map_or(String::new(), |name| format!("{name}: "));
        format!("{}:{position}: {function}{}", self.input.name, self.message)
    }

    fn json(&self, position: Position) -> String {
        let end = self.input.position(self.range.end);
        let object = json!({
            "file": self.input.name,
            "line": position.line,
            "column": position.column,
            "end_line": end.line,
            "end_column": end.column,
            "function": self.function,
            "message": self.message,
            "help": self.help,
        });
        object.to_string()
    }

    /// Returns the diagnostic with the line of the text, with colors for a terminal.
    fn human(&self, position: Position) -> String {
        let (line, marked) = self.first_line();
        if line.len() > LONGEST_LINE {
            return self.short(position);
        }
        let place = format!("{}:{position}", self.input.name);
        let label = self.function.as_ref().map(|name| format!("in {name}"));
        let marked = AnnotationKind::Primary.span(marked).label(label);
        let snippet = Snippet::source(line).line_start(position.line as usize).annotation(marked);
        let title = Level::ERROR.with_name(place).primary_title(&self.message);
        let group = match &self.help {
            Some(help) => title.element(snippet).element(Level::HELP.message(help)),
            None => title.element(snippet),
        };
        Renderer::styled().render(&[group])
    }

    /// Returns the line in which the error begins, and the range of the error in that line.
    fn first_line(&self) -> (String, Range<usize>) {
        let text = self.input.text();
        let is_end = |byte: &u8| *byte == b'\n';
        let at = self.range.start.min(text.len());
        let start = text[..at].iter().rposition(is_end).map_or(0, |index| index + 1);
        let end = text[at..].iter().position(is_end).map_or(text.len(), |index| at + index);
        let marked_end = self.range.end.clamp(at, end);
        let [before, marked, after] =
            [start..at, at..marked_end, marked_end..end].map(|range| String::from_utf8_lossy(&text[range]));
        (format!("{before}{marked}{after}"), before.len()..before.len() + marked.len())
    }
}

fn end_of_word(text: &[u8], start: usize) -> usize {
    let rest = &text[start.min(text.len())..];
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'%');
    start
        + rest
            .iter()
            .take_while(|&byte| is_word(byte))
            .count()
            .max(usize::from(rest.first().is_some_and(|&b| b != b'\n')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_fields() {
        let place = json!({ "file": "a:b.ra", "line": 3, "column": 7, "message": "rule 1: no" });
        assert_eq!(as_json("a:b.ra:3:7: rule 1: no"), place);
        for text in ["a.ra: no", "no", "a.ra:x:7: no"] {
            assert_eq!(as_json(text), json!({ "message": text }));
        }
    }
}
