//! The graph of instructions as rules see it.

use super::generated::Rule;
use kingpost_ir::{InstData, Type, Value};

/// The graph of pure instructions, as rules see it.
pub trait Graph {
    /// The pure instruction whose only result the value is, or a load.
    fn definition(&self, value: Value) -> Option<&InstData>;

    /// The type of the value.
    fn ty(&self, value: Value) -> Type;

    /// The bits of an integer constant of at most 64 bits, zero-extended from its type.
    fn constant(&self, value: Value) -> Option<u64>;

    /// The value of a pure instruction with one result, simplified.
    fn make(&mut self, request: InstData) -> Value;

    /// An integer constant of at most 64 bits; bits above the type are ignored.
    fn iconst(&mut self, ty: Type, bits: u64) -> Value;

    /// Whether a value has at most one use, as far as is known; only what pays may depend on it.
    fn is_sole(&mut self, _value: Value) -> bool {
        true
    }

    /// Whether short code is better than fast code if it cannot be both.
    fn prefers_size(&self) -> bool {
        false
    }

    /// Whether both edges of the branch that is rewritten lead to one block with the same arguments.
    fn has_one_destination(&self, _branch: &InstData) -> bool {
        false
    }

    /// Whether a rule that matches is to be applied; asked once for each application.
    fn may_apply(&mut self, _rule: Rule) -> bool {
        true
    }
}

/// What takes the place of an instruction that is executed for its effect: an access to memory, a trap, a branch.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Effect {
    /// Nothing.
    Nothing,
    /// Another access, or another trap.
    Inst(InstData),
    /// A branch on this value to two of the edges of the old one, by their numbers: if it is not zero, and if it is.
    Branch(Value, [usize; 2]),
    /// A jump along one of the edges.
    Jump(usize),
}
