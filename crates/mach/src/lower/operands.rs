//! Shorthands for the lowering code of instruction sets.

use super::machine::LowerBackend;
use super::{LowerCtx, LowerResult};
use crate::abi::{AbiArg, AbiPart, AbiPlace};
use crate::code::{LimitStep, StackLimit};
use crate::inst::MInst;
use crate::row::RowId;
use kingpost_ir::memflags::Endianness;
use kingpost_ir::preamble::GlobalValueData;
use kingpost_ir::signature::ArgumentPurpose;
use kingpost_ir::types::I64;
use kingpost_ir::{GlobalValue, Inst, Type, Value};
use kingpost_regalloc::{RegClass, VReg};
use smallvec::SmallVec;

/// Operands, results, temporaries.
impl LowerCtx<'_> {
    /// Returns the operands of an instruction.
    pub fn args<const N: usize>(&self, inst: Inst) -> [Value; N] {
        let args = self.func.dfg.inst_args(inst).first_chunk();
        *args.expect("an opcode has its arguments")
    }

    /// Returns the registers of the first result and of all arguments, `N` in all.
    pub fn registers<const N: usize>(&mut self, inst: Inst) -> [VReg; N] {
        let mut regs = [self.result(self.first_result(inst)); N];
        for (reg, &arg) in regs.iter_mut().skip(1).zip(self.func.dfg.inst_args(inst)) {
            *reg = self.use_reg(arg);
        }
        regs
    }

    /// Returns the first result of an instruction.
    #[inline]
    pub fn first_result(&self, inst: Inst) -> Value {
        self.func.dfg.first_result(inst).expect("an instruction that is asked for its result has one")
    }

    /// Returns the type of the first result.
    pub fn result_ty(&self, inst: Inst) -> Type {
        self.ty(self.first_result(inst))
    }

    /// Returns the register of a result, if it has a use.
    pub fn needed_result(&mut self, value: Value) -> Option<VReg> {
        self.has_reg(value).then(|| self.result(value))
    }

    /// Returns a new register for an integer of `bits` bits.
    pub fn int_temp(&mut self, bits: u32) -> VReg {
        self.temp(RegClass::Int, if bits <= 32 { 4 } else { 8 })
    }

    /// Returns a new register for a float of `bits` bits.
    pub fn float_temp(&mut self, bits: u32) -> VReg {
        self.temp(RegClass::Float, (bits / 8).max(4) as u8)
    }

    /// Emits `row` with an immediate.
    pub fn emit_imm(&mut self, row: RowId, vregs: &[VReg], imm: i32) -> &mut MInst {
        let inst = self.emit(row, vregs);
        inst.imm = imm;
        inst
    }
}

/// Lowers an opcode that is one row, whose operands are the registers of its result and arguments.
pub fn by_row<'f>(cx: &mut impl LowerBackend<'f>, inst: Inst, row: RowId) -> LowerResult {
    let func = cx.func;
    let value = cx.first_result(inst);
    let mut operands: SmallVec<[VReg; 4]> = SmallVec::from_slice(&[cx.result(value)]);
    operands.extend(func.dfg.inst_args(inst).iter().map(|&arg| cx.use_reg(arg)));
    cx.emit(row, &operands);
    Ok(())
}

/// Access to global values.
impl LowerCtx<'_> {
    /// Returns the parameter that holds the VM context.
    pub fn context_param(&self) -> Option<Value> {
        let index = self.func.signature.special_param_index(ArgumentPurpose::VmContext)?;
        self.func.dfg.block_params(self.func.layout.entry_block()?).get(index).copied()
    }

    /// Returns the VM context parameter, if a global value is computed from it.
    pub fn context_of(&self, global: GlobalValue) -> Option<Value> {
        match self.func.global_values[self.global_chain(global)?.0] {
            GlobalValueData::VmContext => self.context_param(),
            _ => None,
        }
    }

    /// Returns the limit of the stack, if a prologue can compute it from a parameter in a register.
    pub fn limit_from_context(&self, limit: GlobalValue) -> Option<StackLimit> {
        let (root, chain) = self.global_chain(limit)?;
        let globals = &self.func.global_values;
        if globals[root] != GlobalValueData::VmContext {
            return None;
        }
        let steps = chain.iter().map(|&global| match globals[global] {
            GlobalValueData::Load { offset, ty: I64, flags, .. } if flags.endianness() != Some(Endianness::Big) => {
                Some(LimitStep::Load { offset, trap: flags.trap_code() })
            }
            GlobalValueData::IAddImm { offset, ty: I64, .. } => Some(LimitStep::Add(offset.try_into().ok()?)),
            _ => None,
        });
        let steps: Option<SmallVec<[LimitStep; 2]>> = steps.collect();
        let index = self.func.signature.special_param_index(ArgumentPurpose::VmContext)?;
        match self.abi.args.get(index)? {
            AbiArg::Value(parts) => match parts[..] {
                [AbiPart { place: AbiPlace::Reg(base), ty: I64, .. }] => Some(StackLimit { base, steps: steps? }),
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns the global value that `global` is computed from and that depends on no other, and the global values
    /// after it in the computation, `global` last. Returns `None` if they form a cycle.
    pub fn global_chain(&self, global: GlobalValue) -> Option<(GlobalValue, SmallVec<[GlobalValue; 4]>)> {
        let globals = &self.func.global_values;
        let (mut chain, mut root) = (SmallVec::new(), global);
        while let GlobalValueData::Load { base, .. } | GlobalValueData::IAddImm { base, .. } = &globals[root] {
            if chain.len() > globals.len() {
                return None;
            }
            chain.push(root);
            root = *base;
        }
        chain.reverse();
        Some((root, chain))
    }
}
