//! DWARF debug information of compiled functions, for objects and for code in memory.
//!
//! | file | holds |
//! |---|---|
//! | `unit.rs` | the compilation unit: functions, lines, variables |
//! | `source.rs` | names of the source file and its folder |
//!
//! [`describe`] returns the information for the writer of the library `gimli`. The caller chooses how addresses of
//! functions are written: as relocations in an object, as numbers in memory.

mod source;
mod unit;

pub use source::{InvalidName, Source};
pub use unit::{describe, is_wanted};
