//! An allocator whose code is wrong, to test judges of emitted code.

use cranelift_entity::EntityRef;
use kingpost_regalloc::{AllocError, Allocation, Allocator, Inst, Kind, MachineEnv, Problem};

/// An allocator that exchanges the locations of the two operands of each instruction that reads two and writes one.
pub struct Exchanging(pub Box<dyn Allocator>);

impl Allocator for Exchanging {
    fn name(&self) -> &'static str {
        "exchanging"
    }

    fn allocate(&mut self, problem: &Problem, env: &MachineEnv, out: &mut Allocation) -> Result<(), AllocError> {
        self.0.allocate(problem, env, out)?;
        for inst in (0..problem.num_insts()).map(Inst::new) {
            let operands = problem.operands(inst);
            let is_use = |&at: &usize| operands[at].kind() == Kind::Use;
            let uses: Vec<usize> = (0..operands.len()).filter(is_use).collect();
            if let (&[first, second], 3) = (&uses[..], operands.len()) {
                let start = problem.operand_range(inst).start;
                out.locs.swap(start + first, start + second);
            }
        }
        Ok(())
    }
}
