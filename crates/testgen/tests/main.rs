//! Tests of the crate.

mod generated;
mod hostile;
mod smoke;
