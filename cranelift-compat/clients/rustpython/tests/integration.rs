//! The tests of `rustpython-jit`, from its own source.

include!(env!("RUSTPYTHON_JIT_TESTS"));
