//! The words before the operands of a memory access.

use kingpost_ir::memflags::Endianness;
use kingpost_ir::{AliasRegion, MemFlags, TrapCode};

use crate::error::{ErrorKind, Result, fault};
use crate::lexer::Lexer;

/// Parses any number of flags, up to the first other word or a value.
pub(crate) fn memflags(lexer: &mut Lexer) -> Result<MemFlags> {
    let mut flags = printed(lexer)?;
    loop {
        if lexer.at_value() {
            return Ok(flags);
        }
        let Some(word) = lexer.try_word() else { return Ok(flags) };
        let start = lexer.position() - word.len();
        flags = match word {
            b"notrap" => flags.with_notrap(),
            b"aligned" => flags.with_aligned(),
            b"readonly" => flags.with_readonly(),
            b"can_move" => flags.with_can_move(),
            b"little" => endian(flags, Endianness::Little, start)?,
            b"big" => endian(flags, Endianness::Big, start)?,
            [b'r', b'e', b'g', b'i', b'o', b'n', ..] => {
                lexer.set_position(start);
                let Some(number) = lexer.try_entity("region") else { return Ok(flags) };
                region(flags, number, start)?
            }
            _ => match TrapCode::from_name(word) {
                Some(code) => flags.with_trap_code(Some(code)),
                None => {
                    lexer.set_position(start);
                    return Ok(flags);
                }
            },
        };
    }
}

/// Parses flags in the order in which functions are printed, with one space after each.
#[inline]
fn printed(lexer: &mut Lexer) -> Result<MemFlags> {
    let mut flags = MemFlags::new();
    lexer.skip();
    if lexer.eat_text(b"notrap ") {
        flags = flags.with_notrap();
    }
    if lexer.eat_text(b"aligned ") {
        flags = flags.with_aligned();
    }
    if lexer.eat_text(b"readonly ") {
        flags = flags.with_readonly();
    }
    if lexer.eat_text(b"can_move ") {
        flags = flags.with_can_move();
    }
    if lexer.eat_text(b"little ") {
        flags = flags.with_endianness(Endianness::Little);
    }
    let start = lexer.position();
    match lexer.try_entity("region") {
        Some(number) => region(flags, number, start),
        None => Ok(flags),
    }
}

fn endian(flags: MemFlags, endianness: Endianness, position: usize) -> Result<MemFlags> {
    match (flags.endianness(), endianness) {
        (Some(Endianness::Big), Endianness::Little) => fault(position, ErrorKind::FlagConflict("little")),
        (Some(Endianness::Little), Endianness::Big) => fault(position, ErrorKind::FlagConflict("big")),
        _ => Ok(flags.with_endianness(endianness)),
    }
}

/// Adds an alias region to the flags. The verifier checks whether the region is declared.
fn region(flags: MemFlags, number: u32, position: usize) -> Result<MemFlags> {
    if flags.alias_region().is_some() {
        return fault(position, ErrorKind::FlagConflict("region"));
    }
    match flags.with_alias_region(Some(AliasRegion::from_u32(number))) {
        Some(flags) => Ok(flags),
        None => {
            let limit = u64::from(MemFlags::MAX_REGIONS) - 1;
            fault(position, ErrorKind::Limit { what: "an alias region's number", limit })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let mut lexer = Lexer::new(text.as_bytes(), false);
        let found = match memflags(&mut lexer) {
            Ok(flags) => {
                format!("{flags}|{}", String::from_utf8_lossy(lexer.text()[lexer.rest_of_line()].trim_ascii()))
            }
            Err(fault) => fault.kind.to_string(),
        };
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn flags() {
        check("v1", "|v1");
        check("aligned notrap v1", " notrap aligned|v1");
        check("notrap user7 readonly can_move little region3 v1", " user7 readonly can_move little region3|v1");
        check("little add v1", " little|add v1");
        check("heap_oob v1", "|v1");
        check("big little v1", "memory flag `little` contradicts an earlier one");
        check("region1 region1 v1", "memory flag `region` contradicts an earlier one");
        check("region5000 v1", "too large: an alias region's number is limited to 2046");
    }
}
