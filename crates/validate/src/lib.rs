//! Proves that the bytes of a compiled function mean what the function means.
