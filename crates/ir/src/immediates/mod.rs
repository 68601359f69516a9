//! Literals: integers and floats in text form, and the bit patterns of floats.

mod error;
mod float;
mod int;

pub use error::LiteralError;
pub use float::{Ieee16, Ieee32, Ieee64, Ieee128};
pub use int::{Imm64, Offset, parse_int};
