//! Verification conditions: formulas whose models are counterexamples.

use crate::encoder::{Encoder, SOURCE_UNDEF};
use crate::outcome::Outcome;
use crate::precondition;
use crate::side::Meaning;
use crate::template::Template;
use kingpost_rules::scope::Scopes;
use kingpost_rules::types::{Type, Typing};
use kingpost_rules::{ConvertOp, ExprKind, Inst, Operand, Rule, RuleError, Statement};
use kingpost_smt::{Sort, Term, Terms};
use std::collections::HashMap;

/// Kind of an error in a rewrite.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum WrongKind {
    /// A block is entered under another condition.
    BlockPrecondition,
    /// The target has undefined behavior, and the source has none.
    Definedness,
    /// The target is poison, and the source is not.
    Poison,
    /// The values differ.
    Value,
    /// Memory differs at the end.
    Memory,
    /// Only one side traps, or the trap codes differ.
    Trap,
}

impl WrongKind {
    /// Returns the name in reports.
    pub fn name(self) -> &'static str {
        match self {
            WrongKind::BlockPrecondition => "block-precondition",
            WrongKind::Definedness => "definedness",
            WrongKind::Poison => "poison",
            WrongKind::Value => "value",
            WrongKind::Memory => "memory",
            WrongKind::Trap => "trap",
        }
    }
}

/// A formula that must have no model.
#[derive(Clone, Debug)]
pub(crate) struct Check {
    pub(crate) kind: WrongKind,
    /// Subject: a register, a block, or an address.
    pub(crate) subject: String,
    /// The type of a register.
    pub(crate) ty: Option<Type>,
    /// The formula. A model of it for all choices of the source's undefined values is a counterexample.
    pub(crate) formula: Term,
    /// Values on both sides, if they differ.
    pub(crate) values: Option<[Term; 2]>,
}

/// A rule at one typing.
pub(crate) struct Conditions {
    /// Checks, in the order in which the first failing one is reported.
    pub(crate) checks: Vec<Check>,
    /// Choices of undefined values in memory that are tried first.
    pub(crate) explanations: Vec<(Term, Term)>,
    /// Values that a counterexample shows: inputs, constants, the source's registers, and then registers of the
    /// target only.
    pub(crate) shown: Vec<(String, Type, Term)>,
}

/// Returns the variables of a formula that the source may choose.
pub(crate) fn source_choices(terms: &Terms, formula: Term) -> Vec<Term> {
    let mut variables = terms.variables_of(&[formula]);
    variables.retain(|&variable| terms.name(variable).is_some_and(|name| name.starts_with(SOURCE_UNDEF)));
    variables
}

/// Builds the conditions that must hold for a rule at a typing.
///
/// # Errors
/// If the rule needs something that is not supported.
pub(crate) fn conditions(
    terms: &mut Terms,
    rule: &Rule,
    scopes: &Scopes<'_>,
    typing: Typing<'_>,
) -> Result<Conditions, RuleError> {
    let mut encoder = Encoder::new(terms, typing, rule.new_shl_semantics);
    let source = encoder.template_meaning(&scopes.source, &scopes.inputs)?;
    let values: HashMap<&str, Term> =
        source.values.iter().map(|(name, _, outcome)| (name.as_str(), outcome.value)).collect();
    let assumed = encoder.precondition(&rule.precondition, &|name| values.get(name).copied())?;
    encoder.enter_target();
    let target = encoder.template_meaning(&scopes.target, &scopes.inputs)?;
    let facts = std::mem::take(&mut encoder.facts);
    let facts = encoder.terms.all(facts);
    let assumed = encoder.terms.and(assumed, facts);
    let mut builder = Builder { encoder, scopes, assumed, checks: Vec::new() };
    builder.blocks(&source, &target);
    builder.registers(&source, &target);
    builder.effects(rule, &source, &target)?;
    let shown = builder.shown(&source, &target)?;
    let explanations = builder.encoder.explanations(target.memory, rule.at)?;
    Ok(Conditions { checks: builder.checks, explanations, shown })
}

struct Builder<'e, 's> {
    encoder: Encoder<'e>,
    scopes: &'s Scopes<'s>,
    /// The precondition and all facts.
    assumed: Term,
    checks: Vec<Check>,
}

impl Builder<'_, '_> {
    fn push(&mut self, kind: WrongKind, subject: &str, ty: Option<&Type>, parts: [Term; 2], values: Option<[Term; 2]>) {
        let formula = self.encoder.terms.all(parts);
        let (subject, ty) = (subject.to_string(), ty.cloned());
        self.checks.push(Check { kind, subject, ty, formula, values });
    }

    /// Adds the checks that blocks of both templates are entered under equal conditions.
    fn blocks(&mut self, source: &Meaning<'_>, target: &Meaning<'_>) {
        for &(label, entry) in &source.entries {
            if let Some(&(_, other)) = target.entries.iter().find(|(name, _)| *name == label) {
                let differs = self.encoder.terms.ne(entry, other);
                self.push(WrongKind::BlockPrecondition, label, None, [self.assumed, differs], None);
            }
        }
    }

    /// Adds the checks of the registers of both templates, in the source's order.
    fn registers(&mut self, source: &Meaning<'_>, target: &Meaning<'_>) {
        let values: HashMap<&str, Outcome> =
            target.values.iter().map(|(name, _, outcome)| (name.as_str(), *outcome)).collect();
        for (name, ty, outcome) in &source.values {
            if let Some(other) = values.get(name.as_str()) {
                self.register(name, ty, *outcome, *other);
            }
        }
    }

    fn register(&mut self, name: &str, ty: &Type, source: Outcome, target: Outcome) {
        let used_elsewhere = self.used_elsewhere(name);
        let terms = &mut *self.encoder.terms;
        let assumed = terms.all([self.assumed, source.defined, source.poison_free, used_elsewhere]);
        let undefined = terms.not(target.defined);
        let poison = terms.not(target.poison_free);
        let differs = terms.ne(source.value, target.value);
        self.push(WrongKind::Definedness, name, Some(ty), [assumed, undefined], Some([source.value, target.value]));
        self.push(WrongKind::Poison, name, Some(ty), [assumed, poison], Some([source.value, target.value]));
        self.push(WrongKind::Value, name, Some(ty), [assumed, differs], Some([source.value, target.value]));
    }

    /// Returns a term that holds if a register has uses outside of the source. Without such uses its value may
    /// change freely.
    fn used_elsewhere(&mut self, name: &str) -> Term {
        let inside = self.scopes.uses.get(name).copied().unwrap_or(0);
        if inside == 0 || inside > 255 {
            return self.encoder.terms.bool(true);
        }
        let uses = precondition::uses(self.encoder.terms, name);
        let inside = self.encoder.terms.number(8, u128::from(inside));
        self.encoder.terms.ne(uses, inside)
    }

    /// Adds the checks of effects at the end: the target is defined if the source is, and all bytes of memory are
    /// equal.
    fn effects(&mut self, rule: &Rule, source: &Meaning<'_>, target: &Meaning<'_>) -> Result<(), RuleError> {
        if !self.encoder.memory.used {
            return Ok(());
        }
        let bits = self.encoder.typing.pointer_bits();
        let address = self.encoder.terms.var("address", Sort::Bits(bits));
        let unobserved = self.unobserved_blocks();
        let private = self.encoder.is_private(address, &unobserved);
        let public = self.encoder.terms.not(private);
        let assumed = self.encoder.terms.all([self.assumed, source.defined, public]);
        let first = self.encoder.read(Template::Source, source.memory, address, rule.at)?;
        let second = self.encoder.read(Template::Target, target.memory, address, rule.at)?;
        let differs = self.encoder.terms.ne(first, second);
        self.push(WrongKind::Memory, "address", None, [assumed, differs], Some([first, second]));
        let undefined = self.encoder.terms.not(target.defined);
        self.push(WrongKind::Definedness, "the end", None, [assumed, undefined], None);
        Ok(())
    }

    /// Returns the blocks allocated by the source whose contents cannot be observed. Only loads and stores of the
    /// source use their addresses, provided that the whole program has no other uses of their registers. Each block
    /// is given by its first byte and that condition.
    fn unobserved_blocks(&mut self) -> Vec<(Term, Term)> {
        let statements: Vec<&Statement> =
            self.scopes.source.iter().flat_map(|side| &side.statements).copied().collect();
        let mut blocks = Vec::new();
        for block in &statements {
            let (Inst::Alloca { .. }, Some(name)) = (&block.inst, &block.defines) else { continue };
            let Some(addresses) = addresses_within(name, &statements) else { continue };
            let mut condition = self.encoder.terms.bool(true);
            for register in addresses {
                let elsewhere = self.used_elsewhere(register);
                let nowhere = self.encoder.terms.not(elsewhere);
                condition = self.encoder.terms.and(condition, nowhere);
            }
            let bits = self.encoder.typing.pointer_bits();
            blocks.push((self.encoder.terms.var(&format!("%{name}"), Sort::Bits(bits)), condition));
        }
        blocks
    }

    fn shown(&mut self, source: &Meaning<'_>, target: &Meaning<'_>) -> Result<Vec<(String, Type, Term)>, RuleError> {
        let mut shown = Vec::new();
        let typing = self.encoder.typing;
        let inputs = self.scopes.inputs.iter().map(|name| (format!("%{name}"), typing.of_register(name)));
        let constants = self.scopes.constants.iter().map(|name| (name.to_string(), typing.of_constant(name)));
        for (name, ty) in inputs.chain(constants) {
            let width = self.encoder.width(&ty, Default::default())?;
            let variable = self.encoder.terms.var(&name, Sort::Bits(width));
            shown.push((name, ty, variable));
        }
        let known = |name: &str| source.values.iter().any(|(other, ..)| other == name);
        let only_target = target.values.iter().filter(|(name, ..)| !known(name));
        for (name, ty, outcome) in source.values.iter().chain(only_target) {
            shown.push((format!("%{name}"), ty.clone(), outcome.value));
        }
        Ok(shown)
    }
}

/// Returns the registers that hold addresses within the block whose address is `name`. `None` if one of them is
/// used other than to load, to store, and to compute such addresses.
fn addresses_within<'a>(name: &'a str, statements: &[&'a Statement]) -> Option<Vec<&'a str>> {
    let mut addresses = vec![name];
    for statement in statements {
        let is_address = |operand: &Operand| match &operand.value.kind {
            ExprKind::Register(register) => addresses.contains(&register.as_str()),
            _ => false,
        };
        let pointer = match &statement.inst {
            Inst::GetElementPtr { pointer, .. } | Inst::Load { pointer, .. } | Inst::Store { pointer, .. } => {
                Some(pointer)
            }
            Inst::Convert { op: ConvertOp::Bitcast, value, .. } => Some(value),
            _ => None,
        };
        let used = pointer.is_some_and(is_address);
        if statement.inst.operands().into_iter().filter(|operand| is_address(operand)).count() > usize::from(used) {
            return None;
        }
        if let (true, Some(result)) = (used && !matches!(statement.inst, Inst::Load { .. }), &statement.defines) {
            addresses.push(result);
        }
    }
    Some(addresses)
}
