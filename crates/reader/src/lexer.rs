//! Lexer: splits bytes into tokens on demand. The parser requests the kind of token that it expects next.
//!
//! White space and comments before each token are skipped. Comments are recorded on request; data directives in
//! comments are always recorded.

use crate::error::{ErrorKind, Result, fault};
use crate::swar;
use std::ops::Range;

const WORD: u8 = 1;
const NUMBER: u8 = 2;
/// White space, other control characters, and the first byte of a comment: bytes with which no token begins.
const BETWEEN: u8 = 4;

/// Class of each byte: the tokens that it can continue, or a byte between tokens.
static CLASS: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        if (byte as u8).is_ascii_alphanumeric() || byte as u8 == b'_' {
            table[byte] = WORD | NUMBER;
        } else if byte as u8 <= b' ' || byte as u8 == b';' {
            table[byte] = BETWEEN;
        }
        byte += 1;
    }
    table[b'-' as usize] = NUMBER;
    table[b'.' as usize] = NUMBER;
    table
};

fn is_word(byte: u8) -> bool {
    CLASS[usize::from(byte)] & WORD != 0
}

/// Returns `true` unless white space or a comment begins with the byte.
#[inline(always)]
fn begins_token(byte: u8) -> bool {
    CLASS[usize::from(byte)] & BETWEEN == 0
}

/// Position in the text, and the comments found up to it.
pub(crate) struct Lexer<'a> {
    text: &'a [u8],
    position: usize,
    gather: bool,
    /// Comments found since they were last taken, if they are collected.
    comments: Vec<Range<usize>>,
    /// Data directives: comments that begin with `data:`, and comments that continue them.
    data: Vec<Range<usize>>,
    data_continues: bool,
    /// End of the last recorded comment. The parser may move backward, but comments are recorded once.
    remembered: usize,
}

impl<'a> Lexer<'a> {
    pub(crate) fn new(text: &'a [u8], gather: bool) -> Lexer<'a> {
        Lexer {
            text,
            position: 0,
            gather,
            comments: Vec::new(),
            data: Vec::new(),
            data_continues: false,
            remembered: 0,
        }
    }

    pub(crate) fn text(&self) -> &'a [u8] {
        self.text
    }

    pub(crate) fn position(&self) -> usize {
        self.position
    }

    pub(crate) fn set_position(&mut self, position: usize) {
        self.position = position;
    }

    pub(crate) fn gathers(&self) -> bool {
        self.gather
    }

    /// Returns `true` if there are comments since they were last taken.
    pub(crate) fn has_comments(&self) -> bool {
        !self.comments.is_empty()
    }

    /// Returns the end of the text that precedes `end` and the comments since they were last taken.
    pub(crate) fn end_of_text(&self, end: usize) -> usize {
        let end = self.comments.first().map_or(end, |comment| comment.start.min(end));
        self.text[..end].trim_ascii_end().len()
    }

    /// Returns the comments since they were last taken.
    pub(crate) fn take_comments(&mut self) -> std::vec::Drain<'_, Range<usize>> {
        self.comments.drain(..)
    }

    pub(crate) fn data_comments(&self) -> &[Range<usize>] {
        &self.data
    }

    /// Returns the byte at the position, or 0 at the end.
    #[inline]
    pub(crate) fn byte(&self) -> u8 {
        self.text.get(self.position).copied().unwrap_or(0)
    }

    #[inline]
    fn byte_at(&self, index: usize) -> u8 {
        self.text.get(index).copied().unwrap_or(0)
    }

    pub(crate) fn at_end(&self) -> bool {
        self.position >= self.text.len()
    }

    /// Returns the eight bytes from an index on, or `None` near the end of the text.
    #[inline]
    fn chunk(&self, index: usize) -> Option<u64> {
        Some(u64::from_le_bytes(*self.text.get(index..)?.first_chunk()?))
    }

    /// Skips white space and comments. The text to skip is nearly always empty, one space, or a line end and one
    /// space.
    #[inline(always)]
    pub(crate) fn skip(&mut self) {
        let byte = self.byte();
        if begins_token(byte) {
            return;
        }
        if byte == b' ' && begins_token(self.byte_at(self.position + 1)) {
            self.position += 1;
            return;
        }
        if byte == b'\n' && self.byte_at(self.position + 1) == b' ' && begins_token(self.byte_at(self.position + 2)) {
            self.position += 2;
            return;
        }
        self.skip_on();
    }

    #[inline(never)]
    fn skip_on(&mut self) {
        loop {
            let rest = &self.text[self.position..];
            let blank = |byte: &u8| matches!(byte, b' ' | b'\n' | b'\t' | b'\r' | 0x0b | 0x0c);
            self.position += rest.iter().position(|byte| !blank(byte)).unwrap_or(rest.len());
            if self.byte() != b';' {
                return;
            }
            self.comment();
        }
    }

    fn comment(&mut self) {
        let rest = &self.text[self.position..];
        let len = rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
        let range = self.position..self.position + len;
        self.position = range.end;
        if range.start < self.remembered {
            return;
        }
        self.remembered = range.end;
        let begins = self.data_continues || is_data_directive(&self.text[range.clone()]);
        if begins {
            self.data_continues = self.text[range.clone()].trim_ascii_end().ends_with(b",");
            self.data.push(range.clone());
        }
        if self.gather {
            self.comments.push(range);
        }
    }

    /// Skips to the next token and returns its first byte, or 0 at the end.
    #[inline]
    pub(crate) fn peek(&mut self) -> u8 {
        self.skip();
        self.byte()
    }

    /// Consumes a byte if it comes next, and returns `true` in that case.
    #[inline]
    pub(crate) fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == byte;
        self.position += usize::from(found);
        found
    }

    #[inline]
    pub(crate) fn expect(&mut self, byte: u8, what: &'static str) -> Result<()> {
        if self.eat(byte) { Ok(()) } else { self.expected(what) }
    }

    /// Consumes exactly these bytes, white space included, if they come next. Returns `true` in that case.
    #[inline(always)]
    pub(crate) fn eat_text(&mut self, text: &[u8]) -> bool {
        let found = self.text[self.position..].starts_with(text);
        if found {
            self.position += text.len();
        }
        found
    }

    /// Consumes two adjacent bytes if they come next, and returns `true` in that case.
    #[inline]
    pub(crate) fn eat_pair(&mut self, pair: [u8; 2]) -> bool {
        let found = self.peek() == pair[0] && self.byte_at(self.position + 1) == pair[1];
        if found {
            self.position += 2;
        }
        found
    }

    /// Fails because `what` was expected at the next token.
    #[cold]
    pub(crate) fn expected<T>(&mut self, what: &'static str) -> Result<T> {
        self.skip();
        fault(self.position, ErrorKind::Expected { what, found: self.excerpt().into() })
    }

    /// Returns the next token or character, for error messages.
    fn excerpt(&self) -> String {
        const MAX: usize = 24;
        let rest = &self.text[self.position.min(self.text.len())..];
        let word = rest.iter().take_while(|&&byte| is_word(byte)).count();
        let line = rest.iter().take_while(|&&byte| byte != b'\n').take(4 * MAX).count();
        let text = String::from_utf8_lossy(&rest[..if word > 0 { word.min(4 * MAX) } else { line }]).into_owned();
        text.chars().take(if word > 0 { MAX } else { 1 }).collect()
    }

    /// Consumes and returns the next token if it is a word.
    #[inline]
    pub(crate) fn try_word(&mut self) -> Option<&'a [u8]> {
        let first = self.peek();
        if !first.is_ascii_alphabetic() && first != b'_' {
            return None;
        }
        let start = self.position;
        self.position = self.end_of_word(start);
        Some(&self.text[start..self.position])
    }

    #[inline]
    pub(crate) fn word(&mut self, what: &'static str) -> Result<&'a [u8]> {
        match self.try_word() {
            Some(word) => Ok(word),
            None => self.expected(what),
        }
    }

    /// Returns the result of `lookup` for the next token. Consumes the token only if it is a word that `lookup`
    /// finds.
    #[inline(always)]
    pub(crate) fn known_word<T>(&mut self, lookup: impl Fn(&'a [u8]) -> Option<T>) -> Option<T> {
        self.skip();
        let start = self.position;
        // Nearly all words end at a byte below the digits, which is found quickly. If the text up to there contains
        // anything else, the word is not known.
        if let Some(len) = self.until_below_digits(start)
            && let Some(found) = lookup(&self.text[start..start + len])
        {
            self.position = start + len;
            return Some(found);
        }
        self.other_known_word(lookup)
    }

    #[cold]
    fn other_known_word<T>(&mut self, lookup: impl Fn(&'a [u8]) -> Option<T>) -> Option<T> {
        let start = self.position;
        let found = self.try_word().and_then(lookup);
        if found.is_none() {
            self.position = start;
        }
        found
    }

    /// Returns the number of bytes from an index to the next byte below the digits, if one is found among sixteen.
    #[inline(always)]
    fn until_below_digits(&self, index: usize) -> Option<usize> {
        match swar::until_below_digits(self.chunk(index)?) {
            8 => match swar::until_below_digits(self.chunk(index + 8)?) {
                8 => None,
                len => Some(8 + len),
            },
            len => Some(len),
        }
    }

    /// Consumes and returns a number token of up to seven decimal digits, without sign and leading zeros.
    #[inline(always)]
    pub(crate) fn try_small_number(&mut self) -> Option<u32> {
        self.skip();
        self.small_number_at(self.position)
    }

    /// Consumes and returns such a number after a `+`.
    #[inline(always)]
    pub(crate) fn try_small_offset(&mut self) -> Option<u32> {
        if self.peek() == b'+' { self.small_number_at(self.position + 1) } else { None }
    }

    #[inline(always)]
    fn small_number_at(&mut self, start: usize) -> Option<u32> {
        let chunk = self.chunk(start)?;
        if let count @ 1..8 = swar::digit_count(chunk)
            && (chunk as u8 != b'0' || count == 1)
            && CLASS[usize::from((chunk >> (8 * count)) as u8)] & NUMBER == 0
        {
            self.position = start + count;
            return Some(swar::decimal(chunk, count));
        }
        None
    }

    /// Consumes a word if it comes next, and returns `true` in that case.
    pub(crate) fn eat_word(&mut self, word: &[u8]) -> bool {
        self.skip();
        let found = self.text[self.position..].starts_with(word) && !is_word(self.byte_at(self.position + word.len()));
        if found {
            self.position += word.len();
        }
        found
    }

    /// Returns the end of the word at an index.
    #[inline]
    fn end_of_word(&self, start: usize) -> usize {
        match self.chunk(start).map(swar::word_len) {
            Some(len) if len < 8 => start + len,
            _ => self.end_of(start, WORD),
        }
    }

    /// Returns the end of the number at an index.
    #[inline]
    fn end_of_number(&self, start: usize) -> usize {
        match self.chunk(start).map(swar::number_len) {
            Some(len) if len < 8 => start + len,
            _ => self.end_of(start, NUMBER),
        }
    }

    /// Returns the end of a run of bytes of a class.
    fn end_of(&self, start: usize, class: u8) -> usize {
        let rest = &self.text[start.min(self.text.len())..];
        start + rest.iter().position(|&byte| CLASS[usize::from(byte)] & class == 0).unwrap_or(rest.len())
    }

    /// Consumes and returns the number of an entity with this prefix, if one comes next. The function is inlined,
    /// so that the prefix is a constant.
    #[inline(always)]
    pub(crate) fn try_entity(&mut self, prefix: &str) -> Option<u32> {
        self.skip();
        let digits = self.position + prefix.len();
        if !self.text[self.position..].starts_with(prefix.as_bytes()) {
            return None;
        }
        let (number, end) = self.entity_number(digits)?;
        self.position = end;
        Some(number)
    }

    #[inline(always)]
    pub(crate) fn entity(&mut self, prefix: &str, what: &'static str) -> Result<u32> {
        match self.try_entity(prefix) {
            Some(number) => Ok(number),
            None => self.expected(what),
        }
    }

    /// Returns a decimal number that fits 32 bits and ends its word, without leading zeros, and its end.
    #[inline(always)]
    fn entity_number(&self, start: usize) -> Option<(u32, usize)> {
        if let Some(chunk) = self.chunk(start)
            && let count @ 1..8 = swar::digit_count(chunk)
            && (chunk as u8 != b'0' || count == 1)
            && !is_word((chunk >> (8 * count)) as u8)
        {
            return Some((swar::decimal(chunk, count), start + count));
        }
        self.unusual_entity_number(start)
    }

    /// Parses an entity number byte by byte: for long numbers, at the end of the text, and for text that is no
    /// number.
    #[cold]
    fn unusual_entity_number(&self, start: usize) -> Option<(u32, usize)> {
        let mut number = 0_u64;
        let mut end = start;
        loop {
            let digit = self.byte_at(end).wrapping_sub(b'0');
            if digit > 9 {
                break;
            }
            number = number * 10 + u64::from(digit);
            end += 1;
            if end - start > 10 {
                return None;
            }
        }
        let leading_zero = self.byte_at(start) == b'0' && end - start > 1;
        if end == start || leading_zero || number > u64::from(u32::MAX) || is_word(self.byte_at(end)) {
            return None;
        }
        Some((number as u32, end))
    }

    /// Returns `true` if a value comes next.
    #[inline]
    pub(crate) fn at_value(&mut self) -> bool {
        self.peek() == b'v' && self.byte_at(self.position + 1).is_ascii_digit()
    }

    /// Consumes `%` and the name after it, which may be empty.
    pub(crate) fn try_name(&mut self) -> Option<&'a str> {
        if self.peek() != b'%' {
            return None;
        }
        let start = self.position + 1;
        self.position = self.end_of(start, WORD);
        std::str::from_utf8(&self.text[start..self.position]).ok()
    }

    /// Consumes and returns a number token with an optional sign.
    pub(crate) fn number(&mut self, what: &'static str) -> Result<&'a [u8]> {
        let start = match self.peek() {
            b'+' | b'-' => self.position + 1,
            _ => self.position,
        };
        if !matches!(self.byte_at(start), b'0'..=b'9' | b'.' | b'+' | b'-') {
            return self.expected(what);
        }
        let token = self.position;
        self.position = self.end_of_number(start + 1);
        Ok(&self.text[token..self.position])
    }

    /// Consumes and returns a float literal: a number with a point, or a word with an optional sign. `sNaN`
    /// requires a sign.
    pub(crate) fn float(&mut self, what: &'static str) -> Result<&'a [u8]> {
        let (start, signed) = match self.peek() {
            b'+' | b'-' => (self.position + 1, true),
            _ => (self.position, false),
        };
        let token = self.position;
        let mut end = self.end_of(start, NUMBER);
        let word = &self.text[start.min(end)..end];
        let named = matches!(word, b"NaN" | b"Inf") || (signed && word == b"sNaN");
        if named && self.byte_at(end) == b':' {
            end = self.end_of(end + 1, NUMBER);
        }
        let number = word.first().is_some_and(u8::is_ascii_digit) && word.contains(&b'.');
        if !named && !number {
            return self.expected(what);
        }
        self.position = end;
        Ok(&self.text[token..end])
    }

    /// Consumes and returns a text between quotes, without escapes.
    pub(crate) fn string(&mut self) -> Result<&'a str> {
        if self.peek() != b'"' {
            return self.expected("a string");
        }
        let start = self.position + 1;
        let rest = &self.text[start..];
        let Some(len) = rest.iter().position(|&byte| byte == b'"') else {
            return self.expected("a string that ends");
        };
        self.position = start + len + 1;
        // The whole text is UTF-8, and a quote is always a whole character.
        Ok(std::str::from_utf8(&rest[..len]).unwrap_or_default())
    }

    /// Consumes `@` directly followed by hexadecimal digits.
    pub(crate) fn source_location(&mut self) -> Result<u32> {
        let start = self.position + 1;
        let end = self.end_of(start, WORD);
        let digits = &self.text[start.min(end)..end];
        let parsed = std::str::from_utf8(digits).ok().and_then(|digits| u32::from_str_radix(digits, 16).ok());
        match parsed {
            Some(location) => {
                self.position = end;
                Ok(location)
            }
            None => self.expected("a source location of 32 bits"),
        }
    }

    /// Consumes and returns the rest of the line up to a comment.
    pub(crate) fn rest_of_line(&mut self) -> Range<usize> {
        let start = self.position;
        let rest = &self.text[start..];
        self.position += rest.iter().position(|&byte| byte == b'\n' || byte == b';').unwrap_or(rest.len());
        start..self.position
    }
}

/// Returns `true` if a comment is a data directive.
fn is_data_directive(comment: &[u8]) -> bool {
    let start = comment.iter().position(|&byte| byte != b';' && byte != b' ').unwrap_or(comment.len());
    comment[start..].starts_with(b"data:")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lexer(text: &str) -> Lexer<'_> {
        Lexer::new(text.as_bytes(), true)
    }

    #[test]
    fn entities() {
        for (text, number) in [("v0", 0), ("v7,", 7), (" v4294967295 ", u32::MAX)] {
            assert_eq!(lexer(text).try_entity("v"), Some(number), "{text}");
        }
        for text in ["", "v", "v01", "v4294967296", "v1x", "w1", "v99999999999999999999"] {
            assert_eq!(lexer(text).try_entity("v"), None, "{text}");
        }
    }

    #[test]
    fn numbers() {
        let number = |text| lexer(text).number("").map(|token| String::from_utf8_lossy(token).into_owned()).ok();
        assert_eq!(number("-8,").as_deref(), Some("-8"));
        assert_eq!(number("0x1_0]").as_deref(), Some("0x1_0"));
        assert_eq!(number("1-2").as_deref(), Some("1-2"));
        assert_eq!(number("+ 8"), None);
        assert_eq!(number("x"), None);
        let float = |text| lexer(text).float("").map(|token| String::from_utf8_lossy(token).into_owned()).ok();
        for text in ["0x1.8p-3", "-Inf", "NaN", "+NaN:0x12", "-sNaN:0x1", "0.0"] {
            assert_eq!(float(text).as_deref(), Some(text));
        }
        for text in ["sNaN:0x1", "0x1p3", "12", "", "-", "inf", "Inf2"] {
            assert_eq!(float(text), None, "{text}");
        }
    }

    #[test]
    fn comments_are_kept_and_data_is_found() {
        let mut lexer = lexer(" ; one\n;; data: %x rw zero=4,\n; &%y\n; two\nword");
        assert_eq!(lexer.try_word(), Some(&b"word"[..]));
        assert_eq!(lexer.take_comments().count(), 4);
        assert_eq!(lexer.data_comments().len(), 2);
        assert_eq!(lexer.take_comments().count(), 0);
        lexer.set_position(0);
        assert_eq!(lexer.peek(), b'w');
        assert_eq!((lexer.take_comments().count(), lexer.data_comments().len()), (0, 2));
    }

    #[test]
    fn words_and_names() {
        assert_eq!(lexer("%abc_1(").try_name(), Some("abc_1"));
        assert_eq!(lexer("% x").try_name(), Some(""));
        assert!(lexer("cold:").eat_word(b"cold") && !lexer("colder").eat_word(b"cold"));
        assert_eq!(lexer("\"a\nb\" c").string().ok(), Some("a\nb"));
        assert!(lexer("\"a").string().is_err());
        assert_eq!(lexer("@1f3a x").source_location().ok(), Some(0x1f3a));
        assert!(lexer("@1ffffffff").source_location().is_err());
    }
}
