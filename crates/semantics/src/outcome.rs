//! An instruction without its operands, and the outcome of executing it.

use kingpost_ir::condcodes::{FloatCC, IntCC};
use kingpost_ir::{Opcode, TrapCode, Type};
use kingpost_smt::{Sort, Term, Terms};

/// Immediate of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Immediate {
    /// No immediate.
    None,
    /// The condition of `icmp`.
    Condition(IntCC),
    /// The condition of `fcmp`.
    FloatCondition(FloatCC),
    /// The number of a lane.
    Lane(u8),
    /// A trap code, as a term of eight bits.
    Code(Term),
}

/// An instruction without its operands.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// Opcode of the instruction.
    pub opcode: Opcode,
    /// The controlling type; `INVALID` if the opcode has none.
    pub ty: Type,
    /// Immediate of the instruction.
    pub immediate: Immediate,
}

/// A value of a type.
#[derive(Clone, Copy, Debug)]
pub struct Operand {
    /// The type.
    pub ty: Type,
    /// The value, as wide as the type.
    pub bits: Term,
}

/// Outcome of executing an instruction.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Bits of each result; unspecified if a trap occurs.
    pub results: Vec<Term>,
    /// Values that a float result may have if it is a NaN.
    pub nan: Option<NanChoice>,
    /// The byte of the trap code, or zero if there is no trap: a term of eight bits.
    pub trap: Term,
}

/// Set of NaNs that the result of an operation on floats may be. The first result is an arbitrary NaN that represents
/// every value that [`NanChoice::allows`].
#[derive(Clone, Debug)]
pub struct NanChoice {
    /// Condition under which the result is a NaN.
    pub open: Term,
    /// The operands that are floats.
    pub(crate) operands: Vec<Term>,
}

/// Width of [`Outcome::trap`], in bits.
pub(crate) const TRAP_BITS: u32 = 8;

impl Outcome {
    /// Returns an outcome with these results and without a trap.
    pub(crate) fn values(terms: &mut Terms, results: impl IntoIterator<Item = Term>) -> Outcome {
        Outcome { results: results.into_iter().collect(), nan: None, trap: terms.number(TRAP_BITS, 0) }
    }

    /// Returns the outcome with a trap that occurs if `condition` holds.
    pub(crate) fn trapping(self, terms: &mut Terms, condition: Term, code: TrapCode) -> Outcome {
        let code = terms.number(TRAP_BITS, code.byte().into());
        self.trapping_with(terms, condition, code)
    }

    /// Returns the outcome with a trap that occurs if `condition` holds. The trap code is a term.
    pub(crate) fn trapping_with(self, terms: &mut Terms, condition: Term, code: Term) -> Outcome {
        debug_assert_eq!(terms.sort(code), Sort::Bits(TRAP_BITS));
        Outcome { trap: terms.ite(condition, code, self.trap), ..self }
    }
}
