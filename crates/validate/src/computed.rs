//! Translation of instructions whose only effect is a trap.

use crate::clif::{Effect, symbol};
use crate::error::Feature;
use crate::float::{chosen, has_instruction};
use crate::input::Machine;
use crate::lanes::{selects_in_memory, shuffled};
use crate::translate::Translation;
use cranelift_entity::EntityRef;
use kingpost_ir::memflags::Endianness;
use kingpost_ir::types::I128;
use kingpost_ir::{Inst, InstView, Opcode, TrapCode, ValueDef};
use kingpost_semantics::{Immediate, Operation, by_halves, outcome};
use kingpost_smt::{Node, Op, Term, Terms};

impl Translation<'_> {
    /// Translates an instruction whose only effect is a trap.
    pub(crate) fn pure(&mut self, inst: Inst, opcode: Opcode) -> Result<(), Feature> {
        let dfg = &self.func.dfg;
        let results = dfg.inst_results(inst);
        let constant = |terms: &mut Terms, width, bits: u64| Some(terms.number(width, bits.into()));
        let term = match dfg.view(inst) {
            InstView::UnaryImm { imm } => constant(self.terms, self.ty(results[0])?.bits(), imm as u64),
            InstView::UnaryIeee32 { imm } => constant(self.terms, 32, imm.bits().into()),
            InstView::UnaryIeee64 { imm } => constant(self.terms, 64, imm.bits()),
            InstView::UnaryConst { constant: number } if self.ty(results[0])?.is_vector() => {
                let bytes = dfg.constants.bytes(number);
                let bits = bytes.iter().rev().fold(0, |bits: u128, &byte| bits << 8 | u128::from(byte));
                Some(self.terms.number(self.ty(results[0])?.bits(), bits))
            }
            InstView::Shuffle { args, mask } => {
                let [x, y] = [self.operand(args[0])?.bits, self.operand(args[1])?.bits];
                Some(shuffled(self.terms, [x, y], mask))
            }
            InstView::StackAddr { slot, offset } => {
                let offset = self.terms.number(64, offset as i64 as u64 as u128);
                Some(self.terms.add(self.addresses.slots[slot.index()], offset))
            }
            InstView::FuncAddr { func } => {
                let name = self.func.display_name(&dfg.ext_funcs[func].name).to_string();
                Some(symbol(self.terms, &name))
            }
            InstView::UnaryGlobalValue { global } if opcode == Opcode::SymbolValue => {
                self.ty(results[0])?;
                Some(self.global(global, &format!("m{}", results[0].index()))?)
            }
            InstView::ExceptionHandlerAddress { block, index } => Some(self.handler_address(block, index)?),
            _ => match self.frame_address(opcode)? {
                Some(address) => Some(address),
                None => return self.computed(inst, opcode),
            },
        };
        self.values[results[0]] = Some(term.ok_or(Feature::Opcode(opcode))?);
        Ok(())
    }

    /// Translates an instruction by its meaning.
    fn computed(&mut self, inst: Inst, opcode: Opcode) -> Result<(), Feature> {
        let dfg = &self.func.dfg;
        let immediate = match dfg.view(inst) {
            InstView::IntCompare { cond, .. } => Immediate::Condition(cond),
            InstView::FloatCompare { cond, .. } => Immediate::FloatCondition(cond),
            InstView::CondTrap { code, .. } | InstView::IntAddTrap { code, .. } => {
                Immediate::Code(self.terms.number(8, code.byte().into()))
            }
            InstView::LoadNoOffset { flags, arg } if opcode == Opcode::Bitcast => {
                // Without a change of the number of lanes, their order does not matter.
                let operand = self.operand(arg)?;
                if operand.ty.lane_count() != self.ty(dfg.inst_results(inst)[0])?.lane_count() {
                    if flags.endianness() == Some(Endianness::Big) {
                        return Err(Feature::Opcode(opcode));
                    }
                    self.values[dfg.inst_results(inst)[0]] = Some(operand.bits);
                    return Ok(());
                }
                Immediate::None
            }
            InstView::BinaryImm8 { imm, .. } | InstView::TernaryImm8 { imm, .. } => Immediate::Lane(imm),
            InstView::Unary { .. } | InstView::Binary { .. } | InstView::Ternary { .. } => Immediate::None,
            _ => return Err(Feature::Opcode(opcode)),
        };
        let results = dfg.inst_results(inst);
        for &result in results {
            self.ty(result)?;
        }
        let operands = dfg.inst_args(inst).iter().map(|&value| self.operand(value));
        let operands = operands.collect::<Result<Vec<_>, _>>()?;
        let operation = Operation { opcode, ty: dfg.ctrl_type(inst), immediate };
        if !has_instruction(self.code.machine, &operation, &operands) || selects_in_memory(self.code, opcode) {
            return Err(Feature::Opcode(opcode));
        }
        if opcode == Opcode::Fma && self.negates_elsewhere(inst) {
            return Err(Feature::Opcode(opcode));
        }
        if let Some(result) = self.floats_by_lanes(&operation, &operands)? {
            self.values[results[0]] = Some(result);
            return Ok(());
        }
        let mut outcome = outcome(self.terms, &operation, &operands).ok_or(Feature::Opcode(opcode))?;
        if outcome.nan.is_some() {
            outcome.results = vec![chosen(self.terms, self.code, &operation, &operands, outcome.results[0])?];
        }
        if let &[x, y] = &operands[..]
            && x.ty == I128
            && let Some(result) = by_halves(self.terms, opcode, [x.bits, y.bits])
        {
            outcome.results = vec![result];
        }
        self.traps(outcome.trap, opcode)?;
        for (&result, term) in results.iter().zip(outcome.results) {
            self.values[result] = Some(term);
        }
        Ok(())
    }

    /// Returns `true` if an instruction may negate other operands of `fma` than the function, so that the sign of a NaN
    /// differs: one of x86-64 does not negate NaNs, and one of AArch64 negates the first factor.
    fn negates_elsewhere(&self, fma: Inst) -> bool {
        let dfg = &self.func.dfg;
        let is_negated = |value| match dfg.value_def(dfg.resolve_aliases(value)) {
            ValueDef::Result(def, _) => dfg.opcode(def) == Opcode::Fneg,
            _ => false,
        };
        let args = dfg.inst_args(fma);
        match self.code.machine {
            Machine::X64 => args.iter().any(|&value| is_negated(value)),
            Machine::Aarch64 => is_negated(args[1]),
        }
    }

    /// Adds the traps of an outcome: a choice among codes, or zero.
    fn traps(&mut self, trap: Term, opcode: Opcode) -> Result<(), Feature> {
        let (mut rest, mut passed) = (trap, self.terms.bool(true));
        loop {
            if let Some(bits) = self.terms.bits(rest) {
                if let Some(code) = TrapCode::from_byte(bits.unsigned() as u8) {
                    self.effects.push(Effect::TrapIf { condition: passed, code });
                }
                return Ok(());
            }
            let Node::Ternary(Op::Ite, condition, then, otherwise) = self.terms.node(rest) else {
                return Err(Feature::Opcode(opcode));
            };
            // One side is a constant. The traps of the other side follow.
            let (condition, code, next) = match (self.terms.bits(then), self.terms.bits(otherwise)) {
                (Some(code), _) => (condition, code, otherwise),
                (None, Some(code)) => (self.terms.not(condition), code, then),
                (None, None) => return Err(Feature::Opcode(opcode)),
            };
            let here = self.terms.and(passed, condition);
            match TrapCode::from_byte(code.unsigned() as u8) {
                Some(code) => self.effects.push(Effect::TrapIf { condition: here, code }),
                // Without a trap under the condition, the other side counts only where it does not hold.
                None => {
                    let not = self.terms.not(condition);
                    passed = self.terms.and(passed, not);
                }
            }
            rest = next;
        }
    }
}
