//! An instruction without its operands, and what executing it comes to.

use kingpost_ir::condcodes::{FloatCC, IntCC};
use kingpost_ir::{Opcode, TrapCode, Type};
use kingpost_smt::{Sort, Term, Terms};

/// What an instruction has besides operands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Immediate {
    /// Nothing.
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
    /// What it does.
    pub opcode: Opcode,
    /// The controlling type; `INVALID` if the opcode has none.
    pub ty: Type,
    /// What else it has.
    pub immediate: Immediate,
}

/// A value of a type.
#[derive(Clone, Copy, Debug)]
pub struct Operand {
    /// The type.
    pub ty: Type,
    /// As many bits as the type has.
    pub bits: Term,
}

/// What executing an instruction comes to.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The bits of each result; they say nothing where a trap occurs.
    pub results: Vec<Term>,
    /// What a float result may be where it is no number.
    pub nan: Option<NanChoice>,
    /// The byte of the trap code, or zero if there is no trap: a term of eight bits.
    pub trap: Term,
}

/// The result of an operation on floats that is no number: any of a set of NaNs. The first result is one NaN, which one says
/// nothing; it stands for all that [`NanChoice::allows`].
#[derive(Clone, Debug)]
pub struct NanChoice {
    /// Where the result is no number.
    pub open: Term,
    /// The operands that are floats.
    pub(crate) operands: Vec<Term>,
}

/// The bits of [`Outcome::trap`].
pub(crate) const TRAP_BITS: u32 = 8;

impl Outcome {
    /// Results without a trap.
    pub(crate) fn values(terms: &mut Terms, results: impl IntoIterator<Item = Term>) -> Outcome {
        Outcome { results: results.into_iter().collect(), nan: None, trap: terms.number(TRAP_BITS, 0) }
    }

    /// The same, but a trap with a code where a condition holds.
    pub(crate) fn trapping(self, terms: &mut Terms, condition: Term, code: TrapCode) -> Outcome {
        let code = terms.number(TRAP_BITS, code.byte().into());
        self.trapping_with(terms, condition, code)
    }

    /// The same, but a trap with a code that is a term.
    pub(crate) fn trapping_with(self, terms: &mut Terms, condition: Term, code: Term) -> Outcome {
        debug_assert_eq!(terms.sort(code), Sort::Bits(TRAP_BITS));
        Outcome { trap: terms.ite(condition, code, self.trap), ..self }
    }
}
