//! Function after function out of one text.

use kingpost_ir::signature::CallConv;
use kingpost_ir::{AnyEntity, Function};
use std::ops::Range;

use crate::context::{Context, Tables};
use crate::data_directive::{DataObject, data_objects};
use crate::error::{Error, ErrorKind, Fault, Lines, Result};
use crate::header::{Header, header};
use crate::lexer::Lexer;
use crate::signature::{function_name, signature};

/// Texts may have this many bytes, so that ids and pool indices fit 31 bits.
pub const MAX_TEXT_BYTES: usize = (1 << 31) - 1;

/// How to read a text.
#[derive(Copy, Clone, Default, Debug)]
pub struct Options {
    /// Convention of signatures that name none. By default `system_v` for files with `test run`,
    /// otherwise `fast`.
    pub default_call_conv: Option<CallConv>,
}

/// Reads functions one by one, so that a large file need not be in memory as a whole.
pub struct Parser<'a> {
    lexer: Lexer<'a>,
    tables: Tables,
    header: Header,
    default_call_conv: CallConv,
    /// The first byte of the function read last.
    function_start: usize,
    /// Where the last error was.
    lines: Lines,
}

impl<'a> Parser<'a> {
    /// Starts with a text and reads the lines in front of the functions.
    ///
    /// # Errors
    /// If the text is too long or not UTF-8, or if its header is malformed.
    pub fn new(text: &'a [u8], options: Options) -> std::result::Result<Parser<'a>, Error> {
        Parser::with_comments(text, options, false)
    }

    pub(crate) fn with_comments(
        text: &'a [u8],
        options: Options,
        gather: bool,
    ) -> std::result::Result<Parser<'a>, Error> {
        check_text(text).map_err(|fault| fault.locate(text))?;
        let mut lexer = Lexer::new(text, gather);
        let header = header(&mut lexer).map_err(|fault| fault.locate(text))?;
        let default = if header.has_command("run") { CallConv::SystemV } else { CallConv::Fast };
        let default_call_conv = options.default_call_conv.unwrap_or(default);
        let (tables, lines) = (Tables::default(), Lines::default());
        Ok(Parser { lexer, tables, header, default_call_conv, function_start: 0, lines })
    }

    /// Returns the lines in front of the functions.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// How many bytes of the text have been read.
    pub fn position(&self) -> usize {
        self.lexer.position()
    }

    /// Returns the first byte of the function read last; [`Position::of`](crate::Position::of) turns it into line and
    /// column.
    pub fn function_start(&self) -> usize {
        self.function_start
    }

    /// Is there no other function?
    pub fn is_at_end(&mut self) -> bool {
        self.lexer.skip();
        self.lexer.at_end()
    }

    /// Reads the next function in place of the contents of `func`. `false` at the end of the text.
    ///
    /// # Errors
    /// If the text is malformed. `func` holds an unfinished function then;
    /// [`Parser::skip_to_next_function`] goes on.
    pub fn next_function(&mut self, func: &mut Function) -> std::result::Result<bool, Error> {
        if self.is_at_end() {
            return Ok(false);
        }
        self.function_start = self.lexer.position();
        func.clear();
        self.tables.clear();
        self.tables.claimed = self.function_start;
        let mut context = Context {
            lexer: &mut self.lexer,
            tables: &mut self.tables,
            func,
            default_call_conv: self.default_call_conv,
        };
        let result = context.function();
        self.tables.values.release();
        self.tables.blocks.release();
        match result {
            Ok(()) => Ok(true),
            Err(fault) => Err(fault.locate_after(self.lexer.text(), &mut self.lines)),
        }
    }

    /// After an error: goes on behind it with the next line that begins with `function`. `false` if
    /// there is none.
    pub fn skip_to_next_function(&mut self) -> bool {
        const LINE: &[u8] = b"\nfunction ";
        let position = self.lexer.position();
        let rest = &self.lexer.text()[position..];
        let next = rest.windows(LINE.len()).position(|window| window == LINE);
        self.lexer.set_position(position + next.map_or(rest.len(), |next| next + 1));
        next.is_some()
    }

    /// Returns the data directives in front of what has been read.
    ///
    /// # Errors
    /// If a directive is malformed or names an object again.
    pub fn data(&self) -> std::result::Result<Vec<DataObject>, Error> {
        data_objects(self.lexer.text(), self.lexer.data_comments()).map_err(|fault| fault.locate(self.lexer.text()))
    }

    pub(crate) fn take_file_comments(&mut self) -> Vec<Range<usize>> {
        self.lexer.skip();
        self.lexer.take_comments().collect()
    }

    /// Reads the function again that begins at a byte of `text`, as far as that goes, for the text of its entities.
    pub(crate) fn spans(text: &[u8], function_start: usize) -> Vec<(AnyEntity, Range<usize>)> {
        let mut lexer = Lexer::new(text, true);
        lexer.set_position(function_start.min(text.len()));
        let (mut tables, mut func) = (Tables { claimed: function_start, ..Tables::default() }, Function::default());
        tables.clear();
        let default_call_conv = CallConv::Fast;
        let mut context = Context { lexer: &mut lexer, tables: &mut tables, func: &mut func, default_call_conv };
        // What is wrong with the text has been said when it was read first.
        let _known = context.function();
        tables.spans
    }

    pub(crate) fn function_spans(&self) -> &[(AnyEntity, Range<usize>)] {
        &self.tables.spans
    }

    pub(crate) fn function_comments(&self) -> &[(AnyEntity, Range<usize>)] {
        &self.tables.comments
    }
}

fn check_text(text: &[u8]) -> Result<()> {
    if text.len() > MAX_TEXT_BYTES {
        let kind = ErrorKind::Limit { what: "the text's length in bytes", limit: MAX_TEXT_BYTES as u64 };
        return Err(Box::new(Fault { position: 0, kind }));
    }
    match std::str::from_utf8(text) {
        Ok(_) => Ok(()),
        Err(error) => Err(Box::new(Fault { position: error.valid_up_to(), kind: ErrorKind::InvalidUtf8 })),
    }
}

impl Context<'_, '_> {
    /// Parses `function NAME signature { preamble blocks }` and the comments behind it.
    fn function(&mut self) -> Result<()> {
        if !self.lexer.eat_word(b"function") {
            return self.lexer.expected("`function`");
        }
        self.func.name = function_name(self.lexer)?;
        signature(self.lexer, self.default_call_conv, &mut self.func.signature)?;
        self.lexer.expect(b'{', "`{`")?;
        self.claim(AnyEntity::Function);
        self.preamble()?;
        self.body()?;
        self.lexer.expect(b'}', "`}`")?;
        self.claim(AnyEntity::Function);
        Ok(())
    }
}

/// Reads all functions of a text. Header lines are allowed in front of them.
///
/// # Errors
/// If the text is malformed.
pub fn parse_functions(text: impl AsRef<[u8]>) -> std::result::Result<Vec<Function>, Error> {
    let mut parser = Parser::new(text.as_ref(), Options::default())?;
    let mut functions = Vec::new();
    let mut func = Function::default();
    while parser.next_function(&mut func)? {
        // The copy's tables have the right size at once; those of `func` have already grown.
        functions.push(func.clone());
    }
    Ok(functions)
}
