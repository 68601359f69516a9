//! What is missing from a function when its builder ends.

use crate::entities::Block;
use std::fmt;

/// A block that is not complete.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum BuildError {
    /// It does not end in a terminator, or was never switched to.
    NotFilled(Block),
    /// It was not said that all branches to it exist.
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
