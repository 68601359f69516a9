//! Lines of the tables of vector operations, and the places of their operands.

use super::super::vector::Vector;
use super::reader::Rm;

/// Places of the operands.
#[derive(Clone, Copy)]
pub(super) enum Form {
    /// reg, V, r/m; without VEX reg, reg, r/m.
    Three,
    /// reg, V, r/m, immediate.
    ThreeImmediate,
    /// reg, V, r/m, where r/m is general.
    ThreeGeneral,
    /// reg, r/m.
    Two,
    /// r/m, reg.
    Store,
    /// reg, r/m, where r/m is general.
    FromGeneral,
    /// r/m, reg, where r/m is general.
    ToRm,
    /// reg, r/m, where reg is general.
    ToReg,
    /// `movss` and `movsd`: three registers, or a register and memory.
    Scalar,
    /// The opposite direction of `Scalar`.
    ScalarStore,
    /// reg, r/m, immediate.
    TwoImmediate,
    /// reg, V, r/m, immediate, where r/m is general.
    ThreeGeneralImmediate,
    /// r/m, reg, immediate, where r/m is general.
    ToRmImmediate,
    /// reg, r/m, immediate, where reg is general and r/m is a register.
    ToRegImmediate,
    /// reg, r/m, where reg is general and r/m is a register.
    MaskToReg,
    /// r/m, reg, where r/m is memory.
    StoreMemory,
    /// V, r/m, immediate, where r/m is a register; without VEX r/m, r/m, immediate. The digit is the reg field.
    Shift,
    /// reg, r/m, where r/m is a register of a vector or memory, and VEX is required.
    TwoVex,
}

/// A line of the table: the operation, the size of its operands, and their places.
pub(super) type Row = (Vector, u8, Form);

impl Form {
    /// Returns `true` if register V is an operand.
    pub(super) fn has_three(self, rm: Rm) -> bool {
        match self {
            Form::Three | Form::ThreeImmediate | Form::ThreeGeneral | Form::ThreeGeneralImmediate | Form::Shift => true,
            Form::Scalar | Form::ScalarStore => matches!(rm, Rm::Register(_)),
            _ => false,
        }
    }

    pub(super) fn has_immediate(self) -> bool {
        matches!(
            self,
            Form::ThreeImmediate
                | Form::TwoImmediate
                | Form::ThreeGeneralImmediate
                | Form::ToRmImmediate
                | Form::ToRegImmediate
                | Form::Shift
        )
    }

    /// Returns `true` if the form allows a register or memory in the r/m field, with or without VEX.
    pub(super) fn allows(self, is_register: bool, vex: bool, operation: Vector) -> bool {
        match self {
            Form::Shift | Form::ToRegImmediate | Form::MaskToReg => is_register,
            Form::StoreMemory => !is_register,
            Form::TwoVex => vex,
            _ => vex || !matches!(operation, Vector::Fma { .. }),
        }
    }
}
