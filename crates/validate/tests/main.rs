//! Tests of the validator on compiled functions.

mod compiled;
mod faults;
mod functions;
mod terms;
mod written;
