//! The words of a kernel's C.

use anyhow::{Result, anyhow, bail};
use std::collections::HashMap;

/// A word of the language.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Word<'a> {
    Name(&'a str),
    /// Its value, and whether it is an unsigned integer of 64 bits.
    Integer {
        value: u64,
        is_unsigned: bool,
        is_long: bool,
    },
    Float(f64),
    Sign(&'static str),
    End,
}

/// Signs of the language, the longest first.
const SIGNS: &[&str] = &[
    "<<=", ">>=", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "++",
    "--", "+", "-", "*", "/", "%", "&", "|", "^", "~", "!", "<", ">", "=", "?", ":", ";", ",", "(", ")", "[", "]", "{",
    "}",
];

/// Splits a text into words, each with its line. Applies `#define NAME INTEGER`, and ignores `#include`.
///
/// # Errors
/// If a character begins no word, or an integer or float is invalid.
pub(super) fn words(text: &str) -> Result<Vec<(Word<'_>, usize)>> {
    let mut words = Vec::new();
    let mut constants: HashMap<&str, Word<'_>> = HashMap::new();
    for (number, line) in text.lines().enumerate() {
        let mut rest = line.split("//").next().unwrap_or_default().trim_start();
        if let Some(definition) = rest.strip_prefix("#define ") {
            let (name, value) = definition.split_once(' ').ok_or_else(|| anyhow!("line {}: no value", number + 1))?;
            constants.insert(name, next(value.trim())?.0);
            continue;
        }
        if rest.starts_with('#') {
            continue;
        }
        while !rest.is_empty() {
            let (word, after) = next(rest).map_err(|error| anyhow!("line {}: {error}", number + 1))?;
            let word = match word {
                Word::Name(name) => constants.get(name).copied().unwrap_or(word),
                _ => word,
            };
            words.push((word, number + 1));
            rest = after.trim_start();
        }
    }
    words.push((Word::End, text.lines().count()));
    Ok(words)
}

/// Returns the first word of a text, and the remaining text.
fn next(text: &str) -> Result<(Word<'_>, &str)> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let end = text.find(|c| !is_part(c)).unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    if word.starts_with(|c: char| c.is_ascii_digit()) {
        if rest.starts_with('.') {
            let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
            return Ok((Word::Float(text[..end].parse()?), &text[end..]));
        }
        return Ok((integer(word)?, rest));
    }
    if !word.is_empty() {
        return Ok((Word::Name(word), rest));
    }
    match SIGNS.iter().find(|sign| text.starts_with(**sign)) {
        Some(sign) => Ok((Word::Sign(sign), &text[sign.len()..])),
        None => bail!("no word: {text}"),
    }
}

fn integer(word: &str) -> Result<Word<'static>> {
    let digits = word.trim_end_matches(['u', 'l']);
    let suffix = &word[digits.len()..];
    let value = match digits.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16)?,
        None => digits.parse()?,
    };
    Ok(Word::Integer { value, is_unsigned: suffix.contains('u'), is_long: suffix.contains('l') })
}
