//! Parser of a file of rules. Each rule begins with the word `rule` at the start of a line, so that an error in one
//! rule does not hide the next.

use super::Condition;
use super::ast::{Bound, ClifRule, ConditionName, Node, NodeKind, TypeName, is_effect};
use crate::ast::{ExprKind, Position, Precondition};
use crate::error::{ErrorKind, RuleError};
use crate::scanner::Scanner;
use crate::vocabulary::Function;
use kingpost_ir::{Format, Opcode, Type};

/// A rule of a file, or an error.
#[derive(Clone, PartialEq, Debug)]
pub struct ParsedClifRule {
    /// Its name, if it could be read.
    pub name: Option<String>,
    /// The rule.
    pub rule: Result<ClifRule, RuleError>,
    /// Its text, up to the next rule.
    pub text: String,
}

/// Returns the rules of a text.
pub fn parse(text: &str) -> Vec<ParsedClifRule> {
    let mut chunks: Vec<(u32, String)> = vec![(1, String::new())];
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        let begins = line.strip_prefix("rule").is_some_and(|rest| rest.starts_with([' ', '\t']));
        if begins {
            chunks.push((number, String::new()));
        }
        if let Some((_, chunk)) = chunks.last_mut() {
            chunk.push_str(line);
        }
    }
    let mut rules = Vec::new();
    for (line, chunk) in chunks {
        let mut scanner = Scanner::free(&chunk, Position { line, column: 1 });
        scanner.blanks();
        if scanner.rest().is_empty() {
            continue;
        }
        let mut name = None;
        let rule = rule(&mut scanner, &mut name);
        rules.push(ParsedClifRule { name, rule, text: chunk.trim_end().to_string() });
    }
    rules
}

/// State while one rule is parsed.
struct Reader<'s, 'a> {
    scanner: &'s mut Scanner<'a>,
    nodes: u32,
}

fn rule(scanner: &mut Scanner<'_>, found: &mut Option<String>) -> Result<ClifRule, RuleError> {
    let at = scanner.position();
    if !scanner.keyword("rule") {
        return Err(scanner.expected("'rule'"));
    }
    let name = scanner.word().to_string();
    if name.is_empty() {
        return Err(scanner.expected("the name of a rule"));
    }
    *found = Some(name.clone());
    scanner.expect(":")?;
    let mut reader = Reader { scanner, nodes: 0 };
    let (is_condition, source) = reader.root()?;
    reader.scanner.expect("=>")?;
    let (target_is_condition, target) = reader.root()?;
    let nodes = reader.nodes;
    let precondition = if scanner.keyword("where") { scanner.disjunction()? } else { Precondition::True };
    let bounds = if scanner.keyword("at") { bounds(scanner, &source)? } else { Vec::new() };
    scanner.blanks();
    if !scanner.rest().is_empty() {
        return Err(scanner.expected("'where', 'at' or the end of the rule"));
    }
    let exprs = scanner.exprs();
    let rule = ClifRule { name, at, is_condition, source, target, precondition, bounds, nodes, exprs };
    if is_condition != target_is_condition {
        return Err(RuleError::new(ErrorKind::Syntax, at, "'cond' stands on both sides or on none"));
    }
    check_names(&rule)?;
    Ok(rule)
}

impl Reader<'_, '_> {
    fn root(&mut self) -> Result<(bool, Node), RuleError> {
        if !self.scanner.keyword("cond") {
            return Ok((false, self.node()?));
        }
        self.scanner.expect("(")?;
        let node = self.node()?;
        self.scanner.expect(")")?;
        Ok((true, node))
    }

    fn node(&mut self) -> Result<Node, RuleError> {
        self.scanner.blanks();
        let at = self.scanner.position();
        let name = self.name_of_inst()?;
        self.scanner.blanks();
        let word = self.scanner.peek_word();
        let is_name = word.starts_with(|c: char| c.is_ascii_lowercase());
        let after = self.scanner.rest()[word.len()..].trim_start();
        // `trunc` is an opcode of a value and a function of a constant.
        let argument = after.strip_prefix('(').map(str::trim_start);
        let is_function = Function::of_clif(word).is_some()
            && (Opcode::from_name(word.as_bytes()).is_none()
                || argument.is_some_and(|argument| !argument.starts_with(|c: char| c.is_ascii_lowercase())));
        let is_inst = word.contains('.') || argument.is_some() || matches!(word, "icmp" | "fcmp" | "nop" | "trap");
        let (mut ty, kind) = if is_name && is_inst && !is_function {
            self.inst(at)?
        } else if is_name && !is_function {
            self.scanner.advance(word.len());
            (None, NodeKind::Value(word.to_string()))
        } else {
            (None, NodeKind::Constant(self.scanner.expression()?))
        };
        if self.scanner.symbol(":") {
            ty = Some(type_name(self.scanner)?);
        }
        self.nodes += 1;
        Ok(Node { id: self.nodes - 1, at, name, ty, kind })
    }

    /// Parses `d =` before an instruction.
    fn name_of_inst(&mut self) -> Result<Option<String>, RuleError> {
        let word = self.scanner.peek_word();
        let after = self.scanner.rest()[word.len()..].trim_start();
        let is_named = word.starts_with(|c: char| c.is_ascii_lowercase())
            && after.strip_prefix('=').is_some_and(|rest| !rest.starts_with(['=', '>']));
        if !is_named {
            return Ok(None);
        }
        self.scanner.advance(word.len());
        self.scanner.expect("=")?;
        Ok(Some(word.to_string()))
    }

    fn inst(&mut self, at: Position) -> Result<(Option<TypeName>, NodeKind), RuleError> {
        let word = self.scanner.word();
        let (name, suffix) = word.split_once('.').map_or((word, None), |(name, suffix)| (name, Some(suffix)));
        let unknown = || RuleError::new(ErrorKind::Function, at, format!("no opcode {name}"));
        let opcode = Opcode::from_name(name.as_bytes()).ok_or_else(unknown)?;
        let ty = match suffix {
            Some(suffix) => Some(type_of_word(suffix).ok_or_else(|| self.scanner.error(format!("no type {suffix}")))?),
            None => None,
        };
        let format = opcode.format();
        let compares = matches!(format, Format::IntCompare | Format::FloatCompare);
        let formats = matches!(format, Format::Unary | Format::Binary | Format::Ternary);
        let is_pure = (compares || formats || opcode == Opcode::Bitcast) && opcode.info().results.len() == 1;
        if !is_pure && !is_effect(opcode) {
            return Err(RuleError::new(ErrorKind::Unsupported, at, format!("{opcode} in a rule")));
        }
        let condition = if compares { Some(self.condition(opcode)?) } else { None };
        let edges = match format {
            Format::Jump => 1,
            Format::Brif => 2,
            _ => 0,
        };
        let values = opcode.info().operands.len();
        let mut operands = Vec::new();
        if values + edges > 0 {
            self.scanner.expect("(")?;
            for index in 0..values + edges {
                if index > 0 {
                    self.scanner.expect(",")?;
                }
                let operand = if index < values { self.nested()? } else { self.edge()? };
                operands.push(operand);
            }
            if matches!(format, Format::Load | Format::Store) && self.scanner.symbol(",") {
                operands.push(self.offset()?);
            }
            self.scanner.expect(")")?;
        }
        Ok((ty, NodeKind::Inst { opcode, condition, operands }))
    }

    /// Parses a destination of a branch.
    fn edge(&mut self) -> Result<Node, RuleError> {
        self.scanner.blanks();
        let at = self.scanner.position();
        let name = self.scanner.word().to_string();
        if !name.starts_with(|c: char| c.is_ascii_lowercase()) {
            return Err(self.scanner.expected("the name of a destination"));
        }
        Ok(self.leaf(at, NodeKind::Edge(name)))
    }

    /// Parses the offset of an access to memory.
    fn offset(&mut self) -> Result<Node, RuleError> {
        self.scanner.blanks();
        let at = self.scanner.position();
        let expr = self.scanner.expression()?;
        Ok(self.leaf(at, NodeKind::Offset(expr)))
    }

    fn leaf(&mut self, at: Position, kind: NodeKind) -> Node {
        self.nodes += 1;
        Node { id: self.nodes - 1, at, name: None, ty: None, kind }
    }

    /// Parses a node one nesting level deeper.
    fn nested(&mut self) -> Result<Node, RuleError> {
        let nodes = &mut self.nodes;
        self.scanner.deeper(|scanner| {
            let mut reader = Reader { scanner, nodes: *nodes };
            let node = reader.node();
            *nodes = reader.nodes;
            node
        })
    }

    fn condition(&mut self, opcode: Opcode) -> Result<ConditionName, RuleError> {
        let inverse = self.scanner.symbol("!");
        let swapped = self.scanner.keyword("swap");
        if swapped {
            self.scanner.expect("(")?;
        }
        let name = self.scanner.word().to_string();
        if name.is_empty() {
            return Err(self.scanner.expected("a condition"));
        }
        if swapped {
            self.scanner.expect(")")?;
        }
        let fixed = Condition::named(opcode, &name).filter(|_| !inverse && !swapped);
        Ok(fixed.map_or(ConditionName::Named { name, inverse, swapped }, ConditionName::Fixed))
    }
}

fn type_of_word(word: &str) -> Option<TypeName> {
    match Type::from_name(word.as_bytes()) {
        Some(ty) => Some(TypeName::Fixed(ty)),
        None => word.starts_with(|c: char| c.is_ascii_uppercase()).then(|| TypeName::Named(word.to_string())),
    }
}

fn type_name(scanner: &mut Scanner<'_>) -> Result<TypeName, RuleError> {
    let word = scanner.peek_word();
    let ty = type_of_word(word).ok_or_else(|| scanner.expected("a type"))?;
    scanner.advance(word.len());
    Ok(ty)
}

/// Parses `lanes, N < M < W, T = i32 | i64, cc = eq | ne`.
fn bounds(scanner: &mut Scanner<'_>, source: &Node) -> Result<Vec<Bound>, RuleError> {
    let mut bounds = Vec::new();
    loop {
        bound(scanner, source, &mut bounds)?;
        if !scanner.symbol(",") {
            return Ok(bounds);
        }
    }
}

fn bound(scanner: &mut Scanner<'_>, source: &Node, bounds: &mut Vec<Bound>) -> Result<(), RuleError> {
    for (word, bound) in [("lanes", Bound::Lanes), ("any", Bound::Any)] {
        if scanner.keyword(word) {
            bounds.push(bound);
            return Ok(());
        }
    }
    let is_condition = scanner.peek_word().starts_with(|c: char| c.is_ascii_lowercase())
        && Type::from_name(scanner.peek_word().as_bytes()).is_none();
    if is_condition {
        let name = scanner.word().to_string();
        let opcode = compared_by(source, &name);
        let conditions = alternatives(scanner, "a condition", |word| Condition::named(opcode, word))?;
        bounds.push(Bound::Conditions(name, conditions));
        return Ok(());
    }
    let mut first = type_name(scanner)?;
    if let (TypeName::Named(name), true) = (&first, scanner_at(scanner, "=")) {
        let types = alternatives(scanner, "a type", |word| Type::from_name(word.as_bytes()))?;
        bounds.push(Bound::OneOf(name.clone(), types));
        return Ok(());
    }
    scanner.expect("<")?;
    loop {
        let second = type_name(scanner)?;
        bounds.push(Bound::Narrower(first, second.clone()));
        first = second;
        if !scanner.symbol("<") {
            return Ok(());
        }
    }
}

/// Returns the opcode whose condition has this name; `icmp` if there is none.
fn compared_by(source: &Node, name: &str) -> Opcode {
    let order = source.post_order();
    let mut opcodes = order.into_iter().filter_map(|node| match &node.kind {
        NodeKind::Inst { opcode, condition: Some(ConditionName::Named { name: known, .. }), .. } if known == name => {
            Some(*opcode)
        }
        _ => None,
    });
    opcodes.next().unwrap_or(Opcode::Icmp)
}

fn scanner_at(scanner: &mut Scanner<'_>, symbol: &str) -> bool {
    scanner.blanks();
    scanner.rest().starts_with(symbol)
}

/// Parses `= a | b`.
fn alternatives<T>(
    scanner: &mut Scanner<'_>,
    what: &str,
    named: impl Fn(&str) -> Option<T>,
) -> Result<Vec<T>, RuleError> {
    scanner.expect("=")?;
    let mut all = Vec::new();
    loop {
        let word = scanner.peek_word();
        let one = named(word).ok_or_else(|| scanner.expected(what))?;
        scanner.advance(word.len());
        all.push(one);
        if !scanner.symbol("|") {
            return Ok(all);
        }
    }
}

/// Checks that the source declares all names of the target and the conditions. A constant of the source must be a
/// name or a number, not an expression.
fn check_names(rule: &ClifRule) -> Result<(), RuleError> {
    let (mut values, mut constants, mut edges) = (Vec::new(), Vec::new(), Vec::new());
    let mut named = Vec::new();
    for node in rule.source.post_order() {
        named.extend(node.name.as_deref());
        match &node.kind {
            NodeKind::Value(name) => values.push(name.as_str()),
            NodeKind::Edge(name) => edges.push(name.as_str()),
            NodeKind::Constant(expr) | NodeKind::Offset(expr) => match &expr.kind {
                ExprKind::Constant(name) => constants.push(name.as_str()),
                ExprKind::Literal(_) if matches!(node.kind, NodeKind::Constant(_)) => {}
                _ => return Err(RuleError::new(ErrorKind::Scope, node.at, "an expression in the source")),
            },
            NodeKind::Inst { .. } => {}
        }
    }
    let is_misplaced = |node: &&Node| match (&node.name, &node.kind) {
        (None, _) => false,
        (Some(name), NodeKind::Inst { .. }) => {
            values.contains(&name.as_str()) || named.iter().filter(|other| *other == name).count() != 1
        }
        _ => true,
    };
    if let Some(node) = rule.all_nodes().find(is_misplaced) {
        return Err(RuleError::new(ErrorKind::Scope, node.at, "a name stands for one instruction of the source"));
    }
    if !rule.is_condition && !matches!(rule.source.kind, NodeKind::Inst { .. }) {
        return Err(RuleError::new(ErrorKind::Scope, rule.source.at, "the source is no instruction"));
    }
    check_effects(rule)?;
    if let Some(name) = edges.iter().find(|name| values.contains(name) || named.contains(name)) {
        let message = format!("{name} is a destination and a value");
        return Err(RuleError::new(ErrorKind::Scope, rule.source.at, message));
    }
    let conditions = rule.conditions();
    let may_be = |opcode: Opcode, name: &str| {
        let all = Condition::all_of(opcode);
        conditions.iter().any(|(known, choices)| *known == name && choices.iter().all(|choice| all.contains(choice)))
    };
    let mut expressions = rule.precondition.expressions();
    for node in rule.target.post_order() {
        match &node.kind {
            NodeKind::Value(name) if !values.contains(&name.as_str()) => {
                return Err(RuleError::new(ErrorKind::Scope, node.at, format!("{name} is not in the source")));
            }
            NodeKind::Edge(name) if !edges.contains(&name.as_str()) => {
                return Err(RuleError::new(ErrorKind::Scope, node.at, format!("{name} is not in the source")));
            }
            NodeKind::Constant(expr) | NodeKind::Offset(expr) => expressions.push(expr),
            NodeKind::Inst { opcode, condition: Some(ConditionName::Named { name, .. }), .. }
                if !may_be(*opcode, name) =>
            {
                return Err(RuleError::new(
                    ErrorKind::Scope,
                    node.at,
                    format!("condition {name} is not in the source"),
                ));
            }
            _ => {}
        }
    }
    while let Some(expr) = expressions.pop() {
        let known = match &expr.kind {
            ExprKind::Register(name) => values.contains(&name.as_str()) || named.contains(&name.as_str()),
            ExprKind::Constant(name) => constants.contains(&name.as_str()),
            ExprKind::Null | ExprKind::Undef => false,
            _ => true,
        };
        if !known {
            return Err(RuleError::new(ErrorKind::Scope, expr.at, format!("{expr} is not in the source")));
        }
        expressions.extend(expr.parts());
    }
    Ok(())
}

/// Checks that an instruction that is executed for its effect is a root, and that its replacement is of an allowed
/// kind. An access to memory must become an access of its kind, with an offset on both sides or on neither.
fn check_effects(rule: &ClifRule) -> Result<(), RuleError> {
    let error = |node: &Node, message: &str| Err(RuleError::new(ErrorKind::Unsupported, node.at, message));
    let effect_of = |node: &Node| match node.kind {
        NodeKind::Inst { opcode, .. } if is_effect(opcode) => Some(opcode),
        _ => None,
    };
    let is_root = |node: &Node| !rule.is_condition && [rule.source.id, rule.target.id].contains(&node.id);
    if let Some(node) = rule.all_nodes().find(|node| effect_of(node).is_some() && !is_root(node)) {
        return error(node, "what is executed for its effect is no operand");
    }
    let becomes: &[Format] = match effect_of(&rule.source).map(Opcode::format) {
        None => &[],
        Some(Format::Load) => &[Format::Load],
        Some(Format::Store) => &[Format::Store],
        Some(Format::CondTrap) => &[Format::CondTrap, Format::Trap, Format::Nullary],
        Some(Format::Brif) => &[Format::Brif, Format::Jump],
        Some(_) => return error(&rule.source, "no rule has this root"),
    };
    let fits = match effect_of(&rule.target) {
        None => becomes.is_empty(),
        Some(opcode) => becomes.contains(&opcode.format()),
    };
    if !fits || rule.source.offset().is_none() != rule.target.offset().is_none() {
        return error(&rule.target, "this cannot take the place of the source");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use kingpost_ir::condcodes::IntCC;

    #[test]
    fn effects() {
        let complaint = |text: &str| parse(text).remove(0).rule.err().map_or(String::new(), |error| error.message);
        assert_eq!(complaint("rule r : brif(icmp eq (x, 0), a, b) => brif(x, b, a)"), "");
        assert_eq!(complaint("rule r : trapz(C) => nop where C != 0"), "");
        assert_eq!(complaint("rule r : store(x, iadd(p, C), O) => store(x, p, O + C)"), "");
        assert_eq!(complaint("rule r : brif(x, a, b) => jump(c)"), "c is not in the source");
        assert_eq!(complaint("rule r : brif(a, a, a) => jump(a)"), "a is a destination and a value");
        assert_eq!(complaint("rule r : brif(a = ineg(x), a, b) => jump(b)"), "a is a destination and a value");
        assert_eq!(complaint("rule r : trapz(x) => x"), "this cannot take the place of the source");
        assert_eq!(complaint("rule r : store(x, p) => store(x, p, 8)"), "this cannot take the place of the source");
        let operand = "what is executed for its effect is no operand";
        assert_eq!(complaint("rule r : uextend(uload8(p)) => uload8(p)"), operand);
        assert_eq!(complaint("rule r : jump(a) => jump(a)"), "no rule has this root");
    }

    #[test]
    fn errors_have_places_and_hide_nothing() {
        let text = "; rules\nrule a : iadd(x, 0) => x\nrule b : iadd(x) => x\n\nrule c : iadd(x, y) =>\n  z\nrule d: nosuch(x) => x";
        let found: Vec<_> = parse(text)
            .into_iter()
            .map(|parsed| (parsed.name.unwrap_or_default(), parsed.rule.map_err(|error| error.to_string()).err()))
            .collect();
        let error = |text: &str| Some(text.to_string());
        assert_eq!(found[0], ("a".to_string(), None));
        assert_eq!(found[1], ("b".to_string(), error("3:16: expected ',', found ') => x'")));
        assert_eq!(found[2], ("c".to_string(), error("6:3: z is not in the source")));
        assert_eq!(found[3], ("d".to_string(), error("7:9: no opcode nosuch")));
    }

    #[test]
    fn conditions_and_bounds() {
        let rule = parse(
            "rule r : icmp cc (x: T, C) => icmp swap(cc) (C, x)\n  where C u< width(x) at T = i8 | i32, cc = eq | ne",
        )
        .remove(0)
        .rule
        .unwrap();
        assert_eq!(rule.conditions(), [("cc", [IntCC::Equal, IntCC::NotEqual].map(Condition::Int).to_vec())]);
        assert_eq!((rule.bounds.len(), rule.nodes), (2, 6));
    }
}
