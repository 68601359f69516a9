//! Data objects in comments: `; data: %name align=16 ro = x"00ff", zero=8, &%symbol+4`.
//!
//! CLIF has no data; other tools treat these lines as ordinary comments. A directive that ends in a comma continues
//! in the next comment. `zero=N` may be written without an equals sign, for an object that is all zeros.

use kingpost_ir::extfunc::FuncName;
use std::collections::HashSet;
use std::ops::Range;

use crate::error::{ErrorKind, Result, fault};
use crate::lexer::Lexer;
use crate::literal;
use crate::signature::function_name;

/// A part of a data object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DataItem {
    /// These bytes.
    Bytes(Vec<u8>),
    /// This many zero bytes.
    Zero(u64),
    /// The address of a symbol, in the eight bytes of a pointer.
    Address {
        /// The symbol.
        symbol: FuncName,
        /// Offset that is added to its address, in bytes.
        offset: i64,
    },
}

/// A data object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DataObject {
    /// Its name.
    pub name: FuncName,
    /// Its alignment in bytes: a power of two.
    pub align: u64,
    /// Whether the program may write to it.
    pub writable: bool,
    /// Whether each thread has a copy of its own, which is writable.
    pub tls: bool,
    /// Its contents in order.
    pub items: Vec<DataItem>,
    /// Offset of the first byte of its directive. [`Position::of`](crate::Position::of) converts it to line and
    /// column.
    pub start: usize,
}

/// Maximum size of all data objects of a text, in bytes.
const MAX_BYTES: u64 = 1 << 30;

/// Parses the directives that the lexer found: comments that begin a directive or continue the one before.
pub(crate) fn data_objects(text: &[u8], comments: &[Range<usize>]) -> Result<Vec<DataObject>> {
    let mut objects = Vec::new();
    let mut names = HashSet::new();
    let (mut continues, mut size) = (false, 0);
    for range in comments {
        let part = &text[..range.end];
        let semicolons = part[range.start..].iter().take_while(|&&byte| byte == b';').count();
        let mut lexer = Lexer::new(part, false);
        lexer.set_position(range.start + semicolons);
        if !continues {
            let object = head(&mut lexer, range.start)?;
            if !names.insert(object.name.clone()) {
                return fault(range.start, ErrorKind::DuplicateData(object.name.to_string().into()));
            }
            objects.push(object);
        }
        if let Some(object) = objects.last_mut() {
            continues = items(&mut lexer, object, &mut size, continues)?;
        }
    }
    if continues {
        return fault(text.len(), ErrorKind::Expected { what: "more data after the last comma", found: "".into() });
    }
    Ok(objects)
}

/// Parses `data: NAME [align=N] ro|rw|tls`
fn head(lexer: &mut Lexer, start: usize) -> Result<DataObject> {
    if !lexer.eat_word(b"data") {
        return lexer.expected("`data:`");
    }
    lexer.expect(b':', "`:`")?;
    let name = function_name(lexer)?;
    let mut object = DataObject { name, align: 1, writable: false, tls: false, items: Vec::new(), start };
    if lexer.eat_word(b"align") {
        lexer.expect(b'=', "`=`")?;
        lexer.skip();
        let position = lexer.position();
        object.align = literal::unsigned(lexer, "an alignment in bytes")?;
        if !object.align.is_power_of_two() || object.align > 1 << 31 {
            return fault(position, ErrorKind::BadAlignment(object.align));
        }
    }
    object.tls = lexer.eat_word(b"tls");
    object.writable = object.tls || lexer.eat_word(b"rw");
    if !object.writable && !lexer.eat_word(b"ro") {
        return lexer.expected("`align=N`, `ro`, `rw` or `tls`");
    }
    Ok(object)
}

/// Parses the contents in one comment. Returns whether they continue in the next one.
fn items(lexer: &mut Lexer, object: &mut DataObject, size: &mut u64, continued: bool) -> Result<bool> {
    if !continued && !lexer.eat(b'=') && lexer.peek() != b'z' {
        return lexer.expected("`=` and the contents, or `zero=N`");
    }
    loop {
        let item = item(lexer)?;
        *size = size.saturating_add(item_bytes(&item));
        object.items.push(item);
        if *size > MAX_BYTES {
            return fault(lexer.position(), ErrorKind::Limit { what: "the size of all data", limit: MAX_BYTES });
        }
        if !lexer.eat(b',') {
            break;
        }
        if at_end(lexer) {
            return Ok(true);
        }
    }
    if at_end(lexer) { Ok(false) } else { lexer.expected("`,` or the end of the directive") }
}

fn at_end(lexer: &mut Lexer) -> bool {
    lexer.skip();
    lexer.at_end()
}

fn item_bytes(item: &DataItem) -> u64 {
    match item {
        DataItem::Bytes(bytes) => bytes.len() as u64,
        DataItem::Zero(count) => *count,
        DataItem::Address { .. } => 8,
    }
}

fn item(lexer: &mut Lexer) -> Result<DataItem> {
    if lexer.eat(b'&') {
        let symbol = function_name(lexer)?;
        return Ok(DataItem::Address { symbol, offset: literal::offset64(lexer)? });
    }
    if lexer.eat_word(b"zero") {
        lexer.expect(b'=', "`=`")?;
        return Ok(DataItem::Zero(literal::unsigned(lexer, "a number of bytes")?));
    }
    if lexer.eat_word(b"x") {
        lexer.skip();
        let position = lexer.position() + 1;
        return Ok(DataItem::Bytes(hex_string(lexer.string()?.as_bytes(), position)?));
    }
    lexer.expected("`x\"…\"`, `zero=N` or `&%symbol`")
}

/// Parses pairs of hexadecimal digits. White space and underscores between them are ignored.
fn hex_string(text: &[u8], position: usize) -> Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 2);
    let mut high = None;
    for (index, &byte) in text.iter().enumerate() {
        if byte == b'_' || byte.is_ascii_whitespace() {
            continue;
        }
        let Some(digit) = (byte as char).to_digit(16) else {
            let found = String::from_utf8_lossy(&text[index..]).chars().take(1).collect::<String>();
            let kind = ErrorKind::Expected { what: "a hexadecimal digit", found: found.into() };
            return fault(position + index, kind);
        };
        match high.take() {
            None => high = Some(digit as u8),
            Some(high) => bytes.push(high << 4 | digit as u8),
        }
    }
    if high.is_some() { fault(position, ErrorKind::OddDigits) } else { Ok(bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parser::{Options, Parser};

    fn read(text: &str) -> std::result::Result<Vec<DataObject>, String> {
        let mut parser = Parser::new(text.as_bytes(), Options::default()).map_err(|error| error.to_string())?;
        parser.take_file_comments();
        parser.data().map_err(|error| error.to_string())
    }

    #[test]
    fn objects() {
        let text = "; data: %table align=16 ro = x\"00 ff\", zero=2,\n;    &u0:3-8, &%f\n; data: %z rw zero=64\n;; data: u1:2 ro = x\"\"";
        let objects = read(text).unwrap();
        assert_eq!(objects.len(), 3);
        let offset = |symbol, offset| DataItem::Address { symbol, offset };
        assert_eq!(
            objects[0].items,
            [
                DataItem::Bytes(vec![0, 255]),
                DataItem::Zero(2),
                offset(FuncName::User(0, 3), -8),
                offset(FuncName::Named("f".into()), 0),
            ]
        );
        assert_eq!((objects[0].align, objects[0].writable, objects[1].writable), (16, false, true));
        assert_eq!(objects[2].name, FuncName::User(1, 2));
    }

    #[test]
    fn errors() {
        let error = |text| read(text).unwrap_err();
        assert_eq!(error("; data: %a ro = x\"0\""), "1:19: a byte of the constant lacks a digit");
        assert_eq!(error("; data: %a ro = x\"0g\""), "1:20: expected a hexadecimal digit, found `g`");
        assert_eq!(error("; data: %a rw zero=1\n; data: %a rw zero=1"), "2:1: data object %a is defined twice");
        assert_eq!(error("; data: %a align=3 rw zero=1"), "1:18: alignment 3 is not a power of two up to 2^31");
        assert_eq!(
            error("; data: %a rw zero=5000000000"),
            "1:30: too large: the size of all data is limited to 1073741824"
        );
        assert_eq!(
            error("; data: %a rw zero=1,"),
            "1:22: expected more data after the last comma, but the text ends here"
        );
        assert_eq!(error("; data: %a = x\"00\""), "1:12: expected `align=N`, `ro`, `rw` or `tls`, found `=`");
    }
}
