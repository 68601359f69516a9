//! The graph of instructions as rules see it.

use super::generated::Rule;
use kingpost_ir::{InstData, Type, Value};

/// The graph of pure instructions, as rules see it.
pub trait Graph {
    /// Returns the pure instruction or load whose only result the value is.
    fn definition(&self, value: Value) -> Option<&InstData>;

    /// Returns the type of the value.
    fn ty(&self, value: Value) -> Type;

    /// Returns the bits of an integer constant of at most 64 bits, zero-extended from its type.
    fn constant(&self, value: Value) -> Option<u64>;

    /// Returns the value of a pure instruction with one result, after simplification.
    fn make(&mut self, request: InstData) -> Value;

    /// Returns an integer constant of at most 64 bits; bits above the type are ignored.
    fn iconst(&mut self, ty: Type, bits: u64) -> Value;

    /// Returns `true` if a value has at most one use, as far as is known. Only the profit of a rewrite may depend
    /// on it.
    fn is_sole(&mut self, _value: Value) -> bool {
        true
    }

    /// Returns `true` if short code is preferred to fast code.
    fn prefers_size(&self) -> bool {
        false
    }

    /// Returns `true` if both edges of the branch that is rewritten lead to one block with the same arguments.
    fn has_one_destination(&self, _branch: &InstData) -> bool {
        false
    }

    /// Returns `true` if a rule that matches may be applied. Called once for each application.
    fn may_apply(&mut self, _rule: Rule) -> bool {
        true
    }
}

/// Replacement of an instruction that is executed for its effect: an access to memory, a trap, a branch.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Effect {
    /// Removal of the instruction.
    Nothing,
    /// Another access, or another trap.
    Inst(InstData),
    /// A branch on this value to two edges of the old branch, given by number: first the edge taken if the value is
    /// not zero.
    Branch(Value, [usize; 2]),
    /// A jump along one of the edges.
    Jump(usize),
}
