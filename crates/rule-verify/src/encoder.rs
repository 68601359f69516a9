//! State of the encoding of one rule at one typing as terms.
//!
//! The names of variables depend on the rule alone. Two arenas built from one rule and typing therefore have equal
//! variables, and a model found with one arena is replayed in the other.

use crate::memory_state::Memory;
use crate::template::{Template, bits};
use kingpost_rules::types::{Type, Typing};
use kingpost_rules::{ErrorKind, Expr, Position, RuleError};
use kingpost_smt::{MAX_WIDTH, Sort, Term, Terms};

/// Prefix of the names of the source's undefined values.
pub(crate) const SOURCE_UNDEF: &str = "undef.source.";

/// Terms under construction.
pub(crate) struct Encoder<'a> {
    pub(crate) terms: &'a mut Terms,
    pub(crate) typing: Typing<'a>,
    /// Whether `shl nsw 1, width-1` does not overflow.
    pub(crate) new_shl_semantics: bool,
    /// Facts about the variables: truth of analysis answers, possible places of allocated blocks.
    pub(crate) facts: Vec<Term>,
    pub(crate) memory: Memory,
    template: Template,
    undefs: u32,
}

impl<'a> Encoder<'a> {
    /// Returns an encoder that begins with the source.
    pub(crate) fn new(terms: &'a mut Terms, typing: Typing<'a>, new_shl_semantics: bool) -> Encoder<'a> {
        let memory = Memory::default();
        Encoder { terms, typing, new_shl_semantics, facts: Vec::new(), memory, template: Template::Source, undefs: 0 }
    }

    /// Returns the template that is being encoded.
    pub(crate) fn template(&self) -> Template {
        self.template
    }

    /// Continues with the target.
    pub(crate) fn enter_target(&mut self) {
        self.template = Template::Target;
        self.undefs = 0;
    }

    /// Returns an undefined value: a variable that each evaluation may choose.
    pub(crate) fn undef(&mut self, width: u32) -> Term {
        self.undefs += 1;
        let name = format!("undef.{}.{}", self.template.name(), self.undefs);
        self.terms.var(&name, Sort::Bits(width))
    }

    /// Returns the width of a type, in bits.
    pub(crate) fn width(&self, ty: &Type, at: Position) -> Result<u32, RuleError> {
        let width = bits(ty, self.typing.pointer_bits());
        let width = u32::try_from(width).ok().filter(|width| (1..=MAX_WIDTH).contains(width));
        width.ok_or_else(|| RuleError::new(ErrorKind::Unsupported, at, format!("a value of type {ty}")))
    }

    /// Returns the width of an expression's type, in bits.
    pub(crate) fn expr_width(&self, expr: &Expr) -> Result<u32, RuleError> {
        self.width(&self.typing.of_expr(expr.id), expr.at)
    }
}
