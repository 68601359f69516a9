//! Branches: what only tests whether a value is zero, and branches with a known target.
//!
//! ```text
//! v2 = icmp eq v0, v1
//! v3 = uextend.i32 v2
//! brif v3, block1, block2                  brif v2, block1, block2
//! ```
//!
//! Part of the walk of [`crate::simplify`].

use kingpost_ir::condcodes::IntCC;
use kingpost_ir::{BlockCall, Inst, InstView, Value};

use crate::observer::Subject;
use crate::purity::constant;
use crate::rewrite::{self, Graph};
use crate::simplify::{Edges, Walk};

impl Walk<'_> {
    /// A value that is zero exactly if `condition` is, and no more work to compute.
    pub(crate) fn simplify_condition(&mut self, condition: Value) -> Value {
        let mut condition = condition;
        while let Some(simpler) = rewrite::simplify_condition(self, condition) {
            self.tell(Subject::Condition(condition), simpler);
            condition = simpler;
        }
        condition
    }

    /// The value that is zero exactly if `condition` is not, if it exists.
    fn inverse(&self, condition: Value) -> Option<Value> {
        let definition = self.definition(condition)?;
        match definition.args() {
            &[x, y] if definition.int_cond() == Some(IntCC::Equal) && self.constant(y) == Some(0) => Some(x),
            _ => None,
        }
    }

    pub(crate) fn visit_branch(&mut self, inst: Inst) {
        match self.func.dfg.view(inst) {
            InstView::Brif { cond, then_dest, else_dest } => self.visit_brif(inst, cond, then_dest, else_dest),
            InstView::BranchTable { index, table } => {
                if let Some(index) = constant(self.func, index) {
                    let (default, entries) = self.func.dfg.jump_table(table);
                    let dest = entries.get(index as usize).copied().unwrap_or(default);
                    self.become_jump(inst, dest);
                }
            }
            _ => {}
        }
    }

    fn visit_brif(&mut self, inst: Inst, condition: Value, then_dest: BlockCall, else_dest: BlockCall) {
        let (mut then_dest, mut else_dest) = (then_dest, else_dest);
        let mut simple = self.simplify_condition(condition);
        while let Some(inverse) = self.inverse(simple) {
            simple = self.simplify_condition(inverse);
            std::mem::swap(&mut then_dest, &mut else_dest);
            self.edges = self.edges.max(Edges::Reordered);
        }
        let is_same = then_dest.block == else_dest.block
            && self.func.dfg.block_args(then_dest) == self.func.dfg.block_args(else_dest);
        match constant(self.func, simple) {
            _ if is_same => self.become_jump(inst, then_dest),
            Some(0) => self.become_jump(inst, else_dest),
            Some(_) => self.become_jump(inst, then_dest),
            None if simple != condition => {
                let data = self.func.dfg.brif_data(simple, then_dest, else_dest);
                self.func.dfg.replace_inst(inst, data);
            }
            None => {}
        }
    }

    /// Replaces a branch by a jump.
    fn become_jump(&mut self, inst: Inst, dest: BlockCall) {
        let data = self.func.dfg.jump_data(dest);
        self.func.dfg.replace_inst(inst, data);
        self.edges = Edges::Died;
    }
}
