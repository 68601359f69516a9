//! Decoder and meanings of AArch64.
