//! Replacement of an instruction by another one with the same results.
//!
//! Before: `v2 = imul v0, v1`. After `func.replace(inst).ishl(v0, v1)`: `v2 = ishl v0, v1`.

use crate::builder::InstBuilder;
use crate::entities::Inst;
use crate::function::Function;
use crate::instruction::InstData;
use crate::types::Type;
use crate::verifier::verify_inst;
use smallvec::SmallVec;

impl Function {
    /// Returns a builder whose instruction replaces `inst`. The place and the results remain.
    ///
    /// ```
    /// use kingpost_ir::Function;
    /// use kingpost_ir::builder::{ControlBuilder, InstBuilder};
    /// use kingpost_ir::frontend::{FrontendContext, FunctionBuilder};
    /// use kingpost_ir::types::I32;
    ///
    /// let (mut func, mut scratch) = (Function::default(), FrontendContext::default());
    /// let mut b = FunctionBuilder::new(&mut func, &mut scratch);
    /// let entry = b.create_block();
    /// b.switch_to_block(entry);
    /// let two = b.ins().iconst(I32, 2);
    /// let product = b.ins().imul(two, two);
    /// b.ins().return_(&[]);
    /// let inst = b.func.dfg.defining_inst(product).unwrap();
    /// assert_eq!(b.func.replace(inst).iadd(two, two), product);
    /// ```
    pub fn replace(&mut self, inst: Inst) -> Replacer<'_> {
        Replacer { func: self, inst }
    }
}

/// Builds one instruction in place of another one.
#[derive(Debug)]
pub struct Replacer<'f> {
    func: &'f mut Function,
    inst: Inst,
}

impl InstBuilder for Replacer<'_> {
    fn func(&self) -> &Function {
        self.func
    }

    fn func_mut(&mut self) -> &mut Function {
        self.func
    }

    /// Replaces the instruction.
    ///
    /// # Panics
    /// If either instruction ends a block, if the results have other types, if a method inserts more than one
    /// instruction, or if the instruction is invalid.
    fn insert(&mut self, data: InstData, ctrl: Type) -> Inst {
        let (func, inst) = (&mut *self.func, self.inst);
        let old = func.describe(inst);
        let (before, after) = (func.dfg.opcode(inst), data.opcode);
        assert!(
            !before.is_terminator() && !after.is_terminator(),
            "{old} is replaced by `{after}`: an instruction that ends a block cannot be replaced or replace another"
        );
        let types: SmallVec<[Type; 4]> = func.dfg.inst_results(inst).iter().map(|&v| func.dfg.value_type(v)).collect();
        func.dfg.replace_inst(inst, data);
        let count = func.dfg.result_count(inst);
        let new: SmallVec<[Type; 4]> = (0..count).filter_map(|n| func.dfg.result_type(inst, n, ctrl)).collect();
        assert_eq!(types, new, "types of the results of {old}, and of `{after}` in its place");
        let mut uses_itself = false;
        func.dfg.for_each_use(inst, |value| uses_itself |= func.dfg.inst_results(inst).contains(&value));
        assert!(!uses_itself, "{old} is replaced by `{after}`, which uses the result: build its operands first");
        if let Err(errors) = verify_inst(func, inst) {
            panic!("{}", errors.pretty(func).to_string().trim_end());
        }
        inst
    }
}
