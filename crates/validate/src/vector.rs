//! Translation of operations on floats of all lanes, by the meanings of the operations on scalars.

use crate::error::Feature;
use crate::float::{chosen, has_instruction};
use crate::lanes::joined;
use crate::translate::Translation;
use kingpost_ir::Opcode;
use kingpost_ir::types::{F32, F64};
use kingpost_semantics::{Operand, Operation, lanes_of, outcome};
use kingpost_smt::{Bits, Term};

impl Translation<'_> {
    /// Returns the result of an operation on floats of all lanes, each by the meaning of the operation on scalars; `None`
    /// for other operations.
    ///
    /// # Errors
    /// If the operation has no known meaning at these types.
    pub(crate) fn floats_by_lanes(
        &mut self,
        operation: &Operation,
        operands: &[Operand],
    ) -> Result<Option<Term>, Feature> {
        let Some(first) = operands.first().filter(|operand| operand.ty.is_vector()) else { return Ok(None) };
        let mut count = first.ty.lane_count();
        let (opcode, ty) = match operation.opcode {
            Opcode::Fadd
            | Opcode::Fsub
            | Opcode::Fmul
            | Opcode::Fdiv
            | Opcode::Fma
            | Opcode::Sqrt
            | Opcode::Ceil
            | Opcode::Floor
            | Opcode::Trunc
            | Opcode::Nearest
            | Opcode::Fmin
            | Opcode::Fmax
            | Opcode::Fcmp
            | Opcode::FcvtFromSint
            | Opcode::FcvtFromUint => (operation.opcode, operation.ty.lane_type()),
            Opcode::FvpromoteLow => {
                count = 2;
                (Opcode::Fpromote, F64)
            }
            Opcode::Fvdemote => (Opcode::Fdemote, F32),
            _ => return Ok(None),
        };
        let lanes: Vec<Vec<Term>> =
            operands.iter().map(|operand| lanes_of(self.terms, operand.ty, operand.bits)).collect();
        let of_lane = Operation { opcode, ty, immediate: operation.immediate };
        let mut results = Vec::new();
        for number in 0..count as usize {
            let operands: Vec<Operand> = operands
                .iter()
                .zip(&lanes)
                .map(|(operand, lanes)| Operand { ty: operand.ty.lane_type(), bits: lanes[number] })
                .collect();
            results.push(self.float_of_lane(&of_lane, &operands)?);
        }
        if operation.opcode == Opcode::Fvdemote {
            results.push(self.terms.number(64, 0));
        }
        Ok(Some(joined(self.terms, results)))
    }

    fn float_of_lane(&mut self, operation: &Operation, operands: &[Operand]) -> Result<Term, Feature> {
        let refused = Feature::Opcode(operation.opcode);
        if !has_instruction(self.code.machine, operation, operands) {
            return Err(refused);
        }
        let outcome = outcome(self.terms, operation, operands).ok_or(refused)?;
        let result = outcome.results[0];
        if operation.opcode == Opcode::Fcmp {
            let width = operands[0].ty.bits();
            let zero = self.terms.number(8, 0);
            let (ones, zeros) = (self.terms.constant(Bits::ones(width)), self.terms.number(width, 0));
            let fails = self.terms.eq(result, zero);
            return Ok(self.terms.ite(fails, zeros, ones));
        }
        match outcome.nan {
            Some(_) => chosen(self.terms, self.code, operation, operands, result),
            None => Ok(result),
        }
    }
}
