//! Scanner: splits characters into words. The meaning of a character depends on its place (`%u` is an operator
//! after an operand and a register before one). The parser therefore requests what it expects, and there is no list
//! of tokens.

use crate::ast::{ExprId, Position};
use crate::error::{ErrorKind, RuleError};

/// Maximum nesting depth.
pub(crate) const MAX_DEPTH: u32 = 100;

/// Position of a parser in a text.
pub(crate) struct Scanner<'a> {
    text: &'a str,
    offset: usize,
    at: Position,
    exprs: u32,
    depth: u32,
    /// Whether line ends have no meaning, and values have no percent sign.
    is_free: bool,
}

impl<'a> Scanner<'a> {
    /// Returns a scanner at the start of `text`, whose position in its file is `at`.
    pub(crate) fn new(text: &'a str, at: Position) -> Scanner<'a> {
        Scanner { text, offset: 0, at, exprs: 0, depth: 0, is_free: false }
    }

    /// Returns a scanner for text of the CLIF dialect, in which line ends have no meaning and values have no
    /// percent sign.
    pub(crate) fn free(text: &'a str, at: Position) -> Scanner<'a> {
        Scanner { is_free: true, ..Scanner::new(text, at) }
    }

    /// Returns `true` if values have no percent sign.
    pub(crate) fn is_free(&self) -> bool {
        self.is_free
    }

    /// Returns the text from here on.
    pub(crate) fn rest(&self) -> &'a str {
        &self.text[self.offset..]
    }

    /// Returns the position of the next character.
    pub(crate) fn position(&self) -> Position {
        self.at
    }

    /// Returns a number for a new expression.
    pub(crate) fn next_expr(&mut self) -> ExprId {
        self.exprs += 1;
        ExprId(self.exprs - 1)
    }

    /// Returns the number of expressions that have been numbered.
    pub(crate) fn exprs(&self) -> u32 {
        self.exprs
    }

    /// Returns an error at the current position.
    pub(crate) fn error(&self, message: impl Into<String>) -> RuleError {
        RuleError::new(ErrorKind::Syntax, self.at, message)
    }

    /// Returns an error at the current position: `what` was expected.
    pub(crate) fn expected(&self, what: &str) -> RuleError {
        let found = self.rest().lines().next().unwrap_or_default();
        let found: String = found.chars().take(20).collect();
        let found = if found.is_empty() { "the end of the line".to_string() } else { format!("'{found}'") };
        self.error(format!("expected {what}, found {found}"))
    }

    /// Runs a parser one nesting level deeper.
    pub(crate) fn deeper<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T, RuleError>) -> Result<T, RuleError> {
        if self.depth >= MAX_DEPTH {
            return Err(self.error(format!("nested deeper than {MAX_DEPTH} levels")));
        }
        self.depth += 1;
        let result = parse(self);
        self.depth -= 1;
        result
    }

    /// Runs a parser, and restores the position if it fails.
    pub(crate) fn attempt<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T, RuleError>) -> Result<T, RuleError> {
        let (offset, at) = (self.offset, self.at);
        let result = parse(self);
        if result.is_err() {
            (self.offset, self.at) = (offset, at);
        }
        result
    }

    /// Advances by a number of bytes.
    pub(crate) fn advance(&mut self, bytes: usize) {
        for character in self.text[self.offset..self.offset + bytes].chars() {
            if character == '\n' {
                self.at = Position { line: self.at.line + 1, column: 1 };
            } else {
                self.at.column += 1;
            }
        }
        self.offset += bytes;
    }

    /// Skips blanks; line ends too, if they have no meaning.
    pub(crate) fn blanks(&mut self) {
        if self.is_free {
            return self.blank_lines();
        }
        let rest = self.rest();
        self.advance(rest.len() - rest.trim_start_matches([' ', '\t', '\r']).len());
    }

    /// Skips blanks, line ends and comments.
    pub(crate) fn blank_lines(&mut self) {
        loop {
            let rest = self.rest();
            self.advance(rest.len() - rest.trim_start().len());
            if !self.rest().starts_with(';') {
                return;
            }
            self.advance(self.rest().find('\n').unwrap_or(self.rest().len()));
        }
    }

    /// Skips blanks, and returns `true` at the end of the line or text, or at a comment.
    pub(crate) fn at_line_end(&mut self) -> bool {
        self.blanks();
        self.rest().is_empty() || self.rest().starts_with(['\n', ';'])
    }

    /// Checks that the line ends here.
    pub(crate) fn line_end(&mut self) -> Result<(), RuleError> {
        if self.at_line_end() { Ok(()) } else { Err(self.expected("the end of the line")) }
    }

    /// Consumes a symbol if it is next, and returns `true` in that case.
    pub(crate) fn symbol(&mut self, symbol: &str) -> bool {
        self.blanks();
        let found = self.rest().starts_with(symbol);
        if found {
            self.advance(symbol.len());
        }
        found
    }

    /// Consumes a symbol.
    pub(crate) fn expect(&mut self, symbol: &str) -> Result<(), RuleError> {
        if self.symbol(symbol) { Ok(()) } else { Err(self.expected(&format!("'{symbol}'"))) }
    }

    /// Returns the letters, digits, points and underscores that are next.
    pub(crate) fn peek_word(&mut self) -> &'a str {
        self.blanks();
        let rest = self.rest();
        let end = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
        &rest[..end]
    }

    /// Consumes and returns the next word, which may be empty.
    pub(crate) fn word(&mut self) -> &'a str {
        let word = self.peek_word();
        self.advance(word.len());
        word
    }

    /// Consumes a word if it is next, and returns `true` in that case.
    pub(crate) fn keyword(&mut self, keyword: &str) -> bool {
        let found = self.peek_word() == keyword;
        if found {
            self.advance(keyword.len());
        }
        found
    }

    /// Parses a name after a percent sign.
    pub(crate) fn register(&mut self) -> Result<String, RuleError> {
        self.expect("%")?;
        let name = &self.rest()[..self.rest().find(|c: char| !is_word(c)).unwrap_or(self.rest().len())];
        if name.is_empty() {
            return Err(self.expected("the name of a register"));
        }
        self.advance(name.len());
        Ok(name.to_string())
    }
}

/// Returns `true` if a character may be part of a name.
pub(crate) fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '.'
}
