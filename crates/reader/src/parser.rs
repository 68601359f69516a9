//! Parser of the functions of a text, one after the other.

use kingpost_ir::signature::{CallConv, Signature};
use kingpost_ir::{AnyEntity, Function};
use std::ops::Range;

use crate::context::{Context, Tables};
use crate::data_directive::{DataObject, data_objects};
use crate::error::{Error, ErrorKind, Fault, Lines, Result};
use crate::header::{Header, header};
use crate::lexer::Lexer;
use crate::signature::{function_name, signature};

/// Maximum length of a text in bytes, so that ids and pool indices fit 31 bits.
pub const MAX_TEXT_BYTES: usize = (1 << 31) - 1;

/// Options of the parser.
#[derive(Copy, Clone, Default, Debug)]
#[non_exhaustive]
pub struct Options {
    /// Calling convention of signatures without one. The default is `system_v` for files with `test run`, and
    /// `fast` for all other files.
    pub default_call_conv: Option<CallConv>,
}

/// Parser that reads functions one by one, so that a large file need not be in memory as a whole.
pub struct Parser<'a> {
    lexer: Lexer<'a>,
    tables: Tables,
    header: Header,
    default_call_conv: CallConv,
    /// Offset of the first byte of the function read last.
    function_start: usize,
    /// Position of the last error.
    lines: Lines,
}

impl<'a> Parser<'a> {
    /// Creates a parser of a text, and parses the lines before the functions.
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

    /// Returns the lines before the functions.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Returns the number of bytes of the text that have been read.
    pub fn position(&self) -> usize {
        self.lexer.position()
    }

    /// Returns the offset of the first byte of the function read last. [`Position::of`](crate::Position::of)
    /// converts it to line and column.
    pub fn function_start(&self) -> usize {
        self.function_start
    }

    /// Returns `true` if there is no other function.
    pub fn is_at_end(&mut self) -> bool {
        self.lexer.skip();
        self.lexer.at_end()
    }

    /// Reads the next function into `func`, replacing its contents. Returns `false` at the end of the text.
    ///
    /// # Errors
    /// If the text is malformed. `func` is then unfinished, and [`Parser::skip_to_next_function`] skips to the function
    /// after it.
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

    /// Skips to the next line that begins with `function`, after an error. Returns `false` if there is none.
    pub fn skip_to_next_function(&mut self) -> bool {
        const LINE: &[u8] = b"\nfunction ";
        let position = self.lexer.position();
        let rest = &self.lexer.text()[position..];
        let next = rest.windows(LINE.len()).position(|window| window == LINE);
        self.lexer.set_position(position + next.map_or(rest.len(), |next| next + 1));
        next.is_some()
    }

    /// Returns the data directives in the text that has been read.
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

    /// Reads the function at a byte offset of `text` again, as far as possible, for the text of its entities.
    pub(crate) fn spans(text: &[u8], function_start: usize) -> Vec<(AnyEntity, Range<usize>)> {
        let mut lexer = Lexer::new(text, true);
        lexer.set_position(function_start.min(text.len()));
        let (mut tables, mut func) = (Tables { claimed: function_start, ..Tables::default() }, Function::default());
        tables.clear();
        let default_call_conv = CallConv::Fast;
        let mut context = Context { lexer: &mut lexer, tables: &mut tables, func: &mut func, default_call_conv };
        // Errors in the text were reported when it was read first.
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
    /// Parses `function NAME signature { preamble blocks }` and the comments after it.
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

/// Reads a signature, such as `(i32 sext, f64) -> i64 system_v`. `default` is the calling convention if the text has
/// none.
///
/// ```
/// use kingpost_ir::signature::CallConv;
///
/// let signature = kingpost_reader::parse_signature("(i64, i8 uext) -> f64", CallConv::SystemV).unwrap();
/// assert_eq!(signature.to_string(), "(i64, i8 uext) -> f64 system_v");
/// let error = kingpost_reader::parse_signature("(i64) -> f65", CallConv::SystemV).unwrap_err();
/// assert_eq!(error.to_string(), "1:10: unknown type `f65`");
/// ```
///
/// # Errors
/// If the text is malformed or continues after the signature.
pub fn parse_signature(text: impl AsRef<[u8]>, default: CallConv) -> std::result::Result<Signature, Error> {
    let text = text.as_ref();
    let mut parsed = Signature::new(default);
    let mut whole = || {
        check_text(text)?;
        let mut lexer = Lexer::new(text, false);
        signature(&mut lexer, default, &mut parsed)?;
        lexer.skip();
        if lexer.at_end() { Ok(()) } else { lexer.expected("a calling convention or the end of the signature") }
    };
    whole().map_err(|fault| fault.locate(text))?;
    Ok(parsed)
}

/// Reads all functions of a text. Header lines may precede them.
///
/// # Errors
/// If the text is malformed.
pub fn parse_functions(text: impl AsRef<[u8]>) -> std::result::Result<Vec<Function>, Error> {
    let mut parser = Parser::new(text.as_ref(), Options::default())?;
    let mut functions = Vec::new();
    let mut func = Function::default();
    while parser.next_function(&mut func)? {
        // The tables of the copy have the exact size; the tables of `func` have already grown.
        functions.push(func.clone());
    }
    Ok(functions)
}
