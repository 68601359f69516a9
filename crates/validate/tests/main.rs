//! Tests of the validator on compiled functions.

mod atomics;
mod compiled;
mod faults;
mod functions;
mod results;
mod terms;
mod written;
