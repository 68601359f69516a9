//! Constant expressions and conditions as Rust, on values of type `Bits`.

use super::leaf::Leaf;
use crate::ast::{Expr, ExprKind, Precondition};
use crate::error::{ErrorKind, RuleError};
use crate::vocabulary::{BinaryOp, Function, Predicate, Relation, UnaryOp};

fn unsupported(expr: &Expr) -> RuleError {
    RuleError::new(ErrorKind::Unsupported, expr.at, format!("{expr} in a rule that is compiled"))
}

impl Leaf<'_> {
    /// Returns the Rust expression for a constant expression.
    pub(super) fn expression(&mut self, expr: &Expr) -> Result<String, RuleError> {
        Ok(match &expr.kind {
            ExprKind::Constant(name) => self.constant_name(name),
            ExprKind::Literal(value) => format!("Bits::new({}, {value})", self.width(expr)?),
            ExprKind::Unary(UnaryOp::Not, a) => format!("!{}", self.operand(a)?),
            ExprKind::Unary(UnaryOp::Neg, a) => format!("-{}", self.operand(a)?),
            ExprKind::Binary(op, a, b) => {
                let (left, right) = (self.operand(a)?, self.operand(b)?);
                match op {
                    BinaryOp::Mul => format!("{left} * {right}"),
                    BinaryOp::Add => format!("{left} + {right}"),
                    BinaryOp::Sub => format!("{left} - {right}"),
                    BinaryOp::And => format!("{left} & {right}"),
                    BinaryOp::Xor => format!("{left} ^ {right}"),
                    BinaryOp::Or => format!("{left} | {right}"),
                    BinaryOp::Shl => format!("{left}.shift_left({})", self.expression(b)?),
                    BinaryOp::Lshr => format!("{left}.shift_right({})", self.expression(b)?),
                    BinaryOp::Ashr => format!("{left}.shift_right_signed({})", self.expression(b)?),
                    BinaryOp::Udiv | BinaryOp::Urem | BinaryOp::Sdiv | BinaryOp::Srem => return Err(unsupported(expr)),
                }
            }
            ExprKind::Call(Function::Width, args) => {
                let of = self.width(&args[0])?;
                format!("Bits::new({}, i128::from({of}))", self.width(expr)?)
            }
            ExprKind::Call(function @ (Function::ComputeKnownZeroBits | Function::ComputeKnownOneBits), args) => {
                let analysis = if *function == Function::ComputeKnownZeroBits { "zeros" } else { "ones" };
                format!("{analysis}(g, {})", self.value(&args[0])?)
            }
            ExprKind::Call(function, args) => {
                let first = self.operand(&args[0])?;
                match function {
                    Function::Trunc | Function::Zext => format!("{first}.resize({})", self.width(expr)?),
                    Function::Sext => format!("{first}.sign_extend({})", self.width(expr)?),
                    Function::Log2 => format!("{first}.log2({})", self.width(expr)?),
                    Function::CountTrailingZeros => format!("{first}.trailing_zeros({})", self.width(expr)?),
                    Function::Umax => format!("{first}.umax({})", self.expression(&args[1])?),
                    _ => return Err(unsupported(expr)),
                }
            }
            ExprKind::Register(_) | ExprKind::Bool(_) | ExprKind::Null | ExprKind::Undef => {
                return Err(unsupported(expr));
            }
        })
    }

    /// Returns the name of the value to which a condition refers.
    fn value(&mut self, expr: &Expr) -> Result<String, RuleError> {
        let ExprKind::Register(name) = &expr.kind else { return Err(unsupported(expr)) };
        Ok(self.value_name(name))
    }

    /// Returns an operand of an operator, in parentheses if it has an operator itself.
    fn operand(&mut self, expr: &Expr) -> Result<String, RuleError> {
        let text = self.expression(expr)?;
        let brackets = matches!(expr.kind, ExprKind::Unary(..) | ExprKind::Binary(..));
        Ok(if brackets { format!("({text})") } else { text })
    }

    /// Returns the conditions that must hold, each an expression of type `bool`.
    pub(super) fn conditions(&mut self, condition: &Precondition) -> Result<Vec<String>, RuleError> {
        Ok(match condition {
            Precondition::True => Vec::new(),
            Precondition::All(parts) => {
                let parts = parts.iter().map(|part| self.conditions(part)).collect::<Result<Vec<_>, _>>()?;
                parts.into_iter().flatten().collect()
            }
            Precondition::Any(parts) => {
                let parts = parts.iter().map(|part| Ok(self.conditions(part)?.join(" && ")));
                let parts = parts.collect::<Result<Vec<_>, RuleError>>()?;
                vec![format!("({})", parts.join(" || "))]
            }
            Precondition::Not(inner) => vec![format!("!({})", self.conditions(inner)?.join(" && "))],
            Precondition::Compare(exprs, relations) => {
                let pairs = exprs.windows(2).zip(relations);
                let compared = pairs.map(|(pair, relation)| self.comparison(&pair[0], *relation, &pair[1]));
                compared.collect::<Result<Vec<_>, _>>()?
            }
            Precondition::Predicate(_, Predicate::HasOneUse, args) => {
                vec![format!("g.is_sole({})", self.value(&args[0])?)]
            }
            Precondition::Predicate(_, predicate, args) => {
                let method = match predicate {
                    Predicate::IsPowerOf2 => "is_power_of_two",
                    Predicate::IsSignBit => "is_sign_bit",
                    _ => return Err(unsupported(&args[0])),
                };
                vec![format!("{}.{method}()", self.operand(&args[0])?)]
            }
        })
    }

    fn comparison(&mut self, a: &Expr, relation: Relation, b: &Expr) -> Result<String, RuleError> {
        let (left, right) = (self.operand(a)?, self.operand(b)?);
        Ok(match relation {
            Relation::Eq => format!("{left} == {right}"),
            Relation::Ne => format!("{left} != {right}"),
            Relation::Ugt => format!("{left}.unsigned() > {right}.unsigned()"),
            Relation::Uge => format!("{left}.unsigned() >= {right}.unsigned()"),
            Relation::Ult => format!("{left}.unsigned() < {right}.unsigned()"),
            Relation::Ule => format!("{left}.unsigned() <= {right}.unsigned()"),
            Relation::Sgt => format!("{left}.signed() > {right}.signed()"),
            Relation::Sge => format!("{left}.signed() >= {right}.signed()"),
            Relation::Slt => format!("{left}.signed() < {right}.signed()"),
            Relation::Sle => format!("{left}.signed() <= {right}.signed()"),
        })
    }
}
