//! A package without code, for tests of another package: see `tests/`.
