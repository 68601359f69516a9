//! Branches: simplifies conditions of branches and traps, and replaces branches with a known target by jumps.
//!
//! ```text
//! v2 = icmp eq v0, v1
//! v3 = uextend.i32 v2
//! brif v3, block1, block2                  brif v2, block1, block2
//! ```
//!
//! Part of the walk of [`crate::gvn`].

use kingpost_ir::{BlockCall, Inst, InstData, InstView, Opcode, Value};

use crate::gvn::{Edges, Walk};
use crate::observer::Subject;
use crate::purity::constant;
use crate::rewrite::{self, Effect};

impl Walk<'_> {
    /// Returns a value that is zero exactly if `condition` is zero, and that costs no more to compute. Terminates
    /// because each rule leads to an operand of the instruction that it matches, or to fewer instructions.
    pub(crate) fn simplify_condition(&mut self, condition: Value) -> Value {
        let mut condition = condition;
        while let Some(simpler) = rewrite::simplify_condition(self, condition) {
            self.tell(Subject::Condition(condition), simpler);
            condition = simpler;
        }
        condition
    }

    pub(crate) fn visit_branch(&mut self, inst: Inst) {
        match self.func.dfg.opcode(inst) {
            Opcode::Brif => {
                self.visit_condition(inst);
            }
            // No rule can express this rewrite, because a table has any number of destinations.
            Opcode::BrTable => {
                if let InstView::BranchTable { index, table } = self.func.dfg.view(inst)
                    && let Some(index) = constant(self.func, index)
                {
                    let (default, entries) = self.func.dfg.jump_table(table);
                    let dest = entries.get(index as usize).copied().unwrap_or(default);
                    self.become_jump(inst, dest);
                }
            }
            _ => {}
        }
    }

    /// Simplifies the condition of a branch or trap, and applies the rules to the instruction. Returns `true`
    /// unless the instruction was removed or became a jump. Terminates because each rule leads to an operand of the
    /// instruction that it matches, or to fewer instructions.
    pub(crate) fn visit_condition(&mut self, inst: Inst) -> bool {
        loop {
            let condition = self.func.dfg.inline_arg(inst, 0);
            let simpler = self.simplify_condition(condition);
            self.func.dfg.inst_args_mut(inst)[0] = self.implied_condition(simpler);
            let data = *self.func.dfg.inst(inst);
            let effect = if self.may_be_simplified(&data) { self.effect_of_rules(&data) } else { None };
            match effect {
                None => return true,
                Some(Effect::Inst(data)) if data.opcode() == Opcode::Trap => {
                    self.traps.push(inst);
                    return true;
                }
                Some(Effect::Inst(data)) => self.func.dfg.replace_inst(inst, data),
                Some(Effect::Nothing) => {
                    self.func.layout.remove_inst(inst);
                    return false;
                }
                Some(Effect::Jump(edge)) => {
                    self.become_jump(inst, self.func.dfg.branch_destinations(inst)[edge]);
                    return false;
                }
                Some(Effect::Branch(value, edges)) => {
                    let old = self.func.dfg.branch_destinations(inst);
                    let [then_dest, else_dest] = edges.map(|edge| old[edge]);
                    let data = self.func.dfg.brif_data(value, then_dest, else_dest);
                    self.func.dfg.replace_inst(inst, data);
                    self.edges = self.edges.max(Edges::Reordered);
                }
            }
        }
    }

    /// Truncates blocks after traps that always occur.
    pub(crate) fn end_at_traps(&mut self) {
        while let Some(inst) = self.traps.pop() {
            let code = self.func.dfg.inst(inst).trap_code();
            // An equal trap before this one may have made it superfluous.
            let Some(code) = code.filter(|_| self.func.layout.inst_block(inst).is_some()) else { continue };
            while let Some(next) = self.func.layout.next_inst(inst) {
                self.func.layout.remove_inst(next);
            }
            self.func.dfg.replace_inst(inst, InstData::trap(code));
            self.edges = Edges::Died;
        }
    }

    /// Replaces a branch by a jump.
    fn become_jump(&mut self, inst: Inst, dest: BlockCall) {
        let data = self.func.dfg.jump_data(dest);
        self.func.dfg.replace_inst(inst, data);
        self.edges = Edges::Died;
    }
}
