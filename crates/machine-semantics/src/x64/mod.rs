//! Decoder and meanings of x86-64.
