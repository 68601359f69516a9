//! The common part of the `.ra` parser: tokens, errors, numbers, registers.

use super::error::{ParseError, ParseErrorKind};
use super::file::line_and_column;
use super::lex::{Lexer, Token};
use crate::problem::Freq;
use crate::reg::{PReg, PRegSet, RegClass};

pub(super) type Result<T> = std::result::Result<T, ParseError>;

/// A cursor over the tokens of a file.
pub(super) struct Parser<'a> {
    text: &'a str,
    lexer: Lexer<'a>,
    /// The current token.
    pub(super) token: Token<'a>,
    /// Offset of the current token in the text, in bytes.
    pub(super) start: usize,
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str) -> Parser<'a> {
        let mut lexer = Lexer::new(text);
        let (token, start) = lexer.next();
        Parser { text, lexer, token, start }
    }

    pub(super) fn advance(&mut self) {
        (self.token, self.start) = self.lexer.next();
    }

    pub(super) fn skip_newlines(&mut self) {
        while self.token == Token::Newline {
            self.advance();
        }
    }

    /// Returns an error at the current token.
    pub(super) fn error<T>(&self, kind: ParseErrorKind) -> Result<T> {
        self.error_at(self.start, kind)
    }

    /// Returns an error at a byte offset.
    pub(super) fn error_at<T>(&self, offset: usize, kind: ParseErrorKind) -> Result<T> {
        let (line, col) = line_and_column(self.text, offset);
        Err(ParseError { line, col, kind })
    }

    pub(super) fn unexpected<T>(&self, expected: &'static str) -> Result<T> {
        let found = match self.token {
            Token::End => "the end of the file".into(),
            Token::Newline => "the end of the line".into(),
            Token::Word(s) | Token::Number(s) | Token::Name(s) | Token::Quoted(s) => quote(s),
            Token::Punct(c) => quote(c.encode_utf8(&mut [0; 4])),
            Token::Arrow => quote("->"),
            Token::Range => quote(".."),
        };
        self.error(ParseErrorKind::Unexpected { found, expected })
    }

    pub(super) fn eat(&mut self, token: Token<'_>) -> bool {
        let eaten = self.token == token;
        if eaten {
            self.advance();
        }
        eaten
    }

    pub(super) fn eat_punct(&mut self, c: char) -> bool {
        self.eat(Token::Punct(c))
    }

    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        self.eat(Token::Word(word))
    }

    pub(super) fn expect(&mut self, token: Token<'_>, what: &'static str) -> Result<()> {
        if self.eat(token) { Ok(()) } else { self.unexpected(what) }
    }

    /// Reads a comma, after which the line may end. Returns `true` if there was one.
    pub(super) fn eat_comma(&mut self) -> bool {
        let eaten = self.eat_punct(',');
        if eaten {
            self.skip_newlines();
        }
        eaten
    }

    /// Parses the end of a statement. A closing brace also ends a statement, and is not consumed.
    pub(super) fn end_of_statement(&mut self) -> Result<()> {
        match self.token {
            Token::Newline => {
                self.skip_newlines();
                Ok(())
            }
            Token::Punct('}') | Token::End => Ok(()),
            _ => self.unexpected("the end of the line"),
        }
    }

    /// Parses `{` and the end of its line.
    pub(super) fn open_section(&mut self) -> Result<()> {
        self.expect(Token::Punct('{'), "`{`")?;
        self.skip_newlines();
        Ok(())
    }

    /// Parses a whole number up to `limit`.
    pub(super) fn number(&mut self, limit: u64) -> Result<u64> {
        let Token::Number(digits) = self.token else { return self.unexpected("a number") };
        if digits.contains('.') {
            return self.unexpected("a whole number");
        }
        match digits.parse::<u64>() {
            Ok(number) if number <= limit => {
                self.advance();
                Ok(number)
            }
            _ => self.error(ParseErrorKind::TooLarge { number: shorten(digits), limit }),
        }
    }

    /// Parses a decimal frequency and rounds it to the nearest representable one.
    pub(super) fn freq(&mut self) -> Result<Freq> {
        let Token::Number(digits) = self.token else { return self.unexpected("a frequency") };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let limit = (1 << (64 - Freq::FRACTION_BITS)) - 1;
        let too_large = ParseErrorKind::TooLarge { number: shorten(digits), limit };
        let whole = match whole.parse::<u64>() {
            Ok(whole) if whole <= limit => whole << Freq::FRACTION_BITS,
            _ => return self.error(too_large),
        };
        let fraction = &fraction[..fraction.len().min(18)];
        let scale = 10u128.pow(fraction.len() as u32);
        let parts = fraction.bytes().fold(0u128, |n, digit| n * 10 + u128::from(digit - b'0'));
        let rounded = ((parts << Freq::FRACTION_BITS) + scale / 2) / scale;
        match whole.checked_add(rounded as u64) {
            Some(freq) => {
                self.advance();
                Ok(Freq(freq))
            }
            None => self.error(too_large),
        }
    }

    /// Parses a word made of `letter` and a number below 2^32; returns the number and the word's offset.
    pub(super) fn entity(&mut self, letter: char, what: &'static str) -> Result<(u32, usize)> {
        let start = self.start;
        let Some((found, digits)) = self.numbered_word() else { return self.unexpected(what) };
        if found != letter {
            return self.unexpected(what);
        }
        match digits.parse::<u32>() {
            Ok(number) => {
                self.advance();
                Ok((number, start))
            }
            Err(_) => self.error(ParseErrorKind::TooLarge { number: shorten(digits), limit: u64::from(u32::MAX) }),
        }
    }

    /// Returns the letter of a word such as `v12` and its digits.
    pub(super) fn numbered_word(&self) -> Option<(char, &'a str)> {
        let Token::Word(word) = self.token else { return None };
        let mut chars = word.chars();
        let letter = chars.next()?;
        let digits = chars.as_str();
        (!digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())).then_some((letter, digits))
    }

    pub(super) fn at_reg(&self) -> bool {
        matches!(self.numbered_word(), Some(('r' | 'f', _)))
    }

    /// Parses a register.
    pub(super) fn reg(&mut self) -> Result<PReg> {
        let Some((letter @ ('r' | 'f'), digits)) = self.numbered_word() else {
            return self.unexpected("a register");
        };
        let class = if letter == 'r' { RegClass::Int } else { RegClass::Float };
        match digits.parse::<u8>() {
            Ok(enc) if usize::from(enc) < PReg::PER_CLASS => {
                self.advance();
                Ok(PReg::new(class, enc))
            }
            _ => {
                let (number, limit) = (shorten(digits), PReg::PER_CLASS as u64 - 1);
                self.error(ParseErrorKind::TooLarge { number, limit })
            }
        }
    }

    /// Parses `r3`, or a range `r3-r7`; calls `each` for every register.
    pub(super) fn reg_range(&mut self, mut each: impl FnMut(PReg)) -> Result<()> {
        let first = self.reg()?;
        let mut last = first;
        if self.eat_punct('-') {
            let start = self.start;
            last = self.reg()?;
            if last.class() != first.class() || last < first {
                let expected = "a later register of the same class";
                return self.error_at(start, ParseErrorKind::Unexpected { found: quote(&last.to_string()), expected });
            }
        }
        (first.index()..=last.index()).for_each(|i| each(PReg::from_index(i)));
        Ok(())
    }

    /// Parses `{r0, r2-r4, f1}`.
    pub(super) fn reg_set(&mut self) -> Result<PRegSet> {
        self.expect(Token::Punct('{'), "`{` and registers")?;
        let mut set = PRegSet::EMPTY;
        self.skip_newlines();
        while !self.eat_punct('}') {
            self.reg_range(|reg| set.insert(reg))?;
            self.skip_newlines();
            if !self.eat_comma() && self.token != Token::Punct('}') {
                return self.unexpected("`,` or `}`");
            }
        }
        Ok(set)
    }

    pub(super) fn class(&mut self) -> Result<RegClass> {
        let class = match self.token {
            Token::Word("int") => RegClass::Int,
            Token::Word("float") => RegClass::Float,
            _ => return self.unexpected("`int` or `float`"),
        };
        self.advance();
        Ok(class)
    }
}

fn quote(text: &str) -> String {
    format!("`{}`", shorten(text))
}

/// Returns at most 40 characters of `text`, because a message must not repeat a whole file.
fn shorten(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_string(),
    }
}
