//! Tests of the validator on compiled functions.

mod atomics;
mod compiled;
mod equalities;
mod exceptions;
mod frames;
mod functions;
mod limits;
mod matrix;
mod obligations;
mod policies;
mod references;
mod results;
mod terms;
mod vectors;
mod written;
