//! A file: a sequence of rules. Each rule begins at the text `Name:`, wherever it occurs; only the first may have
//! no name. An error in one rule therefore does not hide the next.

use crate::ast::{Block, Position, Precondition, Rule, Template};
use crate::error::RuleError;
use crate::scanner::Scanner;

/// A rule of a file, or an error.
#[derive(Clone, PartialEq, Debug)]
pub struct ParsedRule {
    /// Text after `Name:`, if it has one.
    pub name: Option<String>,
    /// The rule.
    pub rule: Result<Rule, RuleError>,
}

/// Option that the test driver reads from a comment.
const NEW_SHL_SEMANTICS: &str = "--new-sema";

/// Returns the rules of a text.
pub fn parse(text: &str) -> Vec<ParsedRule> {
    let starts: Vec<usize> = text.match_indices("Name:").map(|(offset, _)| offset).collect();
    let ends = starts.iter().copied().skip(1).chain([text.len()]);
    let unnamed = &text[..starts.first().copied().unwrap_or(text.len())];
    let new_shl_semantics = text.lines().any(|line| {
        let comment = line.trim_start().strip_prefix(';').map(str::trim_start);
        comment
            .and_then(|comment| comment.strip_prefix("TEST-ARGS:"))
            .is_some_and(|args| args.contains(NEW_SHL_SEMANTICS))
    });
    let mut rules = Vec::new();
    let mut at = Position { line: 1, column: 1 };
    for chunk in std::iter::once(unnamed).chain(starts.iter().copied().zip(ends).map(|(start, end)| &text[start..end]))
    {
        let mut scanner = Scanner::new(chunk, at);
        scanner.blank_lines();
        if !scanner.rest().is_empty() {
            let name = name(&mut scanner);
            let rule = rule(&mut scanner, name.clone(), new_shl_semantics);
            rules.push(ParsedRule { name, rule });
        }
        let mut end = Scanner::new(chunk, at);
        end.advance(chunk.len());
        at = end.position();
    }
    rules
}

/// Parses `Name: text`, up to the end of the line.
fn name(scanner: &mut Scanner<'_>) -> Option<String> {
    if !scanner.symbol("Name:") {
        return None;
    }
    let line = scanner.rest().lines().next().unwrap_or_default();
    scanner.advance(line.len());
    Some(line.trim().to_string())
}

fn rule(scanner: &mut Scanner<'_>, name: Option<String>, new_shl_semantics: bool) -> Result<Rule, RuleError> {
    scanner.blank_lines();
    let at = scanner.position();
    let precondition = if scanner.symbol("Pre:") { scanner.precondition()? } else { Precondition::True };
    let source = template(scanner, true)?;
    scanner.expect("=>")?;
    let target = template(scanner, false)?;
    let exprs = scanner.exprs();
    Ok(Rule { name, at, precondition, source, target, new_shl_semantics, exprs })
}

/// Parses blocks up to the arrow, or up to the end of the text.
fn template(scanner: &mut Scanner<'_>, is_source: bool) -> Result<Template, RuleError> {
    let mut blocks = vec![Block::default()];
    loop {
        scanner.blank_lines();
        let rest = scanner.rest();
        if rest.is_empty() || (is_source && rest.starts_with("=>")) {
            // Without instructions, the part before the first label is no block.
            if blocks.len() > 1 && blocks[0].statements.is_empty() {
                blocks.remove(0);
            }
            return Ok(Template { blocks });
        }
        if let Some((_, label)) = scanner.label() {
            blocks.push(Block { label: Some(label), statements: Vec::new() });
            continue;
        }
        let statement = scanner.statement()?;
        if let Some(block) = blocks.last_mut() {
            block.statements.push(statement);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ast::{ExprKind, Inst};
    use crate::error::ErrorKind;

    fn one(text: &str) -> Result<Rule, RuleError> {
        let mut rules = parse(text);
        assert_eq!(rules.len(), 1, "{text}");
        rules.remove(0).rule
    }

    #[test]
    fn rules_are_found_by_name() {
        let rules = parse(
            "; first\n%a = %x\n=>\n%a = %y ; scope is checked later\nName: two\nbroken\nName: three\n%a = 1\n=>\n%a=2",
        );
        let names: Vec<_> = rules.iter().map(|rule| rule.name.as_deref()).collect();
        assert_eq!(names, [None, Some("two"), Some("three")]);
        let errors: Vec<_> = rules.iter().map(|rule| rule.rule.as_ref().err().map(|error| error.at.line)).collect();
        assert_eq!(errors, [None, Some(6), None]);
    }

    #[test]
    fn percent_is_an_operator_after_an_operand() {
        let rule = one("Pre: C1 %u C2 == 0 && C1%C2 u<= C1/u C2\n%u = urem %u1, %u\n=>\n%u = C1 %u C2").unwrap();
        let Inst::Copy { value } = &rule.target.blocks[0].statements[0].inst else { panic!() };
        assert_eq!(crate::print::expression(&value.value), "C1 %u C2");
        let Precondition::All(parts) = rule.precondition else { panic!() };
        assert_eq!(parts.len(), 2);
    }

    #[test]
    fn brackets_open_expressions_and_conditions() {
        let pre = |text: &str| one(&format!("Pre: {text}\n%a = C\n=>\n%a = C")).map(|rule| rule.precondition);
        assert!(matches!(pre("((C | 1) == 3) && (!isPowerOf2(C))"), Ok(Precondition::All(_))));
        assert!(matches!(pre("(C1 & C2 == 0)"), Ok(Precondition::Compare(..))));
        assert!(matches!(pre("1 < C u<= 5"), Ok(Precondition::Compare(exprs, _)) if exprs.len() == 3));
        assert!(matches!(pre(""), Ok(Precondition::True)));
        assert_eq!(pre("isOdd(C)").unwrap_err().kind, ErrorKind::Function);
        assert_eq!(pre("log3(C) == 1").unwrap_err().kind, ErrorKind::Function);
        assert_eq!(pre("isPowerOf2(C, C)").unwrap_err().kind, ErrorKind::Function);
        assert_eq!(pre("C").unwrap_err().kind, ErrorKind::Syntax);
    }

    #[test]
    fn errors_have_places() {
        let error = one("Name: x\n%a = add nsw exact %x, %y\n=>\n%a = 0").unwrap_err();
        assert_eq!((error.kind, error.at), (ErrorKind::Flag, Position { line: 2, column: 14 }));
        let error = one("%a = frobnicate %x, %y\n=>\n%a = 0").unwrap_err();
        assert_eq!((error.kind, error.at), (ErrorKind::Syntax, Position { line: 1, column: 6 }));
        assert!(one("%a = add %x\n=>\n%a = 0").is_err());
        assert!(one("%a = add %x, %y").is_err());
        assert!(one("%a = 99999999999999999999\n=>\n%a = 0").is_err());
    }

    #[test]
    fn deep_nesting_is_an_error() {
        for (open, close) in [("(", ")"), ("~", ""), ("abs(", ")"), ("1 + (", ")"), ("- ", "")] {
            let text = format!("%a = C\n=>\n%a = {}C{}", open.repeat(100_000), close.repeat(100_000));
            assert!(one(&text).unwrap_err().message.contains("deeper"), "{open}");
        }
        let text = format!("%a = C\n=>\n%a = C{}", " + C".repeat(100_000));
        assert!(one(&text).unwrap_err().message.contains("deeper"));
        for open in ["(", "!", "!("] {
            let text = format!("Pre: {}C == 1\n%a = C\n=>\n%a = C", open.repeat(100_000));
            assert!(one(&text).is_err());
        }
        let text = format!("%a = i8{} %x\n=>\n%a = %x", "*".repeat(100_000));
        assert!(one(&text).is_err());
        let text = format!("%a = {}i8 %x\n=>\n%a = %x", "[2 x ".repeat(100_000));
        assert!(one(&text).is_err());
    }

    #[test]
    fn every_instruction_is_read() {
        let text = "%p = alloca i8, i32 4, align 8\n%q = getelementptr inbounds i8* %p, i64 1, 2\n%v = load i8* %q, align 2\n\
                    store %v, %p, align 4\n%z = zext i8 %v to i16\n%c = icmp %v, 3\n%d = icmp CC i8 %v, 3\n%e = icmp ult %v, %w\n\
                    %s = select i1 %c, Ty %x, [3 x i8]* null\n%t = i8 %x\nbr %c, label %l, label %m\nl:\nret i32 5\nm: \nunreachable\nskip\n=>\nl:\nskip";
        let rule = one(text).unwrap();
        assert_eq!(rule.source.blocks.iter().map(|block| block.statements.len()).collect::<Vec<_>>(), [11, 1, 2]);
        assert_eq!(rule.target.blocks.len(), 1);
        let Inst::Select { b, .. } = &rule.source.blocks[0].statements[8].inst else { panic!() };
        assert_eq!(b.value.kind, ExprKind::Null);
    }
}
