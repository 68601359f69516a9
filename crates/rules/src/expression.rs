//! Constant expressions, operands and types.
//!
//! Operators by precedence, the tightest first, all left-associative: `~ -` · `* / % /u %u` · `+ -` · `<< >> u>>` ·
//! `&` · `^` · `|`.

use crate::ast::{Expr, ExprKind, Operand, Position, TypeText};
use crate::error::{ErrorKind, RuleError};
use crate::scanner::{MAX_DEPTH, Scanner, is_word};
use crate::vocabulary::{BinaryOp, Function, UnaryOp};

/// Operators by precedence, the loosest first. A longer operator comes before one that is its prefix.
pub(crate) const LEVELS: [&[BinaryOp]; 6] = [
    &[BinaryOp::Or],
    &[BinaryOp::Xor],
    &[BinaryOp::And],
    &[BinaryOp::Shl, BinaryOp::Ashr, BinaryOp::Lshr],
    &[BinaryOp::Add, BinaryOp::Sub],
    &[BinaryOp::Mul, BinaryOp::Udiv, BinaryOp::Urem, BinaryOp::Sdiv, BinaryOp::Srem],
];

impl Scanner<'_> {
    /// Parses `[T] v`.
    pub(crate) fn operand(&mut self) -> Result<Operand, RuleError> {
        let ty = self.optional_type()?;
        Ok(Operand { ty, value: self.expression()? })
    }

    /// Parses a constant expression.
    pub(crate) fn expression(&mut self) -> Result<Expr, RuleError> {
        self.level(0)
    }

    fn level(&mut self, level: usize) -> Result<Expr, RuleError> {
        let Some(operators) = LEVELS.get(level) else { return self.prefix() };
        let mut left = self.level(level + 1)?;
        while let Some(op) = self.operator(operators) {
            let right = self.level(level + 1)?;
            let at = left.at;
            let depth = left.depth.max(right.depth);
            left = self.compound(at, depth, ExprKind::Binary(op, Box::new(left), Box::new(right)))?;
        }
        Ok(left)
    }

    fn operator(&mut self, operators: &[BinaryOp]) -> Option<BinaryOp> {
        self.blanks();
        let rest = self.rest();
        let found = operators.iter().copied().find(|op| {
            rest.strip_prefix(op.name()).is_some_and(|after| {
                // `/u2` divides by a name, `||` and `&&` join conditions.
                let joined = matches!(op, BinaryOp::Udiv | BinaryOp::Urem) && after.starts_with(is_word);
                let doubled = matches!(op, BinaryOp::And | BinaryOp::Or) && after.starts_with(op.name());
                !joined && !doubled
            })
        })?;
        self.advance(found.name().len());
        Some(found)
    }

    fn new_expr(&mut self, at: Position, depth: u32, kind: ExprKind) -> Expr {
        Expr { id: self.next_expr(), at, depth, kind }
    }

    /// Returns an expression whose parts are `depth` deep.
    fn compound(&mut self, at: Position, depth: u32, kind: ExprKind) -> Result<Expr, RuleError> {
        if depth >= MAX_DEPTH {
            return Err(self.error(format!("an expression deeper than {MAX_DEPTH} levels")));
        }
        Ok(self.new_expr(at, depth + 1, kind))
    }

    fn prefix(&mut self) -> Result<Expr, RuleError> {
        self.blanks();
        let at = self.position();
        let op = if self.symbol("~") {
            UnaryOp::Not
        } else if self.symbol("-") {
            self.blanks();
            if self.rest().starts_with(|c: char| c.is_ascii_digit()) {
                return self.literal(at, true);
            }
            UnaryOp::Neg
        } else {
            return self.atom();
        };
        let inner = self.deeper(Self::prefix)?;
        self.compound(at, inner.depth, ExprKind::Unary(op, Box::new(inner)))
    }

    fn atom(&mut self) -> Result<Expr, RuleError> {
        self.blanks();
        let at = self.position();
        let rest = self.rest();
        if rest.starts_with('%') {
            let name = self.register()?;
            return Ok(self.new_expr(at, 1, ExprKind::Register(name)));
        }
        if self.symbol("(") {
            let inner = self.deeper(Self::expression)?;
            self.expect(")")?;
            return Ok(inner);
        }
        let word = self.peek_word();
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            return self.literal(at, false);
        }
        self.advance(word.len());
        let kind = match word {
            "" => return Err(self.expected("a value")),
            "true" | "false" => ExprKind::Bool(word == "true"),
            "null" => ExprKind::Null,
            "undef" => ExprKind::Undef,
            _ if is_constant(word) => ExprKind::Constant(word.to_string()),
            _ if self.is_free() && !self.rest().trim_start().starts_with('(') => free_name(word),
            _ => return self.call(at, word),
        };
        Ok(self.new_expr(at, 1, kind))
    }

    fn literal(&mut self, at: Position, negative: bool) -> Result<Expr, RuleError> {
        let word = self.peek_word();
        let value: i128 = word
            .parse::<u64>()
            .map_err(|_| self.error(format!("'{word}' is no integer, or has more than 64 bits")))?
            .into();
        self.advance(word.len());
        Ok(self.new_expr(at, 1, ExprKind::Literal(if negative { -value } else { value })))
    }

    fn call(&mut self, at: Position, name: &str) -> Result<Expr, RuleError> {
        let args = self.arguments()?;
        let wrong = |message: String| RuleError::new(ErrorKind::Function, at, message);
        let named = if self.is_free() { Function::of_clif(name) } else { Function::named(name) };
        let function = named.ok_or_else(|| wrong(format!("unknown function: {name}")))?;
        if args.len() != function.arity() {
            return Err(wrong(format!("{name} takes {} arguments, not {}", function.arity(), args.len())));
        }
        let depth = args.iter().map(|arg| arg.depth).max().unwrap_or(0);
        self.compound(at, depth, ExprKind::Call(function, args))
    }

    /// Parses `(a, b)`.
    pub(crate) fn arguments(&mut self) -> Result<Vec<Expr>, RuleError> {
        self.expect("(")?;
        let mut args = Vec::new();
        if self.symbol(")") {
            return Ok(args);
        }
        loop {
            args.push(self.deeper(Self::expression)?);
            if !self.symbol(",") {
                self.expect(")")?;
                return Ok(args);
            }
        }
    }

    /// Parses a type, if one is next.
    pub(crate) fn optional_type(&mut self) -> Result<Option<TypeText>, RuleError> {
        let word = self.peek_word();
        let base = if self.rest().starts_with('[') {
            Some(self.deeper(Self::array)?)
        } else if let Some(width) = int_width(word) {
            self.advance(word.len());
            Some(TypeText::Int(width))
        } else if word.strip_prefix("Ty").is_some_and(all_digits) {
            self.advance(word.len());
            Some(TypeText::Named(word.to_string()))
        } else {
            None
        };
        let Some(mut ty) = base else { return Ok(None) };
        let mut stars = 0;
        while self.symbol("*") {
            stars += 1;
            if stars > MAX_DEPTH {
                return Err(self.error(format!("a pointer deeper than {MAX_DEPTH} levels")));
            }
            ty = TypeText::Pointer(Box::new(ty));
        }
        Ok(Some(ty))
    }

    fn array(&mut self) -> Result<TypeText, RuleError> {
        self.expect("[")?;
        let at = self.position();
        let length = self.expression()?;
        let ExprKind::Literal(length) = length.kind else {
            return Err(RuleError::new(ErrorKind::Unsupported, at, "an array length that is no literal"));
        };
        let length = u32::try_from(length).ok().filter(|length| (1..=1024).contains(length));
        let length = length.ok_or_else(|| RuleError::new(ErrorKind::Type, at, "an array of such a length"))?;
        if !self.keyword("x") {
            return Err(self.expected("'x'"));
        }
        let element = self.optional_type()?.ok_or_else(|| self.expected("a type"))?;
        self.expect("]")?;
        Ok(TypeText::Array(length, Box::new(element)))
    }
}

fn all_digits(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_digit())
}

/// Returns `true` if a word is an abstract constant: `C` and digits.
pub(crate) fn is_constant(word: &str) -> bool {
    word.strip_prefix('C').is_some_and(all_digits)
}

/// Returns the expression for a name without a percent sign. Names of constants begin with a capital letter.
fn free_name(word: &str) -> ExprKind {
    let name = word.to_string();
    if word.starts_with(|c: char| c.is_ascii_uppercase()) { ExprKind::Constant(name) } else { ExprKind::Register(name) }
}

/// Returns the number in `i8`.
fn int_width(word: &str) -> Option<u32> {
    word.strip_prefix('i').filter(|digits| !digits.is_empty() && all_digits(digits))?.parse().ok()
}
