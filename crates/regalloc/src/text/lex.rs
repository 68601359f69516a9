//! Words, numbers and punctuation of the `.ra` text form.

/// One token. Texts are slices of the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Token<'a> {
    /// Letters, digits and underscores, beginning with no digit.
    Word(&'a str),
    /// Digits, with or without a fraction.
    Number(&'a str),
    /// Name after `%`.
    Name(&'a str),
    /// Text between the quotes of `%"…"`, escapes as written.
    Quoted(&'a str),
    /// Any other character.
    Punct(char),
    /// `->`
    Arrow,
    /// `..`
    Range,
    Newline,
    End,
}

/// Cuts a text into tokens.
#[derive(Clone)]
pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Lexer<'a> {
        Lexer { text, at: 0 }
    }

    /// Returns the next token and the byte offset at which it begins. At the end of the text every call returns
    /// `End`.
    pub(super) fn next(&mut self) -> (Token<'a>, usize) {
        self.skip_blanks();
        let start = self.at;
        let rest = &self.text[start..];
        let Some(first) = rest.chars().next() else { return (Token::End, start) };
        let (token, len) = match first {
            '\n' => (Token::Newline, 1),
            'a'..='z' | 'A'..='Z' | '_' => {
                let len = run(rest, |c| c.is_ascii_alphanumeric() || c == '_');
                (Token::Word(&rest[..len]), len)
            }
            '0'..='9' => {
                let len = number(rest);
                (Token::Number(&rest[..len]), len)
            }
            '%' => name(rest),
            '-' if rest.starts_with("->") => (Token::Arrow, 2),
            '.' if rest.starts_with("..") => (Token::Range, 2),
            other => (Token::Punct(other), other.len_utf8()),
        };
        self.at = start + len;
        (token, start)
    }

    fn skip_blanks(&mut self) {
        let rest = &self.text[self.at..];
        let blanks = run(rest, |c| matches!(c, ' ' | '\t' | '\r'));
        let rest = &rest[blanks..];
        let comment = if rest.starts_with(';') { run(rest, |c| c != '\n') } else { 0 };
        self.at += blanks + comment;
    }
}

/// Returns the length of the longest prefix made of such characters.
fn run(text: &str, is_part: impl Fn(char) -> bool) -> usize {
    text.find(|c| !is_part(c)).unwrap_or(text.len())
}

fn number(text: &str) -> usize {
    let whole = run(text, |c| c.is_ascii_digit());
    match text[whole..].strip_prefix('.') {
        Some(fraction) if fraction.starts_with(|c: char| c.is_ascii_digit()) => {
            whole + 1 + run(fraction, |c| c.is_ascii_digit())
        }
        _ => whole,
    }
}

/// Returns `true` if a function name with this character needs no quotes.
pub(super) fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$' | ':')
}

fn name(text: &str) -> (Token<'_>, usize) {
    let Some(quoted) = text.strip_prefix("%\"") else {
        let len = 1 + run(&text[1..], is_name_char);
        return (Token::Name(&text[1..len]), len);
    };
    let mut escaped = false;
    for (i, c) in quoted.char_indices() {
        match c {
            '\n' => break,
            '"' if !escaped => return (Token::Quoted(&quoted[..i]), i + 3),
            _ => escaped = c == '\\' && !escaped,
        }
    }
    (Token::Punct('%'), 1)
}
