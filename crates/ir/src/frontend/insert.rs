//! One instruction at the end of the current block. Misuse of the builder stops here, at the call that is at fault.

use super::FunctionBuilder;
use crate::builder::InstBuilder;
use crate::entities::{Block, Inst};
use crate::function::Function;
use crate::instruction::InstData;
use crate::types::Type;
use crate::verifier::verify_inst;

/// Builds one instruction at the end of the current block.
#[derive(Debug)]
pub struct FrontendInserter<'b, 'f> {
    pub(super) builder: &'b mut FunctionBuilder<'f>,
}

impl InstBuilder for FrontendInserter<'_, '_> {
    fn func(&self) -> &Function {
        self.builder.func
    }

    fn func_mut(&mut self) -> &mut Function {
        self.builder.func
    }

    fn insert(&mut self, data: InstData, ctrl: Type) -> Inst {
        let opcode = data.opcode;
        let builder = &mut *self.builder;
        let block = builder.current.unwrap_or_else(|| panic!("`{opcode}` without a block: switch to a block first"));
        if let Some(last) = builder.func.layout.last_inst(block).filter(|&last| is_end(builder.func, last)) {
            let last = builder.func.describe(last);
            panic!("`{opcode}` after {last}, which ends {block}: switch to another block first");
        }
        let inst = builder.func.dfg.make_inst(data);
        builder.func.dfg.make_results(inst, ctrl);
        builder.func.layout.append_inst(inst, block);
        if !builder.srcloc.is_none() {
            builder.func.set_srcloc(inst, builder.srcloc);
        }
        if let Err(errors) = verify_inst(builder.func, inst) {
            panic!("{}", errors.pretty(builder.func).to_string().trim_end());
        }
        for (edge, call) in builder.func.dfg.branch_destinations(inst).iter().enumerate() {
            if builder.cx.is_sealed(call.block) {
                sealed(builder.func, inst, call.block);
            }
            builder.cx.add_branch(block, inst, edge as u32, call.block);
        }
        inst
    }
}

fn is_end(func: &Function, inst: Inst) -> bool {
    func.dfg.opcode(inst).is_terminator()
}

#[cold]
fn sealed(func: &Function, inst: Inst, to: Block) -> ! {
    panic!("{} leads to {to}, which is sealed: seal a block after the last branch to it", func.describe(inst));
}
