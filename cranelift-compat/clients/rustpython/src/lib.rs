//! Nothing but tests of another package: see `tests/`.
