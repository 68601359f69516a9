//! Errors about blocks that are incomplete when a builder ends.

use crate::entities::Block;
use std::fmt;

/// A block that is incomplete.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum BuildError {
    /// The block does not end in a terminator, or was never switched to.
    NotFilled(Block),
    /// The block was not sealed.
    NotSealed(Block),
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            BuildError::NotFilled(block) => write!(f, "{block} is not filled: it does not end in a terminator"),
            BuildError::NotSealed(block) => {
                write!(f, "{block} is not sealed: `seal_block` or `seal_all_blocks` is missing")
            }
        }
    }
}

impl std::error::Error for BuildError {}
