//! One walk over all operands, backwards. It finds the next use after each operand in its block, and the values
//! from other blocks that each block reads.
//!
//! ```text
//! b1: v1 = add v0      read from outside: v0, first by the add. What follows v0 here is the load;
//!     v2 = load v0     what follows the load's v0 is open until the blocks behind this one are known
//! ```

use crate::constraints::Constraints;
use crate::liveness::Liveness;
use crate::tables::{reset, scaled};
use crate::uses::{Def, NONE, Next, Seen};
use cranelift_entity::EntityRef;
use kingpost_regalloc::{Constraint, InstFlags, Operand, OperandClass, Pos, Problem, VReg};
use kingpost_regalloc_common::order::{BlockIndex, LinearOrder, OrderedBlock};
use kingpost_regalloc_common::point::{Position, ProgPoint};

/// The current instruction.
#[derive(Clone, Copy)]
struct UseSite {
    position: Position,
    /// Number of instructions before it in its block.
    distance: u32,
    block: BlockIndex,
    /// Frequency of the block.
    here: u32,
    /// Value that it defines in any register, or [`NONE`].
    result: u32,
}

impl Liveness {
    /// Walks over all operands, and passes instructions with constraints to `constraints`.
    pub(crate) fn find_uses(&mut self, problem: &Problem, order: &LinearOrder, constraints: &mut Constraints) {
        let values = problem.vregs.len();
        reset(&mut self.defs, values, Def::NONE);
        // The entries of all operands in the order are written.
        self.after.resize(problem.num_operands().max(self.after.len()), Next::DEAD);
        self.uses.begin(values);
        for (index, block) in order.blocks().iter().rev() {
            self.find_uses_in(problem, order, index, block, constraints);
        }
        for edge in problem.edges() {
            for &vreg in problem.edge_defs(edge) {
                let index = order.index(problem.edge(edge).to);
                let (block, def) = (order.block(index), &mut self.defs[vreg.index()]);
                *def = Def { block: index, point: block.start(), freq: scaled(block.freq), end: def.end };
                if self.uses.chains[vreg.index()].is_empty() {
                    self.uses.defs.push(vreg);
                }
            }
        }
        constraints.end();
    }

    fn find_uses_in(
        &mut self,
        problem: &Problem,
        order: &LinearOrder,
        index: BlockIndex,
        block: &OrderedBlock,
        constraints: &mut Constraints,
    ) {
        for &edge in problem.succs(block.block) {
            let args = problem.edge_args(edge);
            if !args.is_empty() {
                let source = self.jumps.source(problem, order, edge);
                for (&arg, &param) in args.iter().zip(problem.params(problem.edge(edge).to)) {
                    constraints.flow(arg, param);
                    self.uses.pass(arg, param, index, source);
                }
            }
        }
        let here = scaled(block.freq);
        let (mut position, mut distance) = (block.end, block.num_insts());
        for step in problem.walk(block.block).rev() {
            (position, distance) = (position.prev(), distance - 1);
            let operands = &problem.all_operands()[step.operands.clone()];
            let result = if step.flags.has(InstFlags::BRANCH) { NONE } else { result(operands) };
            let at = UseSite { position, distance, block: index, here, result };
            for (i, &operand) in operands.iter().enumerate().rev() {
                self.operand(problem, operand, step.operands.start + i, at, constraints);
            }
            let is_unconstrained = matches!(step.flags, InstFlags::NONE | InstFlags::BRANCH);
            match step.operand_class {
                OperandClass::Plain if is_unconstrained => {}
                OperandClass::Tied if is_unconstrained => constraints.tied(operands),
                _ => constraints.instruction(problem, &problem.step(step.inst), index, position, distance),
            }
        }
        for &param in problem.params(block.block) {
            self.defs[param.index()] = Def { block: index, point: block.start(), freq: here, ..Def::NONE };
            self.uses.defs.push(param);
            if self.uses.chains[param.index()].is_empty() {
                link(problem, param, self.uses.seen(param, index).result, constraints);
            }
        }
        self.uses.close(index);
    }

    fn operand(&mut self, problem: &Problem, operand: Operand, i: usize, at: UseSite, constraints: &mut Constraints) {
        let UseSite { position, distance, block, here, result } = at;
        let vreg = operand.vreg();
        let v = vreg.index();
        let point = match operand.pos() {
            Pos::Early => ProgPoint::early(position),
            Pos::Late => ProgPoint::late(position),
        };
        let seen = self.uses.seen(vreg, block);
        let next = seen.next;
        self.after[i] = next;
        if next.is_dead() {
            seen.open = i as u32;
        }
        if operand.is_def() {
            seen.block = None.into();
            let end = if next.is_dead() { point.next_position() } else { seen.end };
            self.defs[v] = Def { block, point, end, freq: here };
            let Seen { open, result, .. } = *seen;
            let chain = &mut self.uses.chains[v];
            if chain.is_empty() {
                return link(problem, vreg, result, constraints);
            }
            chain.open = open;
            self.uses.defs.push(vreg);
            return;
        }
        seen.next = Next { distance, freq: if operand.is_plain() { here } else { use_freq(operand, here) } };
        seen.end = seen.end.max(point.end_of_use());
        if next.is_dead() {
            seen.result = result;
            self.uses.read.push(vreg);
        }
    }
}

/// Connects a value that only its own block uses with the result of its last user, which may continue in its
/// register.
fn link(problem: &Problem, vreg: VReg, result: u32, constraints: &mut Constraints) {
    if result != NONE {
        let result = VReg::from_u32(result);
        if problem.class(vreg) == problem.class(result) {
            constraints.flow_from_dying(vreg, result);
        }
    }
}

/// Returns the value that an instruction defines in any register, or [`NONE`].
fn result(operands: &[Operand]) -> u32 {
    let is_result = |operand: &&Operand| operand.is_def() && operand.is_reg();
    operands.iter().rfind(is_result).map_or(NONE, |result| result.vreg().as_u32())
}

/// Returns the frequency that a use counts with: an operand that may be in memory saves half of the load.
fn use_freq(operand: Operand, here: u32) -> u32 {
    match operand.constraint() {
        Constraint::MemOk => (here / 2).max(1),
        Constraint::Any | Constraint::Stack => 1,
        _ => here,
    }
}
