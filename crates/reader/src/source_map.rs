//! Map from the entities of a function to their places in its text.
//!
//! Nothing is recorded while functions are read. If a function has an error, it is read a second time for the text
//! of each of its entities, so that correct functions cost nothing extra.

use kingpost_ir::AnyEntity;
use std::ops::Range;

use crate::parser::Parser;

/// The text of each entity of one function, as ranges of bytes.
#[derive(Clone, Default, Debug)]
pub struct SourceMap {
    /// Texts in their order. An instruction's aliases follow it under its name.
    spans: Vec<(AnyEntity, Range<usize>)>,
}

impl SourceMap {
    pub(crate) fn new(spans: Vec<(AnyEntity, Range<usize>)>) -> SourceMap {
        SourceMap { spans }
    }

    /// Reads a function again for the text of its entities, which have equal numbers then. `function_start` is the
    /// result of [`Parser::function_start`]. Cost: linear in the function.
    pub fn read(text: &[u8], function_start: usize) -> SourceMap {
        SourceMap { spans: Parser::spans(text, function_start) }
    }

    /// Returns the text of an entity: a declaration, a block's header, an instruction with its results, or the
    /// function's first line. `None` if the text does not contain it, as for entities that the compiler adds.
    pub fn range(&self, entity: AnyEntity) -> Option<Range<usize>> {
        self.spans.iter().find(|(other, _)| *other == entity).map(|(_, range)| range.clone())
    }

    /// Returns all entities with their texts, in the order of the text.
    pub fn iter(&self) -> impl Iterator<Item = (AnyEntity, Range<usize>)> {
        self.spans.iter().cloned()
    }

    /// Returns the text that a message about an entity refers to: a name in the message, or else the whole entity,
    /// or else the function's first line. Empty if nothing could be read.
    pub fn range_of(&self, text: &[u8], location: AnyEntity, message: &str) -> Range<usize> {
        let names = message.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| is_name(word));
        let mut named = names.filter_map(|name| self.word_in(text, location, name));
        named.next().or_else(|| self.range(location)).or_else(|| self.range(AnyEntity::Function)).unwrap_or_default()
    }

    /// Returns the place at which `word` occurs as a whole word in the text of an entity.
    fn word_in(&self, text: &[u8], entity: AnyEntity, word: &str) -> Option<Range<usize>> {
        let range = self.range(entity)?;
        let is_part = |at: usize| text.get(at).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
        let last = range.end.checked_sub(word.len())?;
        // The last occurrence is an operand; the first may be a result.
        let at = (range.start..=last).rev().find(|&at| {
            text[at..].starts_with(word.as_bytes()) && !is_part(at + word.len()) && (at == 0 || !is_part(at - 1))
        })?;
        Some(at..at + word.len())
    }
}

/// Returns `true` if the word consists of letters followed by a number, such as `v7`.
fn is_name(word: &str) -> bool {
    let digits = word.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    digits.len() < word.len() && !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use kingpost_ir::{Block, GlobalValue, Inst};

    const TEXT: &str = "\
; first
function %f(i32) -> i32 { ; here
    gv0 = vmctx

block7(v1: i32): ; header
    @0003 v11 = iadd v1, v1
    v3 -> v11
    jump block9(v3)

block9(v5: i32) cold:
    return v5
}
";

    #[test]
    fn every_entity_has_its_text() {
        let start = TEXT.find("function").unwrap();
        let map = SourceMap::read(TEXT.as_bytes(), start);
        let text = |entity: AnyEntity| map.range(entity).map(|range| &TEXT[range]);
        assert_eq!(text(AnyEntity::Function), Some("function %f(i32) -> i32 {"));
        assert_eq!(text(GlobalValue::from_u32(0).into()), Some("gv0 = vmctx"));
        assert_eq!(text(Block::from_u32(0).into()), Some("block7(v1: i32):"));
        assert_eq!(text(Inst::from_u32(0).into()), Some("@0003 v11 = iadd v1, v1"));
        assert_eq!(text(Inst::from_u32(1).into()), Some("jump block9(v3)"));
        assert_eq!(text(Block::from_u32(1).into()), Some("block9(v5: i32) cold:"));
        assert_eq!(text(Inst::from_u32(2).into()), Some("return v5"));
        assert_eq!(text(Inst::from_u32(3).into()), None);
    }

    #[test]
    fn words_are_found_whole() {
        let map = SourceMap::read(TEXT.as_bytes(), TEXT.find("function").unwrap());
        let column = |inst: u32, word: &str| {
            let range = map.word_in(TEXT.as_bytes(), Inst::from_u32(inst).into(), word)?;
            Some(range.start - TEXT[..range.start].rfind('\n')?)
        };
        assert_eq!((column(0, "v1"), column(0, "v11"), column(0, "v2")), (Some(26), Some(11), None));
        assert_eq!((column(1, "v3"), column(2, "v5"), column(2, "return v5 and more")), (Some(17), Some(12), None));
    }

    #[test]
    fn messages_point_at_names() {
        let map = SourceMap::read(TEXT.as_bytes(), TEXT.find("function").unwrap());
        let text = |location: AnyEntity, message| &TEXT[map.range_of(TEXT.as_bytes(), location, message)];
        assert_eq!(text(Inst::from_u32(1).into(), "i32 passed as v3 to block9"), "v3");
        assert_eq!(text(Inst::from_u32(1).into(), "nothing to point at"), "jump block9(v3)");
        assert_eq!(text(Inst::from_u32(9).into(), "v3 is added later"), "function %f(i32) -> i32 {");
    }

    #[test]
    fn unfinished_functions_have_what_could_be_read() {
        let text = "function %f() {\nblock0:\n    trap user1\n    v0 = ";
        let map = SourceMap::read(text.as_bytes(), 0);
        assert_eq!(map.range(Inst::from_u32(0).into()).map(|range| &text[range]), Some("trap user1"));
        assert!(SourceMap::read(b"", 7).range(AnyEntity::Function).is_none());
    }
}
