//! Whole test files: header, functions with their comments, and data.

use kingpost_ir::{AnyEntity, Function};
use std::ops::Range;

use crate::data_directive::DataObject;
use crate::error::{Error, Lines, Position};
use crate::header::Header;
use crate::parser::{Options, Parser};
use crate::source_map::SourceMap;

/// A comment and the entity to which it belongs: the entity before it.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Comment<'a> {
    /// The entity. For comments before the first line of a function and after the function, it is the function.
    pub entity: AnyEntity,
    /// The comment from its first semicolon to the end of the line.
    pub text: &'a str,
    /// Offset of its first byte in the text.
    pub start: usize,
    /// Line, from 1.
    pub line: u32,
    /// Column of the semicolon in characters, from 1.
    pub column: u32,
}

impl Comment<'_> {
    /// Returns the position of its semicolon.
    pub fn position(&self) -> Position {
        Position { line: self.line, column: self.column }
    }
}

/// A function with the comments in it and after it.
#[derive(Clone, Debug)]
pub struct TestFunction<'a> {
    /// The function.
    pub function: Function,
    /// Line of the function's name in the file, from 1.
    pub line: u32,
    /// The comments in the order of the text.
    pub comments: Vec<Comment<'a>>,
    /// The text of its entities.
    pub source: SourceMap,
}

/// A test file.
#[derive(Clone, Debug)]
pub struct TestFile<'a> {
    /// The whole text.
    pub text: &'a str,
    /// Commands, settings, targets, and features.
    pub header: Header,
    /// Comments before the first function, which belong to every function.
    pub preamble_comments: Vec<Comment<'a>>,
    /// The functions in the order of the text.
    pub functions: Vec<TestFunction<'a>>,
    /// Data objects of the directives in comments.
    pub data: Vec<DataObject>,
}

/// Reads a test file, or any file of functions, with its comments.
///
/// # Errors
/// If the text is malformed.
pub fn parse_test(text: &str, options: Options) -> Result<TestFile<'_>, Error> {
    let mut parser = Parser::with_comments(text.as_bytes(), options, true)?;
    let mut lines = Lines::default();
    let preamble = parser.take_file_comments();
    let preamble_comments =
        preamble.into_iter().map(|range| comment(text, &mut lines, AnyEntity::Function, range)).collect();
    let (mut functions, mut function) = (Vec::new(), Function::default());
    loop {
        let line = lines.position(text.as_bytes(), parser.position()).line;
        if !parser.next_function(&mut function)? {
            break;
        }
        let comments = parser.function_comments().iter();
        let comments = comments.map(|(entity, range)| comment(text, &mut lines, *entity, range.clone())).collect();
        let source = SourceMap::new(parser.function_spans().to_vec());
        functions.push(TestFunction { function: function.clone(), line, comments, source });
    }
    let data = parser.data()?;
    Ok(TestFile { text, header: parser.header().clone(), preamble_comments, functions, data })
}

fn comment<'a>(text: &'a str, lines: &mut Lines, entity: AnyEntity, range: Range<usize>) -> Comment<'a> {
    let Position { line, column } = lines.position(text.as_bytes(), range.start);
    // Lines of some systems end in two characters.
    Comment { entity, start: range.start, text: text[range].trim_end_matches('\r'), line, column }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kingpost_ir::signature::CallConv;

    const TEXT: &str = "\
test run
; file
function %f() { ; of f
    ss0 = explicit_slot 8 ; of ss0
; still ss0
block0: ; of block0
    ; of block0 too
    return ; of return
} ; of f again
; run
function %g() {
block0:
    return
}
; äb ; run: %g() == []
";

    #[test]
    fn carriage_returns_belong_to_no_comment() {
        let file = parse_test("test cat\r\nfunction %f() { ; of f\r\n}\r\n", Options::default()).unwrap();
        assert_eq!((file.functions[0].comments[0].text, &*file.header.commands[0].name), ("; of f", "cat"));
    }

    #[test]
    fn comments_belong_to_what_stands_in_front() {
        let file = parse_test(TEXT, Options::default()).unwrap();
        assert_eq!(file.preamble_comments[0].text, "; file");
        let f = &file.functions[0];
        let described: Vec<String> =
            f.comments.iter().map(|c| format!("{:?} {}:{} {}", c.entity, c.line, c.column, c.text)).collect();
        assert_eq!(
            described,
            [
                "Function 3:17 ; of f",
                "StackSlot(ss0) 4:27 ; of ss0",
                "StackSlot(ss0) 5:1 ; still ss0",
                "Block(block0) 6:9 ; of block0",
                "Block(block0) 7:5 ; of block0 too",
                "Inst(inst0) 8:12 ; of return",
                "Function 9:3 ; of f again",
                "Function 10:1 ; run",
            ]
        );
        assert_eq!((file.functions[1].comments.len(), file.functions[1].line), (1, 11));
        assert_eq!(f.function.signature.call_conv, CallConv::SystemV);
    }
}
