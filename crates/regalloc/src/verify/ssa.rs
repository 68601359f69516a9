//! Rules 6, 11 to 13 and 25: one def per value, and it dominates.

use super::rule::{Entity, Errors, Rule};
use crate::dominators::Dominators;
use crate::entities::{Block, Inst, VReg};
use crate::problem::Problem;
use cranelift_entity::{EntityRef, SecondaryMap};

/// Start of a value: in `block`, before the instruction `from`.
#[derive(Clone, Copy)]
struct Def {
    block: Block,
    from: u32,
}

#[derive(Clone, Copy, Default)]
struct Value {
    def: Option<Def>,
    /// Number of edges that list it.
    edges: u32,
    /// The branch that defines it, if one does.
    branch: Option<Block>,
    used: bool,
}

pub(super) fn check(problem: &Problem, errors: &mut Errors) {
    let dominators = Dominators::new(problem);
    for block in problem.blocks() {
        errors.check(dominators.is_reachable(block), Rule::Reachable, Entity::Block(block));
    }
    let mut values = SecondaryMap::new();
    values.resize(problem.vregs.len());
    let mut ssa = Ssa { problem, dominators, values };
    ssa.collect_defs(errors);
    ssa.collect_edge_defs(errors);
    ssa.check_uses(errors);
    ssa.check_branch_defs(errors);
    ssa.check_labels(errors);
}

struct Ssa<'a> {
    problem: &'a Problem,
    dominators: Dominators,
    values: SecondaryMap<VReg, Value>,
}

impl Ssa<'_> {
    fn collect_defs(&mut self, errors: &mut Errors) {
        for block in self.problem.blocks() {
            for &param in self.problem.params(block) {
                self.define(param, Def { block, from: 0 }, errors);
            }
            let last = self.problem.insts(block).next_back();
            for inst in self.problem.insts(block) {
                for operand in self.problem.operands(inst).iter().filter(|operand| operand.is_def()) {
                    self.define(operand.vreg(), Def { block, from: inst.as_u32() + 1 }, errors);
                    if Some(inst) == last {
                        self.values[operand.vreg()].branch = Some(block);
                    }
                }
            }
        }
    }

    fn define(&mut self, vreg: VReg, def: Def, errors: &mut Errors) {
        let value = &mut self.values[vreg];
        errors.check(value.def.is_none(), Rule::OneDef, Entity::VReg(vreg));
        value.def = Some(def);
    }

    /// Collects the values listed on an edge, which begin at the end of the edge.
    fn collect_edge_defs(&mut self, errors: &mut Errors) {
        for edge in self.problem.edges() {
            let data = self.problem.edge(edge);
            for &vreg in self.problem.edge_defs(edge) {
                let value = &mut self.values[vreg];
                errors.check(value.branch == Some(data.from), Rule::EdgeDefs, Entity::Edge(edge));
                if value.branch == Some(data.from) {
                    value.def = Some(Def { block: data.to, from: 0 });
                    value.edges += 1;
                }
            }
        }
    }

    fn check_uses(&mut self, errors: &mut Errors) {
        for block in self.problem.blocks() {
            for inst in self.problem.insts(block) {
                for (i, operand) in self.problem.operands(inst).iter().enumerate() {
                    if operand.is_use() {
                        self.check_use(operand.vreg(), block, inst.as_u32(), Entity::Operand(inst, i), errors);
                    }
                }
            }
        }
        for edge in self.problem.edges() {
            for &arg in self.problem.edge_args(edge) {
                let from = self.problem.edge(edge).from;
                self.check_use(arg, from, u32::MAX, Entity::Edge(edge), errors);
            }
        }
    }

    fn check_use(&mut self, vreg: VReg, block: Block, before: u32, at: Entity, errors: &mut Errors) {
        self.values[vreg].used = true;
        match self.values[vreg].def {
            None => errors.add(Rule::OneDef, at),
            Some(_) => errors.check(self.is_defined(vreg, block, before), Rule::Dominance, at),
        }
    }

    /// Returns `true` if the value is defined on every path to instruction `before` of `block`.
    fn is_defined(&self, vreg: VReg, block: Block, before: u32) -> bool {
        self.values[vreg].def.is_some_and(|def| match def.block == block {
            true => def.from <= before,
            false => !self.dominators.is_reachable(block) || self.dominators.dominates(def.block, block),
        })
    }

    fn check_branch_defs(&self, errors: &mut Errors) {
        for (vreg, value) in self.values.iter() {
            let listed = if value.used { value.edges == 1 } else { value.edges <= 1 };
            errors.check(value.branch.is_none() || listed, Rule::EdgeDefs, Entity::VReg(vreg));
        }
    }

    fn check_labels(&self, errors: &mut Errors) {
        for (i, label) in self.problem.labels.iter().enumerate() {
            let block = self.problem.block_of(label.from);
            let covered = label.from < label.to
                && self.problem.insts(block).next_back().is_some_and(|last| label.to <= Inst::new(last.index() + 1));
            let defined = self.is_defined(label.vreg, block, label.from.as_u32());
            errors.check(covered && defined, Rule::Label, Entity::Label(i));
        }
    }
}
