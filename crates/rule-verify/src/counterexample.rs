//! Counterexamples: replay by evaluation, and text in the form that Alive prints.

use crate::condition::{Check, WrongKind, conditions, source_choices};
use kingpost_rules::Rule;
use kingpost_rules::scope::Scopes;
use kingpost_rules::types::{Type, Typing};
use kingpost_smt::{Bits, Evaluator, Model, Sort, Term, Terms, Value};
use std::fmt;

/// Maximum number of choices of undefined values that are tried. If there are more, this many are sampled.
const MAX_CHOICES: u128 = 1 << 12;

/// Proof that a rule is wrong: values that show it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counterexample {
    /// Kind of difference.
    pub kind: WrongKind,
    /// The register, or another subject of the difference.
    pub(crate) subject: String,
    /// Its type, if it has one.
    pub(crate) ty: Option<String>,
    /// Name, type and value of inputs, constants and registers.
    pub(crate) shown: Vec<(String, String, Bits)>,
    /// The values that differ.
    pub(crate) values: Option<[Bits; 2]>,
    /// Results of the interpreter for both sides, for rules on CLIF.
    pub(crate) replies: Option<[String; 2]>,
}

/// Evaluates a check under a model, on terms without simplification. Returns `None` if the model shows no
/// difference for some choice of the source's undefined values.
pub(crate) fn replay(
    rule: &Rule,
    scopes: &Scopes<'_>,
    typing: Typing<'_>,
    check: &Check,
    model: &Model,
) -> Option<Counterexample> {
    let mut terms = Terms::raw();
    let conditions = conditions(&mut terms, rule, scopes, typing).ok()?;
    let raw = conditions.checks.iter().find(|raw| raw.kind == check.kind && raw.subject == check.subject)?;
    let choices = source_choices(&terms, raw.formula);
    let mut model = model.clone();
    for number in 0..combinations(&terms, &choices).min(MAX_CHOICES) {
        choose(&terms, &choices, number, &mut model);
        if !Evaluator::new(&terms, &[raw.formula], &model).value(raw.formula).is_true() {
            return None;
        }
    }
    choose(&terms, &choices, 0, &mut model);
    let roots: Vec<Term> =
        conditions.shown.iter().map(|(_, _, term)| *term).chain(raw.values.into_iter().flatten()).collect();
    let evaluator = Evaluator::new(&terms, &roots, &model);
    let bits = |term: Term| evaluator.value(term).bits();
    let own = format!("%{}", raw.subject);
    let others = conditions.shown.iter().filter(|(name, ..)| *name != own);
    let shown = others.filter_map(|(name, ty, term)| Some((name.clone(), ty.to_string(), bits(*term)?))).collect();
    let values = match raw.values {
        Some([source, target]) => Some([bits(source)?, bits(target)?]),
        None => None,
    };
    let ty = raw.ty.as_ref().map(Type::to_string);
    Some(Counterexample { kind: raw.kind, subject: raw.subject.clone(), ty, shown, values, replies: None })
}

/// Returns the number of choices, or the largest number of the type if there are more.
fn combinations(terms: &Terms, choices: &[Term]) -> u128 {
    let bits: u32 = choices.iter().map(|&choice| terms.width(choice)).sum();
    1_u128.checked_shl(bits).unwrap_or(u128::MAX)
}

/// Sets the choice with this number. If not all choices are tried, the numbers are spread over all bits.
fn choose(terms: &Terms, choices: &[Term], number: u128, model: &mut Model) {
    let all = combinations(terms, choices);
    let mut rest = if all <= MAX_CHOICES || number < 2 {
        number.wrapping_mul(if number == 1 && all > MAX_CHOICES { u128::MAX } else { 1 })
    } else {
        number.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)
    };
    for &choice in choices {
        let Sort::Bits(width) = terms.sort(choice) else { continue };
        model.set(terms.name(choice).unwrap_or_default(), Value::Bits(Bits::new(width, rest)));
        rest = rest.rotate_right(width);
    }
}

impl fmt::Display for Counterexample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ty = self.ty.as_ref().map(|ty| format!("{ty} ")).unwrap_or_default();
        let name = if self.ty.is_some() && self.replies.is_none() {
            format!("%{}", self.subject)
        } else {
            self.subject.clone()
        };
        match self.kind {
            WrongKind::BlockPrecondition => writeln!(f, "Mismatch in preconditions for BB '{name}'")?,
            WrongKind::Definedness => {
                writeln!(f, "Domain of definedness of Target is smaller than Source's for {ty}{name}")?;
            }
            WrongKind::Poison => writeln!(f, "Domain of poisoness of Target is smaller than Source's for {ty}{name}")?,
            WrongKind::Value => writeln!(f, "Mismatch in values of {ty}{name}")?,
            WrongKind::Memory => writeln!(f, "Mismatch in final memory state")?,
            WrongKind::Trap => writeln!(f, "Mismatch in traps of {ty}{name}")?,
        }
        writeln!(f, "\nExample:")?;
        for (name, ty, bits) in &self.shown {
            writeln!(f, "{name} {ty} = {}", Number(*bits))?;
        }
        if let Some([source, target]) = &self.replies {
            return writeln!(f, "Source value: {source}\nTarget value: {target}");
        }
        let Some([source, target]) = self.values else { return Ok(()) };
        writeln!(f, "Source value: {}", Number(source))?;
        match self.kind {
            WrongKind::Definedness => writeln!(f, "Target value: undef"),
            WrongKind::Poison => writeln!(f, "Target value: poison"),
            _ => writeln!(f, "Target value: {}", Number(target)),
        }
    }
}

/// A number as text: `0x8 (8, -8)`. The second number in parentheses is present only if it differs.
struct Number(Bits);

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unsigned, signed) = (self.0.unsigned(), self.0.signed());
        if self.0.width() == 1 {
            return write!(f, "{}", unsigned == 1);
        }
        let digits = self.0.width().div_ceil(4) as usize;
        write!(f, "0x{unsigned:0digits$X} ({unsigned}")?;
        if signed < 0 {
            write!(f, ", {signed}")?;
        }
        f.write_str(")")
    }
}
