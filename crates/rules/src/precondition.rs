//! Preconditions: `!` binds tightest, then `&&`, then `||`.

use crate::ast::{Expr, ExprKind, Position, Precondition};
use crate::error::{ErrorKind, RuleError};
use crate::scanner::Scanner;
use crate::vocabulary::{Argument, Predicate, Relation};

/// A longer symbol comes before one that is its prefix.
const RELATIONS: [Relation; 10] = [
    Relation::Eq,
    Relation::Ne,
    Relation::Uge,
    Relation::Ule,
    Relation::Ugt,
    Relation::Ult,
    Relation::Sge,
    Relation::Sle,
    Relation::Sgt,
    Relation::Slt,
];

impl Scanner<'_> {
    /// Parses the text after `Pre:` up to the end of the line.
    pub(crate) fn precondition(&mut self) -> Result<Precondition, RuleError> {
        let condition = if self.at_line_end() { Precondition::True } else { self.disjunction()? };
        self.line_end()?;
        Ok(condition)
    }

    /// Parses a condition.
    pub(crate) fn disjunction(&mut self) -> Result<Precondition, RuleError> {
        self.joined("||", Self::conjunction, Precondition::Any)
    }

    fn conjunction(&mut self) -> Result<Precondition, RuleError> {
        self.joined("&&", Self::clause, Precondition::All)
    }

    fn joined(
        &mut self,
        symbol: &str,
        part: fn(&mut Self) -> Result<Precondition, RuleError>,
        join: fn(Vec<Precondition>) -> Precondition,
    ) -> Result<Precondition, RuleError> {
        let first = part(self)?;
        let mut parts = vec![first];
        while self.symbol(symbol) {
            parts.push(part(self)?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { join(parts) })
    }

    fn clause(&mut self) -> Result<Precondition, RuleError> {
        self.blanks();
        if self.rest().starts_with('!') && !self.rest().starts_with("!=") {
            self.advance(1);
            return Ok(Precondition::Not(Box::new(self.deeper(Self::clause)?)));
        }
        if self.keyword("true") {
            return Ok(Precondition::True);
        }
        if let Some(predicate) = self.predicate()? {
            return Ok(predicate);
        }
        // A parenthesis may open an expression or a condition; the text after it decides.
        let comparison = self.attempt(Self::comparison);
        match comparison {
            Err(_) if self.rest().starts_with('(') => {
                self.advance(1);
                let inner = self.deeper(Self::disjunction)?;
                self.expect(")")?;
                Ok(inner)
            }
            other => other,
        }
    }

    /// Parses `a < b u<= c`.
    fn comparison(&mut self) -> Result<Precondition, RuleError> {
        let mut exprs = vec![self.expression()?];
        let mut relations = Vec::new();
        while let Some(relation) = self.relation() {
            relations.push(relation);
            exprs.push(self.expression()?);
        }
        if relations.is_empty() {
            return Err(self.expected("a comparison"));
        }
        Ok(Precondition::Compare(exprs, relations))
    }

    fn relation(&mut self) -> Option<Relation> {
        self.blanks();
        RELATIONS.into_iter().find(|relation| self.symbol(relation.name()))
    }

    /// Parses a call of a predicate, if one is next that is not part of a comparison.
    fn predicate(&mut self) -> Result<Option<Precondition>, RuleError> {
        let at = self.position();
        let name = self.peek_word();
        let is_call = name.starts_with(|c: char| c.is_ascii_alphabetic())
            && self.rest()[name.len()..].trim_start().starts_with('(');
        if !is_call {
            return Ok(None);
        }
        let named = if self.is_free() { Predicate::of_clif(name) } else { Predicate::named(name) };
        let Some(predicate) = named else {
            return if self.call_stands_alone(name) {
                Err(RuleError::new(ErrorKind::Function, at, format!("unknown predicate: {name}")))
            } else {
                Ok(None)
            };
        };
        self.advance(name.len());
        let args = self.arguments()?;
        check_arguments(at, predicate, &args)?;
        Ok(Some(Precondition::Predicate(at, predicate, args)))
    }

    /// Returns `true` if the text after the call of `name` ends a clause.
    pub(crate) fn call_stands_alone(&self, name: &str) -> bool {
        let rest = self.rest()[name.len()..].trim_start();
        let mut depth = 0;
        for (offset, c) in rest.char_indices() {
            match c {
                '\n' => return false,
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                let after = rest[offset + 1..].trim_start_matches([' ', '\t', '\r']);
                return after.is_empty() || ["&&", "||", ")", ";", "\n"].iter().any(|end| after.starts_with(end));
            }
        }
        false
    }
}

fn check_arguments(at: Position, predicate: Predicate, args: &[Expr]) -> Result<(), RuleError> {
    let kinds = predicate.arguments();
    let name = predicate.name();
    if args.len() != kinds.len() {
        let message = format!("{name} takes {} arguments, not {}", kinds.len(), args.len());
        return Err(RuleError::new(ErrorKind::Function, at, message));
    }
    for (arg, kind) in args.iter().zip(kinds) {
        let is_register = matches!(arg.kind, ExprKind::Register(_));
        // It is not known here whether a register is an input, because names are resolved later.
        let allowed = match kind {
            Argument::Any | Argument::Input => true,
            Argument::Constant => !is_register,
            Argument::Register => is_register,
        };
        if !allowed {
            let wanted = if *kind == Argument::Register { "a register" } else { "a constant" };
            return Err(RuleError::new(ErrorKind::Function, arg.at, format!("{name} takes {wanted} here")));
        }
    }
    Ok(())
}
