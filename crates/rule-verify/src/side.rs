//! A template, block by block.
//!
//! Blocks are visited in order of the text; branches lead forward only. The condition of a block combines the
//! condition of its entry with the conditions of all loads, stores and `unreachable` so far. Every value computed
//! in the block inherits this condition.

use crate::encoder::Encoder;
use crate::memory_state::{Access, Memory, State};
use crate::outcome::Outcome;
use kingpost_rules::scope::Side;
use kingpost_rules::types::Type;
use kingpost_rules::{Expr, ExprKind, Inst, Operand, RuleError, Statement};
use kingpost_smt::{Sort, Term};
use std::collections::HashMap;

/// Meaning of a template.
#[derive(Debug)]
pub(crate) struct Meaning<'a> {
    /// Every register, in order of the text. The name of the value of a `ret` is `ret` with its block's label.
    pub(crate) values: Vec<(String, Type, Outcome)>,
    /// Condition under which each block is entered.
    pub(crate) entries: Vec<(&'a str, Term)>,
    /// Memory at the end.
    pub(crate) memory: State,
    /// Condition under which no effect up to the end is undefined behavior.
    pub(crate) defined: Term,
}

/// An edge into a block: the condition under which it is taken, and the memory at that point.
struct Edge {
    condition: Term,
    memory: State,
}

struct Walk<'e, 'a, 'b> {
    encoder: &'e mut Encoder<'b>,
    values: Vec<(String, Type, Outcome)>,
    registers: HashMap<&'a str, Outcome>,
    edges: HashMap<&'a str, Vec<Edge>>,
    exits: Vec<Edge>,
    memory: State,
    /// Condition of the current block.
    reached: Term,
    label: &'a str,
}

impl<'b> Encoder<'b> {
    /// Returns the meaning of a template, computed from the inputs.
    pub(crate) fn template_meaning<'a>(
        &mut self,
        sides: &[Side<'a>],
        inputs: &[&'a str],
    ) -> Result<Meaning<'a>, RuleError> {
        let reached = self.terms.bool(true);
        let mut walk = Walk {
            encoder: self,
            values: Vec::new(),
            registers: HashMap::new(),
            edges: HashMap::new(),
            exits: Vec::new(),
            memory: Memory::INITIAL,
            reached,
            label: "",
        };
        for input in inputs {
            walk.input(input)?;
        }
        let mut entries = Vec::new();
        for (index, side) in sides.iter().enumerate() {
            walk.enter(side.label, index == 0);
            entries.push((side.label, walk.reached));
            walk.block(side)?;
        }
        let (defined, memory) = walk.end();
        Ok(Meaning { values: walk.values, entries, memory, defined })
    }
}

impl<'a> Walk<'_, 'a, '_> {
    fn input(&mut self, name: &'a str) -> Result<(), RuleError> {
        let ty = self.encoder.typing.of_register(name);
        let width = self.encoder.width(&ty, Default::default())?;
        let value = self.encoder.terms.var(&format!("%{name}"), Sort::Bits(width));
        if let Type::Pointer(_) = ty {
            self.encoder.outside_pointer(value);
        }
        let outcome = Outcome::plain(self.encoder.terms, value);
        self.registers.insert(name, outcome);
        Ok(())
    }

    fn enter(&mut self, label: &'a str, is_first: bool) {
        self.label = label;
        if is_first {
            return;
        }
        let edges = self.edges.remove(label).unwrap_or_default();
        self.join(&edges);
    }

    /// Continues at the point where edges meet.
    fn join(&mut self, edges: &[Edge]) {
        self.reached = self.encoder.terms.any(edges.iter().map(|edge| edge.condition));
        let mut memory = edges.last().map_or(Memory::INITIAL, |edge| edge.memory);
        for edge in edges.iter().rev().skip(1) {
            memory = self.encoder.memory.choice(edge.condition, edge.memory, memory);
        }
        self.memory = memory;
    }

    fn block(&mut self, side: &Side<'a>) -> Result<(), RuleError> {
        for &statement in &side.statements {
            self.statement(statement)?;
        }
        if !matches!(side.statements.last(), Some(Statement { inst: Inst::Branch { .. }, .. })) {
            self.exits.push(Edge { condition: self.reached, memory: self.memory });
        }
        Ok(())
    }

    /// Returns the condition and the memory at the end of the template.
    fn end(&mut self) -> (Term, State) {
        let exits = std::mem::take(&mut self.exits);
        self.join(&exits);
        (self.reached, self.memory)
    }

    fn statement(&mut self, statement: &'a Statement) -> Result<(), RuleError> {
        match &statement.inst {
            Inst::Store { value, pointer, align } => return self.store(statement, value, pointer, *align),
            Inst::Branch { condition, labels } => return self.branch(condition, labels),
            Inst::Return { value } => {
                let outcome = self.operand(value)?;
                let name = if self.label.is_empty() { "ret".to_string() } else { format!("ret in {}", self.label) };
                let ty = self.encoder.typing.of_expr(value.value.id);
                let outcome = self.here(outcome);
                self.values.push((name, ty, outcome));
                return Ok(());
            }
            Inst::Unreachable => {
                self.reached = self.encoder.terms.bool(false);
                return Ok(());
            }
            Inst::Skip => return Ok(()),
            _ => {}
        }
        let name = statement.defines.as_deref().unwrap_or_default();
        let outcome = self.value(statement, name)?;
        let outcome = self.here(outcome);
        self.registers.insert(name, outcome);
        self.values.push((name.to_string(), self.encoder.typing.of_register(name), outcome));
        Ok(())
    }

    /// Returns a value under the condition of the current block.
    fn here(&mut self, mut outcome: Outcome) -> Outcome {
        outcome.defined = self.encoder.terms.and(outcome.defined, self.reached);
        outcome
    }

    fn value(&mut self, statement: &'a Statement, name: &str) -> Result<Outcome, RuleError> {
        Ok(match &statement.inst {
            Inst::Binary { op, flags, a, b } => {
                let (a, b) = (self.operand(a)?, self.operand(b)?);
                self.encoder.binary(*op, *flags, a, b)
            }
            Inst::Icmp { condition, a, b } => {
                let (a, b) = (self.operand(a)?, self.operand(b)?);
                self.encoder.icmp(condition, a, b, name)
            }
            Inst::Select { condition, a, b } => {
                let (condition, a, b) = (self.operand(condition)?, self.operand(a)?, self.operand(b)?);
                self.encoder.select(condition, a, b)
            }
            Inst::Convert { op, value, .. } => {
                let value = self.operand(value)?;
                let ty = self.encoder.typing.of_register(name);
                let width = self.encoder.width(&ty, statement.at)?;
                let outcome = self.encoder.convert(*op, value, width);
                self.with_block(*op == kingpost_rules::ConvertOp::IntToPtr, outcome)
            }
            Inst::Copy { value } => self.operand(value)?,
            Inst::Alloca { count, align, .. } => {
                let count = count.as_ref().map(|count| self.operand(count)).transpose()?;
                let Type::Pointer(element) = self.encoder.typing.of_register(name) else {
                    unreachable!("the result of alloca is a pointer")
                };
                self.encoder.allocate(name, &element, count, *align)
            }
            Inst::GetElementPtr { pointer, indices } => self.element_pointer(pointer, indices)?,
            Inst::Load { pointer, align } => {
                let ty = self.encoder.typing.of_register(name);
                let width = self.encoder.width(&ty, statement.at)?;
                let pointer = self.operand(pointer)?;
                let outcome =
                    self.encoder.load(self.memory, pointer, Access { at: statement.at, align: *align, width })?;
                self.reached = self.encoder.terms.and(self.reached, outcome.defined);
                self.with_block(matches!(ty, Type::Pointer(_)), outcome)
            }
            Inst::Store { .. } | Inst::Branch { .. } | Inst::Return { .. } | Inst::Unreachable | Inst::Skip => {
                unreachable!("no value")
            }
        })
    }

    /// Adds a block for a pointer made from bits, as for an input. Returns the outcome unchanged.
    fn with_block(&mut self, is_pointer: bool, outcome: Outcome) -> Outcome {
        if is_pointer {
            self.encoder.outside_pointer(outcome.value);
        }
        outcome
    }

    fn operand(&mut self, operand: &Operand) -> Result<Outcome, RuleError> {
        self.expression(&operand.value)
    }

    fn expression(&mut self, expr: &Expr) -> Result<Outcome, RuleError> {
        if let ExprKind::Register(name) = &expr.kind
            && let Some(&outcome) = self.registers.get(name.as_str())
        {
            return Ok(outcome);
        }
        let registers = &self.registers;
        let value = self.encoder.constant(expr, &|name| registers.get(name).map(|outcome| outcome.value))?;
        let outcome = Outcome::plain(self.encoder.terms, value);
        let is_pointer = matches!(self.encoder.typing.of_expr(expr.id), Type::Pointer(_));
        Ok(self.with_block(is_pointer && expr.kind == ExprKind::Undef, outcome))
    }

    fn element_pointer(&mut self, pointer: &'a Operand, indices: &'a [Operand]) -> Result<Outcome, RuleError> {
        let bits = self.encoder.typing.pointer_bits();
        let mut ty = self.encoder.typing.of_expr(pointer.value.id);
        let mut outcome = self.operand(pointer)?;
        for index in indices {
            ty = match ty {
                Type::Pointer(inner) | Type::Array(_, inner) => *inner,
                Type::Int(_) => unreachable!("types were checked"),
            };
            let index = self.operand(index)?;
            let terms = &mut *self.encoder.terms;
            let number = if terms.width(index.value) <= bits {
                terms.sign_extend(index.value, bits)
            } else {
                terms.extract(index.value, 0, bits)
            };
            let size = terms.number(bits, u128::from(crate::template::bytes(&ty, bits)));
            let offset = terms.mul(number, size);
            let value = terms.add(outcome.value, offset);
            outcome = Outcome::of(terms, value, &[outcome, index]);
        }
        Ok(outcome)
    }

    fn store(
        &mut self,
        statement: &Statement,
        value: &Operand,
        pointer: &Operand,
        align: Option<u64>,
    ) -> Result<(), RuleError> {
        let width = self.encoder.expr_width(&value.value)?;
        let is_undef = value.value.kind == ExprKind::Undef;
        let (value, pointer) = (self.operand(value)?, self.operand(pointer)?);
        let access = Access { at: statement.at, align, width };
        if is_undef {
            self.encoder.undef_is_stored(value.value, pointer.value, access);
        }
        let defined = self.encoder.store_defined(value, pointer, access);
        self.reached = self.encoder.terms.and(self.reached, defined);
        self.memory = self.encoder.store(self.memory, self.reached, value.value, pointer.value, access)?;
        Ok(())
    }

    fn branch(&mut self, condition: &'a Operand, labels: &'a [String; 2]) -> Result<(), RuleError> {
        let condition = self.operand(condition)?;
        let set = self.encoder.is_set(condition.value);
        let clear = self.encoder.terms.not(set);
        for (label, taken) in labels.iter().zip([set, clear]) {
            let all = [self.reached, condition.defined, condition.poison_free, taken];
            let condition = self.encoder.terms.all(all);
            self.edges.entry(label).or_default().push(Edge { condition, memory: self.memory });
        }
        Ok(())
    }
}
