//! The rules that an instruction follows as soon as it is inserted, whatever follows it.

use crate::dominators::DominatorTree;
use crate::entities::Inst;
use crate::function::Function;
use crate::verifier::{Check, TargetInfo, Verified, VerifierErrors};

/// Checks one instruction, except for rules about what front ends may add later: predecessors of blocks, parameters of
/// destinations, and the order of definitions and uses.
///
/// # Errors
/// If a rule is violated.
pub fn verify_inst(func: &Function, inst: Inst) -> Result<(), VerifierErrors> {
    // The settings of the compilation are unknown.
    let target = TargetInfo { pointer_type: None, enable_pinned_reg: true, preserve_frame_pointers: true };
    let dominators = &DominatorTree::default();
    let mut check = Check { func, target: Some(target), dominators, errors: Vec::new() };
    // A fatal error is recorded in `check` like any other.
    let _ended_early = check.inserted(inst);
    if check.errors.is_empty() { Ok(()) } else { Err(VerifierErrors(check.errors)) }
}

impl Check<'_> {
    fn inserted(&mut self, inst: Inst) -> Verified {
        let func = self.func;
        let mut step = Ok(());
        func.dfg.for_each_use(inst, |value| {
            if step.is_err() {
            } else if !func.dfg.is_value_valid(value) {
                step = self.fatal(inst, format_args!("{value} is not a value of the function"));
            } else if func.dfg.is_undefined(value) {
                step = self.fatal(inst, format_args!("{value} has no definition"));
            }
        });
        step?;
        if let Some(call) = func.dfg.branch_destinations(inst).iter().find(|call| !func.dfg.is_block_valid(call.block))
        {
            return self.fatal(inst, format_args!("{} is not a block of the function", call.block));
        }
        if let Some(flags) = func.dfg.inst(inst).memflags() {
            self.declared_region(inst.into(), flags);
        }
        self.other_references(inst)?;
        self.own_types(inst);
        self.immediates(inst)
    }
}
