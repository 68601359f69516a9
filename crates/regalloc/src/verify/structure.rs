//! Rules 1 to 10 and 23 to 24: blocks, edges, order, frequencies, widths.

use super::rule::{Entity, Errors, Rule};
use crate::entities::{Block, Edge};
use crate::operand::Constraint;
use crate::problem::{Freq, InstFlags, Problem};
use cranelift_entity::EntityRef;

/// Checks rules 1 and 2, on which all other checks rely.
pub(super) fn check_references(problem: &Problem, errors: &mut Errors) {
    let exists = |block: Block| block.index() < problem.num_blocks();
    let vregs_exist = |vregs: &[crate::VReg]| vregs.iter().all(|v| v.index() < problem.vregs.len());
    for block in problem.blocks() {
        errors.check(vregs_exist(problem.params(block)), Rule::EntitiesExist, Entity::Block(block));
        for inst in problem.insts(block) {
            for (i, operand) in problem.operands(inst).iter().enumerate() {
                let set_exists = match operand.constraint() {
                    Constraint::Within(set) => set.index() < problem.all_reg_sets().len(),
                    _ => true,
                };
                let known = set_exists && operand.vreg().index() < problem.vregs.len();
                errors.check(known, Rule::EntitiesExist, Entity::Operand(inst, i));
            }
            let known = problem.clobber_id(inst).index() < problem.all_clobbers().len();
            errors.check(known, Rule::EntitiesExist, Entity::Inst(inst));
        }
    }
    for edge in problem.edges() {
        let data = problem.edge(edge);
        let known = exists(data.from) && exists(data.to);
        let known = known && vregs_exist(problem.edge_args(edge)) && vregs_exist(problem.edge_defs(edge));
        errors.check(known, Rule::EntitiesExist, Entity::Edge(edge));
    }
    let order_exists = problem.order.iter().all(|&block| exists(block));
    errors.check(order_exists, Rule::EntitiesExist, Entity::Problem);
    for (i, label) in problem.labels.iter().enumerate() {
        let known = label.vreg.index() < problem.vregs.len() && label.to.index() <= problem.num_insts();
        errors.check(known && label.from.index() < problem.num_insts(), Rule::EntitiesExist, Entity::Label(i));
    }
    check_edge_lists(problem, errors);
}

fn check_edge_lists(problem: &Problem, errors: &mut Errors) {
    let mut seen = vec![[0u8; 2]; problem.num_edges()];
    let mut listed = |edge: Edge, side: usize, owns: bool| {
        let Some(count) = seen.get_mut(edge.index()) else { return };
        count[side] = count[side].saturating_add(if owns { 1 } else { 2 });
    };
    for block in problem.blocks() {
        for &edge in problem.succs(block) {
            listed(edge, 0, edge.index() < problem.num_edges() && problem.edge(edge).from == block);
        }
        for &edge in problem.preds(block) {
            listed(edge, 1, edge.index() < problem.num_edges() && problem.edge(edge).to == block);
        }
    }
    for (edge, count) in problem.edges().zip(seen) {
        errors.check(count == [1; 2], Rule::EdgeLists, Entity::Edge(edge));
    }
}

/// Checks rules 3 to 10, 23 and 24 except rule 6, which is checked with the dominators.
pub(super) fn check(problem: &Problem, errors: &mut Errors) {
    errors.check(problem.num_blocks() > 0, Rule::BlocksNotEmpty, Entity::Problem);
    for block in problem.blocks() {
        errors.check(problem.insts(block).len() > 0, Rule::BlocksNotEmpty, Entity::Block(block));
        let last = problem.insts(block).next_back();
        for inst in problem.insts(block) {
            let branches = problem.flags(inst).has(InstFlags::BRANCH);
            errors.check(branches == (Some(inst) == last), Rule::OneBranch, Entity::Inst(inst));
        }
    }
    if let Some(entry) = problem.blocks().next() {
        let alone = problem.preds(entry).is_empty() && problem.params(entry).is_empty();
        errors.check(alone, Rule::Entry, Entity::Block(entry));
        errors.check(problem.freq(entry) == Freq::ENTRY, Rule::Frequency, Entity::Block(entry));
    }
    for edge in problem.edges() {
        check_edge(problem, edge, errors);
    }
    check_order(problem, errors);
    for block in problem.blocks() {
        errors.check(problem.freq(block) <= Freq::MAX, Rule::Frequency, Entity::Block(block));
    }
    for edge in problem.edges() {
        errors.check(problem.edge(edge).freq <= Freq::MAX, Rule::Frequency, Entity::Edge(edge));
    }
    for (vreg, data) in problem.vregs.iter() {
        errors.check(data.class.has_width(data.width), Rule::Width, Entity::VReg(vreg));
    }
}

/// Checks rules 7 to 9 and 14.
fn check_edge(problem: &Problem, edge: Edge, errors: &mut Errors) {
    let data = problem.edge(edge);
    let branches = problem.succs(data.from).len() > 1;
    let joins = problem.preds(data.to).len() > 1;
    errors.check(!(branches && joins), Rule::NoCriticalEdge, Entity::Edge(edge));
    errors.check(!joins || problem.edge_defs(edge).is_empty(), Rule::EdgeDefTarget, Entity::Edge(edge));

    let (args, params) = (problem.edge_args(edge), problem.params(data.to));
    let fits =
        args.len() == params.len() && args.iter().zip(params).all(|(&a, &p)| problem.vregs[a] == problem.vregs[p]);
    errors.check(fits && (args.is_empty() || !branches), Rule::Arguments, Entity::Edge(edge));
    // Edits of such an edge are placed before the branch: it must not read what they write, nor overwrite their
    // results.
    if let (true, Some(jump)) = (joins || !args.is_empty(), problem.insts(data.from).next_back()) {
        errors.check(problem.is_bare(jump), Rule::BareJump, Entity::Inst(jump));
    }
}

fn check_order(problem: &Problem, errors: &mut Errors) {
    let mut seen = vec![false; problem.num_blocks()];
    for &block in &problem.order {
        let again = std::mem::replace(&mut seen[block.index()], true);
        errors.check(!again, Rule::Order, Entity::Block(block));
    }
    for (block, seen) in problem.blocks().zip(seen) {
        errors.check(seen, Rule::Order, Entity::Block(block));
    }
    let first = problem.order.first().copied();
    errors.check(first == problem.blocks().next(), Rule::Order, Entity::Problem);
}
