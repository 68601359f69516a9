//! Rules on CLIF: both sides must have equal outcomes for all operands and constants.
//!
//! An outcome is a value, or a trap with its code. Instructions below the root of the source are executed whether
//! the rule is applied or not, so they are assumed not to trap. The trap of the root is compared.
//!
//! The outcome of a branch is the edge that it takes. The outcome of an access to memory is its address and the
//! bits that it moves. Flags and trap codes are taken over from the source.
//!
//! A rule whose opcodes work lane by lane holds for vectors if it holds for one lane.

use crate::check::Verdict;
use crate::clif_replay::{Replayed, replay};
use crate::condition::WrongKind;
use crate::counterexample::Counterexample;
use crate::encoder::Encoder;
use crate::prover::{Decision, Options, Prover};
use crate::reduce::reduce;
use crate::sides::{Conditions, EDGE, OpenNan, Sides, TRAP_CODE};
use kingpost_ir::{Format, Opcode, Type};
use kingpost_rules::clif::{ClifRule, ClifTyping, Condition, Node, NodeKind, is_effect, typings};
use kingpost_rules::types::Typings;
use kingpost_rules::{ErrorKind, Expr, ExprKind, RuleError};
use kingpost_semantics::{
    Immediate, NanChoice, Operand, Operation, access_bits, address, canonical_nan, lane_bits, loaded, outcome, stored,
};
use kingpost_smt::{Bits, Model, Query, Sort, Substitution, Term, Terms};
use std::collections::HashMap;

/// Obligations of a rule: formulas that must be proved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Obligations {
    /// Number of combinations of types and conditions.
    pub cases: usize,
    /// Hash of the formulas, and so of the rule and of all meanings that it uses.
    pub hash: u64,
}

/// Width of an offset, in bits.
const OFFSET_BITS: u32 = 32;

/// Judges a rule.
pub fn check_clif(rule: &ClifRule, options: &Options, prover: &mut Prover) -> Verdict {
    prover.begin(options.timeout);
    run(rule, prover).unwrap_or_else(Verdict::Error)
}

/// Returns the obligations of a rule. Needs no solver.
///
/// # Errors
/// If the rule makes no sense.
pub fn obligations(rule: &ClifRule) -> Result<Obligations, RuleError> {
    let mut all = Obligations { cases: 0, hash: FNV_OFFSET };
    for (typing, conditions) in cases(rule)? {
        let mut terms = Terms::raw();
        let sides = sides(&mut terms, rule, &typing, &conditions)?;
        for (_, formula) in checks(&mut terms, &sides) {
            all.hash = hash(all.hash, Query::new(formula).script(&terms).as_bytes());
        }
        all.cases += 1;
    }
    Ok(all)
}

fn run(rule: &ClifRule, prover: &mut Prover) -> Result<Verdict, RuleError> {
    for (typing, conditions) in cases(rule)? {
        let verdict = judge(rule, &typing, &conditions, prover)?;
        if verdict != Verdict::Correct {
            return Ok(verdict);
        }
    }
    Ok(Verdict::Correct)
}

/// Returns all combinations of types and conditions. If all opcodes work lane by lane, one lane represents each
/// vector.
fn cases(rule: &ClifRule) -> Result<Vec<(ClifTyping, Conditions<'_>)>, RuleError> {
    let mut different: Vec<ClifTyping> = Vec::new();
    for typing in typings(rule)? {
        let typing = if is_lane_by_lane(rule) { typing.of_one_lane() } else { typing };
        if !different.contains(&typing) {
            different.push(typing);
        }
    }
    let conditions = combinations(rule);
    let with_each = |typing: ClifTyping| conditions.iter().map(move |conditions| (typing.clone(), conditions.clone()));
    Ok(different.into_iter().flat_map(with_each).collect())
}

/// Returns all combinations of conditions for the names of a rule.
fn combinations(rule: &ClifRule) -> Vec<Conditions<'_>> {
    rule.conditions().into_iter().fold(vec![Conditions::new()], |all, (name, choices)| {
        let mut next = Vec::new();
        for conditions in &all {
            for &choice in &choices {
                let mut combined = conditions.clone();
                combined.insert(name, choice);
                next.push(combined);
            }
        }
        next
    })
}

/// Returns `true` if every opcode computes each lane from one lane of each operand, so that one lane is a scalar.
fn is_lane_by_lane(rule: &ClifRule) -> bool {
    rule.all_nodes().all(|node| match node.kind {
        NodeKind::Inst { opcode, .. } => matches!(
            opcode,
            Opcode::Iadd
                | Opcode::Isub
                | Opcode::Ineg
                | Opcode::Iabs
                | Opcode::Imul
                | Opcode::Umulhi
                | Opcode::Smulhi
                | Opcode::Smin
                | Opcode::Smax
                | Opcode::Umin
                | Opcode::Umax
                | Opcode::Band
                | Opcode::Bor
                | Opcode::Bxor
                | Opcode::Bnot
                | Opcode::Bitselect
                | Opcode::Rotl
                | Opcode::Rotr
                | Opcode::Ishl
                | Opcode::Ushr
                | Opcode::Sshr
                | Opcode::Popcnt
                | Opcode::UaddSat
                | Opcode::SaddSat
                | Opcode::UsubSat
                | Opcode::SsubSat
                | Opcode::AvgRound
                | Opcode::Fneg
                | Opcode::Fabs
                | Opcode::Fcopysign
                | Opcode::Fadd
                | Opcode::Fsub
                | Opcode::Fmul
                | Opcode::Fdiv
                | Opcode::Fma
                | Opcode::Sqrt
                | Opcode::Fmin
                | Opcode::Fmax
                | Opcode::Ceil
                | Opcode::Floor
                | Opcode::Trunc
                | Opcode::Nearest
        ),
        _ => true,
    })
}

fn judge(
    rule: &ClifRule,
    typing: &ClifTyping,
    conditions: &Conditions<'_>,
    prover: &mut Prover,
) -> Result<Verdict, RuleError> {
    let mut terms = Terms::new();
    let simplified = sides(&mut terms, rule, typing, conditions)?;
    for (index, (kind, formula)) in (0..).zip(checks(&mut terms, &simplified)) {
        match prover.decide(&mut terms, formula) {
            Decision::Unsat => {
                let written = || {
                    let mut terms = Terms::raw();
                    let sides = sides(&mut terms, rule, typing, conditions).expect("they were built before");
                    let formula = checks(&mut terms, &sides)[index].1;
                    (terms, formula)
                };
                if let Err(reason) = prover.count(is_decided(&mut terms, formula), written) {
                    return Ok(Verdict::Unknown(reason));
                }
            }
            Decision::Unknown(reason) => {
                return Ok(Verdict::Unknown(format!("{reason} at {}", typing.of(&rule.source))));
            }
            Decision::Sat(model) => return confirmed(rule, typing, conditions, kind, &model),
        }
    }
    Ok(Verdict::Correct)
}

/// Returns `true` if simplification decides a formula.
fn is_decided(terms: &mut Terms, formula: Term) -> bool {
    let reduced = reduce(terms, formula);
    terms.value(reduced.formula).is_some()
}

/// Returns the formulas that must have no model.
fn checks(terms: &mut Terms, sides: &Sides) -> [(WrongKind, Term); 2] {
    let &Sides { assumed, traps, .. } = sides;
    let trap_differs = terms.ne(traps[0], traps[1]);
    let zero = terms.number(8, 0);
    let no_trap = terms.eq(traps[0], zero);
    let equal = explained(terms, sides);
    let equal = match sides.addresses {
        Some([source, target]) => {
            let same_place = terms.eq(source, target);
            terms.and(same_place, equal)
        }
        None => equal,
    };
    let value_differs = terms.not(equal);
    let trap = terms.and(assumed, trap_differs);
    let value = terms.all([assumed, no_trap, value_differs]);
    [(WrongKind::Trap, trap), (WrongKind::Value, value)]
}

/// Builds both sides.
pub(crate) fn sides(
    terms: &mut Terms,
    rule: &ClifRule,
    typing: &ClifTyping,
    conditions: &Conditions<'_>,
) -> Result<Sides, RuleError> {
    let widths = Typings::of_widths(&typing.expr_widths());
    let of_widths = widths.iter().next().expect("there is one combination");
    let encoder = Encoder::new(terms, of_widths, false);
    let (names, insts, constants, open) = Default::default();
    let accesses = Vec::new();
    let mut builder =
        Builder { encoder, typing, conditions, names, insts, constants, is_target: false, open, accesses };
    let (source, inner) = builder.node(&rule.source)?;
    let open_in_source = builder.open.len();
    builder.is_target = true;
    let (target, target_traps) = builder.node(&rule.target)?;
    let values = builder
        .names
        .iter()
        .map(|(name, _, term)| (name, term))
        .chain(builder.insts.iter().map(|(name, term)| (name, term)));
    let values: HashMap<String, Term> = values.map(|(name, term)| (name.clone(), *term)).collect();
    let mut assumed = builder.encoder.precondition(&rule.precondition, &|name| values.get(name).copied())?;
    for fact in std::mem::take(&mut builder.encoder.facts) {
        assumed = builder.encoder.terms.and(assumed, fact);
    }
    let Builder { names, constants, open, accesses, .. } = builder;
    if rule.effect().is_some() && terms.sort(source) != terms.sort(target) {
        return Err(RuleError::new(ErrorKind::Type, rule.target.at, "accesses of different sizes"));
    }
    if let [(source, lanes), (target, target_lanes)] = accesses[..] {
        if lanes != target_lanes {
            return Err(RuleError::new(ErrorKind::Type, rule.target.at, "accesses of lanes of different sizes"));
        }
        if terms.sort(source) != terms.sort(target) {
            return Err(RuleError::new(ErrorKind::Type, rule.target.at, "addresses of different types"));
        }
    }
    for choice in &open {
        let fits = choice.fits(terms);
        assumed = terms.and(assumed, fits);
    }
    let zero = terms.number(8, 0);
    // The trap of the root is the last one.
    let (root_trap, inner) = inner.split_last().map_or((zero, &[][..]), |(&last, inner)| (last, inner));
    for &trap in inner {
        let none = terms.eq(trap, zero);
        assumed = terms.and(assumed, none);
    }
    let target_trap = target_traps.iter().rev().fold(zero, |later, &trap| {
        let none = terms.eq(trap, zero);
        terms.ite(none, later, trap)
    });
    let mut values = [source, target];
    if rule.is_condition {
        for value in &mut values {
            let zero = terms.number(terms.width(*value), 0);
            let is_zero = terms.eq(*value, zero);
            let (no, yes) = (terms.number(1, 0), terms.number(1, 1));
            *value = terms.ite(is_zero, no, yes);
        }
    }
    let traps = [root_trap, target_trap];
    let addresses: Vec<Term> = accesses.into_iter().map(|(address, _)| address).collect();
    let addresses = <[Term; 2]>::try_from(addresses).ok();
    Ok(Sides { assumed, values, addresses, open, open_in_source, traps, inputs: names, constants })
}

/// Maximum number of combinations of witnesses that are tried.
const MAX_WITNESSES: usize = 64;

/// Returns a term that holds if both sides have one value for some choice of the NaNs that the source leaves open
/// and the target does not fix. Few choices are tried: the target's value, the NaNs that the target chose, both
/// with the other sign, the canonical NaN, and one that is not canonical. More choices could only prove more rules.
fn explained(terms: &mut Terms, sides: &Sides) -> Term {
    let &Sides { values: [source, target], ref open, open_in_source, .. } = sides;
    let mut body = terms.eq(source, target);
    let free: Vec<&OpenNan> = open[..open_in_source].iter().filter(|choice| !choice.is_in_target).collect();
    if free.is_empty() {
        return body;
    }
    let chosen: Vec<Term> = open.iter().filter(|choice| choice.is_in_target).map(|choice| choice.variable).collect();
    for choice in &free {
        let fits = choice.fits(terms);
        body = terms.and(body, fits);
    }
    let mut combinations: Vec<Vec<(Term, Term)>> = vec![Vec::new()];
    for choice in free {
        let sort = terms.sort(choice.variable);
        let mut witnesses: Vec<Term> = [target].into_iter().chain(chosen.iter().copied()).collect();
        witnesses.retain(|&witness| terms.sort(witness) == sort);
        let width = terms.width(choice.variable);
        let sign = terms.constant(Bits::sign_bit(width));
        let others: Vec<Term> = witnesses.iter().map(|&witness| terms.bit_xor(witness, sign)).collect();
        witnesses.extend(others);
        let canonical = canonical_nan(terms, width);
        let one = terms.number(width, 1);
        witnesses.extend([canonical, terms.bit_or(canonical, one)]);
        let with_each = |known: &Vec<(Term, Term)>| {
            let pairs = witnesses.iter().map(|&witness| [known.as_slice(), &[(choice.variable, witness)]].concat());
            pairs.collect::<Vec<_>>()
        };
        combinations = combinations.iter().flat_map(with_each).take(MAX_WITNESSES).collect();
    }
    let ways: Vec<Term> = combinations.into_iter().map(|pairs| Substitution::new(pairs).apply(terms, body)).collect();
    terms.any(ways)
}

struct Builder<'e, 't> {
    encoder: Encoder<'e>,
    typing: &'t ClifTyping,
    conditions: &'t Conditions<'t>,
    names: Vec<(String, Type, Term)>,
    /// Instructions with a name.
    insts: Vec<(String, Term)>,
    constants: HashMap<u32, Term>,
    /// Whether the target is built.
    is_target: bool,
    /// NaNs that operations may choose, the source's first.
    open: Vec<OpenNan>,
    /// Addresses of accesses to memory, and the widths of their lanes; the source's first.
    accesses: Vec<(Term, u32)>,
}

impl Builder<'_, '_> {
    /// Returns the value of a node, and the traps of the instructions in it in the order of execution.
    fn node(&mut self, node: &Node) -> Result<(Term, Vec<Term>), RuleError> {
        let ty = self.typing.of(node);
        match &node.kind {
            NodeKind::Value(name) => Ok((self.named(name, ty, ty.bits()), Vec::new())),
            NodeKind::Constant(expr) => {
                if let kingpost_rules::ExprKind::Constant(name) = &expr.kind {
                    self.named(name, ty.lane_type(), ty.lane_bits());
                }
                let known: HashMap<String, Term> =
                    self.names.iter().map(|(name, _, term)| (name.clone(), *term)).collect();
                let lane = self.encoder.constant(expr, &|name| known.get(name).copied())?;
                let copies = (1..ty.lane_count()).fold(lane, |all, _| self.encoder.terms.concat(all, lane));
                self.constants.insert(node.id, copies);
                Ok((copies, Vec::new()))
            }
            NodeKind::Edge(name) => Ok((self.named(name, EDGE, EDGE.bits()), Vec::new())),
            NodeKind::Offset(expr) => Ok((self.offset(node, expr, ty)?, Vec::new())),
            NodeKind::Inst { opcode, operands, .. } if is_effect(*opcode) => self.effect(node, *opcode, operands),
            NodeKind::Inst { opcode, condition, operands } => {
                let (mut all, mut traps) = (Vec::new(), Vec::new());
                for operand in operands {
                    let (bits, inner) = self.node(operand)?;
                    traps.extend(inner);
                    all.push(Operand { ty: self.typing.of(operand), bits });
                }
                let chosen =
                    condition.as_ref().and_then(|name| name.resolve(|name| self.conditions.get(name).copied()));
                let immediate = match chosen {
                    None => Immediate::None,
                    Some(Condition::Int(condition)) => Immediate::Condition(condition),
                    Some(Condition::Float(condition)) => Immediate::FloatCondition(condition),
                };
                let operation = Operation { opcode: *opcode, ty: self.typing.control(node), immediate };
                let unsupported = || {
                    RuleError::new(
                        ErrorKind::Unsupported,
                        node.at,
                        format!("{opcode}.{} has no meaning yet", operation.ty),
                    )
                };
                let outcome = outcome(self.encoder.terms, &operation, &all).ok_or_else(unsupported)?;
                traps.push(outcome.trap);
                let result = outcome.results[0];
                let value = outcome.nan.map_or(result, |nan| self.any_nan(node, result, nan));
                self.insts.extend(node.name.iter().map(|name| (name.clone(), value)));
                Ok((value, traps))
            }
        }
    }

    /// Returns the value and the traps of a root that is executed for its effect. The value is an edge, the bits
    /// that an access moves, or zero.
    fn effect(&mut self, node: &Node, opcode: Opcode, operands: &[Node]) -> Result<(Term, Vec<Term>), RuleError> {
        let (mut all, mut traps) = (Vec::new(), Vec::new());
        for operand in operands {
            let (bits, inner) = self.node(operand)?;
            traps.extend(inner);
            all.push(Operand { ty: self.typing.of(operand), bits });
        }
        let ty = self.typing.control(node);
        let unsupported =
            || RuleError::new(ErrorKind::Unsupported, node.at, format!("{opcode}.{ty} has no meaning yet"));
        let terms = &mut *self.encoder.terms;
        let zero = terms.number(8, 0);
        let (mut value, mut trap) = (zero, zero);
        match (opcode.format(), all.as_slice()) {
            (Format::CondTrap | Format::Trap, operands) => {
                let code = terms.number(8, TRAP_CODE.byte().into());
                let operation = Operation { opcode, ty, immediate: Immediate::Code(code) };
                trap = outcome(terms, &operation, operands).ok_or_else(unsupported)?.trap;
            }
            (Format::Jump, [edge]) => value = edge.bits,
            (Format::Brif, [condition, then, otherwise]) => {
                let none = terms.number(condition.ty.bits(), 0);
                let is_zero = terms.eq(condition.bits, none);
                value = terms.ite(is_zero, otherwise.bits, then.bits);
            }
            (Format::Store, [stored_value, place @ ..]) => {
                value = stored(terms, opcode, *stored_value).ok_or_else(unsupported)?;
                self.access(place, lane_bits(opcode, stored_value.ty));
            }
            (Format::Load, place) => {
                let result = self.typing.of(node);
                let width = access_bits(opcode, result).ok_or_else(unsupported)?;
                // The contents of memory are arbitrary, but equal on both sides if the addresses are equal.
                let contents = terms.var(&format!("memory.{width}"), Sort::Bits(width));
                value = loaded(terms, opcode, result, contents).ok_or_else(unsupported)?;
                self.access(place, lane_bits(opcode, result));
            }
            _ => {}
        }
        traps.push(trap);
        Ok((value, traps))
    }

    /// Records the address of an access: an operand, plus an offset if one is written.
    fn access(&mut self, place: &[Operand], lane_bits: Option<u32>) {
        let bases = place.iter().map(|operand| operand.bits);
        let sum = bases.reduce(|base, offset| address(self.encoder.terms, base, offset));
        self.accesses.extend(sum.zip(lane_bits));
    }

    /// Returns an offset, and adds the fact that it fits 32 bits. An offset of the source always fits, and the
    /// matcher tests the offset of the target before it makes the target.
    fn offset(&mut self, node: &Node, expr: &Expr, ty: Type) -> Result<Term, RuleError> {
        if let ExprKind::Constant(name) = &expr.kind {
            self.named(name, ty, ty.bits());
        }
        let known: HashMap<String, Term> = self.names.iter().map(|(name, _, term)| (name.clone(), *term)).collect();
        let offset = self.encoder.constant(expr, &|name| known.get(name).copied())?;
        let terms = &mut *self.encoder.terms;
        let low = terms.extract(offset, 0, OFFSET_BITS);
        let extended = terms.sign_extend(low, ty.bits());
        let fits = terms.eq(extended, offset);
        self.encoder.facts.push(fits);
        self.constants.insert(node.id, offset);
        Ok(offset)
    }

    /// Returns the result of an operation. If the result is a NaN that the operation may choose, the result is any
    /// NaN that it may choose.
    fn any_nan(&mut self, node: &Node, result: Term, nan: NanChoice) -> Term {
        let name = format!("NaN of {}", self.text(node));
        let variable = self.encoder.terms.var(&name, self.encoder.terms.sort(result));
        let value = self.encoder.terms.ite(nan.open, variable, result);
        let is_in_target = self.is_target;
        match self.open.iter_mut().find(|choice| choice.variable == variable) {
            Some(known) => known.is_in_target |= is_in_target,
            None => self.open.push(OpenNan { variable, nan, is_in_target }),
        }
        value
    }

    /// Returns the text of a node with all types. Equal operations have equal texts.
    fn text(&self, node: &Node) -> String {
        let ty = self.typing.of(node);
        match &node.kind {
            NodeKind::Value(name) | NodeKind::Edge(name) => name.clone(),
            NodeKind::Constant(expr) | NodeKind::Offset(expr) => format!("{expr}: {ty}"),
            NodeKind::Inst { opcode, condition, operands } => {
                let operands: Vec<String> = operands.iter().map(|operand| self.text(operand)).collect();
                format!("{opcode}.{ty} {condition:?} ({})", operands.join(", "))
            }
        }
    }

    fn named(&mut self, name: &str, ty: Type, width: u32) -> Term {
        let term = self.encoder.terms.var(name, Sort::Bits(width));
        if !self.names.iter().any(|(known, ..)| known == name) {
            self.names.push((name.to_string(), ty, term));
        }
        term
    }
}

/// Evaluates a counterexample on terms without simplification, and runs it in the interpreter. The verdict is wrong
/// if the interpreter sees a difference, and unknown otherwise.
fn confirmed(
    rule: &ClifRule,
    typing: &ClifTyping,
    conditions: &Conditions<'_>,
    kind: WrongKind,
    model: &Model,
) -> Result<Verdict, RuleError> {
    let mut terms = Terms::raw();
    let sides = sides(&mut terms, rule, typing, conditions)?;
    let Replayed { inputs, replies, agrees } = replay(&terms, rule, typing, conditions, &sides, model);
    if !agrees {
        return Ok(Verdict::Unknown(format!("the interpreter sees no difference: {} and {}", replies[0], replies[1])));
    }
    let mut shown = inputs;
    for (name, condition) in conditions {
        shown.push((name.to_string(), condition.to_string(), kingpost_smt::Bits::new(1, 1)));
    }
    let ty = rule.effect().is_none().then(|| typing.of(&rule.source).to_string());
    let subject = rule.name.clone();
    Ok(Verdict::Wrong(Box::new(Counterexample { kind, subject, ty, shown, values: None, replies: Some(replies) })))
}

const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;

/// Continues a hash by FNV-1a, of Fowler, Noll and Vo. The hash is equal on every machine.
pub(crate) fn hash(state: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(state, |state, &byte| (state ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}
