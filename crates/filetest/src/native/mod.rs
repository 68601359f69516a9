//! Running compiled code: an object linked with a driver, in a child process.
//!
//! The functions of a file are compiled together with one trampoline for each function that a
//! directive calls. A trampoline has the type `(i64)`: it loads arguments from memory, calls, and
//! stores the results, so that the driver needs to know nothing about signatures.

mod build;
mod child;
mod rename;
mod trampoline;

pub(crate) use build::build;
pub(crate) use child::{Request, run};
