//! Variables of front ends, and errors in their use.

use cranelift_entity::entity_impl;
use std::fmt;

use crate::types::Type;

/// A variable of the front end, which may be assigned many times.
///
/// ```
/// use kingpost_ir::Function;
/// use kingpost_ir::builder::{ControlBuilder, ImmediateBuilder, InstBuilder};
/// use kingpost_ir::frontend::{FrontendContext, FunctionBuilder};
/// use kingpost_ir::types::I32;
///
/// let (mut func, mut scratch) = (Function::default(), FrontendContext::default());
/// let mut b = FunctionBuilder::new(&mut func, &mut scratch);
/// let entry = b.create_block();
/// b.switch_to_block(entry);
/// let count = b.declare_var(I32);
/// let zero = b.ins().iconst(I32, 0);
/// b.def_var(count, zero);
/// let before = b.use_var(count);
/// let one = b.ins().iadd_imm(before, 1);
/// b.def_var(count, one);
/// assert_eq!(b.use_var(count), one);
/// b.ins().return_(&[]);
/// b.seal_all_blocks();
/// b.finalize().unwrap();
/// ```
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Variable(u32);
entity_impl!(Variable, "var");

/// Error in the use of a variable.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum VariableError {
    /// The variable was not declared by this builder.
    Undeclared(Variable),
    /// There is no current block.
    NoBlock(Variable),
    /// A value of another type was assigned.
    Mismatch {
        /// The variable.
        variable: Variable,
        /// Its type.
        expected: Type,
        /// The type of the value.
        found: Type,
    },
}

impl fmt::Display for VariableError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            VariableError::Undeclared(variable) => write!(f, "{variable} is not declared"),
            VariableError::NoBlock(variable) => {
                write!(f, "{variable} is used without a block: switch to a block first")
            }
            VariableError::Mismatch { variable, expected, found } => {
                write!(f, "{variable} has type {expected} and cannot hold a value of type {found}")
            }
        }
    }
}

impl std::error::Error for VariableError {}
