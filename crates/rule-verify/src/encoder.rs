//! The state of turning one rule at one typing into terms.
//!
//! Variables have names that depend on the rule alone, so that two arenas built from the same rule and typing have the
//! same variables: a model found with one is replayed in the other.

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
    /// `shl nsw 1, width-1` does not overflow.
    pub(crate) new_shl_semantics: bool,
    /// Facts about the variables: meanings of analyses, possible places of allocated blocks.
    pub(crate) facts: Vec<Term>,
    pub(crate) memory: Memory,
    template: Template,
    undefs: u32,
}

impl<'a> Encoder<'a> {
    /// Begins with the source.
    pub(crate) fn new(terms: &'a mut Terms, typing: Typing<'a>, new_shl_semantics: bool) -> Encoder<'a> {
        let memory = Memory::default();
        Encoder { terms, typing, new_shl_semantics, facts: Vec::new(), memory, template: Template::Source, undefs: 0 }
    }

    /// Returns the template that is being encoded.
    pub(crate) fn template(&self) -> Template {
        self.template
    }

    /// Goes on with the target.
    pub(crate) fn enter_target(&mut self) {
        self.template = Template::Target;
        self.undefs = 0;
    }

    /// Returns a value that each evaluation may choose.
    pub(crate) fn undef(&mut self, width: u32) -> Term {
        self.undefs += 1;
        let name = format!("undef.{}.{}", self.template.name(), self.undefs);
        self.terms.var(&name, Sort::Bits(width))
    }

    /// Returns the bits of a type.
    pub(crate) fn width(&self, ty: &Type, at: Position) -> Result<u32, RuleError> {
        let width = bits(ty, self.typing.pointer_bits());
        let width = u32::try_from(width).ok().filter(|width| (1..=MAX_WIDTH).contains(width));
        width.ok_or_else(|| RuleError::new(ErrorKind::Unsupported, at, format!("a value of type {ty}")))
    }

    /// Returns the bits of an expression's type.
    pub(crate) fn expr_width(&self, expr: &Expr) -> Result<u32, RuleError> {
        self.width(&self.typing.of_expr(expr.id), expr.at)
    }
}
