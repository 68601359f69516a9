//! The types of a source as the matcher sees them: tests that separate the proved types from all other ones, and
//! sources for the types of the target.
//!
//! Neither is translated from the text of the rule. All types that the opcodes of a source admit are enumerated,
//! and tests are added until exactly the typings of the rule remain.

use super::super::ast::{ClifRule, Node, NodeKind};
use super::super::types::{ALL, ClifTyping};
use crate::ast::ExprId;
use crate::error::{ErrorKind, RuleError};
use kingpost_ir::opcodes::Suffix;
use kingpost_ir::type_class::Allowed;
use kingpost_ir::types::I64;
use kingpost_ir::{Opcode, Type};
use std::collections::HashMap;

/// A type that is known to the matcher.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Known {
    /// The controlling type of the request.
    Control,
    /// The type of the value at a node of the source.
    Node(u32),
    /// The type of a lane of such a value.
    Lane(u32),
    /// This type.
    Fixed(Type),
}

/// A test of types.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Test {
    /// A scalar integer.
    Int(Known),
    /// A scalar integer, or a vector of integers of 128 bits.
    IntOrLanes(Known),
    /// A scalar float.
    Float(Known),
    /// One of these types.
    OneOf(Known, Vec<Type>),
    /// Two equal types.
    Equal(Known, Known),
    /// Two types with equally many lanes.
    SameLanes(Known, Known),
    /// Two types; the first has narrower lanes.
    Narrower(Known, Known),
}

impl Test {
    fn holds(&self, of: impl Fn(Known) -> Type) -> bool {
        match self {
            Test::Int(a) => of(*a).is_int(),
            Test::IntOrLanes(a) => of(*a).is_int() || of(*a).lane_type().is_int() && of(*a).bits() == 128,
            Test::Float(a) => of(*a).is_float(),
            Test::OneOf(a, types) => types.contains(&of(*a)),
            Test::Equal(a, b) => of(*a) == of(*b),
            Test::SameLanes(a, b) => of(*a).lane_count() == of(*b).lane_count(),
            Test::Narrower(a, b) => of(*a).lane_bits() < of(*b).lane_bits(),
        }
    }
}

/// The types of a rule, as the matcher needs them.
pub(super) struct Types {
    /// Tests.
    pub(super) tests: Vec<Test>,
    typings: Vec<ClifTyping>,
    sources: Vec<Known>,
    root: u32,
}

impl Types {
    /// Picks tests for the types of a rule.
    ///
    /// # Errors
    /// If no tests separate the proved types from other ones.
    pub(super) fn new(rule: &ClifRule, typings: Vec<ClifTyping>) -> Result<Types, RuleError> {
        let order = rule.source.post_order();
        let mut sources: Vec<Known> = if rule.is_condition { Vec::new() } else { vec![Known::Control] };
        let is_value = |node: &&&Node| matches!(node.kind, NodeKind::Value(_));
        let is_other = |node: &&&Node| {
            matches!(node.kind, NodeKind::Constant(_) | NodeKind::Inst { .. })
                && (rule.is_condition || node.id != rule.source.id)
        };
        sources.extend(order.iter().filter(is_value).map(|node| Known::Node(node.id)));
        sources.extend(order.iter().filter(is_other).map(|node| Known::Node(node.id)));
        let mut types = Types { tests: Vec::new(), typings, sources, root: rule.source.id };
        types.pick_tests(rule)?;
        Ok(types)
    }

    /// Returns the type that an assignment gives to a known type.
    fn of(&self, typing: &Assignment, known: Known) -> Type {
        match known {
            Known::Control => typing.controls[&self.root],
            Known::Node(id) => typing.nodes[&id],
            Known::Lane(id) => typing.nodes[&id].lane_type(),
            Known::Fixed(ty) => ty,
        }
    }

    fn pick_tests(&mut self, rule: &ClifRule) -> Result<(), RuleError> {
        let order = rule.source.post_order();
        let proved: Vec<Assignment> = self.typings.iter().map(|typing| Assignment::of(typing, &order)).collect();
        let mut others: Vec<Assignment> =
            universe(rule).into_iter().filter(|assignment| !proved.contains(assignment)).collect();
        let candidates: Vec<Test> = self
            .candidates(&proved)
            .into_iter()
            .filter(|test| proved.iter().all(|typing| test.holds(|known| self.of(typing, known))))
            .collect();
        while !others.is_empty() {
            let excluded =
                |test: &Test| others.iter().filter(|typing| !test.holds(|known| self.of(typing, known))).count();
            // The first of the tests that exclude most.
            let best = candidates.iter().rev().max_by_key(|test| excluded(test)).filter(|test| excluded(test) > 0);
            let Some(best) = best.cloned() else {
                let message = format!("no test distinguishes the types of {} from others", rule.name);
                return Err(RuleError::new(ErrorKind::Type, rule.at, message));
            };
            others.retain(|typing| best.holds(|known| self.of(typing, known)));
            self.tests.push(best);
        }
        Ok(())
    }

    /// Returns all possible tests, the cheap ones first.
    fn candidates(&self, proved: &[Assignment]) -> Vec<Test> {
        let mut all = Vec::new();
        for &a in &self.sources {
            all.extend([Test::Int(a), Test::Float(a), Test::IntOrLanes(a)]);
        }
        for (index, &a) in self.sources.iter().enumerate() {
            all.extend(self.sources[..index].iter().map(|&b| Test::Equal(b, a)));
            all.extend(self.sources[..index].iter().map(|&b| Test::SameLanes(b, a)));
        }
        for &a in &self.sources {
            all.extend(self.sources.iter().filter(|&&b| b != a).map(|&b| Test::Narrower(a, b)));
        }
        for &a in &self.sources {
            let mut types: Vec<Type> = proved.iter().map(|typing| self.of(typing, a)).collect();
            types.sort_unstable();
            types.dedup();
            all.push(Test::OneOf(a, types));
        }
        all
    }

    /// Returns a known type that is `same` as the type that `of` returns, for every typing of the source. If the
    /// source leaves a choice, the other choices are removed from the typings.
    fn find(&mut self, of: impl Fn(&ClifTyping) -> Type, same: impl Fn(Type, Type) -> bool) -> Option<Known> {
        let fixed = self.typings.iter().map(|typing| Known::Fixed(of(typing)));
        let nodes = self.sources.iter().copied();
        let lanes = self.sources.iter().filter_map(|&known| match known {
            Known::Node(id) => Some(Known::Lane(id)),
            _ => None,
        });
        let candidates: Vec<Known> = nodes.chain(lanes).chain(fixed).collect();
        let source = |typing: &ClifTyping, known: Known| match known {
            Known::Control => typing.controls[self.root as usize],
            Known::Node(id) => typing.nodes[id as usize],
            Known::Lane(id) => typing.nodes[id as usize].lane_type(),
            Known::Fixed(ty) => ty,
        };
        let key = |typing: &ClifTyping| self.sources.iter().map(|&known| source(typing, known)).collect::<Vec<Type>>();
        let found = candidates.into_iter().find(|&known| {
            let fits = |typing: &&ClifTyping| same(of(typing), source(typing, known));
            let kept: Vec<Vec<Type>> = self.typings.iter().filter(fits).map(key).collect();
            self.typings.iter().all(|typing| kept.contains(&key(typing)))
        })?;
        let root = self.root as usize;
        self.typings.retain(|typing| {
            let known = match found {
                Known::Control => typing.controls[root],
                Known::Node(id) => typing.nodes[id as usize],
                Known::Lane(id) => typing.nodes[id as usize].lane_type(),
                Known::Fixed(ty) => ty,
            };
            same(of(typing), known)
        });
        Some(found)
    }

    /// Returns the controlling type of an instruction of the target.
    pub(super) fn control(&mut self, node: &Node) -> Result<Known, RuleError> {
        let found = self.find(|typing| typing.control(node), |a, b| a == b);
        found.ok_or_else(|| unknown(node))
    }

    /// Returns the type of a node of the target.
    pub(super) fn node(&mut self, node: &Node) -> Result<Known, RuleError> {
        let found = self.find(|typing| typing.of(node), |a, b| a == b);
        found.ok_or_else(|| unknown(node))
    }

    /// Returns a type whose lanes are as wide as an expression.
    pub(super) fn width(&mut self, expr: ExprId) -> Option<Known> {
        self.find(|typing| typing.exprs[expr.index()], |a, b| a.lane_bits() == b.lane_bits())
    }
}

fn unknown(node: &Node) -> RuleError {
    RuleError::new(ErrorKind::Type, node.at, "the source does not tell this type")
}

/// The types of the nodes of a source, and the controlling types of its instructions.
#[derive(Clone, PartialEq, Debug, Default)]
struct Assignment {
    nodes: HashMap<u32, Type>,
    controls: HashMap<u32, Type>,
}

impl Assignment {
    fn of(typing: &ClifTyping, order: &[&Node]) -> Assignment {
        let insts = order.iter().filter(|node| matches!(node.kind, NodeKind::Inst { .. }));
        let values = order.iter().filter(|node| !matches!(node.kind, NodeKind::Edge(_) | NodeKind::Offset(_)));
        Assignment {
            nodes: values.map(|node| (node.id, typing.of(node))).collect(),
            controls: insts.map(|node| (node.id, typing.control(node))).collect(),
        }
    }
}

/// Returns all types that the opcodes of a source admit.
fn universe(rule: &ClifRule) -> Vec<Assignment> {
    let any = |ty: Type| !rule.is_condition || ty.is_int();
    let start = vec![(Assignment::default(), HashMap::new())];
    assignments(&rule.source, &any, start).into_iter().map(|(assignment, _)| assignment).collect()
}

type Partial<'n> = (Assignment, HashMap<&'n str, Type>);

fn assignments<'n>(node: &'n Node, allowed: &dyn Fn(Type) -> bool, partial: Vec<Partial<'n>>) -> Vec<Partial<'n>> {
    let mut found = Vec::new();
    for (assignment, names) in partial {
        let with = |ty: Type| {
            let mut assignment = assignment.clone();
            assignment.nodes.insert(node.id, ty);
            assignment
        };
        match &node.kind {
            NodeKind::Value(name) => match names.get(name.as_str()) {
                Some(&ty) if allowed(ty) => found.push((with(ty), names)),
                Some(_) => {}
                None => found.extend(ALL.into_iter().filter(|&ty| allowed(ty)).map(|ty| {
                    let mut names = names.clone();
                    names.insert(name, ty);
                    (with(ty), names)
                })),
            },
            NodeKind::Edge(_) | NodeKind::Offset(_) => found.push((assignment, names)),
            NodeKind::Constant(_) => {
                let types = ALL.into_iter().filter(|&ty| ty.lane_type().is_int() && allowed(ty));
                found.extend(types.map(|ty| (with(ty), names.clone())));
            }
            NodeKind::Inst { opcode, operands, .. } => {
                let info = opcode.info();
                let classes = ALL.into_iter().chain([kingpost_ir::types::INVALID]);
                let controls = classes.filter(|&ty| match info.suffix {
                    Suffix::None => ty.is_invalid(),
                    _ => info.class.set().contains(ty),
                });
                for control in controls {
                    // An instruction without a result has this type in a typing.
                    let results = info.results.first().map_or(vec![I64], |result| {
                        let result = result.resolve(control);
                        ALL.into_iter().filter(|&ty| result.contains(ty) && allowed(ty)).collect()
                    });
                    for ty in results {
                        let mut assignment = with(ty);
                        assignment.controls.insert(node.id, control);
                        let mut partial = vec![(assignment, names.clone())];
                        for (operand, constraint) in operands.iter().zip(info.operands) {
                            let place: Allowed = constraint.resolve(control);
                            let fits = |ty: Type| {
                                place.contains(ty) && (*opcode != Opcode::Bitcast || ty.bits() == control.bits())
                            };
                            partial = assignments(operand, &fits, partial);
                        }
                        found.extend(partial);
                    }
                }
            }
        }
    }
    found
}
