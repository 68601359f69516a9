//! Names: the inputs of a rule, the instructions of each side, and unused registers.
//!
//! The target begins as a copy of the source without its stores and `unreachable`. A target instruction either
//! replaces the source instruction of its name, or is new. Source instructions that are not replaced are evaluated
//! again in the target, possibly from replaced operands.

use crate::ast::{Block, Expr, ExprKind, Inst, Position, Precondition, Rule, Statement};
use crate::error::{ErrorKind, RuleError};
use crate::vocabulary::Argument;
use std::collections::{HashMap, HashSet};

/// Maximum number of instructions on one side.
const MAX_STATEMENTS: usize = 1000;

/// A rule with its names resolved.
#[derive(Debug)]
pub struct Scopes<'a> {
    /// Registers that the source uses and does not define, in order of their first use.
    pub inputs: Vec<&'a str>,
    /// Abstract constants, in order of their first use.
    pub constants: Vec<&'a str>,
    /// The source's blocks, the entry first.
    pub source: Vec<Side<'a>>,
    /// The target's blocks, the entry first, including instructions inherited from the source.
    pub target: Vec<Side<'a>>,
    /// Number of times that each register is an operand in the source.
    pub uses: HashMap<&'a str, u32>,
}

/// A block of one side.
#[derive(Clone, Debug)]
pub struct Side<'a> {
    /// Its label; empty for an entry without a label.
    pub label: &'a str,
    /// Its instructions; every register is defined before it is used.
    pub statements: Vec<&'a Statement>,
}

/// Resolves the names of a rule.
///
/// # Errors
/// If a name is used without or before its definition, or defined twice, or if a register is unused.
pub fn check(rule: &Rule) -> Result<Scopes<'_>, RuleError> {
    let mut resolver = Resolver::default();
    resolver.source(rule)?;
    resolver.precondition(&rule.precondition)?;
    resolver.target(rule)?;
    resolver.unused(rule)?;
    let source = rule.source.blocks.iter().map(side).collect();
    Ok(Scopes {
        inputs: resolver.inputs,
        constants: resolver.constants,
        source,
        target: target_blocks(rule)?,
        uses: resolver.uses,
    })
}

fn side(block: &Block) -> Side<'_> {
    Side { label: block.label.as_deref().unwrap_or_default(), statements: block.statements.iter().collect() }
}

fn scope_error(at: Position, message: String) -> RuleError {
    RuleError::new(ErrorKind::Scope, at, message)
}

/// Returns all parts of an expression, first the expression itself.
fn all_parts(root: &Expr) -> Vec<&Expr> {
    let mut found = vec![root];
    let mut next = 0;
    while next < found.len() {
        found.extend(found[next].parts());
        next += 1;
    }
    found
}

/// Returns the expressions of an instruction's operands, with their parts.
fn expressions(statement: &Statement) -> Vec<&Expr> {
    statement.inst.operands().into_iter().flat_map(|operand| all_parts(&operand.value)).collect()
}

/// Returns the registers that an instruction uses.
fn registers(statement: &Statement) -> impl Iterator<Item = (&str, Position)> {
    expressions(statement).into_iter().filter_map(|expr| match &expr.kind {
        ExprKind::Register(name) => Some((name.as_str(), expr.at)),
        _ => None,
    })
}

fn statements(blocks: &[Block]) -> impl Iterator<Item = &Statement> {
    blocks.iter().flat_map(|block| &block.statements)
}

#[derive(Default)]
struct Resolver<'a> {
    inputs: Vec<&'a str>,
    constants: Vec<&'a str>,
    is_input: HashSet<&'a str>,
    in_source: HashSet<&'a str>,
    in_target: HashSet<&'a str>,
    uses: HashMap<&'a str, u32>,
    used_in_target: HashSet<&'a str>,
}

impl<'a> Resolver<'a> {
    fn source(&mut self, rule: &'a Rule) -> Result<(), RuleError> {
        check_size(&rule.source.blocks, rule.at)?;
        check_labels(&rule.source.blocks, rule.at)?;
        for statement in statements(&rule.source.blocks) {
            for operand in statement.inst.operands() {
                self.source_operand(&operand.value)?;
            }
            let Some(name) = statement.defines.as_deref() else { continue };
            if self.is_input.contains(name) || !self.in_source.insert(name) {
                return Err(scope_error(statement.at, format!("register %{name} is redefined")));
            }
        }
        Ok(())
    }

    fn source_operand(&mut self, expr: &'a Expr) -> Result<(), RuleError> {
        match &expr.kind {
            ExprKind::Register(name) => {
                if !self.in_source.contains(name.as_str()) && self.is_input.insert(name) {
                    self.inputs.push(name);
                }
                *self.uses.entry(name).or_default() += 1;
            }
            ExprKind::Constant(name) if !self.constants.contains(&name.as_str()) => self.constants.push(name),
            _ if expr.is_compound() => {
                return Err(RuleError::new(ErrorKind::Syntax, expr.at, "expressions are not allowed in the source"));
            }
            _ => {}
        }
        Ok(())
    }

    /// Checks that all names in an expression are defined. A register is an error as an operand of an operator, but
    /// not as an argument of a call.
    fn defined(&self, root: &'a Expr, mut register: impl FnMut(&str) -> bool) -> Result<(), RuleError> {
        for expr in all_parts(root) {
            match &expr.kind {
                ExprKind::Register(name) if !register(name) => {
                    return Err(scope_error(expr.at, format!("register %{name} is not defined here")));
                }
                ExprKind::Constant(name) if !self.constants.contains(&name.as_str()) => {
                    return Err(scope_error(expr.at, format!("constant {name} is not defined in the source")));
                }
                ExprKind::Unary(..) | ExprKind::Binary(..) => only_constants(expr)?,
                ExprKind::Undef if expr.id != root.id => {
                    return Err(RuleError::new(ErrorKind::Syntax, expr.at, "undef is no part of an expression"));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn precondition(&self, root: &'a Precondition) -> Result<(), RuleError> {
        for expr in root.expressions() {
            self.defined(expr, |name| self.is_input.contains(name) || self.in_source.contains(name))?;
        }
        let mut work = vec![root];
        while let Some(next) = work.pop() {
            match next {
                Precondition::Not(inner) => work.push(inner),
                Precondition::All(parts) | Precondition::Any(parts) => work.extend(parts),
                Precondition::Predicate(_, predicate, args) => {
                    for (arg, kind) in args.iter().zip(predicate.arguments()) {
                        self.argument(arg, *kind)?;
                    }
                }
                Precondition::True | Precondition::Compare(..) => {}
            }
        }
        Ok(())
    }

    fn argument(&self, arg: &Expr, kind: Argument) -> Result<(), RuleError> {
        match &arg.kind {
            ExprKind::Register(name) if kind == Argument::Input && !self.is_input.contains(name.as_str()) => {
                let message = format!("%{name} is no input: expected an input or a constant");
                Err(RuleError::new(ErrorKind::Function, arg.at, message))
            }
            _ => Ok(()),
        }
    }

    fn target(&mut self, rule: &'a Rule) -> Result<(), RuleError> {
        check_size(&rule.target.blocks, rule.at)?;
        check_labels(&rule.target.blocks, rule.at)?;
        for statement in statements(&rule.target.blocks) {
            for operand in statement.inst.operands() {
                self.defined(&operand.value, |name| {
                    self.is_input.contains(name) || self.in_source.contains(name) || self.in_target.contains(name)
                })?;
            }
            self.used_in_target.extend(registers(statement).map(|(name, _)| name));
            let Some(name) = statement.defines.as_deref() else { continue };
            if self.is_input.contains(name) || !self.in_target.insert(name) {
                return Err(scope_error(statement.at, format!("register %{name} is redefined")));
            }
        }
        Ok(())
    }

    fn unused(&self, rule: &'a Rule) -> Result<(), RuleError> {
        let unreachable = statements(&rule.target.blocks).any(|statement| statement.inst == Inst::Unreachable);
        let error = |statement: &Statement, what: &str| {
            let name = statement.defines.as_deref().unwrap_or_default();
            Err(RuleError::new(ErrorKind::UnusedTemporary, statement.at, format!("temporary register %{name} {what}")))
        };
        for statement in statements(&rule.source.blocks).filter(|_| !unreachable) {
            let Some(name) = statement.defines.as_deref() else { continue };
            let used = self.uses.contains_key(name) || self.used_in_target.contains(name);
            if !used && !self.in_target.contains(name) {
                return error(statement, "is unused and not overwritten");
            }
        }
        for statement in statements(&rule.target.blocks) {
            let Some(name) = statement.defines.as_deref() else { continue };
            if !self.in_source.contains(name) && !self.used_in_target.contains(name) {
                return error(statement, "is unused and does not overwrite a register of the source");
            }
        }
        Ok(())
    }
}

/// Checks that the operands of an operator are constants. Registers are allowed in calls and as whole operands
/// only.
fn only_constants(expr: &Expr) -> Result<(), RuleError> {
    match expr.parts().into_iter().find(|part| matches!(part.kind, ExprKind::Register(_))) {
        Some(part) => Err(RuleError::new(ErrorKind::Syntax, part.at, "only constants are allowed in expressions")),
        None => Ok(()),
    }
}

fn check_size(blocks: &[Block], at: Position) -> Result<(), RuleError> {
    let count = statements(blocks).count() + blocks.len();
    if count > MAX_STATEMENTS {
        return Err(RuleError::new(ErrorKind::Unsupported, at, format!("more than {MAX_STATEMENTS} instructions")));
    }
    Ok(())
}

/// Checks that labels are defined once, and that branches lead forward.
fn check_labels(blocks: &[Block], at: Position) -> Result<(), RuleError> {
    let mut seen = HashSet::new();
    for block in blocks {
        let label = block.label.as_deref().unwrap_or_default();
        if !seen.insert(label) {
            return Err(scope_error(at, format!("label {label} is redefined")));
        }
        for (index, statement) in block.statements.iter().enumerate() {
            if let Inst::Branch { labels, .. } = &statement.inst
                && let Some(back) = labels.iter().find(|label| seen.contains(label.as_str()))
            {
                return Err(scope_error(statement.at, format!("a branch back to {back}")));
            }
            if statement.inst.is_terminator() && index + 1 != block.statements.len() {
                return Err(scope_error(statement.at, "an instruction after the end of its block".to_string()));
            }
        }
    }
    Ok(())
}

/// Returns the target's blocks: the blocks of the source with the changes of the target.
fn target_blocks(rule: &Rule) -> Result<Vec<Side<'_>>, RuleError> {
    let replaced: HashSet<&str> = statements(&rule.target.blocks).filter_map(|s| s.defines.as_deref()).collect();
    let mut written: Vec<(&str, &Block)> =
        rule.target.blocks.iter().map(|block| (block.label.as_deref().unwrap_or_default(), block)).collect();
    // Instructions before the first label belong to the source's entry, even if that has a label.
    if let Some((label, _)) = written.first_mut()
        && label.is_empty()
    {
        *label = rule.source.blocks[0].label.as_deref().unwrap_or_default();
    }
    let mut sides = Vec::new();
    for block in &rule.source.blocks {
        let mut side = side(block);
        side.statements.retain(|statement| is_inherited(statement, &replaced));
        if let Some(index) = written.iter().position(|(label, _)| *label == side.label) {
            let (_, block) = written.remove(index);
            let end = block.statements.last().is_some_and(|last| last.inst.is_terminator());
            let inherited_end = side.statements.pop_if(|last| last.inst.is_terminator());
            side.statements.extend(&block.statements);
            side.statements.extend(inherited_end.filter(|_| !end));
        }
        sides.push(side);
    }
    sides.extend(written.into_iter().map(|(_, block)| self::side(block)));
    order(sides)
}

fn is_inherited(statement: &Statement, replaced: &HashSet<&str>) -> bool {
    let effect = matches!(statement.inst, Inst::Store { .. } | Inst::Unreachable);
    !effect && statement.defines.as_deref().is_none_or(|name| !replaced.contains(name))
}

/// Orders the instructions of each block so that definitions precede uses, because an inherited instruction may use
/// a new one.
fn order(sides: Vec<Side<'_>>) -> Result<Vec<Side<'_>>, RuleError> {
    let mut done = HashSet::new();
    let mut ordered = Vec::new();
    for side in sides {
        let defines: HashMap<&str, &Statement> =
            side.statements.iter().filter_map(|statement| Some((statement.defines.as_deref()?, *statement))).collect();
        let mut statements = Vec::new();
        for &statement in &side.statements {
            let mut work = vec![(statement, false)];
            let mut open = HashSet::new();
            while let Some((next, ready)) = work.pop() {
                let name = next.defines.as_deref();
                if name.is_some_and(|name| done.contains(name)) {
                    continue;
                }
                if ready {
                    done.extend(name);
                    statements.push(next);
                    continue;
                }
                if name.is_some_and(|name| !open.insert(name)) {
                    return Err(scope_error(
                        next.at,
                        format!("register %{} depends on itself", name.unwrap_or_default()),
                    ));
                }
                work.push((next, true));
                work.extend(
                    registers(next)
                        .filter(|(name, _)| !done.contains(name))
                        .filter_map(|(name, _)| defines.get(name).map(|definition| (*definition, false))),
                );
            }
        }
        ordered.push(Side { label: side.label, statements });
    }
    Ok(ordered)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::parse;

    fn kind(text: &str) -> Option<ErrorKind> {
        let rule = parse(text).remove(0).rule.unwrap();
        check(&rule).err().map(|error| error.kind)
    }

    #[test]
    fn names_that_are_not_defined() {
        assert_eq!(kind("%a = add %x, C\n=>\n%a = add C, %x"), None);
        assert_eq!(kind("%a = %x\n=>\n%a = %y"), Some(ErrorKind::Scope));
        assert_eq!(kind("%a = C1\n=>\n%a = C2"), Some(ErrorKind::Scope));
        assert_eq!(kind("Pre: C1 == 1\n%a = %x\n=>\n%a = 1"), Some(ErrorKind::Scope));
        assert_eq!(kind("%a = %x\n%a = %x\n=>\n%a = 1"), Some(ErrorKind::Scope));
        assert_eq!(kind("%a = %x\n=>\n%x = 1\n%a = %x"), Some(ErrorKind::Scope));
        assert_eq!(kind("%a = add C, C+1\n=>\n%a = 1"), Some(ErrorKind::Syntax));
        assert_eq!(kind("%a = %x\n=>\n%a = %x + 1"), Some(ErrorKind::Syntax));
        assert_eq!(
            kind("Pre: WillNotOverflowSignedAdd(%a, %x)\n%a = %x\n%b = %a\n=>\n%b = 1"),
            Some(ErrorKind::Function)
        );
    }

    #[test]
    fn registers_without_use() {
        let unused = Some(ErrorKind::UnusedTemporary);
        assert_eq!(kind("%a = %x\n%b = %x\n=>\n%b = 1"), unused);
        assert_eq!(kind("%a = %x\n=>\n%t = 1\n%a = 1"), unused);
        assert_eq!(kind("%a = %x\n%b = %x\n=>\nunreachable"), None);
    }

    #[test]
    fn definitions_come_before_uses() {
        let text = "%a = %x\n%b = %a\n%c = %b\n=>\n%t = %x\n%a = %t\n%c = %b";
        let rule = parse(text).remove(0).rule.unwrap();
        let scopes = check(&rule).unwrap();
        let names: Vec<_> = scopes.target[0].statements.iter().filter_map(|s| s.defines.as_deref()).collect();
        assert_eq!(names, ["t", "a", "b", "c"]);
        assert_eq!(kind("%a = %x\n%b = %a\n=>\n%a = %b"), Some(ErrorKind::Scope));
    }

    #[test]
    fn labels() {
        assert_eq!(kind("br %c, label %l, label %m\nl:\nm:\n=>\nl:\nret 1"), None);
        assert_eq!(kind("l:\nbr %c, label %l, label %l\n=>\nskip"), Some(ErrorKind::Scope));
        assert_eq!(kind("l:\nskip\nl:\nskip\n=>\nskip"), Some(ErrorKind::Scope));
    }
}
